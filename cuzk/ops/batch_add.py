"""Sum of selected points: the bases whose scalar is one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError
from cuzk.ops.msm import PendingMsm
from cuzk.ops.plan_msm import sum_shape
from cuzk.ops.plan_sums import plan_sums
from cuzk.ops.points import alloc_xyzz, check_indices_shape, check_points_shape
from cuzk.ops.sums import KeyedPoints, SumBuffers, halve

__all__ = ["batch_add", "launch_batch_add"]

#: Most terms that are added up in rounds at once, and the share of the device that the rounds may take.
_CHUNK = 1 << 24
_MEMORY_SHARE = 16


def batch_add(
    device: Device,
    group: GroupSpec,
    bases: Array,
    indices: Array | None = None,
    *,
    blocks: int | None = None,
    threads: int | None = None,
    rounds: int | None = None,
) -> npt.NDArray[np.uint64]:
    """The sum of bases[i] over a list of indices, or of all bases.

    Args:
        device: Where bases and indices live.
        group: The bases' group.
        bases: Shape (m, *affine_shape) uint64. Form: affine, Montgomery, < p;
            infinity, equal and opposite points are allowed.
        indices: Shape (n,) uint32, any order, repeats allowed; all bases where None.
        blocks: Blocks of the launch; enough to fill the device where None.
        threads: Threads in a block, a multiple of the warp; the plan's choice where None. Ignored on cpu.
        rounds: Rounds of affine additions before; as many as pay where None.

    Returns:
        The sum, on the host; infinity for an empty list. Shape affine_shape uint64.
        Form: affine, Montgomery, < p.

    Raises:
        ShapeError: A shape that does not fit.
        RangeError: blocks or threads out of range.
        KernelFault: An index is >= m.

    Cost: n additions (sum_by_key says what one costs), log2(threads) + 1 additions a block; one download.
    Checked by: tests/kernels/test_batch_add.py.
    """
    return launch_batch_add(
        device, group, bases, indices, blocks=blocks, threads=threads, rounds=rounds
    ).result()


def launch_batch_add(
    device: Device,
    group: GroupSpec,
    bases: Array,
    indices: Array | None = None,
    *,
    blocks: int | None = None,
    threads: int | None = None,
    rounds: int | None = None,
) -> PendingMsm:
    """Launch the kernels of batch_add() without waiting for them; same arguments and errors, except KernelFault."""
    num_bases = check_points_shape(group, bases, "bases")
    n = num_bases if indices is None else check_indices_shape(indices)
    limits = device.limits
    if threads is not None and not (limits.warp <= threads <= 128 and threads % limits.warp == 0):
        raise RangeError(f"{threads} threads a block", limit=f"multiples of {limits.warp} up to 128")
    if blocks is not None and not 1 <= blocks < 2**16:
        raise RangeError(f"{blocks} blocks", limit="1 to 65535")
    if n == 0:
        return PendingMsm(device, group, None, 0, 0)
    chunk = min(_CHUNK, max(1, limits.memory_bytes // _MEMORY_SHARE // group.affine_bytes))
    starts = range(0, n, chunk)
    grid, block = sum_shape(min(n, chunk), group, limits, threads if limits.gpu_like else None)
    grid = blocks or grid
    partials = alloc_xyzz(device, group, grid * len(starts))
    for number, start in enumerate(starts):
        keyed, terms = bases, min(chunk, n - start)
        picked = None if indices is None else indices[start : start + terms]
        if indices is None:
            keyed = bases[start : start + terms]
        keyed, picked, terms = _halved(device, group, keyed, picked, terms, rounds)
        device.launch(
            f"batch_add_{group.full_name}", grid=grid, block=block,
            shared_bytes=-(-block // limits.warp) * group.xyzz_bytes,
            bases=keyed, indices=0 if picked is None else picked,
            partials=partials[number * grid : (number + 1) * grid],
            n=terms, num_bases=int(keyed.shape[0]),
        )  # fmt: skip
    return PendingMsm(device, group, partials, 1, 0)


def _halved(
    device: Device, group: GroupSpec, bases: Array, indices: Array | None, n: int, rounds: int | None
) -> tuple[Array, Array | None, int]:
    """What some rounds of affine additions leave of a sum: bases, indices and number of terms."""
    plan = plan_sums(n, 1, group, device.limits, rounds=rounds)
    if plan.rounds == 0:
        return bases, indices, n
    buffers = SumBuffers.allocate(device, group, [plan])
    keyed = KeyedPoints(bases, indices, device.upload(np.array([0, n], np.uint32)), signed=False)
    for done in range(plan.rounds):
        keyed = halve(device, group, plan, keyed, buffers, done)
    return keyed.points, None, -(-n // (1 << plan.rounds))
