"""ChaCha with eight rounds as a generator of 64-bit numbers, as the graph draws parents from it.

Source: Bernstein, ChaCha, a variant of Salsa20 (2008); 64-bit counter and nonce, both starting at 0, as Rust's
rand_chacha seeds it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

__all__ = ["chacha8_u64", "chacha_block"]

_CONSTANTS = struct.unpack("<4I", b"expand 32-byte k")
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
_MASK = 0xFFFFFFFF


def _quarter(x: list[int], a: int, b: int, c: int, d: int) -> None:
    for left, right in ((16, 12), (8, 7)):
        x[a] = (x[a] + x[b]) & _MASK
        x[d] = (x[d] ^ x[a]) << left
        x[d] = (x[d] | x[d] >> 32) & _MASK
        x[c] = (x[c] + x[d]) & _MASK
        x[b] = (x[b] ^ x[c]) << right
        x[b] = (x[b] | x[b] >> 32) & _MASK


def chacha_block(key: bytes, counter: int, nonce: bytes = bytes(8), *, rounds: int = 8) -> bytes:
    """One block of 64 bytes of key stream.

    Args:
        key: 32 bytes.
        counter: Number of the block, 64 bits.
        nonce: 8 bytes.
        rounds: An even number; 8 for the graph.
    """
    words = (*struct.unpack("<8I", key), *struct.unpack("<2I", counter.to_bytes(8, "little")))
    start = [*_CONSTANTS, *words, *struct.unpack("<2I", nonce)]
    state = list(start)
    for _ in range(rounds // 2):
        for quad in _COLUMNS + _DIAGONALS:
            _quarter(state, *quad)
    return struct.pack("<16I", *((x + y) & _MASK for x, y in zip(state, start, strict=True)))


def chacha8_u64(seed: bytes) -> Iterator[int]:
    """The 64-bit numbers of the generator seeded with 32 bytes: consecutive 8 bytes, little-endian, endless."""
    counter = 0
    while True:
        yield from struct.unpack("<8Q", chacha_block(seed, counter))
        counter += 1
