"""The group law on every device against affine arithmetic on ints.

Faults these catch: a skipped infinity, equal or opposite branch; infinity decided by anything but ZZ; a
formula that forgets a Z; a result that is not fully reduced.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cuzk_oracles import curve as oracle
from cuzk_oracles import edge_points, params

from cuzk.curves import GroupSpec, get_curve
from cuzk.device import Device, get_device
from cuzk.limbs import field_from_ints, limbs_to_ints
from tests.kernels.arithmetic_support import POINT_OPS, launch

CURVE_NAMES = ("toy", "bn254", "bls12_381")
GROUP_NAMES = ("g1", "g2")

U64 = npt.NDArray[np.uint64]
Xyzz = Sequence[Any]


@pytest.fixture(scope="module", params=("cpu", "emu", pytest.param("cuda", marks=pytest.mark.device)))
def device(request: pytest.FixtureRequest) -> Device:
    """Every device."""
    return get_device(request.param)


class Subject:
    """A group of cuzk beside the oracle's, with conversions of XYZZ points to and from memory."""

    def __init__(self, curve_name: str, group_name: str) -> None:
        curve = get_curve(curve_name)
        self.spec: GroupSpec = getattr(curve, group_name)
        self.group: oracle.Group[Any] = getattr(params.get_params(curve_name), group_name)
        self.suffix = f"{curve_name}_{group_name}"

    def limbs(self, coordinates: Sequence[Sequence[Any]], count: int) -> U64:
        """Points of `count` coordinates each. Shape (n, count * degree * limbs)."""
        flat = [
            part for point in coordinates for c in point for part in (c if isinstance(c, tuple) else (c,))
        ]
        return field_from_ints(self.spec.fp, flat).reshape(len(coordinates), -1)

    def affine_limbs(self, points: Sequence[Any]) -> U64:
        """Affine points; infinity is all zero."""
        zero = self.group.field.lift(0)
        return self.limbs([point if point is not None else (zero, zero) for point in points], 2)

    def coordinates(self, array: U64) -> list[tuple[Any, ...]]:
        """XYZZ coordinates in standard form; every number must be below p."""
        fp, degree = self.spec.fp, self.spec.degree
        raw = limbs_to_ints(array.reshape(-1, fp.limbs))
        assert all(value < fp.modulus for value in raw), "a coordinate is not reduced"
        std = [fp.from_mont(value) for value in raw]
        parts = std if degree == 1 else list(zip(std[::2], std[1::2], strict=True))
        return list(zip(*(parts[i::4] for i in range(4)), strict=True))

    def run(
        self, device: Device, op: str, a: Sequence[Xyzz], b: Sequence[Xyzz], q: Sequence[Any]
    ) -> list[Any]:
        """Results of point_op, as XYZZ coordinates in standard form."""
        n = len(a)
        left, right = device.upload(self.limbs(a, 4)), device.upload(self.limbs(b, 4))
        affine, out = device.upload(self.affine_limbs(q)), device.alloc(left.shape)
        opcode = POINT_OPS.index(op)
        launch(device, f"point_op_{self.suffix}", opcode, n, a=left, b=right, q=affine, dst=out)
        return self.coordinates(device.download(out))

    def check_points(self, results: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Results are the wanted affine points, and infinity is all zero."""
        zero = self.group.field.lift(0)
        for i, (result, want) in enumerate(zip(results, wanted, strict=True)):
            if want is None:
                assert result == (zero,) * 4, i
            else:
                x, y, zz, zzz = result
                f = self.group.field
                assert zz != zero, i
                assert f.mul(zz, f.mul(zz, zz)) == f.mul(zzz, zzz), i
                assert oracle.from_xyzz(self.group, (x, y, zz, zzz)) == want, i


@pytest.fixture(scope="module", params=[f"{c}-{g}" for c, g in itertools.product(CURVE_NAMES, GROUP_NAMES)])
def subject(request: pytest.FixtureRequest) -> Subject:
    """Every group."""
    return Subject(*request.param.split("-"))


def random_xyzz(subject: Subject, rng: random.Random, pool: Sequence[Any]) -> Any:
    """A point of the pool with a random Z."""
    group, p = subject.group, subject.spec.fp.modulus
    z = group.field.lift(rng.randrange(1, p))
    if subject.spec.degree == 2:
        z = (rng.randrange(1, p), rng.randrange(p))
    return oracle.to_xyzz(group, rng.choice(pool), z)


def edge_and_random_pairs(subject: Subject, rng: random.Random) -> list[tuple[Any, Any]]:
    """Class P pairs for several k and z, and pairs of a few multiples, so that equal ones are common."""
    group = subject.group
    pairs: list[tuple[Any, Any]] = []
    for k, z in ((5, 3), (7, 11), (23, 2)):
        pairs += [(left, right) for _, left, right in edge_points.pairs(group, k, z)]
    pool = oracle.multiples(group, group.generator, 12)
    pool += [oracle.neg(group, point) for point in pool]
    count = 400 if subject.spec.degree == 1 else 200
    pairs += [(random_xyzz(subject, rng, pool), random_xyzz(subject, rng, pool)) for _ in range(count)]
    return pairs


def test_add_and_mixed_add(device: Device, subject: Subject, rng: random.Random) -> None:
    group = subject.group
    pairs = edge_and_random_pairs(subject, rng)
    a, b = ([pair[i] for pair in pairs] for i in range(2))
    q = [oracle.from_xyzz(group, right) for right in b]
    wanted = [
        oracle.add(group, oracle.from_xyzz(group, left), right) for left, right in zip(a, q, strict=True)
    ]
    subject.check_points(subject.run(device, "add", a, b, q), wanted)
    subject.check_points(subject.run(device, "madd", a, b, q), wanted)


def test_double(device: Device, subject: Subject, rng: random.Random) -> None:
    group = subject.group
    pairs = edge_and_random_pairs(subject, rng)
    a = [left for left, _ in pairs] + [right for _, right in pairs]
    q = [oracle.from_xyzz(group, point) for point in a]
    wanted = [oracle.double(group, point) for point in q]
    subject.check_points(subject.run(device, "dbl", a, a, q), wanted)
    subject.check_points(subject.run(device, "dbl_affine", a, a, q), wanted)


def test_negate_and_convert(device: Device, subject: Subject, rng: random.Random) -> None:
    group, one = subject.group, subject.group.field.lift(1)
    pairs = edge_and_random_pairs(subject, rng)
    a = [point for pair in pairs for point in pair if point[2] != group.field.lift(0)]
    q = [oracle.from_xyzz(group, point) for point in a]
    subject.check_points(subject.run(device, "neg", a, a, q), [oracle.neg(group, point) for point in q])
    for op in ("to_affine", "from_affine"):
        results = subject.run(device, op, a, a, q)
        assert [(x, y) for x, y, _, _ in results] == q
        assert {(zz, zzz) for _, _, zz, zzz in results} == {(one, one)}


def test_infinity_converts_to_all_zero(device: Device, subject: Subject) -> None:
    group = subject.group
    zero = group.field.lift(0)
    left_behind = [point for name, point, _ in edge_points.pairs(group) if name == "P.infinity_xy"][:1]
    a = [(zero,) * 4, *left_behind]
    assert a[1][0] != zero
    q = [None] * len(a)
    for op in ("to_affine", "from_affine"):
        assert subject.run(device, op, a, a, q) == [(zero,) * 4] * len(a)


def test_same_point(device: Device, subject: Subject, rng: random.Random) -> None:
    group, f = subject.group, subject.group.field
    pairs = edge_and_random_pairs(subject, rng)
    a, b = ([pair[i] for pair in pairs] for i in range(2))
    q = [None] * len(a)
    wanted = [oracle.from_xyzz(group, x) == oracle.from_xyzz(group, y) for x, y in pairs]
    assert set(wanted) == {True, False}
    assert [result[0] for result in subject.run(device, "same", a, b, q)] == [f.lift(int(w)) for w in wanted]


def test_on_curve(device: Device, subject: Subject) -> None:
    group, f = subject.group, subject.group.field
    good = [point for _, point in edge_points.points(group)]
    bad = [(point[0], f.add(point[1], f.lift(1))) for point in good if point is not None]
    bad += [(f.add(point[0], f.lift(1)), point[1]) for point in good if point is not None]
    bad = [point for point in bad if not oracle.is_on_curve(group, point)]
    zeros = [(f.lift(0),) * 4] * (len(good) + len(bad))
    results = subject.run(device, "on_curve", zeros, zeros, good + bad)
    assert [r[0] for r in results] == [f.lift(1)] * len(good) + [f.lift(0)] * len(bad)
    assert len(bad) >= len(good)


def test_toy_group(device: Device) -> None:
    """Points all over the group, with varying Z, against fixed ones: logarithms give every sum."""
    subject = Subject("toy", "g1")
    group, r = subject.group, subject.group.r
    multiples = oracle.multiples(group, group.generator, r)
    lefts = range(0, r, 7)
    z = [2 + i % 1000 for i in lefts]
    a = [oracle.to_xyzz(group, multiples[i - 1] if i else None, z_i) for i, z_i in zip(lefts, z, strict=True)]
    for log in (0, 1, r - 1, 2, 12345):
        right = multiples[log - 1] if log else None
        b = [oracle.to_xyzz(group, right, 1 + (i * 31) % 5000) for i in lefts]
        wanted = [multiples[(i + log) % r - 1] if (i + log) % r else None for i in lefts]
        subject.check_points(subject.run(device, "add", a, b, [right] * len(a)), wanted)
        subject.check_points(subject.run(device, "madd", a, b, [right] * len(a)), wanted)


def test_in_place(device: Device) -> None:
    subject = Subject("bn254", "g1")
    group = subject.group
    points = [oracle.to_xyzz(group, oracle.mul(group, k, group.generator), k + 1) for k in range(1, 40)]
    a = device.upload(subject.limbs(points, 4).copy())
    q = device.upload(subject.affine_limbs([None] * len(points)))
    launch(device, "point_op_bn254_g1", POINT_OPS.index("add"), len(points), a=a, b=a, q=q, dst=a)
    wanted = [oracle.mul(group, 2 * k, group.generator) for k in range(1, 40)]
    subject.check_points(subject.coordinates(device.download(a)), wanted)
