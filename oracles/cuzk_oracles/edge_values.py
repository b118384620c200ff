"""The named edge classes of docs and reports.

W words, F field elements, P points (in `edge_points`), K scalars, S sizes, A aliasing, M matrix rows.

Every function is pure and returns a list of (id, value); one id may have several values. `IDS` lists the ids
of each class, so that a run can count how often each was used. Field elements and scalars are ints in
standard form: an "F.std" value has the interesting bit pattern itself, an "F.mont" value is the one whose
Montgomery form has it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from cuzk_oracles import fields

CANARY_BYTE = 0xA5

# Operands of a madc.hi.u64 that CUDA before 11.5.1 compiled wrongly: (a, b, c) of a * b + c.
# Source: https://forums.developer.nvidia.com/t/196094
MADC_VECTOR = (0x42737A020C0D6393, 0xFFFFFFFF00000001, 0xC999E990F3F29C6D)

_FIELD_NAMES = (
    *("0", "1", "2", "3", "p-1", "p-2", "p-3", "(p-1)/2", "(p+1)/2", "R", "R-1", "R^2", "R^-1", "-R"),
    *("2^32k", "2^32k-1", "p-2^32k", "p+1-2^32k"),
    *("limb_ones", "other_limbs_ones", "p_limb_cleared", "p_bit_flipped", "runs"),
)
_PAIR_NAMES = ("sum_p", "sum_p-1", "sum_p+1", "sum_R", "sum_R-1", "sum_R+1", "equal", "opposite")

IDS: dict[str, tuple[str, ...]] = {
    "W": tuple(
        f"W.{name}"
        for name in (
            *("0", "1", "2", "half-1", "half", "half+1", "max-1", "max"),
            *("0x55", "0xAA", "madc"),
        )
    ),
    "F": (
        *(f"F.{form}.{name}" for name in _FIELD_NAMES for form in ("std", "mont")),
        *(f"F.{form}.{name}" for name in _PAIR_NAMES for form in ("std", "mont")),
        *(f"F.lazy.{name}" for name in ("p", "p+1", "2p-1")),
    ),
    "P": tuple(
        f"P.{name}"
        for name in (
            *("infinity", "infinity_left", "infinity_right", "infinity_xy", "generator", "equal", "opposite"),
            *("double_of", "z_differs", "z_one", "z_minus_one", "x_zero", "outside_subgroup", "cancels"),
        )
    ),
    "K": tuple(
        f"K.{name}"
        for name in (
            *("0", "1", "2", "r-1", "r-2", "(r-1)/2", "(r+1)/2", "2^k", "2^k-1", "switch", "carry_chain"),
            *("top_window", "small", "all_equal", "one_bucket", "bits_50", "bits_90", "bits_999", "uniform"),
            *("edges", "reject.r", "reject.r+1", "reject.max"),
        )
    ),
    "S": tuple(
        f"S.{name}"
        for name in (
            *("0", "1", "2", "3", "warp-1", "warp", "warp+1", "block-1", "block", "block+1", "2block+1"),
            *("grid_stride", "2^k-1", "2^k", "2^k+1", "prime", "2^20+1", "2GiB"),
        )
    ),
    "A": tuple(
        f"A.{name}"
        for name in ("disjoint", "out_is_a", "out_is_b", "a_is_b", "all_same", "overlap_a", "overlap_b")
    ),
    "M": tuple(
        f"M.{name}"
        for name in ("empty", "zero_coefficient", "repeated", "cancelling", "dense", "single", "minus_one")
    ),
    "C": tuple(
        f"C.{name}"
        for name in (
            *(
                "no_instance",
                "one_instance",
                "instances",
                "empty_piece",
                "own_input",
                "bound_input",
                "levels",
            ),
            *("empty_row", "long_row", "one_lane", "full_warp", "operand_one", "minus"),
            *(
                "logic",
                "sum",
                "sum_63",
                "sum_negated",
                "sum_empty",
                "bits",
                "solve",
                "wide",
                "linear",
                "hint",
            ),
        )
    ),
}

# Ids that have values only for some moduli (no spare bit), curves (cofactor, x = 0), sizes or devices.
OPTIONAL_IDS: frozenset[str] = frozenset(
    [
        *(f"F.{form}.{name}" for form in ("std", "mont") for name in ("sum_R", "sum_R-1", "sum_R+1")),
        *("F.std.p+1-2^32k", "F.mont.p+1-2^32k", "K.switch"),  # nothing in one-word fields, c > bits
        *("P.x_zero", "P.outside_subgroup", "S.2^20+1", "S.2GiB", "S.grid_stride"),
    ]
)


def words(bits: int = 32) -> list[tuple[str, int]]:
    """W: machine words of `bits` bits; the madc operands give all their words of that size."""
    half, top = 1 << (bits - 1), (1 << bits) - 1
    named = {"0": 0, "1": 1, "2": 2, "half-1": half - 1, "half": half, "half+1": half + 1}
    named |= {"max-1": top - 1, "max": top, "0x55": top // 3, "0xAA": top // 3 * 2}
    cases = [(f"W.{name}", value) for name, value in named.items()]
    for operand in MADC_VECTOR:
        for shift in range(0, 64, min(bits, 64)):
            cases.append(("W.madc", (operand >> shift) & top))
    return cases


def _runs(p: int, seed: int, count: int) -> Iterator[int]:
    """Integers below p made of long runs of equal bits, as libsecp256k1's tests draw them."""
    rng, bits = random.Random(seed), p.bit_length()
    for _ in range(count):
        value, length, bit = 0, 0, rng.getrandbits(1)
        while length < bits:
            run = rng.randint(1, max(1, bits // 4))
            if bit:
                value |= ((1 << run) - 1) << length
            length, bit = length + run, 1 - bit
        value %= 1 << bits
        yield value if value < p else value >> 1  # a reduction modulo p would break the runs


def field_patterns(p: int, limbs: int, seed: int = 0) -> list[tuple[str, int]]:
    """The bit patterns behind class F, all < p; names without the form prefix. `limbs` are of 64 bits."""
    r = 1 << (64 * limbs)
    cases: list[tuple[str, int]] = [(str(i), i) for i in range(4)]
    cases += [(f"p-{i}", p - i) for i in (1, 2, 3)]
    cases += [("(p-1)/2", (p - 1) // 2), ("(p+1)/2", (p + 1) // 2)]
    cases += [("R", r % p), ("R-1", (r - 1) % p), ("R^2", r * r % p), ("R^-1", pow(r, -1, p)), ("-R", -r % p)]
    words32 = range(0, p.bit_length(), 32)
    for shift in words32:
        power, word = 1 << shift, 0xFFFFFFFF << shift
        cases += [
            ("2^32k", power),
            ("2^32k-1", power - 1),
            ("p-2^32k", p - power),
            ("p+1-2^32k", p + 1 - power),
        ]
        all_ones = (1 << p.bit_length()) - 1
        cases += [
            ("limb_ones", word % (1 << (p.bit_length() - 1))),
            ("other_limbs_ones", (all_ones >> 1) & ~word),
        ]
        cases += [("p_limb_cleared", p & ~word)]
    cases += [("p_bit_flipped", p ^ (1 << i)) for i in range(p.bit_length())]
    cases += [("runs", value) for value in _runs(p, seed, 64)]
    return [(name, value) for name, value in cases if 0 <= value < p]


def _both_forms(name: str, value: int, p: int, limbs: int) -> list[tuple[str, int]]:
    return [(f"F.std.{name}", value), (f"F.mont.{name}", fields.from_mont(value, p, limbs))]


def field_values(p: int, limbs: int, seed: int = 0) -> list[tuple[str, int]]:
    """F: single elements, standard form, < p."""
    patterns = field_patterns(p, limbs, seed)
    return [case for name, value in patterns for case in _both_forms(name, value, p, limbs)]


def field_pairs(p: int, limbs: int, seed: int = 0) -> list[tuple[str, tuple[int, int]]]:
    """F: pairs (x, y), standard form: x = y, x = -y, and x + y near p or 2^(64*limbs) in the form of the id.

    No two elements of a field with spare bits reach 2^(64*limbs); those ids then have no value.
    """
    width = 1 << (64 * limbs)
    targets = {"sum_p": p, "sum_p-1": p - 1, "sum_p+1": p + 1}
    targets |= {"sum_R": width, "sum_R-1": width - 1, "sum_R+1": width + 1}
    starts = [1, 2, 3, p // 2, p - 2, p - 1, *_runs(p, seed, 8)]
    cases: list[tuple[str, tuple[int, int]]] = []
    for x in starts:
        raw = [(name, target - x) for name, target in targets.items()] + [("equal", x), ("opposite", -x % p)]
        for name, y in raw:
            if 0 <= y < p:
                cases.append((f"F.std.{name}", (x, y)))
                mont = fields.from_mont(x, p, limbs), fields.from_mont(y, p, limbs)
                cases.append((f"F.mont.{name}", mont))
    return cases


def lazy_values(p: int) -> list[tuple[str, int]]:
    """F: raw patterns for kernels that take < 2p; everywhere else they must be rejected."""
    return [("F.lazy.p", p), ("F.lazy.p+1", p + 1), ("F.lazy.2p-1", 2 * p - 1)]


def scalars(r: int, window_bits: int, scalar_bits: int | None = None) -> list[tuple[str, int]]:
    """K: single scalars below both r and 2^scalar_bits, for windows of `window_bits`."""
    c, bits = window_bits, scalar_bits or r.bit_length()
    limit = min(r, 1 << bits)
    named = [("0", 0), ("1", 1), ("2", 2), ("r-1", r - 1), ("r-2", r - 2)]
    named += [("(r-1)/2", (r - 1) // 2), ("(r+1)/2", (r + 1) // 2)]
    for k in range(bits):
        named += [("2^k", 1 << k), ("2^k-1", (1 << k) - 1)]
    half = 1 << (c - 1)
    windows = range(0, bits, c)
    for k in windows:
        named += [("switch", (1 << k) + half), ("switch", (1 << k) - half), ("switch", half << k)]
        named += [("switch", (half + 1) << k), ("switch", (half - 1) << k)]
        named += [
            ("carry_chain", (1 << k) - 1),
            ("carry_chain", sum((half + 1) << j for j in range(0, k, c))),
        ]
    top = windows[-1]
    named += [("top_window", limit - 1), ("top_window", 1 << top), ("top_window", limit >> top << top)]
    named += [("top_window", (1 << top) - half), ("top_window", (1 << (bits - 1)) - 1)]
    named += [("small", v) for v in (3, 255, 256, 65535)]
    return [(f"K.{name}", value) for name, value in named if 0 <= value < limit]


def scalar_vectors(
    r: int, n: int, window_bits: int, seed: int = 0, scalar_bits: int | None = None
) -> list[tuple[str, list[int]]]:
    """K: whole vectors of n scalars below r and 2^scalar_bits, by their distribution."""
    rng = random.Random(seed)
    limit = min(r, 1 << (scalar_bits or r.bit_length()))
    uniform = [rng.randrange(limit) for _ in range(n)]
    singles = [value for _, value in scalars(r, window_bits, scalar_bits)]
    num_windows_above = max(1, limit >> window_bits)
    digit = min(max(1, (1 << (window_bits - 1)) - 1), limit - 1)
    one_bucket = [((i % num_windows_above) << window_bits) + digit for i in range(n)]
    cases = [
        ("K.all_equal", [uniform[0]] * n if n else []),
        ("K.one_bucket", [value % limit for value in one_bucket]),
        ("K.small", [rng.randrange(min(limit, 1 << 16)) for _ in range(n)]),
        ("K.uniform", uniform),
        ("K.edges", [singles[i % len(singles)] for i in range(n)]),
    ]
    for name, share in (("K.bits_50", 0.5), ("K.bits_90", 0.9), ("K.bits_999", 0.999)):
        cases.append((name, [int(rng.random() >= share) for _ in range(n)]))
    return cases


def rejected_scalars(r: int, limbs: int) -> list[tuple[str, int]]:
    """K: values that a public boundary must reject."""
    return [("K.reject.r", r), ("K.reject.r+1", r + 1), ("K.reject.max", (1 << (64 * limbs)) - 1)]


def sizes(
    block: int, grid: int, max_size: int, element_bytes: int = 32, warp: int = 32
) -> list[tuple[str, int]]:
    """S: vector lengths up to max_size for a launch of `grid` blocks of `block` threads."""
    named = [(str(n), n) for n in range(4)]
    named += [("warp-1", warp - 1), ("warp", warp), ("warp+1", warp + 1)]
    named += [("block-1", block - 1), ("block", block), ("block+1", block + 1), ("2block+1", 2 * block + 1)]
    named += [("grid_stride", block * grid + 1), ("grid_stride", 2 * block * grid + block - 1)]
    for k in range(3, max(max_size, 1).bit_length()):
        named += [("2^k-1", (1 << k) - 1), ("2^k", 1 << k), ("2^k+1", (1 << k) + 1)]
    named += [("prime", n) for n in (5, 7, 61, 127, 251, 1021, 4093, 65521)]
    named += [("2^20+1", (1 << 20) + 1), ("2GiB", (1 << 31) // element_bytes + 1)]
    return [(f"S.{name}", n) for name, n in named if n <= max_size]


@dataclass(frozen=True)
class Alias:
    """Where two inputs and the output of n elements each start inside one buffer of 3n + 1 elements."""

    a: int
    b: int
    out: int


def aliasing(n: int) -> list[tuple[str, Alias]]:
    """A: every way in which operands can share memory; each must be allowed or rejected, never silent."""
    part = max(1, n // 2)
    return [
        ("A.disjoint", Alias(0, n, 2 * n)),
        ("A.out_is_a", Alias(0, n, 0)),
        ("A.out_is_b", Alias(0, n, n)),
        ("A.a_is_b", Alias(0, 0, n)),
        ("A.all_same", Alias(0, 0, 0)),
        ("A.overlap_a", Alias(0, 2 * n, part)),
        ("A.overlap_a", Alias(1, 2 * n, 0)),
        ("A.overlap_b", Alias(2 * n, 0, part)),
        ("A.overlap_b", Alias(2 * n, 1, 0)),
    ]


def matrix_rows(num_columns: int, r: int, seed: int = 0) -> list[tuple[str, list[tuple[int, int]]]]:
    """M: rows of a sparse matrix as (column, coefficient) entries; num_columns >= 2."""
    rng = random.Random(seed)
    i, j = rng.randrange(num_columns), rng.randrange(num_columns)
    x = rng.randrange(1, r)
    return [
        ("M.empty", []),
        ("M.zero_coefficient", [(i, 0), (j, x)]),
        ("M.repeated", [(i, x), (i, x), (i, 1)]),
        ("M.cancelling", [(i, x), (j, 1), (i, r - x), (j, r - 1)]),
        ("M.dense", [(column, rng.randrange(r)) for column in range(num_columns)]),
        ("M.single", [(num_columns - 1, 1)]),
        ("M.minus_one", [(0, r - 1)]),
    ]
