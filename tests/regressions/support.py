"""What the regression tests share: values, files and keys."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuzk.formats import load_proof, load_public, load_r1cs, load_vkey, load_witness, load_zkey
from cuzk.keys import ProvingKey, VerifyingKey
from cuzk.proof import Proof
from cuzk.relation import R1CS
from cuzk.witness import Witness

DATA = Path(__file__).resolve().parents[1] / "data"
#: cuzk's names of the curves that files exist for, with the folders of tests/data.
FOLDERS = {"bls12_381": "bls12381", "bn254": "bn128"}
REAL_CURVES = tuple(FOLDERS)
ALL_CURVES = ("toy", *REAL_CURVES)


def random_limbs(rng: np.random.Generator, count: int, limbs: int) -> npt.NDArray[np.uint64]:
    """Uniform limbs. Shape (count, limbs) uint64; not reduced."""
    return rng.integers(0, 1 << 64, (count, limbs), dtype=np.uint64)


class Files:
    """One circuit of tests/data: its files, and their contents."""

    def __init__(self, curve: str, circuit: str = "product") -> None:
        self.folder = DATA / FOLDERS[curve] / circuit
        self.circuit = circuit

    def path(self, suffix: str) -> Path:
        """The file `CIRCUIT.suffix`."""
        return self.folder / f"{self.circuit}.{suffix}"

    @functools.cached_property
    def r1cs(self) -> R1CS:
        """The circuit."""
        return load_r1cs(self.path("r1cs"))

    @functools.cached_property
    def witness(self) -> Witness:
        """A witness of it."""
        return load_witness(self.path("wtns"))

    @functools.cached_property
    def key(self) -> ProvingKey:
        """The proving key, as snarkjs made it."""
        return load_zkey(self.path("zkey"))

    @functools.cached_property
    def vkey(self) -> VerifyingKey:
        """The verifying key."""
        return load_vkey(self.folder / "vkey.json")

    @functools.cached_property
    def public(self) -> list[int]:
        """The public values of `proof`."""
        return load_public(self.folder / "public.json", self.vkey.curve)

    @functools.cached_property
    def proof(self) -> Proof:
        """A proof that snarkjs made."""
        return load_proof(self.folder / "proof.json")


@functools.cache
def files(curve: str, circuit: str = "product") -> Files:
    """The files of a circuit by cuzk's name of the curve."""
    return Files(curve, circuit)
