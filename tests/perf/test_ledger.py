"""The ledger as data: samples, units, environments, history, trends; and the commands that write it.

Would catch: a figure that no measurement can give and that is compared all the same; a baseline of another machine that
is taken for this one's; a record that overwrites another; a step or a creep that nobody reports, or that is noise.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
from pathlib import Path

import pytest

from cuzk.cli.perf_counted import Edges
from cuzk.cli.perf_instructions import count_instructions, read_counts, why_not
from cuzk.errors import FormatError, InputError, InternalError, RangeError
from cuzk.perf import Baseline, Ledger, Measured, Verdict, change_points, creep, read_baseline, write_baseline
from cuzk.perf.html import report
from cuzk.perf.signs import lower_bound, median_interval, rate_upper_bound
from cuzk.perf.verdicts import Absent, Answers, exit_code, markdown, to_junit
from tests.cli.support import cuzk

ROOT = Path(__file__).resolve().parents[2]
H200 = {"gpu": "NVIDIA H200", "driver": "580"}


def times(*samples: float, unit: str = "ms", **rest: object) -> Baseline:
    value = Measured.from_samples(samples, unit)
    made = Baseline("T2s", "porep", H200, {}, "test", {"msm_h": {"time": value}})
    return dataclasses.replace(made, **rest)  # type: ignore[arg-type]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    (tmp_path / "tolerances.toml").write_bytes((ROOT / "perf_baselines" / "tolerances.toml").read_bytes())
    return Ledger(tmp_path)


@pytest.mark.parametrize("bad", [0.0, -0.5, math.nan, math.inf])
def test_impossible_samples_are_refused(bad: float) -> None:
    with pytest.raises(RangeError):
        times(5.0, bad, 5.0)


def test_impossible_stored_values_are_refused(tmp_path: Path) -> None:
    """NaN in the file, an unknown unit, a median outside its interval, keys that are missing or unknown."""
    path = write_baseline(tmp_path, times(5.0, 5.1, 5.2))
    good = json.loads(path.read_text(encoding="utf-8"))
    for change in (
        {"median": math.nan}, {"unit": "fortnights"}, {"median": 9.0}, {"count": 2}, {"count": True}, {"colour": 1},
        {"samples": 3}, {"low": "5"},
    ):  # fmt: skip
        value = good["measured"]["msm_h"]["time"] | change
        path.write_text(json.dumps(good | {"measured": {"msm_h": {"time": value}}}), encoding="utf-8")
        with pytest.raises(FormatError, match="msm_h time"):
            read_baseline(path)


def test_a_unit_that_changed_is_no_verdict(ledger: Ledger) -> None:
    ledger.store(times(5.0, 5.0, 5.0))
    (row,) = ledger.check(times(5.0, 5.0, 5.0, unit="s"))
    assert row.verdict is Verdict.VOID
    assert "in ms, this in s" in row.note


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, Verdict.SAME), (1.015, Verdict.SAME), (1.03, Verdict.RISEN), (0.97, Verdict.FALLEN)],
)
def test_stored_medians(ledger: Ledger, factor: float, verdict: Verdict) -> None:
    ledger.store(times(10.0, 10.01, 9.99))
    assert [row.verdict for row in ledger.check(times(*(factor * t for t in (10.0, 10.01, 9.99))))] == [
        verdict
    ]


def test_tolerances_follow_what_days_differ_by(ledger: Ledger) -> None:
    """One build, 3% apart on two days: its phase may move by 4.4%, three times half of that, and not by more."""
    for day, median in (("2026-11-29", 10.0), ("2026-11-30", 10.3)):
        ledger.add_record(times(median, median, median, date=day))
    write_baseline(ledger.folder, times(10.0, 10.0, 10.0))
    assert ledger.day_spread(times(1.0))["msm_h", "time"] == pytest.approx(math.log(1.03) / 2)
    assert ledger.check(times(10.4, 10.4, 10.4))[0].verdict is Verdict.SAME
    assert ledger.check(times(10.5, 10.5, 10.5))[0].verdict is Verdict.RISEN


def test_what_is_missing_or_renamed_fails(ledger: Ledger) -> None:
    ledger.store(times(5.0, 5.0, 5.0))
    other = times(5.0, 5.0, 5.0)
    renamed = dataclasses.replace(other, measured={"msm_of_h": other.measured["msm_h"]})
    assert {row.verdict for row in ledger.check(renamed)} == {Verdict.MISSING, Verdict.NEW}


def test_nothing_compared_is_no_pass() -> None:
    """No rows at all, and a workload that was not compared, end with 2; with the caller's leave they do not."""
    assert exit_code(Answers([])) == 2
    row = Ledger(ROOT / "perf_baselines").check(
        read_baseline(ROOT / "perf_baselines" / "T1-mixed-60-bn254.json")
    )
    gone = Absent("T1h", "*", "valgrind is not installed")
    assert exit_code(Answers(row, [gone])) == 2
    assert exit_code(Answers(row, [dataclasses.replace(gone, allowed=True)])) == 0
    assert "Not compared:** T1h" in markdown(Answers(row, [gone]))
    assert '<error message="valgrind is not installed"/>' in to_junit(Answers(row, [gone]))


def test_history_has_a_file_a_record(ledger: Ledger) -> None:
    """Exact figures leave a record only where they moved, and then only those."""
    first = Baseline("T1", "w", {}, {"a": {"x": 1, "y": 2}, "b": {"x": 3}}, "r", sequence=1)
    assert ledger.add_record(first) is not None
    assert ledger.add_record(dataclasses.replace(first, sequence=2)) is None
    moved = dataclasses.replace(first, figures={"a": {"x": 9, "y": 2}, "b": {"x": 3}}, sequence=3)
    path = ledger.add_record(moved)
    assert path is not None
    assert read_baseline(path, is_record=True).figures == {"a": {"x": 9}}
    assert [p.value for p in ledger.series(first)["a", "x"]] == [1, 9]


def test_other_load_is_not_comparable(ledger: Ledger) -> None:
    ledger.store(times(5.0, 5.0, 5.0, load={"log_domain": 20}))
    with pytest.raises(InputError, match="another load"):
        ledger.check(times(5.0, 5.0, 5.0, load={"log_domain": 22}))


def test_stored_ledger_has_the_h200_and_reports_it() -> None:
    """Baselines of the GPU work are there, hold their floors, and the page shows them."""
    stored = Ledger(ROOT / "perf_baselines")
    names = {b.workload for b in stored.baselines() if "H200" in b.environment.get("gpu", "")}
    assert {"porep-22-bls12_381", "porep-24-bls12_381", "ntt-bls12_381", "msm_g1-bls12_381"} <= names
    page = report(stored)
    assert page.count("<svg") > 50
    assert "msm_h: time" in page
    assert "src=" not in page
    assert "http" not in page


def test_intervals_are_exact() -> None:
    """The interval for a median holds it as often as it says; bounds of rates are Clopper and Pearson's."""
    rng = random.Random(1)
    held = 0
    for _ in range(400):
        low, high = median_interval([rng.expovariate(1.0) for _ in range(15)])
        held += low <= math.log(2) <= high
    assert held >= 0.93 * 400
    assert rate_upper_bound(0, 60) == pytest.approx(0.0487, abs=1e-4)
    assert rate_upper_bound(3, 60) == pytest.approx(0.1240, abs=1e-3)
    assert lower_bound([1.0] * 5, 0.001) == -math.inf


def test_trend_has_its_power_and_its_false_alarms() -> None:
    """Sixty records at 1%: 3% is found after 3 records in 70%, after 5 in 90%; nothing in 1% of quiet histories."""

    def share(step: float, after: int, trials: int) -> float:
        hits = 0
        for seed in range(trials):
            rng = random.Random(seed)
            series = [rng.gauss(1.0, 0.01) * (1 + step if i >= 60 - after else 1) for i in range(60)]
            hits += bool(change_points(series)) or creep(series) is not None
        return hits / trials

    assert share(0.0, 0, 300) <= 0.01
    assert share(0.03, 3, 100) >= 0.7
    assert share(0.03, 5, 100) >= 0.9
    assert share(0.05, 3, 50) >= 0.95


def test_counts_of_callgrind_are_read(tmp_path: Path) -> None:
    """Phases nest; what ran between two edges belongs to the innermost; edges that do not nest are an error."""
    labels = [("start prove", 5), ("start msm_h", 10), ("end msm_h", 700), ("end prove", 20)]
    for i, (label, total) in enumerate(labels, 1):
        (tmp_path / f"out.{i}").write_text(f"desc: Trigger: Client Request: {label}\n\ntotals: {total}\n")
    assert read_counts(tmp_path) == {"prove": {"instructions": 30}, "msm_h": {"instructions": 700}}
    (tmp_path / "out.3").write_text("desc: Trigger: Client Request: end ntt_h\n\ntotals: 1\n")
    with pytest.raises(InternalError, match="ntt_h ends in"):
        read_counts(tmp_path)
    with pytest.raises(InternalError, match="no counts"):
        read_counts(tmp_path / "empty")


def test_without_valgrind_the_gate_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with 2, or with 0 where the caller said beforehand that the tier may be missing."""
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert why_not() == "valgrind is not installed"
    with pytest.raises(InputError, match="valgrind is not installed"):
        count_instructions("bn254", 8)
    where = ["--tier", "T1h", "--baselines", str(ROOT / "perf_baselines")]
    done = cuzk("perf", "check", *where)
    assert done.code == 2
    assert "NOT COMPARED: T1h" in done.err
    assert cuzk("perf", "check", *where, "--allow-absent", "T1h").code == 2  # nothing at all was compared


def test_edges_mark_nothing_before_they_are_asked_to() -> None:
    class Silent:
        def dump(self, label: str) -> None:
            raise AssertionError(label)

    Edges(Silent(), {}).started("prove")  # type: ignore[arg-type]
