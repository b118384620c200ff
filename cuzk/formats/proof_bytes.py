"""Compressed points; a proof A || B || C of them has 192 bytes on BLS12-381 and 128 on BN254.

A compressed point is x, big-endian (Fp2: c1 before c0), with flags in the top bits of the first byte. A point
is "larger" if its y is the larger one of y and -y as an integer; in Fp2 c1 decides, and c0 only where c1 is
0.

* Three spare bits (BLS12-381; Zcash's encoding): 0x80 compressed, always set; 0x40 infinity; 0x20 y is the
  larger.
* Two spare bits (BN254; gnark-crypto's encoding): 0x80 y is the smaller, 0xC0 y is the larger, 0x40 infinity.

Infinity has all other bits 0. Exactly one byte string stands for each point.
"""

from __future__ import annotations

from typing import Any

from cuzk.curves import GroupSpec
from cuzk.errors import FormatError, NotOnCurveError
from cuzk.limbs import AffinePoint


def _flags(group: GroupSpec) -> tuple[int, int, int, int]:
    """(mask, smaller, larger, infinity) for the first byte."""
    return (0xE0, 0x80, 0xA0, 0xC0) if group.fp.spare_bits >= 3 else (0xC0, 0x80, 0xC0, 0x40)


def is_larger(group: GroupSpec, y: Any) -> bool:
    """Whether y is the larger one of y and -y, as an integer; in Fp2 c1 decides, c0 only where c1 is 0."""
    half = group.fp.modulus // 2
    if group.degree == 1:
        return bool(y > half)
    c0, c1 = y
    return bool(c1 > half if c1 else c0 > half)


def encode_point(group: GroupSpec, point: AffinePoint) -> bytes:
    """One compressed point, degree * nbytes bytes.

    Args:
        group: The group.
        point: Affine ints, standard form; None is infinity.
    """
    _, smaller, larger, infinity = _flags(group)
    width = group.fp.nbytes
    if point is None:
        return bytes([infinity]) + bytes(group.degree * width - 1)
    x, y = point
    parts = (x,) if group.degree == 1 else (x[1], x[0])
    raw = bytearray(b"".join(part.to_bytes(width, "big") for part in parts))
    raw[0] |= larger if is_larger(group, y) else smaller
    return bytes(raw)


def decode_point(group: GroupSpec, data: bytes, *, offset: int = 0) -> AffinePoint:
    """The inverse of encode_point.

    Args:
        group: The group.
        data: Exactly degree * nbytes bytes.
        offset: Where data starts in what the caller reads, for messages.

    Returns:
        A point on the curve (its subgroup is not checked), or None for infinity.

    Raises:
        FormatError: Wrong length or flags, a coordinate >= p, or infinity not in its one form.
        NotOnCurveError: No point has such an x.
    """
    fp, size = group.fp, group.degree * group.fp.nbytes
    if len(data) != size:
        raise FormatError(f"a point of {len(data)} bytes", offset=offset, limit=f"exactly {size} bytes")
    mask, smaller, larger, infinity = _flags(group)
    flag, body = data[0] & mask, bytes([data[0] & ~mask & 0xFF]) + data[1:]
    if flag == infinity:
        if any(body):
            raise FormatError("infinity with further bits set", offset=offset, limit="all other bits 0")
        return None
    if flag not in (smaller, larger):
        raise FormatError(
            f"the point's flags are 0x{flag:02x}",
            offset=offset,
            limit=f"0x{smaller:02x}, 0x{larger:02x} or 0x{infinity:02x}: compressed points",
        )
    parts = [int.from_bytes(body[i : i + fp.nbytes], "big") for i in range(0, size, fp.nbytes)]
    for i, part in enumerate(parts):
        if part >= fp.modulus:
            raise FormatError(
                "a coordinate is not below p", offset=offset + i * fp.nbytes, limit=f"p = {fp.modulus}"
            )
    x: Any = parts[0] if group.degree == 1 else (parts[1], parts[0])
    y = group.plain.sqrt(group.plain.rhs(x))
    if y is None:
        raise NotOnCurveError(f"no point of {group.full_name} has this x", where=f"byte {offset}")
    if is_larger(group, y) != (flag == larger):
        if y == group.plain.neg_coord(y):
            raise FormatError(
                "y is 0, which has no larger twin", offset=offset, limit=f"flags 0x{smaller:02x}"
            )
        y = group.plain.neg_coord(y)
    return x, y
