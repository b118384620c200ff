"""The device part that plants slow-downs, run on host devices.

Would catch: work that is planted in another phase than the one that is judged, or not on the device; a trial that sees
what is not there; a later call that begins anew, or counts trials of another tree.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from cuzk.cli.perf_workloads import mixed_circuit
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.perf.sources import baselines_of
from tests.device import gpu, ledger
from tests.device.results import UNFINISHED


def small(log_domain: int, *, curve: str) -> Any:
    """A circuit of seconds in place of one of minutes."""
    return mixed_circuit(get_curve(curve), 1 << log_domain)


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_work_is_planted_on_the_device_in_its_phase(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches more in that phase, on whatever device, and in no other."""
    monkeypatch.setattr(ledger, "porep_shape", small)
    bench = ledger.Bench(get_device(spec), "bn254", 4)
    assert {"spmv", "ntt_h", "msm_h", "prep_msm", "batch_add", "b_g2_msm"} <= set(bench.once)
    assert all(took > 0 for took in bench.once.values())

    def launches(*, is_slower: bool) -> dict[str, int]:
        last = max(event.id for event in bench._recorder.events)
        bench.prove(1, is_slower=is_slower)
        counted = [e for e in bench._recorder.events if e.id > last and e.phase in ledger.JUDGED]
        return {event.phase: event.counts.get("launches", 0) for event in counted}

    load = bench.load
    bench._plants = {"msm_h": lambda: load.run(2.5 * load.least_ms)}
    bench.meter.mode = "off"
    before, after = launches(is_slower=False), launches(is_slower=True)
    assert after.pop("msm_h") - before.pop("msm_h") >= 2
    assert after == before
    assert set(bench.planted_ms[-1]) == {"msm_h"}
    bench.close()


class Noise:
    """A bench whose phases spread as those of an H200."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.meter = type("Meter", (), {"held_ms": 0.0})()
        self.once = {"msm_h": 12.0, "ntt_h": 6.0, "batch_add": 0.7, "row_check": 0.1}
        self.planted_ms: list[dict[str, float]] = []

    def prove(self, proofs: int, *, is_slower: bool = False) -> dict[str, float]:
        """Each phase with its noise, and what is planted in it."""
        spread = {"msm_h": 0.002, "ntt_h": 0.002, "batch_add": 0.01, "row_check": 0.05}
        extra = {phase: ledger.share_of(took) * took for phase, took in self.once.items() if is_slower}
        if is_slower:
            self.planted_ms.append(extra)
        return {
            phase: proofs * (took * self._rng.gauss(1.0, spread[phase]) + extra.get(phase, 0.0))
            for phase, took in self.once.items()
        }

    def close(self) -> None:
        """Nothing is open."""


def test_trials_see_what_is_planted_and_nothing_else() -> None:
    """1.5% of a phase of 5 ms, 4% of one of 0.5 ms; shorter ones are left to counts."""
    bench: Any = Noise(1)
    rows = [ledger.trial(bench, kind, 60) for kind in ("planted", "same") for _ in range(12)]
    table = ledger.summarise(rows)
    assert set(table["planted"]) == {"msm_h", "ntt_h", "batch_add"}
    assert {said["share"] for said in table["planted"].values()} == {0.015, 0.04}
    assert sum(said["slower"] for said in table["planted"].values()) >= 33
    assert not any(said["slower"] for said in table["same"].values())
    assert table["same"]["msm_h"]["false_alarms_at_most"] == pytest.approx(1 - 0.05 ** (1 / 12))
    for said in table["planted"].values():
        assert said["planted"] == pytest.approx(said["share"])
        assert said["seen"] == pytest.approx(said["planted"], rel=0.25)
    fine = {"slower": 0, "faster": 0, "same": 100, "trials": 100}
    assert ledger.is_met({"planted": {"x": {"slower": 57, "trials": 60}}, "same": {"x": fine}})
    assert not ledger.is_met({"planted": {"x": {"slower": 56, "trials": 60}}})
    assert not ledger.is_met({"same": {"x": fine | {"slower": 1}}})
    assert not ledger.is_met({"same": {"x": fine | {"same": 94}}})


def test_a_stored_file_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With how far what was seen went, and how often it was far more than what was planted."""
    said = {"ms": 9.0, "share": 0.015, "outcome": "slower", "planted": 0.015, "spread": 0.002, "pairs": 16}
    rows = [{"kind": "planted", "phases": {"msm_h": said | {"seen": seen}}} for seen in (0.014, 0.016, 0.024)]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"rows": rows}))
    monkeypatch.setattr(sys, "argv", ["ledger", "--show", str(path)])
    assert ledger.main() == 0
    found = json.loads(capsys.readouterr().out.partition("msm_h")[2])
    assert (found["seen_least"], found["seen"], found["seen_most"], found["seen_far_more"]) == (
        0.014,
        0.016,
        0.024,
        1,
    )


def run(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    words = ["ledger", "--device", "cpu", "--planted", "2", "--same", "2", "--json", str(path), *options]
    monkeypatch.setattr(sys, "argv", words)
    code = ledger.main()
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return code, found


def test_a_later_call_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    made: list[Noise] = []

    def bench(*rest: Any) -> Any:
        made.append(Noise(len(made)))
        return made[-1]

    monkeypatch.setattr(ledger, "Bench", bench)
    monkeypatch.setattr(ledger, "tree_digest", lambda: "same")
    code, first = run(monkeypatch, path, "--budget-s", "-1")
    assert (code, first["complete"], len(first["rows"])) == (UNFINISHED, False, 0)
    code, second = run(monkeypatch, path, "--same", "0")
    assert (code, len(second["rows"])) == (0, 2)
    code, third = run(monkeypatch, path)
    assert (code, third["complete"], len(third["rows"])) == (0, True, 4)
    assert third["rows"][:2] == second["rows"]
    assert third["summary"]["same"]["msm_h"]["trials"] == 2
    monkeypatch.setattr(ledger, "tree_digest", lambda: "other")
    assert len(run(monkeypatch, path, "--budget-s", "-1")[1]["rows"]) == 0


def test_a_suite_with_trials_joins_the_ledger() -> None:
    """Proofs give their samples; trials are no figures and do not disturb."""
    took = gpu.spread([7.0, 7.1, 7.2])
    proof = {
        "log_domain": 20, "curve": "bls12_381", "dense": False, "constraints": 100, "variables": 90,
        "device_bytes": 5, "host_peak_bytes": 6, "phases": {"msm_h": took}, **took,
    }  # fmt: skip
    trial = {"kind": "same", "phases": {"msm_h": {"ms": 7.0}}}
    parts = {"proofs-ladder": {"results": {"rows": [proof]}}, "ledger": {"results": {"rows": [trial]}}}
    data = {"gpu": "cuda:0 (NVIDIA H200)", "parts": parts}
    (made,) = baselines_of(data, {}, "test", "0" * 12, "2026-11-30", 1)
    assert (made.workload, made.environment) == ("porep-20-bls12_381", {"gpu": "NVIDIA H200"})
    assert made.measured["msm_h"]["time"].samples == (7.0, 7.1, 7.2)
