"""Operations on arrays of points against the oracle: checks, sums, scalar multiplication, normalisation.

Would catch: a point off the curve or outside the subgroup that passes, an index that is not the first bad
one, a coordinate >= p taken mod p, infinity that spoils a shared inversion, a shared operand read as many.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import edge_points, edge_values

from cuzk.errors import KernelFault, NotInSubgroupError, NotOnCurveError, ShapeError
from cuzk.limbs import ints_to_limbs, limbs_to_ints, points_to_ints
from cuzk.ops import points as ops
from tests.kernels.fr_support import open_device
from tests.kernels.msm_support import ALL_GROUPS, Subject, bases, subject

EVERY_DEVICE = ("cpu", "emu")
everywhere = pytest.mark.parametrize(
    ("curve_name", "group_name", "device_name"), [(*g, d) for g in ALL_GROUPS for d in EVERY_DEVICE]
)


def coordinates(limbs: Any) -> list[int]:
    """Every coordinate of an array of points as the integer that its limbs spell."""
    return limbs_to_ints(limbs.reshape(-1, limbs.shape[-1]))


# ---------------------------------------------------------------- checks


@everywhere
def test_points_of_the_curve_pass(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    _, limbs = bases(s, 300, infinity_every=7)
    special = s.limbs([p for _, p in edge_points.points(s.oracle)])
    for array in (limbs[:0], limbs[:1], limbs, special):
        assert ops.first_off_curve(device, s.spec, device.upload(array)) is None
        ops.check_on_curve(device, s.spec, device.upload(array))


@everywhere
def test_the_first_point_off_the_curve(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    _, limbs = bases(s, 200)
    for bad in ([0], [199], [63, 64], [190, 20, 33]):
        array = limbs.copy()
        for i in bad:
            array[i].reshape(-1)[0] ^= np.uint64(1)  # still reduced, or >= p: wrong either way
        assert ops.first_off_curve(device, s.spec, device.upload(array)) == min(bad)
        with pytest.raises(NotOnCurveError, match=rf"h_query\[{min(bad)}\]"):
            ops.check_on_curve(device, s.spec, device.upload(array), "h_query")


@everywhere
def test_a_coordinate_beyond_p_is_no_point(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    limbs = s.spec.fp.limbs
    _, array = bases(s, 3)
    values = coordinates(array)
    for at in range(len(values) // 3):
        raised = list(values)
        raised[at] += s.curve.p  # the same residue
        changed = ints_to_limbs(raised, limbs).reshape(array.shape)
        assert ops.first_off_curve(device, s.spec, device.upload(changed)) == 0
    # (p, p) is the same residue as infinity's coordinates.
    disguised = ints_to_limbs([s.curve.p] * (len(values) // 3), limbs).reshape(1, *s.spec.affine_shape)
    assert ops.first_off_curve(device, s.spec, device.upload(disguised)) == 0


@everywhere
def test_subgroup(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    _, limbs = bases(s, 40, infinity_every=9)
    assert ops.first_outside_subgroup(device, s.spec, device.upload(limbs)) is None
    outside = edge_points.outside_subgroup(s.oracle)
    assert (outside is None) == (s.spec.cofactor == 1)
    if outside is None:
        return
    # The outsider itself, with a subgroup point added, and the part of it that r kills taken away.
    shifted = oracle_curve.add(s.oracle, outside, s.oracle.generator)
    for point in (outside, shifted, oracle_curve.mul(s.oracle, s.r, outside)):
        for at in ([0], [39], [17, 30]):
            array = limbs.copy()
            array[at] = s.limbs([point])[0]
            assert ops.first_outside_subgroup(device, s.spec, device.upload(array)) == min(at)
            with pytest.raises(NotInSubgroupError, match=rf"points\[{min(at)}\]"):
                ops.check_subgroup(device, s.spec, device.upload(array))


# ---------------------------------------------------------------- arithmetic


@everywhere
def test_add(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    pairs = [(oracle_curve.from_xyzz(s.oracle, a), b) for _, a, b in edge_points.mixed_pairs(s.oracle)]
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    wanted = [oracle_curve.add(s.oracle, a, b) for a, b in pairs]
    result = ops.add(device, s.spec, device.upload(s.limbs(left)), device.upload(s.limbs(right)))
    assert points_to_ints(s.spec, device.download(result)) == wanted
    for n in (0, 1, 2):
        result = ops.add(device, s.spec, device.upload(s.limbs(left[:n])), device.upload(s.limbs(right[:n])))
        assert points_to_ints(s.spec, device.download(result)) == wanted[:n]


@everywhere
def test_scalar_mul(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    scalars = list(dict.fromkeys(k for _, k in edge_values.scalars(s.r, 9)))[
        :: 8 if device_name == "cpu" else 40
    ]
    points = [p for _, p in edge_points.points(s.oracle)]
    points = [points[i % len(points)] for i in range(len(scalars))]
    up, k = device.upload(s.limbs(points)), device.upload(s.scalars(scalars))
    wanted = [oracle_curve.mul(s.oracle, k, p) for k, p in zip(scalars, points, strict=True)]
    assert points_to_ints(s.spec, device.download(ops.scalar_mul(device, s.spec, up, k))) == wanted


@everywhere
def test_scalar_mul_shares_a_single_operand(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    scalars, points = [0, 1, 5, s.r - 1, 1 << 9], [p for _, p in edge_points.points(s.oracle)]
    up, k = device.upload(s.limbs(points)), device.upload(s.scalars(scalars))
    result = device.download(ops.scalar_mul(device, s.spec, up[1:2], k))
    assert points_to_ints(s.spec, result) == [oracle_curve.mul(s.oracle, x, points[1]) for x in scalars]
    result = device.download(ops.scalar_mul(device, s.spec, up, k[2:3]))
    assert points_to_ints(s.spec, result) == [oracle_curve.mul(s.oracle, 5, p) for p in points]
    assert ops.scalar_mul(device, s.spec, up[:0], k[:0]).shape[0] == 0
    assert ops.scalar_mul(device, s.spec, up[:0], k[:1]).shape[0] == 0
    assert ops.scalar_mul(device, s.spec, up[:1], k[:0]).shape[0] == 0


def random_xyzz(s: Subject, points: list[Any], rng: random.Random) -> Any:
    """XYZZ limbs of points with random denominators."""
    flat: list[int] = []
    for point in points:
        z = s.oracle.field.lift(0)
        while z == s.oracle.field.lift(0):
            z = (
                rng.randrange(s.curve.p)
                if s.spec.degree == 1
                else (rng.randrange(s.curve.p), rng.randrange(s.curve.p))
            )
        for coordinate in oracle_curve.to_xyzz(s.oracle, point, z):
            flat += [coordinate] if s.spec.degree == 1 else list(coordinate)
    to_mont = s.curve.fp.to_mont
    return ints_to_limbs(map(to_mont, flat), s.spec.fp.limbs).reshape(len(points), s.spec.xyzz_bytes // 8)


@everywhere
def test_normalize(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    rng = random.Random(11)
    _, limbs = bases(s, 130, infinity_every=6)
    points = points_to_ints(s.spec, limbs)
    for n in (0, 1, 2, 31, 32, 33, 130):
        xyzz = device.upload(random_xyzz(s, points[:n], rng))
        result = device.download(ops.normalize(device, s.spec, xyzz))
        assert points_to_ints(s.spec, result) == points[:n]
        assert all(value < s.curve.p for value in coordinates(result))
    all_infinite = device.upload(random_xyzz(s, [None] * 5, rng))
    assert not device.download(ops.normalize(device, s.spec, all_infinite)).any()
    out = ops.alloc_points(device, s.spec, 5)
    assert ops.normalize(device, s.spec, all_infinite, out=out) is out
    assert not device.download(out).any()


@everywhere
def test_infinite_mask(curve_name: str, group_name: str, device_name: str) -> None:
    """1 at infinity alone: a point of which a single limb of any coordinate is set is none."""
    device, s = open_device(device_name), subject(curve_name, group_name)
    _, limbs = bases(s, 300, infinity_every=7)
    words = limbs.reshape(300, -1).shape[1]
    lone = np.zeros((words, words), np.uint64)
    np.fill_diagonal(lone, 1)
    for array in (limbs[:0], limbs[:1], limbs, lone.reshape(-1, *s.spec.affine_shape), np.zeros_like(limbs)):
        mask = device.alloc((len(array),), np.uint8)
        assert ops.infinite_mask(device, s.spec, device.upload(array), mask) is mask
        expected = [int(not point.any()) for point in array]
        assert device.download(mask).tolist() == expected
    for wrong in (np.zeros(2, np.uint8), np.zeros(1, np.int8), np.zeros((1, 1), np.uint8)):
        with pytest.raises(ShapeError, match="out has shape"):
            ops.infinite_mask(device, s.spec, device.upload(limbs[:1]), device.upload(wrong))


# ---------------------------------------------------------------- refusals


def test_refusals() -> None:
    device, s = open_device("cpu"), subject("bls12_381", "g1")
    _, limbs = bases(s, 3)
    scalars = s.scalars([1, 2])
    with pytest.raises(ShapeError, match="same number"):
        ops.add(device, s.spec, limbs, limbs[:2])
    with pytest.raises(ShapeError, match="single one"):
        ops.scalar_mul(device, s.spec, limbs, scalars)
    for wrong in (limbs[0], limbs.astype(np.int64), limbs.reshape(3, 12), limbs[:, :, :4]):
        with pytest.raises(ShapeError):
            ops.first_off_curve(device, s.spec, wrong)
    for group in (s.spec, subject("bn254", "g1").spec):
        with pytest.raises(ShapeError):
            ops.first_outside_subgroup(device, group, limbs.reshape(3, 12))
    with pytest.raises(ShapeError):
        ops.normalize(device, s.spec, limbs)
    xyzz = np.zeros((2, 24), np.uint64)
    with pytest.raises(ShapeError, match="out has 3"):
        ops.normalize(device, s.spec, xyzz, out=limbs)
    for _, value in edge_values.rejected_scalars(s.r, 4):
        with pytest.raises(KernelFault, match="not reduced") as fault:
            ops.scalar_mul(device, s.spec, limbs[:2], ints_to_limbs([0, value], 4))
        assert fault.value.index == 1
