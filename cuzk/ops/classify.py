"""Splits a vector of scalars into zeros, ones and others, on the device: two ascending lists of indices.

In a multi-scalar multiplication zeros drop out, the bases of ones are only added up, and the others need
buckets.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError, ShapeError
from cuzk.ops.fr_common import check_fr, launch
from cuzk.ops.plan_fr import LaunchShape, plan_classify
from cuzk.ops.scan import exclusive_scan


@dataclass(frozen=True, eq=False)
class Classified:
    """Where the ones and the others of a vector are.

    Attributes:
        ones: Shape (num_ones,) uint32, on the device. Order: ascending.
        others: Shape (num_others,) uint32, on the device. Order: ascending.
        num_zeros: Scalars that are 0, and those that were skipped.
    """

    ones: Array
    others: Array
    num_zeros: int

    @property
    def num_ones(self) -> int:
        """Scalars that are 1."""
        return len(self.ones)

    @property
    def num_others(self) -> int:
        """Scalars that are neither 0 nor 1."""
        return len(self.others)


def classify(device: Device, curve: Curve, scalars: Array, *, skip: Array | None = None) -> Classified:
    """Find the ones and the others: classify_parts of one part.

    Args:
        device: Where scalars lies.
        curve: Whose Fr.
        scalars: Shape (n, limbs) uint64, n < 2^32. Form: Montgomery, < r.
        skip: Shape (n,) uint8: where it is not 0 the scalar counts as 0 (its base is infinity), or None.
    Returns:
        The two lists and the count of the rest.
    Raises:
        ShapeError: The shapes disagree.
        RangeError: n >= 2^32.
    Cost: two reads of scalars; waits for the device once, for the counts.
    Checked by: tests/kernels/test_classify.py.
    """
    return classify_parts(device, curve, [(scalars, skip)])[0]


def classify_parts(
    device: Device, curve: Curve, parts: Sequence[tuple[Array, Array | None]]
) -> list[Classified]:
    """Find the ones and the others of several vectors, or of several parts of one, with a single wait.

    Args:
        device: Where everything lies.
        curve: Whose Fr.
        parts: Scalars and skip of each part, as classify() takes them.
    Returns:
        A result for each part; indices count from the part's start.
    Raises:
        As classify().
    Cost: two reads of the scalars; waits for the device once, for all counts.
    Checked by: tests/kernels/test_classify.py.
    """
    launches = [_Part.plan(device, curve, scalars, skip) for scalars, skip in parts]
    starts = list(itertools.accumulate((part.num_counts for part in launches), initial=0))
    counts = device.alloc((starts[-1],), np.uint32)
    offsets = [counts[first:end] for first, end in itertools.pairwise(starts)]
    for part, own in zip(launches, offsets, strict=True):
        launch(device, curve, "classify_count", part.shape, **part.common, counts=own)
        exclusive_scan(device, curve, own)
    scanned = device.download(counts) if parts else counts
    result = []
    for part, own, first in zip(launches, offsets, starts[:-1], strict=True):
        grid = part.shape.grid
        num_ones, num_both = int(scanned[first + grid]), int(scanned[first + 2 * grid])
        ones = device.alloc((num_ones,), np.uint32)
        others = device.alloc((num_both - num_ones,), np.uint32)
        launch(
            device,
            curve,
            "classify_scatter",
            part.shape,
            **part.common,
            offsets=own,
            ones=ones,
            others=others,
        )
        result.append(Classified(ones, others, part.length - num_both))
    return result


@dataclass(frozen=True, eq=False)
class _Part:
    """How one part is classified: the launch shape of both kernels, and the arguments that they share."""

    length: int
    shape: LaunchShape
    common: dict[str, Array | int]

    @property
    def num_counts(self) -> int:
        """Entries of the counts: ones by block, others by block, and the end."""
        return 2 * self.shape.grid + 1

    @classmethod
    def plan(cls, device: Device, curve: Curve, scalars: Array, skip: Array | None) -> _Part:
        """Check a part and cut it."""
        n = check_fr(curve, "scalars", scalars)
        if n >= 1 << 32:
            raise RangeError(f"{n} scalars", limit="fewer than 2^32: indices are 32 bits wide")
        if skip is not None and (tuple(skip.shape) != (n,) or skip.dtype != np.uint8):
            raise ShapeError(
                f"skip has shape {tuple(skip.shape)} and type {skip.dtype}", limit=f"({n},) uint8"
            )
        shape, chunk = plan_classify(n, device.limits)
        common: dict[str, Array | int] = {
            "scalars": scalars, "skip": 0 if skip is None else skip, "has_skip": int(skip is not None),
            "n": n, "chunk": chunk,
        }  # fmt: skip
        return cls(n, shape, common)
