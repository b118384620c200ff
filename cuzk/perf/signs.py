"""Exact statistics that need no model of the noise: order statistics and binomial tails.

The k-th smallest of n independent samples lies above the true median only if fewer than k of them fell below it,
which has probability P(Bin(n, 1/2) < k) whatever their distribution.  That gives bounds for a median with an exact
error rate, and the same tails give bounds for a rate that was seen k times in n.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from cuzk.errors import RangeError

__all__ = [
    "binomial_tail",
    "lower_bound",
    "median_interval",
    "rate_upper_bound",
    "sequential_ranks",
    "upper_bound",
]

#: Steps of the bisection for a rate; 60 halvings reach the last bit of a float.
_HALVINGS = 60
#: Beyond so many trials a coefficient may be no float any more.
_MOST_IN_FLOATS = 1000


def binomial_tail(n: int, k: int, p: float = 0.5) -> float:
    """P(Bin(n, p) < k)."""
    if p in (0.0, 1.0):
        return float(k > n * p)
    if n <= _MOST_IN_FLOATS:
        return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(min(k, n + 1)))
    ways = (math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(min(k, n + 1)))
    return math.fsum(math.exp(w + i * math.log(p) + (n - i) * math.log1p(-p)) for i, w in enumerate(ways))


def _rank(n: int, alpha: float) -> int:
    """The largest k with P(Bin(n, 1/2) < k) <= alpha; 0 if n is too small for any."""
    k = 0
    while k < n and binomial_tail(n, k + 1) <= alpha:
        k += 1
    return k


@functools.cache
def sequential_ranks(looks: tuple[int, ...], alpha: float) -> tuple[int, ...]:
    """How many of the first n signs may be against a claim that is accepted at a look, for looks in a row.

    The error is spent in proportion to the signs seen, and counted exactly: signs are a walk, and what an earlier look
    has accepted does not come to a later one.

    Args:
        looks: Numbers of signs, rising.
        alpha: The most that all looks together may accept where each sign is a coin's.

    Returns:
        For each look the greatest number against; -1 where it can accept nothing.

    Example:
        >>> sequential_ranks((16, 24, 36, 60), 0.001)
        (1, 3, 7, 17)
    """
    ranks: list[int] = []
    walks, seen, spent = {0: 1.0}, 0, 0.0
    for n in looks:
        steps = [binomial_tail(n - seen, k + 1) - binomial_tail(n - seen, k) for k in range(n - seen + 1)]
        reached: dict[int, float] = {}
        for against, chance in walks.items():
            for k, step in enumerate(steps):
                reached[against + k] = reached.get(against + k, 0.0) + chance * step
        rank = -1
        while spent + reached.get(rank + 1, 0.0) <= alpha * n / looks[-1]:
            rank += 1
            spent += reached.pop(rank, 0.0)
        ranks.append(rank)
        walks, seen = reached, n
    return tuple(ranks)


def lower_bound(values: Sequence[float], alpha: float) -> float:
    """A value that the true median is below with probability alpha at most.

    Returns:
        An order statistic; minus infinity where there are too few values for that alpha.
    """
    k = _rank(len(values), alpha)
    return sorted(values)[k - 1] if k else -math.inf


def upper_bound(values: Sequence[float], alpha: float) -> float:
    """A value that the true median is above with probability alpha at most; infinity for too few values."""
    k = _rank(len(values), alpha)
    return sorted(values)[-k] if k else math.inf


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float]:
    """An interval that holds the true median with at least that probability.

    Returns:
        Two order statistics; least and greatest value where there are too few values for the level (under 6 for 95%).
    """
    if not values:
        raise RangeError("an interval of no values", limit="at least one value")
    ordered, k = sorted(values), _rank(len(values), (1 - level) / 2)
    return (ordered[k - 1], ordered[-k]) if k else (ordered[0], ordered[-1])


def rate_upper_bound(seen: int, trials: int, level: float = 0.95) -> float:
    """Clopper-Pearson's one-sided upper bound for a rate: of what was seen `seen` times in `trials`.

    Example:
        >>> round(rate_upper_bound(0, 60), 4)
        0.0487
    """
    if trials < 1 or not 0 <= seen <= trials:
        raise RangeError(f"{seen} of {trials} trials", limit="0 <= seen <= trials, trials >= 1")
    if seen == trials:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if binomial_tail(trials, seen + 1, middle) > 1 - level:
            low = middle
        else:
            high = middle
    return high
