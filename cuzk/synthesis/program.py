"""Witness programs while a circuit is recorded: operations as they come, and the bundles that they make up.

Operations are written down with variables of the circuit, one by one. A finished piece turns them into local
variables and packs neighbours of one kind, whose results are neighbours and do not need each other, into bundles.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cuzk.csr import IntArray
from cuzk.errors import InternalError
from cuzk.pieces import LocalRows, Opcode, Program
from cuzk.synthesis.terms import row_starts

__all__ = ["LANES", "OperationTable", "Operations", "build_program", "ranges", "reads"]

#: Operations that one bundle holds at most.
LANES = 32
#: Rows with more terms are solved by all lanes together.
_NARROW_TERMS = 12

_LOGIC, _SUM, _BITS, _SOLVE, _WIDE, _LINEAR, _HINT = (int(opcode) for opcode in Opcode)
#: Kinds whose bundles have a lane per operation.
_PACKED = (_LOGIC, _SOLVE, _LINEAR, _HINT)
#: Numbers per operation: opcode, results, first result, four operands.
_WIDTH = 7


@dataclass(frozen=True, eq=False)
class OperationTable:
    """Operations as arrays, with variables of whatever numbering.

    Args:
        heads: Shape (operations, 3) int32: opcode, results, first result.
        operands: Shape (operations, 4) int32, as in Program.
        sum_terms: Shape (terms, 2) int32.
        linear_terms: Shape (terms, 2) int32.
    """

    heads: IntArray
    operands: IntArray
    sum_terms: IntArray
    linear_terms: IntArray

    def variable_places(self) -> IntArray:
        """Which of the operands are variables. Shape (operations, 4) bool."""
        opcode = self.heads[:, 0]
        places: IntArray = np.zeros(self.operands.shape, dtype=bool)
        places[:, :3] = (opcode == _LOGIC)[:, None]
        places[:, 0] |= opcode == _BITS
        return places


class Operations:
    """Writes operations down."""

    __slots__ = ("_linear_terms", "_ops", "_sum_terms")

    def __init__(self) -> None:
        self._ops = array("i")
        self._sum_terms = array("i")
        self._linear_terms = array("i")

    def hint(self, out: int) -> None:
        """The next value from outside."""
        self._ops.extend((_HINT, 1, out, 0, 0, 0, 0))

    def logic(self, out: int, a: int, b: int, c: int, table: int) -> None:
        """A function of three bits."""
        self._ops.extend((_LOGIC, 1, out, a, b, c, table))

    def bits(self, out: int, count: int, variable: int) -> None:
        """The bits of a variable."""
        self._ops.extend((_BITS, count, out, variable, 0, 0, 0))

    def sum(self, out: int, count: int, terms: Sequence[int], constant: int) -> None:
        """The bits of a sum; terms as pairs, one after the other."""
        low, high = constant & 0xFFFFFFFF, constant >> 32
        low -= (low >> 31) << 32  # the same 32 bits as an int32
        self._ops.extend((_SUM, count, out, len(self._sum_terms) >> 1, len(terms) >> 1, low, high))
        self._sum_terms.extend(terms)

    def solve(self, out: int, row: int, sign: int, num_terms: int) -> None:
        """What makes a row of this piece hold."""
        opcode = _WIDE if num_terms > _NARROW_TERMS else _SOLVE
        self._ops.extend((opcode, 1, out, row, sign, 0, 0))

    def linear(self, out: int, terms: Iterable[tuple[int, int]]) -> None:
        """A linear combination of (variable, index of coefficient)."""
        before = len(self._linear_terms)
        for term in terms:
            self._linear_terms.extend(term)
        count = (len(self._linear_terms) - before) >> 1
        self._ops.extend((_LINEAR, 1, out, before >> 1, count, 0, 0))

    def table(self) -> OperationTable:
        """All of them, copied."""
        ops = np.array(self._ops, dtype=np.int32).reshape(-1, _WIDTH)
        terms, linear = (
            np.array(flat, dtype=np.int32).reshape(-1, 2) for flat in (self._sum_terms, self._linear_terms)
        )
        return OperationTable(ops[:, :3], ops[:, 3:].copy(), terms, linear)


def ranges(first: IntArray, count: IntArray) -> IntArray:
    """first[0], first[0] + 1, ..., count[0] of them, then those of first[1], and so on. Shape (sum,) int64."""
    starts = row_starts(count)
    return np.arange(starts[-1]) + np.repeat(np.asarray(first, dtype=np.int64) - starts[:-1], count)


def reads(
    rows: Sequence[LocalRows],
    opcode: IntArray,
    operands: IntArray,
    sum_terms: IntArray,
    linear_terms: IntArray,
) -> tuple[IntArray, IntArray]:
    """What operations read, the result in the row of a solved one included.

    Args:
        rows: A, B, C of the piece.
        opcode: Shape (n,). Of each row of operands.
        operands: Shape (n, 4) int32, as in Program; so are the terms.
        sum_terms: Shape (terms, 2) int32.
        linear_terms: Shape (terms, 2) int32.

    Returns:
        Row of operands and local variable, for each thing that is read. Shape (reads,) both.
    """
    who: list[IntArray] = []
    what: list[IntArray] = []
    for is_kind, columns in ((opcode == _LOGIC, 3), (opcode == _BITS, 1)):
        which = np.flatnonzero(is_kind)
        who.append(np.repeat(which, columns))
        what.append(operands[which, :columns].reshape(-1))
    for kind, terms in ((_SUM, sum_terms), (_LINEAR, linear_terms)):
        which = np.flatnonzero(opcode == kind)
        who.append(np.repeat(which, operands[which, 1]))
        what.append(terms[ranges(operands[which, 0], operands[which, 1]), 0])
    which = np.flatnonzero((opcode == _SOLVE) | (opcode == _WIDE))
    for side in rows:
        row = operands[which, 0]
        first = side.row_ptr[row].astype(np.int64)
        count = side.row_ptr[row + 1].astype(np.int64) - first
        who.append(np.repeat(which, count))
        what.append(side.var[ranges(first, count)])
    return np.concatenate(who), np.concatenate(what)


def build_program(
    rows: Sequence[LocalRows], table: OperationTable, slots: IntArray, num_bound: int, num_aux: int
) -> Program:
    """Bundles of a piece's operations.

    Args:
        rows: A, B, C of the piece.
        table: Its operations in order, operands in local variables.
        slots: Shape (operations,). Of each operation's first result.
        num_bound: Variables made elsewhere.
        num_aux: Own auxiliary variables.

    Raises:
        InternalError: An operation reads what only a later one makes.
    """
    opcode, count = table.heads[:, 0], table.heads[:, 1].astype(np.int64)
    needs = _needs(rows, table, slots, num_bound, num_aux)
    same_kind = (opcode[1:] == opcode[:-1]) & np.isin(opcode[1:], _PACKED)
    joins: IntArray = np.zeros(len(opcode), dtype=bool)
    joins[1:] = same_kind & (slots[1:] == slots[:-1] + 1)
    starts = []
    start = 0
    for i, (is_joined, need) in enumerate(zip(joins.tolist(), needs.tolist(), strict=True)):
        if not is_joined or need >= start or i - start == LANES:
            start = i
            starts.append(i)
    first = np.array(starts, dtype=np.int64)
    is_hint = opcode == _HINT
    # A hint's number and an operation's row of operands: how many of the same sort come before it.
    number = np.where(is_hint, np.cumsum(is_hint), np.cumsum(~is_hint)) - 1
    lanes = np.add.reduceat(count, first) if starts else first
    bundles = np.stack([opcode[first], lanes, number[first], slots[first]], axis=1)
    return Program(
        bundles.astype(np.int32),
        np.ascontiguousarray(table.operands[~is_hint]),
        table.sum_terms,
        table.linear_terms,
    )


def _needs(
    rows: Sequence[LocalRows], table: OperationTable, slots: IntArray, num_bound: int, num_aux: int
) -> IntArray:
    """Per operation the last one whose result it reads, or -1. Shape (operations,) int64."""
    opcode, count = table.heads[:, 0], table.heads[:, 1].astype(np.int64)
    num_operations = len(opcode)
    producer: IntArray = np.full(int(count.sum()), num_operations, dtype=np.int64)
    producer[ranges(slots, count)] = np.repeat(np.arange(num_operations), count)
    who, what = reads(rows, opcode, table.operands, table.sum_terms, table.linear_terms)
    slot = np.where(what < -1, num_aux - 2 - what, what - num_bound)
    # Bound variables and ONE have negative slots; a solved row contains its own result.
    is_own = slot >= 0
    who, slot = who[is_own], slot[is_own]
    is_result = np.isin(opcode[who], (_SOLVE, _WIDE)) & (slot == slots[who])
    who, slot = who[~is_result], slot[~is_result]
    needs: IntArray = np.full(num_operations, -1, dtype=np.int64)
    np.maximum.at(needs, who, producer[slot])
    late = needs >= np.arange(num_operations)
    if late.any():
        raise InternalError(
            f"operation {int(np.argmax(late))} of a piece reads what is made after it",
            remedy="define variables before they are used to define others",
        )
    return needs
