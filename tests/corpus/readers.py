"""How each kind of file is read, and what must hold of whatever a reader accepts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cuzk_oracles import parsers
from cuzk_oracles.params import get_params

from cuzk.curves import Curve, GroupSpec
from cuzk.formats import (
    PROOF_ENCODINGS,
    PceInfo,
    cuzk_key_from_bytes,
    cuzk_key_to_bytes,
    decode_proof,
    describe,
    encode_proof,
    load_cuzk_key,
    load_key,
    load_params,
    load_pce,
    load_proof,
    load_public,
    load_r1cs,
    load_verifying_key,
    load_vk,
    load_vkey,
    load_witness,
    load_zkey,
    read_ceremony,
    save_params,
    save_pce,
    solidity_calldata,
)
from cuzk.formats.point_encodings import ENCODERS
from cuzk.formats.ptau import load_ptau
from cuzk.keys import ProvingKey, VerifyingKey
from cuzk.limbs import points_to_ints
from cuzk.ops.piece_checks import check_circuit
from cuzk.pieces import CompiledCircuit
from cuzk.proof import Proof
from cuzk.relation import R1CS
from cuzk.synthesis import circuit_hash, circuit_sizes
from cuzk.witness import Witness

#: Of a .ptau the part for so large a domain is read.
LOG_DOMAIN = 1


@dataclass(frozen=True)
class Reader:
    """A reader, and a check of its answer against another parser or the writer.

    Args:
        read: From a file, with the curve and circuit of the sample.
        holds: Whether the answer is what the bytes say.
    """

    read: Callable[[Path, Curve, R1CS | None], Any]
    holds: Callable[[Any, bytes, Curve], bool]


def _rows(rows: list[list[tuple[int, int]]], prime: int) -> list[dict[int, int]]:
    """Rows with equal places added up and zeros left out."""
    merged: list[dict[int, int]] = []
    for row in rows:
        sums: dict[int, int] = {}
        for variable, value in row:
            sums[variable] = (sums.get(variable, 0) + value) % prime
        merged.append({variable: value for variable, value in sums.items() if value})
    return merged


def _r1cs_holds(found: R1CS, data: bytes, curve: Curve) -> bool:
    if found.labels is None:  # the oracle wants labels, which are optional
        return True
    wanted = parsers.parse_r1cs(data)
    rows = [[matrix.row(i) for i in range(matrix.num_rows)] for matrix in found.matrices.values()]
    plain = [wanted.r1cs.a, wanted.r1cs.b, wanted.r1cs.c]
    return (
        found.curve.r == wanted.prime
        and found.num_variables == wanted.r1cs.num_variables
        and found.num_public == wanted.num_outputs + wanted.num_public_inputs
        and [[dict(row) for row in matrix] for matrix in rows]
        == [_rows(matrix, wanted.prime) for matrix in plain]
        and found.labels.tolist() == wanted.labels
    )


def _wtns_holds(found: Witness, data: bytes, curve: Curve) -> bool:
    return found.to_ints() == parsers.parse_wtns(data).witness


def _zkey_holds(found: ProvingKey, data: bytes, curve: Curve) -> bool:
    wanted = parsers.parse_zkey(data)
    for name, group, array in found.points():
        points = points_to_ints(group, array)
        known = getattr(wanted.key, name)
        if (points if array.ndim > len(group.affine_shape) else points[0]) != known:
            return False
    prime = found.curve.r
    for matrix, plain in ((found.a, wanted.a), (found.b, wanted.b)):
        rows = _rows(plain, prime)
        if [dict(matrix.row(i)) for i in range(matrix.num_rows)] != rows[: matrix.num_rows]:
            return False
        if any(rows[matrix.num_rows :]):
            return False
    return True


def _key_holds(found: ProvingKey, data: bytes, curve: Curve) -> bool:
    again = cuzk_key_from_bytes(cuzk_key_to_bytes(found))
    same = all(
        np.array_equal(x, y) for (_, _, x), (_, _, y) in zip(found.points(), again.points(), strict=True)
    )
    return same and again.circuit_digest == found.circuit_digest


def _read_pce(path: Path, curve: Curve, circuit: R1CS | None) -> tuple[CompiledCircuit, PceInfo]:
    """A compiled circuit as it is used: its tables are checked, and then trusted."""
    found, info = load_pce(path)
    check_circuit(found)
    circuit_sizes(found)
    circuit_hash(found)
    return found, info


def _pce_holds(found: tuple[CompiledCircuit, PceInfo], data: bytes, curve: Curve) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again"
        save_pce(path, *found)
        again = path.read_bytes()
    arrays, same = (
        whole[-(-(64 + int.from_bytes(whole[12:16], "little")) // 4096) * 4096 :] for whole in (data, again)
    )
    return arrays == same


def _params_hold(found: ProvingKey, data: bytes, curve: Curve) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "again"
        save_params(path, found)
        return path.read_bytes() == data


def _vk_holds(found: VerifyingKey, data: bytes, curve: Curve) -> bool:
    encode, at = ENCODERS["uncompressed"], 0
    parts: list[tuple[GroupSpec, Any]] = [
        (curve.g1, found.alpha_g1), (curve.g1, None), (curve.g2, found.beta_g2), (curve.g2, found.gamma_g2),
        (curve.g1, None), (curve.g2, found.delta_g2),
    ]  # fmt: skip
    for group, limbs in parts:
        part = data[at : at + group.affine_bytes]
        at += group.affine_bytes
        if limbs is not None and encode(group, points_to_ints(group, limbs)[0]) != part:
            return False
    ic = b"".join(encode(curve.g1, point) for point in points_to_ints(curve.g1, found.ic))
    return data[at:] == len(found.ic).to_bytes(4, "big") + ic


def _vkey_holds(found: VerifyingKey, data: bytes, curve: Curve) -> bool:
    params, wanted = parsers.parse_vkey_json(data.decode())
    return params.name == found.curve.name and all(
        points_to_ints(group, array) == (getattr(wanted, name) if name == "ic" else [getattr(wanted, name)])
        for name, group, array in found.points()
    )


def _proof_holds(found: Proof, data: bytes, curve: Curve) -> bool:
    _, wanted = parsers.parse_proof_json(data.decode())
    return found.to_ints() == (wanted.a, wanted.b, wanted.c)


def _public_holds(found: list[int], data: bytes, curve: Curve) -> bool:
    return found == parsers.parse_public_json(data.decode(), get_params(curve.name))


def _read_params(path: Path, curve: Curve, circuit: R1CS | None) -> ProvingKey:
    assert circuit is not None, "only samples with a circuit are read so"
    return load_params(path, circuit)


def _calldata(path: Path, curve: Curve, circuit: R1CS | None) -> str:
    """The words for a contract, of a proof as it lies in a file."""
    return solidity_calldata(load_proof(path), [1, curve.r - 1])


def _bytes_reader(encoding: Any) -> Reader:
    return Reader(
        lambda path, curve, _: decode_proof(curve, path.read_bytes(), encoding),
        lambda found, data, _: encode_proof(found, encoding) == data,
    )


#: Every reader by name.
READERS: dict[str, Reader] = {
    "r1cs": Reader(lambda path, curve, circuit: load_r1cs(path), _r1cs_holds),
    "wtns": Reader(lambda path, curve, circuit: load_witness(path), _wtns_holds),
    "zkey": Reader(lambda path, curve, circuit: load_zkey(path), _zkey_holds),
    "cuzk_key": Reader(lambda path, curve, circuit: load_cuzk_key(path, verify="all"), _key_holds),
    "pce": Reader(_read_pce, _pce_holds),
    "vkey_json": Reader(lambda path, curve, circuit: load_vkey(path), _vkey_holds),
    "proof_json": Reader(lambda path, curve, circuit: load_proof(path), _proof_holds),
    "public_json": Reader(lambda path, curve, circuit: load_public(path, curve), _public_holds),
    "ptau": Reader(lambda path, curve, circuit: load_ptau(path, LOG_DOMAIN), lambda *_: True),
    "vk": Reader(lambda path, curve, circuit: load_vk(path), _vk_holds),
    "params": Reader(_read_params, _params_hold),
    **{f"proof_{encoding}": _bytes_reader(encoding) for encoding in PROOF_ENCODINGS},
    "describe": Reader(lambda path, curve, circuit: describe(path), lambda *_: True),
    "key_bytes": Reader(lambda path, curve, circuit: cuzk_key_from_bytes(path.read_bytes()), _key_holds),
    "key_as_prove_loads": Reader(
        lambda path, curve, circuit: load_key(path, circuit=circuit), lambda *_: True
    ),
    "verifying_key": Reader(lambda path, curve, circuit: load_verifying_key(path), lambda *_: True),
    "ceremony": Reader(lambda path, curve, circuit: read_ceremony(path), lambda *_: True),
    "solidity_calldata": Reader(_calldata, lambda *_: True),
}

#: Other ways to read a kind of file, tried on some of the cases of its reader.
ALSO: dict[str, tuple[str, ...]] = dict.fromkeys(READERS, ("describe",)) | {
    "cuzk_key": ("describe", "key_bytes", "key_as_prove_loads"),
    "zkey": ("describe", "key_as_prove_loads", "ceremony"),
    "params": ("describe", "key_as_prove_loads"),
    "vk": ("describe", "verifying_key"),
    "vkey_json": ("describe", "verifying_key"),
    "proof_json": ("describe", "solidity_calldata"),
}


def fits(name: str, curve: Curve, circuit: R1CS | None) -> bool:
    """Whether a reader can read any file of a sample with this curve and circuit."""
    if name == "params":
        return circuit is not None
    return name not in ("solidity_calldata", "proof_evm") or curve.name == "bn254"


def is_known(name: str, kind: str) -> bool:
    """Whether a reader takes undamaged files of this kind; of proofs as bytes ``describe`` knows compressed ones."""
    return name != "describe" or not kind.startswith("proof_") or kind in ("proof_json", "proof_compressed")
