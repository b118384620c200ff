"""Binomial tails of a few trials and of thousands: a full run of mutants has that many."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from cuzk.perf.signs import binomial_tail, median_interval, rate_upper_bound


def exact_tail(n: int, k: int, p: Fraction) -> float:
    return float(sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k)))


@pytest.mark.parametrize(
    ("n", "k", "p"),
    [(60, 3, "1/2"), (900, 440, "1/2"), (1030, 500, "1/2"), (2000, 1972, "63/64"), (2500, 40, "1/64"), (1500, 0, "1/2"),
     (1500, 1501, "1/2")],
)  # fmt: skip
def test_tails_are_those_of_exact_arithmetic(n: int, k: int, p: str) -> None:
    wanted = exact_tail(n, k, Fraction(p))
    assert binomial_tail(n, k, float(Fraction(p))) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("n", [10, 2000])
def test_what_always_or_never_happens(n: int) -> None:
    assert [binomial_tail(n, 0, p) for p in (0.0, 1.0)] == [0.0, 0.0]
    assert [binomial_tail(n, 1, p) for p in (0.0, 1.0)] == [1.0, 0.0]
    assert [binomial_tail(n, n + 1, p) for p in (0.0, 1.0)] == [1.0, 1.0]


def test_bounds_of_thousands() -> None:
    """The bound of a rate is where its tail is 5%; an interval of many values closes in on their median."""
    bound = rate_upper_bound(1942, 1978)
    assert 1942 / 1978 < bound < 0.99
    assert binomial_tail(1978, 1943, bound) == pytest.approx(0.05, rel=1e-6)
    low, high = median_interval([float(i) for i in range(3001)])
    assert 1440 < low < 1500 < high < 1560
