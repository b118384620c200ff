"""Circuits written in Python: a constraint system that records pieces and programs, and what is known of the result."""

from cuzk.synthesis.constraint_system import ConstraintSystem
from cuzk.synthesis.recorder import Block
from cuzk.synthesis.structure import circuit_hash, circuit_sizes
from cuzk.synthesis.terms import ONE, LinearCombination, Variable

__all__ = [
    "ONE",
    "Block",
    "ConstraintSystem",
    "LinearCombination",
    "Variable",
    "circuit_hash",
    "circuit_sizes",
]
