"""Groth16: set-up, the phases of a proof, the prover and the verifier."""

from cuzk.groth16.alpha_beta import alpha_beta_of
from cuzk.groth16.blinding import Blinding
from cuzk.groth16.convert import convert
from cuzk.groth16.prover import Prover
from cuzk.groth16.setup import ToxicWaste, setup
from cuzk.groth16.verify import PreparedVerifyingKey, Verdict, verify, verify_batch

__all__ = [
    "Blinding",
    "PreparedVerifyingKey",
    "Prover",
    "ToxicWaste",
    "Verdict",
    "alpha_beta_of",
    "convert",
    "setup",
    "verify",
    "verify_batch",
]
