"""Regressions of how a multi-scalar multiplication is cut: reports MST-01 to MST-13, each checked as a kind of fault.

Would catch: a size at which a warp, block or grid is partly idle; skew that overflows a bucket's list; lengths that
disagree and are read anyway; bases beyond the scalars' range that leak in; a plan that needs more memory than there is;
an answer that depends on where the input was made; a cliff in cost between neighbouring sizes.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from cuzk_oracles import msm as oracle_msm

from cuzk.device.base import DeviceLimits
from cuzk.errors import OutOfMemoryError, ShapeError
from cuzk.limbs import fr_from_ints, ints_to_limbs
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.fr_vec import to_mont
from cuzk.ops.msm import msm
from cuzk.ops.plan_msm import plan_msm, window_cost
from tests.kernels.fr_support import open_device
from tests.kernels.msm_support import ALL_GROUPS, CURVE_NAMES, Subject, bases, run_msm, subject

DEVICES = ("cpu", "emu")
SIZES = (1, 2, 31, 32, 33, 63, 65, 127, 129, 237, 1023, 1025)
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)
every_device = pytest.mark.parametrize("device_name", DEVICES)


def agree(s: Subject, device_name: str, scalars: list[int], seed: int = 0) -> None:
    """The device's sum over bases with known logarithms is the right one."""
    logs, limbs = bases(s, len(scalars), seed, infinity_every=19)
    assert run_msm(open_device(device_name), s, limbs, scalars) == s.expected(logs, scalars), len(scalars)


@every_device
@every_group
def test_mst_01_sizes_at_which_something_is_not_full(
    curve_name: str, group_name: str, device_name: str
) -> None:
    s, rng = subject(curve_name, group_name), random.Random(1)
    most = 1025 if device_name == "cpu" or curve_name == "toy" else 65
    for n in SIZES:
        if n <= most:
            agree(s, device_name, [rng.randrange(s.r) for _ in range(n)], n)


@pytest.mark.parametrize("curve_name", CURVE_NAMES)
def test_mst_01_against_the_naive_sum(curve_name: str) -> None:
    s, rng = subject(curve_name, "g1"), random.Random(2)
    logs, limbs = bases(s, 33, seed=2)
    scalars = [rng.randrange(s.r) for _ in logs]
    points = [s.point(row) for row in limbs]
    wanted = oracle_msm.msm_naive(s.oracle, points, scalars)
    assert run_msm(open_device("cpu"), s, limbs, scalars) == wanted
    assert run_msm(open_device("emu"), s, limbs, scalars) == wanted


@every_device
@every_group
def test_mst_02_scalars_that_fill_one_bucket(curve_name: str, group_name: str, device_name: str) -> None:
    s, rng = subject(curve_name, group_name), random.Random(3)
    sizes = (1000, 1025) if device_name == "cpu" or curve_name == "toy" else (130,)
    for n in sizes:
        agree(s, device_name, [rng.choice((0, 1, s.r - 1)) for _ in range(n)], n)
        agree(s, device_name, [1 if rng.random() < 0.99 else rng.randrange(s.r) for _ in range(n)], n)
        agree(s, device_name, [12345 % s.r] * n, n)
        agree(s, device_name, [7] * (n - 5) + [1, 2, 3, 4, 5], n)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("curve_name", CURVE_NAMES)
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_mst_03_scalars_as_witnesses_have_them(curve_name: str, group_name: str) -> None:
    s, rng = subject(curve_name, group_name), random.Random(4)

    def value() -> int:
        draw = rng.random()
        if draw < 0.6:
            return 0
        if draw < 0.9:
            return 1
        return rng.randrange(1 << 8) if draw < 0.95 else rng.randrange(s.r)

    for device_name, n in (("cpu", 1 << 12), ("emu", 1 << 12 if curve_name == "toy" else 1 << 7)):
        agree(s, device_name, [value() for _ in range(n)])
        agree(s, device_name, [1] * n)


def least_memory(s: Subject, n: int, window_bits: int) -> int:
    """The fewest bytes with which there is a plan: room for the buckets and lists of one window."""
    limits, low, high = open_device("cpu").limits, 0, 1 << 30

    def fits(memory: int) -> bool:
        try:
            plan_msm(n, s.spec, limits, window_bits=window_bits, memory_bytes=memory)
        except OutOfMemoryError:
            return False
        return True

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    buckets = 1 << (window_bits - 1)
    assert high >= 8 * n + buckets * s.spec.xyzz_bytes, "entries and buckets have to lie somewhere"
    return high


@every_group
def test_mst_05_memory_for_a_few_windows_only(curve_name: str, group_name: str) -> None:
    s, rng = subject(curve_name, group_name), random.Random(5)
    device, n, c = open_device("cpu"), 200, 6
    one_window = least_memory(s, n, c)
    scalars = [rng.randrange(s.r) for _ in range(n)]
    logs, limbs = bases(s, n, seed=5)
    wanted = s.expected(logs, scalars)
    seen = set()
    for memory in (one_window, one_window + 1, 2 * one_window - 1, 2 * one_window, 3 * one_window, 1 << 30):
        plan = plan_msm(n, s.spec, device.limits, window_bits=c, memory_bytes=memory)
        seen.add(plan.windows_per_pass)
        assert run_msm(device, s, limbs, scalars, plan=plan) == wanted, memory
    assert min(seen) == 1 < max(seen)
    for more in (n, n + 1):  # just at the limit, and just above it
        if more == n:
            plan_msm(more, s.spec, device.limits, window_bits=c, memory_bytes=one_window)
        else:
            with pytest.raises(OutOfMemoryError, match="needs"):
                plan_msm(more, s.spec, device.limits, window_bits=c, memory_bytes=one_window)


@every_device
@every_group
def test_mst_06_lengths_that_disagree(curve_name: str, group_name: str, device_name: str) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    for num_bases, num_scalars in ((3, 2), (2, 3), (0, 1), (1, 0)):
        _, limbs = bases(s, num_bases)
        scalars = device.upload(fr_from_ints(s.curve, [1] * num_scalars))
        with pytest.raises(ShapeError, match="bases"):
            msm(device, s.spec, device.upload(limbs), scalars)
    assert run_msm(device, s, bases(s, 0)[1], []) is None


@every_device
@every_group
def test_mst_07_bases_outside_the_range_do_not_count(
    curve_name: str, group_name: str, device_name: str
) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    n, rng = 20, random.Random(7)
    logs, limbs = bases(s, n + 8, seed=7)
    scalars = [rng.randrange(s.r) for _ in range(n)]
    wanted = s.expected(logs[1 : n + 1], scalars)
    garbage = limbs.copy()
    garbage[0] = garbage[n + 1 :] = np.uint64(0x123456789)  # no points at all
    whole = device.upload(garbage)
    uploaded = device.upload(s.scalars(scalars))
    assert s.point(msm(device, s.spec, whole[1 : n + 1], uploaded)) == wanted
    indices = device.upload(np.arange(1, n + 1, dtype=np.uint32))
    found = msm(device, s.spec, whole, uploaded, indices=indices, gather_scalars=False)
    assert s.point(found) == wanted
    skipped = device.upload(s.scalars([5, *scalars, *[9] * 7]))
    assert s.point(msm(device, s.spec, whole, skipped, indices=indices)) == wanted


@every_group
def test_mst_09_wide_windows_and_small_machines(curve_name: str, group_name: str) -> None:
    s, rng = subject(curve_name, group_name), random.Random(9)
    small = DeviceLimits(1, 1, 1, 1 << 20, 4 << 20, gpu_like=False)
    gpu = DeviceLimits(1, 32, 32, 16 << 10, 4 << 20, gpu_like=True)
    n = 50
    logs, limbs = bases(s, n, seed=9)
    scalars = [rng.randrange(s.r) for _ in range(n)]
    for limits, device_name in ((small, "cpu"), (gpu, "emu")):
        plan = plan_msm(n, s.spec, limits)
        windows = plan.windows_per_pass
        used = windows * (8 * n + plan.buckets_per_window * (s.spec.xyzz_bytes + 4))
        assert used <= limits.memory_bytes
        assert run_msm(open_device(device_name), s, limbs, scalars, plan=plan) == s.expected(logs, scalars)
        with pytest.raises(OutOfMemoryError, match="window"):
            plan_msm(n, s.spec, limits, window_bits=24)


@every_device
@pytest.mark.parametrize("standard_scalars", [False, True])
@pytest.mark.parametrize("made_on_device", [False, True])
@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize("curve_name", CURVE_NAMES)
def test_mst_11_one_answer_wherever_the_input_comes_from(
    curve_name: str, group_name: str, made_on_device: bool, standard_scalars: bool, device_name: str
) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    rng = random.Random(11)
    logs = [rng.randrange(1, 1000) for _ in range(12)]
    scalars = [rng.randrange(s.r) for _ in logs]
    if made_on_device:
        points = fixed_base_mul(device, s.spec, device.upload(s.scalars(logs)))
    else:
        points = device.upload(s.limbs([oracle_msm.msm_by_exponents(s.oracle, [t], [1]) for t in logs]))
    if standard_scalars:
        uploaded = to_mont(device, s.curve, device.upload(ints_to_limbs(scalars, s.curve.fr.limbs)))
    else:
        uploaded = device.upload(s.scalars(scalars))
    assert s.point(msm(device, s.spec, points, uploaded)) == s.expected(logs, scalars)


@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_mst_13_no_cliff_between_small_sizes(group_name: str) -> None:
    """Neighbouring sizes cost about the same by the plan's own account, on every kind of machine; all are right."""
    s, rng = subject("bn254", group_name), random.Random(13)
    h200 = DeviceLimits(132, 1024, 32, 227 << 10, 139 << 30, gpu_like=True)
    for limits in (open_device("cpu").limits, open_device("emu").limits, h200):
        plans = [plan_msm(n, s.spec, limits) for n in range(1, 33)]
        costs = [window_cost(plan.n, 254, plan.window_bits, s.spec, limits) for plan in plans]
        for smaller, larger in itertools.pairwise(costs):
            assert smaller <= 1.01 * larger
            assert larger <= 3 * smaller
    for n in range(1, 33):
        agree(s, "cpu", [rng.randrange(s.r) for _ in range(n)], n)
    for window_bits in (2, 3):  # many windows for few terms
        for name in DEVICES:
            logs, limbs = bases(s, 4, seed=4)
            scalars = [rng.randrange(s.r) for _ in range(4)]
            found = run_msm(open_device(name), s, limbs, scalars, window_bits=window_bits)
            assert found == s.expected(logs, scalars)
