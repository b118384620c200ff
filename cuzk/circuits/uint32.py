"""32-bit words of booleans, and sums of them whose equations share rows.

A word is 32 booleans, least significant first. Rotations and shifts cost no rows. A sum of k words allocates as
many bits as k * (2^32 - 1) has and keeps the low 32; that the bits are the sum is one equation, and ``MultiEq``
packs several such equations into one row, each scaled by a power of two so that they cannot mix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cuzk.circuits.boolean import FALSE, Bit, bit_xor, enforce_bit, sha256_ch, sha256_maj
from cuzk.errors import RangeError
from cuzk.synthesis import ONE, ConstraintSystem, LinearCombination

__all__ = [
    "WORD_BITS", "MultiEq", "Word", "constant_word", "word_ch", "word_from_bits_be", "word_maj", "word_rotr",
    "word_shr", "word_sum", "word_to_bits_be", "word_xor",
]  # fmt: skip

Word: TypeAlias = list[Bit]

WORD_BITS = 32


class MultiEq:
    """Collects equations between small numbers and writes one row for as many as fit the field.

    Rows of the equations thus come later than the variables in them. The last row is written by ``flush``, or by the
    end of a ``with`` block.

    Args:
        cs: Where the rows go.
    """

    __slots__ = ("_bits_used", "_capacity", "_left", "_right", "cs")

    def __init__(self, cs: ConstraintSystem) -> None:
        self.cs = cs
        self._capacity = cs.curve.r.bit_length() - 1
        self._bits_used = 0
        self._left = LinearCombination()
        self._right = LinearCombination()

    def __enter__(self) -> MultiEq:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self.flush()

    def enforce_equal(self, num_bits: int, left: Mapping[int, int], right: Mapping[int, int]) -> None:
        """Demand left = right.

        Args:
            num_bits: Both sides are below 2^num_bits for all values that their variables can have.
            left: Linear combination.
            right: Linear combination.

        Raises:
            RangeError: The numbers are too large for the field.
        """
        if num_bits >= self._capacity:
            raise RangeError(
                f"an equation of {num_bits} bits does not fit the scalar field of {self.cs.curve.name}",
                limit=f"less than {self._capacity} bits",
                remedy="use a curve with a larger scalar field",
            )
        if self._bits_used + num_bits >= self._capacity:
            self.flush()
        factor = 1 << self._bits_used
        self._left.add_scaled(left, factor)
        self._right.add_scaled(right, factor)
        self._bits_used += num_bits

    def flush(self) -> None:
        """Write the row of what has been collected, if anything."""
        if self._bits_used:
            self.cs.enforce(self._left, {ONE: 1}, self._right)
            self._left, self._right, self._bits_used = LinearCombination(), LinearCombination(), 0


def constant_word(value: int) -> Word:
    """A word of constants. value: 0 <= value < 2^32."""
    return [value >> i & 1 for i in range(WORD_BITS)]


def word_from_bits_be(bits: Sequence[Bit]) -> Word:
    """A word from 32 booleans, most significant first."""
    return list(reversed(bits))


def word_to_bits_be(word: Word) -> list[Bit]:
    """The booleans of a word, most significant first."""
    return word[::-1]


def word_rotr(word: Word, by: int) -> Word:
    """Rotated right."""
    return word[by:] + word[:by]


def word_shr(word: Word, by: int) -> Word:
    """Shifted right, zeros shifted in."""
    return word[by:] + [FALSE] * by


def word_xor(cs: ConstraintSystem, a: Word, b: Word) -> Word:
    """Bit by bit."""
    return [bit_xor(cs, x, y) for x, y in zip(a, b, strict=True)]


def word_ch(cs: ConstraintSystem, a: Word, b: Word, c: Word) -> Word:
    """sha256_ch bit by bit."""
    return [sha256_ch(cs, x, y, z) for x, y, z in zip(a, b, c, strict=True)]


def word_maj(cs: ConstraintSystem, a: Word, b: Word, c: Word) -> Word:
    """sha256_maj bit by bit."""
    return [sha256_maj(cs, x, y, z) for x, y, z in zip(a, b, c, strict=True)]


def word_sum(equations: MultiEq, words: Sequence[Word]) -> Word:
    """The sum modulo 2^32; constants alone give a constant and no rows.

    Args:
        equations: Gets one equation; new bits go to its constraint system.
        words: At least two.
    """
    cs = equations.cs
    total = LinearCombination()
    get = total.get
    constant = 0
    terms: list[int] = []  # as define_sum takes them
    for word in words:
        for i, bit in enumerate(word):
            if bit < 2:
                if bit:
                    total[ONE] = get(ONE, 0) + (1 << i)
                    constant += 1 << i
                continue
            variable, factor = (bit >> 1) - 1, 1 << i
            terms.append(variable)
            if bit & 1:
                terms.append(i | 1 << 8)
                total[ONE] = get(ONE, 0) + factor
                factor = -factor
            else:
                terms.append(i)
            total[variable] = get(variable, 0) + factor
    if not terms:
        return constant_word(constant & 0xFFFFFFFF)
    num_bits = (len(words) * 0xFFFFFFFF).bit_length()
    first = cs.define_sum(terms, constant, num_bits)
    bits = [enforce_bit(cs, first + i) for i in range(num_bits)]
    equations.enforce_equal(num_bits, total, {first + i: 1 << i for i in range(num_bits)})
    return bits[:WORD_BITS]
