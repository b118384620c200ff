"""Sparse matrices over Fr in compressed rows, with coefficients as indices into a dictionary.

Circuits use few distinct coefficients (often 1, -1 and powers of two), so a matrix stores one small index per
entry and the values once. A matrix built here is canonical: columns strictly increase within a row, no entry
is zero, the dictionary is sorted, has no duplicates and no unused value. Two files of one circuit thus give
equal arrays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import Curve
from cuzk.errors import RangeError, ShapeError
from cuzk.limbs import U64Array, first_not_below, fr_from_ints, fr_to_ints, limbs_to_ints

IntArray = NDArray[Any]

_REMEDY = "the matrix is damaged: make or fetch its file again"

_SAMPLE = 4096  # entries looked at first for the frequent coefficients


@dataclass(frozen=True, eq=False)
class CsrMatrix:
    """One R1CS matrix.

    Args:
        curve: Whose Fr the coefficients are in.
        num_cols: Variables of the circuit.
        row_ptr: Shape (num_rows+1,) int64: entries of row i are row_ptr[i] .. row_ptr[i+1]-1.
        col: Shape (nnz,) uint32: variable of each entry, < num_cols.
        coeff: Shape (nnz,) uint8, uint16 or uint32: index of each coefficient in the dictionary.
        dictionary: Shape (d, limbs) uint64. Form: Montgomery, < r.
    """

    curve: Curve
    num_cols: int
    row_ptr: IntArray
    col: IntArray
    coeff: IntArray
    dictionary: U64Array

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return len(self.row_ptr) - 1

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        return len(self.col)

    def rows_of(self) -> IntArray:
        """Row of each entry. Shape (nnz,) uint32."""
        return np.repeat(np.arange(self.num_rows, dtype=np.uint32), np.diff(self.row_ptr))

    def row(self, index: int) -> list[tuple[int, int]]:
        """Entries of one row as (variable, coefficient), standard form."""
        span = slice(int(self.row_ptr[index]), int(self.row_ptr[index + 1]))
        coefficients = fr_to_ints(self.curve, self.dictionary[self.coeff[span]])
        return list(zip(self.col[span].tolist(), coefficients, strict=True))

    def transpose(self) -> CsrMatrix:
        """The same matrix by columns: row j of the result lists the rows (as ``col``) that use variable j."""
        order = _order_by(self.col)
        counts = np.bincount(self.col, minlength=self.num_cols)
        return CsrMatrix(
            self.curve,
            self.num_rows,
            _row_ptr_from_counts(counts),
            self.rows_of()[order],
            self.coeff[order],
            self.dictionary,
        )

    def with_rows(self, num_rows: int) -> CsrMatrix:
        """The first num_rows rows, or the matrix followed by empty rows."""
        if num_rows <= self.num_rows:
            end = int(self.row_ptr[num_rows])
            row_ptr = self.row_ptr[: num_rows + 1]
        else:
            end = self.nnz
            padding = np.full(num_rows - self.num_rows, self.nnz, dtype=np.int64)
            row_ptr = np.concatenate([self.row_ptr, padding])
        return CsrMatrix(
            self.curve, self.num_cols, row_ptr, self.col[:end], self.coeff[:end], self.dictionary
        )

    def with_identity_rows(self, count: int) -> CsrMatrix:
        """The matrix followed by rows that hold a single 1 on variables 0 .. count-1."""
        rows = np.concatenate([self.rows_of(), np.arange(count, dtype=np.uint32) + np.uint32(self.num_rows)])
        cols = np.concatenate([self.col, np.arange(count, dtype=np.uint32)])
        values = np.concatenate([self.dictionary, fr_from_ints(self.curve, [1])])
        index = np.concatenate(
            [self.coeff.astype(np.uint32), np.full(count, len(self.dictionary), np.uint32)]
        )
        return csr_from_indexed(self.curve, (self.num_rows + count, self.num_cols), rows, cols, index, values)

    def validate(self, name: str = "matrix") -> None:
        """Check every bound a kernel relies on.

        Raises:
            ShapeError: row_ptr does not rise from 0 to nnz, or lengths or a column or index are out of
                bounds.
            RangeError: A coefficient is >= r.
        """
        if len(self.row_ptr) == 0 or self.row_ptr[0] != 0 or self.row_ptr[-1] != self.nnz:
            raise ShapeError(
                f"row_ptr of {name} does not run from 0 to nnz", limit=f"nnz = {self.nnz}", remedy=_REMEDY
            )
        if (np.diff(self.row_ptr) < 0).any():
            raise ShapeError(f"row_ptr of {name} decreases", remedy=_REMEDY)
        if len(self.coeff) != self.nnz:
            raise ShapeError(
                f"{name} has {len(self.coeff)} coefficients", limit=f"nnz = {self.nnz}", remedy=_REMEDY
            )
        if self.nnz and int(self.col.max()) >= self.num_cols:
            at = int(np.argmax(self.col >= self.num_cols))
            raise ShapeError(
                f"{name} uses variable {int(self.col[at])}",
                where=f"entry {at}",
                limit=f"{self.num_cols} variables",
                remedy=_REMEDY,
            )
        if self.nnz and int(self.coeff.max()) >= len(self.dictionary):
            raise ShapeError(
                f"{name} uses a coefficient beyond its dictionary",
                limit=f"{len(self.dictionary)} values",
                remedy=_REMEDY,
            )
        if self.dictionary.shape[1:] != (self.curve.fr.limbs,):
            raise ShapeError(
                f"dictionary of {name} has shape {self.dictionary.shape}",
                limit=f"(d, {self.curve.fr.limbs})",
                remedy=_REMEDY,
            )
        bad = first_not_below(self.dictionary, self.curve.r)
        if bad is not None:
            raise RangeError(
                f"coefficient {bad} of {name} is not reduced", limit=f"< r = {self.curve.r}", remedy=_REMEDY
            )

    def update_digest(self, digest: hashlib.blake2b) -> None:
        """Feed the canonical content into a hash; storage details such as index width do not change it."""
        used = np.flatnonzero(np.bincount(self.coeff, minlength=len(self.dictionary)))
        remap = np.zeros(len(self.dictionary), dtype=np.uint32)
        remap[used] = np.arange(len(used), dtype=np.uint32)
        digest.update(np.array([self.num_rows, self.num_cols, self.nnz, len(used)], dtype="<u8").tobytes())
        digest.update(np.ascontiguousarray(self.row_ptr, dtype="<i8").data)
        digest.update(np.ascontiguousarray(self.col, dtype="<u4").data)
        digest.update(np.ascontiguousarray(remap[self.coeff], dtype="<u4").data)
        digest.update(np.ascontiguousarray(self.dictionary[used], dtype="<u8").data)


def _order_by(col: IntArray) -> IntArray:
    """The stable order of 32-bit numbers: NumPy sorts 16-bit keys by counting, in half the time of all at once."""
    order = np.argsort(col.astype(np.uint16), kind="stable")
    high = (col >> np.uint32(16)).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def intern_values(values: U64Array) -> tuple[U64Array, IntArray]:
    """Distinct values and, for each entry, the index of its value.

    Args:
        values: Shape (n, limbs) uint64.

    Returns:
        Distinct rows, shape (d, limbs), in no particular order, and indices, shape (n,) int64.

    Cost: one multiply-add hash per entry and a search in the table of distinct hashes; no sort of all entries
        unless most of them are distinct.
    """
    if len(values) == 0:
        return values, np.zeros(0, dtype=np.int64)
    multipliers = np.array(
        [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5], np.uint64
    )
    hashes = values[:, 0] * multipliers[0]
    for i in range(1, values.shape[1]):
        hashes += values[:, i] * multipliers[i % 4]
    stride = max(1, len(hashes) // _SAMPLE)
    table = _sorted_distinct(hashes[::stride])
    index = np.searchsorted(table, hashes)
    missing = table[np.minimum(index, len(table) - 1)] != hashes
    if missing.any():
        table = _sorted_distinct(np.concatenate([table, hashes[missing]]))
        index = np.searchsorted(table, hashes)
    sample = np.empty(len(table), dtype=np.int64)
    sample[index] = np.arange(len(hashes))
    distinct = values[sample]
    if any((distinct[index, i] != values[:, i]).any() for i in range(values.shape[1])):
        # Two values share a hash: only for made-up input. Sort the values themselves.
        distinct, inverse = np.unique(values, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    return distinct, index


def _sorted_distinct(values: U64Array) -> U64Array:
    """As np.unique, which looks for masked arrays, whose module takes longer to import than this to run."""
    ordered = np.sort(values)
    return np.asarray(ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])])


def csr_from_indexed(
    curve: Curve,
    shape: tuple[int, int],
    rows: IntArray,
    cols: IntArray,
    index: IntArray,
    values: U64Array,
) -> CsrMatrix:
    """Build a canonical matrix from entries in any order; equal places add up.

    Args:
        curve: Whose Fr.
        shape: (num_rows, num_cols).
        rows: Shape (nnz,), each < num_rows.
        cols: Shape (nnz,), each < num_cols.
        index: Shape (nnz,): entry into values.
        values: Shape (d, limbs) uint64. Form: Montgomery, < r. May hold zero, duplicates and unused values.

    Returns:
        The canonical matrix.
    """
    place = rows.astype(np.uint64) << np.uint64(32) | cols.astype(np.uint64)
    if len(place) > 1 and not (place[1:] > place[:-1]).all():
        order = np.argsort(place, kind="stable")
        place, index = place[order], index[order]
        if (place[1:] == place[:-1]).any():
            place, index, values = _merge_duplicates(curve, place, index, values)
    used: IntArray = np.bincount(index, minlength=len(values)) > 0
    is_zero: IntArray = np.logical_not(values.any(axis=1))
    if (used & is_zero).any():
        keep = ~is_zero[index]
        place, index = place[keep], index[keep]
    dictionary, remap = sorted_dictionary(values, used & ~is_zero)
    row_ids = (place >> np.uint64(32)).astype(np.int64)
    return CsrMatrix(
        curve,
        shape[1],
        _row_ptr_from_counts(np.bincount(row_ids, minlength=shape[0])),
        place.astype(np.uint32),  # keeps the low half: the column
        remap[index].astype(index_dtype(len(dictionary))),
        dictionary,
    )


def _row_ptr_from_counts(counts: IntArray) -> IntArray:
    row_ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=row_ptr[1:])
    return row_ptr


def index_dtype(count: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned type that indexes count values."""
    if count <= 1 << 8:
        return np.uint8
    return np.uint16 if count <= 1 << 16 else np.uint32


def sorted_dictionary(values: U64Array, used: IntArray) -> tuple[U64Array, IntArray]:
    """The dictionary of a canonical matrix, and the map from old to new index.

    Args:
        values: Shape (d, limbs) uint64. Form: Montgomery. May hold duplicates.
        used: Shape (d,) bool. Which of them the matrix uses.
    """
    old = np.flatnonzero(used)
    order = np.lexsort(values[old].T)  # the last key, the highest limb, decides first
    old = old[order]
    rows = values[old]
    is_new = np.ones(len(rows), dtype=bool)
    np.any(rows[1:] != rows[:-1], axis=1, out=is_new[1:])
    remap = np.zeros(len(values), dtype=np.uint32)
    remap[old] = np.cumsum(is_new) - 1
    return rows[is_new], remap


def _merge_duplicates(
    curve: Curve, place: IntArray, index: IntArray, values: U64Array
) -> tuple[IntArray, IntArray, U64Array]:
    """Add up the entries that share a place; place is sorted. Rare, so in plain ints."""
    starts = np.concatenate([[True], place[1:] != place[:-1]])
    group = np.cumsum(starts) - 1
    merged_index = index[starts].astype(np.int64)
    sums: list[int] = []
    repeated = np.flatnonzero(np.bincount(group) > 1)
    bounds = np.searchsorted(group, np.stack([repeated, repeated + 1]))
    for i, (lo, hi) in enumerate(bounds.T.tolist()):
        parts = (index[at : min(at + _SAMPLE, hi)] for at in range(lo, hi, _SAMPLE))
        sums.append(
            sum(sum(limbs_to_ints(values[part])) for part in parts) % curve.r
        )  # Montgomery form is linear
        merged_index[repeated[i]] = len(values) + i
    raw = b"".join(value.to_bytes(curve.fr.nbytes, "little") for value in sums)
    extra = np.frombuffer(raw, dtype="<u8").reshape(-1, curve.fr.limbs)
    return place[starts], merged_index, np.concatenate([values, extra])
