"""A Groth16 prover for GPUs and CPUs that checks itself: BLS12-381 and BN254, one kernel source, three devices.

::

    import cuzk

    circuit = cuzk.load_r1cs("circuit.r1cs")
    key = cuzk.setup(circuit, cuzk.get_device("auto"))
    proof = cuzk.prove(key, cuzk.load_witness("witness.wtns"))
    assert cuzk.verify(key.verifying_key(), public_inputs, proof)

Names are imported when they are first used, so that ``import cuzk`` costs nothing and an interruption finds the
command line ready (cuzk/cli/__init__.py): this file imports no other at all.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers go by the name
if TYPE_CHECKING:
    from typing import Any

    from cuzk import errors
    from cuzk.curves import get_curve
    from cuzk.device import get_device
    from cuzk.formats import load_r1cs, load_witness
    from cuzk.groth16 import Blinding, Prover
    from cuzk.groth16.setup import setup
    from cuzk.groth16.verify import verify, verify_batch
    from cuzk.keys import ProvingKey, VerifyingKey
    from cuzk.pieces import CompiledCircuit
    from cuzk.proof import Proof
    from cuzk.proving import prove, prove_batch
    from cuzk.relation import R1CS
    from cuzk.witness import Hints, Witness

__all__ = [
    "R1CS",
    "Blinding",
    "CompiledCircuit",
    "Hints",
    "Proof",
    "Prover",
    "ProvingKey",
    "VerifyingKey",
    "Witness",
    "errors",
    "get_curve",
    "get_device",
    "load_r1cs",
    "load_witness",
    "prove",
    "prove_batch",
    "setup",
    "verify",
    "verify_batch",
]

__version__ = "0.1.0"

#: Where each public name lives.
_HOME = {
    "R1CS": "cuzk.relation",
    "Blinding": "cuzk.groth16",
    "CompiledCircuit": "cuzk.pieces",
    "Hints": "cuzk.witness",
    "Proof": "cuzk.proof",
    "Prover": "cuzk.groth16",
    "ProvingKey": "cuzk.keys",
    "VerifyingKey": "cuzk.keys",
    "Witness": "cuzk.witness",
    "get_curve": "cuzk.curves",
    "get_device": "cuzk.device",
    "prove": "cuzk.proving",
    "prove_batch": "cuzk.proving",
    "load_r1cs": "cuzk.formats",
    "load_witness": "cuzk.formats",
    "setup": "cuzk.groth16.setup",
    "verify": "cuzk.groth16.verify",
    "verify_batch": "cuzk.groth16.verify",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "errors":
        return importlib.import_module("cuzk.errors")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'cuzk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
