"""BLAKE2s-256 (RFC 7693) without key as a circuit.

Rows and variables are those of bellperson. Words are least significant bit first, as the bits of the message are; sums
of words share rows in each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk.circuits.boolean import FALSE, Bit
from cuzk.circuits.sha256 import INITIAL_STATE
from cuzk.circuits.template import call_template
from cuzk.circuits.uint32 import WORD_BITS, MultiEq, Word, constant_word, word_rotr, word_sum, word_xor
from cuzk.errors import ShapeError
from cuzk.synthesis import ConstraintSystem

__all__ = ["BLOCK_BITS", "blake2s"]

BLOCK_BITS = 512
_BYTE_BITS = 8
_STATE_WORDS = 8
#: Digest of 32 bytes, no key, fanout and depth of 1: the first word of the parameter block.
_PARAMETERS = 0x0101_0020
_MASK = 0xFFFF_FFFF
#: Of the message's words, which go into which mixing of a round.
_SIGMA = (
    (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
    (14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3),
    (11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4),
    (7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8),
    (9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13),
    (2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9),
    (12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11),
    (13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10),
    (6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5),
    (10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0),
)
#: Columns and diagonals of the state.
_MIXED = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip


def _mix(equations: MultiEq, v: list[Word], places: tuple[int, int, int, int], words: Sequence[Word]) -> None:
    """The function G of the standard: four words of the state, two of the message."""
    cs = equations.cs
    a, b, c, d = places
    for word, by_d, by_b in zip(words, (16, 8), (12, 7), strict=True):
        v[a] = word_sum(equations, [v[a], v[b], word])
        v[d] = word_rotr(word_xor(cs, v[d], v[a]), by_d)
        v[c] = word_sum(equations, [v[c], v[d]])
        v[b] = word_rotr(word_xor(cs, v[b], v[c]), by_b)


@dataclass(frozen=True)
class _Compression:
    """The compression function as a template's body: of 512 bits of the message and 8 words after them.

    Args:
        num_bytes: Of the message, up to the end of this block.
        is_last: Whether it is the last block.
    """

    num_bytes: int
    is_last: bool

    def __call__(self, cs: ConstraintSystem, operands: Sequence[Bit]) -> list[Bit]:
        words = [list(operands[i : i + WORD_BITS]) for i in range(0, len(operands), WORD_BITS)]
        message, state = words[:-_STATE_WORDS], words[-_STATE_WORDS:]
        changes = (self.num_bytes & _MASK, self.num_bytes >> WORD_BITS, _MASK if self.is_last else 0, 0)
        constants = [x ^ y for x, y in zip(INITIAL_STATE, (0, 0, 0, 0, *changes), strict=True)]
        v = [*state, *map(constant_word, constants)]
        with MultiEq(cs) as equations:
            for order in _SIGMA:
                for i, places in enumerate(_MIXED):
                    _mix(equations, v, places, [message[order[2 * i]], message[order[2 * i + 1]]])
        mixed = zip(state, v[:_STATE_WORDS], v[_STATE_WORDS:], strict=True)
        return [bit for h, x, y in mixed for bit in word_xor(cs, word_xor(cs, h, x), y)]


def blake2s(cs: ConstraintSystem, message: Sequence[Bit]) -> list[Bit]:
    """The digest of a message of booleans.

    Args:
        cs: The system.
        message: Whole bytes, each least significant bit first.

    Returns:
        256 booleans, bytes as of the message.

    Raises:
        ShapeError: No whole number of bytes.   RangeError: The field is too small for sums of words.

    Checked by: tests/circuits/test_blake2s.py.
    """
    if len(message) % _BYTE_BITS:
        raise ShapeError(f"a message of {len(message)} bits", limit="whole bytes")
    first, *others = INITIAL_STATE
    state = [bit for word in (first ^ _PARAMETERS, *others) for bit in constant_word(word)]
    num_blocks = max(1, -(-len(message) // BLOCK_BITS))
    padded = [*message, *[FALSE] * (num_blocks * BLOCK_BITS - len(message))]
    for i in range(num_blocks):
        is_last = i == num_blocks - 1
        num_bytes = len(message) // _BYTE_BITS if is_last else (i + 1) * (BLOCK_BITS // _BYTE_BITS)
        block = padded[i * BLOCK_BITS : (i + 1) * BLOCK_BITS]
        state = call_template(cs, _Compression(num_bytes, is_last), [*block, *state])
    return state
