"""Memory and tables of multi-scalar multiplications, made for one plan and reused by those that need no more.

Kernels run in launch order, so one multiplication may take over what the last one works in while that is still at work.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.ops.plan_msm import MsmPlan, wide_shape
from cuzk.ops.points import alloc_points, alloc_xyzz
from cuzk.ops.sums import SumBuffers, SumSizes

__all__ = ["MsmBuffers", "MsmContext"]


@dataclass(frozen=True)
class _Sizes:
    """Lengths of a pass's arrays: terms, buckets, places in lines, lines; and those of the sums."""

    terms: int
    keys: int
    places: int
    lines: int
    sums: SumSizes

    @classmethod
    def of(cls, plan: MsmPlan) -> _Sizes:
        windows = plan.windows_per_pass
        return cls(
            terms=windows * plan.n, keys=windows * plan.buckets_per_window,
            places=windows * plan.line_places_per_window, lines=windows * plan.lines_per_window,
            sums=SumSizes.of((plan.buckets, plan.lines)),
        )  # fmt: skip

    def holds(self, other: _Sizes) -> bool:
        """Whether arrays of these lengths do where others are needed."""
        own, needed = (
            (one.terms, one.keys, one.places, one.lines, *astuple(one.sums)) for one in (self, other)
        )
        return all(a >= b for a, b in zip(own, needed, strict=True))


@dataclass(frozen=True)
class MsmBuffers:
    """Memory of a pass.

    Attributes:
        digits, entries, offsets: Digits of every term, and the lists of points by bucket.
        sums, buckets: Sums of the buckets in XYZZ and in affine form.
        line_entries, line_offsets: Which buckets are in which row and column.
        scratch: Of the sums by key.
    """

    digits: Array
    entries: Array
    offsets: Array
    sums: Array
    buckets: Array
    line_entries: Array
    line_offsets: Array
    scratch: SumBuffers


class MsmContext:
    """What multi-scalar multiplications over one group work in.

    Args:
        device: Where.
        group: The bases' group.

    Attributes:
        built: How often memory was taken: 1 where every multiplication found enough in what the first had.

    Not safe to use from several threads.
    """

    def __init__(self, device: Device, group: GroupSpec) -> None:
        self.device, self.group = device, group
        self.built = 0
        self._sizes: _Sizes | None = None
        self._buffers: MsmBuffers | None = None
        self._lists_for: tuple[int, int] = (0, 0)

    def prepare(self, plan: MsmPlan) -> MsmBuffers:
        """The arrays for a plan, with its lists of lines; those that are there, where they are large enough."""
        needed = _Sizes.of(plan)
        if self._buffers is None or self._sizes is None or not self._sizes.holds(needed):
            self.release()  # first: one plan's memory at a time is what callers have planned for
            self._buffers, self._sizes = self._allocate(needed), needed
            self.built += 1
        window_bits, windows = self._lists_for
        if window_bits != plan.window_bits or windows < plan.windows_per_pass:
            self._list_lines(plan, self._buffers)
        return self._buffers

    def release(self) -> None:
        """Let the memory go."""
        self._buffers = self._sizes = None
        self._lists_for = (0, 0)

    def _allocate(self, sizes: _Sizes) -> MsmBuffers:
        device, group = self.device, self.group
        return MsmBuffers(
            digits=device.alloc((sizes.terms,), np.uint32),
            entries=device.alloc((sizes.terms,), np.uint32),
            offsets=device.alloc((sizes.keys + 1,), np.uint32),
            sums=alloc_xyzz(device, group, sizes.keys),
            buckets=alloc_points(device, group, sizes.keys),
            line_entries=device.alloc((sizes.places,), np.uint32),
            line_offsets=device.alloc((sizes.lines + 1,), np.uint32),
            scratch=SumBuffers.of_sizes(device, group, sizes.sums),
        )

    def _list_lines(self, plan: MsmPlan, buffers: MsmBuffers) -> None:
        """The lists of lines, which are the same for every pass of a width; a prefix serves fewer windows."""
        windows = plan.windows_per_pass
        places = windows * plan.line_places_per_window
        grid, block = wide_shape(places, self.device.limits)
        self.device.launch(
            f"msm_line_list_{self.group.curve.name}_fr", grid=grid, block=block,
            entries=buffers.line_entries[:places],
            offsets=buffers.line_offsets[: windows * plan.lines_per_window + 1], num_windows=windows,
            window_bits=plan.window_bits, low_bits=plan.low_bits,
        )  # fmt: skip
        self._lists_for = plan.window_bits, windows
