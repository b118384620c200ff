"""The forms in which a circuit's rows lie on a device: recorded matrices, or pieces and where they occur.

Both give the same rows from the same witness; variant P5 chooses (``pce``, ``template``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cuzk.compiled_rows import compiled_digest
from cuzk.csr import CsrMatrix, IntArray
from cuzk.device.base import Array, Device
from cuzk.errors import CurveMismatchError, ShapeError
from cuzk.groth16.same_rows import first_other_row
from cuzk.keys import ProvingKey
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.pieces import CompiledCircuit, Instances, LocalRows, Opcode, Piece, Program

__all__ = ["CsrRows", "PieceRows", "RowForm", "check_compiled", "one_piece"]

_RECOMPILE = "use the circuit and the key that were made together"


class RowForm(Protocol):
    """Rows on a device."""

    @property
    def has_c(self) -> bool:
        """Whether matrix C is known."""

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""

    def product(self, side: int, w: Array, out: Array) -> None:
        """A w, B w or C w (side 0, 1, 2) with the rows that bind the inputs, and zeros up to the end of out.

        Args:
            side: Which matrix.
            w: Shape (num_variables, limbs) uint64. Form: Montgomery, < r.
            out: Shape (n, limbs) uint64, apart from w.
        """


@dataclass(frozen=True, eq=False)
class CsrRows:
    """The key's matrices, binding rows included.

    Args:
        device: Where.
        matrices: A, B, and C where the key has it.
    """

    device: Device
    matrices: tuple[DeviceMatrix, ...]

    @classmethod
    def upload(cls, device: Device, key: ProvingKey) -> CsrRows:
        """Copy the matrices of a key to the device."""
        return cls(device, tuple(DeviceMatrix.upload(device, matrix) for matrix in key.matrices.values()))

    @property
    def has_c(self) -> bool:
        """Whether matrix C is known."""
        return len(self.matrices) == 3

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(matrix.nbytes for matrix in self.matrices)

    def product(self, side: int, w: Array, out: Array) -> None:
        """As RowForm says."""
        matrix = self.matrices[side]
        spmv(self.device, matrix.curve, matrix, w, len(out), out=out)


@dataclass(frozen=True, eq=False)
class PieceRows:
    """A compiled circuit.

    Args:
        device: Where.
        pieces: The circuit.
        num_bound: Rows behind the circuit's in A that bind ONE and the inputs; none where the pieces hold them.
        has_c: Whether the pieces' C is the circuit's.
    """

    device: Device
    pieces: DevicePieces
    num_bound: int
    has_c: bool = True

    @classmethod
    def upload(cls, device: Device, key: ProvingKey, pieces: DevicePieces | None = None) -> PieceRows:
        """The rows of a compiled circuit, or those of a key as one piece."""
        if pieces is not None:
            return cls(device, pieces, key.num_public + 1)
        return cls(device, DevicePieces.upload(device, one_piece(key)), 0, key.c is not None)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.pieces.nbytes

    def product(self, side: int, w: Array, out: Array) -> None:
        """As RowForm says."""
        num_bound = self.num_bound if side == 0 else 0
        piece_spmv(self.device, self.pieces, side, w, len(out), out=out, num_bound=num_bound)


def check_compiled(key: ProvingKey, circuit: CompiledCircuit) -> None:
    """Check that a compiled circuit has a key's curve and sizes, and that it is the very one that a key was made from.

    Of a key without matrices the digest tells, of one with matrices each of its terms.

    Raises:
        CurveMismatchError, ShapeError: It is another circuit.
    """
    if circuit.curve is not key.curve:
        raise CurveMismatchError(
            f"the circuit is over {circuit.curve.name}, the key over {key.curve.name}", remedy=_RECOMPILE
        )
    sizes = {
        "num_variables": circuit.num_variables,
        "num_public": circuit.num_inputs - 1,
        "num_constraints": circuit.num_rows,
    }
    for name, size in sizes.items():
        if size != getattr(key, name):
            raise ShapeError(
                f"the circuit has {name} = {size}, the key {getattr(key, name)}", remedy=_RECOMPILE
            )
    if key.compiled is None:
        other = first_other_row(key, circuit)
        if other is not None:
            raise ShapeError(
                f"the circuit has the key's sizes but other constraints: row {other[0]} of matrix {other[1]} is the "
                "first that differs",
                remedy=_RECOMPILE,
            )
    elif (found := compiled_digest(circuit)) != key.compiled.digest:
        raise ShapeError(
            f"the key was made from another circuit than this one, or {key.compiled.circuit or 'it'} is now compiled "
            "to other pieces",
            limit=f"digest of the compiled circuit {key.compiled.digest}, found {found}",
            remedy="give the circuit that the key was made from, use the version of cuzk that made the key, or make "
            "the key again",
        )


def one_piece(key: ProvingKey) -> CompiledCircuit:
    """A key's rows, binding rows included, as one piece that occurs once; every variable is given or a hint.

    Where the key has no matrix C, the piece's is empty.
    """
    num_inputs, num_aux = key.num_public + 1, key.num_variables - key.num_public - 1
    rows, values, first = [], [], 0
    for matrix in (key.a, key.b, key.c):
        rows.append(_local(matrix, num_inputs, first) if matrix is not None else _no_rows(key.a.num_rows))
        if matrix is not None:
            values.append(matrix.dictionary)
            first += len(matrix.dictionary)
    bundles = np.array([(Opcode.HINT, num_aux, 0, 0)] if num_aux else [], np.int32).reshape(-1, 4)
    nothing = np.zeros((0, 4), np.int32)
    bases = (np.array([base], np.uint64) for base in (0, 0, 1, 0))
    row_base, aux_base, input_base, hint_base = bases
    where = Instances(
        row_base, aux_base, input_base, hint_base, np.zeros((1, 0), np.int32), np.zeros(1, np.uint32)
    )
    program = Program(bundles, nothing, nothing[:, :2], nothing[:, :2])
    piece = Piece(0, key.num_public, num_aux, num_aux, (rows[0], rows[1], rows[2]), program, where)
    return CompiledCircuit(
        key.curve, num_inputs, num_aux, key.a.num_rows, num_aux, np.concatenate(values), (piece,)
    )


def _local(matrix: CsrMatrix, num_inputs: int, first_code: int) -> LocalRows:
    column = matrix.col.astype(np.int64)
    var: IntArray = np.where(column < num_inputs, -1 - column, column - num_inputs).astype(np.int32)
    coeff = matrix.coeff.astype(np.uint32) + np.uint32(first_code)
    return LocalRows(matrix.row_ptr.astype(np.uint32), var, coeff)


def _no_rows(num_rows: int) -> LocalRows:
    return LocalRows(np.zeros(num_rows + 1, np.uint32), np.zeros(0, np.int32), np.zeros(0, np.uint32))
