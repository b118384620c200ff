"""Small valid files of every kind, made by this project's own writers, with what the damage needs to know of them."""

from __future__ import annotations

import functools
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzk.curves import Curve, get_curve
from cuzk.device import get_device
from cuzk.formats import (
    PROOF_ENCODINGS,
    cuzk_key_to_bytes,
    encode_proof,
    proof_to_json,
    save_params,
    save_pce,
    save_vk,
    save_zkey,
    vkey_to_json,
)
from cuzk.formats.json_proof import dump_json
from cuzk.formats.r1cs import encode_r1cs
from cuzk.formats.wtns import encode_witness
from cuzk.groth16 import ToxicWaste, setup
from cuzk.groth16.prover import Prover
from cuzk.keys import ProvingKey
from cuzk.proof import Proof
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.corpus.readers import READERS
from tests.formats.pce_builder import INFO, small_circuit
from tests.formats.ptau_builder import Secrets, ptau_bytes

DATA = Path(__file__).resolve().parents[1] / "data"
CURVES = ("bls12_381", "bn254")
_ALIGNMENT = 4096
_START = 64


@dataclass(frozen=True)
class Sample:
    """One valid file.

    Args:
        name: CURVE/KIND, perhaps with a part.
        reader: A key of READERS.
        curve: The curve.
        data: What is damaged: the file, or a part of it.
        wrap: Makes the whole file of the damaged part, with checksums that fit.
        step: Distance between places where counts and field elements are replaced.
        is_text: JSON.
        circuit: The circuit, for readers that need it.
    """

    name: str
    reader: str
    curve: Curve
    data: bytes
    wrap: Callable[[bytes], bytes] = bytes
    step: int = 4
    is_text: bool = False
    circuit: R1CS | None = None

    @property
    def sections(self) -> list[tuple[int, int]]:
        """(start, end) of each section of a container, its 12 bytes of id and size included."""
        if self.data[:4] not in (b"r1cs", b"wtns", b"zkey", b"ptau"):
            return []
        found, at = [], 12
        while at < len(self.data):
            end = at + 12 + int.from_bytes(self.data[at + 4 : at + 12], "little")
            found.append((at, end))
            at = end
        return found


def _circuit(curve: Curve) -> tuple[R1CS, Witness]:
    """C = a * b and one more row; no variable is unused."""
    rows: list[Any] = [({2: curve.r - 1}, {3: 1}, {1: curve.r - 1}), ({2: 1, 0: 5}, {3: 2, 0: 1}, {4: 1})]
    return R1CS.from_rows(curve, 5, 1, rows), Witness.from_ints(curve, [1, 33, 3, 11, 8 * 23])


def _key(circuit: R1CS, **options: Any) -> ProvingKey:
    return setup(circuit, get_device("cpu"), toxic_waste=ToxicWaste.from_seed(circuit.curve, 5), **options)


def _compiled_key(curve_name: str) -> ProvingKey:
    """A key without matrices."""
    circuit = small_circuit(curve_name)
    waste = ToxicWaste.from_seed(circuit.curve, 5)
    return setup(circuit, get_device("cpu"), name="small", toxic_waste=waste)


def _written(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path)
        return path.read_bytes()


def _seal_arrays(whole: bytes, body: bytes) -> bytes:
    """A file of our own with other arrays, each under its right checksum."""
    length = int.from_bytes(whole[12:16], "little")
    base = -(-(_START + length) // _ALIGNMENT) * _ALIGNMENT
    header = json.loads(whole[_START : _START + length])
    for section in header["sections"]:
        size = int(section["dtype"][1])
        for count in section["shape"]:
            size *= count
        content = body[section["offset"] : section["offset"] + size]
        section["blake2b"] = hashlib.blake2b(content, digest_size=32).hexdigest()
    text = json.dumps(header, separators=(",", ":")).encode()
    return seal_header(whole, text)[:base] + body


def seal_header(whole: bytes, text: bytes) -> bytes:
    """A file of our own with another header, under its right checksum."""
    length = int.from_bytes(whole[12:16], "little")
    old = -(-(_START + length) // _ALIGNMENT) * _ALIGNMENT
    new = -(-(_START + len(text)) // _ALIGNMENT) * _ALIGNMENT
    start = whole[:12] + len(text).to_bytes(4, "little") + hashlib.blake2b(text, digest_size=32).digest()
    return (start + bytes(16) + text).ljust(new, b"\0") + whole[old:]


def _array_file(curve: Curve, kind: str, whole: bytes, label: str = "") -> Iterator[Sample]:
    """A file of our own: all of it, its header under a right checksum, its arrays under right checksums."""
    length = int.from_bytes(whole[12:16], "little")
    base = -(-(_START + length) // _ALIGNMENT) * _ALIGNMENT
    header = whole[_START : _START + length]
    label = label or kind
    yield Sample(f"{curve.name}/{label}", kind, curve, whole, step=512)
    yield Sample(
        f"{curve.name}/{label} header", kind, curve, header,
        wrap=functools.partial(seal_header, whole), is_text=True,
    )  # fmt: skip
    yield Sample(
        f"{curve.name}/{label} arrays", kind, curve, whole[base:],
        wrap=functools.partial(_seal_arrays, whole), step=64,
    )  # fmt: skip


def _texts(curve: Curve, key: ProvingKey, proof: Proof, public: list[int]) -> Iterator[Sample]:
    texts = {
        "vkey_json": vkey_to_json(key.verifying_key()),
        "proof_json": proof_to_json(proof),
        "public_json": [str(value) for value in public],
    }
    for kind, value in texts.items():
        yield Sample(f"{curve.name}/{kind}", kind, curve, dump_json(value), is_text=True)


def _bellman(curve: Curve, circuit: R1CS) -> Iterator[Sample]:
    key = _key(circuit, h_form="monomial", root_convention="bellman")
    for kind, data in (
        ("params", _written(lambda path: save_params(path, key))),
        ("vk", _written(lambda path: save_vk(path, key))),
    ):
        yield Sample(f"{curve.name}/{kind}", kind, curve, data, circuit=circuit)


@functools.cache
def samples() -> tuple[Sample, ...]:
    """Every sample, in a fixed order, the same bytes on every run."""
    found: list[Sample] = []
    for name in CURVES:
        curve = get_curve(name)
        circuit, witness = _circuit(curve)
        key = _key(circuit)
        proof = Proof(curve, key.alpha_g1, key.beta_g2, key.delta_g1)  # points that are the same on every run
        assert Prover(key, get_device("cpu")).prove(witness).curve is curve
        folder = DATA / curve.snarkjs_name / "product"
        zkey = _written(lambda path, key=key: save_zkey(path, key))  # type: ignore[misc]
        found += [
            Sample(f"{name}/r1cs", "r1cs", curve, encode_r1cs(circuit)),
            Sample(f"{name}/wtns", "wtns", curve, encode_witness(witness)),
            Sample(f"{name}/zkey", "zkey", curve, zkey),
            Sample(f"{name}/r1cs by circom", "r1cs", curve, (folder / "product.r1cs").read_bytes()),
            Sample(f"{name}/zkey by snarkjs", "zkey", curve, (folder / "product.zkey").read_bytes(), step=64),
            Sample(
                f"{name}/ptau", "ptau", curve,
                ptau_bytes(curve, 2, Secrets(tau=3, alpha=5, beta=7), prepared=True), step=16,
            ),
            *_array_file(curve, "cuzk_key", cuzk_key_to_bytes(key)),
            *_array_file(curve, "cuzk_key", cuzk_key_to_bytes(_compiled_key(name)), label="compiled cuzk_key"),
            *_array_file(
                curve, "pce", _written(lambda path, name=name: save_pce(path, small_circuit(name), INFO))  # type: ignore[misc]
            ),
            *_texts(curve, key, proof, witness.public(1)),
        ]  # fmt: skip
        found += [
            Sample(
                f"{name}/proof {encoding}", f"proof_{encoding}", curve, encode_proof(proof, encoding), step=1
            )
            for encoding in PROOF_ENCODINGS
            if encoding != "evm" or name == "bn254"
        ]
        if name == "bls12_381":
            found += _bellman(curve, circuit)
    assert all(sample.reader in READERS for sample in found)
    return tuple(found)
