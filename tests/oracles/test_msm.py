"""Multi-scalar multiplication: definition, bucket method, known logarithms and two libraries must agree.

Would catch: a dropped window or carry, a digit at the sign switch on the wrong side, an empty or doubly used
bucket, scalars reduced where points outside the subgroup forbid it, an order that is no permutation.
"""

import random
from typing import Any

import pytest
from cuzk_oracles import curve, edge_points, edge_values, msm, third_party
from cuzk_oracles.curve import Group
from cuzk_oracles.params import BLS12_381, BN254, TINY, TOY, Params
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import points, values

GROUPS: list[Group[Any]] = [g for c in (BLS12_381, BN254, TOY) for g in (c.g1, c.g2)]
each_group = pytest.mark.parametrize("group", GROUPS, ids=[g.name for g in GROUPS])


@each_group
@settings(max_examples=4)
@given(data=st.data())
def test_buckets_are_the_definition(group: Group[Any], data: st.DataObject) -> None:
    """Points of class P too, outside the subgroup; windows that divide the bits and that do not."""
    n, c = data.draw(st.integers(0, 4)), data.draw(st.sampled_from([1, 3, 8, 11]))
    bases = data.draw(st.lists(points.points(group), min_size=n, max_size=n))
    scalars = data.draw(values.scalar_vectors(group.r, n, c))
    assert msm.msm_buckets(group, bases, scalars, c) == msm.msm_naive(group, bases, scalars)


@each_group
@settings(max_examples=5)
@given(data=st.data())
def test_known_logarithms(group: Group[Any], data: st.DataObject) -> None:
    n = data.draw(values.sizes(40))
    logs, bases = msm.small_log_bases(group, n)
    scalars = data.draw(values.scalar_vectors(group.r, n))
    assert msm.msm_by_exponents(group, logs, scalars) == msm.msm_buckets(group, bases, scalars)


LIBRARIES = [
    pytest.param(c, module, id=f"{c.name}-{module}")
    for module, curves in (("zksnake", (BLS12_381, BN254)), ("py_arkworks_bls12381", (BLS12_381,)))
    for c in curves
]


@pytest.mark.parametrize(("c", "module"), LIBRARIES)
@pytest.mark.parametrize("edge_id", sorted({i for i, _ in edge_values.scalar_vectors(BN254.r, 2, 8)}))
def test_against_libraries(c: Params, module: str, edge_id: str, rng: random.Random) -> None:
    n, adapter = 60, third_party.get(module)
    scalars = dict(edge_values.scalar_vectors(c.r, n, 8, rng.getrandbits(32)))[edge_id]
    logs, bases1 = msm.small_log_bases(c.g1, n)
    _, bases2 = msm.small_log_bases(c.g2, n)
    bases1[3], bases2[5], logs1, logs2 = None, None, list(logs), list(logs)
    logs1[3] = logs2[5] = 0
    assert adapter.g1_msm(c, bases1, scalars) == msm.msm_by_exponents(c.g1, logs1, scalars)
    assert adapter.g2_msm(c, bases2, scalars) == msm.msm_by_exponents(c.g2, logs2, scalars)


def test_against_library_at_2_12(rng: random.Random) -> None:
    """A size where a wrong window or carry cannot hide, through bases with logs 1..n."""
    n, c = 1 << 12, BN254
    logs, bases = msm.small_log_bases(c.g1, n)
    scalars = [rng.randrange(c.r) for _ in range(n)]
    assert third_party.get("zksnake").g1_msm(c, bases, scalars) == msm.msm_by_exponents(c.g1, logs, scalars)


def test_lengths_must_match() -> None:
    for call in (msm.msm_naive, msm.msm_buckets):
        with pytest.raises(ValueError, match=r"bases but 2 scalars|argument 2 is longer"):
            call(TOY.g1, [None], [1, 2])
    with pytest.raises(ValueError, match="1 bases but 2 scalars"):
        third_party.get("zksnake").g1_msm(BN254, [None], [1, 2])


def test_empty_sum_is_infinity() -> None:
    assert msm.msm_naive(TOY.g1, [], []) is None
    assert msm.msm_buckets(TOY.g1, [], []) is None
    assert msm.msm_by_exponents(TOY.g1, [], []) is None


def test_toy_exhaustive_two_terms() -> None:
    """All 31 x 31 scalar pairs over all pairs of three points of the tiny curve."""
    group = TINY.g1
    bases = [group.generator, curve.mul(group, 7, group.generator), None]
    for p in bases:
        for q in bases:
            for s in range(31):
                for t in range(31):
                    expected = curve.add(group, curve.mul(group, s, p), curve.mul(group, t, q))
                    assert msm.msm_buckets(group, [p, q], [s, t], 3) == expected


# --- digits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", range(2, 25))
@given(data=st.data())
def test_digits(c: int, data: st.DataObject) -> None:
    r = data.draw(st.sampled_from([BLS12_381.r, BN254.r, TOY.r]))
    k = data.draw(values.scalars(r, c))
    bits = r.bit_length()
    unsigned = msm.unsigned_digits(k, c, msm.num_windows(bits, c))
    assert all(0 <= d < 1 << c for d in unsigned)
    assert msm.recompose(unsigned, c) == k
    signed = msm.signed_digits(k, c, msm.num_signed_windows(bits, c))
    assert all(-(1 << (c - 1)) < d <= 1 << (c - 1) for d in signed)
    assert msm.are_signed_digits(signed, k, c)


@pytest.mark.parametrize("c", range(2, 9))
def test_digits_exhaustive_16_bits(c: int) -> None:
    """Every scalar of the toy curve; and the digits are the only ones in the range."""
    seen = set()
    for k in range(TOY.r):
        digits = tuple(msm.signed_digits(k, c, msm.num_signed_windows(16, c)))
        assert msm.are_signed_digits(digits, k, c)
        seen.add(digits)
    assert len(seen) == TOY.r


def test_digit_predicate_rejects() -> None:
    assert msm.are_signed_digits([-4, 1], 4, 3)  # the other convention at the switch
    assert msm.are_signed_digits([4, 0], 4, 3)
    assert not msm.are_signed_digits([5, 0], 5, 3)  # too large
    assert not msm.are_signed_digits([3, 0], 4, 3)  # another scalar
    assert not msm.are_signed_digits([-4, 0], 4, 3)  # the carry is lost


@pytest.mark.parametrize(("bits", "c"), [(255, 13), (254, 16), (255, 5), (16, 4), (16, 16), (255, 2)])
def test_signed_window_count_is_enough_and_least(bits: int, c: int) -> None:
    """The largest scalar fits; one window less does not hold it."""
    count = msm.num_signed_windows(bits, c)
    largest = (1 << bits) - 1
    assert msm.are_signed_digits(msm.signed_digits(largest, c, count), largest, c)
    with pytest.raises(ValueError, match="does not fit"):
        msm.signed_digits(largest, c, count - 1)


def test_unsigned_digits_refuse_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        msm.unsigned_digits(1 << 16, 4, 4)


# --- histogram and order ----------------------------------------------------------------------------------


@given(digits=st.lists(st.integers(-8, 8), max_size=40))
def test_bucket_bookkeeping(digits: list[int]) -> None:
    counts = msm.bucket_counts(digits, 9)
    offsets = msm.bucket_offsets(counts)
    order = msm.bucket_order(digits)
    assert offsets[0] == 0
    assert offsets[-1] == len(digits) == sum(counts)
    assert msm.is_bucket_order(order, digits)
    for bucket in range(9):
        members = order[offsets[bucket] : offsets[bucket + 1]]
        assert members == [i for i, d in enumerate(digits) if abs(d) == bucket]


@given(digits=st.lists(st.integers(-3, 3), min_size=2, max_size=12))
def test_order_predicate_rejects(digits: list[int]) -> None:
    order = msm.bucket_order(digits)
    assert not msm.is_bucket_order(order[:-1], digits)
    assert not msm.is_bucket_order([*order[:-1], order[0]], digits)
    if abs(digits[order[0]]) != abs(digits[order[-1]]):
        assert not msm.is_bucket_order(order[::-1], digits)


def test_counts_refuse_a_digit_beyond_the_buckets() -> None:
    with pytest.raises(ValueError, match="digit 9 but only 9 buckets"):
        msm.bucket_counts([1, -9], 9)


@each_group
def test_bucket_sums_build_the_window_sum(group: Group[Any], rng: random.Random) -> None:
    """sum_d [d]bucket_d = sum_i [d_i]P_i, with the cancelling terms of class P in one bucket."""
    for _, terms in edge_points.cancelling_terms(group):
        digits = [rng.choice([3, -3, 5, 0]) for _ in terms]
        sums = msm.bucket_sums(group, terms, digits, 9)
        expected = curve.total(group, [curve.mul(group, d, p) for d, p in zip(digits, terms, strict=True)])
        assert msm.weighted_bucket_sum(group, sums) == expected
        assert sums[0] is None
    for _, terms in edge_points.cancelling_terms(group):
        assert msm.bucket_sums(group, terms, [2] * len(terms), 3)[2] == curve.total(group, terms)
