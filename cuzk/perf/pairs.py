"""Interleaved comparison of two builds: ABBA, the sign-test bound on the median log-ratio, and A against A.

Two builds do the same work by turns, so that clocks, heat and neighbours hit both alike.  Each pair gives one
log-ratio, ln(B/A).  The gate fails if a bound for their median, exact whatever the noise, lies above a margin; the
same pairs of A against A say beforehand whether the machine can tell at all.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from cuzk.errors import RangeError
from cuzk.perf.signs import lower_bound, upper_bound
from cuzk.perf.tolerances import Tolerances

__all__ = [
    "ALPHA",
    "PAIRS",
    "Answer",
    "Comparison",
    "Outcome",
    "PairLimits",
    "abba",
    "compare_pairs",
    "decide",
]

#: Pairs of a comparison; doubled once where the answer is unclear.
PAIRS = 30
#: Error rate of each bound: the 7th smallest of 30, P = 0.0007.
ALPHA = 0.001
#: Less of it says nothing: the bound does not exist.
_LEAST_PAIRS = 10
_QUARTILES_TO_SIGMA = 1.349


class Outcome(Enum):
    """What a comparison says of B."""

    SAME = "same"
    SLOWER = "slower"
    FASTER = "faster"  # beyond what the ledger lets pass without being told
    UNCLEAR = "unclear"
    VOID = "void"


@dataclass(frozen=True)
class PairLimits:
    """Limits of a comparison, as natural logarithms of ratios; tolerances.toml has them as [T2].

    Args:
        slower: The bound that B's median has to stay under.
        faster: An improvement of more than this has to be accepted.
        control_median: The most that A against A may differ in its median, if its bounds agree that it does.
        control_spread: The most that a sample of A may spread (one sigma, from the quartiles of the pairs).
    """

    slower: float = 0.01
    faster: float = 0.02
    control_median: float = 0.005
    control_spread: float = 0.02

    @classmethod
    def of(cls, tolerances: Tolerances, subject: str = "") -> PairLimits:
        """The written limits."""
        limit, control = tolerances.of("T2", "time", subject), tolerances.of("T2", "control")
        return cls(math.log1p(limit.rise), -math.log1p(-limit.fall), control.rise, control.least)


@dataclass(frozen=True)
class Comparison:
    """Figures of one comparison.

    Args:
        pairs: How many.
        median: Median of ln(B/A).
        low: Bound that the true median is below with probability ALPHA at most.
        high: Bound that it is above with that probability at most.
        sigma: Spread of the log-ratios, from their quartiles.
    """

    pairs: int
    median: float
    low: float
    high: float
    sigma: float


@dataclass(frozen=True)
class Answer:
    """What decide() came to.

    Args:
        outcome: What B is.
        comparison: The pairs that it rests on; None where A against A made it void.
        control: A against A.
        note: The reason in words.
    """

    outcome: Outcome
    comparison: Comparison | None
    control: Comparison
    note: str


def abba(pairs: int) -> str:
    """The order of samples: each pair starts with the build that ended the one before, so drift cancels.

    Example:
        >>> abba(3)
        'ABBAAB'
    """
    return "".join("AB" if i % 2 == 0 else "BA" for i in range(pairs))


def compare_pairs(a: Sequence[float], b: Sequence[float], alpha: float = ALPHA) -> Comparison:
    """Compare samples that were taken in pairs.

    Args:
        a: Times of one build, in any one unit.
        b: Times of the other, a[i] and b[i] next to each other in time.
        alpha: Error rate of each bound.

    Raises:
        RangeError: Different or too small numbers; a time that is not finite and above zero.
    """
    if len(a) != len(b) or len(a) < _LEAST_PAIRS:
        raise RangeError(
            f"{len(a)} and {len(b)} samples", limit=f"as many of each, at least {_LEAST_PAIRS}",
            remedy="a phase that one build lacks has no ratio; else take more pairs",
        )  # fmt: skip
    for i, value in enumerate((*a, *b)):
        if not (math.isfinite(value) and value > 0):
            raise RangeError(
                f"sample {i} is {value!r}", limit="a finite time above zero",
                remedy="a clock stood still or went backwards: repeat short work within one sample",
            )  # fmt: skip
    logs = [math.log(y / x) for x, y in zip(a, b, strict=True)]
    quartiles = statistics.quantiles(logs, n=4, method="inclusive")
    return Comparison(
        len(logs), statistics.median(logs), lower_bound(logs, alpha), upper_bound(logs, alpha),
        (quartiles[2] - quartiles[0]) / _QUARTILES_TO_SIGMA,
    )  # fmt: skip


_Sampler = Callable[[str, int], tuple[Sequence[float], Sequence[float]]]


def decide(sample: _Sampler, limits: PairLimits | None = None, pairs: int = PAIRS) -> Answer:
    """Run a whole comparison: control, pairs, twice as many where that is unclear, and an alarm only if it repeats.

    Args:
        sample: Called with "AA" or "AB" and a number of pairs; gives the two lists of times.
        limits: By default those that docs/ledger.md explains.
        pairs: Pairs of each step.
    """
    limits = limits or PairLimits()
    control = compare_pairs(*sample("AA", pairs))
    if why := _void(control, limits):
        return Answer(Outcome.VOID, None, control, why)
    first = compare_pairs(*sample("AB", pairs))
    outcome = _read(first, limits)
    if outcome is Outcome.UNCLEAR:
        first = compare_pairs(*sample("AB", 2 * pairs))
        outcome = _read(first, limits)
    if outcome is not Outcome.SLOWER:
        return Answer(outcome, first, control, _said(first, outcome))
    again = compare_pairs(*sample("AB", 2 * pairs))
    if _read(again, limits) is Outcome.SLOWER:
        return Answer(Outcome.SLOWER, again, control, _said(again, Outcome.SLOWER) + ", twice")
    return Answer(Outcome.UNCLEAR, again, control, "slower once and not again: measure once more")


def _void(control: Comparison, limits: PairLimits) -> str:
    # Noise alone moves the median of few pairs by more than half a percent on some machines: a bias is what the
    # bounds agree about.
    if abs(control.median) > limits.control_median and not control.low <= 0 <= control.high:
        return f"A against A differs by {control.median:+.2%} in the median: this machine cannot tell now"
    one = control.sigma / math.sqrt(2)
    if one > limits.control_spread:
        return f"a sample of A spreads by {one:.2%}: this machine cannot tell now"
    return ""


def _read(found: Comparison, limits: PairLimits) -> Outcome:
    if found.low > limits.slower:
        return Outcome.SLOWER
    if found.high < -limits.faster:
        return Outcome.FASTER
    # Neither shown to be slower, nor shown not to be: more pairs may tell.
    return Outcome.UNCLEAR if found.median > limits.slower else Outcome.SAME


def _said(found: Comparison, outcome: Outcome) -> str:
    return (
        f"{outcome.value}: median {math.expm1(found.median):+.2%}, "
        f"between {math.expm1(found.low):+.2%} and {math.expm1(found.high):+.2%} in {found.pairs} pairs"
    )
