"""Encodings of proofs, against encodings of other programs and against damage.

Would catch: bytes in the wrong order, c0 and c1 swapped, a sign flag the wrong way, a second encoding of a point,
a proof of the wrong length read.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from cuzk.curves import CURVES, Curve, GroupSpec, get_curve
from cuzk.errors import CurveMismatchError, FormatError, NotOnCurveError, RangeError
from cuzk.formats import (
    PROOF_ENCODINGS,
    ProofEncoding,
    decode_proof,
    encode_proof,
    load_proof,
    load_public,
    proof_size,
    solidity_calldata,
)
from cuzk.proof import Proof

DATA = Path(__file__).resolve().parents[1] / "data"
BLS, BN = get_curve("bls12_381"), get_curve("bn254")
each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
BN_PROOFS = sorted((DATA / "bn128").glob("*/proof.json"))


def encodings(curve: Curve) -> list[ProofEncoding]:
    """Those that a curve has."""
    return [encoding for encoding in PROOF_ENCODINGS if encoding != "evm" or curve is BN]


def some_proof(curve: Curve, rng: random.Random) -> Proof:
    """Three points of the groups."""
    a, b, c = (
        group.plain.mul(group.generator, rng.randrange(1, curve.r))
        for group in (curve.g1, curve.g2, curve.g1)
    )
    return Proof.from_ints(curve, a, b, c)


@each_curve
def test_round_trip(curve: Curve, rng: random.Random) -> None:
    """Random points, both signs of y, and infinity in every place."""
    first = some_proof(curve, rng)
    points: list[Any] = list(first.to_ints())
    proofs = [first]
    for i, group in enumerate((curve.g1, curve.g2, curve.g1)):
        x, y = points[i]
        for other in (None, (x, group.plain.neg_coord(y))):
            proofs.append(Proof.from_ints(curve, *(other if i == j else points[j] for j in range(3))))
    for encoding in encodings(curve):
        seen = [encode_proof(proof, encoding) for proof in proofs]
        assert len(set(seen)) == len(seen)
        assert {len(data) for data in seen} == {proof_size(curve, encoding)}
        assert [decode_proof(curve, data, encoding) for data in seen] == proofs


@pytest.mark.parametrize("path", BN_PROOFS, ids=lambda path: path.parent.name)
def test_arkworks_reads_and_writes_the_same(path: Path) -> None:
    """The library's points are those of ark-bn254."""
    zksnake = pytest.importorskip("zksnake.groth16")
    proof = load_proof(path)
    theirs = zksnake.Proof.from_bytes(encode_proof(proof, "arkworks"))
    (ax, ay), (bx, by), (cx, cy) = proof.to_ints()  # type: ignore[misc]
    assert [(int(p.x), int(p.y)) for p in (theirs.A, theirs.C)] == [(ax, ay), (cx, cy)]
    assert ([int(v) for v in theirs.B.x], [int(v) for v in theirs.B.y]) == (list(bx), list(by))
    assert decode_proof(BN, theirs.to_bytes(), "arkworks") == proof


def test_arkworks_of_the_generators() -> None:
    """The y = 2 is the smaller of 2 and p - 2; infinity is the flag alone."""
    one = Proof.from_ints(BN, (1, 2), None, (1, BN.p - 2))
    data = encode_proof(one, "arkworks")
    assert data[:32].hex() == "01" + "00" * 31
    assert data[32:96].hex() == "00" * 63 + "40"
    assert data[96:].hex() == "01" + "00" * 30 + "80"
    full = encode_proof(one, "arkworks_uncompressed")
    assert full[:64].hex() == "01" + "00" * 31 + "02" + "00" * 31
    assert full[192:].hex() == "01" + "00" * 31 + bytes((BN.p - 2).to_bytes(32, "little")[:-1]).hex() + (
        f"{(BN.p - 2 >> 248) | 0x80:02x}"
    )


def test_zcash_uncompressed_vectors() -> None:
    """Published encodings: BLS12-381's G1 generator, and infinity."""
    x = "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
    y = "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"
    data = encode_proof(Proof.from_ints(BLS, BLS.g1.generator, None, None), "uncompressed")
    assert data[:96].hex() == x + y
    assert data[96:288].hex() == "40" + "00" * 191


@pytest.mark.parametrize("path", BN_PROOFS, ids=lambda path: path.parent.name)
def test_evm_words(path: Path) -> None:
    """EIP-197 has the imaginary part first; the text is what `snarkjs zkey export soliditycalldata` prints."""
    value = json.loads(path.read_text())
    (x0, x1), (y0, y1) = value["pi_b"][:2]
    words = [*value["pi_a"][:2], x1, x0, y1, y0, *value["pi_c"][:2]]
    expected = b"".join(int(word).to_bytes(32, "big") for word in words)
    proof, public = load_proof(path), load_public(path.parent / "public.json", BN)
    assert encode_proof(proof, "evm") == expected
    text = solidity_calldata(proof, public)
    a, b, c, inputs = json.loads(f"[{text}]")
    assert [int(word, 16) for word in (*a, *b[0], *b[1], *c)] == [int(word) for word in words]
    assert [int(word, 16) for word in inputs] == public
    assert all(len(word) == 66 for word in (*a, *b[0], *b[1], *c, *inputs))


def test_evm_is_for_bn254(rng: random.Random) -> None:
    for call in (
        lambda: encode_proof(some_proof(BLS, rng), "evm"),
        lambda: decode_proof(BLS, bytes(384), "evm"),
        lambda: solidity_calldata(some_proof(BLS, rng), []),
    ):
        with pytest.raises(CurveMismatchError, match="bn254"):
            call()
    with pytest.raises(RangeError, match="public input 0"):
        solidity_calldata(some_proof(BN, rng), [BN.r])
    with pytest.raises(RangeError, match="unknown encoding"):
        encode_proof(some_proof(BN, rng), "hex")  # type: ignore[arg-type]


def place(group: GroupSpec, encoding: str, data: bytes, coordinate: int, value: int) -> bytes:
    """The bytes of a point with one coordinate replaced, flags kept where there are any."""
    width, order = group.fp.nbytes, "little" if encoding.startswith("arkworks") else "big"
    raw = bytearray(data)
    raw[coordinate * width : (coordinate + 1) * width] = value.to_bytes(width, order)  # type: ignore[arg-type]
    return bytes(raw)


@pytest.mark.parametrize("encoding", PROOF_ENCODINGS)
def test_damage(encoding: ProofEncoding, rng: random.Random) -> None:
    """Wrong lengths, coordinates >= p, flags that do not fit, and a changed sign flag."""
    good = some_proof(BN, rng)
    data = encode_proof(good, encoding)
    for wrong in (b"", data[:-1], data + b"\0", data + data):
        with pytest.raises(FormatError, match="a proof of"):
            decode_proof(BN, wrong, encoding)
    for value in (BN.p, BN.p + 1, (1 << 256) - 1):
        if encoding in ("uncompressed", "evm", "arkworks_uncompressed"):
            with pytest.raises(FormatError):
                decode_proof(BN, place(BN.g1, encoding, data, 0, value), encoding)
    for at in range(len(data)):
        for bit in (0x80, 0x40, 0x20):
            changed = bytes([*data[:at], data[at] ^ bit, *data[at + 1 :]])
            try:
                found = decode_proof(BN, changed, encoding)
            except (FormatError, NotOnCurveError):
                continue
            assert found != good
            assert encode_proof(found, encoding) == changed


def test_origin_is_no_point() -> None:
    """(0, 0) would be infinity in memory; only infinity's own encoding may give it."""
    with pytest.raises(FormatError, match="no point"):
        decode_proof(BLS, bytes(384), "uncompressed")
    with pytest.raises(FormatError, match="no point"):
        decode_proof(BN, bytes(256), "arkworks_uncompressed")
    assert decode_proof(BN, bytes(256), "evm").to_ints() == (None, None, None)
