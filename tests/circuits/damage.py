"""Sampled damage to a circuit's rows, and what of it no witness shows."""

from __future__ import annotations

import random
from collections.abc import Sequence

from cuzk.relation import R1CS
from cuzk.synthesis import circuit_hash
from tests.circuits.test_row_mutants import KINDS, SIDES, breaks, is_equivalent, mutant


def survivors(
    r1cs: R1CS, witnesses: Sequence[list[int]], count: int, *, seed: int
) -> list[tuple[str, str, int]]:
    """Damage this many entries, one at a time, and compare.

    Args:
        r1cs: The circuit, over BLS12-381.
        witnesses: Values that satisfy it.
        count: How many times.
        seed: Of the sample.

    Returns:
        Kind, side and row of damage that the hash of the rows does not show, or with which the row still holds for all
        witnesses and still fails for random values.
    """
    rng = random.Random(seed)
    false = [rng.randrange(r1cs.curve.r) for _ in range(r1cs.num_variables)]
    right_hash = circuit_hash(r1cs)
    missed = []
    made = 0
    while made < count:
        kind, side = KINDS[made % len(KINDS)], rng.choice(SIDES)
        row, damaged = mutant(r1cs, kind, side, rng)
        if is_equivalent(r1cs, row, kind, side):
            continue
        made += 1
        assert not any(breaks(r1cs, row, witness) for witness in witnesses)
        is_weaker = breaks(r1cs, row, false) and not breaks(damaged, row, false)
        is_seen = is_weaker or any(breaks(damaged, row, witness) for witness in witnesses)
        if not is_seen or circuit_hash(damaged) == right_hash:
            missed.append((kind, side, row))
    print(f"{count} damaged rows, {count - len(missed)} caught by true or false witnesses and by the hash")
    return missed
