"""From the rows of a circuit to the steps by which its code built them.

Rows hold each variable once, in the order of variables, while code writes terms in an order of its own, repeats
variables, adds whole combinations of bits, and packs sums of 32-bit words in groups.  What the rows still tell of that
is read back here, from the shapes that gadgets leave:

- A coefficient 2 in a short row was written as two terms with coefficient 1 (a + a, in an exclusive or).
- A short row whose A holds two variables connects bits through combinations: each term is one of a bit (STEP_BIT).
- A long row with B = 1 whose coefficients are sums of few powers of two, up to sign, packs several sums of words.  Each
  power of a coefficient was a term, and each run of exponents in A a sum of its own, which is built apart and added
  scaled by its least power; the terms of A are bits.

The rest is read as single terms.  What can't be known: the order of terms within a combination (that of the variables
is taken), terms that cancelled, and where ONE was added for a negated bit (it is one term).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import Curve
from cuzk.limbs import U64Array, fr_from_ints, fr_to_ints
from cuzk.native import missing_module

try:
    from cuzk._closures import KIND_BITS, STEP_BIT, STEP_CLOSE, STEP_OPEN, STEP_TERM
except ImportError as error:
    raise missing_module("_closures", error) from error

__all__ = ["Steps", "written_steps"]

#: Terms of a side up to which a coefficient 2 is read as a repeated variable, and a row as one of bits.
_SHORT = 4
#: Terms of A from which a row may pack sums of words.
_PACKED = 8
#: No coefficient is a power of two as high as this.
_MAX_EXPONENT = 512
#: Powers of two that a coefficient of a packed row is the sum of, at most: uses of one word in one row.
_MOST_POWERS = 8


@dataclass(frozen=True, eq=False)
class Steps:
    """What a circuit's code does to linear combinations, row by row.

    Args:
        curve: Whose Fr.
        num_inputs: Inputs, ONE counted.
        num_variables: All variables; the inputs are first.
        sides: Shape (3 rows + 1,) uint64: bounds of the steps of A, B and C of each row.
        variables: Shape (steps,) uint32.
        codes: Shape (steps,) uint32: kind | index of the coefficient << KIND_BITS.
        aux_so_far: Shape (rows,) uint32: auxiliary variables that are allocated when the row is enforced.
        dictionary: Shape (d, limbs) uint64. Form: Montgomery, < r.
    """

    curve: Curve
    num_inputs: int
    num_variables: int
    sides: U64Array
    variables: IntArray
    codes: IntArray
    aux_so_far: IntArray
    dictionary: U64Array

    @property
    def num_rows(self) -> int:
        """Constraints."""
        return len(self.aux_so_far)


class _Powers:
    """The dictionary of all steps: the matrices' own coefficients, then 1, 2, 4, ... and their negatives.

    Attributes:
        count: Shape (coefficients,): of how many powers of two, all with one sign, it is the sum; 0 where of too many.
        sign: Whether they are subtracted: 1, else 0.
        first_power: Where its exponents begin in `exponents`.
    """

    def __init__(self, curve: Curve, matrices: list[CsrMatrix]) -> None:
        self._bits = curve.r.bit_length()
        powers = [1 << e for e in range(self._bits)]
        extra = fr_from_ints(curve, [*powers, *(curve.r - power for power in powers)])
        sizes = [len(matrix.dictionary) for matrix in matrices]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        self.dictionary = np.concatenate([*(matrix.dictionary for matrix in matrices), extra])
        values = [value for matrix in matrices for value in fr_to_ints(curve, matrix.dictionary)]
        least = [
            min((value, 0), (curve.r - value, 1), key=lambda one: one[0].bit_count()) for value in values
        ]
        found = [_exponents(value) if value.bit_count() <= _MOST_POWERS else [] for value, _ in least]
        self.sign = np.array([sign for _, sign in least], dtype=np.int64)
        self.count = np.array([len(one) for one in found], dtype=np.int64)
        self.first_power = np.cumsum(self.count) - self.count
        self.exponents = np.array([e for one in found for e in one], dtype=np.int64)
        self.is_one = np.array([value == 1 for value in values], dtype=bool)
        self.is_two = np.array([value == 2 for value in values], dtype=bool)

    def index(self, exponent: IntArray | int, sign: IntArray | int) -> IntArray:
        """Index of (-1)^sign 2^exponent."""
        return np.asarray(self.offsets[-1] + sign * self._bits + exponent)


def _exponents(value: int) -> list[int]:
    """Of the powers of two that a number is the sum of."""
    return [e for e in range(value.bit_length()) if value >> e & 1]


@dataclass
class _Entries:
    """Steps of many rows in no order but that within a side.

    Args:
        side: 3 * row + 0, 1 or 2.
        variable: Column.
        coefficient: Index into the dictionary.
        kind: STEP_*.
    """

    side: IntArray
    variable: IntArray
    coefficient: IntArray
    kind: IntArray

    def take(self, which: IntArray) -> _Entries:
        return _Entries(self.side[which], self.variable[which], self.coefficient[which], self.kind[which])


def written_steps(
    curve: Curve, matrices: tuple[CsrMatrix, CsrMatrix, CsrMatrix | None], num_inputs: int
) -> Steps:
    """Read steps back from matrices A, B and, where it is known, C.

    Args:
        curve: Whose Fr.
        matrices: Canonical, of equal shape.
        num_inputs: Inputs, ONE counted; they are the first columns.
    """
    a = matrices[0]
    present = [matrix for matrix in matrices if matrix is not None]
    powers = _Powers(curve, present)
    entries = _Entries(*(np.zeros(0, dtype=np.int64) for _ in range(4)))
    if any(matrix.nnz for matrix in present):
        entries = _gather(present, powers)
        packed = _packed_rows(a.num_rows, present, entries, powers)
        is_packed = packed[entries.side // 3]
        plain = _short_rows(a.num_rows, present, entries.take(~is_packed), powers)
        groups = _packed_steps(entries.take(is_packed), powers)
        entries = _joined(plain, groups)
    aux = np.zeros(a.num_rows, dtype=np.int64)
    np.maximum.at(aux, entries.side // 3, entries.variable + 1 - num_inputs)
    counts = np.bincount(entries.side, minlength=3 * a.num_rows)
    return Steps(
        curve,
        num_inputs,
        a.num_cols,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64),
        entries.variable.astype(np.uint32),
        (entries.kind | entries.coefficient << KIND_BITS).astype(np.uint32),
        np.maximum.accumulate(aux).astype(np.uint32),
        np.ascontiguousarray(powers.dictionary),
    )


def _gather(matrices: list[CsrMatrix], powers: _Powers) -> _Entries:
    """All entries of all matrices as single terms."""
    sides = [matrix.rows_of().astype(np.int64) * 3 + i for i, matrix in enumerate(matrices)]
    indices = [
        matrix.coeff.astype(np.int64) + offset
        for matrix, offset in zip(matrices, powers.offsets, strict=False)
    ]
    variable = np.concatenate([matrix.col for matrix in matrices]).astype(np.int64)
    return _Entries(
        np.concatenate(sides), variable, np.concatenate(indices), np.full(len(variable), STEP_TERM, np.int64)
    )


def _is_unit(matrix: CsrMatrix, powers: _Powers, offset: int) -> IntArray:
    """Rows that hold ONE with coefficient 1 and nothing else."""
    lengths = np.diff(matrix.row_ptr)
    found = lengths == 1
    first = matrix.row_ptr[:-1][found]
    code = matrix.coeff[first].astype(np.int64) + offset
    found[found] = (matrix.col[first] == 0) & powers.is_one[code]
    return np.asarray(found)


def _packed_rows(num_rows: int, matrices: list[CsrMatrix], entries: _Entries, powers: _Powers) -> IntArray:
    """Rows that pack sums of words: B = 1, many terms in A, and beside the constant only few powers of two each."""
    result = _is_unit(matrices[1], powers, powers.offsets[1]) & (np.diff(matrices[0].row_ptr) >= _PACKED)
    other = (entries.variable != 0) & (powers.count[entries.coefficient] == 0)
    result &= np.bincount(entries.side[other] // 3, minlength=num_rows) == 0
    return result


def _short_rows(num_rows: int, matrices: list[CsrMatrix], entries: _Entries, powers: _Powers) -> _Entries:
    """Kinds of the terms of ordinary rows, and coefficients 2 of short sides as two terms."""
    length = np.bincount(entries.side, minlength=3 * num_rows)
    in_a = (entries.side % 3 == 0) & (entries.variable != 0)
    variables_of_a = np.bincount(entries.side[in_a] // 3, minlength=num_rows)
    unit_b = _is_unit(matrices[1], powers, powers.offsets[1])
    of_bits = (variables_of_a >= 2) & (length[0::3] <= _SHORT) & ~unit_b
    entries.kind[of_bits[entries.side // 3]] = STEP_BIT
    is_two = powers.is_two[entries.coefficient] & (length[entries.side] <= _SHORT)
    entries.coefficient[is_two] = powers.index(0, 0)
    return entries.take(np.repeat(np.arange(len(is_two)), 1 + is_two))


def _packed_steps(entries: _Entries, powers: _Powers) -> _Entries:
    """Groups of the rows that pack sums; the constant follows as a term of its own."""
    in_group = (entries.variable != 0) & (entries.side % 3 != 1)
    rest, members = entries.take(~in_group), entries.take(in_group)
    count = powers.count[members.coefficient]
    which = np.repeat(np.arange(len(count)), count)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
    members = members.take(which)
    exponent = powers.exponents[powers.first_power[members.coefficient] + nth]
    # Each gap in the exponents of a row's A starts a group; the first takes what lies below it, too.
    key = (members.side // 3) * _MAX_EXPONENT + exponent
    in_a = np.unique(key[members.side % 3 == 0])
    starts = in_a[np.concatenate([[True], np.diff(in_a) > 1])[: len(in_a)]]
    first_of_row = np.concatenate([[True], np.diff(starts // _MAX_EXPONENT) > 0])[: len(starts)]
    starts = np.where(first_of_row, starts - starts % _MAX_EXPONENT, starts)
    group = np.searchsorted(starts, key, side="right") - 1
    shift = starts[group] % _MAX_EXPONENT
    members.coefficient = powers.index(exponent - shift, powers.sign[members.coefficient])
    members.kind = np.where(members.side % 3 == 0, STEP_BIT, STEP_TERM)
    spans, at = np.unique(members.side * (len(starts) + 1) + group, return_index=True)
    marks = members.take(at)
    opened = _Entries(marks.side, marks.variable, np.zeros_like(marks.side), np.full(len(spans), STEP_OPEN))
    factor = powers.index(shift[at], 0)
    closed = _Entries(marks.side, marks.variable, factor, np.full(len(spans), STEP_CLOSE))
    last = np.full(len(rest.side), len(starts))
    everything = _concatenated([opened, members, closed, rest])
    order = np.concatenate([group[at], group, group[at], last])
    stage = np.repeat([0, 1, 2, 3], [len(spans), len(members.side), len(spans), len(rest.side)])
    return everything.take(np.lexsort([stage, order, everything.side]))


def _concatenated(parts: list[_Entries]) -> _Entries:
    return _Entries(
        np.concatenate([part.side for part in parts]),
        np.concatenate([part.variable for part in parts]),
        np.concatenate([part.coefficient for part in parts]),
        np.concatenate([part.kind for part in parts]),
    )


def _joined(plain: _Entries, groups: _Entries) -> _Entries:
    """Both, by side; the order within a side stays."""
    both = _concatenated([plain, groups])
    return both.take(np.argsort(both.side, kind="stable"))
