"""The front end in which circuits are written: variables are defined, rows enforced, both are recorded.

Inputs (public) and auxiliary variables are numbered apart, each in the order of allocation; input 0 is the
constant ONE. A circuit's code says how each variable follows from others (define_...), or takes it from outside as a
hint (alloc). It is run in one of two modes:

- record: what it says becomes the pieces and the witness programs of a compiled circuit;
- values: it is computed at once with Python's ints. That is slow, simple, and what programs are checked against.

>>> from cuzk.curves import get_curve
>>> def circuit(cs):                                                             # I know x with x * x + 1 = out
...     x = cs.alloc()
...     square = cs.define_product({x: 1}, {x: 1})
...     out = cs.define_linear({square: 1, ONE: 1}, is_input=True)
...     cs.enforce({square: 1, ONE: 1}, {ONE: 1}, {out: 1})
>>> recorded, computed = ConstraintSystem(get_curve("toy")), ConstraintSystem(get_curve("toy"), hints=[3])
>>> circuit(recorded), circuit(computed)
(None, None)
>>> r1cs, witness = recorded.r1cs(), computed.witness()
>>> r1cs.num_constraints, r1cs.first_unsatisfied(witness), witness.to_ints()
(2, None, [1, 10, 3, 9])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from cuzk.curves import Curve
from cuzk.errors import InternalError, ShapeError
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS
from cuzk.synthesis.compiler import compile_circuit
from cuzk.synthesis.expand import expand
from cuzk.synthesis.program import Operations
from cuzk.synthesis.recorder import Block, InstanceTables, Position, Recorder, check_variables
from cuzk.synthesis.terms import ONE, Coefficients, Rows, Variable
from cuzk.witness import Witness

__all__ = ["ConstraintSystem"]

_VALUES_REMEDY = "make the constraint system with_values=True and give every variable its value, or hints"


class ConstraintSystem:
    """Records a circuit over the scalar field of a curve.

    Args:
        curve: Whose Fr.
        with_values: Whether variables get values; without, rows and programs are recorded.
        hints: Values of the variables that are allocated without one, in order of their allocation; implies
            with_values.
        with_templates: Whether sub-circuits are recorded once and copied; the rows are the same. Never done where
            values are kept.

    Attributes:
        aux: Values of the auxiliary variables, standard form, or None without values.
        inputs: Values of the inputs, ONE first, or None.
        templates: What is recorded of sub-circuits, by whoever inserts them; None where they are not to be.
    """

    __slots__ = (
        "_coefficients",
        "_hints",
        "_index_of",
        "_num_aux",
        "_num_bound",
        "_num_hints",
        "_num_inputs",
        "_operations",
        "_recorder",
        "_rows_before",
        "_sides",
        "_start",
        "_tables",
        "aux",
        "curve",
        "inputs",
        "templates",
    )
    aux: list[int] | None
    inputs: list[int] | None
    templates: dict[object, object] | None

    def __init__(
        self,
        curve: Curve,
        *,
        with_values: bool = False,
        hints: Iterable[int] | None = None,
        with_templates: bool = True,
    ) -> None:
        with_values = with_values or hints is not None
        self.curve = curve
        self.aux = [] if with_values else None
        self.inputs = [1] if with_values else None
        self._hints = iter(() if hints is None else hints)
        self._begin(Recorder(curve), 0)
        if with_values or not with_templates:
            self.templates = None

    def _begin(self, recorder: Recorder, num_bound: int) -> None:
        """Nothing is recorded yet; the first variables are bound from outside."""
        self._recorder = recorder
        self.templates = recorder.templates
        self._coefficients: Coefficients = recorder.coefficients
        self._index_of = self._coefficients.__getitem__
        self._num_bound = self._num_aux = num_bound
        self._num_inputs = 1
        self._num_hints = self._rows_before = 0
        self._tables = InstanceTables()
        self._sides, self._operations = (Rows(), Rows(), Rows()), Operations()
        self._start = self.position

    def child(self, num_bound: int) -> ConstraintSystem:
        """A system for a template, which shares what is recorded; its first auxiliary variables are operands."""
        child = ConstraintSystem.__new__(ConstraintSystem)
        child.curve, child.aux, child.inputs, child._hints = self.curve, None, None, iter(())
        child._begin(self._recorder, num_bound)
        return child

    @property
    def num_inputs(self) -> int:
        """Inputs so far, ONE included."""
        return self._num_inputs

    @property
    def num_aux(self) -> int:
        """Auxiliary variables so far."""
        return self._num_aux

    @property
    def num_constraints(self) -> int:
        """Rows so far."""
        return self._rows_before + len(self._sides[0].lengths)

    @property
    def position(self) -> Position:
        """All sizes so far."""
        return Position(self.num_constraints, self._num_aux, self._num_inputs, self._num_hints)

    def alloc(self, value: int | None = None) -> Variable:
        """A new auxiliary variable whose value comes from outside.

        Args:
            value: Its value, taken mod r, instead of the next hint; not used where the system keeps no values.

        Raises:
            ShapeError: The system keeps values, none is given and no hint is left.
        """
        variable = self._num_aux
        self._num_aux = variable + 1
        if self.aux is None:
            self._operations.hint(variable)
            self._num_hints += 1
        else:
            self.aux.append(self._given(value, f"auxiliary variable {variable}"))
        return variable

    def alloc_input(self, value: int | None = None) -> Variable:
        """A new input whose value comes from outside; arguments and errors as of alloc."""
        number = self._num_inputs
        self._num_inputs = number + 1
        if self.inputs is None:
            self._operations.hint(-1 - number)
            self._num_hints += 1
        else:
            self.inputs.append(self._given(value, f"input {number}"))
        return -1 - number

    def _given(self, value: int | None, what: str) -> int:
        """The value of a new variable: the one given, or the next hint."""
        if value is None:
            value = next(self._hints, None)
        if value is None:
            raise ShapeError(f"{what} has no value", where="all hints are used", remedy=_VALUES_REMEDY)
        return value % self.curve.r

    def define_logic(self, table: int, a: Variable, b: Variable = ONE, c: Variable = ONE) -> Variable:
        """A new variable, bit a + 2b + 4c of a truth table of 8 bits. No row is written.

        Args:
            table: Bits, lowest first.
            a: A variable that is 0 or 1, auxiliary or ONE; so are b and c.
            b: The second.
            c: The third.
        """
        variable, aux = self._num_aux, self.aux
        self._num_aux = variable + 1
        if aux is None:
            self._operations.logic(variable, a, b, c, table)
        else:
            place = (a < 0 or aux[a] != 0) + 2 * (b < 0 or aux[b] != 0) + 4 * (c < 0 or aux[c] != 0)
            aux.append(table >> place & 1)
        return variable

    def define_sum(self, terms: Sequence[int], constant: int, count: int) -> Variable:
        """New variables, the bits of a sum of bits and a constant, lowest first. No row is written.

        Args:
            terms: Pairs, one after the other: an auxiliary variable that is 0 or 1, and shift | negated << 8 for
                (variable xor negated) << shift.
            constant: Not negative; the sum stays below 2^63.
            count: Bits, at most 63.

        Returns:
            The first of the variables, which are consecutive.
        """
        if self.aux is None:
            return self._many(count, lambda first: self._operations.sum(first, count, terms, constant))
        pairs = zip(terms[::2], terms[1::2], strict=True)
        total = constant + sum((self.aux[i] ^ how >> 8) << (how & 0xFF) for i, how in pairs)
        return self._append_bits(total, count)

    def define_bits(self, number: Variable, count: int) -> Variable:
        """New variables, the lowest bits of a variable's value, lowest first; as define_sum. No row is written."""
        if self.aux is None:
            return self._many(count, lambda first: self._operations.bits(first, count, number))
        return self._append_bits(self._known({number: 1}), count)

    def define_linear(self, terms: Mapping[Variable, int], *, is_input: bool = False) -> Variable:
        """A new variable, equal to a linear combination. No row is written."""
        if self.aux is not None:
            return self._append(self._known(terms), is_input=is_input)
        out = self._next(is_input=is_input)
        pairs = zip(terms, map(self._index_of, terms.values()), strict=True)
        self._operations.linear(out, pairs)
        return out

    def define_product(
        self,
        a: Mapping[Variable, int],
        b: Mapping[Variable, int],
        rest: Mapping[Variable, int] | None = None,
        *,
        sign: int = 1,
        is_input: bool = False,
    ) -> Variable:
        """A new variable v with the row a * b = rest + sign * v, which says what it is.

        Args:
            a: Linear combination; so are b and rest.
            b: The other factor.
            rest: What else the row has on its right side.
            sign: 1 or -1.
            is_input: Whether v is an input.
        """
        known = rest or {}
        if self.aux is not None:
            value = sign * (self._known(a) * self._known(b) - self._known(known))
            out = self._append(value, is_input=is_input)
        else:
            out = self._next(is_input=is_input)
            num_terms = len(a) + len(b) + len(known) + 1
            self._operations.solve(out, len(self._sides[0].lengths), sign, num_terms)
        self.enforce(a, b, {**known, out: sign})
        return out

    def _next(self, *, is_input: bool) -> Variable:
        """A new variable."""
        if is_input:
            self._num_inputs += 1
            return -self._num_inputs
        self._num_aux += 1
        return self._num_aux - 1

    def _append(self, value: int, *, is_input: bool) -> Variable:
        """A new variable with a value, where values are kept."""
        values = self.inputs if is_input else self.aux
        if values is None:
            raise InternalError("a value in a system without values")
        values.append(value % self.curve.r)
        return self._next(is_input=is_input)

    def _many(self, count: int, write: Callable[[Variable], None]) -> Variable:
        """New auxiliary variables of one operation; the first."""
        first = self._num_aux
        self._num_aux = first + count
        write(first)
        return first

    def _append_bits(self, number: int, count: int) -> Variable:
        """New auxiliary variables with the bits of a number; the first."""
        first = self._num_aux
        for i in range(count):
            self._append(number >> i & 1, is_input=False)
        return first

    def enforce(
        self, a: Mapping[Variable, int], b: Mapping[Variable, int], c: Mapping[Variable, int]
    ) -> None:
        """Add the row a * b = c; each side is variable -> coefficient. Variables are checked by r1cs()."""
        index_of = self._index_of
        for rows, terms in zip(self._sides, (a, b, c), strict=True):
            rows.columns.extend(terms)
            rows.indices.extend(map(index_of, terms.values()))
            rows.lengths.append(len(terms))

    def cut(self) -> None:
        """End a piece here, so that what follows can run before what precedes; rows stay as they are."""
        here = self.position
        if self.aux is not None or here == self._start:
            return
        start = self._start
        number, bindings = self._recorder.piece(self._sides, self._operations, start, here)
        bases = np.array([[start.rows, start.aux, start.inputs, start.hints]], dtype=np.int64)
        self._tables.add(number, bases, bindings[None])
        self._start, self._rows_before = here, here.rows
        self._sides, self._operations = (Rows(), Rows(), Rows()), Operations()

    def block(self) -> Block:
        """All that is recorded so far, for another system.

        Raises:
            ShapeError: The system keeps values, or a row uses a variable that was never allocated.
        """
        if self.aux is not None:
            raise ShapeError("a system that keeps values records no pieces", remedy="make one without values")
        self.cut()
        tables = self._tables.merged()
        check_variables(tables, self.position)
        return Block(self.position, self._num_bound, tables)

    def insert(self, block: Block, operands: Sequence[Variable]) -> tuple[int, int]:
        """Append what another system has recorded.

        Args:
            block: Of a child of this system or of another one with the same recorder.
            operands: Variables of this system, none twice, for those that the block leaves open.

        Returns:
            What to add to an own auxiliary variable of the block, and to one of its inputs, to get that of this system.

        Raises:
            ShapeError: This system keeps values, or there are more or fewer operands than open variables.
        """
        if self.aux is not None or len(operands) != block.num_bound:
            raise ShapeError(
                "a block of rows cannot be inserted",
                limit=f"a system without values, {block.num_bound} operands",
                remedy="run the code of the sub-circuit instead",
            )
        self.cut()
        here, size = self.position, block.end
        self._tables.insert(block, here, operands)
        self._rows_before += size.rows
        self._num_aux += size.aux - block.num_bound
        self._num_inputs += size.inputs - 1
        self._num_hints += size.hints
        self._start = self.position
        return here.aux - block.num_bound, 1 - here.inputs

    def value(self, terms: Mapping[Variable, int]) -> int | None:
        """The value of a linear combination, reduced mod r, or None where the system keeps no values."""
        return None if self.aux is None else self._known(terms) % self.curve.r

    def _known(self, terms: Mapping[Variable, int]) -> int:
        """The value of a linear combination where values are kept, not reduced."""
        aux, inputs = self.aux, self.inputs
        if aux is None or inputs is None:
            raise InternalError("a value in a system without values")
        return sum(factor * (aux[i] if i >= 0 else inputs[-1 - i]) for i, factor in terms.items())

    def compile(self) -> CompiledCircuit:
        """The circuit recorded so far, as pieces and programs.

        Raises:
            ShapeError: The system keeps values; a row uses a variable that was never allocated; a variable is computed
                from one that is allocated after it.
        """
        block = self.block()
        return compile_circuit(self.curve, self._recorder, block.tables, block.end)

    def r1cs(self) -> R1CS:
        """The circuit recorded so far, as matrices; errors as of compile, but values may be kept."""
        if self.aux is None:
            return expand(self.compile())
        values = self._coefficients.values_in_order
        a, b, c = (rows.matrix(self.curve, self._num_inputs, self._num_aux, values) for rows in self._sides)
        return R1CS(self.curve, self._num_inputs + self._num_aux, self._num_inputs - 1, a, b, c)

    def witness(self) -> Witness:
        """The values of all variables, in the order of r1cs().

        Raises:
            ShapeError: The system keeps no values, or hints are left.
        """
        if self.aux is None or self.inputs is None:
            raise ShapeError("a constraint system without values has no witness", remedy=_VALUES_REMEDY)
        for _ in self._hints:
            raise ShapeError(
                "there are more hints than variables that take one",
                where=f"after {self._num_inputs} inputs and {self._num_aux} auxiliary variables",
                remedy="give the hints of this circuit, one per variable allocated without a value",
            )
        return Witness.from_ints(self.curve, self.inputs + self.aux)
