"""Random gates over bits: a witness of nothing but zeros and ones, like a hash of bits."""

from __future__ import annotations

import random

from cuzk_examples.circuit import ONE, Circuit

from cuzk.curves import get_curve
from tests.workloads.workload import Workload

# Gates read from this many latest bits, so that every bit is used and the circuit is deep.
_REACH = 96


def bit_circuit(curve: str, num_constraints: int, *, seed: int = 1, num_public: int = 1) -> Workload:
    """A random circuit of exactly so many rows with only 0 and 1 in its witness.

    Three rows in eight check that a value is a bit; the others are gates: and, or, exclusive or, choice. The
    last num_public gates have public outputs.

    Args:
        curve: Name of the curve.
        num_constraints: Rows, at least num_public.
        seed: Where gates and inputs come from.
        num_public: Public outputs, 0 included.
    """
    if num_constraints < num_public:
        raise ValueError(f"{num_public} public outputs need as many rows, not {num_constraints}")
    spec = get_curve(curve)
    source = random.Random(seed)
    circuit = Circuit(spec.r, num_public)
    bits = [circuit.variable(source.randrange(2)) for _ in range(min(_REACH, num_constraints + 3))]
    for i in range(num_constraints):
        remaining = num_constraints - i
        if remaining > num_public and i % 8 in (0, 3, 6):
            checked = bits[-1 - source.randrange(min(8, len(bits)))]
            circuit.constrain([(checked, 1)], [(checked, 1), (ONE, spec.r - 1)], [])
        else:
            into = num_public - remaining + 1 if remaining <= num_public else None
            bits.append(_gate(circuit, source, bits[-_REACH:], into))
    return Workload(f"bit_circuit_{num_constraints}", spec, circuit)


def _gate(circuit: Circuit, source: random.Random, bits: list[int], into: int | None) -> int:
    """One gate on random bits; gives out the variable that holds its output."""
    minus_one = circuit.modulus - 1
    a, b, c = source.choice(bits), source.choice(bits), source.choice(bits)
    kind = source.randrange(4)
    if kind == 0:  # a and b
        return circuit.multiply([(a, 1)], [(b, 1)], into=into)
    if kind == 1:  # a or b: (1 - a)(1 - b) = 1 - out, negated on the left
        not_b = [(ONE, 1), (b, minus_one)]
        return circuit.multiply([(a, 1), (ONE, minus_one)], not_b, minus=[(ONE, minus_one)], into=into)
    if kind == 2:  # a xor b: -2ab = out - a - b
        return circuit.multiply(
            [(a, circuit.modulus - 2)], [(b, 1)], minus=[(a, minus_one), (b, minus_one)], into=into
        )
    # c ? a : b: c(a - b) = out - b
    return circuit.multiply([(c, 1)], [(a, 1), (b, minus_one)], minus=[(b, minus_one)], into=into)
