"""The interleaved gate as an instrument: how often it cries wolf, and which slow-downs it sees, on simulated machines.

The noise is log-normal with the spread that was measured on an H200 (0.2 to 0.3% from 5 ms on, 0.4 to 1.3% at 0.5 ms),
with one-sided stragglers.  Would catch: a bound of another rank, a pair order that lets drift through, a machine that
cannot tell and passes, a limit that is not used.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cuzk.errors import RangeError
from cuzk.perf import Outcome, PairLimits, abba, compare_pairs, decide, rate_upper_bound, read_tolerances

ROOT = Path(__file__).resolve().parents[2]
LIMITS = PairLimits.of(read_tolerances(ROOT / "perf_baselines" / "tolerances.toml"))
Sampler = Callable[[str, int], tuple[list[float], list[float]]]


class Machine:
    """Times of two builds by turns.

    Args:
        seed: Of the noise.
        cv: Spread of one sample.
        slower: Share by which build B is slower.
        straggle: How often a sample takes 30% more.
        clock: Multiplies the time of the i-th sample of all: drift, steps.
    """

    def __init__(
        self,
        seed: int,
        cv: float,
        slower: float = 0.0,
        straggle: float = 0.03,
        clock: Callable[[int], float] = lambda i: 1.0,
    ) -> None:
        self.rng, self.cv, self.slower, self.straggle, self.clock = (
            random.Random(seed),
            cv,
            slower,
            straggle,
            clock,
        )
        self.taken = 0

    def one(self, side: str, is_control: bool) -> float:
        """One sample."""
        self.taken += 1
        time = 6.7 * self.rng.lognormvariate(0.0, self.cv) * self.clock(self.taken)
        if self.rng.random() < self.straggle:
            time *= 1.3
        return time * (1 + self.slower) if side == "B" and not is_control else time

    def __call__(self, kind: str, pairs: int) -> tuple[list[float], list[float]]:
        """Samples of both sides in the order ABBA."""
        sides: dict[str, list[float]] = {"A": [], "B": []}
        for side in abba(pairs):
            sides[side].append(self.one(side, kind == "AA"))
        return sides["A"], sides["B"]


def outcomes(trials: int, cv: float, slower: float = 0.0, **rest: object) -> list[Outcome]:
    return [decide(Machine(seed, cv, slower, **rest), LIMITS).outcome for seed in range(trials)]  # type: ignore[arg-type]


@pytest.mark.parametrize("cv", [0.002, 0.003, 0.01])
def test_the_same_build_raises_no_alarm(cv: float) -> None:
    """None in 600 trials: with 95% confidence under 0.5%. Nor does a build look faster."""
    found = outcomes(600, cv)
    alarms = sum(outcome in (Outcome.SLOWER, Outcome.FASTER) for outcome in found)
    assert alarms == 0
    assert rate_upper_bound(alarms, len(found)) < 0.005


@pytest.mark.parametrize(
    ("cv", "slower", "least"),
    [
        (0.002, 0.015, 57),  # a phase of 5 ms or more
        (0.003, 0.015, 57),
        (0.002, 0.02, 60),
        (0.013, 0.04, 57),  # a phase of 0.5 ms
        (0.01, 0.03, 57),
        (0.01, 0.05, 58),
        (0.01, 0.10, 58),
    ],
)
def test_planted_slow_downs_are_seen(cv: float, slower: float, least: int) -> None:
    """Of 60 trials at least so many. From 5% on the rest is void, which is no pass."""
    found = outcomes(60, cv, slower)
    assert found.count(Outcome.SLOWER) >= least
    assert slower < 0.05 or set(found) <= {Outcome.SLOWER, Outcome.VOID}


def test_what_lies_within_the_margin_passes() -> None:
    """Half a percent is not what the gate is for; it must not alarm by chance either."""
    assert outcomes(100, 0.003, 0.005).count(Outcome.SLOWER) == 0


@pytest.mark.parametrize(
    "clock",
    [
        lambda i: 1 + 0.0005 * i,  # heat: 0.05% slower with each sample
        lambda i: 1.25 if i > 75 else 1.0,  # clocks drop by a fifth in the middle of the pairs
        lambda i: 1 + 0.05 * math.sin(i / 20),  # a neighbour that comes and goes
    ],
    ids=["drift", "clock-step", "waves"],
)
def test_drift_and_clock_changes_are_no_regression(clock: Callable[[int], float]) -> None:
    """Both builds see the same clock, in an order that cancels its trend; and a real 3% is still seen."""
    found = outcomes(60, 0.003, clock=clock)
    assert not {Outcome.SLOWER, Outcome.FASTER} & set(found)
    seen = outcomes(60, 0.003, 0.03, clock=clock).count(Outcome.SLOWER)
    assert seen >= 57


def test_stragglers_do_not_matter() -> None:
    """One sample in five takes 30% more: no alarm, and 3% is seen."""
    assert outcomes(60, 0.003, straggle=0.2).count(Outcome.SLOWER) == 0
    assert outcomes(60, 0.003, 0.03, straggle=0.08).count(Outcome.SLOWER) >= 57


def test_a_restless_machine_is_void_and_void_is_no_pass() -> None:
    """At 10% spread nothing is said; nor where the first of two runs is always slower."""
    assert set(outcomes(30, 0.10)) <= {Outcome.VOID}

    def biased(kind: str, pairs: int) -> tuple[list[float], list[float]]:
        return [1.0 + 1e-4 * i for i in range(pairs)], [1.02 + 1e-4 * i for i in range(pairs)]

    answer = decide(biased)
    assert answer.outcome is Outcome.VOID
    assert answer.comparison is None
    assert "cannot tell" in answer.note


def test_an_improvement_asks_to_be_accepted() -> None:
    """Three percent faster is a verdict of its own, so that the ledger moves with it."""
    assert outcomes(60, 0.003, -0.03).count(Outcome.FASTER) >= 57


def test_the_unclear_zone_takes_twice_as_many_pairs() -> None:
    """A median over the margin with a bound under it: 60 pairs are asked for, once."""
    asked: list[tuple[str, int]] = []
    machine = Machine(5, 0.013, 0.014)

    def sample(kind: str, pairs: int) -> tuple[list[float], list[float]]:
        asked.append((kind, pairs))
        return machine(kind, pairs)

    for _ in range(20):
        decide(sample, LIMITS)
    assert ("AB", 60) in asked
    assert max(pairs for _, pairs in asked) == 60


def test_bound_is_the_seventh_of_thirty() -> None:
    """P(Bin(30, 1/2) < 7) = 0.0007."""
    ratios = [1 + i / 1000 for i in range(30)]
    found = compare_pairs([1.0] * 30, ratios)
    assert found.low == pytest.approx(math.log(ratios[6]))
    assert found.high == pytest.approx(math.log(ratios[-7]))


def test_order_cancels_a_linear_trend() -> None:
    order = abba(30)
    assert order[:8] == "ABBAABBA"
    first, second = (sum(i for i, side in enumerate(order) if side == s) for s in "AB")
    assert first == second


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_that_no_clock_gives_are_refused(bad: float) -> None:
    """Zero, a clock that went backwards, NaN, infinity: named, with the remedy."""
    with pytest.raises(RangeError, match="finite time above zero"):
        compare_pairs([1.0] * 29 + [bad], [1.0] * 30)
    with pytest.raises(RangeError, match="as many of each"):
        compare_pairs([1.0] * 30, [1.0] * 29)
