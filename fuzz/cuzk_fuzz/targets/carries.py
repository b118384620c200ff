"""Operands that make a carry run where hardly any drawn one does: found by solving for a word of 32 bits."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator

import numpy as np

from cuzk.curves import FieldSpec
from cuzk.limbs import ints_to_limbs
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.targets.draw import U64

#: Ids of the two classes.
WORD_ONES, QUOTIENT_ONE = "carry.word_ones", "carry.quotient_one"
_BITS = 32
_WORD = 1 << _BITS
_EACH = 8


def _words(spec: FieldSpec) -> int:
    """Narrow words of an element; 0 for fields too short to have a row between the first and the last."""
    return 2 * spec.limbs if spec.word_bits == 64 and spec.limbs > 1 else 0


@functools.cache
def word_ones(spec: FieldSpec) -> tuple[tuple[int, int], ...]:
    """Pairs whose highest word by some word of the other ends in 32 ones: one more there carries.  As in memory."""
    words, p = _words(spec), spec.modulus
    rng = random.Random(f"{spec.name}/{WORD_ONES}")
    found: list[tuple[int, int]] = []
    top = 1 << (_BITS * max(0, words - 1))
    for row in range(1, words - 1):
        for _ in range(_EACH):
            x, y = rng.randrange(p) | top, rng.randrange(p)
            shift = _BITS * row
            word = -pow(x // top, -1, _WORD) % _WORD
            y += (word - (y >> shift & (_WORD - 1))) << shift
            if x < p and y < p:
                found.append((x, y))
    return tuple(found)


@functools.cache
def quotient_one(spec: FieldSpec) -> tuple[int, ...]:
    """Numbers whose square is reduced with 1 as the second quotient, after a row that leaves a top word of ones.

    The low half t of the square decides the quotients: t = -q p mod R.  Every t = 1 mod 8 has square roots mod R.
    """
    words, p = _words(spec), spec.modulus
    rng = random.Random(f"{spec.name}/{QUOTIENT_ONE}")
    found: list[int] = []
    while words and len(found) < _EACH * 2:
        first = rng.randrange(_WORD // 8) * 8 + 1
        quotient = first * pow(-p, -1, _WORD) % _WORD
        t = -(quotient + _WORD) * p % _WORD**2
        t += rng.randrange(1 << (_BITS * (words - 3))) << (2 * _BITS)
        high = (p >> (_BITS * (words - 2)) & (_WORD - 1)) * quotient >> _BITS
        t += ((_WORD - 1 - high - rng.randrange(2)) % _WORD) << (_BITS * (words - 1))
        found += [root for root in _square_roots(t, _BITS * words) if root < p]
    return tuple(found)


def _square_roots(t: int, bits: int) -> Iterator[int]:
    """The four numbers whose square is t modulo 2^bits, t = 1 mod 8: one more bit is right with each step."""
    root = 1
    for i in range(3, bits):
        root += (root * root - t >> i & 1) << (i - 1)
    for half in (0, 1 << (bits - 1)):
        for sign in (1, -1):
            yield (sign * root + half) % (1 << bits)


def mix(choices: Choices, spec: FieldSpec, operands: U64) -> None:
    """Replace some operands by such, in place: a and b, c and d, or a alone. Shape (4, cases, 1, limbs)."""
    pairs, singles = word_ones(spec), quotient_one(spec)
    if not pairs or not singles:
        return
    pick = np.frombuffer(choices.take(2 * operands.shape[1]), "<u2").astype(np.int64)
    table = ints_to_limbs([x for pair in pairs for x in pair], spec.limbs).reshape(-1, 2, spec.limbs)
    for kind, at in ((1, 0), (2, 2)):
        cases = np.flatnonzero(pick % 16 == kind)
        operands[at : at + 2, cases, 0] = table[(pick[cases] >> 4) % len(table)].transpose(1, 0, 2)
    cases = np.flatnonzero(pick % 16 == 3)
    alone = ints_to_limbs(singles, spec.limbs)
    operands[0, cases, 0] = alone[(pick[cases] >> 4) % len(alone)]
