"""Steps of circuits made at random or by hand, and what they give in plain ints."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from cuzk.closures import INDEXERS, Evaluation, Setting, Steps
from cuzk.curves import Curve
from cuzk.limbs import fr_from_ints, fr_to_ints

#: Every combination of A1, A2, A3 and A5.
SETTINGS = [
    Setting(indexer, *flags) for indexer in INDEXERS for flags in itertools.product((False, True), repeat=3)
]

#: The kinds of steps, written out here once more: the file of the tape is no business of the code under test.
TERM, BIT, OPEN, CLOSE = range(4)

#: One step: kind, variable, coefficient.
Step = tuple[int, int, int]
Row = tuple[list[Step], list[Step], list[Step]]


@dataclass
class Expected:
    """What a tape gives, in plain ints."""

    columns: list[list[int]] = field(default_factory=lambda: [[], [], []])
    densities: dict[str, set[int]] = field(
        default_factory=lambda: {"a_aux": set(), "b_inputs": set(), "b_aux": set()}
    )


def assemble(curve: Curve, num_inputs: int, num_variables: int, rows: list[Row]) -> Steps:
    """Steps from plain rows; an auxiliary variable is allocated by the first row that uses it or a later one."""
    coefficients = sorted({c % curve.r for row in rows for side in row for _, _, c in side}) or [0]
    index = {value: i for i, value in enumerate(coefficients)}
    steps = [step for row in rows for side in row for step in side]
    lengths = [len(side) for row in rows for side in row]
    used = [max((v + 1 - num_inputs for side in row for _, v, _ in side), default=0) for row in rows]
    return Steps(
        curve, num_inputs, num_variables,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64) if rows else np.zeros(1, np.uint64),
        np.array([v for _, v, _ in steps], dtype=np.uint32),
        np.array([kind | index[c % curve.r] << 2 for kind, _, c in steps], dtype=np.uint32),
        np.maximum.accumulate(np.maximum(used, 0)).astype(np.uint32) if rows else np.zeros(0, np.uint32),
        fr_from_ints(curve, coefficients),
    )  # fmt: skip


def merged(side: list[Step], r: int) -> dict[int, int]:
    """Variable -> coefficient of one side; a group's terms are scaled by the coefficient that closes it."""
    total: dict[int, int] = defaultdict(int)
    group: dict[int, int] | None = None
    for kind, variable, coefficient in side:
        if kind == OPEN:
            group = defaultdict(int)
        elif kind == CLOSE:
            assert group is not None
            for inner, value in group.items():
                total[inner] += value * coefficient
            group = None
        else:
            (total if group is None else group)[variable] += coefficient
    return {variable: value % r for variable, value in total.items()}


def expected(curve: Curve, num_inputs: int, rows: list[Row], w: list[int]) -> Expected:
    """a, b and c, and the variables with a coefficient other than 0 in A and B."""
    result = Expected()
    for row in rows:
        for i, side in enumerate(row):
            terms = merged(side, curve.r)
            result.columns[i].append(sum(value * w[v] for v, value in terms.items()) % curve.r)
            for variable, value in terms.items():
                name = "inputs" if variable < num_inputs else "aux"
                place = variable if variable < num_inputs else variable - num_inputs
                if value and f"{'abc'[i]}_{name}" in result.densities:
                    result.densities[f"{'abc'[i]}_{name}"].add(place)
    return result


def bits_of(words: np.ndarray) -> set[int]:
    """Places of the bits that are set."""
    return {int(i) for i in np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))}


def first_difference(curve: Curve, done: Evaluation, wanted: Expected) -> str | None:
    """Where a run differs from plain ints: a matrix and row, or a density; None where nowhere."""
    for name, column, ints in zip("abc", (done.a, done.b, done.c), wanted.columns, strict=True):
        found = fr_to_ints(curve, column)
        if len(found) != len(ints):
            return f"{name} has {len(found)} rows"
        for row, (x, y) in enumerate(zip(found, ints, strict=True)):
            if x != y:
                return f"{name}, row {row}"
    for name, places in wanted.densities.items():
        if bits_of(getattr(done, name)) != places:
            return f"density {name}"
    return None


def random_side(rng: random.Random, limit: int, r: int, length: int) -> list[Step]:
    """Terms in any order, with repeats, coefficients of all sorts, and now and then a group or a term that cancels."""
    side: list[Step] = []
    while len(side) < length:
        variable = rng.randrange(limit)
        coefficient = rng.choice([1, 1, 1, -1, 2, 0, rng.randrange(r), 1 << rng.randrange(10)])
        step = (rng.choice([TERM, BIT]), variable, coefficient)
        side.append(step)
        if rng.random() < 0.1:
            side.append((TERM, variable, -coefficient))
        if rng.random() < 0.1:
            inner = [
                (rng.choice([TERM, BIT]), rng.randrange(limit), rng.randrange(4))
                for _ in range(rng.randrange(5))
            ]
            side += [(OPEN, 0, 0), *inner, (CLOSE, 0, rng.randrange(r))]
    return side


def random_rows(seed: int, r: int, num_inputs: int, num_variables: int, count: int) -> list[Row]:
    """Rows of random sides; few long, many short or empty. Later rows may use later variables only."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for i in range(count):
        limit = max(num_inputs, num_variables * (i + 1) // count)
        lengths = [rng.choice([0, 1, 1, 2, 3, 5, 9, 40]) for _ in range(3)]
        a, b, c = (random_side(rng, limit, r, length) for length in lengths)
        rows.append((a, b, c))
    return rows


def random_values(seed: int, r: int, count: int) -> list[int]:
    """ONE, then zeros, ones, and others."""
    rng = random.Random(seed)
    return [1, *(rng.choice([0, 1, r - 1, rng.randrange(r)]) for _ in range(count - 1))]
