"""Points sorted by key, and what their sums must be: for the tests of bucket accumulation."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cuzk_oracles import curve as oracle_curve

from cuzk.device import Array, Device
from cuzk.ops.points import normalize
from tests.kernels.msm_support import Subject, bases

SIGN = 1 << 31


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


def check_buckets(device: Device, s: Subject, data: Sorted, buckets: Array) -> None:
    """Every bucket that has entries holds their sum."""
    filled = np.flatnonzero(np.diff(data.offsets.astype(np.int64)))
    if len(filled) == 0:
        return
    affine = normalize(device, s.spec, device.upload(device.download(buckets)[filled]))
    logs = data.bucket_logs
    wanted = s.limbs([oracle_curve.mul(s.oracle, logs[k] % s.r, s.oracle.generator) for k in filled])
    assert np.array_equal(device.download(affine), wanted)
