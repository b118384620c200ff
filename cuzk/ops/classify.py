"""Splits a vector of scalars into zeros, ones and others, on the device: two ascending lists of indices.

In a multi-scalar multiplication zeros drop out, the bases of ones are only added up, and the others need
buckets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError, ShapeError
from cuzk.ops.fr_common import check_fr, launch
from cuzk.ops.plan_fr import plan_classify
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
    """Find the ones and the others.

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
    n = check_fr(curve, "scalars", scalars)
    if n >= 1 << 32:
        raise RangeError(f"{n} scalars", limit="fewer than 2^32: indices are 32 bits wide")
    if skip is not None and (tuple(skip.shape) != (n,) or skip.dtype != np.uint8):
        raise ShapeError(f"skip has shape {tuple(skip.shape)} and type {skip.dtype}", limit=f"({n},) uint8")
    shape, chunk = plan_classify(n, device.limits)
    common: dict[str, Array | int] = {
        "scalars": scalars, "skip": 0 if skip is None else skip, "has_skip": int(skip is not None),
        "n": n, "chunk": chunk,
    }  # fmt: skip
    counts = device.alloc((2 * shape.grid + 1,), np.uint32)
    launch(device, curve, "classify_count", shape, **common, counts=counts)
    exclusive_scan(device, curve, counts)
    num_ones = int(device.download(counts[shape.grid : shape.grid + 1])[0])
    num_both = int(device.download(counts[2 * shape.grid :])[0])
    ones = device.alloc((num_ones,), np.uint32)
    others = device.alloc((num_both - num_ones,), np.uint32)
    launch(device, curve, "classify_scatter", shape, **common, offsets=counts, ones=ones, others=others)
    return Classified(ones, others, n - num_both)
