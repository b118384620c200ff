"""Random rows with the odd shapes that circuit files have and tidy examples lack."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from enum import Enum

from cuzk_examples.circuit import ONE, Circuit, Row

from cuzk.curves import get_curve
from tests.workloads.workload import Workload


class Feature(Enum):
    """An odd shape that random_r1cs can put in."""

    ZERO_COEFFICIENTS = "entries whose coefficient is 0"
    REPEATED_COLUMNS = "a variable twice in one row; some pairs cancel, some sum to another coefficient"
    EMPTY_ROWS = "rows whose A, B or C is empty, and rows that are empty altogether"
    UNUSED_VARIABLES = "private variables, and one public one where there are two, that stand in no row"
    DENSE_ROW = "one row whose A holds every variable there is so far"
    EDGE_VALUES = "variables and coefficients such as 0, 1, 2, r-1, (r-1)/2 and powers of two at limb borders"


ALL_FEATURES = frozenset(Feature)


class _Generator:
    """State of one call: the circuit so far and where its randomness comes from."""

    def __init__(
        self, modulus: int, num_public: int, seed: int, density: int, features: frozenset[Feature]
    ) -> None:
        self.r = modulus
        self.source = random.Random(seed)
        self.features = features
        self.density = density
        self.circuit = Circuit(modulus, num_public)
        half = (modulus - 1) // 2
        self.edges = [0, 1, 2, modulus - 1, modulus - 2, half, half + 1]
        self.edges += [(1 << bits) % modulus for bits in (32, 63, 64, 128, 192, 250)]
        usual = [1, 1, 1, modulus - 1, 2, 3, 1 << 10]
        self.pool = [c % modulus for c in usual] + [self.source.randrange(1, modulus) for _ in range(57)]
        if Feature.EDGE_VALUES in features:
            self.pool += [edge for edge in self.edges if edge]
        unused_public = Feature.UNUSED_VARIABLES in features and num_public >= 2
        self.used = [ONE, *range(1, num_public + (0 if unused_public else 1))]

    def value(self) -> int:
        """A value for a free variable."""
        if Feature.EDGE_VALUES in self.features and self.source.random() < 0.4:
            return self.source.choice(self.edges)
        return self.source.randrange(self.r)

    def combination(self) -> Row:
        """A random row: 1 to 2*density-1 entries, distinct variables."""
        size = min(self.source.randrange(1, 2 * self.density), len(self.used))
        return [(variable, self.source.choice(self.pool)) for variable in self.source.sample(self.used, size)]

    def spoil(self, row: Row) -> Row:
        """The same linear combination, written less tidily where the features ask for it."""
        draw = self.source.random()
        if Feature.ZERO_COEFFICIENTS in self.features and draw < 0.08:
            absent = self.source.choice(self.used)
            row = [*row, *([(absent, 0)] if all(variable != absent for variable, _ in row) else [])]
        elif Feature.REPEATED_COLUMNS in self.features and draw < 0.16:
            variable, coefficient = self.source.choice(self.used), self.source.choice(self.pool)
            row = [(variable, coefficient), *row, (variable, -coefficient % self.r)]
        elif Feature.REPEATED_COLUMNS in self.features and draw < 0.24 and row:
            variable, coefficient = row[0]
            part = self.source.randrange(self.r)
            row = [*row[1:], (variable, part), (variable, (coefficient - part) % self.r)]
        return row

    def row(self) -> None:
        """One satisfied row of a kind drawn at random."""
        a, b = self.combination(), self.combination()
        circuit = self.circuit
        product = circuit.evaluate(a) * circuit.evaluate(b) % self.r
        if self.source.random() < 0.6:
            out = circuit.variable(product)
            c = [(out, 1)]
        else:
            # No new variable: some others, and what they lack as a multiple of ONE.
            c = [entry for entry in self.combination() if entry[0] != ONE]
            lacking = (product - circuit.evaluate(c)) % self.r
            c = [(ONE, lacking), *c] if lacking else c
            out = None
        circuit.constrain(self.spoil(a), self.spoil(b), self.spoil(c))
        if out is not None:
            self.used.append(out)

    def empty_row(self) -> None:
        """A row of which at least one factor is empty, and C as well."""
        kind = self.source.randrange(3)
        a = self.combination() if kind == 1 else []
        b = self.combination() if kind == 2 else []
        self.circuit.constrain(a, b, [])

    def dense_row(self) -> None:
        """A row with every variable so far in A."""
        a = [(variable, self.source.choice(self.pool)) for variable in self.used]
        self.used.append(self.circuit.multiply(a, [(ONE, 1)]))


def random_r1cs(
    curve: str,
    num_constraints: int,
    *,
    density: int = 3,
    seed: int = 1,
    num_public: int = 1,
    features: Iterable[Feature] = ALL_FEATURES,
) -> Workload:
    """A random satisfied circuit of exactly so many rows.

    Args:
        curve: Name of the curve.
        num_constraints: Rows; 0 is allowed. Features that need a row of their own stay out where none is.
        density: Mean entries of a combination.
        seed: Equal arguments give equal circuits.
        num_public: Public variables, 0 included.
        features: Which odd shapes to put in.
    """
    spec = get_curve(curve)
    chosen = frozenset(features)
    make = _Generator(spec.r, num_public, seed, density, chosen)
    for index in range(1, num_public + 1):
        make.circuit.set_public(index, make.value())
    for i in range(max(4, num_constraints // 8)):
        free = make.circuit.variable(make.value())
        if not (Feature.UNUSED_VARIABLES in chosen and i % 4 == 3):
            make.used.append(free)
    steps: list[Callable[[], None]] = [make.row] * num_constraints
    if Feature.DENSE_ROW in chosen and num_constraints:
        steps[num_constraints // 2] = make.dense_row
    if Feature.EMPTY_ROWS in chosen and num_constraints > 2:
        for i in {0, num_constraints - 1, *range(7, num_constraints, 29)} - {num_constraints // 2}:
            steps[i] = make.empty_row
    for step in steps:
        step()
    return Workload(f"random_r1cs_{num_constraints}", spec, make.circuit)
