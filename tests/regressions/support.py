"""What the regression tests share: values, files and keys."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cuzk_oracles import curve as oracle

from cuzk.curves import Curve, GroupSpec
from cuzk.errors import CuzkError
from cuzk.formats import (
    PROOF_ENCODINGS,
    load_proof,
    load_public,
    load_r1cs,
    load_vkey,
    load_witness,
    load_zkey,
)
from cuzk.formats.point_encodings import DECODERS
from cuzk.keys import ProvingKey, VerifyingKey
from cuzk.limbs import points_from_ints, points_to_ints
from cuzk.proof import Proof
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.kernels.msm_support import subject

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


def with_header(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A cuzk key whose header was changed, with the right checksum over it."""
    length = int.from_bytes(data[12:16], "little")
    header = json.loads(data[64 : 64 + length])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    start = data[:12] + len(text).to_bytes(4, "little") + hashlib.blake2b(text, digest_size=32).digest()
    old, new = -(-(64 + length) // 4096) * 4096, -(-(64 + len(text)) // 4096) * 4096
    return (start + bytes(16) + text).ljust(new, b"\0") + data[old:]


def encodings(curve: Curve) -> list[str]:
    """The encodings of proofs that a curve has."""
    return [name for name in PROOF_ENCODINGS if name != "evm" or curve.name == "bn254"]


def decoded(name: str, group: GroupSpec, data: bytes) -> Any:
    """A point, or the error's class."""
    try:
        return DECODERS[name](group, data, 0)
    except CuzkError as error:
        return type(error)


def encoded(group: Any, point: Any) -> Any:
    """One point as limbs."""
    return points_from_ints(group, [point])[0]


def moved(curve_name: str, proof: Proof, **by: Any) -> Proof:
    """A proof with points added to some of its own."""
    curve = proof.curve
    changed = {}
    for name, point in by.items():
        group = subject(curve_name, "g2" if name == "b" else "g1")
        old = points_to_ints(group.spec, getattr(proof, name))[0]
        changed[name] = encoded(group.spec, oracle.add(group.oracle, old, point))
    assert curve is proof.curve
    return dataclasses.replace(proof, **changed)
