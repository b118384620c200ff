"""Rows of a compiled circuit written out, all of them or some at a time.

Instances of one piece are written together: their terms are one table, a row per instance. The terms of a piece's rows
are put in such an order that columns rise in most instances; only rows where they do not are sorted one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, index_dtype, sorted_dictionary
from cuzk.errors import ShapeError
from cuzk.pieces import CompiledCircuit, Piece
from cuzk.relation import R1CS

__all__ = ["columns_of", "expand", "matrix_chunks"]

#: Rows that are written out at a time where not all are.
_ROWS_AT_A_TIME = 1 << 17
#: Terms of instances of one piece that are worked on at a time.
_TERMS_AT_A_TIME = 1 << 22
#: Numbers that are copied faster one instance at a time than through a table of places.
_WIDE = 128


@dataclass(frozen=True, eq=False)
class _Run:
    """Some instances of a piece: those numbered first .. last-1."""

    piece: Piece
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class _Terms:
    """The terms of a piece's rows in one matrix, in an order in which columns mostly rise.

    Args:
        lengths: Shape (rows,) int64.
        row: Shape (terms,) int64. Row of the piece of each term.
        var: Shape (terms,) int32.
        code: Shape (terms,). Index into the matrix's dictionary.
    """

    lengths: IntArray
    row: IntArray
    var: IntArray
    code: IntArray


def expand(circuit: CompiledCircuit) -> R1CS:
    """The circuit as matrices.

    Raises:
        ShapeError: A row of an instance uses a variable twice, which no recorded circuit does.

    Cost: 40 nanoseconds and 5 or 6 bytes per term, 24 bytes per row.
    """
    runs = [_Run(piece, 0, len(piece.instances)) for piece in circuit.pieces]
    matrices = []
    for side in range(3):
        used: IntArray = np.zeros(len(circuit.dictionary), dtype=bool)
        for piece in circuit.pieces:
            used[piece.rows[side].coeff] = len(piece.instances) > 0
        dictionary, codes = sorted_dictionary(circuit.dictionary, used)
        codes = codes.astype(index_dtype(len(dictionary)))
        row_ptr, col, coeff = _written(circuit, side, runs, codes, (0, circuit.num_rows))
        matrices.append(CsrMatrix(circuit.curve, circuit.num_variables, row_ptr, col, coeff, dictionary))
    a, b, c = matrices
    return R1CS(circuit.curve, circuit.num_variables, circuit.num_inputs - 1, a, b, c)


def matrix_chunks(circuit: CompiledCircuit) -> Iterator[tuple[CsrMatrix, CsrMatrix, CsrMatrix]]:
    """A, B and C in parts of some rows, in order; columns rise within a row, the dictionary is the circuit's.

    Cost: memory for the largest piece, or for some 100,000 rows.
    """
    codes = np.arange(len(circuit.dictionary), dtype=np.uint32)
    for runs, first, last in _chunks(circuit):
        a, b, c = (
            CsrMatrix(
                circuit.curve,
                circuit.num_variables,
                *_written(circuit, side, runs, codes, (first, last)),
                circuit.dictionary,
            )
            for side in range(3)
        )
        yield a, b, c


def _chunks(circuit: CompiledCircuit) -> Iterator[tuple[list[_Run], int, int]]:
    """Runs of instances that cover consecutive rows, and the first and last row + 1."""
    pieces = [piece for piece in circuit.pieces if piece.num_rows]
    row = np.concatenate([np.zeros(0, np.uint64), *(piece.instances.row_base for piece in pieces)])
    which = np.repeat(np.arange(len(pieces)), [len(piece.instances) for piece in pieces])
    order = np.argsort(row)
    row, which = row[order].astype(np.int64), which[order]
    done = [0] * len(pieces)
    start = 0
    while start < len(row):
        stop = max(int(np.searchsorted(row, row[start] + _ROWS_AT_A_TIME)), start + 1)
        runs = []
        for i, count in enumerate(np.bincount(which[start:stop], minlength=len(pieces)).tolist()):
            if count:
                runs.append(_Run(pieces[i], done[i], done[i] + count))
                done[i] += count
        yield runs, int(row[start]), int(row[stop]) if stop < len(row) else circuit.num_rows
        start = stop


def _written(
    circuit: CompiledCircuit, side: int, runs: list[_Run], codes: IntArray, rows: tuple[int, int]
) -> tuple[IntArray, IntArray, IntArray]:
    """The rows that runs of instances make up, rows[0] .. rows[1]-1, of one matrix: row_ptr, columns, coefficients.

    codes: What stands for each coefficient of the circuit's dictionary.
    """
    first_row, last_row = rows
    terms = [_in_order(run.piece, side, codes) for run in runs]
    row_ptr: IntArray = np.zeros(last_row - first_row + 1, dtype=np.int64)
    lengths = row_ptr[1:]
    bases = [run.piece.instances.row_base[run.first : run.last].astype(np.int64) - first_row for run in runs]
    for base, one in zip(bases, terms, strict=True):
        _copy(lengths, base, np.broadcast_to(one.lengths, (len(base), len(one.lengths))))
    np.cumsum(lengths, out=lengths)
    col: IntArray = np.empty(int(row_ptr[-1]), dtype=np.uint32)
    coeff: IntArray = np.empty(len(col), dtype=codes.dtype)
    for run, base, one in zip(runs, bases, terms, strict=True):
        step = max(1, _TERMS_AT_A_TIME // max(1, len(one.var)))
        for first in range(run.first, run.last, step):
            which = slice(first, min(first + step, run.last))
            start = row_ptr[base[which.start - run.first : which.stop - run.first]]
            columns, found = _sorted_columns(circuit, run.piece, one, which)
            _copy(col, start, columns)
            _copy(coeff, start, found)
    return row_ptr, col, coeff


def _copy(out: IntArray, first: IntArray, table: IntArray) -> None:
    """Write row i of a table to out[first[i]] and what follows."""
    width = table.shape[1]
    if width >= _WIDE:
        for at, line in zip(first.tolist(), table, strict=True):
            out[at : at + width] = line
    elif width:
        out[first[:, None] + np.arange(width)] = table


def _in_order(piece: Piece, side: int, codes: IntArray) -> _Terms:
    """The terms of one matrix: in each row ONE, own inputs, bound and own auxiliary variables."""
    local = piece.rows[side]
    pointers = local.row_ptr.astype(np.int64)
    lengths: IntArray = pointers[1:] - pointers[:-1]
    row = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((_place_of(piece, local.var), row))
    return _Terms(lengths, row, local.var[order], codes[local.coeff[order]])


def _sorted_columns(
    circuit: CompiledCircuit, piece: Piece, terms: _Terms, which: slice
) -> tuple[IntArray, IntArray]:
    """Columns and coefficients of all terms of some instances, columns rising in each row.

    Returns:
        Columns, shape (instances, terms) uint32, and coefficients of the same shape.
    """
    columns = columns_of(circuit, piece, terms.var, which)
    codes = np.broadcast_to(terms.code, columns.shape)
    in_row = terms.row[1:] == terms.row[:-1]
    falls = in_row & (columns[:, 1:] <= columns[:, :-1]).any(axis=0)
    if not falls.any():
        return columns, codes
    has_falls: IntArray = np.zeros(len(terms.lengths), dtype=bool)
    has_falls[terms.row[1:][falls]] = True
    places = np.flatnonzero(has_falls[terms.row])
    keys = terms.row[places].astype(np.uint64) << np.uint64(32) | columns[:, places]
    order = np.argsort(keys, axis=1, kind="stable")
    keys = np.take_along_axis(keys, order, axis=1)
    if (keys[:, 1:] == keys[:, :-1]).any():
        raise ShapeError("a row of an instance uses a variable twice", remedy="bind different variables")
    columns[:, places] = keys.astype(np.uint32)  # keeps the low half
    codes = codes.copy()
    codes[:, places] = terms.code[places][order]
    return columns, codes


def columns_of(circuit: CompiledCircuit, piece: Piece, var: IntArray, which: slice) -> IntArray:
    """The columns, as in R1CS, of local variables in some instances. Shape (instances, variables) uint32."""
    instances = piece.instances
    inputs = np.arange(piece.num_inputs, dtype=np.uint32)
    aux = np.arange(piece.num_aux, dtype=np.uint32) + np.uint32(circuit.num_inputs)
    bound = instances.bindings[which]
    table = np.concatenate(
        [
            np.zeros((len(bound), 1), dtype=np.uint32),
            instances.input_base[which].astype(np.uint32)[:, None] + inputs,
            np.where(bound < 0, ~bound, bound + np.int32(circuit.num_inputs)).astype(np.uint32),
            instances.aux_base[which].astype(np.uint32)[:, None] + aux,
        ],
        axis=1,
    )
    return np.take(table, _place_of(piece, var), axis=1)


def _place_of(piece: Piece, var: IntArray) -> IntArray:
    """Places of local variables in the order ONE, own inputs, bound and own auxiliary variables."""
    wide = var.astype(np.int64)
    return np.where(wide < 0, -1 - wide, wide + piece.num_inputs + 1)
