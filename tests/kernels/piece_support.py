"""Compiled circuits that the tests of their kernels share."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

from cuzk_fuzz.targets.pieces import compiled
from cuzk_oracles import pieces as oracle
from cuzk_oracles import sample_pieces

from cuzk.curves import Curve, get_curve
from cuzk.pieces import CompiledCircuit

__all__ = ["Case", "case", "chain"]


@dataclass(frozen=True)
class Case:
    """A circuit in both forms, hints, given inputs, and what the oracle makes of them."""

    curve: Curve
    plain: oracle.Circuit
    circuit: CompiledCircuit
    hints: list[int]
    inputs: list[int]
    w: list[int]

    def rows(self, side: int) -> list[int]:
        """A w, B w or C w."""
        return oracle.piece_rows(self.plain, side, self.w)

    @property
    def all_inputs(self) -> list[int]:
        """The given inputs, and rubbish for those that programs make."""
        return [*self.inputs, *[7] * (self.plain.num_inputs - 1 - len(self.inputs))]


def _case(curve: Curve, plain: oracle.Circuit, hints: list[int], inputs: list[int]) -> Case:
    return Case(curve, plain, compiled(plain, curve), hints, inputs, oracle.run(plain, hints, inputs))


@functools.cache
def case(
    curve_name: str,
    seed: int,
    counts: tuple[int, ...] = (1, 3, 0, 5),
    *,
    free_rows: bool = True,
    num_given: int = 2,
) -> Case:
    """A random circuit whose hints are 0, 1, r - 1 and uniform."""
    curve, rng = get_curve(curve_name), random.Random(seed)
    sample = sample_pieces.sample_circuit(
        seed, curve.r, counts=counts, free_rows=free_rows, num_given=num_given, size=10
    )
    hints = sample.hints(lambda: rng.choice([0, 1, curve.r - 1, rng.randrange(curve.r)]))
    inputs = [rng.randrange(curve.r) for _ in range(sample.num_given)]
    return _case(curve, sample.circuit, hints, inputs)


@functools.cache
def chain(curve_name: str, length: int, width: int = 1) -> Case:
    """`width` chains of `length` instances that each square what the last one made, from a hint each."""
    curve = get_curve(curve_name)
    source = oracle.Piece(num_aux=width, num_hints=width, bundles=[(oracle.HINT, width, 0, 0)],
                          instances=[oracle.Instance(0, 0, 1, 0, [], 0)])  # fmt: skip
    square = oracle.Piece(
        num_bound=1, num_aux=1, row_ptr=([0, 1], [0, 1], [0, 1]), terms=([(0, 0)], [(0, 0)], [(1, 0)]),
        bundles=[(oracle.SOLVE, 1, 0, 0)], operands=[(0, 1, 0, 0)],
    )  # fmt: skip
    for step in range(length):
        for i in range(width):
            number = step * width + i
            square.instances.append(oracle.Instance(number, width + number, 1, 0, [number], step + 1))
    plain = oracle.Circuit(
        curve.r, 1, width * (length + 1), width * length, width, [1, curve.r - 1], [source, square]
    )
    return _case(curve, plain, list(range(2, width + 2)), [])
