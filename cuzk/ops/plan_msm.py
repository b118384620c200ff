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
from cuzk.ops.msm_windows import measured_window
from cuzk.ops.plan_sums import MADD, SumsPlan, addition_lanes, places_left, plan_sums, sums_cost

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

_ADD, _DBL = 14, 9
#: An affine point from XYZZ form, with its share of the inversion.
_NORMALIZE = 9
#: Digits, counting and placing of one entry, measured against field multiplications of a whole device.
_SORT = 2
#: The same of an entry that waits for a crowded counter.
_CROWDED = 20
_POINT_BLOCK = 128
_WIDE_BLOCK = 256
#: A host core does one dependent operation in about a sixteenth of the time that a single GPU thread needs.
_HOST_SPEED = 16
#: Bytes of buckets and lists that a call may take where nothing else is said: windows come in several passes then,
#: each still long enough to fill the device.
_DEFAULT_HOST_MEMORY = 1 << 30
_DEFAULT_GPU_MEMORY = 24 << 30


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
        buckets: How a pass adds up the points of its buckets.
        low_bits: Buckets of a window stand in rows of 2^low_bits, 0 < low_bits < window_bits.
        lines: How a pass adds up rows and columns of buckets.
        bit_block: Threads of a block of msm_bit_sums.
    """

    n: int
    window_bits: int
    scalar_bits: int
    num_windows: int
    windows_per_pass: int
    wide_grid: int
    wide_block: int
    buckets: SumsPlan
    low_bits: int
    lines: SumsPlan
    bit_block: int

    @property
    def buckets_per_window(self) -> int:
        """2^(window_bits - 1): digits are signed."""
        return 1 << (self.window_bits - 1)

    @property
    def lines_per_window(self) -> int:
        """Columns and rows of a window's buckets."""
        return _lines(self.window_bits)[0]

    @property
    def line_places_per_window(self) -> int:
        """Buckets in all columns and rows of a window."""
        return _lines(self.window_bits)[1]


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
    return _clamp(-(-n // block), 1, addition_lanes(group, limits) // block), block


def _low_bits(window_bits: int) -> int:
    return window_bits // 2


def _lines(window_bits: int) -> tuple[int, int]:
    """(lines, places in them) of a window: BucketTable in cuzk/kernels/msm_sort.cuh."""
    length = 1 << _low_bits(window_bits)
    rows = (1 << (window_bits - 1)) // length
    return length - 1 + rows, (length - 1) * rows + (rows - 1) * length + 1


def window_cost(n: int, scalar_bits: int, window_bits: int, group: GroupSpec, limits: DeviceLimits) -> float:
    """Estimated time in multiplications of one lane, the lanes working side by side."""
    c, lanes = window_bits, addition_lanes(group, limits)
    windows, buckets = num_signed_windows(scalar_bits, c), 1 << (c - 1)
    entries, (lines, places) = windows * n, _lines(c)
    cost = _SORT * entries / lanes + sums_cost(entries, windows * buckets, group, limits)
    cost += _NORMALIZE * windows * buckets / lanes + sums_cost(
        windows * places, windows * lines, group, limits
    )
    bits = windows * c * (1 << max(0, c - 2 - c // 2)) * _ADD / lanes
    horner = windows * c * (_DBL + _ADD) / (_HOST_SPEED if limits.gpu_like else 1)
    # In the top window the bits that are left choose among few buckets, whose counters everybody waits for.
    top_bits = scalar_bits - (windows - 1) * c
    crowded = limits.gpu_like and top_bits < 12
    return cost + bits + horner + (_CROWDED * n / lanes if crowded else 0)


def _bytes_per_window(n: int, window_bits: int, group: GroupSpec, rounds: int) -> int:
    buckets = 1 << (window_bits - 1)
    left = [places_left(n, buckets, r) for r in (1, 2)]
    halves = left[0] * (8 + group.affine_bytes) + left[1] * group.affine_bytes if rounds else 0
    lists = 8 * n + 4 * _lines(window_bits)[1] + (12 if rounds else 4) * buckets
    return lists + halves + buckets * (group.xyzz_bytes + group.affine_bytes)


def _choose_window(n: int, scalar_bits: int, group: GroupSpec, limits: DeviceLimits, memory: int) -> int:
    fitting = [
        c for c in range(MIN_WINDOW_BITS, MAX_WINDOW_BITS + 1) if _bytes_per_window(n, c, group, 0) <= memory
    ]
    if not fitting:
        need = _bytes_per_window(n, MIN_WINDOW_BITS, group, 0)
        raise OutOfMemoryError(
            f"a multi-scalar multiplication of {n} terms needs {need} bytes",
            limit=f"{memory} bytes",
            remedy="use fewer terms, or allow more memory",
        )
    measured = measured_window(limits.model, group.full_name, n)
    if measured in fitting and scalar_bits == group.curve.fr.bits:
        return measured
    return min(fitting, key=lambda c: window_cost(n, scalar_bits, c, group, limits))


def _default_memory(limits: DeviceLimits, *, asked: bool) -> int:
    if asked:
        half = limits.memory_bytes // 2
        return min(half, _DEFAULT_GPU_MEMORY) if limits.gpu_like and limits.num_sms > 1 else half
    on_host = not limits.gpu_like or limits.num_sms == 1
    return min(limits.memory_bytes // 4, _DEFAULT_HOST_MEMORY if on_host else _DEFAULT_GPU_MEMORY)


def plan_msm(
    n: int,
    group: GroupSpec,
    limits: DeviceLimits,
    *,
    window_bits: int | None = None,
    scalar_bits: int | None = None,
    num_segments: int | None = None,
    min_segment: int | None = None,
    rounds: int | None = None,
    chunk: int | None = None,
    memory_bytes: int | None = None,
) -> MsmPlan:
    """Cut a multi-scalar multiplication.

    Args:
        n: Number of terms, >= 1.
        group: Where the bases live.
        limits: The device.
        window_bits: 2..24; where None, what was measured on the device's model, else the cheapest by the cost model.
        scalar_bits: Every scalar is < 2^scalar_bits; the bits of r where None.
        num_segments: Of both sums, as in plan_sums(); the following three too.
        min_segment: As in plan_sums().
        rounds: As in plan_sums().
        chunk: As in plan_sums().
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
    buckets, (lines, line_places) = 1 << (c - 1), _lines(c)

    def sums(places: int, keys: int, windows: int, rounds: int | None) -> SumsPlan:
        return plan_sums(
            windows * places, windows * keys, group, limits,
            rounds=rounds, chunk=chunk, num_segments=num_segments, min_segment=min_segment,
        )  # fmt: skip

    wanted = sums(n, buckets, windows, rounds).rounds
    if rounds is None and _bytes_per_window(n, c, group, wanted) > memory:
        rounds = wanted = 0
    need = _bytes_per_window(n, c, group, wanted)
    if need > memory:
        raise OutOfMemoryError(
            f"one window of {c} bits over {n} terms needs {need} bytes",
            limit=f"{memory} bytes",
            remedy="use smaller windows, or allow more memory",
        )
    # Entries and keys of a pass are counted in 32 bits, one of which is a sign.
    per_pass = max(1, min(windows, memory // need, (2**31 - 1) // n, 2**31 >> (c - 1)))
    passes = -(-windows // per_pass)
    per_pass = -(-windows // passes)
    wide_grid, wide_block = wide_shape(n, limits)
    most = 1 << max(0, c - 1 - _low_bits(c))  # lines that share a bit
    return MsmPlan(
        n=n, window_bits=c, scalar_bits=scalar_bits, num_windows=windows, windows_per_pass=per_pass,
        wide_grid=wide_grid, wide_block=wide_block, buckets=sums(n, buckets, per_pass, rounds),
        low_bits=_low_bits(c), lines=sums(line_places, lines, per_pass, rounds),
        bit_block=_clamp(_next_power_of_two(most), limits.warp, _POINT_BLOCK) if limits.gpu_like else 1,
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
        return num_signed_windows(bits, c) * (n * MADD + (1 << (c - 1)) * (MADD + 8))

    c = window_bits or min(range(MIN_WINDOW_BITS, 17), key=cost)
    budget = min(_default_memory(limits, asked=False) // 4, 4 << 30)
    return FixedBasePlan(
        window_bits=c, num_windows=num_signed_windows(bits, c), run=min(1 << (c - 1), 32),
        chunk=chunk or _clamp(budget // group.xyzz_bytes, 1, n),
    )  # fmt: skip
