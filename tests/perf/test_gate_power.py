"""The interleaved gate as an instrument: how often it cries wolf, and which slow-downs it sees, on simulated machines.

Would catch: a bound of another rank, looks that err more than they say together, an order that lets drift through, a
machine that cannot tell and passes, noise that makes what is clear void, a limit that is not used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from cuzk.errors import RangeError
from cuzk.perf import Outcome, Rounds, abba, compare_pairs, decide, judge, rate_upper_bound
from cuzk.perf.pairs import ALPHA, BETA, LOOKS, looks_of, order_of_three
from cuzk.perf.signs import binomial_tail, sequential_ranks
from tests.perf.power import HOST_CLOCK, LIMITS, Machine, outcomes, table


@pytest.mark.parametrize("cv", [0.002, 0.003, 0.01, *HOST_CLOCK.values()])
def test_the_same_build_raises_no_alarm(cv: float) -> None:
    """None in 600 trials: with 95% confidence under 0.5%. Nor does a build look faster. Quiet ones pass."""
    found = outcomes(600 if cv <= 0.01 else 100, cv)
    alarms = sum(outcome in (Outcome.SLOWER, Outcome.FASTER) for outcome in found)
    assert alarms == 0
    assert len(found) < 600 or rate_upper_bound(alarms, len(found)) < 0.005
    assert cv > 0.003 or found.count(Outcome.SAME) >= 598


@pytest.mark.parametrize(
    ("cv", "slower", "least"),
    [
        (0.002, 0.015, 58),  # a phase of 5 ms or more
        (0.003, 0.015, 56),
        (0.002, 0.02, 60),
        (0.013, 0.04, 58),  # a phase of 0.5 ms
        (0.01, 0.03, 58),
        (0.01, 0.05, 59),
        (0.018, 0.10, 59),  # by the clock of a busy host, which was void by its spread alone
    ],
)
def test_planted_slow_downs_are_seen(cv: float, slower: float, least: int) -> None:
    """Of 60 trials at least so many; none of the others passes."""
    found = outcomes(60, cv, slower)
    assert found.count(Outcome.SLOWER) >= least
    assert set(found) <= {Outcome.SLOWER, Outcome.UNCLEAR}


def test_looks_err_by_no_more_than_they_say() -> None:
    """By every path of 16 signs, and by the tails: what crosses at either look is counted once."""
    ranks = sequential_ranks((4, 8, 16), 0.05)
    crossed = 0
    for signs in itertools.product((0, 1), repeat=16):
        crossed += any(sum(signs[:n]) <= rank for n, rank in zip((4, 8, 16), ranks, strict=True))
    assert 0.02 < crossed / 2**16 <= 0.05
    for error in (ALPHA, BETA):
        tails = [
            binomial_tail(n, rank + 1) for n, rank in zip(LOOKS, sequential_ranks(LOOKS, error), strict=True)
        ]
        assert max(tails) <= error
        assert sum(tails) > error / 2


def test_at_the_limit_an_alarm_is_as_rare_as_it_says() -> None:
    """A median exactly on the limit: at most ALPHA; a pass at most BETA, each with room for chance."""
    at = math.expm1(LIMITS.slower)
    found = outcomes(800, 0.003, at, straggle=0.0)
    assert found.count(Outcome.SLOWER) <= 4
    assert found.count(Outcome.SAME) <= 18


def test_the_table_prints_power_and_bound() -> None:
    lines = table(2)
    assert len(lines) > 20
    assert "alarms at most" in lines[0]


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


def test_a_restless_machine_does_not_pass() -> None:
    """At 10% spread nothing is shown, so nothing passes."""
    found = outcomes(30, 0.10)
    assert found.count(Outcome.UNCLEAR) >= 25
    assert not {Outcome.SLOWER, Outcome.FASTER} & set(found)


def test_void_is_where_the_control_disagrees() -> None:
    """The second process of A is 2% slower, or 2% faster: void, whatever B is; noise alone is none."""
    for biased in (0.02, -0.02):
        for slower in (0.0, 0.05):
            assert set(outcomes(20, 0.003, slower, biased=biased)) == {Outcome.VOID}
    answer = decide(Machine(1, 0.003, biased=0.02))
    assert answer.comparison is None
    assert "cannot tell" in answer.note
    assert outcomes(300, 0.02).count(Outcome.VOID) <= 3  # by chance twice in 1,000, of 5 bounds


def test_an_improvement_asks_to_be_accepted() -> None:
    """Three percent faster is a verdict of its own, so that the ledger moves with it."""
    assert outcomes(60, 0.003, -0.03).count(Outcome.FASTER) >= 57


def test_clear_cases_stop_early_and_others_go_on() -> None:
    """Rounds are taken up to the look that says enough; an alarm takes six more, which have to agree."""
    same, slower, close = (
        Machine(seed, cv, share, straggle=0.0)
        for seed, cv, share in ((1, 0.001, 0.0), (1, 0.002, 0.05), (1, 0.01, 0.009))
    )
    assert decide(same, LIMITS).outcome is Outcome.SAME
    assert decide(slower, LIMITS).outcome is Outcome.SLOWER
    decide(close, LIMITS)
    assert (same.rounds, slower.rounds) == (LOOKS[0], LOOKS[1] + 6)
    assert close.rounds >= LOOKS[-1]


def test_what_was_answered_stays() -> None:
    """More rounds than a metric asked for, since another needs them, do not change its answer."""
    machine = Machine(3, 0.002, straggle=0.0)
    rounds = machine(60)
    first = Rounds(rounds.a[:12], rounds.b[:12], rounds.twin[:12])
    assert judge(rounds, LIMITS) == judge(first, LIMITS)
    assert judge(Rounds([1.0] * 5, [1.0] * 5, [1.0] * 5), LIMITS) == 12
    assert looks_of(24) == (12, 16, 24)
    with pytest.raises(RangeError, match="at least 12"):
        looks_of(11)


def test_three_sides_take_every_place_alike() -> None:
    """A linear drift cancels over two rounds, and over six no side is first more often."""
    orders = [order_of_three(i) for i in range(6)]
    assert sorted(orders) == sorted(map("".join, itertools.permutations("ABC")))
    for first, second in zip(orders[::2], orders[1::2], strict=True):
        assert first == second[::-1]


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
