"""Groth16: set-up, the phases of a proof, the prover and the verifier."""

from cuzk.groth16.blinding import Blinding
from cuzk.groth16.prover import Prover
from cuzk.groth16.setup import ToxicWaste, setup
from cuzk.groth16.verify import PreparedVerifyingKey, Verdict, verify

__all__ = ["Blinding", "PreparedVerifyingKey", "Prover", "ToxicWaste", "Verdict", "setup", "verify"]
