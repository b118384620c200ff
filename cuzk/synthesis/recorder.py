"""Pieces while circuits are recorded: what is shared by a circuit and its templates, and tables of instances.

A piece ends where a template is called or the code asks for a cut. Pieces that are equal in local variables are one, so
that code that runs again, template or not, adds instances alone. A block is what a template made: its instances in its
own numbering; inserting it maps whole tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cuzk.csr import IntArray
from cuzk.curves import Curve
from cuzk.pieces import Instances, LocalRows, Piece
from cuzk.synthesis.program import Operations, OperationTable, build_program
from cuzk.synthesis.terms import ONE, Coefficients, Rows, Variable, never_allocated, row_starts

__all__ = ["Block", "InstanceTables", "Position", "Recorder", "check_variables"]


@dataclass(frozen=True)
class Position:
    """How far a system has come.

    Args:
        rows: Rows so far.
        aux: Auxiliary variables so far.
        inputs: Inputs so far, ONE counted.
        hints: Hints taken so far.
    """

    rows: int
    aux: int
    inputs: int
    hints: int


@dataclass(frozen=True, eq=False)
class Block:
    """A recorded sub-circuit, in variables of its own.

    Args:
        end: Its sizes; the variables bound from outside are the first auxiliary ones.
        num_bound: How many these are.
        tables: Per piece its number, the bases of its instances (shape (n, 4) int64: row, auxiliary variable, input,
            hint), and their bindings (shape (n, bound) int32).
    """

    end: Position
    num_bound: int
    tables: Sequence[tuple[int, IntArray, IntArray]]


class InstanceTables:
    """Instances of pieces as they come."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[int, list[tuple[IntArray, IntArray]]] = {}

    def add(self, piece: int, bases: IntArray, bindings: IntArray) -> None:
        """Further instances of a piece; arguments as in Block.tables."""
        self._parts.setdefault(piece, []).append((bases, bindings))

    def insert(self, block: Block, here: Position, operands: Sequence[Variable]) -> None:
        """All instances of a block at a place.

        Args:
            block: What to insert.
            here: How far the system has come.
            operands: Variables for those that the block leaves open.
        """
        shift = here.aux - block.num_bound
        more_inputs = here.inputs - 1
        offset = np.array([here.rows, shift, more_inputs, here.hints], dtype=np.int64)
        outer = np.array(operands, dtype=np.int32)
        for piece, bases, bindings in block.tables:
            mapped = bindings + np.where(bindings < 0, -more_inputs, shift).astype(np.int32)
            is_operand = (bindings >= 0) & (bindings < block.num_bound)
            mapped[is_operand] = outer[bindings[is_operand]]
            self.add(piece, bases + offset, mapped)

    def merged(self) -> list[tuple[int, IntArray, IntArray]]:
        """One table per piece; see Block."""
        return [
            (
                piece,
                np.concatenate([bases for bases, _ in parts]),
                np.concatenate([bindings for _, bindings in parts]),
            )
            for piece, parts in self._parts.items()
        ]


class Recorder:
    """What a circuit and its templates share.

    Attributes:
        coefficients: All coefficients so far.
        pieces: All pieces so far, without instances.
        templates: (body, form of operands) -> what it made; kept by those who call templates.
    """

    __slots__ = ("_numbers", "coefficients", "pieces", "templates")

    def __init__(self, curve: Curve) -> None:
        self.coefficients = Coefficients(curve.r)
        self.pieces: list[Piece] = []
        self.templates: dict[object, object] = {}
        self._numbers: dict[tuple[object, ...], int] = {}

    def piece(
        self, sides: Sequence[Rows], operations: Operations, start: Position, end: Position
    ) -> tuple[int, IntArray]:
        """The piece of what was written between two places.

        Args:
            sides: Its rows, in variables of the system.
            operations: Its operations.
            start: Where it begins.
            end: Where it ends.

        Returns:
            Its number, and the variables to bind. Shape (num_bound,) int32.
        """
        arrays = [self._without_zeros(*rows.arrays()) for rows in sides]
        table = operations.table()
        places = table.variable_places()
        lists = [variables for variables, _, _ in arrays]
        lists += [table.operands[places], table.sum_terms[:, 0], table.linear_terms[:, 0]]
        (*rows_vars, operands, summed, combined), bindings = _localised(lists, start, end)
        table.operands[places] = operands
        table.sum_terms[:, 0] = summed
        table.linear_terms[:, 0] = combined
        a, b, c = (
            LocalRows(row_starts(lengths).astype(np.uint32), variables, indices)
            for variables, (_, indices, lengths) in zip(rows_vars, arrays, strict=True)
        )
        slots = _slots(table.heads[:, 2], start, end)
        sizes = (len(bindings), end.inputs - start.inputs, end.aux - start.aux, end.hints - start.hints)
        return self._number((a, b, c), table, slots, sizes), bindings

    def _number(
        self,
        rows: tuple[LocalRows, LocalRows, LocalRows],
        table: OperationTable,
        slots: IntArray,
        sizes: tuple[int, int, int, int],
    ) -> int:
        """The number of the piece with this content, which is new or known."""
        content = [array for side in rows for array in (side.row_ptr, side.var, side.coeff)]
        content += [table.heads[:, :2], slots, table.operands, table.sum_terms, table.linear_terms]
        digest = hashlib.blake2b()
        for array in content:
            digest.update(np.ascontiguousarray(array).data)
        key = (*sizes, *(array.shape for array in content), digest.digest())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.pieces)
            num_bound, _, num_aux, _ = sizes
            program = build_program(rows, table, slots, num_bound, num_aux)
            self.pieces.append(Piece(*sizes, rows, program, _NO_INSTANCES))
        return number

    def _without_zeros(
        self, variables: IntArray, indices: IntArray, lengths: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Rows without the terms whose coefficient is zero."""
        zero = self.coefficients.get(0)
        keep = indices != zero if zero is not None else np.ones(0, dtype=bool)
        if keep.all():
            return variables, indices, lengths
        kept_before = row_starts(keep)
        return variables[keep], indices[keep], np.diff(kept_before[row_starts(lengths)])


_NO_BASES: IntArray = np.zeros(0, dtype=np.uint64)
_NO_INSTANCES = Instances(
    *(_NO_BASES, _NO_BASES, _NO_BASES, _NO_BASES),
    np.zeros((0, 0), dtype=np.int32),
    np.zeros(0, dtype=np.uint32),
)


def _localised(lists: Sequence[IntArray], start: Position, end: Position) -> tuple[list[IntArray], IntArray]:
    """Variables of a system in the numbers of a piece, and which ones are bound.

    Those bound are numbered in the order in which they first occur, so that code with the same structure gives the
    same numbers.
    """
    variables = np.concatenate(lists)
    is_aux = (variables >= start.aux) & (variables < end.aux)
    is_input = (variables < -start.inputs) & (variables >= -end.inputs)
    is_bound = ~(is_aux | is_input | (variables == ONE))
    bindings, first, which = np.unique(variables[is_bound], return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank: IntArray = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    local = np.where(is_aux, variables - start.aux + len(bindings), variables + start.inputs - 1)
    local[variables == ONE] = ONE
    local[is_bound] = rank[which]
    ends = np.cumsum([len(one) for one in lists])[:-1]
    return np.split(local.astype(np.int32), ends), bindings[order].astype(np.int32)


def _slots(results: IntArray, start: Position, end: Position) -> IntArray:
    """Slots of variables that a piece makes. Shape (operations,) int64."""
    inputs = end.aux - start.aux - 1 - results.astype(np.int64) - start.inputs
    return np.where(results < 0, inputs, results - start.aux)


def check_variables(tables: Sequence[tuple[int, IntArray, IntArray]], end: Position) -> None:
    """Raise a ShapeError if an instance is bound to a variable that was never allocated."""
    for _, _, bindings in tables:
        if bindings.size and not -end.inputs <= int(bindings.min()) <= int(bindings.max()) < end.aux:
            raise never_allocated(end.inputs, end.aux)
