"""Circuits written in Python: a constraint system that records rows, and what is known of the result."""

from cuzk.synthesis.constraint_system import ONE, ConstraintSystem, LinearCombination, RowBlock, Variable
from cuzk.synthesis.structure import circuit_hash, circuit_sizes

__all__ = [
    "ONE",
    "ConstraintSystem",
    "LinearCombination",
    "RowBlock",
    "Variable",
    "circuit_hash",
    "circuit_sizes",
]
