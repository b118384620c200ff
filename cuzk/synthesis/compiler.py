"""From recorded pieces to a compiled circuit: the order of pieces, the dictionary, the levels of instances.

An instance can run when those that make what its program reads have run. Its level says how many must run one after
the other before; what its rows alone mention does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cuzk.csr import IntArray
from cuzk.curves import Curve
from cuzk.errors import ShapeError
from cuzk.limbs import fr_from_ints
from cuzk.pieces import CompiledCircuit, Instances, LocalRows, Opcode, Piece
from cuzk.synthesis.program import reads
from cuzk.synthesis.recorder import Position, Recorder

__all__ = ["compile_circuit", "operand_opcodes", "program_bindings"]

_ONE_RESULT = (Opcode.LOGIC, Opcode.SOLVE, Opcode.WIDE, Opcode.LINEAR)

_Tables = Sequence[tuple[int, IntArray, IntArray]]


def compile_circuit(curve: Curve, recorder: Recorder, tables: _Tables, end: Position) -> CompiledCircuit:
    """All of a circuit as plain arrays.

    Args:
        curve: Whose Fr.
        recorder: Its pieces and coefficients.
        tables: Instances of each piece, as in Block, with variables of the circuit.
        end: Sizes of the circuit.

    Raises:
        ShapeError: A program reads a variable that is made after it.
    """
    tables = sorted(tables, key=lambda table: tuple(table[1][0].tolist()))
    dictionary, index = _dictionary(
        recorder.coefficients.values_in_order, [recorder.pieces[t[0]] for t in tables]
    )
    pieces = [_with_coefficients(recorder.pieces[number], index) for number, _, _ in tables]
    bases = [table[1] for table in tables]
    bindings = [table[2] for table in tables]
    levels = _levels(pieces, bases, bindings)
    return CompiledCircuit(
        curve,
        end.inputs,
        end.aux,
        end.rows,
        end.hints,
        fr_from_ints(curve, dictionary),
        tuple(
            replace(piece, instances=_instances(base, bound, level))
            for piece, base, bound, level in zip(pieces, bases, bindings, levels, strict=True)
        ),
    )


def _instances(bases: IntArray, bindings: IntArray, level: IntArray) -> Instances:
    row, aux, own_input, hint = (np.ascontiguousarray(column) for column in bases.T.astype(np.uint64))
    return Instances(row, aux, own_input, hint, np.ascontiguousarray(bindings), level.astype(np.uint32))


def _dictionary(values: Sequence[int], pieces: Sequence[Piece]) -> tuple[list[int], IntArray]:
    """The coefficients in use, in rising order, and where each of the given values is among them."""
    used: IntArray = np.zeros(len(values), dtype=bool)
    for piece in pieces:
        for side in piece.rows:
            used[side.coeff] = True
        used[piece.program.linear_terms[:, 1]] = True
    order = sorted(np.flatnonzero(used).tolist(), key=values.__getitem__)
    index: IntArray = np.zeros(len(values), dtype=np.uint32)
    index[order] = np.arange(len(order), dtype=np.uint32)
    return [values[i] for i in order], index


def _with_coefficients(piece: Piece, index: IntArray) -> Piece:
    """A piece whose coefficients are numbered anew."""
    a, b, c = (LocalRows(side.row_ptr, side.var, index[side.coeff]) for side in piece.rows)
    terms = piece.program.linear_terms.copy()
    terms[:, 1] = index[terms[:, 1]]
    return replace(piece, rows=(a, b, c), program=replace(piece.program, linear_terms=terms))


def operand_opcodes(piece: Piece) -> IntArray:
    """The opcode that each row of operands belongs to. Shape (operands,) int32."""
    opcode, lanes = piece.program.bundles[:, 0], piece.program.bundles[:, 1]
    rows = np.where(opcode == Opcode.HINT, 0, np.where(np.isin(opcode, _ONE_RESULT), lanes, 1))
    return np.repeat(opcode, rows)


def program_bindings(piece: Piece) -> IntArray:
    """The bound variables that the program reads. Shape (k,) int64, rising."""
    program = piece.program
    _, read = reads(
        piece.rows, operand_opcodes(piece), program.operands, program.sum_terms, program.linear_terms
    )
    return np.unique(read[(read >= 0) & (read < piece.num_bound)])


@dataclass(frozen=True, eq=False)
class _Makers:
    """Which instance makes a variable. Instances are numbered in the order in which they were recorded."""

    aux_first: IntArray
    aux_maker: IntArray
    input_first: IntArray
    input_maker: IntArray

    def of(self, variables: IntArray) -> IntArray:
        """The maker of each variable, -1 for ONE's; variables of the circuit."""
        by_aux = self.aux_maker[np.searchsorted(self.aux_first, variables, side="right") - 1]
        by_input = self.input_maker[np.searchsorted(self.input_first, -1 - variables, side="right") - 1]
        return np.where(variables >= 0, by_aux, by_input)


def _makers(pieces: Sequence[Piece], bases: Sequence[IntArray], numbers: Sequence[IntArray]) -> _Makers:
    columns = []
    for column, size in ((1, "num_aux"), (2, "num_inputs")):
        first = np.concatenate(
            [
                [0],
                *(base[:, column] for piece, base in zip(pieces, bases, strict=True) if getattr(piece, size)),
            ]
        )
        maker = np.concatenate(
            [[-1], *(one for piece, one in zip(pieces, numbers, strict=True) if getattr(piece, size))]
        )
        order = np.argsort(first, kind="stable")
        columns += [first[order], maker[order]]
    return _Makers(*columns)


def _levels(
    pieces: Sequence[Piece], bases: Sequence[IntArray], bindings: Sequence[IntArray]
) -> list[IntArray]:
    """Levels of all instances, piece by piece."""
    counts = [len(base) for base in bases]
    if not counts:
        return []
    everything = np.concatenate(bases)
    number: IntArray = np.empty(len(everything), dtype=np.int64)
    number[np.lexsort(everything.T[::-1])] = np.arange(len(everything))
    numbers = np.split(number, np.cumsum(counts)[:-1])
    makers = _makers(pieces, bases, numbers)
    edges = [
        _edges(bound[:, program_bindings(piece)], own, makers, len(everything))
        for piece, bound, own in zip(pieces, bindings, numbers, strict=True)
    ]
    reader, maker = np.divmod(np.sort(np.concatenate(edges)), len(everything))
    if (maker >= reader).any():
        raise ShapeError(
            "a variable is computed from one that is allocated after it",
            remedy="define variables before they are used to define others",
        )
    level = [0] * len(everything)
    for one, other in zip(reader.tolist(), maker.tolist(), strict=True):
        if level[one] <= level[other]:
            level[one] = level[other] + 1
    in_order = np.array(level, dtype=np.uint32)
    return [in_order[own] for own in numbers]


def _edges(bound: IntArray, own: IntArray, makers: _Makers, total: int) -> IntArray:
    """Pairs (instance, one that makes what it reads), as instance * total + other, none twice."""
    maker = makers.of(bound)
    is_new = np.ones(maker.shape, dtype=bool)
    is_new[:, 1:] = maker[:, 1:] != maker[:, :-1]
    is_new &= maker >= 0
    reader = np.broadcast_to(own[:, None], maker.shape)
    return np.unique(reader[is_new] * total + maker[is_new])
