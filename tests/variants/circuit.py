"""A circuit with scalars of every class, and several witnesses of it that have them in other places."""

from __future__ import annotations

import functools
import random

from cuzk_examples.circuit import Circuit

from cuzk.curves import get_curve
from tests.workloads import Workload

__all__ = ["classes"]

#: Gates read from this many latest values of a class.
_REACH = 40


@functools.cache
def classes(curve: str, num_constraints: int, seed: int) -> Workload:
    """A satisfied circuit, half of whose rows are gates on bits, and half products of full-width values.

    Args:
        curve: Name of the curve.
        num_constraints: Rows, at least 2.
        seed: Of the inputs alone: every seed gives the same rows.
    """
    spec = get_curve(curve)
    shape, inputs = random.Random(1), random.Random(seed)
    circuit = Circuit(spec.r, 1)
    bits = [circuit.variable(inputs.randrange(2)) for _ in range(_REACH)]
    wide = [circuit.variable(inputs.randrange(2, spec.r)) for _ in range(4)]
    minus_one = spec.r - 1
    for row in range(num_constraints):
        into = 1 if row == num_constraints - 1 else None
        if row % 2:
            a, b = (shape.choice(wide[-_REACH:]) for _ in range(2))
            wide.append(circuit.multiply([(a, 1), (shape.choice(bits), 3)], [(b, 1)], into=into))
        else:  # a xor b: -2ab = out - a - b
            a, b = (shape.choice(bits[-_REACH:]) for _ in range(2))
            minus = [(a, minus_one), (b, minus_one)]
            bits.append(circuit.multiply([(a, spec.r - 2)], [(b, 1)], minus=minus, into=into))
    return Workload(f"classes_{num_constraints}_{seed}", spec, circuit)
