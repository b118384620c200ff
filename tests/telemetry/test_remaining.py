"""The estimate of the remaining time, on a clock that the test turns.

Would catch: a guess before anything was measured, an estimate that a linear workload contradicts by more than half,
one that jumps up and down, one that stays at zero while a phase overruns, and phases counted twice.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from cuzk.telemetry import Remaining
from cuzk.telemetry.remaining import MEASURED_SHARE


class Clock:
    """Nanoseconds, moved by hand."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> int:
        return round(self.now_s * 1e9)


Estimates = list[tuple[float, float]]


def run(
    work: dict[str, float], seconds: dict[str, float], *, reports: bool, tick_s: float = 0.25
) -> tuple[Estimates, float]:
    """Play a run; gives (time, estimate) at every tick with an estimate, and the length of the run."""
    clock = Clock()
    remaining = Remaining(work, clock=clock)
    seen: Estimates = []
    for phase, length in seconds.items():
        remaining.start(phase)
        start = clock.now_s
        while clock.now_s < start + length:
            clock.now_s = min(clock.now_s + tick_s, start + length)
            if reports:
                remaining.advance(phase, (clock.now_s - start) / length)
            estimate = remaining.seconds()
            if estimate is not None:
                seen.append((clock.now_s, estimate))
        remaining.finish(phase, length)
    return seen, clock.now_s


LINEAR = {
    "circuit_load": 3.0,
    "tau_columns": 10.0,
    "points_a": 120.0,
    "points_b_g2": 300.0,
    "points_h": 250.0,
}


@pytest.mark.parametrize("reports", [True, False])
@pytest.mark.parametrize("pace", [0.001, 0.02, 5.0])
def test_a_linear_workload_is_estimated_within_a_factor_of_one_and_a_half(pace: float, reports: bool) -> None:
    seconds = {phase: units * pace for phase, units in LINEAR.items()}
    seen, end = run(LINEAR, seconds, reports=reports, tick_s=sum(seconds.values()) / 400)
    assert len(seen) > 300, "from a few percent on there is an estimate"
    for now, estimate in seen:
        left = end - now
        assert left / 1.5 - 1e-6 <= estimate <= left * 1.5 + 1e-6, (now, estimate, left)
    falling = [later[1] <= earlier[1] + 1e-6 for earlier, later in pairwise(seen)]
    assert all(falling), "the estimate never rises where the model is right"


def test_between_two_reports_the_estimate_falls_with_the_clock() -> None:
    """A phase that reports seldom is not taken for one that has become slow."""
    clock = Clock()
    remaining = Remaining({"points_a": 10.0, "points_h": 10.0}, clock=clock)
    remaining.start("points_a")
    clock.now_s = 3.0
    remaining.advance("points_a", 0.3)
    assert remaining.seconds() == pytest.approx(17.0)
    clock.now_s = 5.5
    assert remaining.seconds() == pytest.approx(14.5)
    clock.now_s = 12.0
    assert remaining.seconds() == pytest.approx(10.0), "what comes later is not done yet"


@pytest.mark.parametrize("seed", range(20))
def test_a_model_that_is_off_by_a_fifth_is_still_within_a_factor_of_one_and_a_half(seed: int) -> None:
    source = random.Random(seed)
    seconds = {phase: units * 0.1 * source.uniform(0.83, 1.2) for phase, units in LINEAR.items()}
    seen, end = run(LINEAR, seconds, reports=True, tick_s=0.1)
    for now, estimate in seen:
        if end - now > 0.02 * end:
            assert (end - now) / 1.5 <= estimate <= (end - now) * 1.5, (now, estimate, end - now)
    rises = sum(later[1] - earlier[1] for earlier, later in pairwise(seen) if later[1] > earlier[1])
    assert rises <= 0.5 * end, "it may correct itself, but not sway"


def test_no_estimate_before_something_was_measured() -> None:
    clock = Clock()
    remaining = Remaining({"ntt_h": 90.0, "msm_h": 10.0}, clock=clock)
    assert remaining.seconds() is None
    remaining.start("ntt_h")
    clock.now_s = 5.0
    assert remaining.seconds() is None, "a running phase that reports nothing says nothing about the pace"
    remaining.advance("ntt_h", MEASURED_SHARE / 2)
    assert remaining.seconds() is None
    remaining.advance("ntt_h", 0.5)
    assert remaining.seconds() == pytest.approx(5.0 + 10 / 45 * 5.0)


def test_a_phase_that_overruns_slows_the_estimate_down() -> None:
    """The machine became ten times slower: nobody is told `0 s` for a minute."""
    clock = Clock()
    remaining = Remaining({"ntt_h": 10.0, "msm_h": 10.0, "tail_msm": 10.0}, clock=clock)
    remaining.start("ntt_h")
    clock.now_s = 1.0
    remaining.finish("ntt_h", 1.0)
    remaining.start("msm_h")
    assert remaining.seconds() == pytest.approx(2.0)
    clock.now_s = 2.0
    assert remaining.seconds() == pytest.approx(1.0)
    clock.now_s = 10.0
    slow = remaining.seconds()
    assert slow is not None
    assert slow >= 5.0


def test_unknown_phases_and_early_ends_change_nothing() -> None:
    clock = Clock()
    remaining = Remaining({"ntt_h": 5.0, "msm_h": 5.0, "pin_abc": 0.0}, clock=clock)
    remaining.start("synthesis")
    remaining.advance("synthesis", 0.5)
    remaining.finish("synthesis", 100.0)
    remaining.finish("pin_abc", 100.0)
    assert remaining.seconds() is None
    remaining.start("ntt_h")
    remaining.finish("ntt_h", 3.0)
    remaining.finish("ntt_h", 3.0)
    assert remaining.seconds() == pytest.approx(3.0)
    assert remaining.done_share == pytest.approx(0.5)
    remaining.finish("msm_h", 3.0)
    assert remaining.seconds() == pytest.approx(0.0)
    assert remaining.done_share == pytest.approx(1.0)


def test_progress_only_goes_forward() -> None:
    remaining = Remaining({"ntt_h": 1.0}, clock=Clock())
    remaining.start("ntt_h")
    for share, shown in ((0.4, 0.4), (0.2, 0.4), (7.0, 1.0)):
        remaining.advance("ntt_h", share)
        assert remaining.done_share == pytest.approx(shown)
