"""Multi-scalar multiplication sum_i [s_i]P_i, and the digits, histograms and orders that bucket methods use.

Three ways to the same point: `msm_naive` (definition), `msm_buckets` (textbook bucket method, for some
thousand points) and `msm_by_exponents` (bases with known discrete logarithms: exact at any size for the price
of one multiplication). Points are affine or None; scalars are non-negative ints and are not reduced.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Generic

from cuzk_oracles import curve
from cuzk_oracles.curve import C, Group


def msm_naive(
    group: Group[C], bases: Sequence[tuple[C, C] | None], scalars: Sequence[int]
) -> tuple[C, C] | None:
    """sum_i [s_i]P_i, term by term."""
    terms = [curve.mul(group, s, base) for base, s in zip(bases, scalars, strict=True)]
    return curve.total(group, terms)


def msm_buckets(
    group: Group[C],
    bases: Sequence[tuple[C, C] | None],
    scalars: Sequence[int],
    window_bits: int | None = None,
) -> tuple[C, C] | None:
    """The bucket method with unsigned digits, by default of about log2(n) - 1 bits.

    Source: Bernstein, Doumen, Lange & Oosterwijk 2012, doi:10.1007/978-3-642-34931-7_26, section 4.
    """
    if len(bases) != len(scalars):
        raise ValueError(f"{len(bases)} bases but {len(scalars)} scalars")
    c = window_bits or max(1, len(bases).bit_length() - 2)
    bits = max((s.bit_length() for s in scalars), default=0)
    result: tuple[C, C] | None = None
    for i_window in reversed(range(num_windows(bits, c))):
        for _ in range(c):
            result = curve.double(group, result)
        buckets: list[tuple[C, C] | None] = [None] * (1 << c)
        for base, s in zip(bases, scalars, strict=True):
            digit = (s >> (i_window * c)) % (1 << c)
            buckets[digit] = curve.add(group, buckets[digit], base)
        result = curve.add(group, result, weighted_bucket_sum(group, buckets))
    return result


def weighted_bucket_sum(group: Group[C], buckets: Sequence[tuple[C, C] | None]) -> tuple[C, C] | None:
    """sum_d [d]buckets[d], as the sum of the running sums from the top."""
    running: tuple[C, C] | None = None
    result: tuple[C, C] | None = None
    for bucket in reversed(buckets[1:]):
        running = curve.add(group, running, bucket)
        result = curve.add(group, result, running)
    return result


def msm_exponent(logs: Sequence[int], scalars: Sequence[int], r: int) -> int:
    """The discrete logarithm of the MSM over bases [t_i]G: sum_i s_i t_i mod r."""
    return sum(s * t for s, t in zip(scalars, logs, strict=True)) % r


def msm_by_exponents(group: Group[C], logs: Sequence[int], scalars: Sequence[int]) -> tuple[C, C] | None:
    """The MSM over bases [t_i]G with known t_i, as one multiplication of G."""
    return curve.mul(group, msm_exponent(logs, scalars, group.r), group.generator)


def small_log_bases(group: Group[C], count: int) -> tuple[list[int], list[tuple[C, C] | None]]:
    """Logs 1, 2, ..., count and the bases [t]G; neighbours in one bucket make equal and opposite points."""
    return list(range(1, count + 1)), curve.multiples(group, group.generator, count)


class FixedBase(Generic[C]):
    """Multiples of one point through a table of [d 2^(8i)]P, for set-ups with some thousand elements."""

    def __init__(self, group: Group[C], point: tuple[C, C] | None, scalar_bits: int) -> None:
        self.group = group
        self.tables: list[list[tuple[C, C] | None]] = []
        for _ in range(num_windows(scalar_bits, 8)):
            table = [None, *curve.multiples(group, point, 255)]
            self.tables.append(table)
            point = curve.add(group, table[255], point)

    def mul(self, k: int) -> tuple[C, C] | None:
        """[k]P for 0 <= k < 2^scalar_bits: one addition per byte of k."""
        if not 0 <= k < 1 << (8 * len(self.tables)):
            raise ValueError(f"scalar {k} is outside the table of {8 * len(self.tables)} bits")
        return curve.total(self.group, [table[(k >> (8 * i)) % 256] for i, table in enumerate(self.tables)])


# --- digits: k = sum_i d_i 2^(c i) ------------------------------------------------------------------------


def num_windows(bits: int, c: int) -> int:
    """Windows of c bits that cover `bits` bits."""
    return -(-bits // c)


def num_signed_windows(bits: int, c: int) -> int:
    """Windows that signed digits of any k < 2^bits need: the carry out of the top may need one more."""
    return num_windows(bits + 1, c)


def unsigned_digits(k: int, c: int, count: int) -> list[int]:
    """Digits 0 <= d_i < 2^c, least significant first."""
    if not 0 <= k < 1 << (c * count):
        raise ValueError(f"scalar {k} does not fit {count} windows of {c} bits")
    return [(k >> (c * i)) % (1 << c) for i in range(count)]


def signed_digits(k: int, c: int, count: int) -> list[int]:
    """Digits -2^(c-1) < d_i <= 2^(c-1), least significant first: a digit above 2^(c-1) borrows from the next.

    The digit exactly at the switch, 2^(c-1), stays positive. Other conventions are as good; compare with
    `are_signed_digits` where the convention does not matter.
    """
    digits = []
    for _ in range(count):
        digit = k % (1 << c)
        if digit > 1 << (c - 1):
            digit -= 1 << c
        digits.append(digit)
        k = (k - digit) >> c
    if k:
        raise ValueError(f"scalar does not fit {count} signed windows of {c} bits: {k} is left over")
    return digits


def recompose(digits: Sequence[int], c: int) -> int:
    """sum_i d_i 2^(c i)."""
    return sum(digit << (c * i) for i, digit in enumerate(digits))


def are_signed_digits(digits: Sequence[int], k: int, c: int) -> bool:
    """Whether the digits denote k and none exceeds 2^(c-1) in absolute value, whatever the convention."""
    return recompose(digits, c) == k and all(abs(digit) <= 1 << (c - 1) for digit in digits)


# --- histogram, offsets, order ----------------------------------------------------------------------------


def bucket_counts(digits: Sequence[int], num_buckets: int) -> list[int]:
    """How many digits fall into each bucket abs(d), 0 <= abs(d) < num_buckets."""
    counts = Counter(abs(digit) for digit in digits)
    if counts and max(counts) >= num_buckets:
        raise ValueError(f"digit {max(counts)} but only {num_buckets} buckets")
    return [counts[bucket] for bucket in range(num_buckets)]


def bucket_offsets(counts: Sequence[int]) -> list[int]:
    """Exclusive prefix sums, with the total at the end: bucket b is [offsets[b], offsets[b+1])."""
    return [sum(counts[:i]) for i in range(len(counts) + 1)]


def bucket_order(digits: Sequence[int]) -> list[int]:
    """Indices sorted by bucket abs(d), equal buckets in input order."""
    return sorted(range(len(digits)), key=lambda i: abs(digits[i]))


def is_bucket_order(order: Sequence[int], digits: Sequence[int]) -> bool:
    """Whether `order` is a permutation that groups by ascending bucket, in any order within one bucket."""
    buckets = [abs(digits[i]) for i in order]
    return sorted(order) == list(range(len(digits))) and buckets == sorted(buckets)


def bucket_sums(
    group: Group[C], bases: Sequence[tuple[C, C] | None], digits: Sequence[int], num_buckets: int
) -> list[tuple[C, C] | None]:
    """The sum of sign(d_i) P_i per bucket abs(d_i); bucket 0 stays empty."""
    sums: list[tuple[C, C] | None] = [None] * num_buckets
    for base, digit in zip(bases, digits, strict=True):
        if digit:
            signed = base if digit > 0 else curve.neg(group, base)
            sums[abs(digit)] = curve.add(group, sums[abs(digit)], signed)
    return sums
