"""A circuit as pieces and where they occur: its rows and the program of its witness, without repetition.

A piece is a run of a circuit's code that calls no template; an instance is one place where it occurs, and covers one
run of rows, of auxiliary variables and of inputs. Templates within templates are gone: what remains of them is the
table of instances of each piece.

Variables of a piece ("local" numbers): -1 is ONE; 0 .. num_bound-1 are variables made elsewhere, given by an
instance's bindings; num_bound .. num_bound+num_aux-1 are its own auxiliary variables; -2-j is its own input j.
Variables of the circuit: auxiliary i is i, input i is -1-i.

A program is a sequence of bundles; the lanes of a bundle (operations of one kind) do not depend on each other. The
result of lane i goes to slot ``out + i``: slot s < num_aux is own auxiliary variable s, slot num_aux + j own input j.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from cuzk.csr import IntArray
from cuzk.curves import Curve

__all__ = ["CompiledCircuit", "Instances", "LocalRows", "Opcode", "Piece", "Program"]


class Opcode(IntEnum):
    """What the lanes of a bundle do; operands are local numbers of variables."""

    #: Operands (a, b, c, table): bit a + 2b + 4c of an 8-bit truth table; a, b, c are 0 or 1.
    LOGIC = 1
    #: Operands (first term, terms, constant low, constant high): lane i is bit i of one sum of shifted bits.
    SUM = 2
    #: Operand (variable): lane i is bit i of its standard form.
    BITS = 3
    #: Operands (row, sign): what makes a row of the piece hold, where the result stands alone in C as +1 or -1.
    SOLVE = 4
    #: The same for one row with many terms, which all lanes share.
    WIDE = 5
    #: Operands (first term, terms): a linear combination.
    LINEAR = 6
    #: No operands: lane i is hint number first + i of the instance.
    HINT = 7


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows of one matrix in local variables.

    Args:
        row_ptr: Shape (rows + 1,) uint32.
        var: Shape (terms,) int32. Local numbers, none twice in a row.
        coeff: Shape (terms,) uint32. Index into the circuit's dictionary, never of a zero.
    """

    row_ptr: IntArray
    var: IntArray
    coeff: IntArray


@dataclass(frozen=True, eq=False)
class Program:
    """The witness program of a piece.

    Args:
        bundles: Shape (bundles, 4) int32: opcode, lanes, first operand, first slot of the results.
        operands: Shape (operands, 4) int32, one row per lane (SUM, BITS: one per bundle), filled up with 0.
        sum_terms: Shape (terms, 2) int32: a variable that is 0 or 1, and shift | negated << 8.
        linear_terms: Shape (terms, 2) int32: a variable, and the index of its coefficient.
    """

    bundles: IntArray
    operands: IntArray
    sum_terms: IntArray
    linear_terms: IntArray


@dataclass(frozen=True, eq=False)
class Instances:
    """Where a piece occurs, in the order of its rows.

    Args:
        row_base: Shape (n,) uint64. First row.
        aux_base: Shape (n,) uint64. First own auxiliary variable.
        input_base: Shape (n,) uint64. Number of the first own input; ONE is 0.
        hint_base: Shape (n,) uint64. First hint.
        bindings: Shape (n, num_bound) int32. Variables of the circuit.
        level: Shape (n,) uint32. 0 where hints and given inputs suffice, else 1 + the largest level of an instance
            that makes a bound variable.
    """

    row_base: IntArray
    aux_base: IntArray
    input_base: IntArray
    hint_base: IntArray
    bindings: IntArray
    level: IntArray

    def __len__(self) -> int:
        return len(self.row_base)


@dataclass(frozen=True, eq=False)
class Piece:
    """A run of code that calls no template.

    Args:
        num_bound: Variables made elsewhere.
        num_inputs: Own inputs.
        num_aux: Own auxiliary variables.
        num_hints: Values taken from outside.
        rows: A, B, C.
        program: How its own variables follow.
        instances: Where it occurs.
    """

    num_bound: int
    num_inputs: int
    num_aux: int
    num_hints: int
    rows: tuple[LocalRows, LocalRows, LocalRows]
    program: Program
    instances: Instances

    @property
    def num_rows(self) -> int:
        """Rows of one instance."""
        return len(self.rows[0].row_ptr) - 1


@dataclass(frozen=True, eq=False)
class CompiledCircuit:
    """All of a circuit.

    Args:
        curve: Whose Fr.
        num_inputs: Inputs, ONE counted.
        num_aux: Auxiliary variables.
        num_rows: Rows, without the one per input that provers append.
        num_hints: Values the witness is made of.
        dictionary: Shape (d, limbs) uint64. Form: Montgomery. Coefficients, none twice.
        pieces: In order of their first row.
    """

    curve: Curve
    num_inputs: int
    num_aux: int
    num_rows: int
    num_hints: int
    dictionary: NDArray[np.uint64]
    pieces: tuple[Piece, ...]

    @property
    def num_variables(self) -> int:
        """Length of the witness: ONE, the other inputs, the auxiliary variables."""
        return self.num_inputs + self.num_aux
