"""Rows of a compiled circuit written out, all of them or some at a time.

Instances of one piece are written together: their terms are one table, a row per instance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, csr_from_indexed
from cuzk.pieces import CompiledCircuit, Piece
from cuzk.relation import R1CS
from cuzk.synthesis.terms import ONE, row_starts

__all__ = ["columns_of", "expand", "matrix_chunks"]

#: Rows that are written out at a time where not all are.
_ROWS_AT_A_TIME = 1 << 17


@dataclass(frozen=True, eq=False)
class _Run:
    """Some instances of a piece: those numbered first .. last-1."""

    piece: Piece
    first: int
    last: int


def expand(circuit: CompiledCircuit) -> R1CS:
    """The circuit as matrices.

    Cost: 0.2 microseconds and 30 bytes per term.
    """
    runs = [_Run(piece, 0, len(piece.instances)) for piece in circuit.pieces]
    a, b, c = (
        csr_from_indexed(
            circuit.curve,
            (circuit.num_rows, circuit.num_variables),
            np.repeat(np.arange(circuit.num_rows, dtype=np.uint32), np.diff(matrix.row_ptr)),
            matrix.col,
            matrix.coeff.astype(np.int64),
            circuit.dictionary,
        )
        for matrix in (_matrix(circuit, side, runs, 0, circuit.num_rows) for side in range(3))
    )
    return R1CS(circuit.curve, circuit.num_variables, circuit.num_inputs - 1, a, b, c)


def matrix_chunks(circuit: CompiledCircuit) -> Iterator[tuple[CsrMatrix, CsrMatrix, CsrMatrix]]:
    """A, B and C in parts of some rows, in order; columns rise within a row, the dictionary is the circuit's.

    Cost: memory for the largest piece, or for some 100,000 rows.
    """
    for runs, first, last in _chunks(circuit):
        a, b, c = (_matrix(circuit, side, runs, first, last) for side in range(3))
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


def _matrix(
    circuit: CompiledCircuit, side: int, runs: list[_Run], first_row: int, last_row: int
) -> CsrMatrix:
    """The rows that runs of instances make up, first_row .. last_row-1, of one matrix."""
    lengths: IntArray = np.zeros(last_row - first_row, dtype=np.int64)
    for run in runs:
        rows = _first_rows(run, first_row)[:, None] + np.arange(run.piece.num_rows)
        lengths[rows] = np.diff(run.piece.rows[side].row_ptr.astype(np.int64))
    row_ptr = row_starts(lengths)
    col: IntArray = np.empty(int(row_ptr[-1]), dtype=np.uint32)
    coeff: IntArray = np.empty(len(col), dtype=np.uint32)
    for run in runs:
        local = run.piece.rows[side]
        places = row_ptr[_first_rows(run, first_row)][:, None] + np.arange(len(local.var))
        col[places] = columns_of(circuit, run.piece, local.var, slice(run.first, run.last))
        coeff[places] = local.coeff
    place = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths) << np.uint64(32) | col
    order = np.argsort(place, kind="stable")  # within rows: nearly sorted, so quick
    return CsrMatrix(
        circuit.curve, circuit.num_variables, row_ptr, col[order], coeff[order], circuit.dictionary
    )


def _first_rows(run: _Run, first_row: int) -> IntArray:
    return run.piece.instances.row_base[run.first : run.last].astype(np.int64) - first_row


def columns_of(circuit: CompiledCircuit, piece: Piece, var: IntArray, which: slice) -> IntArray:
    """The columns, as in R1CS, of local variables in some instances. Shape (instances, variables) uint32."""
    instances = piece.instances
    aux_base = instances.aux_base[which].astype(np.int64)[:, None]
    input_base = instances.input_base[which].astype(np.int64)[:, None]
    out: IntArray = np.zeros((len(aux_base), len(var)), dtype=np.uint32)
    is_bound = (var >= 0) & (var < piece.num_bound)
    bound = instances.bindings[which][:, var[is_bound]].astype(np.int64)
    out[:, is_bound] = np.where(bound < 0, -1 - bound, bound + circuit.num_inputs)
    is_aux = var >= piece.num_bound
    out[:, is_aux] = aux_base + (var[is_aux].astype(np.int64) - piece.num_bound + circuit.num_inputs)
    is_input = var < ONE
    out[:, is_input] = input_base + (-2 - var[is_input].astype(np.int64))
    return out
