"""Plans of the multi-scalar multiplication: invariants that every launch relies on, for all kinds of device.

Would catch: windows that do not cover the scalar, segments or ranges that leave work over, a launch that no
device can make, a pass whose entries or keys overflow 32 bits, a plan that ignores its memory limit.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuzk.curves import GroupSpec, get_curve
from cuzk.device.base import DeviceLimits
from cuzk.errors import OutOfMemoryError, RangeError
from cuzk.ops.plan_msm import (
    MAX_WINDOW_BITS,
    MIN_WINDOW_BITS,
    MsmPlan,
    num_signed_windows,
    plan_fixed_base,
    plan_msm,
    sum_shape,
    wide_shape,
    window_cost,
)
from cuzk.ops.plan_sums import plan_sums, slot_bytes
from tests.kernels.msm_support import window_bytes

LIMITS = {
    "cpu": DeviceLimits(2, 1, 1, 1 << 20, 8 << 30, False),
    "many cores": DeviceLimits(64, 1, 1, 1 << 20, 256 << 30, False),
    "one multiprocessor": DeviceLimits(1, 1024, 32, 48 << 10, 8 << 30, True),
    "small gpu": DeviceLimits(24, 1024, 32, 99 << 10, 6 << 30, True),
    "h200": DeviceLimits(132, 1024, 32, 227 << 10, 139 << 30, True),
}
GROUPS = [getattr(get_curve(c), g) for c in ("toy", "bn254", "bls12_381") for g in ("g1", "g2")]
#: The block sizes that the kernels are compiled for.
MOST_POINT_THREADS, MOST_WIDE_THREADS = 128, 256

sizes = st.one_of(st.integers(1, 300), st.integers(0, 27).map(lambda k: 1 << k), st.integers(1, 1 << 27))


def check(plan: MsmPlan, group: GroupSpec, limits: DeviceLimits, memory: int) -> None:
    c, warp = plan.window_bits, limits.warp
    assert MIN_WINDOW_BITS <= c <= MAX_WINDOW_BITS
    assert plan.num_windows * c > plan.scalar_bits >= (plan.num_windows - 1) * c
    assert 1 <= plan.windows_per_pass <= plan.num_windows
    assert plan.windows_per_pass * plan.n < 2**32
    assert plan.windows_per_pass * plan.buckets_per_window <= 2**31
    windows = plan.windows_per_pass
    assert windows * window_bytes(plan.n, c, group) <= memory
    blocks = [(plan.wide_block, MOST_WIDE_THREADS), (plan.bit_block, MOST_POINT_THREADS)]
    assert plan.buckets.places >= windows * plan.n
    assert plan.buckets.num_keys == windows * plan.buckets_per_window
    assert plan.lines.places == windows * plan.line_places_per_window
    assert plan.lines.num_keys == windows * plan.lines_per_window
    for sums in (plan.buckets, plan.lines):
        blocks += [(sums.point_block, MOST_POINT_THREADS), (sums.pair_block, MOST_POINT_THREADS)]
        assert min(sums.num_segments, sums.min_segment, sums.pair_grid, sums.chunk) >= 1
        assert sums.merge_fan_in >= 2
        assert sums.merge_fan_in & (sums.merge_fan_in - 1) == 0
        assert sums.pair_block * slot_bytes(group) <= limits.shared_bytes
        assert sums.places < 2**31
        for rounds in range(sums.rounds):
            assert sums.left(rounds + 1) <= sums.left(rounds)
    for block, most in blocks:
        assert block % warp == 0
        assert 1 <= block <= min(most, limits.max_threads)
    assert plan.wide_grid >= 1
    assert 0 < plan.low_bits < c
    assert plan.bit_block // warp * group.xyzz_bytes <= limits.shared_bytes


@given(
    n=sizes,
    group=st.sampled_from(GROUPS),
    limits=st.sampled_from(list(LIMITS.values())),
    window_bits=st.none() | st.integers(MIN_WINDOW_BITS, MAX_WINDOW_BITS),
    scalar_bits=st.none() | st.integers(1, 16),
)
def test_invariants(
    n: int, group: GroupSpec, limits: DeviceLimits, window_bits: int | None, scalar_bits: int | None
) -> None:
    try:
        plan = plan_msm(n, group, limits, window_bits=window_bits, scalar_bits=scalar_bits)
    except OutOfMemoryError:
        assert n > 1 << 20 or (window_bits or 0) > 20
        return
    check(plan, group, limits, limits.memory_bytes // 2)
    assert plan.scalar_bits == (scalar_bits or group.curve.fr.bits)
    assert window_bits in (None, plan.window_bits)


@given(n=sizes, group=st.sampled_from(GROUPS), windows=st.integers(1, 40), c=st.integers(2, 12))
def test_memory_limit(n: int, group: GroupSpec, windows: int, c: int) -> None:
    limits = LIMITS["h200"]
    one = window_bytes(n, c, group)
    plan = plan_msm(n, group, limits, window_bits=c, memory_bytes=windows * one)
    check(plan, group, limits, windows * one)
    with pytest.raises(OutOfMemoryError):
        plan_msm(n, group, limits, window_bits=c, memory_bytes=one - 1)


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("group", GROUPS[2:], ids=lambda g: g.full_name)
def test_the_model_picks_its_cheapest_window(name: str, group: GroupSpec) -> None:
    limits, bits = LIMITS[name], group.curve.fr.bits
    before = 0
    for log_n in range(2, 25, 2):
        chosen = plan_msm(1 << log_n, group, limits).window_bits
        cost = window_cost(1 << log_n, bits, chosen, group, limits)
        near = [c for c in (chosen - 1, chosen + 1) if MIN_WINDOW_BITS <= c <= MAX_WINDOW_BITS]
        if log_n <= 18:  # above, memory may forbid the cheapest
            assert all(cost <= window_cost(1 << log_n, bits, c, group, limits) for c in near)
        assert chosen >= before - 1, "windows grow with n"
        before = chosen


def test_gpu_plans_fill_the_device() -> None:
    limits = LIMITS["h200"]
    for group, lanes in ((GROUPS[4], 512), (GROUPS[5], 256)):
        for log_n in (16, 20, 24):
            plan = plan_msm(1 << log_n, group, limits)
            assert plan.buckets.pair_grid * plan.buckets.pair_block == limits.num_sms * lanes
            assert plan.buckets.num_segments >= limits.num_sms * lanes
            assert plan.buckets.num_segments % (limits.num_sms * lanes) == 0
            assert (plan.buckets.rounds > 0) == (log_n > 16 or group.degree == 2), (
                "affine rounds where they pay"
            )


def test_cpu_plans_keep_every_core_busy() -> None:
    for cores in (2, 64):
        limits = DeviceLimits(cores, 1, 1, 1 << 20, 8 << 30, False)
        for n in (1 << 10, 1 << 16):
            plan = plan_msm(n, GROUPS[4], limits)
            assert plan.buckets.num_segments >= 2 * cores
            assert plan.lines.num_segments >= 2 * cores, "a single window is shared out too"
            assert plan.wide_grid >= min(cores, n // 256)


def test_signed_windows_hold_the_last_carry() -> None:
    assert [num_signed_windows(bits, 13) for bits in (12, 13, 25, 26, 64, 65)] == [1, 2, 2, 3, 5, 6]


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS.keys())
def test_shapes(limits: DeviceLimits) -> None:
    for n in (1, 2, 31, 32, 33, 1000, 1 << 20):
        for grid, block in (wide_shape(n, limits), sum_shape(n, GROUPS[0], limits)):
            assert grid >= 1
            assert block % limits.warp == 0
            assert block <= limits.max_threads
            assert grid * block < 2 * max(n, limits.warp) + 256, "no blocks without work"
    if limits.gpu_like:
        assert sum_shape(1 << 20, GROUPS[0], limits, 64)[1] == 64


@given(n=sizes, group=st.sampled_from(GROUPS), limits=st.sampled_from(list(LIMITS.values())))
def test_fixed_base(n: int, group: GroupSpec, limits: DeviceLimits) -> None:
    plan = plan_fixed_base(n, group, limits)
    assert 2 <= plan.window_bits <= 16
    assert plan.num_windows * plan.window_bits > group.curve.fr.bits
    assert (1 << (plan.window_bits - 1)) % plan.run == 0
    assert 1 <= plan.chunk <= n
    with pytest.raises(RangeError):
        plan_fixed_base(n, group, limits, window_bits=17)


@given(
    places=st.integers(1, 1 << 30),
    keys=st.integers(1, 1 << 24),
    group=st.sampled_from(GROUPS),
    limits=st.sampled_from(list(LIMITS.values())),
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=40),
)
def test_no_round_leaves_more_than_planned(
    places: int, keys: int, group: GroupSpec, limits: DeviceLimits, counts: list[int]
) -> None:
    plan = plan_sums(places, keys, group, limits)
    assert plan.rounds == 0 or plan.left(plan.rounds - 1) >= 2 * keys, (
        "rounds stop where keys are nearly single"
    )
    small = plan_sums(max(1, sum(counts)), len(counts), group, limits)
    for done in range(7):
        assert sum(counts) <= small.left(done)
        counts = [-(-count // 2) for count in counts]
