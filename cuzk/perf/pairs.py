"""Interleaved comparison of two builds: rounds of A, B and A once more, and sign-test bounds that look several times.

Two builds do the same work by turns, and a second process of the first takes part in every round, so that clocks, heat
and neighbours hit all three alike.  Each round gives one log-ratio ln(B/A) and one of A against A.  The comparison
looks at them after a fixed number of rounds, and stops as soon as a bound that is exact whatever the noise says enough;
what all looks together may err by is fixed beforehand (signs.sequential_ranks).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from cuzk.errors import RangeError
from cuzk.perf.signs import lower_bound, sequential_ranks, upper_bound
from cuzk.perf.tolerances import Tolerances

__all__ = [
    "ALPHA",
    "BETA",
    "LOOKS",
    "PAIRS",
    "Answer",
    "Comparison",
    "Outcome",
    "PairLimits",
    "Rounds",
    "abba",
    "compare_pairs",
    "decide",
    "judge",
    "looks_of",
    "order_of_three",
]

#: Rounds after which the comparison looks; the last is the most that it takes before an alarm is confirmed.
LOOKS = (12, 16, 24, 36, 60)
PAIRS = LOOKS[-1]
#: The most that all looks together err by in an alarm (or in what makes a phase void), where B lies on the limit.
ALPHA = 0.001
#: The same for a pass.
BETA = 0.01
#: An alarm has to repeat: in the median of so many rounds more.
_CONFIRM = 6
#: Less of it says nothing: the bound does not exist.
_LEAST_PAIRS = 10
_QUARTILES_TO_SIGMA = 1.349
#: Each side is as often in each place; two rounds in a row mirror each other, so a linear drift cancels.
_THREE = ("ABC", "CBA", "BCA", "ACB", "CAB", "BAC")


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
    """

    slower: float = 0.01
    faster: float = 0.02
    control_median: float = 0.005

    @classmethod
    def of(cls, tolerances: Tolerances, metric: str = "time", subject: str = "") -> PairLimits:
        """The written limits.

        Args:
            tolerances: What tolerances.toml says.
            metric: "time", or "wall": a host's clock around a phase whose work is a GPU's.
            subject: The phase.
        """
        limit = tolerances.of("T2", metric, subject)
        control = tolerances.of("T2", "control" if metric != "wall" else "wall_control")
        return cls(math.log1p(limit.rise), -math.log1p(-limit.fall), control.rise)


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
    """What a comparison came to.

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


@dataclass(frozen=True)
class Rounds:
    """Times of three sides, in any one unit; the i-th of each are next to each other in time.

    Args:
        a: The baseline.
        b: What is judged.
        twin: The baseline once more.
    """

    a: Sequence[float]
    b: Sequence[float]
    twin: Sequence[float]


def abba(pairs: int) -> str:
    """The order of two sides: each pair starts with the build that ended the one before, so drift cancels.

    Example:
        >>> abba(3)
        'ABBAAB'
    """
    return "".join("AB" if i % 2 == 0 else "BA" for i in range(pairs))


def order_of_three(round_number: int) -> str:
    """The order of a round: A, B and C, which is A once more.

    Example:
        >>> [order_of_three(i) for i in range(3)]
        ['ABC', 'CBA', 'BCA']
    """
    return _THREE[round_number % len(_THREE)]


def looks_of(pairs: int) -> tuple[int, ...]:
    """The looks of a comparison of so many rounds at most.

    Example:
        >>> looks_of(30)
        (12, 16, 24, 30)

    Raises:
        RangeError: Fewer rounds than the first look needs.
    """
    if pairs < LOOKS[0]:
        raise RangeError(f"{pairs} rounds", limit=f"at least {LOOKS[0]}", remedy="give a larger --pairs")
    return (*(look for look in LOOKS if look < pairs), pairs)


def _logs(a: Sequence[float], b: Sequence[float], least: int) -> list[float]:
    if len(a) != len(b) or len(a) < least:
        raise RangeError(
            f"{len(a)} and {len(b)} samples", limit=f"as many of each, at least {least}",
            remedy="a phase that one build lacks has no ratio; else take more pairs",
        )  # fmt: skip
    for i, value in enumerate((*a, *b)):
        if not (math.isfinite(value) and value > 0):
            raise RangeError(
                f"sample {i} is {value!r}", limit="a finite time above zero",
                remedy="a clock stood still or went backwards: repeat short work within one sample",
            )  # fmt: skip
    return [math.log(y / x) for x, y in zip(a, b, strict=True)]


def compare_pairs(a: Sequence[float], b: Sequence[float], alpha: float = ALPHA) -> Comparison:
    """Compare samples that were taken in pairs, once.

    Args:
        a: Times of one build, in any one unit.
        b: Times of the other, a[i] and b[i] next to each other in time.
        alpha: Error rate of each bound.

    Raises:
        RangeError: Different or too small numbers; a time that is not finite and above zero.
    """
    logs = _logs(a, b, _LEAST_PAIRS)
    return _described(logs, lower_bound(logs, alpha), upper_bound(logs, alpha))


def _described(logs: list[float], low: float, high: float) -> Comparison:
    quartiles = statistics.quantiles(logs, n=4, method="inclusive")
    sigma = (quartiles[2] - quartiles[0]) / _QUARTILES_TO_SIGMA
    return Comparison(len(logs), statistics.median(logs), low, high, sigma)


def _bounds(logs: Sequence[float], rank: int) -> tuple[float, float]:
    """Where at most `rank` of the values are below and above."""
    ordered = sorted(logs)
    return (ordered[rank], ordered[-1 - rank]) if rank >= 0 else (-math.inf, math.inf)


def judge(rounds: Rounds, limits: PairLimits, pairs: int = PAIRS) -> Answer | int:
    """What some rounds say, looked at as they came in.

    Args:
        rounds: All so far.
        limits: What counts.
        pairs: The most, before an alarm is confirmed.

    Returns:
        The answer, or how many rounds are needed to go on.
    """
    looks = looks_of(pairs)
    strict, loose = sequential_ranks(looks, ALPHA), sequential_ranks(looks, BETA)
    for look, rank, pass_rank in zip(looks, strict, loose, strict=True):
        if len(rounds.a) < look:
            return look
        logs = _logs(rounds.a[:look], rounds.b[:look], look)
        against = _logs(rounds.a[:look], rounds.twin[:look], look)
        found, control = _described(logs, *_bounds(logs, rank)), _described(against, *_bounds(against, rank))
        # Noise alone moves the median of few pairs, and wide noise far: a bias is what the bounds agree about. Where
        # they cannot tell yet, nothing is answered before the last look.
        is_off = abs(control.median) > limits.control_median
        if is_off and not control.low <= 0 <= control.high:
            note = f"A against A differs by {control.median:+.2%} in the median: this machine cannot tell now"
            return Answer(Outcome.VOID, None, control, note)
        if is_off and look < pairs:
            continue
        outcome = _read(found, _bounds(logs, pass_rank), limits, is_last=look == pairs)
        if outcome is Outcome.SLOWER:
            if len(rounds.a) < look + _CONFIRM:
                return look + _CONFIRM
            if not _repeats(rounds, look, limits):
                return Answer(Outcome.UNCLEAR, found, control, "slower once and not again: measure once more")
        if outcome is not None:
            return Answer(outcome, found, control, _said(found, outcome))
    raise AssertionError("the last look always answers")


def decide(take: Callable[[int], Rounds], limits: PairLimits | None = None, pairs: int = PAIRS) -> Answer:
    """Take rounds until they say something: the whole comparison of one metric.

    Args:
        take: Called with a number of rounds; gives them.
        limits: By default those that docs/ledger.md explains.
        pairs: The most, before an alarm is confirmed.
    """
    rounds, wanted = Rounds([], [], []), looks_of(pairs)[0]
    while True:
        more = take(wanted - len(rounds.a))
        rounds = Rounds([*rounds.a, *more.a], [*rounds.b, *more.b], [*rounds.twin, *more.twin])
        answer = judge(rounds, limits or PairLimits(), pairs)
        if isinstance(answer, Answer):
            return answer
        wanted = answer


def _repeats(rounds: Rounds, look: int, limits: PairLimits) -> bool:
    """Whether the rounds after a look say of themselves that B is slower."""
    last = look + _CONFIRM
    return statistics.median(_logs(rounds.a[look:last], rounds.b[look:last], _CONFIRM)) > limits.slower


def _read(
    found: Comparison, passing: tuple[float, float], limits: PairLimits, *, is_last: bool
) -> Outcome | None:
    """What a look says; None where the next one may say more."""
    if found.low > limits.slower:
        return Outcome.SLOWER
    if found.high < -limits.faster:
        return Outcome.FASTER
    # A pass has to be shown as well: noise that hides a slow-down is none.
    if passing[1] < limits.slower and (is_last or passing[0] > -limits.faster):
        return Outcome.SAME
    return Outcome.UNCLEAR if is_last else None


def _said(found: Comparison, outcome: Outcome) -> str:
    again = ", and again after it" if outcome is Outcome.SLOWER else ""
    return (
        f"{outcome.value}: median {math.expm1(found.median):+.2%}, "
        f"between {math.expm1(found.low):+.2%} and {math.expm1(found.high):+.2%} in {found.pairs} rounds{again}"
    )
