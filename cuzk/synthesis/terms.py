"""Variables, linear combinations of them, and rows as they are written down.

A variable is a plain int, so that millions of them cost no objects: auxiliary i is i, input i is -1-i.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, csr_from_indexed
from cuzk.curves import Curve
from cuzk.errors import ShapeError
from cuzk.limbs import fr_from_ints

__all__ = ["ONE", "Coefficients", "LinearCombination", "Rows", "Variable", "never_allocated", "row_starts"]

Variable: TypeAlias = int

#: Input 0, whose value is 1.
ONE: Variable = -1


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


class Coefficients(dict[int, int]):
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


class Rows:
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
            np.array(self.lengths, dtype=np.int64),
        )

    def matrix(self, curve: Curve, num_inputs: int, num_aux: int, values: list[int]) -> CsrMatrix:
        """The canonical matrix; its columns are ONE, the other inputs, then the auxiliary variables."""
        variables, indices, lengths = self.arrays()
        if len(variables) and not -num_inputs <= int(variables.min()) <= int(variables.max()) < num_aux:
            raise never_allocated(num_inputs, num_aux)
        columns = variables.astype(np.int64)
        return csr_from_indexed(
            curve,
            (len(lengths), num_inputs + num_aux),
            np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths),
            np.where(columns < 0, -1 - columns, columns + num_inputs).astype(np.uint32),
            indices.astype(np.int64),
            fr_from_ints(curve, values),
        )


def row_starts(lengths: IntArray) -> IntArray:
    """Where each row starts, and where the last one ends. Shape (rows + 1,) int64."""
    starts: IntArray = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def never_allocated(num_inputs: int, num_aux: int) -> ShapeError:
    """The error for a row with a variable that does not exist."""
    return ShapeError(
        "a row uses a variable that was never allocated",
        limit=f"{num_inputs} inputs, {num_aux} auxiliary variables",
        remedy="use only variables that this constraint system has allocated",
    )
