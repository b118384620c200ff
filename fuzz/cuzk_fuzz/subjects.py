"""Groups and curves of cuzk beside the oracles' idea of them, and pools of points with known logarithms."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import edge_points, msm, params

from cuzk.curves import Curve, GroupSpec, get_curve
from cuzk.limbs import points_from_ints

CURVES = ("toy", "bn254", "bls12_381")
GROUPS = tuple(f"{curve}_{group}" for curve in CURVES for group in ("g1", "g2"))

#: Logarithms of the pool run over -POOL..POOL.
POOL = 70

#: Multiplications of a generator after which its table is made.
_TABLE_AFTER = 40

#: An affine point of the oracles, None for infinity.
Point = Any


@dataclass(frozen=True)
class Term:
    """A base with what is known of it: log * G + outside * T, T a point outside the subgroup.

    At most one of the two is not zero; |log| <= POOL, |outside| <= 1.
    """

    log: int
    outside: int = 0


class Subject:
    """One group.

    Attributes:
        spec: The group in cuzk.
        oracle: The group of the oracles.
        outside: A curve point outside the subgroup, or None where there is none.
    """

    def __init__(self, spec: GroupSpec, oracle: oracle_curve.Group[Any]) -> None:
        self.spec = spec
        self.oracle = oracle
        self.outside: Point = edge_points.outside_subgroup(oracle)
        self._calls = 0

    @property
    def name(self) -> str:
        """Such as "bn254_g1"."""
        return self.spec.full_name

    @property
    def curve(self) -> Curve:
        """The curve in cuzk."""
        return self.spec.curve

    @functools.cached_property
    def multiples(self) -> list[Point]:
        """[0]G .. [POOL]G."""
        return [None, *oracle_curve.multiples(self.oracle, self.oracle.generator, POOL)]

    @functools.cached_property
    def _table(self) -> msm.FixedBase[Any]:
        return msm.FixedBase(self.oracle, self.oracle.generator, self.curve.r.bit_length())

    def times_generator(self, k: int) -> Point:
        """[k]G, by doubling and adding; by a table, which takes a second to make, once it is worth it."""
        self._calls += 1
        if self._calls < _TABLE_AFTER:
            return oracle_curve.mul(self.oracle, k % self.curve.r, self.oracle.generator)
        return self._table.mul(k % self.curve.r)

    def point(self, term: Term) -> Point:
        """The point of a term."""
        if term.outside:
            return self.outside if term.outside > 0 else oracle_curve.neg(self.oracle, self.outside)
        positive = self.multiples[abs(term.log)]
        return positive if term.log >= 0 else oracle_curve.neg(self.oracle, positive)

    def total(self, log: int, outside: int) -> Point:
        """[log]G + [outside]T."""
        known = self.times_generator(log)
        return oracle_curve.add(self.oracle, known, oracle_curve.mul(self.oracle, outside, self.outside))

    @functools.cached_property
    def _limbs(self) -> dict[Term, npt.NDArray[np.uint64]]:
        terms = [Term(t) for t in range(-POOL, POOL + 1)]
        if self.outside is not None:
            terms += [Term(0, 1), Term(0, -1)]
        arrays = points_from_ints(self.spec, [self.point(term) for term in terms])
        return dict(zip(terms, arrays, strict=True))

    def limbs(self, terms: Sequence[Term]) -> npt.NDArray[np.uint64]:
        """Bases. Shape (n, *affine_shape) uint64. Form: affine, Montgomery."""
        result = np.zeros((len(terms), *self.spec.affine_shape), np.uint64)
        for i, term in enumerate(terms):
            result[i] = self._limbs[term]
        return result

    def row(self, point: Point) -> npt.NDArray[np.uint64]:
        """A point as a row of answers."""
        return points_from_ints(self.spec, [point]).reshape(-1)


@functools.cache
def subject(name: str) -> Subject:
    """The group "CURVE_g1" or "CURVE_g2"."""
    curve_name, _, group_name = name.rpartition("_")
    spec: GroupSpec = getattr(get_curve(curve_name), group_name)
    return Subject(spec, getattr(params.get_params(curve_name), group_name))


def term_groups(subject: Subject) -> dict[str, list[Term]]:
    """Terms by what they are, for ``Choices.pick_class``; names are ids of class P where there is one."""
    groups = {
        "P.infinity": [Term(0)],
        "P.generator": [Term(1)],
        "few": [Term(t) for t in (-3, -2, -1, 1, 2, 3)],
        "any": [Term(t) for t in range(-POOL, POOL + 1)],
    }
    if subject.outside is not None:
        groups["P.outside_subgroup"] = [Term(0, 1), Term(0, -1)]
    return groups


def term_hits(subject: Subject, terms: Sequence[Term]) -> dict[str, int]:
    """Ids of class P among bases that are added up in this order (of equal scalars, or of one bucket)."""
    logs = [(term.log, term.outside) for term in terms]
    seen = set(logs) - {(0, 0)}
    running, cancels = (0, 0), 0
    for log, outside in logs:
        before, running = running, (running[0] + log, running[1] + outside)
        cancels += running == (0, 0) and before != (0, 0)
    x_zero = subject.outside is not None and subject.outside[0] == subject.oracle.field.lift(0)
    outside_count = sum(1 for _, u in logs if u)
    return {
        "P.infinity": logs.count((0, 0)),
        "P.generator": logs.count((1, 0)),
        "P.equal": sum(logs.count(key) > 1 for key in seen),
        "P.opposite": sum((-t, -u) in seen for t, u in seen if (t, u) > (0, 0)),
        "P.double_of": sum((2 * t, 0) in seen or (-2 * t, 0) in seen for t, u in seen if not u),
        "P.cancels": cancels,
        "P.outside_subgroup": outside_count,
        "P.x_zero": outside_count if x_zero else 0,
    }
