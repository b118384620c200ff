"""Sums of selected points against the oracle.

Would catch: a selection skipped or added twice at the edge of a warp, block or grid, a partial sum of a block
that is lost, equal, opposite or infinite points in one tree, an index that is not checked.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import edge_points, edge_values

from cuzk.errors import KernelFault, RangeError, ShapeError
from cuzk.ops.batch_add import batch_add
from tests.kernels.fr_support import SCHEDULES, open_device
from tests.kernels.msm_support import ALL_GROUPS, bases, subject

EVERY_DEVICE = ("cpu", "emu")
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_sizes(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    most = 1030 if device_name == "cpu" or curve_name == "toy" else 520
    for n in sorted({n for _, n in edge_values.sizes(128, 4, most)}):
        logs, limbs = bases(s, n, seed=n, infinity_every=13)
        assert s.point(batch_add(device, s.spec, device.upload(limbs))) == s.expected(logs, [1] * n), n


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_every_small_size(device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g2")
    logs, limbs = bases(s, 300, seed=2)
    up = device.upload(limbs)
    for n in range(301):
        indices = device.upload(np.arange(n, dtype=np.uint32)[::-1].copy())
        assert s.point(batch_add(device, s.spec, up, indices)) == s.expected(logs[:n], [1] * n), n


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_selections(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    rng = random.Random(4)
    logs, limbs = bases(s, 90, seed=4, infinity_every=10)
    up = device.upload(limbs)
    selections = [[], [89], [3] * 70, list(range(0, 90, 2)), [rng.randrange(90) for _ in range(200)]]
    for chosen in selections:
        indices = device.upload(np.array(chosen, np.uint32))
        wanted = s.expected([logs[i] for i in chosen], [1] * len(chosen))
        assert s.point(batch_add(device, s.spec, up, indices)) == wanted


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_special_points(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    lists = [points for _, points in edge_points.cancelling_terms(s.oracle)]
    lists += [[p, p] for _, p in edge_points.points(s.oracle)]
    lists += [[p for _, p in edge_points.points(s.oracle)], [None] * 40, [s.oracle.generator] * 65]
    for points in lists:
        result = s.point(batch_add(device, s.spec, device.upload(s.limbs(points))))
        assert result == oracle_curve.total(s.oracle, points)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (1, 128), (3, 64), (7, 96)])
def test_shapes_under_schedules(blocks: int, threads: int, schedule: str) -> None:
    device, s = open_device(schedule), subject("bn254", "g1")
    logs, limbs = bases(s, 300, seed=5, infinity_every=20)
    result = batch_add(device, s.spec, device.upload(limbs), blocks=blocks, threads=threads)
    assert s.point(result) == s.expected(logs, [1] * 300)


def test_blocks_on_cpu() -> None:
    device, s = open_device("cpu"), subject("bls12_381", "g2")
    logs, limbs = bases(s, 50, seed=6)
    for blocks in (1, 2, 49, 50, 51, 200):
        result = batch_add(device, s.spec, device.upload(limbs), blocks=blocks)
        assert s.point(result) == s.expected(logs, [1] * 50)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_refusals(device_name: str) -> None:
    device, s = open_device(device_name), subject("bn254", "g1")
    _, limbs = bases(s, 4)
    up = device.upload(limbs)
    with pytest.raises(KernelFault, match="index") as fault:
        batch_add(device, s.spec, up, device.upload(np.array([0, 3, 4], np.uint32)))
    assert fault.value.index == 2
    for indices in (np.zeros(2, np.int32), np.zeros((2, 1), np.uint32)):
        with pytest.raises(ShapeError):
            batch_add(device, s.spec, up, device.upload(indices))
    with pytest.raises(ShapeError):
        batch_add(device, s.curve.g2, up)
    for blocks in (0, 1 << 16):
        with pytest.raises(RangeError):
            batch_add(device, s.spec, up, blocks=blocks)


def test_threads_are_whole_warps() -> None:
    device, s = open_device("emu"), subject("toy", "g1")
    _, limbs = bases(s, 4)
    for threads in (0, 16, 33, 160):
        with pytest.raises(RangeError):
            batch_add(device, s.spec, device.upload(limbs), threads=threads)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_rounds_of_affine_additions(group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", group_name)
    logs, limbs = bases(s, 300, seed=5, infinity_every=7)
    up = device.upload(limbs)
    for n, rounds in ((1, 1), (2, 1), (3, 2), (300, 1), (299, 3), (300, 9)):
        picked = np.arange(n, dtype=np.uint32)[::-1].copy()
        wanted = s.expected(logs[:n], [1] * n)
        assert s.point(batch_add(device, s.spec, up[:n], rounds=rounds)) == wanted
        assert s.point(batch_add(device, s.spec, up, device.upload(picked), rounds=rounds)) == wanted
    for bad in (300, 1 << 31):
        with pytest.raises(KernelFault, match="index"):
            batch_add(device, s.spec, up, device.upload(np.array([1, bad, 2], np.uint32)), rounds=1)


def test_more_terms_than_are_added_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuzk.ops.batch_add._CHUNK", 64)
    s = subject("toy", "g1")
    logs, limbs = bases(s, 300, seed=6)
    for name in EVERY_DEVICE:
        device = open_device(name)
        up, all_of_them = device.upload(limbs), device.upload(np.arange(300, dtype=np.uint32))
        for rounds in (0, 2):
            for indices in (None, all_of_them):
                found = batch_add(device, s.spec, up, indices, rounds=rounds)
                assert s.point(found) == s.expected(logs, [1] * 300)
