"""Launch shapes of the kernels that run compiled circuits: pure functions of counts and device limits."""

from __future__ import annotations

from cuzk.device.base import DeviceLimits
from cuzk.ops.plan_fr import LaunchShape

__all__ = [
    "MOST_WITNESS_WARPS",
    "piece_long_row",
    "piece_tile_rows",
    "plan_piece_long",
    "plan_piece_rows",
    "plan_witness",
]

_ROW_THREADS, _WARP_THREADS = 256, 128
#: Most warps that run one program: as many bundles of a group run side by side.
MOST_WITNESS_WARPS = 8
#: Warps of witness_run that a multiprocessor has registers for: 96 a thread.
_WARPS_PER_SM = 20


def plan_witness(num_instances: int, limits: DeviceLimits) -> LaunchShape:
    """Shape of witness_run: a block an instance, of several warps while all instances find room beside each other."""
    if not limits.gpu_like:
        return LaunchShape(min(num_instances, 8 * limits.num_sms), 1)
    warps = _WARPS_PER_SM * limits.num_sms // max(num_instances, 1)
    warps = max(1, min(warps, MOST_WITNESS_WARPS, limits.max_threads // limits.warp))
    return LaunchShape(num_instances, warps * limits.warp)


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
