"""Launch shapes of the multi-scalar multiplication and its relatives: functions of sizes and device limits.

What a plan holds never changes a result, only time and memory. Costs are counted in base field
multiplications of one lane (a GPU thread, or a core): adding an affine point to an XYZZ point takes 10,
adding two XYZZ points 14, a doubling 9.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.curves import GroupSpec
from cuzk.device.base import DeviceLimits
from cuzk.errors import OutOfMemoryError, RangeError

__all__ = [
    "MAX_WINDOW_BITS",
    "MIN_WINDOW_BITS",
    "FixedBasePlan",
    "MsmPlan",
    "num_signed_windows",
    "plan_fixed_base",
    "plan_msm",
    "sum_shape",
    "wide_shape",
    "window_cost",
]

MIN_WINDOW_BITS = 2
MAX_WINDOW_BITS = 24

_MADD, _ADD, _DBL = 10, 14, 9
#: Digits, counting and placing of one entry, measured against field multiplications of a whole device.
_SORT = 3
#: Threads a multiprocessor holds in the addition loops (ADDITION_BLOCKS_PER_SM of the kernels): registers allow
#: no more, and Fp2 needs all of them.
_LANES_PER_SM = {1: 512, 2: 256}
#: How much slower than its count of multiplications the bucket reduction runs on a GPU, by extension degree. G1 from
#: window sizes 14 to 20 at 2^20 to 2^24 on an H200 (docs/measurements/h200-tune-msm-g1-2026-11-29.json).
_REDUCE_SLOWDOWN = {1: 1.6, 2: 1.0}
_POINT_BLOCK = 128
_WIDE_BLOCK = 256
#: A host core does one dependent operation in about a sixteenth of the time that a single GPU thread needs.
_HOST_SPEED = 16
#: Bytes of buckets and lists that a call may take where nothing else is said.
_DEFAULT_HOST_MEMORY = 1 << 30


@dataclass(frozen=True)
class MsmPlan:
    """How one multi-scalar multiplication is cut.

    Attributes:
        n: Number of terms.
        window_bits: Bits of a digit, c.
        scalar_bits: Every scalar is < 2^scalar_bits.
        num_windows: ceil((scalar_bits + 1) / c).
        windows_per_pass: Windows whose buckets and lists are in memory at once.
        wide_grid, wide_block: Launch shape of the digit and sorting kernels.
        num_segments: Most pieces that the sorted entries of a pass are cut into, one a thread.
        min_segment: Fewest entries of a piece.
        point_block: Threads in a block of the point kernels.
        merge_fan_in: Pieces joined by one block of msm_merge; a power of two.
        reduce_block, range_length, blocks_per_window: Shape of msm_reduce: range_length buckets a thread.
    """

    n: int
    window_bits: int
    scalar_bits: int
    num_windows: int
    windows_per_pass: int
    wide_grid: int
    wide_block: int
    num_segments: int
    min_segment: int
    point_block: int
    merge_fan_in: int
    reduce_block: int
    range_length: int
    blocks_per_window: int

    @property
    def buckets_per_window(self) -> int:
        """2^(window_bits - 1): digits are signed."""
        return 1 << (self.window_bits - 1)


def num_signed_windows(scalar_bits: int, window_bits: int) -> int:
    """Windows of signed digits that hold every scalar < 2^scalar_bits, the last carry included."""
    return -(-(scalar_bits + 1) // window_bits)


def _next_power_of_two(x: int) -> int:
    return 1 << max(0, x - 1).bit_length()


def _clamp(x: int, low: int, high: int) -> int:
    return max(low, min(x, high))


def wide_shape(n: int, limits: DeviceLimits) -> tuple[int, int]:
    """(grid, block) for a kernel with little work an element: for_range over n elements, n >= 1."""
    if not limits.gpu_like:
        return _clamp(-(-n // 256), 1, 4 * limits.num_sms), 1
    block = _clamp(_next_power_of_two(n), limits.warp, _WIDE_BLOCK)
    return _clamp(-(-n // block), 1, 8 * limits.num_sms), block


def sum_shape(n: int, group: GroupSpec, limits: DeviceLimits, block: int | None = None) -> tuple[int, int]:
    """(grid, block) for a kernel of point arithmetic over n points, n >= 1."""
    if not limits.gpu_like:
        return _clamp(-(-n // 32), 1, 4 * limits.num_sms), 1
    block = block or _clamp(_next_power_of_two(n), limits.warp, _POINT_BLOCK)
    return _clamp(-(-n // block), 1, limits.num_sms * (_LANES_PER_SM[group.degree] // block)), block


def _lanes(group: GroupSpec, limits: DeviceLimits) -> int:
    return limits.num_sms * (_LANES_PER_SM[group.degree] if limits.gpu_like else 1)


def _range_length(num_buckets: int, lanes: int) -> int:
    """Buckets a GPU thread reduces: enough that every lane gets one range; a power of two."""
    return _next_power_of_two(-(-num_buckets // lanes))


def window_cost(n: int, scalar_bits: int, window_bits: int, group: GroupSpec, limits: DeviceLimits) -> float:
    """Estimated time in multiplications of one lane, the lanes working side by side."""
    c, lanes = window_bits, _lanes(group, limits)
    windows, buckets = num_signed_windows(scalar_bits, c), 1 << (c - 1)
    entries = windows * n
    horner = windows * c * _DBL
    if not limits.gpu_like:
        # Runs of empty buckets are skipped at the price of some doublings.
        walked = min(buckets, n * (4 + c))
        return (entries * (_MADD + _SORT) + windows * walked * 2 * _ADD) / lanes + horner
    length = _range_length(windows * buckets, lanes)
    rounds = -(-windows * buckets // (length * lanes))
    offset = c * (_DBL + _ADD / 2)
    accumulate = -(-entries // lanes) * (_MADD + _SORT) + _ADD * lanes.bit_length()
    reduce = _REDUCE_SLOWDOWN[group.degree] * rounds * (2 * length * _ADD + offset) + _ADD * _POINT_BLOCK.bit_length()
    parts = windows * max(1, buckets // (length * _POINT_BLOCK))
    return accumulate + reduce + (horner + parts * _ADD) / _HOST_SPEED


def _bytes_per_window(n: int, window_bits: int, group: GroupSpec) -> int:
    return 8 * n + (1 << (window_bits - 1)) * (group.xyzz_bytes + 4)


def _choose_window(n: int, scalar_bits: int, group: GroupSpec, limits: DeviceLimits, memory: int) -> int:
    fitting = [
        c for c in range(MIN_WINDOW_BITS, MAX_WINDOW_BITS + 1) if _bytes_per_window(n, c, group) <= memory
    ]
    if not fitting:
        need = _bytes_per_window(n, MIN_WINDOW_BITS, group)
        raise OutOfMemoryError(
            f"a multi-scalar multiplication of {n} terms needs {need} bytes",
            limit=f"{memory} bytes",
            remedy="use fewer terms, or allow more memory",
        )
    return min(fitting, key=lambda c: window_cost(n, scalar_bits, c, group, limits))


def _default_memory(limits: DeviceLimits, *, asked: bool) -> int:
    if asked:
        return limits.memory_bytes // 2
    on_host = not limits.gpu_like or limits.num_sms == 1
    return min(limits.memory_bytes // 4, _DEFAULT_HOST_MEMORY) if on_host else limits.memory_bytes // 4


def _segments(n: int, windows: int, group: GroupSpec, limits: DeviceLimits) -> tuple[int, int]:
    """(num_segments, min_segment): one or two rounds of full lanes; a few pieces a core."""
    if not limits.gpu_like:
        return 8 * limits.num_sms, 64
    lanes = _lanes(group, limits)
    rounds = 2 if n * windows >= 256 * lanes else 1
    return _clamp(rounds * lanes, 1, max(1, n * windows)), 4


def _reduce_shape(
    window_bits: int, windows: int, group: GroupSpec, limits: DeviceLimits
) -> tuple[int, int, int]:
    """(reduce_block, range_length, blocks_per_window)."""
    buckets = 1 << (window_bits - 1)
    if not limits.gpu_like:
        blocks = _clamp(-(-2 * limits.num_sms // windows), 1, buckets)
        return 1, -(-buckets // blocks), blocks
    length = min(buckets, _range_length(windows * buckets, _lanes(group, limits)))
    threads = -(-buckets // length)
    block = _clamp(_next_power_of_two(threads), limits.warp, _POINT_BLOCK)
    return block, length, -(-threads // block)


def plan_msm(
    n: int,
    group: GroupSpec,
    limits: DeviceLimits,
    *,
    window_bits: int | None = None,
    scalar_bits: int | None = None,
    num_segments: int | None = None,
    min_segment: int | None = None,
    memory_bytes: int | None = None,
) -> MsmPlan:
    """Cut a multi-scalar multiplication.

    Args:
        n: Number of terms, >= 1.
        group: Where the bases live.
        limits: The device.
        window_bits: 2..24; the cheapest by the cost model where None.
        scalar_bits: Every scalar is < 2^scalar_bits; the bits of r where None.
        num_segments: Most pieces of a pass; one or two a lane where None.
        min_segment: Fewest entries of a piece.
        memory_bytes: Bytes that buckets and lists may take, one window at least; where None a quarter of
            the device, on a host at most 1 GiB unless window_bits asks for more.

    Raises:
        RangeError: A parameter outside its interval.
        OutOfMemoryError: One window does not fit memory_bytes.
    """
    r_bits = group.curve.fr.bits
    scalar_bits = r_bits if scalar_bits is None else scalar_bits
    if not 1 <= scalar_bits <= r_bits:
        raise RangeError(f"scalar_bits is {scalar_bits}", limit=f"1 to {r_bits} on {group.curve.name}")
    if window_bits is not None and not MIN_WINDOW_BITS <= window_bits <= MAX_WINDOW_BITS:
        raise RangeError(f"window_bits is {window_bits}", limit=f"{MIN_WINDOW_BITS} to {MAX_WINDOW_BITS}")
    if not 1 <= n < 2**31:
        raise RangeError(f"a multi-scalar multiplication of {n} terms", limit="1 to 2^31 - 1")
    memory = memory_bytes or _default_memory(limits, asked=window_bits is not None)
    c = window_bits or _choose_window(n, scalar_bits, group, limits, memory)
    windows = num_signed_windows(scalar_bits, c)
    need = _bytes_per_window(n, c, group)
    if need > memory:
        raise OutOfMemoryError(
            f"one window of {c} bits over {n} terms needs {need} bytes",
            limit=f"{memory} bytes",
            remedy="use smaller windows, or allow more memory",
        )
    # Entries and keys of a pass are counted in 32 bits.
    per_pass = min(windows, memory // need, (2**32 - 1) // n, 2**31 >> (c - 1))
    passes = -(-windows // per_pass)
    per_pass = -(-windows // passes)
    pieces, shortest = _segments(n, per_pass, group, limits)
    pieces, shortest = num_segments or pieces, min_segment or shortest
    point_block = min(_POINT_BLOCK, limits.max_threads)
    wide_grid, wide_block = wide_shape(n, limits)
    reduce_block, length, blocks = _reduce_shape(c, per_pass, group, limits)
    return MsmPlan(
        n=n, window_bits=c, scalar_bits=scalar_bits, num_windows=windows, windows_per_pass=per_pass,
        wide_grid=wide_grid, wide_block=wide_block, num_segments=pieces, min_segment=shortest,
        point_block=point_block, reduce_block=reduce_block, range_length=length, blocks_per_window=blocks,
        merge_fan_in=2 * point_block if limits.gpu_like else max(2, _next_power_of_two(pieces)),
    )  # fmt: skip


@dataclass(frozen=True)
class FixedBasePlan:
    """How multiples of one point are made.

    Attributes:
        window_bits, num_windows: The table holds 2^(window_bits - 1) points a window.
        run: Neighbouring table entries that one thread makes.
        chunk: Scalars whose results are in projective form at once.
    """

    window_bits: int
    num_windows: int
    run: int
    chunk: int


def plan_fixed_base(
    n: int,
    group: GroupSpec,
    limits: DeviceLimits,
    *,
    window_bits: int | None = None,
    chunk: int | None = None,
) -> FixedBasePlan:
    """Choose the table's window: n additions a window against the entries of the table.

    Args:
        n: Number of scalars, >= 1.
        group: Where the base lives.
        limits: The device.
        window_bits: 2..16; the cheapest where None.
        chunk: Scalars a launch; as many as a sixteenth of the memory holds in projective form (at most 4 GiB,
            256 MiB on a host) where None.

    Raises:
        RangeError: window_bits outside its interval.
    """
    bits = group.curve.fr.bits
    if window_bits is not None and not MIN_WINDOW_BITS <= window_bits <= 16:
        raise RangeError(f"window_bits is {window_bits}", limit=f"{MIN_WINDOW_BITS} to 16")

    def cost(c: int) -> int:
        # A table entry costs its addition and its share of the normalisation.
        return num_signed_windows(bits, c) * (n * _MADD + (1 << (c - 1)) * (_MADD + 8))

    c = window_bits or min(range(MIN_WINDOW_BITS, 17), key=cost)
    budget = min(_default_memory(limits, asked=False) // 4, 4 << 30)
    return FixedBasePlan(
        window_bits=c, num_windows=num_signed_windows(bits, c), run=min(1 << (c - 1), 32),
        chunk=chunk or _clamp(budget // group.xyzz_bytes, 1, n),
    )  # fmt: skip
