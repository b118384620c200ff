"""Sum of selected points: the bases whose scalar is one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError
from cuzk.ops.msm import combine_windows
from cuzk.ops.plan_msm import sum_shape
from cuzk.ops.points import alloc_xyzz, check_indices_shape, check_points_shape, infinity

__all__ = ["batch_add"]


def batch_add(
    device: Device,
    group: GroupSpec,
    bases: Array,
    indices: Array | None = None,
    *,
    blocks: int | None = None,
    threads: int | None = None,
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

    Returns:
        The sum, on the host; infinity for an empty list. Shape affine_shape uint64.
        Form: affine, Montgomery, < p.

    Raises:
        ShapeError: A shape that does not fit.
        RangeError: blocks or threads out of range.
        KernelFault: An index is >= m.

    Cost: n mixed additions, log2(threads) + 1 additions a block; one download.
    Checked by: tests/kernels/test_batch_add.py.
    """
    num_bases = check_points_shape(group, bases, "bases")
    n = num_bases if indices is None else check_indices_shape(indices)
    limits = device.limits
    if threads is not None and not (limits.warp <= threads <= 128 and threads % limits.warp == 0):
        raise RangeError(f"{threads} threads a block", limit=f"multiples of {limits.warp} up to 128")
    if blocks is not None and not 1 <= blocks < 2**16:
        raise RangeError(f"{blocks} blocks", limit="1 to 65535")
    if n == 0:
        return infinity(group)
    grid, block = sum_shape(n, group, limits, threads if limits.gpu_like else None)
    grid = blocks or grid
    partials = alloc_xyzz(device, group, grid)
    device.launch(
        f"batch_add_{group.full_name}", grid=grid, block=block,
        shared_bytes=-(-block // limits.warp) * group.xyzz_bytes,
        bases=bases, indices=0 if indices is None else indices, partials=partials, n=n, num_bases=num_bases,
    )  # fmt: skip
    return combine_windows(device, group, partials, 1, 0)
