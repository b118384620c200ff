"""Compressed points of BLS12-381 ("Zcash" encoding) and the 192-byte proof.

x is big-endian, c1 before c0 on G2. The top three bits of the first byte are flags: compressed (always 1),
infinity, and whether y is the larger of y and -y (on G2 compared by c1 first, then c0).
Source: https://www.ietf.org/archive/id/draft-irtf-cfrg-pairing-friendly-curves-11.html, appendix C.
"""

from cuzk_oracles import curve
from cuzk_oracles.groth16 import G1Point, G2Point, Proof
from cuzk_oracles.params import BLS12_381

_COMPRESSED, _INFINITY, _LARGER = 0x80, 0x40, 0x20


def _with_flags(body: bytes, flags: int) -> bytes:
    return bytes([body[0] | flags]) + body[1:]


def compress_g1(point: G1Point) -> bytes:
    """48 bytes."""
    if point is None:
        return _with_flags(bytes(48), _COMPRESSED | _INFINITY)
    x, y = point
    larger = _LARGER if y > -y % BLS12_381.p else 0
    return _with_flags(x.to_bytes(48, "big"), _COMPRESSED | larger)


def compress_g2(point: G2Point) -> bytes:
    """96 bytes."""
    if point is None:
        return _with_flags(bytes(96), _COMPRESSED | _INFINITY)
    x, (y0, y1) = point
    p = BLS12_381.p
    larger = _LARGER if (y1, y0) > (-y1 % p, -y0 % p) else 0
    return _with_flags(x[1].to_bytes(48, "big") + x[0].to_bytes(48, "big"), _COMPRESSED | larger)


def _split(data: bytes, size: int) -> tuple[list[int], bool]:
    """The field elements, and whether the point is infinity."""
    if len(data) != size or not data[0] & _COMPRESSED:
        raise ValueError(f"not a compressed point of {size} bytes")
    infinity, larger = bool(data[0] & _INFINITY), bool(data[0] & _LARGER)
    body = bytes([data[0] & 0x1F]) + data[1:]
    values = [int.from_bytes(body[i : i + 48], "big") for i in range(0, size, 48)]
    if infinity and (larger or any(values)):
        raise ValueError("infinity with other bits set")
    if any(value >= BLS12_381.p for value in values):
        raise ValueError("coordinate is not below p")
    return values, infinity


def decompress_g1(data: bytes) -> G1Point:
    """The point of 48 bytes, on the curve, perhaps outside the subgroup; ValueError for anything else."""
    (x,), infinity = _split(data, 48)
    if infinity:
        return None
    point = curve.lift_x(BLS12_381.g1, x)
    if point is None:
        raise ValueError("x is on no curve point")
    return point if compress_g1(point) == data else (x, -point[1] % BLS12_381.p)


def decompress_g2(data: bytes) -> G2Point:
    """The point of 96 bytes, on the curve, perhaps outside the subgroup; ValueError for anything else."""
    (x1, x0), infinity = _split(data, 96)
    if infinity:
        return None
    point = curve.lift_x(BLS12_381.g2, (x0, x1))
    if point is None:
        raise ValueError("x is on no curve point")
    return point if compress_g2(point) == data else curve.neg(BLS12_381.g2, point)


def proof_to_bytes(proof: Proof) -> bytes:
    """A, B, C compressed: 192 bytes."""
    return compress_g1(proof.a) + compress_g2(proof.b) + compress_g1(proof.c)


def proof_from_bytes(data: bytes) -> Proof:
    """Inverse of `proof_to_bytes`."""
    if len(data) != 192:
        raise ValueError(f"a proof has 192 bytes, got {len(data)}")
    return Proof(decompress_g1(data[:48]), decompress_g2(data[48:144]), decompress_g1(data[144:]))
