"""SHA-256 of 512 bits as whole circuits: the bits are variables, the digest is not bound to anything.

They have no inputs but ONE. Rows and variables are those of the tests of bellperson's gadget.
"""

from __future__ import annotations

from cuzk.circuits.boolean import Bit, alloc_bits, bytes_to_bits
from cuzk.circuits.sha256 import BLOCK_BITS, sha256, sha256_compression, sha256_initial_state
from cuzk.circuits.uint32 import word_to_bits_be
from cuzk.errors import ShapeError
from cuzk.synthesis import ConstraintSystem

__all__ = ["compression_circuit", "hash_circuit", "message_hints"]


def message_hints(message: bytes) -> list[int]:
    """The hints of both circuits: the bits of a block.

    Args:
        message: 64 bytes.

    Raises:
        ShapeError: The message has another length.
    """
    if len(message) * 8 != BLOCK_BITS:
        raise ShapeError(
            f"a message of {len(message)} bytes",
            limit=f"{BLOCK_BITS // 8} bytes",
            remedy="give a whole block",
        )
    return bytes_to_bits(message)


def compression_circuit(cs: ConstraintSystem) -> list[Bit]:
    """``sha256:compression``: 512 bits and the compression function on them from the initial state.

    Args:
        cs: An empty system; its hints are those of message_hints.

    Returns:
        The 256 bits of the state that follows, most significant first within each word.
    """
    state = sha256_compression(cs, alloc_bits(cs, BLOCK_BITS), sha256_initial_state())
    return [bit for word in state for bit in word_to_bits_be(word)]


def hash_circuit(cs: ConstraintSystem) -> list[Bit]:
    """``sha256:512``: 512 bits and their SHA-256, padding included; as compression_circuit, but the digest."""
    return sha256(cs, alloc_bits(cs, BLOCK_BITS))
