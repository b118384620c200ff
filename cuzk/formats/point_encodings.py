"""Encodings of points beside the compressed one of proof_bytes: uncompressed, arkworks's, and the EVM's.

========================  ==========================================================================
Encoding                  A point
========================  ==========================================================================
uncompressed              x || y, big-endian, in Fp2 c1 before c0. Infinity: BLS12-381 (Zcash) 0x40, zeros;
                          BN254 (gnark-crypto) zeros
arkworks                  x, little-endian, in Fp2 c0 before c1; flags in the top bits of the last byte:
                          0x80 y is the larger of y and -y, 0x40 infinity
arkworks_uncompressed     x || y likewise, the same flags on y
evm                       x || y, big-endian, in Fp2 c1 before c0, as EIP-197 has them; infinity is zeros
========================  ==========================================================================

"arkworks" is what ark-serialize gives for a curve without an encoding of its own, such as ark-bn254; on
BLS12-381, ark-bls12-381 has used Zcash's encoding (our "compressed", "uncompressed") from version 0.4 on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuzk.curves import GroupSpec
from cuzk.errors import FormatError, NotOnCurveError
from cuzk.formats.proof_bytes import decode_point, encode_point, is_larger
from cuzk.limbs import AffinePoint

__all__ = ["DECODERS", "ENCODERS", "UNCOMPRESSED"]

_LARGER, _INFINITY = 0x80, 0x40
UNCOMPRESSED = frozenset({"uncompressed", "arkworks_uncompressed", "evm"})


def _coordinates(group: GroupSpec, point: tuple[Any, Any]) -> list[int]:
    """x, y or x.c0, x.c1, y.c0, y.c1."""
    return list(point) if group.degree == 1 else [part for coordinate in point for part in coordinate]


def _point(group: GroupSpec, parts: list[int]) -> tuple[Any, Any]:
    """The inverse of _coordinates."""
    return (parts[0], parts[1]) if group.degree == 1 else ((parts[0], parts[1]), (parts[2], parts[3]))


def _big_first(group: GroupSpec, parts: list[int]) -> list[int]:
    """Swap c0 and c1 of every coordinate."""
    return (
        parts
        if group.degree == 1
        else [part for i in range(0, len(parts), 2) for part in (parts[i + 1], parts[i])]
    )


def _check_length(group: GroupSpec, data: bytes, offset: int, coordinates: int = 2) -> None:
    size = coordinates * group.degree * group.fp.nbytes
    if len(data) != size:
        raise FormatError(f"a point of {len(data)} bytes", offset=offset, limit=f"exactly {size} bytes")


def _check_below(group: GroupSpec, parts: list[int], offset: int) -> None:
    for i, part in enumerate(parts):
        if part >= group.fp.modulus:
            raise FormatError(
                "a coordinate is not below p",
                offset=offset + i * group.fp.nbytes,
                limit=f"p = {group.fp.modulus}",
            )


def _encode_big_endian(group: GroupSpec, point: AffinePoint, infinity: int) -> bytes:
    width = group.fp.nbytes
    if point is None:
        return bytes([infinity]) + bytes(2 * group.degree * width - 1)
    return b"".join(c.to_bytes(width, "big") for c in _big_first(group, _coordinates(group, point)))


def _decode_big_endian(group: GroupSpec, data: bytes, offset: int, infinity: int) -> AffinePoint:
    _check_length(group, data, offset)
    if data == _encode_big_endian(group, None, infinity):
        return None
    width = group.fp.nbytes
    parts = [int.from_bytes(data[i : i + width], "big") for i in range(0, len(data), width)]
    _check_below(group, parts, offset)
    if not any(parts):
        raise FormatError("(0, 0) is no point", offset=offset, limit=f"infinity starts with 0x{infinity:02x}")
    return _point(group, _big_first(group, parts))


def _infinity_byte(group: GroupSpec) -> int:
    return 0x40 if group.fp.spare_bits >= 3 else 0


def _encode_uncompressed(group: GroupSpec, point: AffinePoint) -> bytes:
    return _encode_big_endian(group, point, _infinity_byte(group))


def _decode_uncompressed(group: GroupSpec, data: bytes, offset: int) -> AffinePoint:
    return _decode_big_endian(group, data, offset, _infinity_byte(group))


def _encode_arkworks(group: GroupSpec, point: AffinePoint) -> bytes:
    full = _encode_arkworks_uncompressed(group, point)
    half = bytearray(full[: len(full) // 2])
    half[-1] |= full[-1] & (_LARGER | _INFINITY)
    return bytes(half)


def _encode_arkworks_uncompressed(group: GroupSpec, point: AffinePoint) -> bytes:
    width = group.fp.nbytes
    if point is None:
        return bytes(2 * group.degree * width - 1) + bytes([_INFINITY])
    raw = bytearray(b"".join(c.to_bytes(width, "little") for c in _coordinates(group, point)))
    raw[-1] |= _LARGER if is_larger(group, point[1]) else 0
    return bytes(raw)


def _read_arkworks(group: GroupSpec, data: bytes, offset: int, coordinates: int) -> tuple[int, list[int]]:
    """Flags and coordinates; no coordinates for infinity."""
    _check_length(group, data, offset, coordinates)
    flags, width = data[-1] & (_LARGER | _INFINITY), group.fp.nbytes
    body = data[:-1] + bytes([data[-1] ^ flags])
    if flags & _INFINITY:
        if flags & _LARGER or any(body):
            raise FormatError("infinity with further bits set", offset=offset, limit="all other bits 0")
        return flags, []
    parts = [int.from_bytes(body[i : i + width], "little") for i in range(0, len(body), width)]
    _check_below(group, parts, offset)
    return flags, parts


def _decode_arkworks(group: GroupSpec, data: bytes, offset: int) -> AffinePoint:
    flags, parts = _read_arkworks(group, data, offset, 1)
    if not parts:
        return None
    x: Any = parts[0] if group.degree == 1 else (parts[0], parts[1])
    y = group.plain.sqrt(group.plain.rhs(x))
    if y is None:
        raise NotOnCurveError(f"no point of {group.full_name} has this x", where=f"byte {offset}")
    if is_larger(group, y) != bool(flags):
        if y == group.plain.neg_coord(y):
            raise FormatError("y is 0, which has no larger twin", offset=offset, limit="flags 0x00")
        y = group.plain.neg_coord(y)
    return x, y


def _decode_arkworks_uncompressed(group: GroupSpec, data: bytes, offset: int) -> AffinePoint:
    flags, parts = _read_arkworks(group, data, offset, 2)
    if not parts:
        return None
    if not any(parts):
        raise FormatError(
            "(0, 0) is no point", offset=offset, limit=f"infinity has the flag 0x{_INFINITY:02x}"
        )
    point = _point(group, parts)
    if is_larger(group, point[1]) != bool(flags):
        raise FormatError(
            f"the flag says that y is the {'larger' if flags else 'smaller'} one, but it is not",
            offset=offset,
            limit="one encoding for each point",
        )
    return point


ENCODERS: dict[str, Callable[[GroupSpec, AffinePoint], bytes]] = {
    "compressed": encode_point,
    "uncompressed": _encode_uncompressed,
    "arkworks": _encode_arkworks,
    "arkworks_uncompressed": _encode_arkworks_uncompressed,
    "evm": lambda group, point: _encode_big_endian(group, point, 0),
}
DECODERS: dict[str, Callable[[GroupSpec, bytes, int], AffinePoint]] = {
    "compressed": lambda group, data, offset: decode_point(group, data, offset=offset),
    "uncompressed": _decode_uncompressed,
    "arkworks": _decode_arkworks,
    "arkworks_uncompressed": _decode_arkworks_uncompressed,
    "evm": lambda group, data, offset: _decode_big_endian(group, data, offset, 0),
}
