"""A circuit with the witness that hints make, in the plain Python of the front end."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cuzk.curves import get_curve
from cuzk.relation import R1CS
from cuzk.synthesis import ConstraintSystem
from cuzk.witness import Witness


def with_hints(
    record: Callable[[ConstraintSystem], object], hints: Iterable[int]
) -> tuple[list[int], R1CS, Witness]:
    """The public inputs without ONE, the rows, the witness."""
    cs = ConstraintSystem(get_curve("bls12_381"), hints=hints)
    record(cs)
    assert cs.inputs is not None
    return cs.inputs[1:], cs.r1cs(), cs.witness()
