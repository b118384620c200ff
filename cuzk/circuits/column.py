"""The column of a parent as a circuit: a node's labels in all layers, whose hash is a leaf under comm_c."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk.circuits.por import enforce_inclusion
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.template import call_variable_template
from cuzk.synthesis import ConstraintSystem, Variable

__all__ = ["enforce_column", "parent_column"]


def enforce_column(
    cs: ConstraintSystem, labels: Sequence[Variable], comm_c: Variable, arities: Sequence[int]
) -> None:
    """The hash of a column is a leaf under comm_c; the leaf's index becomes a new input.

    Args:
        cs: A system over BLS12-381.
        labels: One in each layer, from layer 1 on.
        comm_c: The root.
        arities: Of each level of the tree, from the leaves up.

    Raises:
        RangeError: No hash of so many labels.
    """
    enforce_inclusion(cs, poseidon_hash, poseidon_hash(cs, labels), comm_c, arities)


@dataclass(frozen=True)
class _ParentColumn:
    """The body of parent_column's template."""

    layers: int
    arities: tuple[int, ...]

    def __call__(self, cs: ConstraintSystem, operands: Sequence[Variable]) -> list[Variable]:
        (comm_c,) = operands
        labels = [cs.alloc() for _ in range(self.layers)]
        enforce_column(cs, labels, comm_c, self.arities)
        return labels


def parent_column(
    cs: ConstraintSystem, comm_c: Variable, layers: int, arities: Sequence[int]
) -> list[Variable]:
    """A parent's labels as new variables, bound to comm_c; arguments and errors as of enforce_column."""
    return call_variable_template(cs, _ParentColumn(layers, tuple(arities)), [comm_c])
