"""Sums by key: rounds of affine additions with shared inversions, for every pattern of keys and special pairs.

Would catch: a chunk that ends early, a product of denominators that a special pair spoils, a doubling taken for a
cancellation, a point with x = 0 taken for infinity, a lone point that is lost or doubled, a sign applied twice, a
round that writes where another thread still reads, an entry beyond the points that is followed.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import edge_points

from cuzk.device import Array, Device
from cuzk.errors import KernelFault
from cuzk.limbs import points_to_ints
from cuzk.ops.plan_sums import SumsPlan, plan_sums
from cuzk.ops.points import alloc_xyzz, normalize
from cuzk.ops.sums import KeyedPoints, SumBuffers, sum_by_key
from tests.kernels.fr_support import SCHEDULES, open_device
from tests.kernels.keyed_support import SIGN, Sorted, by_counts, check_buckets, count_patterns
from tests.kernels.msm_support import ALL_GROUPS, Point, Subject, subject

EVERY_DEVICE = ("cpu", "emu")
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)


def plan_for(device: Device, s: Subject, places: int, keys: int, rounds: int, chunk: int) -> SumsPlan:
    return plan_sums(max(places, 1), keys, s.spec, device.limits, rounds=rounds, chunk=chunk, min_segment=2)


def sums_of(device: Device, s: Subject, data: Sorted, plan: SumsPlan) -> Array:
    keyed = KeyedPoints(
        device.upload(data.base_limbs), device.upload(data.entries), device.upload(data.offsets)
    )
    sums = alloc_xyzz(device, s.spec, keyed.num_keys)
    sum_by_key(device, s.spec, plan, keyed, SumBuffers.allocate(device, s.spec, [plan]), sums)
    return sums


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("pattern", count_patterns(1, 0))
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_rounds_and_chunks(group_name: str, pattern: str, device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", group_name)
    for num_keys in (1, 2, 24):
        data = by_counts(s, count_patterns(num_keys, num_keys)[pattern], seed=num_keys)
        for rounds, chunk in ((1, 1), (1, 64), (2, 3), (5, 2), (9, 64)):
            plan = plan_for(device, s, len(data.entries), num_keys, rounds, chunk)
            check_buckets(device, s, data, sums_of(device, s, data, plan))


@every_group
def test_the_real_curves(curve_name: str, group_name: str) -> None:
    s = subject(curve_name, group_name)
    for name in EVERY_DEVICE:
        device = open_device(name)
        data = by_counts(s, [0, 1, 2, 3, 0, 40, 5] if name == "emu" else [0, 1, 2, 3, 0, 700, 5], seed=2)
        for rounds in (1, 3):
            plan = plan_for(device, s, len(data.entries), 7, rounds, 16)
            check_buckets(device, s, data, sums_of(device, s, data, plan))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_under_schedules(group_name: str, schedule: str) -> None:
    device, s = open_device(schedule), subject("bn254", group_name)
    data = by_counts(s, count_patterns(24, 1)["heavy between light"], seed=1)
    plan = plan_for(device, s, len(data.entries), 24, 3, 2)
    check_buckets(device, s, data, sums_of(device, s, data, plan))


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@every_group
def test_every_special_pair(curve_name: str, group_name: str, device_name: str) -> None:
    """All ordered pairs, signs included, of the edge points: among them P + P, P - P, O + P and x = 0."""
    device, s = open_device(device_name), subject(curve_name, group_name)
    points = [p for _, p in edge_points.points(s.oracle)][: None if device_name == "cpu" else 9]
    signed = [i | sign for i in range(len(points)) for sign in (0, SIGN)]
    pairs = list(itertools.product(signed, signed))
    entries = np.array(list(itertools.chain.from_iterable(pairs)), np.uint32)
    offsets = np.arange(0, 2 * len(pairs) + 1, 2, dtype=np.uint32)
    plan = plan_for(device, s, len(entries), len(pairs), 1, 5)
    data = Sorted([], s.limbs(points), entries, offsets)
    found = points_to_ints(s.spec, device.download(normalize(device, s.spec, sums_of(device, s, data, plan))))

    def value(entry: int) -> Point:
        p = points[entry & ~SIGN]
        return oracle_curve.neg(s.oracle, p) if entry & SIGN else p

    for (left, right), total in zip(pairs, found, strict=True):
        assert total == oracle_curve.add(s.oracle, value(left), value(right)), (left, right)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_a_list_of_pairs_longer_than_the_launch(device_name: str) -> None:
    """Every warp takes several tiles of the list, and every key is found from the one before it."""
    device, rng = open_device(device_name), np.random.default_rng(8)
    counts = rng.integers(0, 9, 700)
    counts[[3, 400]] = 1500, 0
    counts[100:300] = 0
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    next_offsets = np.concatenate([[0], np.cumsum(-(-counts // 2))]).astype(np.uint32)
    entries = rng.permutation(int(offsets[-1])).astype(np.uint32) | rng.choice([0, SIGN], int(offsets[-1]))
    entries = entries.astype(np.uint32)
    pairs = device.alloc((int(next_offsets[-1]),), np.uint64)
    device.launch(
        "msm_pair_list_toy_fr", grid=1, block=device.limits.warp, entries=device.upload(entries),
        offsets=device.upload(offsets), next_offsets=device.upload(next_offsets), pairs=pairs,
        num_keys=len(counts), num_points=int(offsets[-1]), sign_mask=SIGN,
    )  # fmt: skip
    wanted = []
    for first, last in itertools.pairwise(offsets.tolist()):
        for place in range(first, last, 2):
            right = int(entries[place + 1]) if place + 1 < last else 0xFFFFFFFF
            wanted.append(int(entries[place]) | right << 32)
    assert len(wanted) > 512 * 3, "more than a warp takes at once"
    assert device.download(pairs).tolist() == wanted


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_points_that_all_cancel_or_double(device_name: str) -> None:
    device, s = open_device(device_name), subject("bls12_381", "g1")
    for entries, log in (([0] * 64, 64), ([0, SIGN] * 32, 0), ([0] * 33 + [SIGN] * 31, 2)):
        data = Sorted(
            [1], s.limbs([s.oracle.generator]), np.array(entries, np.uint32), np.array([0, 64], np.uint32)
        )
        plan = plan_for(device, s, 64, 1, 6, 7)
        sums = sums_of(device, s, data, plan)
        wanted = oracle_curve.mul(s.oracle, log, s.oracle.generator)
        assert points_to_ints(s.spec, device.download(normalize(device, s.spec, sums)))[0] == wanted


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_an_entry_beyond_the_points_is_a_fault(device_name: str) -> None:
    device, s = open_device(device_name), subject("toy", "g1")
    data = by_counts(s, [5, 7], seed=0)
    for place, wrong in ((3, 12), (11, 12 | SIGN), (0, SIGN - 1)):
        entries = data.entries.copy()
        entries[place] = wrong
        bad = Sorted(data.logs, data.base_limbs, entries, data.offsets)
        with pytest.raises(KernelFault, match="index"):
            device.download(sums_of(device, s, bad, plan_for(device, s, 12, 2, 2, 4)))
