"""Field elements as 32 bytes, and digests made into field elements.

>>> to_bytes(258).hex()[:8], from_bytes(to_bytes(258))
('02010000', 258)
"""

from __future__ import annotations

from hashlib import sha256

from cuzk.circuits.vanilla.poseidon_constants import MODULUS
from cuzk.errors import RangeError, ShapeError

__all__ = ["NODE_BYTES", "from_bytes", "sha256_value", "to_bytes", "truncated"]


#: Bytes of a node: of a data leaf, a label, a hash.
NODE_BYTES = 32
_TRUNCATED = (1 << 254) - 1


def to_bytes(value: int) -> bytes:
    """A field element as 32 bytes, little-endian."""
    return value.to_bytes(NODE_BYTES, "little")


def from_bytes(data: bytes, what: str = "a node") -> int:
    """The field element that 32 little-endian bytes stand for.

    Raises:
        ShapeError: Not 32 bytes.   RangeError: Not below r.
    """
    if len(data) != NODE_BYTES:
        raise ShapeError(f"{what} has {len(data)} bytes", limit=f"{NODE_BYTES} bytes")
    value = int.from_bytes(data, "little")
    if value >= MODULUS:
        raise RangeError(f"{what} is no field element", limit=f"little-endian value below {MODULUS:#x}")
    return value


def truncated(digest: bytes) -> int:
    """A digest of 32 bytes as a field element: the top two bits of the last byte cleared so that it is below r."""
    return int.from_bytes(digest, "little") & _TRUNCATED


def sha256_value(*parts: bytes) -> int:
    """SHA-256 of the joined parts, truncated."""
    return truncated(sha256(b"".join(parts)).digest())
