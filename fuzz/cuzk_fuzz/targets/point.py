"""The group law: additions, doublings and conversions of single points, in every representation."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import curve as oracle
from cuzk_oracles import edge_points, edge_values

from cuzk.device import Device
from cuzk.limbs import field_from_ints, ints_to_limbs, limbs_to_ints
from cuzk_fuzz.batch import Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import by_class
from cuzk_fuzz.subjects import GROUPS, Point, Subject, subject

#: In the order of PointOpcode in point_ops.cuh.
OPS = ("add", "madd", "dbl", "dbl_affine", "neg", "to_affine", "from_affine", "same", "on_curve")

#: Extended coordinates in standard form.
Xyzz = tuple[Any, Any, Any, Any]


@dataclass(frozen=True)
class Case:
    """Operands of one element: a and b in extended coordinates, q affine (perhaps off the curve)."""

    a: Xyzz
    b: Xyzz
    q: Point


@functools.cache
def _special(name: str) -> dict[str, list[tuple[Xyzz, Xyzz]]]:
    """Class P pairs by id, around several multiples and denominators."""
    s = subject(name)
    return by_class(
        (edge_id, (left, right))
        for k, z in ((5, 3), (7, 11), (23, 2))
        for edge_id, left, right in edge_points.pairs(s.oracle, k, z)
    )


@functools.cache
def _pool(name: str) -> list[Point]:
    """Few enough that equal and opposite points meet often."""
    s = subject(name)
    points: list[Point] = [*s.multiples[1:9], *(oracle.neg(s.oracle, p) for p in s.multiples[1:9]), None]
    if s.outside is not None:
        points += [s.outside, oracle.neg(s.oracle, s.outside), oracle.double(s.oracle, s.outside)]
    return points


@functools.cache
def _denominators(name: str) -> dict[str, list[int]]:
    s = subject(name)
    p = s.spec.fp.modulus
    return {
        k: [v for v in vs if v] or [1]
        for k, vs in by_class(edge_values.field_values(p, s.spec.fp.limbs)).items()
    }


def _draw(choices: Choices, s: Subject) -> Case:
    if not choices.one_in(3):
        a, b = choices.pick_class(_special(s.name))
    else:
        pair = []
        for _ in range(2):
            z: Any = choices.pick_class(_denominators(s.name))
            if s.spec.degree == 2:
                z = (z, choices.pick_class(_denominators(s.name)))
            pair.append(oracle.to_xyzz(s.oracle, choices.pick(_pool(s.name)), z))
        a, b = pair
    q: Point = oracle.from_xyzz(s.oracle, b)
    if q is not None and choices.one_in(8):
        q = (q[0], s.oracle.field.add(q[1], s.oracle.field.lift(1)))
    return Case(a, b, q)


@dataclass(frozen=True, eq=False)
class PointBatch(Batch):
    """Points of one group under one operation.

    A row of answers is a word of findings (0: none) and the affine result, or a truth value.
    """

    target: ClassVar[str] = "point"
    subject: str
    op: str
    cases: tuple[Case, ...]

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """One operation on a few dozen points."""
        s = subject(choices.pick([name for name in GROUPS if f"point_op_{name}" in scope.kernels]))
        op = choices.pick(OPS)
        cases = tuple(_draw(choices, s) for _ in choices.several(64 if scope.small else 128))
        if op in ("madd", "dbl_affine", "from_affine"):  # these take points of the curve
            cases = tuple(replace(c, q=oracle.from_xyzz(s.oracle, c.b)) for c in cases)
        return cls(s.name, op, cases)

    @property
    def num_cases(self) -> int:
        """Points."""
        return len(self.cases)

    @property
    def words_per_element(self) -> int:
        """A base field element."""
        return subject(self.subject).spec.fp.limbs

    def _memory(self, s: Subject, coordinates: list[tuple[Any, ...]]) -> Rows:
        flat = [v for point in coordinates for c in point for v in (c if isinstance(c, tuple) else (c,))]
        return field_from_ints(s.spec.fp, flat).reshape(len(coordinates), -1)

    def answers(self, device: Device) -> Rows:
        """One launch, and its results brought to affine form by the oracle."""
        s = subject(self.subject)
        zero = s.oracle.field.lift(0)
        a, b = (device.upload(self._memory(s, [getattr(c, x) for c in self.cases])) for x in "ab")
        q = device.upload(self._memory(s, [c.q or (zero, zero) for c in self.cases]))
        out = device.alloc(a.shape)
        device.launch(
            f"point_op_{self.subject}", grid=3, block=min(32, device.limits.max_threads),
            a=a, b=b, q=q, dst=out, op=OPS.index(self.op), n=self.num_cases,
        )  # fmt: skip
        raw = np.asarray(device.download(out))
        if self.op in ("same", "on_curve"):
            return raw
        return np.stack(
            [_canonical(s, row, self.op, case) for row, case in zip(raw, self.cases, strict=True)]
        )

    def expected(self) -> Rows:
        """The oracle's affine group law."""
        s = subject(self.subject)
        return np.stack([self._expected_row(s, case) for case in self.cases])

    def _expected_row(self, s: Subject, case: Case) -> Rows:
        group = s.oracle
        if self.op in ("same", "on_curve"):
            if self.op == "same":
                truth = oracle.from_xyzz(group, case.a) == oracle.from_xyzz(group, case.b)
            else:
                truth = oracle.is_on_curve(group, case.q)
            zero, one = group.field.lift(0), group.field.lift(1)
            row: Rows = self._memory(s, [(one if truth else zero, zero, zero, zero)])[0]
            return row
        if self.op in ("dbl_affine", "from_affine"):
            point = case.q if self.op == "from_affine" else oracle.double(group, case.q)
        else:
            a = oracle.from_xyzz(group, case.a)
            if self.op == "add":
                point = oracle.add(group, a, oracle.from_xyzz(group, case.b))
            elif self.op == "madd":
                point = oracle.add(group, a, case.q)
            elif self.op == "dbl":
                point = oracle.double(group, a)
            else:
                point = oracle.neg(group, a) if self.op == "neg" else a
        return np.concatenate([np.zeros(1, np.uint64), s.row(point)])

    def classes(self) -> Counter[str]:
        """Ids of class P of the operands that count."""
        s = subject(self.subject)
        hits: Counter[str] = Counter()
        for case in self.cases:
            hits.update(pair_ids(s, case.a, case.b))
        return hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some points."""
        return replace(self, cases=tuple(self.cases[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Bits set in all coordinates."""
        s = subject(self.subject)
        return (sum(v.bit_count() for case in self.cases for v in _numbers(s, case)),)

    def smaller(self) -> Iterator[Self]:
        """The same points with Z = 1, or other small points in their place."""
        s = subject(self.subject)
        one = s.oracle.field.lift(1)
        plain = [oracle.to_xyzz(s.oracle, p, one) for p in _pool(self.subject)[:4]]
        if self.num_cases != 1:
            return
        (case,) = self.cases
        for x in "ab":
            same = oracle.to_xyzz(s.oracle, oracle.from_xyzz(s.oracle, getattr(case, x)), one)
            for value in (same, *plain):
                changed = replace(case, **{x: value})
                yield replace(self, cases=(replace(changed, q=oracle.from_xyzz(s.oracle, changed.b)),))

    def to_json(self) -> dict[str, Any]:
        """Coordinates in standard form, a (X, Y, ZZ, ZZZ), b, q (x, y; zeros for infinity) per case."""
        s = subject(self.subject)
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "form": "standard",
            "inputs": {"cases": [ints_as_hex(_numbers(s, case)) for case in self.cases]},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        degree = subject(data["subject"]).spec.degree
        cases = []
        for texts in data["inputs"]["cases"]:
            flat = ints_from_hex(texts)
            c: list[Any] = flat if degree == 1 else list(zip(flat[::2], flat[1::2], strict=True))
            q = (c[8], c[9]) if any(flat[8 * degree :]) else None
            cases.append(Case((c[0], c[1], c[2], c[3]), (c[4], c[5], c[6], c[7]), q))
        return cls(data["subject"], data["op"], tuple(cases))


def _numbers(s: Subject, case: Case) -> list[int]:
    zero = s.oracle.field.lift(0)
    coordinates = [*case.a, *case.b, *(case.q or (zero, zero))]
    return [v for c in coordinates for v in (c if isinstance(c, tuple) else (c,))]


def _canonical(s: Subject, raw: Rows, op: str, case: Case) -> Rows:
    """Findings about a result and its affine form: 1 not reduced, 2 ZZ^3 != ZZZ^2, 4 infinity with leftovers.

    And 8: (0, 0) as if it were a point, which in affine form cannot be told from infinity.
    An infinity with leftovers in X and Y must work as an operand.  Nothing may make one; only a sum with infinity and
    a change of sign may hand one back.
    """
    fp, f = s.spec.fp, s.oracle.field
    numbers = limbs_to_ints(raw.reshape(-1, fp.limbs))
    flags = int(any(v >= fp.modulus for v in numbers))
    std = [fp.from_mont(v) for v in numbers]
    c: list[Any] = std if s.spec.degree == 1 else list(zip(std[::2], std[1::2], strict=True))
    x, y, zz, zzz = c
    if zz == f.lift(0):
        handed_in = any(c[2] == f.lift(0) and c[:2] != (c[2], c[2]) for c in (case.a, case.b))
        leftovers = handed_in and op in ("add", "madd", "neg")
        flags |= 4 * (any(std) and not leftovers)
        point: Point = None
    else:
        flags |= 2 * (f.mul(zz, f.mul(zz, zz)) != f.mul(zzz, zzz))
        flags |= 8 * (x == y == f.lift(0))
        point = oracle.from_xyzz(s.oracle, (x, y, zz, zzz))
    return np.concatenate([ints_to_limbs([flags], 1)[0], s.row(point)])


def pair_ids(s: Subject, a: Xyzz, b: Xyzz) -> list[str]:
    """Ids of class P that a pair has."""
    group, f = s.oracle, s.oracle.field
    zero, one, minus_one = f.lift(0), f.lift(1), f.lift(-1)
    inf_a, inf_b = a[2] == zero, b[2] == zero
    ids = []
    if inf_a or inf_b:
        ids.append("P.infinity" if inf_a and inf_b else "P.infinity_left" if inf_a else "P.infinity_right")
    if any(inf and (c[0] != zero or c[1] != zero) for inf, c in ((inf_a, a), (inf_b, b))):
        ids.append("P.infinity_xy")
    finite = [c for inf, c in ((inf_a, a), (inf_b, b)) if not inf]
    if any(c[2] == one and c[3] == one for c in finite):
        ids.append("P.z_one")
    if any(c[2] == one and c[3] == minus_one for c in finite):
        ids.append("P.z_minus_one")
    points = [oracle.from_xyzz(group, c) for c in finite]
    if group.generator in points:
        ids.append("P.generator")
    if any(p is not None and p[0] == zero for p in points):
        ids.append("P.x_zero")
    if s.outside is not None and any(p is not None and p[0] == s.outside[0] for p in points):
        ids.append("P.outside_subgroup")
    if len(points) == 2:
        p, q = points
        ids += [
            name
            for name, holds in (
                ("P.equal", p == q),
                ("P.opposite", p == oracle.neg(group, q)),
                ("P.z_differs", p is not None and q is not None and p[0] == q[0] and a[2] != b[2]),
                ("P.double_of", _is_double(s, p, q) or _is_double(s, q, p)),
            )
            if holds
        ]
    return ids


def _is_double(s: Subject, p: Point, q: Point) -> bool:
    """Whether p = 2q or p = -2q."""
    double = oracle.double(s.oracle, q)
    return double is not None and p is not None and bool(p[0] == double[0])
