"""Bucket sums, their merging and their weighted sum, each alone, for every way of cutting the entries.

Would catch: a run that is lost or counted twice at a border between segments, a border that lies on a
bucket's edge, a merge that skips a level, a bucket that spans many segments, an empty bucket that is read, a
range that starts at a wrong weight, a gap of empty buckets that is walked too far.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import msm as oracle_msm

from cuzk.device import Array, Device
from cuzk.ops.msm import combine_windows
from cuzk.ops.points import alloc_xyzz, normalize
from tests.kernels.fr_support import SCHEDULES, open_device
from tests.kernels.msm_support import U64, Point, Subject, bases, subject

SIGN = 1 << 31
EVERY_DEVICE = ("cpu", "emu")


@dataclass
class Sorted:
    """A sorted list of points by bucket, and what its buckets must hold."""

    logs: list[int]
    base_limbs: np.ndarray
    entries: np.ndarray
    offsets: np.ndarray

    @property
    def bucket_logs(self) -> list[int]:
        """The logarithm of each bucket's sum."""
        signed = [-self.logs[e - SIGN] if e >= SIGN else self.logs[e] for e in self.entries.tolist()]
        return [sum(signed[a:b]) for a, b in zip(self.offsets, self.offsets[1:], strict=False)]


def by_counts(s: Subject, counts: Sequence[int], seed: int) -> Sorted:
    """Buckets with the given numbers of points, half of them negated, some at infinity."""
    rng = random.Random(seed)
    total = sum(counts)
    logs, limbs = bases(s, max(total, 1), seed, infinity_every=11)
    order = list(range(total))
    rng.shuffle(order)
    entries = np.array([i | rng.choice((0, SIGN)) for i in order], np.uint32)
    return Sorted(logs, limbs, entries, np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32))


def count_patterns(num_keys: int, seed: int) -> dict[str, list[int]]:
    """How many points each bucket gets."""
    rng = random.Random(seed)
    empty = [0] * num_keys

    def only(key: int, count: int) -> list[int]:
        return [count if k == key else 0 for k in range(num_keys)]

    return {
        "none": empty,
        "one point": only(num_keys // 2, 1),
        "all in the first": only(0, 130),
        "all in the last": only(num_keys - 1, 131),
        "all in one": only(num_keys // 3, 129),
        "one each": [1] * num_keys,
        "uniform": [rng.randrange(5) for _ in range(num_keys)],
        "sparse": [rng.choice((0, 0, 0, 0, 0, 0, 1, 2)) for _ in range(num_keys)],
        "heavy between light": [60 if k % 7 == 3 else k % 2 for k in range(num_keys)],
        "equal to the segments": [8] * num_keys,
    }


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


def check_buckets(device: Device, s: Subject, data: Sorted, buckets: Array) -> None:
    """Every bucket that has entries holds their sum."""
    filled = np.flatnonzero(np.diff(data.offsets.astype(np.int64)))
    if len(filled) == 0:
        return
    affine = normalize(device, s.spec, device.upload(device.download(buckets)[filled]))
    logs = data.bucket_logs
    wanted = s.limbs([oracle_curve.mul(s.oracle, logs[k] % s.r, s.oracle.generator) for k in filled])
    assert np.array_equal(device.download(affine), wanted)


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


def reduce(device: Device, s: Subject, data: Sorted, windows: int, length: int, block: int) -> Point:
    """Bucket sums from the oracle, msm_reduce, and the sum over windows with weight one each."""
    per_window = (len(data.offsets) - 1) // windows
    logs = data.bucket_logs
    # Buckets without entries hold rubbish that nobody may read.
    buckets = np.full((len(logs), s.spec.xyzz_bytes // 8), 0x5A5A5A5A5A5A5A5A, np.uint64)
    filled = np.flatnonzero(np.diff(data.offsets.astype(np.int64)))
    points = [oracle_curve.mul(s.oracle, logs[k] % s.r, s.oracle.generator) for k in filled]
    buckets[filled] = to_xyzz(s, s.limbs(points))
    width = block if device.limits.gpu_like else 1
    parts = -(-per_window // (width * length))
    sums = alloc_xyzz(device, s.spec, windows * parts)
    device.launch(
        f"msm_reduce_{s.spec.full_name}", grid=windows * parts, block=width,
        shared_bytes=max(1, width // 32) * s.spec.xyzz_bytes, buckets=device.upload(buckets),
        offsets=device.upload(data.offsets), sums=sums, buckets_per_window=per_window, range_length=length,
        blocks_per_window=parts,
    )  # fmt: skip
    return s.point(combine_windows(device, s.spec, sums, 1, 0))


@pytest.mark.parametrize("device_name", [*EVERY_DEVICE, "emu:descending:0", "emu:random_warp:4"])
@pytest.mark.parametrize("pattern", [*count_patterns(1, 0), "one in the first", "far apart"])
def test_weighted_sums(pattern: str, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g1")
    for windows, per_window in ((1, 1), (3, 2), (2, 64), (1, 500)):
        patterns = count_patterns(per_window, per_window)
        patterns["one in the first"] = [1] + [0] * (per_window - 1)
        patterns["far apart"] = [int(k % 97 == 96 or k % 31 == 5) for k in range(per_window)]
        data = by_counts(s, patterns[pattern] * windows, seed=3)
        logs = data.bucket_logs
        weighted = sum((k % per_window + 1) * t for k, t in enumerate(logs))
        wanted = oracle_curve.mul(s.oracle, weighted % s.r, s.oracle.generator)
        for length, block in ((1, 32), (4, 64), (64, 32), (512, 32)):
            assert reduce(device, s, data, windows, length, block) == wanted, (windows, per_window, length)


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
