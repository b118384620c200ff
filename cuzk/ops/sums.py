"""Sums of points by key: rounds of affine additions inside the keys, then balanced pieces in XYZZ form.

What multi-scalar multiplication does with its buckets, and with rows and columns of buckets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.ops.plan_msm import wide_shape
from cuzk.ops.plan_sums import SumsPlan, slot_bytes
from cuzk.ops.points import alloc_points, alloc_xyzz
from cuzk.ops.scan import exclusive_scan

__all__ = ["KeyedPoints", "SumBuffers", "SumSizes", "halve", "sum_by_key"]

#: Marks an entry whose opposite point is meant.
_SIGN = 1 << 31


@dataclass(frozen=True)
class KeyedPoints:
    """Points in the order of their keys.

    Attributes:
        points: Shape (m, *affine_shape) uint64. Form: affine, Montgomery, < p.
        entries: Shape (places,) uint32: the point at each place, with bit 31 where its opposite is meant; None where
            the points themselves stand in order.
        offsets: Shape (num_keys + 1,) uint32: first place of each key, then the number of places.
        signed: Whether bit 31 of an entry is a sign; where it is not, it makes an index that is too large.
    """

    points: Array
    entries: Array | None
    offsets: Array
    signed: bool = True

    @property
    def num_keys(self) -> int:
        """Keys, those without points included."""
        return int(self.offsets.shape[0]) - 1


@dataclass(frozen=True)
class SumSizes:
    """Lengths of the scratch of sum_by_key.

    Attributes:
        rounds: Rounds that have results of their own: 0, 1, or 2 for any more, which take turns.
        left_odd, left_even: Most points after an odd and after an even round; 0 where there is none.
        keys, segments: Most keys and most pieces.
        products: Denominators' products of all threads.
    """

    rounds: int
    left_odd: int
    left_even: int
    keys: int
    segments: int
    products: int

    @classmethod
    def of(cls, plans: Iterable[SumsPlan]) -> SumSizes:
        """What suffices for each of some plans."""
        plans = list(plans)
        rounds = min(max(plan.rounds for plan in plans), 2)
        threads = max(plan.pair_grid * plan.pair_block * plan.chunk for plan in plans)
        return cls(
            rounds=rounds,
            left_odd=max(plan.left(1) for plan in plans) if rounds else 0,
            left_even=max(plan.left(2) for plan in plans) if rounds > 1 else 0,
            keys=max(plan.num_keys for plan in plans),
            segments=max(plan.num_segments for plan in plans),
            products=threads if rounds else 0,
        )


@dataclass(frozen=True)
class SumBuffers:
    """Scratch of sum_by_key, reused by every call whose plan it was made for.

    Attributes:
        points, offsets: Results of the odd and of the even rounds, and where their keys begin.
        pairs: A round's list of pairs.
        products: A chunk of denominators' products for every thread.
        heads, tails, first_keys, last_keys: What is open at the borders of pieces.
    """

    points: tuple[Array, ...]
    offsets: tuple[Array, ...]
    pairs: Array
    products: Array
    heads: Array
    tails: Array
    first_keys: Array
    last_keys: Array

    @classmethod
    def allocate(cls, device: Device, group: GroupSpec, plans: Iterable[SumsPlan]) -> SumBuffers:
        """Memory that suffices for each of some plans."""
        return cls.of_sizes(device, group, SumSizes.of(plans))

    @classmethod
    def of_sizes(cls, device: Device, group: GroupSpec, sizes: SumSizes) -> SumBuffers:
        """Memory of given sizes."""
        left = (sizes.left_odd, sizes.left_even)[: sizes.rounds]
        return cls(
            points=tuple(alloc_points(device, group, count) for count in left),
            offsets=tuple(device.alloc((sizes.keys + 1,), np.uint32) for _ in left),
            pairs=device.alloc((sizes.left_odd,), np.uint64),
            products=device.alloc((sizes.products, group.affine_bytes // 16), np.uint64),
            heads=alloc_xyzz(device, group, sizes.segments),
            tails=alloc_xyzz(device, group, sizes.segments),
            first_keys=device.alloc((sizes.segments,), np.uint32),
            last_keys=device.alloc((sizes.segments,), np.uint32),
        )


def sum_by_key(
    device: Device, group: GroupSpec, plan: SumsPlan, keyed: KeyedPoints, buffers: SumBuffers, sums: Array
) -> None:
    """Write the sum of each key's points; keys without points are not written.

    Args:
        device: Where everything lives.
        group: The points' group.
        plan: Rounds and launch shapes, for at least as many places and keys.
        keyed: The points; equal, opposite and infinite ones are allowed.
        buffers: Made for the plan.
        sums: Shape (num_keys, 4 * coordinate limbs) uint64. Form: XYZZ.

    Raises:
        KernelFault: An entry is beyond the points (at the next synchronisation).

    Cost: 5M + 1S a pair and an inversion every plan.chunk pairs of a thread; a mixed addition for what is left.
    Checked by: tests/kernels/test_sums.py.
    """
    for done in range(plan.rounds):
        keyed = halve(device, group, plan, keyed, buffers, done)
    num_keys, suffix = keyed.num_keys, group.full_name
    common = {
        "offsets": keyed.offsets, "buckets": sums, "heads": buffers.heads, "tails": buffers.tails,
        "first_keys": buffers.first_keys, "last_keys": buffers.last_keys, "num_keys": num_keys,
        "num_segments": plan.num_segments, "min_length": plan.min_segment,
    }  # fmt: skip
    device.launch(
        f"msm_accumulate_{suffix}", grid=-(-plan.num_segments // plan.point_block), block=plan.point_block,
        bases=keyed.points, entries=0 if keyed.entries is None else keyed.entries, **common,
    )  # fmt: skip
    stride = 1
    while stride < plan.num_segments:
        step = stride * plan.merge_fan_in
        device.launch(
            f"msm_merge_{suffix}", grid=-(-plan.num_segments // step), block=plan.point_block,
            stride=stride, fan_in=plan.merge_fan_in, **common,
        )  # fmt: skip
        stride = step


def halve(
    device: Device, group: GroupSpec, plan: SumsPlan, keyed: KeyedPoints, buffers: SumBuffers, done: int
) -> KeyedPoints:
    """One round: neighbours of every key added up in pairs.

    Args:
        device: Where everything lives.
        group: The points' group.
        plan: As for sum_by_key().
        keyed: The points before.
        buffers: Made for the plan; the round after next reuses what this one returns.
        done: Rounds before this one.

    Returns:
        The points after, in order. Of p points of a key there are ceil(p / 2) left.
    """
    num_keys, suffix = keyed.num_keys, f"_{group.curve.name}_fr"
    points, offsets = buffers.points[done % 2], buffers.offsets[done % 2][: num_keys + 1]
    grid, block = wide_shape(num_keys + 1, device.limits)
    device.launch(
        "msm_pair_counts" + suffix, grid=grid, block=block, offsets=keyed.offsets, counts=offsets,
        num_keys=num_keys,
    )  # fmt: skip
    exclusive_scan(device, group.curve, offsets)
    grid, block = wide_shape(max(1, plan.left(done + 1)), device.limits)
    device.launch(
        "msm_pair_list" + suffix, grid=grid, block=block,
        entries=0 if keyed.entries is None else keyed.entries, offsets=keyed.offsets, next_offsets=offsets,
        pairs=buffers.pairs, num_keys=num_keys, num_points=int(keyed.points.shape[0]),
        sign_mask=_SIGN if keyed.signed else 0,
    )  # fmt: skip
    device.launch(
        f"msm_halve_{group.full_name}", grid=plan.pair_grid, block=plan.pair_block,
        shared_bytes=plan.pair_block * slot_bytes(group), points=keyed.points, pairs=buffers.pairs,
        next_offsets=offsets, dst=points, products=buffers.products, num_keys=num_keys, chunk=plan.chunk,
    )  # fmt: skip
    return KeyedPoints(points, None, offsets)
