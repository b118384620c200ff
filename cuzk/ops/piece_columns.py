"""The columns of a compiled circuit's matrices, summed with a weight for each row, as a set-up needs them.

The transpose of a circuit of pieces is one too: an instance's own auxiliary variables become its rows, and its rows
the variables. What an instance adds to variables that are not its own (ONE, inputs, bound ones) gets rows behind all
auxiliary variables, its margin; these are added up at the end, each sum in a known order of additions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cuzk.csr import CsrMatrix, IntArray
from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError
from cuzk.limbs import fr_from_ints
from cuzk.ops.fr_common import check_fr
from cuzk.ops.fr_vec import fr_add
from cuzk.ops.piece_checks import check_circuit
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.pieces import CompiledCircuit, Instances, LocalRows, Opcode, Piece, Program

__all__ = ["COLUMNS_AT_A_TIME", "piece_columns"]

#: Columns whose margins are added up at a time.
COLUMNS_AT_A_TIME = 1 << 22


def piece_columns(device: Device, circuit: CompiledCircuit, weights: Array) -> list[Array]:
    """The products of A, B and C, transposed, with a weight for each row.

    Args:
        device: Where weights lie.
        circuit: The circuit.
        weights: Shape (num_rows, limbs) uint64. Form: Montgomery, < r.
    Returns:
        For A, B, C: sum over rows i of M[i, j] * weights[i]. Shape (num_variables, limbs) uint64. Form: Montgomery,
        < r. Order: of the variables.
    Raises:
        ShapeError, RangeError: The circuit is damaged, or has another number of rows.
    Cost: an fr_add a term, and one fr_mul where the coefficient is not 1 or -1; memory for the results, the tables of
        the pieces and one element for each variable that an instance takes from elsewhere; no host synchronisation.
    Checked by: tests/kernels/test_piece_columns.py.
    """
    check_circuit(circuit)
    check_fr(circuit.curve, "weights", weights, (circuit.num_rows, circuit.curve.fr.limbs))
    num_inputs, num_variables = circuit.num_inputs, circuit.num_variables
    flipped = _transposed(circuit)
    pieces = DevicePieces.upload(device, flipped.circuit, checked=True)
    columns, margins = [], []
    for side in range(3):
        both = device.alloc((num_inputs + flipped.circuit.num_rows, circuit.curve.fr.limbs), np.uint64)
        device.fill_zero(both[:num_inputs])
        piece_spmv(device, pieces, side, weights, out=both[num_inputs:])
        columns.append(both[:num_variables])
        margins.append(both[num_variables:])
    _add_margins(device, circuit, flipped.targets, columns, margins)
    return columns


@dataclass(frozen=True, eq=False)
class _Transposed:
    """A circuit with rows and variables exchanged.

    Args:
        circuit: Its rows are the auxiliary variables, then the margins of all instances; its variables are the rows.
        targets: Shape (rows of margins,) uint32. The column that each belongs to.
    """

    circuit: CompiledCircuit
    targets: IntArray


def _transposed(circuit: CompiledCircuit) -> _Transposed:
    pieces, targets, end = [], [np.zeros(0, np.uint32)], circuit.num_aux
    for piece in circuit.pieces:
        if not len(piece.instances):
            continue
        width = 1 + piece.num_inputs + piece.num_bound
        rows = [_flip(piece, local) for local in piece.rows]
        own = [_part(local, width, width + piece.num_aux) for local in rows]
        margin = [_part(local, 0, width) for local in rows]
        bases = end + width * np.arange(len(piece.instances), dtype=np.uint64)
        pieces.append(_piece(piece, own, piece.instances.aux_base))
        pieces.append(_piece(piece, margin, bases.astype(np.uint64)))
        targets.append(_margin_targets(circuit, piece))
        end += width * len(piece.instances)
    flipped = replace(
        circuit, num_inputs=0, num_aux=circuit.num_rows, num_rows=end, num_hints=0, pieces=tuple(pieces)
    )
    if end >= 1 << 32:
        raise ShapeError(f"{end} auxiliary variables and variables of instances", limit="fewer than 2^32")
    return _Transposed(flipped, np.concatenate(targets))


def _flip(piece: Piece, local: LocalRows) -> LocalRows:
    """The columns of a piece as rows: ONE, own inputs, bound variables, own auxiliary variables; variables are rows."""
    wide = local.var.astype(np.int64)
    place = np.where(wide < 0, -1 - wide, wide + 1 + piece.num_inputs)
    order = np.argsort(place, kind="stable")
    lengths: IntArray = np.diff(local.row_ptr.astype(np.int64))
    row = np.repeat(np.arange(piece.num_rows, dtype=np.int32), lengths)
    counts = np.bincount(place, minlength=1 + piece.num_inputs + piece.num_bound + piece.num_aux)
    row_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return LocalRows(row_ptr, row[order], local.coeff[order])


def _part(local: LocalRows, first: int, last: int) -> LocalRows:
    """Rows first .. last-1."""
    pointers = local.row_ptr[first : last + 1]
    terms = slice(int(pointers[0]), int(pointers[-1]))
    return LocalRows(pointers - pointers[0], local.var[terms], local.coeff[terms])


def _piece(piece: Piece, rows: list[LocalRows], bases: IntArray) -> Piece:
    """A piece with these rows, at these places, whose own variables are the rows of the given one."""
    at, nothing = piece.instances, np.zeros((0, 4), np.int32)
    none = np.zeros(len(at), np.uint64)
    where = Instances(
        bases, at.row_base, none, none, np.zeros((len(at), 0), np.int32), np.zeros(len(at), np.uint32)
    )
    # Nobody runs it, but every auxiliary variable is made by something.
    bundles = np.array([(Opcode.HINT, piece.num_rows, 0, 0)][: piece.num_rows], np.int32).reshape(-1, 4)
    program = Program(bundles, nothing, nothing[:, :2], nothing[:, :2])
    return Piece(0, 0, piece.num_rows, piece.num_rows, (rows[0], rows[1], rows[2]), program, where)


def _margin_targets(circuit: CompiledCircuit, piece: Piece) -> IntArray:
    """Columns of the margins of all instances of a piece. Shape (instances * width,) uint32."""
    at = piece.instances
    bound = at.bindings.astype(np.int64)
    columns = [
        np.zeros((len(at), 1), np.int64),
        at.input_base.astype(np.int64)[:, None] + np.arange(piece.num_inputs),
        np.where(bound < 0, -1 - bound, bound + circuit.num_inputs),
    ]
    return np.concatenate(columns, axis=1).astype(np.uint32).ravel()


def _add_margins(
    device: Device, circuit: CompiledCircuit, targets: IntArray, columns: list[Array], margins: list[Array]
) -> None:
    """Add every row of a margin to its column."""
    order = np.argsort(targets, kind="stable").astype(np.uint32)
    ordered = targets[order]
    one = fr_from_ints(circuit.curve, [1])
    for first in range(0, circuit.num_variables, COLUMNS_AT_A_TIME):
        last = min(first + COLUMNS_AT_A_TIME, circuit.num_variables)
        begin, end = (int(np.searchsorted(ordered, column)) for column in (first, last))
        if begin == end:
            continue
        counts = np.bincount(ordered[begin:end] - np.uint32(first), minlength=last - first)
        row_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        codes = np.zeros(end - begin, np.uint8)
        matrix = CsrMatrix(circuit.curve, len(targets), row_ptr, order[begin:end], codes, one)
        uploaded = DeviceMatrix.upload(device, matrix)
        for column, margin in zip(columns, margins, strict=True):
            part = column[first:last]
            fr_add(device, circuit.curve, part, spmv(device, circuit.curve, uploaded, margin), out=part)
