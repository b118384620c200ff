"""Faults that benchmark gates of other projects have had: time per run, machines, noise, stale baselines."""

from __future__ import annotations

import dataclasses
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from cuzk.errors import InputError, RangeError
from cuzk.perf import (
    Baseline,
    Ledger,
    Measured,
    Outcome,
    PairLimits,
    Rounds,
    Verdict,
    change_points,
    compare_pairs,
    creep,
    decide,
    write_baseline,
)
from cuzk.perf.html import trend_lines
from cuzk.perf.sources import baselines_of
from tests.cli.support import cuzk
from tests.device import gpu

ROOT = Path(__file__).resolve().parents[2]
TOLERANCES = (ROOT / "perf_baselines" / "tolerances.toml").read_text(encoding="utf-8")
H200 = {"gpu": "NVIDIA H200", "driver": "580"}


def times(median: float, phase: str = "msm_h", **rest: Any) -> Baseline:
    """A stored time with little spread."""
    value = Measured.from_samples([median * f for f in (0.999, 1.0, 1.0, 1.001, 1.0, 1.0, 1.0)], "ms")
    given: dict[str, Any] = {"environment": H200, "reason": "test", "sequence": 10} | rest
    return Baseline("T2s", "porep", figures={}, measured={phase: {"time": value}}, **given)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """An empty ledger with the project's tolerances."""
    (tmp_path / "tolerances.toml").write_text(TOLERANCES, encoding="utf-8")
    return Ledger(tmp_path)


def benchmark_file(seconds: float, iterations: int) -> dict[str, Any]:
    """What pytest-benchmark writes: seconds of one iteration in `data`, whatever the iterations of a round are."""
    stats = {"data": [seconds, seconds * 1.01, seconds * 0.99], "iterations": iterations, "median": seconds}
    return {
        "benchmarks": [{"name": "ntt", "group": "ntt", "stats": stats, "extra_info": {}}],
        "machine_info": {},
    }


class SlowToSync:
    """A device whose synchronisation takes far longer than the work."""

    def __init__(self) -> None:
        self.syncs = 0

    def synchronize(self) -> None:
        """Costs 2 ms."""
        self.syncs += 1
        time.sleep(0.002)


def test_prf_03_short_work_is_timed_without_a_wait_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of a sample is what the events say, and the host waits before and after all of them."""
    device = SlowToSync()
    monkeypatch.setattr(gpu, "event_ms", lambda device, run: run() or 0.005)
    found = gpu.measure(device, lambda: None, repeats=20)
    assert found["median_ms"] == 0.005
    assert device.syncs == 2


def test_prf_06_figures_are_of_one_iteration() -> None:
    """The same work in rounds of 1 and of 100 iterations has the same figure."""
    made = [
        baselines_of(benchmark_file(0.002, n), {}, "r", "0000000", "2026-11-30", 0)[0].measured["ntt"]["time"]
        for n in (1, 100)
    ]
    assert made[0] == made[1]
    assert made[0].median == pytest.approx(2.0)


@pytest.mark.parametrize("change", [{"gpu": "NVIDIA H100"}, {"driver": "590"}, {"clocks": "1200"}])
def test_prf_07_other_machines_are_not_comparable(ledger: Ledger, change: dict[str, str]) -> None:
    """Another GPU, driver or clock: an error that says so, no verdict."""
    ledger.store(times(10.0))
    with pytest.raises(InputError, match="not comparable"):
        ledger.check(times(20.0, environment=H200 | change))
    moved = ledger.check(times(20.0))
    assert [row.verdict for row in moved] == [Verdict.RISEN]


def test_prf_08_no_alarm_in_fifty_runs_of_forty_phases() -> None:
    """Forty phases, fifty times nothing: no alarm in any, with noise of the H200 and stragglers."""
    rng = random.Random(8)

    def sample(rounds: int) -> Rounds:
        def one() -> float:
            return rng.lognormvariate(0.0, 0.004) * (1.3 if rng.random() < 0.03 else 1.0)

        return Rounds(*([one() for _ in range(rounds)] for _ in range(3)))

    alarms = sum(decide(sample).outcome is Outcome.SLOWER for _ in range(50 * 40))
    assert alarms == 0


def test_prf_08_an_alarm_has_to_repeat() -> None:
    """Slower in the first round and not in the second is no alarm, but no pass either."""
    taken = 0

    def sample(rounds: int) -> Rounds:
        nonlocal taken
        own = [1.0 + 1e-4 * i for i in range(rounds)]
        slower = [one * (1.03 if taken + i < 16 else 1.0) for i, one in enumerate(own)]
        taken += rounds
        return Rounds(own, slower, own)

    assert decide(sample).outcome is Outcome.UNCLEAR
    assert taken == 22


@pytest.mark.parametrize("age", [0, 10_000])
def test_prf_09_stale_baselines_are_refused(ledger: Ledger, age: int) -> None:
    """Three times as slow as the tree, or from thousands of commits ago: refused."""
    ledger.store(times(30.0 if age == 0 else 10.0))
    rows = ledger.check(times(10.0, sequence=10 + age))
    assert [row.verdict for row in rows] == [Verdict.STALE]
    assert not Verdict.STALE.passes


def test_prf_10_twenty_times_slower_ends_with_1(ledger: Ledger, tmp_path: Path) -> None:
    """The command, from a result file, ends with 1 and says which phase."""
    row = {"log_domain": 20, "curve": "bn254", "dense": False, "constraints": 9, "variables": 9, "repeats": 7,
           "device_bytes": 1, "host_peak_bytes": 1, "median_ms": 10.0, "min_ms": 9.9, "max_ms": 10.1,
           "phases": {"msm_h": {"median_ms": 5.0, "min_ms": 4.9, "max_ms": 5.1, "repeats": 7}}}  # fmt: skip
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"device": "cuda:0 (NVIDIA H200)", "rows": [row]}), encoding="utf-8")
    where = ["--from", str(file), "--baselines", str(ledger.folder)]
    assert cuzk("perf", "record", "--reason", "first", *where).code == 0
    assert cuzk("perf", "check", *where).code == 0
    row["phases"] = {"msm_h": {"median_ms": 100.0, "min_ms": 99.0, "max_ms": 101.0, "repeats": 7}}
    file.write_text(json.dumps({"device": "cuda:0 (NVIDIA H200)", "rows": [row]}), encoding="utf-8")
    done = cuzk("perf", "check", *where)
    assert done.code == 1
    assert "msm_h: time risen: 5 -> 100" in done.err


def test_prf_14_small_steps_add_up() -> None:
    """Four steps under the threshold of 5%: reported against the best of the window."""
    found = creep([1.00, 1.04, 1.08, 1.12], 0.05)
    assert found is not None
    assert found.share > 0.05
    assert creep([1.00, 1.01, 1.0, 1.02], 0.05) is None


def test_prf_15_a_part_recovery_is_still_slower() -> None:
    """10 to 20 and back to 15: reported as 10 to 15."""
    found = creep([10, 10, 10, 20, 20, 15, 15])
    assert found is not None
    assert (found.best, found.now) == pytest.approx((10, 15))


def test_prf_16_too_few_samples_have_no_spread(ledger: Ledger) -> None:
    """One sample, two equal ones, no variance: no division by zero, and no verdict below the stated minimum."""
    assert Measured.from_samples([5.0], "ms").spread is None
    assert Measured.from_samples([5.0, 5.0], "ms").spread is None
    assert Measured.from_samples([5.0, 5.0, 5.0], "ms").spread == 0.0
    ledger.store(times(10.0))
    few = dataclasses.replace(times(10.0), measured={"msm_h": {"time": Measured.from_samples([10.0], "ms")}})
    assert [row.verdict for row in ledger.check(few)] == [Verdict.VOID]
    with pytest.raises(RangeError, match="at least 10"):
        compare_pairs([1.0] * 3, [1.0] * 3)
    assert compare_pairs([1.0] * 30, [1.0] * 30).sigma == 0.0


@pytest.mark.parametrize("place", [50, 99])
def test_prf_17_one_spike_is_no_change(place: int) -> None:
    """A spike in the middle or at the end: none; the same level three times: one."""
    rng = random.Random(17)
    series = [rng.gauss(10.0, 0.03) for _ in range(100)]
    spiked = [*series]
    spiked[place] *= 1.5
    assert change_points(spiked) == []
    assert creep(spiked) is None
    assert [c.index for c in change_points([*series, 15.0, 15.02, 14.98])] == [100]


@pytest.mark.parametrize("level", [0.2, 0.5, 1.0, 1e-9, 1e9])
def test_prf_18_constant_series_have_no_change(level: float) -> None:
    """No noise at all, at any scale and with any threshold."""
    for magnitude in (0.0, 0.02, 1.0):
        assert change_points([level] * 60, magnitude) == []
    assert creep([level] * 60, 0.0) is None


def test_prf_19_gate_and_report_use_the_written_limits(ledger: Ledger) -> None:
    """With 50% written down, a step of 20% passes the gate and the report; with the usual limits neither."""
    for i in range(8):
        ledger.add_record(times(10.0 + 0.001 * i, sequence=i, commit=f"{i:07d}"))
    for i in range(8, 12):
        ledger.add_record(times(12.0 + 0.001 * i, sequence=i, commit=f"{i:07d}"))
    write_baseline(ledger.folder, times(10.0))
    assert [row.verdict for row in ledger.check(times(12.0))] == [Verdict.RISEN]
    assert list(trend_lines(ledger, times(12.0)))
    wide = TOLERANCES.replace("rise = 0.02", "rise = 0.5").replace("rise = 0.05", "rise = 0.5")
    (ledger.folder / "tolerances.toml").write_text(wide, encoding="utf-8")
    loose = Ledger(ledger.folder)
    assert [row.verdict for row in loose.check(times(12.0))] == [Verdict.SAME]
    assert list(trend_lines(loose, times(12.0))) == []
    assert PairLimits.of(loose.tolerances).slower == PairLimits.of(ledger.tolerances).slower


@pytest.mark.parametrize("length", [1, 2, 3])
def test_prf_20_short_histories_say_nothing(length: int) -> None:
    """A step at the second or third point: not enough data."""
    series = [10.0, 20.0, 20.0][:length]
    assert change_points(series) == []
    assert creep(series) is None


def test_prf_21_only_the_order_counts(ledger: Ledger) -> None:
    """The same medians keyed by 0, 1, 2, by commits with gaps, and with days out of order: the same change point."""
    values = [10.0, 10.02, 9.98, 10.01, 9.99, 10.0, 11.0, 11.02, 10.98, 11.01]
    found: list[list[int]] = []
    for step, phase in ((1, "a"), (37, "b")):
        for i in random.Random(21).sample(range(len(values)), len(values)):  # written in any order
            day = f"2026-11-{30 - i:02d}"
            record = times(values[i], phase, sequence=i * step, commit=f"{step:03d}{i:04d}", date=day)
            ledger.add_record(record)
        points = ledger.series(times(1.0))[phase, "time"]
        found.append([c.index for c in change_points([point.value for point in points])])
    assert found == [[6], [6]]
