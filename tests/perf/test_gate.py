"""The performance gate: what passes, what fails, and that nothing passes in silence."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from cuzk.errors import FormatError, InputError
from cuzk.perf import Baseline, Verdict, compare, read_baseline, read_tolerances, write_baseline

ROOT = Path(__file__).resolve().parent.parent.parent
BASELINES = ROOT / "perf_baselines"

STORED = Baseline(
    "T0", "sm_90", {"nvrtc": "13.5"}, {"msm": {"registers": 120, "spill_store_bytes": 0}, "ntt": {"registers": 64}},
    "a reason",
)  # fmt: skip
TOLERANCES = read_tolerances(BASELINES / "tolerances.toml")


def verdicts(figures: dict[str, dict[str, int]]) -> dict[tuple[str, str], Verdict]:
    now = dataclasses.replace(STORED, figures=figures)
    return {(row.subject, row.metric): row.verdict for row in compare(STORED, now, TOLERANCES)}


def test_equal_figures_pass() -> None:
    """The same build compared with itself."""
    assert set(verdicts(dict(STORED.figures)).values()) == {Verdict.SAME}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        ("spill_store_bytes", 4, Verdict.RISEN),
        ("registers", 121, Verdict.RISEN),  # 120 is a multiple of 8: one more takes the next group
        ("registers", 128, Verdict.RISEN),
        ("registers", 119, Verdict.SAME),  # 113 to 120 are one group
        ("registers", 112, Verdict.FALLEN),
    ],
)
def test_one_figure_moves(metric: str, value: int, expected: Verdict) -> None:
    """A spill, a register step, and an improvement, which has to be recorded too."""
    figures = {"msm": {"registers": 120, "spill_store_bytes": 0} | {metric: value}, "ntt": {"registers": 64}}
    assert verdicts(figures)["msm", metric] is expected
    assert expected.passes == (expected is Verdict.SAME)


def test_missing_new_and_renamed_fail() -> None:
    """A kernel that vanished, one without a row, and a metric that was not measured."""
    renamed = verdicts({"msm": {"registers": 120, "spill_store_bytes": 0}, "ntt2": {"registers": 64}})
    assert renamed["ntt", "registers"] is Verdict.MISSING
    assert renamed["ntt2", "registers"] is Verdict.NEW
    assert (
        verdicts({"msm": {"registers": 120}, "ntt": {"registers": 64}})["msm", "spill_store_bytes"]
        is Verdict.MISSING
    )
    assert not Verdict.MISSING.passes
    assert not Verdict.NEW.passes


def test_other_environment_or_workload_is_an_error() -> None:
    """Figures of another compiler say nothing; that is no pass."""
    with pytest.raises(InputError, match=r"nvrtc: '13.5', now '13.6'"):
        compare(STORED, dataclasses.replace(STORED, environment={"nvrtc": "13.6"}), TOLERANCES)
    with pytest.raises(InputError, match="cannot be compared"):
        compare(STORED, dataclasses.replace(STORED, workload="sm_120"), TOLERANCES)


def test_file_round_trip(tmp_path: Path) -> None:
    """What is written is read, and nothing is left beside it."""
    path = write_baseline(tmp_path, STORED)
    assert read_baseline(path) == STORED
    assert [p.name for p in tmp_path.iterdir()] == ["T0-sm_90.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 1}, "schema 1 is unknown"),
        ({"schema": 3}, "schema 3 is unknown"),
        ({"figures": {}}, "no figures"),
        ({"figures": {"msm": {}}}, "figures of msm"),
        ({"figures": {"msm": {"registers": -1}}}, "whole number"),
        ({"figures": {"msm": {"registers": 1.5}}}, "whole number"),
        ({"figures": {"msm": {"registers": True}}}, "whole number"),
        ({"environment": None}, "environment"),
        ({"reason": ""}, "reason"),
        ({"tier": "T9"}, "T9"),
        ({"workload": "sm_80"}, "is named"),
        ({"commit": "main"}, "hexadecimal"),
        ({"date": "yesterday"}, "2026-11-30"),
        ({"sequence": -1}, "sequence -1"),
        ({"sequence": True}, "sequence True"),
        ({"load": []}, "load"),
    ],
)
def test_damaged_baselines_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """Every wrong field gives an error that names the file."""
    path = write_baseline(tmp_path, STORED)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FormatError, match=message) as caught:
        read_baseline(path)
    assert str(path) in str(caught.value)


def test_no_baseline_is_an_error(tmp_path: Path) -> None:
    """Nothing to compare with is no pass."""
    with pytest.raises(InputError, match="there is no baseline"):
        read_baseline(tmp_path / "T0-sm_90.json")
    (tmp_path / "T0-sm_90.json").write_text("{")
    with pytest.raises(FormatError, match="not JSON"):
        read_baseline(tmp_path / "T0-sm_90.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[T0."*"]\nrise = 0.1', "needs a reason"),
        ('[T0."*"]\nrise = 0.1\nreason = "x"', "needs the date"),
        ('[T0."*"]\nrise = -0.1\nreason = "x"\ndate = 2026-11-30', "below zero"),
        ('[T0."*"]\nrise = nan\nreason = "x"\ndate = 2026-11-30', "below zero"),
        ('[T0."*"]\nrise = "much"\nreason = "x"\ndate = 2026-11-30', "a number"),
        ('[T0."*"]\nraise = 0.1\nreason = "x"', "unknown keys"),
        ("[T0", "not TOML"),
    ],
)
def test_damaged_tolerances_are_named(tmp_path: Path, text: str, message: str) -> None:
    """A limit without a reason, below zero or misspelt is refused."""
    path = tmp_path / "tolerances.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_tolerances(path)


def test_a_metric_without_a_limit_is_an_error(tmp_path: Path) -> None:
    """Nothing passes that nobody wrote a limit for."""
    path = tmp_path / "tolerances.toml"
    path.write_text('[T1."*"]\nreason = "x"\ndate = 2026-11-30')
    with pytest.raises(InputError, match="no limit for registers in T0"):
        compare(STORED, STORED, read_tolerances(path))


def test_stored_baselines_are_valid() -> None:
    """Every file in the repository reads, and has a limit for each of its metrics."""
    files = sorted(BASELINES.glob("*.json"))
    assert {path.name.split("-")[0] for path in files} == {"T0", "T1"}
    for path in files:
        stored = read_baseline(path)
        assert all(row.verdict.passes for row in compare(stored, stored, TOLERANCES))
