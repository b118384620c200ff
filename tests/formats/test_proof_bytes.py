"""Compressed points and proofs.

Would catch: a wrong sign rule, c0 and c1 swapped, a second accepted encoding of a point, infinity with stray
bits, wrong lengths, coordinates >= p.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from cuzk_oracles import encoding, groth16

from cuzk.curves import CURVES, Curve, GroupSpec, get_curve
from cuzk.errors import FormatError, NotOnCurveError
from cuzk.formats import decode_point, decode_proof, encode_point, encode_proof, proof_size
from cuzk.proof import Proof

BLS, BN, TOY = (get_curve(name) for name in ("bls12_381", "bn254", "toy"))
each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
GROUPS = {group.full_name: group for curve in CURVES.values() for group in (curve.g1, curve.g2)}
each_group = pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS.keys())


def test_zcash_vectors() -> None:
    """Published encodings of the generators, their opposites and infinity."""
    g1 = "f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"
    g2 = (
        "e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"
        "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"
    )
    plain1, plain2 = BLS.g1.plain, BLS.g2.plain
    vectors: list[tuple[GroupSpec, Any, str]] = [
        (BLS.g1, BLS.g1.generator, "97" + g1),
        (BLS.g1, plain1.mul(BLS.g1.generator, BLS.r - 1), "b7" + g1),
        (BLS.g1, None, "c0" + "00" * 47),
        (BLS.g2, BLS.g2.generator, "93" + g2),
        (BLS.g2, plain2.mul(BLS.g2.generator, BLS.r - 1), "b3" + g2),
        (BLS.g2, None, "c0" + "00" * 95),
    ]
    for group, point, text in vectors:
        assert encode_point(group, point).hex() == text
        assert decode_point(group, bytes.fromhex(text)) == point


def test_gnark_vectors() -> None:
    """On BN254: (1, 2) has the smaller y; infinity is 0x40."""
    assert encode_point(BN.g1, (1, 2)).hex() == "80" + "00" * 30 + "01"
    assert encode_point(BN.g1, (1, BN.p - 2)).hex() == "c0" + "00" * 30 + "01"
    assert encode_point(BN.g1, None).hex() == "40" + "00" * 31
    (c0, c1), _ = BN.g2.generator
    raw = encode_point(BN.g2, BN.g2.generator)
    assert int.from_bytes(raw[:32], "big") & ((1 << 254) - 1) == c1
    assert int.from_bytes(raw[32:], "big") == c0


@each_group
def test_round_trip(group: GroupSpec, rng: random.Random) -> None:
    points = [group.plain.mul(group.generator, rng.randrange(group.curve.r)) for _ in range(6)]
    for point in [None, group.generator, *points]:
        raw = encode_point(group, point)
        assert len(raw) == group.degree * group.fp.nbytes
        assert decode_point(group, raw) == point


def test_exhaustive_on_the_toy_curve() -> None:
    """Every 16-bit x with every flag: what decodes encodes to the same bytes, and all r points are found."""
    group, found = TOY.g1, set()
    for flags in range(8):
        for x in range(1 << 16):
            raw = bytes([flags << 5]) + x.to_bytes(7, "big")
            try:
                point = decode_point(group, raw)
            except (FormatError, NotOnCurveError):
                continue
            assert encode_point(group, point) == raw
            assert group.plain.is_on_curve(point)
            found.add(point)
    assert len(found) == TOY.r


def test_against_the_oracle(rng: random.Random) -> None:
    for _ in range(5):
        a, c = (BLS.g1.plain.mul(BLS.g1.generator, rng.randrange(1, BLS.r)) for _ in range(2))
        b = BLS.g2.plain.mul(BLS.g2.generator, rng.randrange(1, BLS.r))
        raw = encode_proof(Proof.from_ints(BLS, a, b, c))
        assert len(raw) == 192
        assert raw == encoding.proof_to_bytes(groth16.Proof(a, b, c))
        assert decode_proof(BLS, raw).to_ints() == (a, b, c)


@each_curve
def test_proof_layout(curve: Curve) -> None:
    plain, width = curve.g1.plain, curve.fp.nbytes
    c = plain.mul(curve.g1.generator, 5)
    raw = encode_proof(Proof.from_ints(curve, curve.g1.generator, curve.g2.generator, c))
    assert len(raw) == proof_size(curve) == 4 * width
    assert raw[:width] == encode_point(curve.g1, curve.g1.generator)
    assert raw[width : 3 * width] == encode_point(curve.g2, curve.g2.generator)
    assert raw[3 * width :] == encode_point(curve.g1, c)
    assert decode_proof(curve, raw).to_ints() == (curve.g1.generator, curve.g2.generator, c)


@each_curve
def test_exact_length_only(curve: Curve) -> None:
    raw = encode_proof(Proof.from_ints(curve, curve.g1.generator, None, None))
    for data in (b"", raw[:-1], raw + b"\0", raw + bytes(curve.fp.nbytes), raw[: curve.fp.nbytes]):
        with pytest.raises(FormatError, match="exactly"):
            decode_proof(curve, data)
    with pytest.raises(FormatError, match="exactly"):
        decode_point(curve.g1, raw[:-1])


@each_group
def test_infinity_has_one_form(group: GroupSpec) -> None:
    infinity = encode_point(group, None)
    assert decode_point(group, infinity) is None
    for bit in range(8 * len(infinity)):
        changed = bytearray(infinity)
        changed[bit // 8] ^= 0x80 >> bit % 8
        try:
            point = decode_point(group, bytes(changed))
        except (FormatError, NotOnCurveError):
            continue
        # Flipping the infinity flag can give a real point with x = 0, never infinity again.
        assert point is not None
        assert encode_point(group, point) == bytes(changed)


@each_group
def test_flags(group: GroupSpec) -> None:
    raw = encode_point(group, group.generator)
    bits = 3 if group.fp.spare_bits >= 3 else 2
    accepted = []
    for flags in range(1 << bits):
        changed = bytes([raw[0] & (0xFF >> bits) | flags << (8 - bits)]) + raw[1:]
        try:
            assert decode_point(group, changed) in (
                group.generator,
                (group.generator[0], group.plain.neg_coord(group.generator[1])),
            )
        except FormatError:
            continue
        accepted.append(flags)
    assert accepted == ([4, 5] if bits == 3 else [2, 3])


@each_group
def test_coordinates_are_reduced(group: GroupSpec) -> None:
    width, flag = group.fp.nbytes, encode_point(group, group.generator)[0] & 0xC0
    for i in range(group.degree):
        raw = bytearray(group.degree * width)
        raw[i * width : (i + 1) * width] = group.fp.modulus.to_bytes(width, "big")
        raw[0] |= flag & 0x80
        with pytest.raises(FormatError, match="not below p") as caught:
            decode_point(group, bytes(raw), offset=100)
        assert caught.value.offset == 100 + i * width


def test_second_half_of_g2_takes_no_flags() -> None:
    raw = encode_point(BLS.g2, BLS.g2.generator)
    for bit in (0x80, 0x40, 0x20):
        with pytest.raises((FormatError, NotOnCurveError)):
            decode_point(BLS.g2, raw[:48] + bytes([raw[48] ^ bit]) + raw[49:])


@each_curve
def test_x_without_a_point(curve: Curve) -> None:
    group = curve.g1
    x = next(x for x in range(1, 100) if group.plain.sqrt(group.plain.rhs(x)) is None)
    raw = bytes([0x80]) + x.to_bytes(group.fp.nbytes - 1, "big")
    with pytest.raises(NotOnCurveError, match="byte 7"):
        decode_point(group, raw, offset=7)


@pytest.mark.parametrize("group", [BLS.g2, BN.g2, TOY.g2], ids=["bls12_381", "bn254", "toy"])
def test_larger_y_in_fp2(group: GroupSpec) -> None:
    """c1 decides; c0 only where c1 is 0. It is a rule of the encoding, so the point may be off the curve."""
    p, x = group.fp.modulus, (1, 2)
    smaller, larger = (0x80, 0xA0) if group.fp.spare_bits >= 3 else (0x80, 0xC0)
    for y, flag in (
        ((1, 0), smaller),
        ((p - 1, 0), larger),
        ((p // 2, 0), smaller),
        ((p // 2 + 1, 0), larger),
        ((p - 1, 1), smaller),
        ((1, p - 1), larger),
        ((p - 1, p // 2), smaller),
        ((0, p // 2 + 1), larger),
    ):
        assert encode_point(group, (x, y))[0] == flag, y
