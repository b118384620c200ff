"""A circuit of any size with the mix of a hash in a field beside a hash of bits, made with NumPy in seconds.

Half of the rows handle words: 32 rows say that a value is 0 or 1, the 33rd packs the 32 bits into one value. The
other half are products of full-width values, each of the value before and of two that came anywhere earlier, so that
the rows depend on each other over the whole circuit. About a quarter of the witness is 0, a quarter 1, half
full-width.
"""

from __future__ import annotations

import random

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, csr_from_indexed
from cuzk.curves import Curve, get_curve
from cuzk.limbs import fr_from_ints, ints_to_limbs
from cuzk.relation import R1CS
from cuzk.witness import Witness

__all__ = ["mixed_circuit"]

_WORD = 32
_ROWS_OF_WORD = _WORD + 1
_ONE, _OUTPUT = 0, 1
#: Coefficients in the dictionary: 2^0 .. 2^31, then -1 and some that are full-width.
_MINUS_ONE = _WORD
_WIDE = 13

Entries = tuple[IntArray, IntArray, IntArray]


def mixed_circuit(curve: str, num_constraints: int, *, seed: int = 1) -> tuple[R1CS, Witness]:
    """A satisfied circuit of exactly so many rows with one public value.

    Args:
        curve: Name of the curve.
        num_constraints: Rows, at least 1.
        seed: Equal arguments give equal circuits and witnesses.

    Returns:
        The circuit and its witness; num_constraints + 2 variables.
    """
    if num_constraints < 1:
        raise ValueError("a circuit with an output needs a row")
    spec = get_curve(curve)
    source = random.Random(seed)
    words = num_constraints // (2 * _ROWS_OF_WORD)
    made = _Mixed(spec, words, num_constraints - words * _ROWS_OF_WORD, np.random.default_rng(seed), source)
    return made.r1cs(), Witness(spec, made.values())


class _Mixed:
    """One call of mixed_circuit. Variables: ONE, the output, the first value, bits, words, products."""

    def __init__(
        self, spec: Curve, words: int, products: int, rng: np.random.Generator, source: random.Random
    ) -> None:
        self.spec, self.words, self.products = spec, words, products
        self.first_bit = 3
        self.first_word = self.first_bit + words * _WORD
        self.first_product = self.first_word + words
        # All products but the last, whose value is the output.
        self.num_variables = self.first_product + products - 1
        self.num_rows = words * _ROWS_OF_WORD + products
        self.bits = rng.integers(0, 2, (words, _WORD), np.uint8)
        # What the products read: the value before, and two of those that are no bits.
        self.reads = (rng.random((2, products)) * (1 + words + np.arange(products))).astype(np.int64)
        self.wide = rng.integers(0, _WIDE, products)
        self.start = source.randrange(2, spec.r)
        self.coefficients = [1 << i for i in range(_WORD)] + [spec.r - 1]
        self.coefficients += [source.randrange(1, spec.r) for _ in range(_WIDE)]

    def values(self) -> IntArray:
        """All variables. Shape (num_variables, limbs) uint64. Form: standard."""
        r, limbs = self.spec.r, self.spec.fr.limbs
        packed = self.bits.astype(np.uint64) @ (np.uint64(1) << np.arange(_WORD, dtype=np.uint64))
        # On a small field a word may not fit, so it is taken mod r, as the row does.
        known = [self.start, *(word % r for word in packed.tolist())]
        first, second = self.reads.tolist()
        factor = [self.coefficients[_MINUS_ONE + 1 + i] for i in self.wide.tolist()]
        value = self.start
        for i in range(self.products):
            value = (value + factor[i] * known[first[i]]) * known[second[i]] % r
            known.append(value)
        result = np.zeros((self.num_variables, limbs), np.uint64)
        result[_ONE, 0] = 1
        result[self.first_bit : self.first_word, 0] = self.bits.reshape(-1)
        wide = ints_to_limbs(known, limbs)
        result[_OUTPUT], result[2] = wide[-1], wide[0]
        result[self.first_word :] = wide[1:-1]
        return result

    def r1cs(self) -> R1CS:
        """The rows: first those of the words, one word after the other, then the products."""
        parts = [self._word_rows(), self._product_rows()]
        a, b, c = (self._matrix([part[i] for part in parts]) for i in range(3))
        return R1CS(self.spec, self.num_variables, 1, a, b, c, num_outputs=1)

    def _word_rows(self) -> tuple[Entries, Entries, Entries]:
        index = np.arange(self.words * _WORD)
        word, place = index // _WORD, index % _WORD
        bit = self.first_bit + index
        check, pack = word * _ROWS_OF_WORD + place, word * _ROWS_OF_WORD + _WORD
        packs = np.arange(self.words) * _ROWS_OF_WORD + _WORD
        ones = np.zeros(self.words, np.int64)
        a = _join((check, bit, 0 * index), (pack, bit, place))
        b = _join((check, bit, 0 * index), (check, 0 * index, 0 * index + _MINUS_ONE), (packs, ones, ones))
        return a, b, (packs, self.first_word + np.arange(self.words), ones)

    def _product_rows(self) -> tuple[Entries, Entries, Entries]:
        index = np.arange(self.products)
        row, unit = self.words * _ROWS_OF_WORD + index, 0 * index
        before = np.where(index == 0, 2, self.first_product + index - 1)
        out = np.where(index == self.products - 1, _OUTPUT, self.first_product + index)
        a = _join((row, before, unit), (row, self._variable(self.reads[0]), _MINUS_ONE + 1 + self.wide))
        return a, (row, self._variable(self.reads[1]), unit), (row, out, unit)

    def _variable(self, known: IntArray) -> IntArray:
        """Variable of the first value (0), of a word, or of a product, in the order in which they are known."""
        return np.where(known == 0, 2, self.first_word + known - 1)

    def _matrix(self, parts: list[Entries]) -> CsrMatrix:
        row, col, index = _join(*parts)
        shape = (self.num_rows, self.num_variables)
        dictionary = fr_from_ints(self.spec, self.coefficients)
        return csr_from_indexed(self.spec, shape, row, col.astype(np.uint32), index, dictionary)


def _join(*parts: Entries) -> Entries:
    row, col, index = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return row, col, index
