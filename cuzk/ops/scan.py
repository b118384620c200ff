"""Exclusive prefix sums of 32-bit counters on a device."""

from __future__ import annotations

import numpy as np

from cuzk.curves import Curve
from cuzk.device.base import Array, Device, DeviceLimits

__all__ = ["exclusive_scan", "scan_shape"]

#: Shared memory of scan_block, bytes: one counter for each of up to 32 warps.
_SHARED_BYTES = 128
_BLOCK = 256
_PER_THREAD = 16


def scan_shape(n: int, limits: DeviceLimits) -> tuple[int, int]:
    """(block, tile): threads in a block, and elements it scans: two tiles a core, or 4096 on a GPU."""
    if not limits.gpu_like:
        return 1, max(1024, -(-n // (2 * limits.num_sms)))
    block = min(_BLOCK, limits.max_threads)
    return block, block * _PER_THREAD


def exclusive_scan(device: Device, curve: Curve, data: Array, *, tile: int | None = None) -> None:
    """Replace every counter by the sum of those before it, in place.

    Args:
        device: Where data lives.
        curve: Whose module holds the kernels; the result does not depend on it.
        data: Shape (n,) uint32. Sums are modulo 2^32.
        tile: Elements scanned by one block, a multiple of its threads and > 1; a plan's choice where None.

    Cost: two reads and two writes of the counters; 2 * ceil(log(n) / log(tile)) - 1 launches at most.
    Source: Blelloch 1990, "Prefix sums and their applications" (reduce, scan the sums, add).
    Checked by: tests/kernels/test_msm_sort.py.
    """
    n = int(data.shape[0])
    if n == 0:
        return
    block, default_tile = scan_shape(n, device.limits)
    tile = tile or default_tile
    num_tiles = -(-n // tile)
    sums = device.alloc((num_tiles,), np.uint32)
    suffix = f"_{curve.name}_fr"
    device.launch(
        "scan_block" + suffix, grid=num_tiles, block=block, shared_bytes=_SHARED_BYTES,
        src=data, dst=data, sums=sums, n=n, tile=tile,
    )  # fmt: skip
    if num_tiles > 1:
        exclusive_scan(device, curve, sums, tile=tile)
        device.launch("scan_add" + suffix, grid=num_tiles, block=block, dst=data, sums=sums, n=n, tile=tile)
