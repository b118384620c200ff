"""Telling files apart and describing them.

Would catch: a file taken for another kind, checks that `describe` leaves out, a key loader that takes
anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cuzk.curves import get_curve
from cuzk.errors import FormatError, InputError
from cuzk.formats import (
    describe,
    detect,
    encode_proof,
    load_key,
    load_zkey,
    proof_to_json,
    save_cuzk_key,
    vkey_to_json,
)
from cuzk.formats.kinds import KINDS
from cuzk.proof import Proof
from tests.formats.builders import Save, container, r1cs_sections, wtns_sections, zkey_bytes
from tests.formats.pce_builder import saved_pce
from tests.formats.ptau_builder import Secrets, ptau_bytes
from tests.formats.test_params import PARTS
from tests.formats.test_params import file_bytes as params_file

BLS, BN = get_curve("bls12_381"), get_curve("bn254")


def example(kind: str, save: Save, tmp_path: Path) -> Path:
    proof = Proof.from_ints(BN, BN.g1.generator, BN.g2.generator, BN.g1.generator)
    if kind == "cuzk_key":
        path = tmp_path / "key"
        save_cuzk_key(path, load_zkey(save(zkey_bytes(BN))))
        return path
    if kind == "pce":
        return saved_pce(tmp_path)
    content: dict[str, Callable[[], bytes]] = {
        "r1cs": lambda: container(b"r1cs", 1, r1cs_sections(BN)),
        "wtns": lambda: container(b"wtns", 2, wtns_sections(BN, [1, 15, 3, 0])),
        "zkey": lambda: zkey_bytes(BN),
        "ptau": lambda: ptau_bytes(BLS, 2, Secrets(5, 6, 7), prepared=False),
        "params": params_file,
        "bellman_vk": lambda: PARTS["fixed"] + PARTS["ic"],
        "vkey_json": lambda: json.dumps(
            vkey_to_json(load_zkey(save(zkey_bytes(BN))).verifying_key())
        ).encode(),
        "proof_json": lambda: json.dumps(proof_to_json(proof)).encode(),
        "public_json": lambda: b' ["15"]',
        "proof_bytes": lambda: encode_proof(proof),
    }
    return save(content[kind]())


EXPECTED: dict[str, tuple[str | None, dict[str, object]]] = {
    "r1cs": (
        "bn254",
        {"constraints": 1, "variables": 4, "public": 1, "outputs": 1, "domain": "2^2", "non-zero in C": 1},
    ),
    "wtns": ("bn254", {"values": 4, "zero": 1, "one": 1, "other": 2}),
    "zkey": (
        "bn254",
        {"constraints": 1, "public": 1, "h form": "odd_lagrange", "matrix C": "no", "contributions": 1},
    ),
    "cuzk_key": ("bn254", {"constraints": 1, "variables": 4, "root convention": "snarkjs"}),
    "pce": ("toy", {"circuit": "an example", "constraints": 7, "hints": 3, "pieces": 2, "instances": 4}),
    "ptau": ("bls12_381", {"power": 2, "prepared for phase 2": "no"}),
    "params": ("bls12_381", {"public": 2, "private variables": 4, "points in h_query": 7}),
    "bellman_vk": ("bls12_381", {"public": 2}),
    "vkey_json": ("bn254", {"public": 1}),
    "proof_json": ("bn254", {}),
    "public_json": (None, {"values": 1}),
    "proof_bytes": ("bn254", {"form": "A || B || C, compressed"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(kind: str, save: Save, tmp_path: Path) -> None:
    path = example(kind, save, tmp_path)
    assert detect(path) == kind
    info = describe(path)
    curve, details = EXPECTED[kind]
    assert (info.kind, info.curve, info.num_bytes) == (kind, curve, path.stat().st_size)
    assert info.details | details == info.details
    assert info.title == KINDS[kind]


def test_the_circuit_and_its_keys_have_one_digest(save: Save, tmp_path: Path) -> None:
    digests = {
        describe(example(kind, save, tmp_path)).details["circuit digest"]
        for kind in ("r1cs", "zkey", "cuzk_key")
    }
    assert len(digests) == 1


def test_proof_bytes_of_the_other_curve(save: Save) -> None:
    proof = Proof.from_ints(BLS, BLS.g1.generator, BLS.g2.generator, BLS.g1.generator)
    assert describe(save(encode_proof(proof))).curve == "bls12_381"


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 191, b"r1c", b"cuzk-ke"])
def test_unknown_files(content: bytes, save: Save) -> None:
    with pytest.raises(FormatError, match="not a file that cuzk knows"):
        detect(save(content))


@pytest.mark.parametrize("text", [b"{}", b'{"a": 1}', b"{"])
def test_unknown_json(text: bytes, save: Save) -> None:
    with pytest.raises(FormatError, match=r"neither|not JSON"):
        detect(save(text))


def test_describe_checks(save: Save) -> None:
    with pytest.raises(FormatError, match="below"):
        describe(save(container(b"wtns", 2, wtns_sections(BN, [1, BN.r]))))
    with pytest.raises(FormatError, match="flags"):
        describe(save(bytes(128)))


def test_load_key_takes_keys_only(save: Save, tmp_path: Path) -> None:
    for kind in KINDS:
        path = example(kind, save, tmp_path)
        if kind in ("zkey", "cuzk_key"):
            assert load_key(path).num_constraints == 1
        elif kind == "params":
            with pytest.raises(InputError, match="circuit"):
                load_key(path)
        else:
            with pytest.raises(FormatError, match="not a proving key"):
                load_key(path)
    with pytest.raises(InputError, match="cannot read"):
        load_key(tmp_path / "missing")
