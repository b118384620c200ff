"""Sparse matrix times vector over Fr, with the matrix resident on the device.

An R1CS matrix is uploaded once per circuit as CSR with coefficient codes (indices into a dictionary of Fr);
a proof then sends only its witness. +1 and -1 are recognised in the dictionary and cost an addition. Long
rows, listed once at upload, get a thread block each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.errors import CurveMismatchError, RangeError, ShapeError
from cuzk.limbs import fr_from_ints
from cuzk.ops.fr_common import check_fr, check_overlap, launch
from cuzk.ops.plan_fr import plan_elementwise, plan_spmv_long, spmv_long_row

_NO_CODE = 2**64 - 1


class CsrLike(Protocol):
    """What upload() reads of a matrix on the host (cuzk.csr.CsrMatrix is one)."""

    @property
    def curve(self) -> Curve:
        """Whose Fr."""

    @property
    def num_cols(self) -> int:
        """Number of columns."""

    @property
    def row_ptr(self) -> NDArray[Any]:
        """Shape (num_rows + 1,) int64."""

    @property
    def col(self) -> NDArray[Any]:
        """Shape (nnz,) uint32."""

    @property
    def coeff(self) -> NDArray[Any]:
        """Shape (nnz,) uint8, uint16 or uint32."""

    @property
    def dictionary(self) -> NDArray[Any]:
        """Shape (d, limbs) uint64. Form: Montgomery."""


@dataclass(frozen=True, eq=False)
class DeviceMatrix:
    """A sparse matrix on a device.

    Attributes:
        curve: Whose Fr.
        num_rows: Rows.
        num_cols: Columns; the length of w.
        nnz: Stored entries.
        row_ptr: Shape (num_rows + 1,) int64.
        cols: Shape (nnz,) uint32.
        codes: Shape (nnz,) uint8, uint16 or uint32: indices into the dictionary.
        dictionary: Shape (d, limbs) uint64. Form: Montgomery, < r.
        one_code: The dictionary's index of 1, or 2^64 - 1.
        minus_one_code: The dictionary's index of -1, or 2^64 - 1.
        long_rows: Shape (num_long,) uint32: rows of more than long_row entries.
        long_row: Entries above which a row is long.
    """

    curve: Curve
    num_rows: int
    num_cols: int
    nnz: int
    row_ptr: Array
    cols: Array
    codes: Array
    dictionary: Array
    one_code: int
    minus_one_code: int
    long_rows: Array
    long_row: int

    @classmethod
    def upload(cls, device: Device, matrix: CsrLike, *, long_row: int | None = None) -> DeviceMatrix:
        """Check a matrix and copy it to the device.

        Args:
            device: Where to.
            matrix: The matrix on the host.
            long_row: Entries above which a row gets a whole block, instead of the plan's. Changes no result.
        Raises:
            ShapeError: Array lengths or types disagree, or row_ptr does not ascend from 0 to nnz.
            RangeError: A column or coefficient code is out of range.
        """
        _check(matrix)
        limit = spmv_long_row(device.limits) if long_row is None else long_row
        lengths = np.diff(matrix.row_ptr)
        return cls(
            curve=matrix.curve,
            num_rows=len(matrix.row_ptr) - 1,
            num_cols=matrix.num_cols,
            nnz=len(matrix.col),
            row_ptr=device.upload(np.ascontiguousarray(matrix.row_ptr)),
            cols=device.upload(np.ascontiguousarray(matrix.col)),
            codes=device.upload(np.ascontiguousarray(matrix.coeff)),
            dictionary=device.upload(np.ascontiguousarray(matrix.dictionary)),
            one_code=_code_of(matrix, 1),
            minus_one_code=_code_of(matrix, -1),
            long_rows=device.upload(np.flatnonzero(lengths > limit).astype(np.uint32)),
            long_row=limit,
        )

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        arrays = (self.row_ptr, self.cols, self.codes, self.dictionary, self.long_rows)
        return sum(int(a.nbytes) for a in arrays)


def _check(matrix: CsrLike) -> None:
    row_ptr, col, coeff = matrix.row_ptr, matrix.col, matrix.coeff
    if row_ptr.ndim != 1 or len(row_ptr) < 1 or row_ptr.dtype != np.int64:
        raise ShapeError(
            f"row_ptr of shape {row_ptr.shape} and type {row_ptr.dtype}", limit="(rows + 1,) int64"
        )
    if len(row_ptr) > 1 << 32:
        raise ShapeError(f"{len(row_ptr) - 1} rows", limit="fewer than 2^32")
    if col.ndim != 1 or col.dtype != np.uint32 or coeff.shape != col.shape:
        raise ShapeError(
            f"columns of shape {col.shape} and type {col.dtype}, coefficients of shape {coeff.shape}",
            limit="both (nnz,), columns uint32",
        )
    if coeff.dtype not in (np.uint8, np.uint16, np.uint32):
        raise ShapeError(f"coefficient codes of type {coeff.dtype}", limit="uint8, uint16 or uint32")
    if row_ptr[0] != 0 or row_ptr[-1] != len(col) or bool((row_ptr[1:] < row_ptr[:-1]).any()):
        raise ShapeError(
            "row_ptr does not ascend from 0 to the number of entries", limit=f"{len(col)} entries"
        )
    check_fr(matrix.curve, "the dictionary", matrix.dictionary)
    if len(col):
        if int(col.max()) >= matrix.num_cols:
            raise RangeError(f"column {int(col.max())}", limit=f"{matrix.num_cols} columns")
        if int(coeff.max()) >= len(matrix.dictionary):
            raise RangeError(
                f"coefficient code {int(coeff.max())}", limit=f"{len(matrix.dictionary)} dictionary entries"
            )


def _code_of(matrix: CsrLike, value: int) -> int:
    equal = (matrix.dictionary == fr_from_ints(matrix.curve, [value])).all(axis=1)
    found = np.flatnonzero(equal)
    return int(found[0]) if len(found) else _NO_CODE


def spmv(
    device: Device,
    curve: Curve,
    matrix: DeviceMatrix,
    w: Array,
    num_rows_out: int | None = None,
    out: Array | None = None,
) -> Array:
    """The product matrix * w, padded with zeros.

    Args:
        device: Where matrix and w lie.
        curve: The curve of both.
        matrix: num_rows x num_cols.
        w: Shape (num_cols, limbs) uint64. Form: Montgomery, < r.
        num_rows_out: Length of the result, >= num_rows (default: num_rows); rows beyond the matrix are 0.
        out: Where to put the result, apart from w.
    Returns:
        out, or a new array. Shape (num_rows_out, limbs) uint64. Form: Montgomery, < r. Order: of the rows.
    Raises:
        CurveMismatchError: The matrix is over another curve.
        ShapeError: Lengths disagree, or out overlaps w.
    Cost: nnz gathers and fr_add, one fr_mul per entry that is neither +1 nor -1; no host synchronisation.
    Checked by: tests/kernels/test_spmv.py.
    """
    if matrix.curve is not curve:
        raise CurveMismatchError(f"the matrix is over {matrix.curve.name}", limit=curve.name)
    check_fr(curve, "w", w, (matrix.num_cols, curve.fr.limbs))
    num_rows_out = matrix.num_rows if num_rows_out is None else num_rows_out
    if num_rows_out < matrix.num_rows:
        raise ShapeError(f"{num_rows_out} result rows", limit=f"at least the matrix's {matrix.num_rows}")
    if out is None:
        out = device.alloc((num_rows_out, curve.fr.limbs), np.uint64)
    else:
        check_fr(curve, "out", out, (num_rows_out, curve.fr.limbs))
        check_overlap("w", out, w, exact_allowed=False)
    common: dict[str, Array | int] = {
        "row_ptr": matrix.row_ptr, "cols": matrix.cols, "codes": matrix.codes,
        "code_bytes": matrix.codes.dtype.itemsize, "dictionary": matrix.dictionary,
        "one_code": matrix.one_code, "minus_one_code": matrix.minus_one_code, "w": w, "out": out,
    }  # fmt: skip
    launch(
        device, curve, "spmv_rows", plan_elementwise(num_rows_out, device.limits),
        **common, num_rows=matrix.num_rows, num_rows_out=num_rows_out, long_row=matrix.long_row,
    )  # fmt: skip
    num_long = len(matrix.long_rows)
    launch(
        device, curve, "spmv_long_rows", plan_spmv_long(num_long, curve, device.limits),
        **common, rows=matrix.long_rows, num_long=num_long,
    )  # fmt: skip
    return out
