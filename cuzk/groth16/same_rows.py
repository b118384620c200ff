"""Whether a key's matrices are the rows of a compiled circuit: compared term by term, so that no proof has to tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TypeAlias

import numpy as np

from cuzk.csr import CsrMatrix, IntArray
from cuzk.errors import ShapeError
from cuzk.keys import ProvingKey
from cuzk.pieces import CompiledCircuit
from cuzk.synthesis.expand import matrix_chunks

__all__ = ["first_other_row"]

_Rows: TypeAlias = tuple[CsrMatrix, CsrMatrix, CsrMatrix]


def first_other_row(key: ProvingKey, circuit: CompiledCircuit) -> tuple[int, str] | None:
    """The first row of the circuit that the key's matrices have not, and in which matrix; None where there is none.

    Args:
        key: With matrices; where it knows no C, A and B are compared. Rows that bind public inputs are not looked at.
        circuit: Of the key's curve and sizes. Instances that bind one variable twice, which no recorded circuit has,
            and what follows them are taken as they are: their terms merge, and the proof's check tells.

    Cost: 60 nanoseconds per term and memory for some 100,000 rows; of the order of one synthesis on one core.
    """
    first = 0
    codes = {name: _common_codes(matrix, circuit) for name, matrix in key.circuit_matrices.items()}
    for chunk in _distinct(matrix_chunks(circuit)):
        found = []
        for (name, matrix), wanted in zip(key.circuit_matrices.items(), chunk, strict=False):
            row = _first_difference(matrix, wanted, first, *codes[name])
            if row is not None:
                found.append((row, name))
        if found:
            return min(found)
        first += chunk[0].num_rows
    return None


def _distinct(chunks: Iterator[_Rows]) -> Iterator[_Rows]:
    """Rows as long as none has a variable twice."""
    with suppress(ShapeError):
        yield from chunks


def _common_codes(matrix: CsrMatrix, circuit: CompiledCircuit) -> tuple[IntArray, IntArray]:
    """Numbers for the coefficients of both dictionaries, equal where the values are."""
    both = np.concatenate([matrix.dictionary, circuit.dictionary])
    codes = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1).astype(np.uint32)
    return codes[: len(matrix.dictionary)], codes[len(matrix.dictionary) :]


def _first_difference(
    matrix: CsrMatrix, wanted: CsrMatrix, first: int, own: IntArray, its: IntArray
) -> int | None:
    """The first row, counted from the matrix's start, where it differs from rows that begin at a given one."""
    pointers = matrix.row_ptr[first : first + wanted.num_rows + 1]
    lengths = np.flatnonzero(pointers - pointers[0] != wanted.row_ptr)
    # Up to the first row of another length, terms lie at the same places.
    rows = int(lengths[0]) - 1 if len(lengths) else wanted.num_rows
    terms = slice(int(pointers[0]), int(pointers[rows]))
    count = terms.stop - terms.start
    differs = matrix.col[terms] != wanted.col[:count]
    differs |= own[matrix.coeff[terms]] != its[wanted.coeff[:count]]
    places = np.flatnonzero(differs)
    if len(places):
        rows = int(np.searchsorted(wanted.row_ptr, places[0], side="right")) - 1
    return first + rows if rows < wanted.num_rows else None
