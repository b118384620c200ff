"""Launch shapes of the scalar-field kernels: pure functions of sizes, curve and device limits.

Nothing here changes a result: any radix split, tile, table size, block or grid gives the same bytes. On a
GPU (and on ``emu``) work is cut into tiles for thread blocks; on ``cpu`` a block is one thread, and a plan
cuts about as many blocks as keep all cores busy.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from cuzk.curves import Curve
from cuzk.device.base import DeviceLimits
from cuzk.errors import RangeError

#: Shared memory that plans use at most, bytes: what every GPU gives without asking for more.
GPU_SHARED_BYTES = 48 << 10
#: Largest radix of one NTT pass, log2; the table of inner roots has this many levels.
MAX_LOG_RADIX = 10
#: Entries of a power table below which two levels do not pay, log2.
MIN_TABLE_BITS = 12

#: Share of a device's memory that one table of twist factors in the order of memory may take.
PLACED_MEMORY_SHARE = 512

_GPU_BLOCK_THREADS = 256
_NTT_BLOCK_THREADS = 128
_CPU_BLOCKS_PER_THREAD = 4
_CPU_MIN_CHUNK = 1 << 10
_CPU_LOG_TILE = 12
#: Columns below which a strided tile is not narrowed to keep multiprocessors busy, log2.
_GPU_LOG_COLUMNS = 2


@dataclass(frozen=True)
class LaunchShape:
    """How one kernel is launched: blocks, threads a block, bytes of shared memory a block."""

    grid: int
    block: int
    shared_bytes: int = 0


@dataclass(frozen=True)
class NttPass:
    """One pass of an NTT (kernels/ntt.cuh): log2 of its sizes, tiles of the whole batch."""

    log_l: int
    log_r: int
    log_t: int
    num_tiles: int
    shape: LaunchShape


@dataclass(frozen=True)
class NttPlan:
    """The passes in DIF order (natural to bit-reversed); DIT runs them backwards."""

    log_n: int
    batch: int
    passes: tuple[NttPass, ...]


def plan_elementwise(n: int, limits: DeviceLimits) -> LaunchShape:
    """Shape of a kernel that walks n elements with for_range."""
    if limits.gpu_like:
        blocks = -(-n // _GPU_BLOCK_THREADS)
        return LaunchShape(min(blocks, 16 * limits.num_sms), min(_GPU_BLOCK_THREADS, limits.max_threads))
    return LaunchShape(min(-(-n // _CPU_MIN_CHUNK), _CPU_BLOCKS_PER_THREAD * limits.num_sms), 1)


def table_bits(log_n: int) -> int:
    """Bits of the inner of two power tables for 2^log_n exponents: one table while small, then halves."""
    return min(log_n, max((log_n + 1) // 2, MIN_TABLE_BITS))


def twist_is_placed(log_l: int, curve: Curve, limits: DeviceLimits) -> bool:
    """Whether the twist factors of sub-transforms of 2^log_l elements have a table in the order of memory.

    Such a table has two elements an entry and saves one product of two. It is read once for every sub-transform.
    """
    return 2 * curve.fr.nbytes << log_l <= limits.memory_bytes // PLACED_MEMORY_SHARE


def plan_ntt(
    log_n: int,
    batch: int,
    curve: Curve,
    limits: DeviceLimits,
    *,
    radices: Sequence[int] | None = None,
    log_tile: int | None = None,
) -> NttPlan:
    """Cut a transform of 2^log_n elements into tile passes.

    Args:
        log_n: 0 <= log_n.
        batch: Vectors transformed together, >= 0.
        curve: Gives the bytes of an element.
        limits: Of the device.
        radices: log2 of the radix of each pass, in DIF order, instead of the default.
        log_tile: log2 of the elements of a tile, instead of the default.
    Raises:
        RangeError: The radices do not multiply to 2^log_n, or a tile does not fit the device.
    """
    if radices is None and log_tile is None:
        return _default_plan(log_n, batch, curve, limits)
    return _plan(log_n, batch, curve, limits, radices, log_tile)


@functools.lru_cache(maxsize=256)
def _default_plan(log_n: int, batch: int, curve: Curve, limits: DeviceLimits) -> NttPlan:
    return _plan(log_n, batch, curve, limits, None, None)


def _plan(
    log_n: int,
    batch: int,
    curve: Curve,
    limits: DeviceLimits,
    radices: Sequence[int] | None,
    log_tile: int | None,
) -> NttPlan:
    largest = _max_log_tile(curve, limits)
    if log_tile is None:
        log_tile = min(largest, _CPU_LOG_TILE) if not limits.gpu_like else largest
    if radices is None:
        radices = _default_radices(log_n, log_tile)
    if sum(radices) != log_n or (log_n > 0 and min(radices) < 1) or len(radices) < 1:
        raise RangeError(
            f"radices 2^{list(radices)} do not make a transform of 2^{log_n}",
            limit=f"each >= 1, sum {log_n}",
        )
    if max(radices) > min(MAX_LOG_RADIX, log_tile) or log_tile > largest:
        raise RangeError(
            f"radices 2^{list(radices)} with tiles of 2^{log_tile} elements do not fit",
            limit=f"radix <= tile <= 2^{largest}, radix <= 2^{MAX_LOG_RADIX}",
        )
    passes = []
    log_l = log_n
    for log_r in radices:
        log_t = _log_columns(log_n, log_l, log_r, log_tile, batch, limits)
        passes.append(_ntt_pass(log_n, log_l, log_r, log_t, batch, curve, limits))
        log_l -= log_r
    return NttPlan(log_n, batch, tuple(passes))


def _max_log_tile(curve: Curve, limits: DeviceLimits) -> int:
    shared = min(limits.shared_bytes, GPU_SHARED_BYTES) if limits.gpu_like else limits.shared_bytes
    return (shared // curve.fr.nbytes).bit_length() - 1


def _default_radices(log_n: int, log_tile: int) -> tuple[int, ...]:
    """As few passes as tiles allow, of about equal radices.

    A pass that fills its tile with rows has few columns, so runs of 32 or 64 bytes in memory instead of
    128. On an H200 that costs less than one more pass: 0.317 ms against 0.336 ms at 2^20 (10+10, 6+6+8), and
    47.0 ms against 49.6 ms at 2^27 (9+9+9, 6+6+6+9).
    """
    return split_radices(log_n, min(MAX_LOG_RADIX, log_tile))


def split_radices(log_n: int, largest: int) -> tuple[int, ...]:
    """log2 of the radices of a transform of 2^log_n whose passes have radix 2^largest at most, about equal ones."""
    num_passes = max(1, -(-log_n // largest))
    each, larger = divmod(log_n, num_passes)
    return (each,) * (num_passes - larger) + (each + 1,) * larger


def _log_columns(log_n: int, log_l: int, log_r: int, log_tile: int, batch: int, limits: DeviceLimits) -> int:
    """log2 of the columns of a tile: as many as fit, fewer where that leaves multiprocessors idle."""
    log_s = log_l - log_r
    if log_s == 0:  # T whole sub-transforms side by side; on cpu one is enough for a thread
        most = min(log_tile - log_r, log_n - log_r) if limits.gpu_like else 0
        least = 0
    else:
        most = min(log_tile - log_r, log_s)
        least = min(most, _GPU_LOG_COLUMNS)
    while most > least and batch << max(log_n - log_r - most, 0) < 2 * limits.num_sms:
        most -= 1
    return most


def _ntt_pass(
    log_n: int, log_l: int, log_r: int, log_t: int, batch: int, curve: Curve, limits: DeviceLimits
) -> NttPass:
    tile = 1 << (log_r + log_t)
    num_tiles = batch << (log_n - log_r - log_t)
    if limits.gpu_like:
        block = min(max(tile // 8, limits.warp), _NTT_BLOCK_THREADS)
        grid = min(num_tiles, 2**31 - 1)
    else:
        block = 1
        grid = min(num_tiles, 4 * _CPU_BLOCKS_PER_THREAD * limits.num_sms)
    return NttPass(log_l, log_r, log_t, num_tiles, LaunchShape(grid, block, tile * curve.fr.nbytes))


def plan_batch_inverse(n: int, limits: DeviceLimits) -> LaunchShape:
    """Shape of the batch inversion: tens of elements a thread, so that its one inversion weighs little."""
    if limits.gpu_like:
        block = min(128, limits.max_threads)
        return LaunchShape(min(-(-n // (32 * block)), 16 * limits.num_sms), block)
    return LaunchShape(min(-(-n // _CPU_MIN_CHUNK), _CPU_BLOCKS_PER_THREAD * limits.num_sms), 1)


def plan_bit_reverse(log_n: int, batch: int, curve: Curve, limits: DeviceLimits) -> tuple[LaunchShape, int]:
    """Shape of the bit reversal and log2 of the side of its square tiles (two tiles lie in shared memory)."""
    log_tile = min(4 if limits.gpu_like else 3, log_n // 2)
    tasks = batch << (log_n - 2 * log_tile)
    shared = 2 * curve.fr.nbytes << (2 * log_tile)
    if limits.gpu_like:
        block = max(limits.warp, min(1 << (2 * log_tile), _GPU_BLOCK_THREADS))
        return LaunchShape(min(tasks, 8 * limits.num_sms), block, shared), log_tile
    return LaunchShape(min(tasks, _CPU_BLOCKS_PER_THREAD * limits.num_sms), 1, shared), log_tile


def spmv_long_row(limits: DeviceLimits) -> int:
    """Entries above which a matrix row is taken by a whole block instead of a thread."""
    return 256 if limits.gpu_like else 1 << 14


def plan_spmv_long(num_long: int, curve: Curve, limits: DeviceLimits) -> LaunchShape:
    """Shape of the kernel for long rows: a block each."""
    block = min(128, limits.max_threads)
    return LaunchShape(min(num_long, 8 * limits.num_sms), block, block * curve.fr.nbytes)


def plan_classify(n: int, limits: DeviceLimits) -> tuple[LaunchShape, int]:
    """Shape of the two classification kernels, and the elements of a chunk (one block each, at least one)."""
    if limits.gpu_like:
        block = min(_GPU_BLOCK_THREADS, limits.max_threads)
        chunk = block * (4 if n < 1 << 22 else 16)
    else:
        block = 1
        chunk = max(_CPU_MIN_CHUNK, -(-n // (_CPU_BLOCKS_PER_THREAD * limits.num_sms)))
    return LaunchShape(max(1, -(-n // chunk)), block, 128), chunk
