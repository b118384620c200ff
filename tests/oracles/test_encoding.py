"""Compressed points and proof bytes against blst and arkworks.

Would catch: a sign flag taken from the wrong coordinate or order, c0 before c1, an infinity with other bits
accepted, a byte changed that goes unnoticed.
"""

import pytest
from cuzk_oracles import curve, edge_points, encoding, third_party
from cuzk_oracles.groth16 import G1Point, G2Point, Proof
from cuzk_oracles.params import BLS12_381
from hypothesis import given, settings

from tests.strategies import points

G1, G2 = BLS12_381.g1, BLS12_381.g2


@settings(max_examples=25)
@given(p=points.subgroup_points(G1), q=points.subgroup_points(G2))
def test_against_libraries(p: G1Point, q: G2Point) -> None:
    blst, arkworks = third_party.get("pyblst").load(), third_party.get("py_arkworks_bls12381").load()
    p_bytes, q_bytes = encoding.compress_g1(p), encoding.compress_g2(q)
    assert bytes(blst.BlstP1Element.uncompress(p_bytes).compress()) == p_bytes
    assert bytes(blst.BlstP2Element.uncompress(q_bytes).compress()) == q_bytes
    xy = bytes(48 * 2) if p is None else b"".join(v.to_bytes(48, "big") for v in p)
    assert bytes(arkworks.G1Point.from_compressed_bytes(p_bytes).to_xy_bytes_be()) == xy
    little = bytes(48 * 4) if q is None else b"".join(v.to_bytes(48, "little") for c in q for v in c)
    assert bytes(arkworks.G2Point.from_compressed_bytes(q_bytes).to_xy_bytes_le()) == little


@settings(max_examples=25)
@given(p=points.points(G1), q=points.points(G2))
def test_round_trip(p: G1Point, q: G2Point) -> None:
    """Both signs of y, and points outside the subgroup."""
    for point in (p, curve.neg(G1, p)):
        assert encoding.decompress_g1(encoding.compress_g1(point)) == point
    for point2 in (q, curve.neg(G2, q)):
        assert encoding.decompress_g2(encoding.compress_g2(point2)) == point2


def test_sign_on_g2_when_c1_is_zero() -> None:
    """Y in Fp: the order falls back to c0. (x, y) with y.c1 = 0 needs no curve to be encoded."""
    small, large = (1, 0), (BLS12_381.p - 1, 0)
    assert encoding.compress_g2(((5, 6), small))[0] & 0x20 == 0
    assert encoding.compress_g2(((5, 6), large))[0] & 0x20 == 0x20


def test_proof_bytes() -> None:
    two, outside = curve.double(G1, G1.generator), edge_points.outside_subgroup(G1)
    for proof in (Proof(two, G2.generator, None), Proof(outside, None, curve.neg(G1, two))):
        data = encoding.proof_to_bytes(proof)
        assert len(data) == 192
        assert encoding.proof_from_bytes(data) == proof


_ON_NO_POINT = next(x for x in range(1, 20) if curve.lift_x(G1, x) is None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bytes(48), "not a compressed point"),
        (bytes(47), "not a compressed point"),
        (b"\xc0" + bytes(46) + b"\1", "infinity with other bits"),
        (b"\xe0" + bytes(47), "infinity with other bits"),
        (b"\x9f" + b"\xff" * 47, "not below p"),
        (b"\x80" + bytes(46) + bytes([_ON_NO_POINT]), "no curve point"),
    ],
)
def test_refused_encodings(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encoding.decompress_g1(data)


def test_refused_g2_and_proof_lengths() -> None:
    with pytest.raises(ValueError, match="not a compressed point"):
        encoding.decompress_g2(encoding.compress_g2(None)[:-1])
    with pytest.raises(ValueError, match="no curve point"):
        encoding.decompress_g2(b"\x80" + bytes(95))
    with pytest.raises(ValueError, match="192 bytes, got 191"):
        encoding.proof_from_bytes(bytes(191))
