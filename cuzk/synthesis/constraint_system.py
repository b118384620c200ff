"""The front end in which circuits are written: variables are allocated, rows enforced, both are recorded.

Inputs (public) and auxiliary variables are numbered apart, each in the order of allocation; input 0 is the
constant ONE. One run of a circuit's code records its rows, and, where values are given, computes its witness.
The code must allocate and enforce the same whatever the values are.

A variable is a plain int, so that millions of them cost no objects: auxiliary i is i, input i is -1-i.

>>> from cuzk.curves import get_curve
>>> cs = ConstraintSystem(get_curve("toy"), with_values=True)
>>> out, x = cs.alloc_input(9), cs.alloc(3)
>>> cs.enforce({x: 1}, {x: 1}, {out: 1})                                         # x * x = out
>>> r1cs, witness = cs.r1cs(), cs.witness()
>>> r1cs.num_constraints, r1cs.first_unsatisfied(witness), witness.to_ints()
(1, None, [1, 9, 3])
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, csr_from_indexed
from cuzk.curves import Curve
from cuzk.errors import ShapeError
from cuzk.limbs import fr_from_ints
from cuzk.relation import R1CS
from cuzk.witness import Witness

__all__ = ["ONE", "ConstraintSystem", "LinearCombination", "RowBlock", "Variable"]

Variable: TypeAlias = int

#: Input 0, whose value is 1.
ONE: Variable = -1

_VALUES_REMEDY = "make the constraint system with_values=True and give every variable its value, or hints"
_VARIABLE_REMEDY = "use only variables that this constraint system has allocated"


class LinearCombination(dict[Variable, int]):
    """A sum of coefficient * variable as variable -> coefficient, any ints: they are taken mod r when recorded.

    Equal variables merge. Where no variable can repeat, a plain dict does the same, and faster.
    """

    __slots__ = ()

    def add_term(self, variable: Variable, coefficient: int = 1) -> None:
        """Add coefficient * variable in place."""
        self[variable] = self.get(variable, 0) + coefficient

    def add_scaled(self, other: Mapping[Variable, int], factor: int = 1) -> None:
        """Add factor * other in place."""
        get = self.get
        for variable, coefficient in other.items():
            self[variable] = get(variable, 0) + factor * coefficient


class _Coefficients(dict[int, int]):
    """Coefficient as written (any int) -> its index among the distinct values mod r."""

    __slots__ = ("_modulus", "values_in_order")

    def __init__(self, modulus: int) -> None:
        self._modulus = modulus
        self.values_in_order: list[int] = []

    def __missing__(self, coefficient: int) -> int:
        reduced = coefficient % self._modulus
        if reduced != coefficient:
            index = self[reduced]
        else:
            index = len(self.values_in_order)
            self.values_in_order.append(reduced)
        self[coefficient] = index
        return index


class _Rows:
    """The rows of one matrix as they come: terms one after the other, and the length of each row."""

    __slots__ = ("columns", "indices", "lengths")

    def __init__(self) -> None:
        self.columns = array("i")
        self.indices = array("I")
        self.lengths = array("I")

    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """Variables and indices of all terms, and lengths of rows, copied."""
        return (
            np.array(self.columns, dtype=np.int32),
            np.array(self.indices, dtype=np.uint32),
            np.array(self.lengths, dtype=np.uint32),
        )

    def append(self, variables: IntArray, indices: IntArray, lengths: IntArray) -> None:
        """Add rows given as arrays() gives them."""
        self.columns.frombytes(variables.data.cast("B"))
        self.indices.frombytes(indices.data.cast("B"))
        self.lengths.frombytes(lengths.data.cast("B"))

    def matrix(self, curve: Curve, num_inputs: int, num_aux: int, values: list[int]) -> CsrMatrix:
        """The canonical matrix; its columns are ONE, the other inputs, then the auxiliary variables."""
        variables = np.frombuffer(self.columns, dtype=np.int32) if self.columns else np.zeros(0, np.int32)
        if len(variables) and not -num_inputs <= int(variables.min()) <= int(variables.max()) < num_aux:
            raise ShapeError(
                "a row uses a variable that was never allocated",
                limit=f"{num_inputs} inputs, {num_aux} auxiliary variables",
                remedy=_VARIABLE_REMEDY,
            )
        columns = variables.astype(np.int64)
        return csr_from_indexed(
            curve,
            (len(self.lengths), num_inputs + num_aux),
            np.repeat(np.arange(len(self.lengths), dtype=np.uint32), np.array(self.lengths, dtype=np.int64)),
            np.where(columns < 0, -1 - columns, columns + num_inputs).astype(np.uint32),
            np.array(self.indices, dtype=np.int64),
            fr_from_ints(curve, values),
        )


@dataclass(frozen=True, eq=False)
class RowBlock:
    """The rows of one system, ready to be inserted into another.

    Args:
        sides: For A, B and C: variables (int32) and indices of coefficients (uint32) of all terms, and the number of
            terms of each row (uint32).
        coefficients: The values that the indices stand for.
        num_inputs: Inputs, ONE counted.
        num_aux: Auxiliary variables.
    """

    sides: tuple[tuple[IntArray, IntArray, IntArray], ...]
    coefficients: Sequence[int]
    num_inputs: int
    num_aux: int


class ConstraintSystem:
    """Records a circuit over the scalar field of a curve.

    Args:
        curve: Whose Fr.
        with_values: Whether variables get values; without, the rows alone are recorded.
        hints: Values of the variables that are allocated without one, in order of their allocation; implies
            with_values.
        with_templates: Whether sub-circuits are recorded once and copied; the rows are the same. Never done where
            values are kept.
        templates: What another system has recorded of sub-circuits, to share it.

    Attributes:
        aux: Values of the auxiliary variables, standard form, or None without values.
        inputs: Values of the inputs, ONE first, or None.
        templates: What is recorded of sub-circuits, by whoever inserts them; None where they are not to be.
    """

    __slots__ = (
        "_a",
        "_b",
        "_c",
        "_coefficients",
        "_hints",
        "_index_of",
        "_num_aux",
        "_num_inputs",
        "aux",
        "curve",
        "inputs",
        "templates",
    )

    def __init__(
        self,
        curve: Curve,
        *,
        with_values: bool = False,
        hints: Iterable[int] | None = None,
        with_templates: bool = True,
        templates: dict[object, object] | None = None,
    ) -> None:
        self.curve = curve
        with_values = with_values or hints is not None
        self._hints = iter(() if hints is None else hints)
        self.templates: dict[object, object] | None = None
        if with_templates and not with_values:
            self.templates = {} if templates is None else templates
        self.aux: list[int] | None = [] if with_values else None
        self.inputs: list[int] | None = [1] if with_values else None
        self._num_aux = 0
        self._num_inputs = 1
        self._a, self._b, self._c = _Rows(), _Rows(), _Rows()
        self._coefficients = _Coefficients(curve.r)
        self._index_of = self._coefficients.__getitem__

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
        return len(self._a.lengths)

    def alloc(self, value: int | None = None) -> Variable:
        """A new auxiliary variable.

        Args:
            value: Its value, taken mod r, instead of the next hint; not used where the system keeps no values.

        Raises:
            ShapeError: The system keeps values, none is given and no hint is left.
        """
        variable = self._num_aux
        if self.aux is not None:
            if value is None:
                value = self._next_hint(f"auxiliary variable {variable}")
            self.aux.append(value % self.curve.r)
        self._num_aux = variable + 1
        return variable

    def alloc_input(self, value: int | None = None) -> Variable:
        """A new input; arguments and errors as of alloc."""
        number = self._num_inputs
        if self.inputs is not None:
            if value is None:
                value = self._next_hint(f"input {number}")
            self.inputs.append(value % self.curve.r)
        self._num_inputs = number + 1
        return -1 - number

    def _next_hint(self, what: str) -> int:
        for value in self._hints:
            return value
        raise ShapeError(f"{what} has no value", where="all hints are used", remedy=_VALUES_REMEDY)

    def enforce(
        self, a: Mapping[Variable, int], b: Mapping[Variable, int], c: Mapping[Variable, int]
    ) -> None:
        """Add the row a * b = c; each side is variable -> coefficient. Variables are checked by r1cs()."""
        index_of = self._index_of
        for rows, terms in ((self._a, a), (self._b, b), (self._c, c)):
            rows.columns.extend(terms)
            rows.indices.extend(map(index_of, terms.values()))
            rows.lengths.append(len(terms))

    def block(self) -> RowBlock:
        """All rows so far, as a block for another system."""
        sides = tuple(rows.arrays() for rows in (self._a, self._b, self._c))
        values = tuple(self._coefficients.values_in_order)
        return RowBlock(sides, values, self._num_inputs, self._num_aux)

    def insert(self, block: RowBlock, bindings: Sequence[Variable]) -> int:
        """Append the rows of another system over the same field.

        Args:
            block: Its rows.
            bindings: Variables of this system that stand for the block's first auxiliary ones. Its others, and its
                inputs, become new variables of this system.

        Returns:
            What to add to a variable i >= len(bindings) of the block to get the new variable of this system.

        Raises:
            ShapeError: This system keeps values, or the block has fewer variables than are bound.
        """
        if self.aux is not None or len(bindings) > block.num_aux:
            raise ShapeError(
                "a block of rows cannot be inserted",
                limit=f"a system without values, at most {block.num_aux} variables bound",
                remedy="run the code of the sub-circuit instead",
            )
        shift = self._num_aux - len(bindings)
        inputs = [-self._num_inputs - i for i in reversed(range(1, block.num_inputs))]
        new = np.arange(len(bindings), block.num_aux) + shift
        # The block's variables from -num_inputs to num_aux-1, in this order; ONE stays what it is.
        table = np.concatenate([inputs, [ONE], bindings, new]).astype(np.int32)
        index = np.array([self._index_of(value) for value in block.coefficients], dtype=np.uint32)
        for rows, (variables, indices, lengths) in zip((self._a, self._b, self._c), block.sides, strict=True):
            rows.append(table[variables + block.num_inputs], index[indices], lengths)
        self._num_aux += block.num_aux - len(bindings)
        self._num_inputs += block.num_inputs - 1
        return shift

    def value(self, terms: Mapping[Variable, int]) -> int | None:
        """The value of a linear combination, reduced mod r, or None where the system keeps no values."""
        if self.aux is None or self.inputs is None:
            return None
        aux, inputs = self.aux, self.inputs
        total = sum(factor * (aux[i] if i >= 0 else inputs[-1 - i]) for i, factor in terms.items())
        return total % self.curve.r

    def r1cs(self) -> R1CS:
        """The circuit recorded so far.

        Raises:
            ShapeError: A row uses a variable that was never allocated.
        """
        size = self._num_inputs + self._num_aux
        values = self._coefficients.values_in_order
        a, b, c = (
            rows.matrix(self.curve, self._num_inputs, self._num_aux, values)
            for rows in (self._a, self._b, self._c)
        )
        return R1CS(self.curve, size, self._num_inputs - 1, a, b, c)

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
