"""What the tests of the MSM kernels share: groups with their oracles, bases with known logarithms, runs."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import msm as oracle_msm
from cuzk_oracles import params

from cuzk.curves import Curve, GroupSpec, get_curve
from cuzk.device import Device
from cuzk.limbs import fr_from_ints, points_from_ints, points_to_ints
from cuzk.ops.msm import msm

CURVE_NAMES = ("toy", "bn254", "bls12_381")
GROUP_NAMES = ("g1", "g2")
ALL_GROUPS = tuple((c, g) for c in CURVE_NAMES for g in GROUP_NAMES)

#: Logarithms of the shared bases run over 1..MAX_LOG and their negatives.
MAX_LOG = 1100

Point = Any  # an affine int point, or None for infinity
U64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Subject:
    """A group of cuzk beside the oracle's idea of it."""

    spec: GroupSpec
    oracle: oracle_curve.Group[Any]

    @property
    def curve(self) -> Curve:
        """The curve of cuzk."""
        return self.spec.curve

    @property
    def r(self) -> int:
        """The order."""
        return self.spec.curve.r

    def expected(self, logs: Sequence[int], scalars: Sequence[int]) -> Point:
        """The sum of scalars[i] * [logs[i]]G, by the exponent oracle."""
        return oracle_msm.msm_by_exponents(self.oracle, logs, scalars)

    def scalars(self, values: Sequence[int]) -> U64:
        """Montgomery limbs of scalars."""
        return fr_from_ints(self.curve, values)

    def limbs(self, points: Sequence[Point]) -> U64:
        """Montgomery limbs of affine int points."""
        return points_from_ints(self.spec, points)

    def point(self, limbs: U64) -> Point:
        """The affine int point of one point's limbs."""
        return points_to_ints(self.spec, limbs[None])[0]


@functools.cache
def subject(curve_name: str, group_name: str) -> Subject:
    """The subject for a curve and a group by name."""
    spec = getattr(get_curve(curve_name), group_name)
    return Subject(spec, getattr(params.get_params(curve_name), group_name))


@functools.cache
def _multiples(curve_name: str, group_name: str) -> U64:
    """Limbs of [t]G for t = -MAX_LOG .. MAX_LOG, from the oracle's additions."""
    s = subject(curve_name, group_name)
    up = oracle_curve.multiples(s.oracle, s.oracle.generator, MAX_LOG)
    down = [oracle_curve.neg(s.oracle, p) for p in reversed(up)]
    return s.limbs([*down, None, *up])


def bases(s: Subject, n: int, seed: int = 0, infinity_every: int = 0) -> tuple[list[int], U64]:
    """Make n bases with known logarithms, in random order, with repeats and opposites.

    Args:
        s: Whose points.
        n: How many.
        seed: Of the order.
        infinity_every: Every so many bases one is infinity (log 0); none where 0.

    Returns:
        The logarithms, |t| <= MAX_LOG, and the limbs.
    """
    rng = random.Random(seed)
    logs = [rng.choice((-1, 1)) * rng.randint(1, MAX_LOG) for _ in range(n)]
    if infinity_every:
        logs = [0 if i % infinity_every == 0 else t for i, t in enumerate(logs)]
    table = _multiples(s.curve.name, s.spec.name)
    return logs, table[np.array(logs, dtype=np.int64) + MAX_LOG]


def run_msm(device: Device, s: Subject, base_limbs: U64, scalars: Sequence[int], **options: Any) -> Point:
    """msm() over host values; options go to it as they are."""
    result = msm(device, s.spec, device.upload(base_limbs), device.upload(s.scalars(scalars)), **options)
    return s.point(result)


def check_msm(device: Device, s: Subject, scalars: Sequence[int], seed: int = 0, **options: Any) -> None:
    """msm() over bases with known logarithms equals the exponent oracle."""
    logs, limbs = bases(s, len(scalars), seed, infinity_every=17)
    assert run_msm(device, s, limbs, scalars, **options) == s.expected(logs, scalars)


def window_bytes(n: int, window_bits: int, group: GroupSpec) -> int:
    """Least memory of one window: digits and entries, buckets in both forms, their offsets and lists of lines."""
    buckets = 1 << (window_bits - 1)
    length = 1 << (window_bits // 2)
    rows = buckets // length
    places = (length - 1) * rows + (rows - 1) * length + 1
    return 8 * n + 4 * places + buckets * (4 + group.xyzz_bytes + group.affine_bytes)
