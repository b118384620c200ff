"""What must hold of a compiled circuit's tables before kernels may follow them: every index, every order.

Kernels trust their tables; this is where trust comes from. It is done once per circuit, in bulk. Not checked is what
no table says: that variables which operations on bits read are 0 or 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzk.csr import IntArray
from cuzk.errors import RangeError, ShapeError
from cuzk.limbs import first_not_below
from cuzk.ops.fr_common import check_fr
from cuzk.pieces import CompiledCircuit, Opcode, Piece

__all__ = ["check_circuit", "given_inputs", "operand_rows", "own_reads", "ranges"]

_REMEDY = "the compiled circuit is damaged: compile it again"
_MOST = 1 << 31  # tables are indexed in 32 bits, and some numbers have a sign
#: Inputs of a piece that occurs nowhere.
_MOST_UNUSED = 1 << 16


def ranges(first: IntArray, count: IntArray) -> IntArray:
    """first[0], first[0] + 1, ... (count[0] numbers), then those of first[1], and so on. Shape (sum(count),) int64."""
    count = np.asarray(count, np.int64)
    ends = np.cumsum(count)
    shift = np.asarray(first, np.int64) - (ends - count)
    numbers: IntArray = np.arange(ends[-1] if len(ends) else 0, dtype=np.int64)
    numbers += np.repeat(shift, count)
    return numbers


def operand_rows(bundles: IntArray) -> IntArray:
    """Rows of the operand table that each bundle has. Shape (bundles,) int64."""
    opcode, count = bundles[:, 0], bundles[:, 1].astype(np.int64)
    shared = np.isin(opcode, (Opcode.SUM, Opcode.BITS))
    rows: IntArray = np.where(shared, 1, np.where(opcode == Opcode.HINT, 0, count))
    return rows


def given_inputs(circuit: CompiledCircuit) -> int:
    """Inputs that no program makes, which must be given with the hints."""
    total = 0
    for piece in circuit.pieces:
        slots = ranges(piece.program.bundles[:, 3], piece.program.bundles[:, 1])
        made = int((slots >= piece.num_aux).sum())
        total += (piece.num_inputs - made) * len(piece.instances)
    return total


def own_reads(circuit: CompiledCircuit, piece: Piece) -> tuple[IntArray, IntArray]:
    """Which bundles of a checked program (reader, maker) read what which others of it make. Shapes (n,) int64."""
    reader, maker = _Program(circuit, piece, "").own_reads()
    return reader[maker >= 0], maker[maker >= 0]


def check_circuit(circuit: CompiledCircuit) -> None:
    """Check every table of a circuit.

    Raises:
        ShapeError: Lengths or types disagree, or instances leave something out or overlap.
        RangeError: An index, an opcode or a level is out of range, or something is read before it is made.
    """
    check_fr(circuit.curve, "the dictionary", circuit.dictionary)
    bad = first_not_below(circuit.dictionary, circuit.curve.r)
    if bad is not None:
        raise RangeError(f"coefficient {bad} of the dictionary is not below r", remedy=_REMEDY)
    for number, piece in enumerate(circuit.pieces):
        where = f"piece {number}"
        _check_rows(circuit, piece, where)
        _Program(circuit, piece, where).check()
        _check_instances(circuit, piece, where)
    _check_cover(circuit)
    _check_levels(circuit)


def _demand(holds: Any, what: str, where: str, limit: str | None = None) -> None:
    if not bool(holds):
        raise RangeError(what, where=where, limit=limit, remedy=_REMEDY)


def _check_type(name: str, array: IntArray, shape: tuple[int | None, ...], dtype: Any, where: str) -> None:
    fits = array.ndim == len(shape) and all(
        want in (None, n) for want, n in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != dtype:
        wanted = ", ".join("n" if n is None else str(n) for n in shape)
        raise ShapeError(
            f"{name} has shape {array.shape} and type {array.dtype}", where=where,
            limit=f"({wanted}) {np.dtype(dtype).name}", remedy=_REMEDY,
        )  # fmt: skip


def _check_vars(piece: Piece, var: IntArray, name: str, where: str) -> None:
    least, most = -1 - piece.num_inputs, piece.num_bound + piece.num_aux
    inside = (var >= least) & (var < most)
    _demand(
        inside.all(), f"{name} name a variable that the piece does not have", where, f"{least} to {most - 1}"
    )


def _check_rows(circuit: CompiledCircuit, piece: Piece, where: str) -> None:
    sizes = (piece.num_bound, piece.num_inputs, piece.num_aux, piece.num_hints)
    _demand(min(sizes) >= 0 and max(sizes) < _MOST, f"sizes {sizes}", where, "0 to 2^31 - 1")
    # Tables as large as this are made below, whether the piece occurs or not.
    most = circuit.num_inputs - 1 if len(piece.instances) else _MOST_UNUSED
    _demand(piece.num_inputs <= most, f"{piece.num_inputs} inputs in a smaller circuit", where, f"{most}")
    for name, rows in zip("ABC", piece.rows, strict=True):
        at = f"{where}, matrix {name}"
        _check_type("row_ptr", rows.row_ptr, (piece.num_rows + 1,), np.uint32, at)
        _check_type("var", rows.var, (None,), np.int32, at)
        _check_type("coeff", rows.coeff, (len(rows.var),), np.uint32, at)
        pointers = rows.row_ptr.astype(np.int64)
        ascends = pointers[0] == 0 and pointers[-1] == len(rows.var) and bool((np.diff(pointers) >= 0).all())
        _demand(
            ascends, "row_ptr does not ascend from 0 to the number of terms", at, f"{len(rows.var)} terms"
        )
        _check_vars(piece, rows.var, "terms", at)
        _demand((rows.coeff < len(circuit.dictionary)).all(), "a coefficient is not in the dictionary", at)


class _Program:
    """The program of one piece under the eyes of the checks."""

    def __init__(self, circuit: CompiledCircuit, piece: Piece, where: str) -> None:
        self.circuit, self.piece, self.where = circuit, piece, f"{where}, witness program"
        program = piece.program
        for name in ("bundles", "operands"):
            _check_type(name, getattr(program, name), (None, 4), np.int32, self.where)
        for name in ("sum_terms", "linear_terms"):
            _check_type(name, getattr(program, name), (None, 2), np.int32, self.where)
        self.opcode, self.count, self.first, self.out = program.bundles.astype(np.int64).T

    def demand(self, holds: Any, what: str, limit: str | None = None) -> None:
        """Refuse what does not hold."""
        _demand(holds, what, self.where, limit)

    def check(self) -> None:
        """Check all of it."""
        self.demand(np.isin(self.opcode, list(Opcode)).all(), "an operation that there is not", "1 to 7")
        most = np.full(len(self.opcode), _MOST)
        for opcode, limit in (
            (Opcode.SUM, 63),
            (Opcode.WIDE, 1),
            (Opcode.BITS, 64 * self.circuit.curve.fr.limbs),
        ):
            most[self.opcode == opcode] = limit
        self.demand(((self.count >= 1) & (self.count <= most)).all(), "a bundle has a wrong number of lanes")
        rows = operand_rows(self.piece.program.bundles)
        inside = (self.first >= 0) & (self.first + rows <= len(self.piece.program.operands))
        hints = self.opcode == Opcode.HINT
        inside |= hints
        self.demand(inside.all(), "a bundle's operands lie outside their table")
        ends = (self.first + self.count)[hints]
        self.demand((self.first[hints] >= 0).all() and (ends <= self.piece.num_hints).all(),
                    "a hint beyond those of the piece", f"{self.piece.num_hints} hints")  # fmt: skip
        reader, maker = self.own_reads()
        self.demand((maker < reader).all(), "a variable is read before it is made")

    def own_reads(self) -> tuple[IntArray, IntArray]:
        """Numbers of a bundle that reads an own variable, and of the one that makes it, -1 if it is given."""
        made_by = self.makers()
        reads, readers = zip(*self.reads(), strict=True)
        var, reader = np.concatenate(reads), np.concatenate(readers)
        _check_vars(self.piece, var, "operands", self.where)
        is_input = var < -1
        own = (var >= self.piece.num_bound) | is_input
        slot = np.where(is_input, self.piece.num_aux - 2 - var, var - self.piece.num_bound)
        return reader[own], made_by[slot[own]]

    def makers(self) -> IntArray:
        """Number of the bundle that makes each slot, -1 for inputs that are given."""
        slots = self.piece.num_aux + self.piece.num_inputs
        self.demand(
            ((self.out >= 0) & (self.out + self.count <= slots)).all(), "results beyond the own variables"
        )
        # Asked for first: tables as large as the number of variables are made below.
        self.demand(self.count.sum() >= self.piece.num_aux, "an auxiliary variable is never made")
        made = ranges(self.out, self.count)
        times = np.bincount(made, minlength=slots)
        self.demand((times <= 1).all(), "a variable is made twice")
        self.demand((times[: self.piece.num_aux] == 1).all(), "an auxiliary variable is never made")
        by = np.full(slots, -1, np.int64)
        by[made] = np.repeat(np.arange(len(self.out)), self.count)
        return by

    def _operands(self, *opcodes: Opcode) -> tuple[IntArray, IntArray, IntArray]:
        """Operands of all bundles of some kinds, the number of each one's bundle, and its lane."""
        number = np.flatnonzero(np.isin(self.opcode, opcodes))
        rows = operand_rows(self.piece.program.bundles)[number]
        at = ranges(self.first[number], rows)
        lane = ranges(np.zeros(len(number), np.int64), rows)
        return self.piece.program.operands[at].astype(np.int64), np.repeat(number, rows), lane

    def reads(self) -> list[tuple[IntArray, IntArray]]:
        """Local variables that are read, with the numbers of the bundles that do."""
        logic, at_logic, _ = self._operands(Opcode.LOGIC)
        self.demand(((logic[:, 3] >= 0) & (logic[:, 3] < 256)).all(), "a truth table", "8 bits")
        bits, at_bits, _ = self._operands(Opcode.BITS)
        linear, at_linear, _ = self._operands(Opcode.LINEAR)
        terms, at_terms = self._terms(linear, at_linear, self.piece.program.linear_terms)
        codes = terms[:, 1]
        self.demand(
            ((codes >= 0) & (codes < len(self.circuit.dictionary))).all(), "a coefficient of no dictionary"
        )
        return [
            (logic[:, :3].ravel(), np.repeat(at_logic, 3)), (bits[:, 0], at_bits), (terms[:, 0], at_terms),
            self._sum_reads(), *self._row_reads(),
        ]  # fmt: skip

    def _terms(self, ops: IntArray, at: IntArray, table: IntArray) -> tuple[IntArray, IntArray]:
        first, count = ops[:, 0], ops[:, 1]
        inside = (first >= 0) & (count >= 0) & (first + count <= len(table))
        self.demand(inside.all(), "terms outside their table", f"{len(table)} terms")
        return table[ranges(first, count)].astype(np.int64), np.repeat(at, count)

    def _sum_reads(self) -> tuple[IntArray, IntArray]:
        sums, number, _ = self._operands(Opcode.SUM)
        terms, at = self._terms(sums, number, self.piece.program.sum_terms)
        shift, negated = terms[:, 1] & 255, terms[:, 1] >> 8
        self.demand(
            ((shift < 63) & (negated >= 0) & (negated <= 1)).all(), "a term of a sum", "shift 0 to 62"
        )
        which = np.repeat(np.arange(len(sums)), sums[:, 1])
        halves = [np.zeros(len(sums), np.int64) for _ in range(2)]  # a sum of words cannot overflow 64 bits
        np.add.at(halves[0], which, np.where(shift < 32, 1 << (shift & 31), 0))
        np.add.at(halves[1], which, np.where(shift < 32, 0, 1 << (shift & 31)))
        low, high = halves[0] + (sums[:, 2] & 0xFFFFFFFF), halves[1] + (sums[:, 3] & 0xFFFFFFFF)
        self.demand((high + (low >> 32) < _MOST).all(), "a sum may reach 2^63")
        return terms[:, 0], at

    def _row_reads(self) -> list[tuple[IntArray, IntArray]]:
        """The terms of rows that are solved, without the results, which must stand alone in C."""
        piece = self.piece
        ops, number, lane = self._operands(Opcode.SOLVE, Opcode.WIDE)
        row, sign = ops[:, 0], ops[:, 1]
        self.demand(((row >= 0) & (row < piece.num_rows) & (np.abs(sign) == 1)).all(), "a row to be solved")
        slot = self.out[number] + lane
        own = np.where(slot < piece.num_aux, piece.num_bound + slot, piece.num_aux - 2 - slot)
        reads = []
        for side, rows in enumerate(piece.rows):
            first = rows.row_ptr[row].astype(np.int64)
            count = rows.row_ptr[row + 1] - first
            var, code = rows.var[at := ranges(first, count)], rows.coeff[at]
            which = np.repeat(np.arange(len(row)), count)
            is_own = (var == own[which]) & (side == 2)
            if side == 2:
                times = np.bincount(which[is_own], minlength=len(row))
                self.demand((times == 1).all(), "a result does not stand once in C of its row")
                units = _units(self.circuit)[code[is_own]]
                self.demand((units == sign[which[is_own]]).all(), "a result's coefficient is not its sign")
            reads.append((var[~is_own].astype(np.int64), number[which[~is_own]]))
        return reads


def _units(circuit: CompiledCircuit) -> IntArray:
    """1 and -1 where the dictionary has them, else 0. Shape (d,) int64."""
    fr = circuit.curve.fr
    found = np.zeros(len(circuit.dictionary), np.int64)
    for unit in (1, -1):
        value = fr.to_mont(unit % fr.modulus).to_bytes(fr.nbytes, "little")
        found[(circuit.dictionary == np.frombuffer(value, "<u8")).all(axis=1)] = unit
    return found


def _check_instances(circuit: CompiledCircuit, piece: Piece, where: str) -> None:
    at, n = piece.instances, len(piece.instances)
    where = f"{where}, instances"
    for name in ("row_base", "aux_base", "input_base", "hint_base"):
        _check_type(name, getattr(at, name), (n,), np.uint64, where)
    _check_type("bindings", at.bindings, (n, piece.num_bound), np.int32, where)
    _check_type("level", at.level, (n,), np.uint32, where)
    inside = (at.bindings >= -circuit.num_inputs) & (at.bindings < circuit.num_aux)
    _demand(inside.all(), "a binding is no variable of the circuit", where)
    most = circuit.num_hints - piece.num_hints
    _demand(n == 0 or (most >= 0 and bool((at.hint_base <= most).all())), "hints beyond the circuit's", where)


def _check_cover(circuit: CompiledCircuit) -> None:
    """Instances take every row, auxiliary variable and input exactly once."""
    sizes = (circuit.num_rows, circuit.num_variables, circuit.num_hints, circuit.num_inputs)
    if max(sizes) >= 1 << 32 or circuit.num_aux >= _MOST or circuit.num_inputs < 1:
        raise ShapeError(f"rows, variables, hints, inputs: {sizes}", limit="fewer than 2^32", remedy=_REMEDY)
    kinds = (
        ("rows", "row_base", "num_rows", 0, circuit.num_rows),
        ("auxiliary variables", "aux_base", "num_aux", 0, circuit.num_aux),
        ("inputs", "input_base", "num_inputs", 1, circuit.num_inputs),
    )
    for what, base, size, first, end in kinds:
        used = [piece for piece in circuit.pieces if getattr(piece, size) and len(piece.instances)]
        starts = [getattr(piece.instances, base).astype(np.int64) for piece in used]
        lengths = [np.full(len(piece.instances), getattr(piece, size), np.int64) for piece in used]
        start = np.concatenate([*starts, [end]]).astype(np.int64)
        length = np.concatenate([*lengths, [0]]).astype(np.int64)
        order = np.argsort(start, kind="stable")
        expected = first + np.concatenate([[0], np.cumsum(length[order])[:-1]])
        if not np.array_equal(start[order], expected):
            raise ShapeError(f"instances do not take all {what} once each", limit=f"{end}", remedy=_REMEDY)


def _check_levels(circuit: CompiledCircuit) -> None:
    """An instance has a higher level than those that make what its program reads."""
    for base, size, is_aux in (("aux_base", "num_aux", True), ("input_base", "num_inputs", False)):
        making = [piece for piece in circuit.pieces if getattr(piece, size) and len(piece.instances)]
        if not making:
            continue
        start = np.concatenate([getattr(piece.instances, base).astype(np.int64) for piece in making])
        level = np.concatenate([_made_at(piece) for piece in making])
        order = np.argsort(start)
        start, level = start[order], level[order]
        for number, piece in enumerate(circuit.pieces):
            bound = piece.instances.bindings[:, _read_bindings(circuit, piece)].astype(np.int64)
            which, place = np.nonzero(bound >= 0 if is_aux else bound < -1)
            var = bound[which, place]
            maker = np.searchsorted(start, var if is_aux else -1 - var, side="right") - 1
            too_low = level[maker] >= piece.instances.level[which].astype(np.int64)
            _demand(not too_low.any(), "an instance's level is not above its operands'", f"piece {number}")


def _read_bindings(circuit: CompiledCircuit, piece: Piece) -> IntArray:
    """The bound variables that the program reads; rows alone need no order. Shape (k,) int64."""
    read = np.unique(np.concatenate([var for var, _ in _Program(circuit, piece, "").reads()]))
    found: IntArray = read[(read >= 0) & (read < piece.num_bound)]
    return found


def _made_at(piece: Piece) -> IntArray:
    """Level of each instance, -1 where all is given."""
    level = piece.instances.level.astype(np.int64)
    return level if len(piece.program.bundles) else np.full(len(level), -1, np.int64)
