"""The whole multi-scalar multiplication: sizes, skew, special points, index lists, plans, refusals.

Would catch: a size at which a warp, a block or a grid is not full, a bucket that holds everything, equal or
opposite points in one bucket, infinity among the bases, an index applied to the wrong array, scratch that a
second call finds dirty, a plan that changes the result, bad input that passes.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import edge_points, edge_values
from cuzk_oracles import msm as oracle_msm

from cuzk.errors import InternalError, KernelFault, OutOfMemoryError, RangeError, ShapeError
from cuzk.limbs import ints_to_limbs
from cuzk.ops.msm import launch_msm, msm
from cuzk.ops.plan_msm import plan_msm
from cuzk.ops.points import infinity
from tests.kernels.fr_support import SCHEDULES, open_device
from tests.kernels.msm_support import ALL_GROUPS, Subject, bases, check_msm, run_msm, subject, window_bytes

EVERY_DEVICE = ("cpu", "emu")
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)


def random_scalars(s: Subject, n: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(s.r) for _ in range(n)]


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_every_small_size_on_the_toy_curve(group_name: str) -> None:
    device, s = open_device("cpu"), subject("toy", group_name)
    logs, limbs = bases(s, 1025, infinity_every=23)
    scalars = random_scalars(s, 1025)
    rest = s.scalars(scalars)
    for n in range(1026):
        result = msm(device, s.spec, device.upload(limbs[:n]), device.upload(rest[:n]))
        assert s.point(result) == s.expected(logs[:n], scalars[:n]), n


@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_every_small_size_on_the_emulator(group_name: str) -> None:
    device, s = open_device("emu"), subject("toy", group_name)
    for n in range(131):
        check_msm(device, s, random_scalars(s, n, n), seed=n)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_edge_sizes(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    for n in sorted({n for _, n in edge_values.sizes(128, 1, 300 if device_name == "cpu" else 66)}):
        check_msm(device, s, random_scalars(s, n, n), seed=n)


@every_group
def test_some_thousand_terms(curve_name: str, group_name: str) -> None:
    device, s = open_device("cpu"), subject(curve_name, group_name)
    for name, scalars in edge_values.scalar_vectors(s.r, 1 << 12, 9, seed=1):
        logs, limbs = bases(s, len(scalars), infinity_every=100)
        assert run_msm(device, s, limbs, scalars) == s.expected(logs, scalars), name


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_the_naive_oracle_agrees(curve_name: str, group_name: str, device_name: str) -> None:
    # The exponent oracle leans on known logarithms; this one takes bases as they come.
    device, s = open_device(device_name), subject(curve_name, group_name)
    points = [p for _, p in edge_points.points(s.oracle)]
    scalars = random_scalars(s, len(points), 3)
    assert run_msm(device, s, s.limbs(points), scalars) == oracle_msm.msm_naive(s.oracle, points, scalars)


# ---------------------------------------------------------------- points and skew


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_special_points_share_a_bucket(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    for name, points in edge_points.cancelling_terms(s.oracle):
        for k in (1, 5, s.r - 1):
            wanted = oracle_curve.mul(s.oracle, k, oracle_curve.total(s.oracle, points))
            assert run_msm(device, s, s.limbs(points), [k] * len(points), window_bits=6) == wanted, (name, k)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_one_point_many_times(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    g = s.oracle.generator
    for n in (2, 3, 70):
        wanted = oracle_curve.mul(s.oracle, n * 12345 % s.r, g)
        assert run_msm(device, s, s.limbs([g] * n), [12345] * n) == wanted
        opposite = [g if i % 2 else oracle_curve.neg(s.oracle, g) for i in range(n)]
        wanted = None if n % 2 == 0 else oracle_curve.neg(s.oracle, oracle_curve.mul(s.oracle, 12345, g))
        assert run_msm(device, s, s.limbs(opposite), [12345] * n) == wanted
    assert run_msm(device, s, s.limbs([None] * 40), [12345] * 40) is None


@pytest.mark.parametrize("device_name", ["cpu", *SCHEDULES])
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_skewed_scalars_under_schedules(group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy" if group_name == "g2" else "bn254", group_name)
    bits = 12
    for name, scalars in edge_values.scalar_vectors(s.r, 200, 5, seed=9, scalar_bits=bits):
        logs, limbs = bases(s, 200, seed=4, infinity_every=30)
        result = run_msm(device, s, limbs, scalars, window_bits=5, scalar_bits=bits)
        assert result == s.expected(logs, scalars), name


# ---------------------------------------------------------------- index lists


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_index_lists(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    rng = random.Random(8)
    logs, limbs = bases(s, 60, seed=8, infinity_every=9)
    scalars = random_scalars(s, 60, 8)
    up = device.upload(limbs)
    for chosen in ([], [59], [0, 1, 2], list(range(60)), [7] * 33, [rng.randrange(60) for _ in range(70)]):
        indices = device.upload(np.array(chosen, np.uint32))
        wanted = s.expected([logs[i] for i in chosen], [scalars[i] for i in chosen])
        result = msm(device, s.spec, up, device.upload(s.scalars(scalars)), indices=indices)
        assert s.point(result) == wanted
        packed = device.upload(s.scalars([scalars[i] for i in chosen]))
        result = msm(device, s.spec, up, packed, indices=indices, gather_scalars=False)
        assert s.point(result) == wanted


# ---------------------------------------------------------------- plans


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_plans_do_not_change_the_result(group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", group_name)
    logs, limbs = bases(s, 150, infinity_every=40)
    scalars = random_scalars(s, 150)
    wanted = s.expected(logs, scalars)
    changes: list[dict[str, Any]] = [
        *({"num_segments": k, "min_segment": 1} for k in (1, 2, 5, 31, 400)),
        *({"min_segment": k} for k in (3, 1000)),
        *({"memory_bytes": window_bytes(150, 3, s.spec) + extra} for extra in (0, 2000)),
        *({"window_bits": c} for c in (2, 9)),
        *({"rounds": k, "chunk": chunk} for k in (0, 1, 2, 7) for chunk in (1, 3, 64)),
    ]
    for options in changes:
        options.setdefault("window_bits", 3)
        plan = plan_msm(150, s.spec, device.limits, **options)
        assert run_msm(device, s, limbs, scalars, plan=plan) == wanted, options
    plan = plan_msm(150, s.spec, device.limits, window_bits=6, rounds=2)
    shapes: list[dict[str, Any]] = [{"wide_grid": 3}, {"windows_per_pass": 2}, {"windows_per_pass": 1}]
    sums: list[dict[str, int]] = [{"pair_grid": 1}, {"pair_grid": 7, "chunk": 2}]
    if device.limits.gpu_like:
        shapes += [{"wide_block": 32}, {"bit_block": 64}]
        sums += [{"point_block": 32, "merge_fan_in": 8}, {"pair_block": 32}]
    else:
        sums += [{"num_segments": 9, "merge_fan_in": 4}]
    for shape in shapes:
        changed = dataclasses.replace(plan, **shape)
        assert run_msm(device, s, limbs, scalars, plan=changed) == wanted, shape
    for shape in sums:
        changed = dataclasses.replace(
            plan,
            buckets=dataclasses.replace(plan.buckets, **shape),
            lines=dataclasses.replace(plan.lines, **shape),
        )
        assert run_msm(device, s, limbs, scalars, plan=changed) == wanted, shape


def test_memory_limit_makes_passes() -> None:
    s = subject("bls12_381", "g1")
    device = open_device("cpu")
    one_window = window_bytes(40, 5, s.spec)
    plan = plan_msm(40, s.spec, device.limits, window_bits=5, memory_bytes=3 * one_window)
    assert 1 <= plan.windows_per_pass <= 3
    logs, limbs = bases(s, 40)
    scalars = random_scalars(s, 40)
    assert run_msm(device, s, limbs, scalars, plan=plan) == s.expected(logs, scalars)
    with pytest.raises(OutOfMemoryError):
        plan_msm(40, s.spec, device.limits, window_bits=5, memory_bytes=one_window - 1)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_repeats_give_the_same_bytes(device_name: str) -> None:
    device, s = open_device(device_name), subject("bls12_381", "g1")
    _, limbs = bases(s, 90)
    up, scalars = device.upload(limbs), device.upload(s.scalars(random_scalars(s, 90)))
    # Three are launched before the first is asked for: scratch of one must not reach another.
    pending = [launch_msm(device, s.spec, up, scalars, window_bits=c) for c in (4, 7, 4)]
    results = [p.result().tobytes() for p in pending] + [msm(device, s.spec, up, scalars).tobytes()]
    assert len(set(results)) == 1
    assert pending[0].result().tobytes() == results[0]


def test_windows_are_combined_on_the_host_device(monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a GPU, whose window sums go to the cpu; the memory images of both are the same.
    device, cpu, s = open_device("emu"), open_device("cpu"), subject("bls12_381", "g2")
    logs, limbs = bases(s, 40, infinity_every=7)
    scalars = random_scalars(s, 40)
    monkeypatch.setattr(type(device), "host", property(lambda _: cpu))
    before = cpu.counters()["launches"]
    assert run_msm(device, s, limbs, scalars, scalar_bits=255) == s.expected(logs, scalars)
    assert cpu.counters()["launches"] == before + 1


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("curve_name", ["toy", "bn254", "bls12_381"])
def test_bad_scalars_and_indices(curve_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, "g1")
    _, limbs = bases(s, 4)
    good = s.scalars([1, 2, 3])
    for _, value in edge_values.rejected_scalars(s.r, s.curve.fr.limbs):
        bad = np.concatenate([good, ints_to_limbs([value], s.curve.fr.limbs)])
        with pytest.raises(KernelFault, match="not reduced"):
            msm(device, s.spec, device.upload(limbs), device.upload(bad))
    with pytest.raises(KernelFault, match="scalar_bits"):
        run_msm(device, s, limbs, [0, 1 << 9, 0, 0], scalar_bits=9)
    outside = device.upload(np.array([4], np.uint32))
    scalars = device.upload(s.scalars([1] * 4))
    for gather in (True, False):
        with pytest.raises(KernelFault, match="index"):
            msm(device, s.spec, device.upload(limbs), scalars[: 4 if gather else 1],
                indices=outside, gather_scalars=gather)  # fmt: skip


def test_bad_shapes_and_parameters() -> None:
    device, s = open_device("cpu"), subject("bn254", "g1")
    _, limbs = bases(s, 4)
    scalars = s.scalars([1] * 4)
    indices = np.zeros(2, np.uint32)
    wrong: list[tuple[Any, Any, dict[str, Any]]] = [
        (limbs[:3], scalars, {}),
        (limbs[0], scalars, {}),
        (limbs.astype(np.int64), scalars, {}),
        (limbs, scalars[:, :3], {}),
        (limbs, scalars.astype(np.float64), {}),
        (limbs, scalars, {"indices": indices.astype(np.int32)}),
        (limbs, scalars, {"indices": indices[:, None]}),
        (limbs, scalars[:2], {"indices": indices}),
        (limbs, scalars, {"indices": indices, "gather_scalars": False}),
        (limbs[:0], scalars[:2], {"indices": indices, "gather_scalars": False}),
        (np.zeros((4, 2, 2, 4), np.uint64), scalars, {}),
    ]
    for base_limbs, scalar_limbs, options in wrong:
        with pytest.raises(ShapeError):
            msm(device, s.spec, base_limbs, scalar_limbs, **options)
    bad_plans: list[dict[str, Any]] = [{"window_bits": 1}, {"window_bits": 25}]
    bad_plans += [{"scalar_bits": 0}, {"scalar_bits": 255}]
    for options in bad_plans:
        with pytest.raises(RangeError):
            msm(device, s.spec, limbs, scalars, **options)
        with pytest.raises(RangeError):
            msm(device, s.spec, limbs[:0], scalars[:0], **options)
    with pytest.raises(InternalError):
        msm(device, s.spec, limbs, scalars, plan=plan_msm(3, s.spec, device.limits))
    assert np.array_equal(msm(device, s.spec, limbs[:0], scalars[:0]), infinity(s.spec))
