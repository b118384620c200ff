"""Multi-scalar multiplication: the sum of scalars[i] * bases[i].

Signed digits, counting sort of all windows' digits by bucket, rounds of affine additions inside the buckets,
bucket sums balanced by entries, row and column sums of buckets, Horner over the bits. Buckets and lists are in
memory for as many windows at a time as fit. The result is the same affine point whatever the plan, the schedule
or the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import InternalError, RangeError, ShapeError
from cuzk.ops.msm_context import MsmBuffers, MsmContext
from cuzk.ops.plan_msm import MsmPlan, plan_msm
from cuzk.ops.points import (
    alloc_xyzz,
    check_indices_shape,
    check_points_shape,
    check_scalars_shape,
    infinity,
    normalize,
)
from cuzk.ops.scan import exclusive_scan
from cuzk.ops.sums import KeyedPoints, sum_by_key

__all__ = ["PendingMsm", "combine_windows", "launch_msm", "msm"]


@dataclass
class PendingMsm:
    """A sum of points whose kernels are launched; result() waits for them.

    Attributes:
        device: Where it runs.
        group: Where the result lies.
        sums: What is left to add up. Shape (num_windows * parts, 4 * coordinate limbs) uint64. Order: by window.
            Form: XYZZ. None for an empty sum.
        num_windows: Windows of sums.
        window_bits: Doublings between windows.
    """

    device: Device
    group: GroupSpec
    sums: Array | None
    num_windows: int
    window_bits: int
    _result: npt.NDArray[np.uint64] | None = field(default=None, repr=False)

    def result(self) -> npt.NDArray[np.uint64]:
        """The sum on the host. Shape affine_shape uint64. Form: affine, Montgomery, < p.

        Raises:
            KernelFault: A scalar or an index was out of range.
        """
        if self._result is None:
            if self.sums is None:
                self._result = infinity(self.group)
            else:
                self._result = combine_windows(
                    self.device, self.group, self.sums, self.num_windows, self.window_bits
                )
                self.sums = None
        return self._result.copy()


def msm(
    device: Device,
    group: GroupSpec,
    bases: Array,
    scalars: Array,
    *,
    indices: Array | None = None,
    gather_scalars: bool = True,
    window_bits: int | None = None,
    scalar_bits: int | None = None,
    memory_bytes: int | None = None,
    plan: MsmPlan | None = None,
) -> npt.NDArray[np.uint64]:
    """The sum of scalars[i] * bases[i], over all i or over a list of indices.

    Args:
        device: Where bases, scalars and indices live.
        group: The bases' group.
        bases: Shape (m, *affine_shape) uint64. Form: affine, Montgomery, < p; infinity is allowed.
        scalars: Shape (m, limbs) uint64, or (len(indices), limbs) where gather_scalars is False.
            Form: Montgomery, < r.
        indices: Shape (n,) uint32: the terms to sum, each index once or more; all m of them where None.
        gather_scalars: Term k is scalars[indices[k]] * bases[indices[k]]; where False, it is
            scalars[k] * bases[indices[k]].
        window_bits: Bits of a signed digit, 2..24; chosen by the cost model where None.
        scalar_bits: A promise that every scalar is < 2^scalar_bits; the bits of r where None.
        memory_bytes: Bytes that buckets and lists may take at once; the plan's choice where None.
        plan: The whole plan, instead of window_bits, scalar_bits and memory_bytes.

    Returns:
        The sum, on the host. Shape affine_shape uint64. Form: affine, Montgomery, < p.

    Raises:
        ShapeError: Lengths or shapes that do not fit.
        RangeError: window_bits or scalar_bits outside its interval.
        KernelFault: A scalar is >= r or >= 2^scalar_bits, or an index is >= m.
        OutOfMemoryError: Not even one window fits the device.

    Cost: num_windows * n additions by bucket, 2 * num_windows * 2^(window_bits - 1) of bucket sums by line
    (sum_by_key says what one costs); one download.
    Source: Bernstein, Doumen, Lange, Oosterwijk 2012, doi:10.1007/978-3-642-34931-7_26, section 4.
    Checked by: tests/kernels/test_msm.py, test_msm_windows.py, test_msm_properties.py.
    """
    pending = launch_msm(
        device, group, bases, scalars, indices=indices, gather_scalars=gather_scalars,
        window_bits=window_bits, scalar_bits=scalar_bits, memory_bytes=memory_bytes, plan=plan,
    )  # fmt: skip
    return pending.result()


def launch_msm(
    device: Device,
    group: GroupSpec,
    bases: Array,
    scalars: Array,
    *,
    indices: Array | None = None,
    gather_scalars: bool = True,
    window_bits: int | None = None,
    scalar_bits: int | None = None,
    memory_bytes: int | None = None,
    plan: MsmPlan | None = None,
    context: MsmContext | None = None,
) -> PendingMsm:
    """Launch the kernels of msm() without waiting for them; same arguments and errors, except KernelFault.

    Besides, `context` is what to work in, of this device and group; memory of its own where None.
    """
    n = _check_terms(group, bases, scalars, indices, gather_scalars)
    if plan is None:
        # Parameters are checked for an empty sum too.
        made = plan_msm(
            max(n, 1), group, device.limits,
            window_bits=window_bits, scalar_bits=scalar_bits, memory_bytes=memory_bytes,
        )  # fmt: skip
    elif window_bits is None and scalar_bits is None and memory_bytes is None and plan.n == max(n, 1):
        made = plan
    else:
        raise InternalError(f"a plan for {plan.n} terms comes with {n} terms or with other parameters")
    if n == 0:
        return PendingMsm(device, group, None, 0, 0)
    run = _Run(device, group, made, bases, scalars, indices, gather_scalars, context)
    return PendingMsm(device, group, run.bit_sums(), made.num_windows * made.window_bits, 1)


def _check_terms(
    group: GroupSpec, bases: Array, scalars: Array, indices: Array | None, gather_scalars: bool
) -> int:
    """Number of terms, after the checks of shapes."""
    num_bases, num_scalars = check_points_shape(group, bases, "bases"), check_scalars_shape(group, scalars)
    if num_bases >= 2**31:
        raise RangeError(f"{num_bases} bases", limit="2^31 - 1, as one bit of an index holds the sign")
    if indices is None:
        if num_bases != num_scalars:
            raise ShapeError(f"{num_bases} bases but {num_scalars} scalars", limit="the same number")
        return num_bases
    n = check_indices_shape(indices)
    if num_scalars != (num_bases if gather_scalars else n):
        raise ShapeError(
            f"{num_scalars} scalars with {n} indices into {num_bases} bases",
            limit="one scalar a base" if gather_scalars else "one scalar an index",
        )
    if n and num_bases == 0:
        raise ShapeError(f"{n} indices into no bases", limit="0 indices")
    return n


@dataclass
class _Run:
    """One multi-scalar multiplication on its way: what every launch of it needs."""

    device: Device
    group: GroupSpec
    plan: MsmPlan
    bases: Array
    scalars: Array
    indices: Array | None
    gather_scalars: bool
    context: MsmContext | None

    def bit_sums(self) -> Array:
        """Launch every pass; return the sum of each bit of each window, XYZZ form."""
        device, plan = self.device, self.plan
        lines = alloc_xyzz(device, self.group, plan.num_windows * plan.lines_per_window)
        buffers = (self.context or MsmContext(device, self.group)).prepare(plan)
        for first in range(0, plan.num_windows, plan.windows_per_pass):
            windows = min(plan.windows_per_pass, plan.num_windows - first)
            self._sort(buffers, first, windows)
            start = first * plan.lines_per_window
            self._add(buffers, windows, lines[start : start + windows * plan.lines_per_window])
        bits = alloc_xyzz(device, self.group, plan.num_windows * plan.window_bits)
        warps = -(-plan.bit_block // device.limits.warp)
        device.launch(
            f"msm_bit_sums_{self.group.full_name}", grid=plan.num_windows * plan.window_bits,
            block=plan.bit_block, shared_bytes=warps * self.group.xyzz_bytes, lines=lines, bits=bits,
            window_bits=plan.window_bits, low_bits=plan.low_bits,
        )  # fmt: skip
        return bits

    def _sort(self, buffers: MsmBuffers, first: int, windows: int) -> None:
        """Digits of windows first .. first + windows - 1, and the list of points by bucket."""
        device, plan, curve = self.device, self.plan, self.group.curve
        keys = windows * plan.buckets_per_window
        offsets = buffers.offsets[: keys + 1]
        device.fill_zero(offsets)
        shape = {"grid": plan.wide_grid, "block": plan.wide_block}
        device.launch(
            f"msm_digits_{curve.name}_fr", **shape, scalars=self.scalars,
            indices=self.indices if self.indices is not None and self.gather_scalars else 0,
            digits=buffers.digits, offsets=offsets, n=plan.n, num_scalars=int(self.scalars.shape[0]),
            scalar_bits=plan.scalar_bits, window_bits=plan.window_bits,
            first_window=first, num_windows=windows,
        )  # fmt: skip
        exclusive_scan(device, curve, offsets[1:])
        device.launch(
            f"msm_scatter_{curve.name}_fr", **shape, digits=buffers.digits,
            indices=0 if self.indices is None else self.indices, offsets=offsets, entries=buffers.entries,
            n=plan.n, num_bases=int(self.bases.shape[0]), window_bits=plan.window_bits, num_windows=windows,
        )  # fmt: skip

    def _add(self, buffers: MsmBuffers, windows: int, lines: Array) -> None:
        """The sums of all columns and rows of the windows' buckets."""
        device, group, plan = self.device, self.group, self.plan
        keys = windows * plan.buckets_per_window
        sums = buffers.sums[:keys]
        device.fill_zero(sums)  # buckets without points are infinity
        entries = KeyedPoints(self.bases, buffers.entries, buffers.offsets[: keys + 1])
        sum_by_key(device, group, plan.buckets, entries, buffers.scratch, sums)
        buckets = normalize(device, group, sums, buffers.buckets[:keys])
        offsets = buffers.line_offsets[: windows * plan.lines_per_window + 1]
        by_line = KeyedPoints(buckets, buffers.line_entries, offsets)
        sum_by_key(device, group, plan.lines, by_line, buffers.scratch, lines)


def combine_windows(
    device: Device, group: GroupSpec, sums: Array, num_windows: int, window_bits: int
) -> npt.NDArray[np.uint64]:
    """The sum over w of 2^(window_bits * w) times the sum of window w's parts.

    Runs where single operations are cheapest.

    Args:
        device: Where sums lives; waits for everything launched there.
        group: The points' group.
        sums: Shape (num_windows * parts, 4 * coordinate limbs) uint64. Order: by window, then part.
            Form: XYZZ.
        num_windows: >= 1.
        window_bits: Doublings between windows.

    Returns:
        On the host. Shape affine_shape uint64. Form: affine, Montgomery, < p.

    Cost: num_windows * window_bits doublings, an addition a part, an inversion.
    """
    host = device.host
    if host is not device:
        sums = host.upload(device.download(sums))
    result = host.alloc((1, *group.affine_shape))
    host.launch(
        f"msm_combine_{group.full_name}", grid=1, block=1, sums=sums, result=result,
        num_windows=num_windows, parts=int(sums.shape[0]) // num_windows, window_bits=window_bits,
    )  # fmt: skip
    combined: npt.NDArray[np.uint64] = host.download(result)[0]
    return combined
