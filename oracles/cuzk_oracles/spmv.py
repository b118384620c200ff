"""Sparse matrix times vector over Fr, a row as a list of (column, coefficient) entries.

Entries of one row may repeat a column (they add up), cancel, or be zero; rows may be empty.
"""

from collections.abc import Sequence

Row = list[tuple[int, int]]


def spmv(rows: Sequence[Row], w: Sequence[int], r: int) -> list[int]:
    """Per row, the sum over its entries of coefficient * w[column]."""
    return [sum(coefficient * w[column] for column, coefficient in row) % r for row in rows]


def spmv_dense(rows: Sequence[Row], w: Sequence[int], r: int) -> list[int]:
    """The same through dicts and full dense rows: a second way for small matrices."""
    result = []
    for row in rows:
        dense: dict[int, int] = dict.fromkeys(range(len(w)), 0)
        for column, coefficient in row:
            dense[column] = (dense[column] + coefficient) % r
        result.append(sum(dense[column] * w[column] for column in range(len(w))) % r)
    return result


def transpose_spmv(rows: Sequence[Row], x: Sequence[int], num_columns: int, r: int) -> list[int]:
    """The transposed matrix times x: sum over rows of x[row] * coefficient, per column."""
    result = [0] * num_columns
    for value, row in zip(x, rows, strict=True):
        for column, coefficient in row:
            result[column] = (result[column] + value * coefficient) % r
    return result


def rows_from_csr(
    row_ptr: Sequence[int], columns: Sequence[int], coefficients: Sequence[int], dictionary: Sequence[int]
) -> list[Row]:
    """Rows of a CSR matrix whose coefficients are indices into a dictionary of Fr."""
    return [
        [(columns[k], dictionary[coefficients[k]]) for k in range(row_ptr[i], row_ptr[i + 1])]
        for i in range(len(row_ptr) - 1)
    ]


def csr_from_rows(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int], list[int]]:
    """(row_ptr, columns, coefficient indices, dictionary), the dictionary in order of first use."""
    row_ptr, columns, coefficients = [0], [], []
    index_of: dict[int, int] = {}
    for row in rows:
        for column, coefficient in row:
            columns.append(column)
            coefficients.append(index_of.setdefault(coefficient, len(index_of)))
        row_ptr.append(len(columns))
    return row_ptr, columns, coefficients, list(index_of)
