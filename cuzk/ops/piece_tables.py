"""A compiled circuit on a device: all its pieces in a few arrays, uploaded once.

The tables of the pieces follow one another, with every index made absolute; bindings become columns; coefficient
codes 0 and 1 stand for +1 and -1. Instances are numbered piece by piece. kernels/pieces.cuh has the other side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.csr import IntArray
from cuzk.curves import Curve
from cuzk.device.base import Array, Device, DeviceLimits
from cuzk.errors import RangeError
from cuzk.limbs import fr_from_ints
from cuzk.ops.piece_checks import check_circuit, given_inputs, operand_rows, ranges
from cuzk.ops.piece_order import bundle_groups
from cuzk.ops.plan_pieces import MOST_WITNESS_WARPS, piece_long_row, piece_tile_rows
from cuzk.pieces import CompiledCircuit, Opcode

__all__ = ["DevicePieces"]


@dataclass(frozen=True, eq=False)
class DevicePieces:
    """A compiled circuit on a device.

    Attributes:
        curve: Whose Fr.
        num_inputs, num_aux, num_rows, num_hints: As of the circuit.
        num_given: Inputs that no program makes.
        table_rows: Rows of all pieces, once each.
        pieces: Shape (pieces, 8) uint32: PieceInfo.
        instances: Shape (instances, 8) uint32: PieceInstance.
        bound: Shape (bindings,) uint32. Columns of the bound variables of all instances.
        row_ptr: Shape (3, table_rows + 1) uint32. Into terms, for A, B, C.
        terms: Shape (terms, 2) int32. Local variable and coefficient code, of rows and linear combinations.
        dictionary: Shape (d, limbs) uint64. Form: Montgomery. 1, -1, then the other coefficients.
        groups: Shape (groups + 1,) uint32. Where each group of bundles begins, and the end.
        bundles: Shape (bundles + 8, 4) int32. Group by group; behind the last, what nobody runs.
        operands: Shape (operands, 4) int32.
        sum_terms: Shape (terms, 2) int32.
        ids: Shape (instances with a program,) uint32. By level, in a level the longest program first.
        levels: Where each level begins in ids, and the end.
        tiles: Shape (tiles, 2) int32. Piece and first row, for piece_rows.
        tile_rows: Rows of a tile.
        long_rows: For A, B, C. Shape (rows, 2) int32: instance and row of its piece.
        long_row: Terms above which a row is long.
    """

    curve: Curve
    num_inputs: int
    num_aux: int
    num_rows: int
    num_hints: int
    num_given: int
    table_rows: int
    pieces: Array
    instances: Array
    bound: Array
    row_ptr: Array
    terms: Array
    dictionary: Array
    groups: Array
    bundles: Array
    operands: Array
    sum_terms: Array
    ids: Array
    levels: tuple[int, ...]
    tiles: Array
    tile_rows: int
    long_rows: tuple[Array, Array, Array]
    long_row: int

    @classmethod
    def upload(
        cls, device: Device, circuit: CompiledCircuit, *, long_row: int | None = None, checked: bool = False
    ) -> DevicePieces:
        """Check a compiled circuit and copy it to the device.

        Args:
            device: Where to.
            circuit: All tables; their arrays are not kept.
            long_row: Terms above which a row gets a warp, instead of the plan's. Changes no result.
            checked: Whether the tables were made from checked ones, and are not to be checked again.
        Raises:
            ShapeError, RangeError: The tables contradict each other (piece_checks.py).
        """
        if not checked:
            check_circuit(circuit)
        packed = _Packed(circuit, device.limits, long_row)
        arrays = {name: device.upload(array) for name, array in packed.arrays.items()}
        a, b, c = (device.upload(rows) for rows in packed.long_rows)
        return cls(
            curve=circuit.curve, num_inputs=circuit.num_inputs, num_aux=circuit.num_aux, num_rows=circuit.num_rows,
            num_hints=circuit.num_hints, num_given=given_inputs(circuit), table_rows=packed.table_rows,
            levels=packed.levels, tile_rows=packed.tile_rows, long_rows=(a, b, c), long_row=packed.long_row, **arrays,
        )  # fmt: skip

    @property
    def num_variables(self) -> int:
        """Length of the witness."""
        return self.num_inputs + self.num_aux

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        arrays = (
            *(
                self.pieces,
                self.instances,
                self.bound,
                self.row_ptr,
                self.terms,
                self.dictionary,
                self.groups,
            ),
            *(self.bundles, self.operands, self.sum_terms, self.ids, self.tiles, *self.long_rows),
        )
        return sum(int(array.nbytes) for array in arrays)

    def tables(self, side: int | None = None) -> dict[str, Array | int]:
        """The arguments that all kernels over pieces share; row_ptr of one matrix, or of all where None."""
        row_ptr = self.row_ptr if side is None else self.row_ptr[side]
        return {
            "pieces": self.pieces, "instances": self.instances, "bound": self.bound, "row_ptr": row_ptr,
            "terms": self.terms, "dictionary": self.dictionary,
        }  # fmt: skip


def _joined(parts: list[IntArray], shape: tuple[int, ...], dtype: Any) -> IntArray:
    """Arrays one after the other; where there are none, an empty one with these last axes."""
    return np.ascontiguousarray(np.concatenate([np.zeros((0, *shape), dtype), *parts]), dtype)


def _starts(lengths: list[int]) -> IntArray:
    """Where each of several runs begins, and the end."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)


class _Packed:
    """The arrays of a circuit on the host."""

    def __init__(self, circuit: CompiledCircuit, limits: DeviceLimits, long_row: int | None) -> None:
        self.circuit, pieces = circuit, circuit.pieces
        self.long_row = piece_long_row(limits) if long_row is None else long_row
        self.tile_rows = piece_tile_rows(limits)
        self.first_row = _starts([piece.num_rows for piece in pieces])
        self.group_of = [bundle_groups(circuit, piece) for piece in pieces]
        self.first_group = _starts([int(groups.max(initial=-1)) + 1 for groups in self.group_of])
        self.first_instance = _starts([len(piece.instances) for piece in pieces])
        self.table_rows = int(self.first_row[-1])
        dictionary, self.code_of = _with_units_first(circuit)
        row_ptr, terms, linear = self._terms()
        self.levels, ids = self._by_level()
        self.long_rows = [self._long_rows(side) for side in range(3)]
        bundles, operands = self._programs(linear)
        self.arrays: dict[str, IntArray] = {
            "pieces": self._pieces(), "instances": self._instances(), "bound": self._bound(), "row_ptr": row_ptr,
            "terms": terms, "dictionary": dictionary, "groups": self._groups(), "bundles": bundles,
            "operands": operands, "sum_terms": _joined([piece.program.sum_terms for piece in pieces], (2,), np.int32),
            "ids": ids, "tiles": self._tiles(),
        }  # fmt: skip
        for name, array in self.arrays.items():
            if len(array) >= 1 << 31:
                raise RangeError(f"table {name} has {len(array)} entries", limit="fewer than 2^31")

    def _with_code(self, var: IntArray, code: IntArray) -> IntArray:
        return np.stack([var.astype(np.int32), self.code_of[code]], axis=1)

    def _terms(self) -> tuple[IntArray, IntArray, IntArray]:
        """Row pointers, terms, and where the linear combinations of each piece begin among them."""
        parts, pointers, end = [], [], 0
        for side in range(3):
            ends = []
            for piece in self.circuit.pieces:
                rows = piece.rows[side]
                ends.append(rows.row_ptr[:-1].astype(np.int64) + end)
                parts.append(self._with_code(rows.var, rows.coeff))
                end += len(rows.var)
            pointers.append(np.concatenate([*ends, [end]]))
        tables = [piece.program.linear_terms for piece in self.circuit.pieces]
        parts += [self._with_code(table[:, 0], table[:, 1]) for table in tables]
        if end + sum(map(len, tables)) >= 1 << 31:
            raise RangeError(f"{end} terms in the rows of the pieces", limit="fewer than 2^31")
        linear = end + _starts([len(table) for table in tables])
        return np.stack(pointers).astype(np.uint32), _joined(parts, (2,), np.int32), linear

    def _groups(self) -> IntArray:
        sizes = [np.bincount(groups) for groups in self.group_of]
        return _starts(np.concatenate([np.zeros(0, np.int64), *sizes]).tolist()).astype(np.uint32)

    def _programs(self, linear: IntArray) -> tuple[IntArray, IntArray]:
        """Bundles, group by group, and operands of all pieces, with absolute indices."""
        bundles, operands, end = [], [], 0
        sums = _starts([len(piece.program.sum_terms) for piece in self.circuit.pieces])
        for i, piece in enumerate(self.circuit.pieces):
            table = piece.program.bundles[np.argsort(self.group_of[i], kind="stable")]
            count, hints = operand_rows(table), table[:, 0] == Opcode.HINT
            own = piece.program.operands[ranges(np.where(hints, 0, table[:, 2]), count)].copy()
            opcode = np.repeat(table[:, 0], count)
            own[:, 0] += np.select(
                [opcode == Opcode.SUM, opcode == Opcode.LINEAR, np.isin(opcode, (Opcode.SOLVE, Opcode.WIDE))],
                [sums[i], linear[i], self.first_row[i]],
            ).astype(np.int32)
            table[:, 2] = np.where(hints, table[:, 2], end + np.cumsum(count) - count)
            end += len(own)
            bundles.append(table)
            operands.append(own)
        bundles.append(np.zeros((MOST_WITNESS_WARPS, 4), np.int32))  # the kernel looks ahead
        return _joined(bundles, (4,), np.int32), _joined(operands, (4,), np.int32)

    def _pieces(self) -> IntArray:
        def sizes(starts: IntArray) -> list[IntArray]:
            return [starts[:-1], np.diff(starts)]

        own = np.array([(p.num_bound, p.num_aux) for p in self.circuit.pieces], np.int64).reshape(-1, 2)
        columns = [*sizes(self.first_row), *own.T, *sizes(self.first_group), *sizes(self.first_instance)]
        return np.ascontiguousarray(np.stack(columns, axis=1), np.uint32)

    def _instances(self) -> IntArray:
        parts, bound = [], 0
        for i, piece in enumerate(self.circuit.pieces):
            at, part = piece.instances, np.zeros((len(piece.instances), 8), np.uint32)
            part[:, 0] = i
            part[:, 1] = bound + piece.num_bound * np.arange(len(part))
            part[:, 2] = at.row_base
            part[:, 3] = at.aux_base + np.uint64(self.circuit.num_inputs)
            part[:, 4], part[:, 5] = at.input_base, at.hint_base
            bound += at.bindings.size
            parts.append(part)
        return _joined(parts, (8,), np.uint32)

    def _bound(self) -> IntArray:
        bindings = [piece.instances.bindings.ravel().astype(np.int64) for piece in self.circuit.pieces]
        columns = [np.where(b < 0, -1 - b, self.circuit.num_inputs + b) for b in bindings]
        return _joined(columns, (), np.uint32)

    def _by_level(self) -> tuple[tuple[int, ...], IntArray]:
        """Where levels begin, and the instances in order."""
        numbers = [i for i, piece in enumerate(self.circuit.pieces) if len(piece.program.bundles)]
        pieces = [self.circuit.pieces[i] for i in numbers]
        counts = [len(piece.instances) for piece in pieces]
        ids = ranges(self.first_instance[numbers], np.array(counts, np.int64))
        if not len(ids):
            return (0,), ids.astype(np.uint32)
        level = np.concatenate([piece.instances.level for piece in pieces]).astype(np.int64)
        length = np.repeat(np.diff(self.first_group)[numbers], counts)
        order = np.lexsort((ids, -length, level))
        borders = np.flatnonzero(np.diff(level[order])) + 1
        return (0, *borders.tolist(), len(ids)), ids[order].astype(np.uint32)

    def _tiles(self) -> IntArray:
        """Tiles in order of pieces."""
        parts = []
        for i, piece in enumerate(self.circuit.pieces):
            starts = np.arange(0, piece.num_rows * len(piece.instances), self.tile_rows, dtype=np.int64)
            parts.append(np.stack([np.full(len(starts), i), starts], axis=1).astype(np.uint32).view(np.int32))
        return _joined(parts, (2,), np.int32)

    def _long_rows(self, side: int) -> IntArray:
        parts = []
        for i, piece in enumerate(self.circuit.pieces):
            rows = np.flatnonzero(np.diff(piece.rows[side].row_ptr) > self.long_row)
            ids = self.first_instance[i] + np.arange(len(piece.instances))
            parts.append(np.stack([np.repeat(ids, len(rows)), np.tile(rows, len(ids))], axis=1))
        return _joined(parts, (2,), np.int32)


def _with_units_first(circuit: CompiledCircuit) -> tuple[IntArray, IntArray]:
    """The dictionary with 1 and -1 in front, and each old code's new one."""
    units = fr_from_ints(circuit.curve, [1, circuit.curve.r - 1])
    code_of = np.full(len(circuit.dictionary), -1, np.int32)
    for code, unit in enumerate(units):
        code_of[(circuit.dictionary == unit).all(axis=1)] = code
    others = np.flatnonzero(code_of < 0)
    code_of[others] = 2 + np.arange(len(others))
    return np.concatenate([units, circuit.dictionary[others]]), code_of
