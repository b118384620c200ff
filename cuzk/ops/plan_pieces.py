"""Launch shapes of the kernels that run compiled circuits: pure functions of counts and device limits."""

from __future__ import annotations

from cuzk.device.base import DeviceLimits
from cuzk.ops.plan_fr import LaunchShape

__all__ = ["piece_long_row", "piece_tile_rows", "plan_piece_long", "plan_piece_rows", "plan_witness"]

_ROW_THREADS, _WARP_THREADS = 256, 128
#: Blocks of one warp that a multiprocessor holds: with more instances than that, blocks of several warps hold more.
_MOST_BLOCKS_PER_SM = 32


def plan_witness(num_instances: int, limits: DeviceLimits) -> LaunchShape:
    """Shape of witness_run: a warp an instance, spread over all multiprocessors while there are few."""
    if not limits.gpu_like:
        return LaunchShape(min(num_instances, 8 * limits.num_sms), 1)
    if num_instances <= _MOST_BLOCKS_PER_SM * limits.num_sms:
        return LaunchShape(num_instances, limits.warp)
    block = min(_WARP_THREADS, limits.max_threads)
    return LaunchShape(-(-num_instances * limits.warp // block), block)


def piece_tile_rows(limits: DeviceLimits) -> int:
    """Rows of a tile of piece_rows: some for every thread of a block."""
    return 4 * min(_ROW_THREADS, limits.max_threads) if limits.gpu_like else 1 << 12


def piece_long_row(limits: DeviceLimits) -> int:
    """Terms above which a row is taken by a warp: its neighbours wait for a thread that has many."""
    return 24 if limits.gpu_like else 1 << 14


def plan_piece_rows(num_tiles: int, limits: DeviceLimits) -> LaunchShape:
    """Shape of piece_rows: a block a tile."""
    if not limits.gpu_like:
        return LaunchShape(min(num_tiles, 8 * limits.num_sms), 1)
    return LaunchShape(min(num_tiles, 64 * limits.num_sms), min(_ROW_THREADS, limits.max_threads))


def plan_piece_long(num_long: int, limits: DeviceLimits) -> LaunchShape:
    """Shape of piece_long_rows: a warp a row."""
    if not limits.gpu_like:
        return LaunchShape(min(num_long, 8 * limits.num_sms), 1)
    block = min(_WARP_THREADS, limits.max_threads)
    return LaunchShape(min(-(-num_long * limits.warp // block), 64 * limits.num_sms), block)
