"""SHA-256 (FIPS 180-4) as a circuit.

Additions are postponed: a and e of a round stay lists of words until the next round needs their bits, so that each
costs one sum, and the equations of all sums of a compression share rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import isqrt

from cuzk.circuits.boolean import FALSE, TRUE, Bit
from cuzk.circuits.template import call_template
from cuzk.circuits.uint32 import (
    WORD_BITS,
    MultiEq,
    Word,
    constant_word,
    word_ch,
    word_from_bits_be,
    word_maj,
    word_rotr,
    word_shr,
    word_sum,
    word_to_bits_be,
    word_xor,
)
from cuzk.errors import ShapeError
from cuzk.synthesis import ConstraintSystem

__all__ = [
    "BLOCK_BITS",
    "INITIAL_STATE",
    "ROUND_CONSTANTS",
    "SCHEDULE_0",
    "SCHEDULE_1",
    "STATE_A",
    "STATE_E",
    "sha256",
    "sha256_compression",
    "sha256_initial_state",
]

BLOCK_BITS = 512
_LENGTH_BITS = 64
_WORDS = BLOCK_BITS // WORD_BITS
_NUM_ROUNDS = 64
_MASK = 0xFFFFFFFF

#: Rotations of the functions called Sigma in the standard (state) and sigma (schedule); the last of sigma is a shift.
STATE_A, STATE_E = (2, 13, 22), (6, 11, 25)
SCHEDULE_0, SCHEDULE_1 = (7, 18, 3), (17, 19, 10)


def _primes(count: int) -> list[int]:
    found = (n for n in range(2, 312) if all(n % d for d in range(2, isqrt(n) + 1)))
    return list(islice(found, count))


def _cube_root(n: int) -> int:
    """The largest x with x^3 <= n."""
    x = 1 << -(-n.bit_length() // 3)
    while (y := (2 * x + n // (x * x)) // 3) < x:
        x = y
    return x


#: First 32 bits after the point of the square roots of the first 8 primes.
INITIAL_STATE = tuple(isqrt(prime << 64) & _MASK for prime in _primes(8))
#: The same of the cube roots of the first 64 primes.
ROUND_CONSTANTS = tuple(_cube_root(prime << 96) & _MASK for prime in _primes(_NUM_ROUNDS))


def sha256_initial_state() -> list[Word]:
    """The state before the first block, as constants."""
    return [constant_word(value) for value in INITIAL_STATE]


def _sigma(cs: ConstraintSystem, word: Word, by: tuple[int, int, int], *, shift_last: bool) -> Word:
    """The xor of a word rotated by by[0], by by[1], and rotated or shifted by by[2]."""
    last = word_shr(word, by[2]) if shift_last else word_rotr(word, by[2])
    return word_xor(cs, word_xor(cs, word_rotr(word, by[0]), word_rotr(word, by[1])), last)


def _schedule(equations: MultiEq, block: Sequence[Bit]) -> list[Word]:
    """The 64 words of the message schedule."""
    cs = equations.cs
    words = [word_from_bits_be(block[i : i + WORD_BITS]) for i in range(0, BLOCK_BITS, WORD_BITS)]
    for i in range(_WORDS, _NUM_ROUNDS):
        s0 = _sigma(cs, words[i - 15], SCHEDULE_0, shift_last=True)
        s1 = _sigma(cs, words[i - 2], SCHEDULE_1, shift_last=True)
        words.append(word_sum(equations, [words[i - 16], s0, words[i - 7], s1]))
    return words


def _settle(equations: MultiEq, pending: list[Word]) -> Word:
    """The sum of postponed words; a single word is its own."""
    return pending[0] if len(pending) == 1 else word_sum(equations, pending)


def _words(bits: Sequence[Bit]) -> list[Word]:
    return [list(bits[i : i + WORD_BITS]) for i in range(0, len(bits), WORD_BITS)]


def _compress(cs: ConstraintSystem, operands: Sequence[Bit]) -> list[Bit]:
    """The compression function of a block and 8 words after it; 8 words. See sha256_compression."""
    block, state = operands[:BLOCK_BITS], _words(operands[BLOCK_BITS:])
    with MultiEq(cs) as equations:
        schedule = _schedule(equations, block)
        pending_a, pending_e = [state[0]], [state[4]]
        _, b, c, d, _, f, g, h = state
        for constant, word in zip(ROUND_CONSTANTS, schedule, strict=True):
            e = _settle(equations, pending_e)
            common = [
                h,
                _sigma(cs, e, STATE_E, shift_last=False),
                word_ch(cs, e, f, g),
                constant_word(constant),
                word,
            ]
            a = _settle(equations, pending_a)
            sigma_a = _sigma(cs, a, STATE_A, shift_last=False)
            pending_a, pending_e = [*common, sigma_a, word_maj(cs, a, b, c)], [*common, d]
            h, g, f, d, c, b = g, f, e, c, b, a
        parts = ([*pending_a], [b], [c], [d], [*pending_e], [f], [g], [h])
        words = [word_sum(equations, [*part, before]) for part, before in zip(parts, state, strict=True)]
    return [bit for word in words for bit in word]


def sha256_compression(cs: ConstraintSystem, block: Sequence[Bit], state: Sequence[Word]) -> list[Word]:
    """One block.

    Args:
        cs: The system.
        block: 512 booleans, as the bytes of the message have them, most significant bit first.
        state: 8 words.

    Returns:
        The next state: 8 words.

    Raises:
        ShapeError: The block has another length.
        RangeError: The field is too small for sums of words.
    """
    if len(block) != BLOCK_BITS or len(state) != len(INITIAL_STATE):
        raise ShapeError(
            f"a block of {len(block)} bits and a state of {len(state)} words",
            limit=f"{BLOCK_BITS} bits, {len(INITIAL_STATE)} words",
            remedy="use sha256, which pads a message to whole blocks",
        )
    operands = [*block, *(bit for word in state for bit in word)]
    return _words(call_template(cs, _compress, operands))


def sha256(cs: ConstraintSystem, message: Sequence[Bit]) -> list[Bit]:
    """The digest of a message of booleans.

    Args:
        cs: The system.
        message: Any number of booleans, as the bytes have them, most significant bit first.

    Returns:
        256 booleans in the same order.

    Raises:
        RangeError: The field is too small for sums of words.
    """
    zeros = -(len(message) + 1 + _LENGTH_BITS) % BLOCK_BITS
    length = [len(message) >> i & 1 for i in reversed(range(_LENGTH_BITS))]
    padded = [*message, TRUE, *[FALSE] * zeros, *length]
    state = sha256_initial_state()
    for first in range(0, len(padded), BLOCK_BITS):
        state = sha256_compression(cs, padded[first : first + BLOCK_BITS], state)
    return [bit for word in state for bit in word_to_bits_be(word)]
