"""Bucket sums, their merging, lines of buckets and sums by bit, each alone, for every way of cutting the entries.

Would catch: a run that is lost or counted twice at a border between segments, a border that lies on a
bucket's edge, a merge that skips a level, a bucket that spans many segments, an empty bucket that is read, a
bucket in a wrong row or column, a line that a bit misses.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import msm as oracle_msm

from cuzk.device import Array, Device
from cuzk.limbs import points_to_ints
from cuzk.ops.msm import combine_windows
from cuzk.ops.plan_msm import plan_msm, wide_shape
from cuzk.ops.points import alloc_xyzz, normalize
from tests.kernels.fr_support import SCHEDULES, open_device
from tests.kernels.keyed_support import Sorted, by_counts, check_buckets, count_patterns
from tests.kernels.msm_support import U64, Subject, bases, subject

EVERY_DEVICE = ("cpu", "emu")


def accumulate(
    device: Device, s: Subject, data: Sorted, segments: int, shortest: int, fan_in: int, block: int
) -> Array:
    """Run msm_accumulate and every level of msm_merge; return the buckets, XYZZ."""
    num_keys = len(data.offsets) - 1
    width = block if device.limits.gpu_like else 1
    common = {
        "offsets": device.upload(data.offsets), "buckets": alloc_xyzz(device, s.spec, num_keys),
        "heads": alloc_xyzz(device, s.spec, segments), "tails": alloc_xyzz(device, s.spec, segments),
        "first_keys": device.alloc((segments,), np.uint32), "last_keys": device.alloc((segments,), np.uint32),
        "num_keys": num_keys, "num_segments": segments, "min_length": shortest,
    }  # fmt: skip
    device.launch(
        f"msm_accumulate_{s.spec.full_name}", grid=-(-segments // width), block=width,
        bases=device.upload(data.base_limbs), entries=device.upload(data.entries), **common,
    )  # fmt: skip
    stride = 1
    while stride < segments:
        device.launch(
            f"msm_merge_{s.spec.full_name}", grid=-(-segments // (stride * fan_in)), block=width,
            stride=stride, fan_in=fan_in, **common,
        )  # fmt: skip
        stride *= fan_in
    return common["buckets"]


CUTS = [
    (1, 1, 2, 32),
    (2, 1, 2, 32),
    (3, 1, 2, 32),
    (64, 1, 64, 32),
    (64, 7, 4, 32),
    (200, 1, 8, 64),
    (33, 16, 2, 32),
]


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("pattern", count_patterns(1, 0))
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_every_cut_gives_the_same_buckets(group_name: str, pattern: str, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", group_name)
    for num_keys in (1, 2, 24):
        data = by_counts(s, count_patterns(num_keys, num_keys)[pattern], seed=num_keys)
        for segments, shortest, fan_in, block in CUTS:
            buckets = accumulate(device, s, data, segments, shortest, fan_in, block)
            check_buckets(device, s, data, buckets)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("pattern", ["all in one", "uniform", "heavy between light"])
def test_merging_under_schedules(pattern: str, schedule: str) -> None:
    device, s = open_device(schedule), subject("bn254", "g1")
    data = by_counts(s, count_patterns(24, 1)[pattern], seed=1)
    for segments, fan_in in ((100, 256), (100, 8)):
        check_buckets(device, s, data, accumulate(device, s, data, segments, 1, fan_in, 64))


def to_xyzz(s: Subject, affine: U64) -> U64:
    """Affine limbs to XYZZ with ZZ = ZZZ = 1; infinity to zeros."""
    one = 1 if s.spec.degree == 1 else (1, 0)
    flat = affine.reshape(len(affine), s.spec.affine_bytes // 8)
    units = np.repeat(s.limbs([(one, one)]).reshape(1, -1), len(flat), axis=0)
    units[~flat.any(axis=1)] = 0
    return np.concatenate([flat, units], axis=1)


@pytest.mark.parametrize("device_name", [*EVERY_DEVICE, "emu:descending:0", "emu:random_warp:4"])
@pytest.mark.parametrize("window_bits", [2, 3, 4, 7, 8])
def test_lines_of_buckets(window_bits: int, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g1")
    windows, low_bits = 3, window_bits // 2
    plan = plan_msm(40, s.spec, device.limits, window_bits=window_bits)
    assert plan.low_bits == low_bits
    entries = device.alloc((windows * plan.line_places_per_window,), np.uint32)
    offsets = device.alloc((windows * plan.lines_per_window + 1,), np.uint32)
    grid, block = wide_shape(int(entries.shape[0]), device.limits)
    device.launch(
        "msm_line_list_toy_fr", grid=grid, block=block, entries=entries, offsets=offsets,
        num_windows=windows, window_bits=window_bits, low_bits=low_bits,
    )  # fmt: skip
    found, starts = device.download(entries).tolist(), device.download(offsets).tolist()
    weights = range(1, plan.buckets_per_window + 1)
    wanted = []
    for window in range(windows):
        first = window * plan.buckets_per_window - 1
        for low in range(1, 1 << low_bits):
            wanted.append([first + v for v in weights if v % (1 << low_bits) == low])
        for high in range(1, (plan.buckets_per_window >> low_bits) + 1):
            wanted.append([first + v for v in weights if v >> low_bits == high])
    assert [found[a:b] for a, b in itertools.pairwise(starts)] == wanted


@pytest.mark.parametrize("device_name", [*EVERY_DEVICE, "emu:descending:0", "emu:random_warp:4"])
@pytest.mark.parametrize("window_bits", [2, 3, 7, 10])
def test_bit_sums(window_bits: int, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g1")
    low_bits, windows = window_bits // 2, 2
    columns, rows = (1 << low_bits) - 1, 1 << (window_bits - 1 - low_bits)
    logs, limbs = bases(s, windows * (columns + rows), seed=window_bits, infinity_every=9)
    bits = alloc_xyzz(device, s.spec, windows * window_bits)
    block = 64 if device.limits.gpu_like else 1
    device.launch(
        "msm_bit_sums_toy_g1", grid=windows * window_bits, block=block, shared_bytes=2 * s.spec.xyzz_bytes,
        lines=device.upload(to_xyzz(s, limbs)), bits=bits, window_bits=window_bits, low_bits=low_bits,
    )  # fmt: skip
    found = points_to_ints(s.spec, device.download(normalize(device, s.spec, bits)))
    for window in range(windows):
        mine = logs[window * (columns + rows) :][: columns + rows]
        for bit in range(window_bits):
            if bit < low_bits:
                total = sum(mine[low - 1] for low in range(1, columns + 1) if low >> bit & 1)
            else:
                high_bit = bit - low_bits
                total = sum(mine[columns + high - 1] for high in range(1, rows + 1) if high >> high_bit & 1)
            wanted = oracle_curve.mul(s.oracle, total % s.r, s.oracle.generator)
            assert found[window * window_bits + bit] == wanted, (window, bit)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("curve_name", ["toy", "bn254", "bls12_381"])
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_horner_over_windows(curve_name: str, group_name: str, device_name: str) -> None:
    device, s = open_device(device_name), subject(curve_name, group_name)
    for windows, parts, c in ((1, 1, 0), (1, 5, 4), (3, 2, 5), (5, 1, 13)):
        logs, limbs = bases(s, windows * parts, seed=windows, infinity_every=4)
        result = combine_windows(device, s.spec, device.upload(to_xyzz(s, limbs)), windows, c)
        weights = [oracle_msm.recompose([0] * (i // parts) + [1], c) for i in range(len(logs))]
        assert s.point(result) == s.expected(logs, weights)
