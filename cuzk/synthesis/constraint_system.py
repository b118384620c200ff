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

from cuzk.curves import Curve
from cuzk.errors import InternalError, ShapeError
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS
from cuzk.synthesis.compiler import compile_circuit
from cuzk.synthesis.expand import expand
from cuzk.synthesis.recorder import Recorder
from cuzk.synthesis.recording import Recording
from cuzk.synthesis.terms import ONE, Variable
from cuzk.witness import Witness

__all__ = ["ConstraintSystem"]

_VALUES_REMEDY = "make the constraint system with_values=True and give every variable its value, or hints"


class ConstraintSystem(Recording):
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

    __slots__ = ("_hints", "aux", "inputs")

    def __init__(
        self,
        curve: Curve,
        *,
        with_values: bool = False,
        hints: Iterable[int] | None = None,
        with_templates: bool = True,
    ) -> None:
        with_values = with_values or hints is not None
        super().__init__(curve, Recorder(curve), is_recording=not with_values, with_templates=with_templates)
        self.aux: list[int] | None = [] if with_values else None
        self.inputs: list[int] | None = [1] if with_values else None
        self._hints = iter(() if hints is None else hints)

    def child(self, num_bound: int) -> ConstraintSystem:
        """A system for a template, which shares what is recorded; its first auxiliary variables are operands."""
        child = ConstraintSystem(self.curve)
        Recording.__init__(child, self.curve, self._recorder, num_bound=num_bound)
        return child

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
            a: A variable that is 0 or 1; so are b and c.
            b: The second.
            c: The third.
        """
        variable = self._num_aux
        self._num_aux = variable + 1
        if self.aux is None:
            self._operations.logic(variable, a, b, c, table)
        else:
            place = self._bit(a) + 2 * self._bit(b) + 4 * self._bit(c)
            self.aux.append(table >> place & 1)
        return variable

    def define_sum(self, terms: Sequence[int], constant: int, count: int) -> Variable:
        """New variables, the bits of a sum of bits and a constant, lowest first. No row is written.

        Args:
            terms: Pairs, one after the other: a variable that is 0 or 1, and shift | negated << 8 for
                (variable xor negated) << shift.
            constant: Not negative; the sum stays below 2^63.
            count: Bits, at most 63.

        Returns:
            The first of the variables, which are consecutive.
        """
        if self.aux is None:
            return self._many(count, lambda first: self._operations.sum(first, count, terms, constant))
        pairs = zip(terms[::2], terms[1::2], strict=True)
        total = constant + sum((self._bit(i) ^ how >> 8) << (how & 0xFF) for i, how in pairs)
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

    def value(self, terms: Mapping[Variable, int]) -> int | None:
        """The value of a linear combination, reduced mod r, or None where the system keeps no values."""
        return None if self.aux is None else self._known(terms) % self.curve.r

    def _bit(self, variable: Variable) -> int:
        """0 or 1 as a variable's value is zero or not, where values are kept."""
        values, number = (self.aux, variable) if variable >= 0 else (self.inputs, -1 - variable)
        return int(values is not None and values[number] != 0)

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
        values = self._recorder.coefficients.values_in_order
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
