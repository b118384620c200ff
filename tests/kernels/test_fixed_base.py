"""Multiples of one point against the oracle, for every window size of the table.

Would catch: a table entry off by one, a window shifted by a wrong power, a sign taken from the wrong digit, a
chunk that reads its neighbour's scalars, an infinity among the results.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import edge_points, edge_values
from cuzk_oracles import msm as oracle_msm

from cuzk.errors import KernelFault, RangeError, ShapeError
from cuzk.limbs import ints_to_limbs, points_to_ints
from cuzk.ops.fixed_base import FixedBase, fixed_base_mul
from cuzk.ops.plan_msm import plan_fixed_base
from tests.kernels.fr_support import SCHEDULES, open_device
from tests.kernels.msm_support import ALL_GROUPS, Point, Subject, subject

EVERY_DEVICE = ("cpu", "emu")
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)


def multiples(s: Subject, scalars: list[int], base: Point = None) -> list[Point]:
    """The oracle's multiples of a point, the generator where None."""
    base = s.oracle.generator if base is None else base
    table: oracle_msm.FixedBase[Any] = oracle_msm.FixedBase(s.oracle, base, s.curve.fr.bits)
    return [table.mul(k) for k in scalars]


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_edge_scalars(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    scalars = list(dict.fromkeys(k for _, k in edge_values.scalars(s.r, 5)))
    scalars = scalars if device_name == "cpu" else scalars[::4]
    wanted = multiples(s, scalars)
    for c in (2, 5, 8):
        result = fixed_base_mul(device, s.spec, device.upload(s.scalars(scalars)), window_bits=c)
        assert points_to_ints(s.spec, device.download(result)) == wanted, c


@pytest.mark.parametrize("c", range(2, 17))
def test_every_window(c: int) -> None:
    device, s = open_device("cpu"), subject("bn254", "g1")
    scalars = [k for _, k in edge_values.scalars(s.r, c)][::13]
    result = fixed_base_mul(device, s.spec, device.upload(s.scalars(scalars)), window_bits=c)
    assert points_to_ints(s.spec, device.download(result)) == multiples(s, scalars)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_every_size_and_base(device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g2")
    rng = random.Random(1)
    for n in [*range(40), 127, 128, 129, 500]:
        scalars = [rng.randrange(s.r) for _ in range(n)]
        result = fixed_base_mul(device, s.spec, device.upload(s.scalars(scalars)))
        assert result.shape == (n, *s.spec.affine_shape)
        assert points_to_ints(s.spec, device.download(result)) == multiples(s, scalars)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_other_bases(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    scalars = [0, 1, 2, s.r - 1, 12345]
    for name, base in edge_points.points(s.oracle):
        result = fixed_base_mul(
            device, s.spec, device.upload(s.scalars(scalars)), base=s.limbs([base])[0], window_bits=4
        )
        wanted = [oracle_curve.mul(s.oracle, k, base) for k in scalars]
        assert points_to_ints(s.spec, device.download(result)) == wanted, name


@pytest.mark.parametrize("device_name", ["cpu", *SCHEDULES])
def test_chunks(device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g1")
    scalars = [(7 * i + 1) % s.r for i in range(100)]
    wanted = multiples(s, scalars)
    for chunk in (1, 33, 99, 100, 1000) if device_name == "cpu" else (33,):
        plan = plan_fixed_base(100, s.spec, device.limits, window_bits=5, chunk=chunk)
        table = FixedBase(device, s.spec, plan)
        for _ in range(2):  # the table serves any number of calls
            result = table.mul(device.upload(s.scalars(scalars)))
            assert points_to_ints(s.spec, device.download(result)) == wanted


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_refusals(device_name: str) -> None:
    device, s = open_device(device_name), subject("bls12_381", "g1")
    for _, value in edge_values.rejected_scalars(s.r, 4):
        bad = device.upload(ints_to_limbs([1, value], 4))
        with pytest.raises(KernelFault, match="not reduced") as fault:
            device.download(fixed_base_mul(device, s.spec, bad, window_bits=3))
        assert fault.value.index == 1
    good = device.upload(s.scalars([1]))
    with pytest.raises(ShapeError):
        fixed_base_mul(device, s.spec, good[0])
    with pytest.raises(ShapeError):
        fixed_base_mul(device, s.spec, good, base=np.zeros((2, 4), np.uint64))
    for c in (1, 17):
        with pytest.raises(RangeError):
            fixed_base_mul(device, s.spec, good, window_bits=c)
