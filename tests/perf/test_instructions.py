"""Counts of instructions as the gate takes them.

Would catch: noise of one count that fails a merge, a rise that the second count hides, a broken valgrind or a broken
count that passes in silence, builds of one version that are taken for one another.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from cuzk.cli import perf, perf_instructions
from cuzk.cli.perf_instructions import HOST_WORKLOADS, host_environment, median_counts, why_not
from cuzk.errors import CuzkError
from cuzk.perf import Baseline, Ledger, Verdict, compare, environment_id, read_tolerances

ROOT = Path(__file__).resolve().parents[2]
TOLERANCES = read_tolerances(ROOT / "perf_baselines" / "tolerances.toml")
#: The smallest phase of a proof and a large one.
STORED = {"witness": {"instructions": 254_000}, "msm_h": {"instructions": 19_900_000}}


def counts(witness: int, msm_h: int = 19_900_000) -> dict[str, dict[str, int]]:
    return {"witness": {"instructions": witness}, "msm_h": {"instructions": msm_h}}


def verdict(now: dict[str, dict[str, int]], phase: str) -> Verdict:
    old, new = (Baseline("T1h", "host", {}, figures, "test") for figures in (STORED, now))
    return next(row.verdict for row in compare(old, new, TOLERANCES) if row.subject == phase)


@pytest.mark.parametrize("off", [-2_600, 2_600])
def test_measured_noise_passes(off: int) -> None:
    """The widest that counts of the smallest phase lay apart."""
    assert verdict(counts(254_000 + off), "witness") is Verdict.SAME


@pytest.mark.parametrize("phase", ["witness", "msm_h"])
def test_three_percent_are_seen_through_the_noise(phase: str) -> None:
    """Also where both counts happen to lie low."""
    low = counts(int(254_000 * 1.03) - 2_600, int(19_900_000 * 1.03 * 0.996))
    assert verdict(perf.nearer(STORED, low, low), phase) is Verdict.RISEN


def test_a_rise_stays_and_noise_goes() -> None:
    """Of two counts the nearer one; a phase that one of them lacks is missing."""
    once, again = counts(262_000, 21_000_000), counts(254_500, 20_900_000)
    assert perf.nearer(STORED, once, again) == counts(254_500, 20_900_000)
    assert perf.nearer(STORED, again, once) == counts(254_500, 20_900_000)
    assert set(perf.nearer(STORED, once, {"witness": {"instructions": 1}})) == {"witness"}


def test_the_gate_counts_twice_before_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    name = next(iter(HOST_WORKLOADS))
    ledger = Ledger(ROOT / "perf_baselines")
    stored = dataclasses.replace(Baseline("T1h", name, {"cpu": "x"}, STORED, "test"))
    monkeypatch.setattr(Ledger, "find", lambda self, now: stored)
    monkeypatch.setattr(
        perf_instructions, "count_instructions", lambda curve, rows: counts(254_100, 20_900_000)
    )
    noisy = dataclasses.replace(stored, figures=counts(262_000, 20_900_000))
    (now,) = perf._counted_again(ledger, [noisy])
    moved = {row.subject for row in ledger.check(now) if not row.verdict.passes}
    assert moved == {"msm_h"}


def test_a_baseline_is_a_median(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter([counts(3), counts(1), counts(2)])
    monkeypatch.setattr(perf_instructions, "count_instructions", lambda curve, rows: next(made))
    assert median_counts("bn254", 4, 3)["witness"] == {"instructions": 2}


def _tool(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a valgrind of our own first on the path."""
    folder.mkdir()
    tool = folder / "valgrind"
    tool.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_broken_valgrind_is_absent_and_a_broken_count_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tool(tmp_path / "a", "echo unhandled instruction >&2; exit 132", monkeypatch)
    assert "unhandled instruction" in why_not()
    _tool(tmp_path / "b", 'case "$*" in *perf_counted*) echo lost >&2; exit 3;; esac', monkeypatch)
    assert why_not() == ""
    with pytest.raises(CuzkError, match="callgrind failed with 3: lost"):
        perf_instructions.count_instructions("bn254", 4)


def test_builds_of_one_version_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another interpreter, other flags: another environment, whose baselines are not these."""
    _tool(tmp_path / "a", "echo valgrind-3.19.0", monkeypatch)
    here = host_environment()
    other = tmp_path / "python"
    other.write_bytes(b"another build")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(other))
        elsewhere = host_environment()
    assert {key for key in here if here[key] != elsewhere[key]} == {"python"}
    monkeypatch.setenv("CXXFLAGS", "-O0")
    flagged = host_environment()
    assert len({environment_id(e) for e in (here, elsewhere, flagged)}) == 3
