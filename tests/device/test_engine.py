"""The engine's measuring script, from end to end with real workers on the cpu, and how its figures are made.

Would catch: a step that breaks on the machine where a minute is dear; a rate that counts the pipeline's filling; a
proof that is taken for verified; a figure that is lost when a later step fails or the time runs out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuzk.engine.board import ProofRecord
from cuzk.engine.jobs import Job, JobState, PayloadForm, Priority
from cuzk.errors import EngineError
from tests.device import engine, engine_steps
from tests.device.engine_data import Sector, make_sector, public_inputs
from tests.device.engine_run import GpuWatch, Run, busy_share, check_proofs, seconds_each, within_budget

_CIRCUIT = "por:poseidon:8-0-0:8:public"


def run(path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    words = ["--circuit", _CIRCUIT, "--device", "cpu", "--folder", str(path), "--json", str(path / "r.json")]
    code = engine.main([*words, "--repeats", "1", "--partitions", "3", "--budget-s", "1100", *options])
    result: dict[str, Any] = json.loads((path / "r.json").read_text())
    return code, result


def test_all_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, proofs alone, an engine, two workers, and tables of variants; the key is gone afterwards."""
    monkeypatch.setattr(engine, "_LARGE_VALUES", ({"P2": "off"},))
    monkeypatch.setattr(engine_steps, "candidates", lambda: [("P12", "off"), ("P0", "on")])
    monkeypatch.setattr(engine, "MOST_SECONDS_EACH", {_CIRCUIT: 0.0})
    monkeypatch.setattr(engine, "MOST_READY_S", 1e9)
    code, result = run(tmp_path, "--gpus", "2", "--small", _CIRCUIT, "--small-jobs", "2")
    steps = result["steps"]
    assert not [(name, step["error"]) for name, step in steps.items() if "error" in step]
    assert steps["setup"]["file_bytes"] > steps["setup"]["key_bytes"] > 0
    assert steps["single"]["verified"] is True
    assert steps["single"]["all"]["median_ms"] > steps["single"]["read"]["median_ms"] > 0
    for name, workers in (("engine", 1), ("engines", 2)):
        row = steps[name]
        assert row["proofs"] == row["verified"] == row["partitions"] == sum(row["by_worker"]) == 6
        assert (row["verified_for_others"], row["bytes"]) == (0, [192])
        assert (len(row["by_worker"]), row["loads"]) == (workers, workers)
        assert 0 < row["seconds_each"] <= row["wall_s"]
        assert row["peaks"]["worker0_rss"] > 1 << 20
        assert row["checks"]["verified"]
        assert row["checks"]["memory"]
    assert steps["engine"]["checks"]["rate"] is False, "no partition takes no time"
    assert steps["engines"]["throughput_ratio"] > 0
    assert [row["values"] for row in steps["large"]["rows"]] == [{}, {"P2": "off"}]
    assert steps["large"]["rows"][0]["threads"] != steps["large"]["rows"][1]["threads"]
    good, bad = steps["small"]["rows"]
    assert good["same"] is True
    assert good["total"]["ratio"] > 0
    assert "P0 is no variant" in bad["error"]
    assert steps["small"]["checks"] == {"same_bits": True, "no_errors": False}
    assert (code, result["complete"]) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_key_is_kept_and_taken_up(tmp_path: Path) -> None:
    code, _ = run(tmp_path, "--steps", "setup", "--keep")
    assert code == 0
    code, result = run(tmp_path, "--steps", "setup,single,engines")
    assert code == 0, result
    assert result["steps"]["setup"]["found"] is True
    assert result["steps"]["engines"]["skipped"] == "one GPU"
    assert result["steps"]["single"]["checks"] == {"verified": True}


def test_what_fails_is_written_down(tmp_path: Path) -> None:
    """Without a key, without time, and without such a circuit."""
    code, result = run(tmp_path, "--steps", "engine,setup", "--budget-s", "0.5")
    assert "no key" in result["steps"]["engine"]["skipped"] or "left" in result["steps"]["engine"]["skipped"]
    code, result = run(tmp_path, "--circuit", "por:poseidon:8-0-0:9:public", "--steps", "setup,single")
    assert code == 1
    assert result["complete"] is False
    assert "9 leaves" in result["steps"]["setup"]["error"]
    assert result["steps"]["single"]["skipped"] == "there is no key"


def record(at_s: float, gpu_ms: float = 500.0, worker: int = 0) -> ProofRecord:
    return ProofRecord("job", _CIRCUIT, 0, worker, at_s, 0, {"gpu": gpu_ms}, {})


def test_rates() -> None:
    """The first proof of each worker ends the filling of the pipeline."""
    one = [record(at) for at in (10.0, 11.0, 12.0, 13.0)]
    assert seconds_each(one, 1) == 1.0
    assert busy_share(one, 1) == 0.5
    two = [record(at) for at in (10.0, 10.5, 11.0, 11.5, 12.0)]
    assert seconds_each(two, 2) == 0.5
    assert busy_share(two, 2) == 0.5
    with pytest.raises(EngineError, match="steady"):
        seconds_each(one[:2], 2)


def test_memory_within_the_budget() -> None:
    fine = {"worker0_rss": 5, "worker0_host_limit": 6, "worker0_device_used": 7, "worker0_device_total": 8}
    assert within_budget(fine, 1)
    assert not within_budget(fine | {"worker0_rss": 7}, 1)
    assert not within_budget(fine | {"worker0_device_used": 9}, 1)
    assert not within_budget(fine | {"worker1_rss": 7, "worker1_host_limit": 6}, 2)


def test_what_nvidia_smi_says() -> None:
    watch = GpuWatch()
    for now, line in enumerate(("0, 50, 1000", "1, 100, 3", "0, 100, 2000", "no devices", "0, 0, 10")):
        watch.take(line, float(now))
    report = watch.report(0.0, 3.0)
    assert report["0"] == {"samples": 2, "busy": 0.75, "memory_bytes": 2000 << 20}
    assert report["1"]["busy"] == 1.0
    assert watch.report(9.0, 10.0)["0"] == {"samples": 0, "busy": None, "memory_bytes": 2000 << 20}


def test_sectors_of_several_partitions() -> None:
    """One file where a circuit's files have several partitions; what a verifier knows is what the circuit makes."""
    (sector,) = make_sector("stacked:8-0-0:8n:2l:1c", b"a", 2)
    first, second = (public_inputs(sector, number) for number in (0, 1))
    assert first != second
    assert first[:3] == second[:3]
    parts = make_sector(_CIRCUIT, b"a", 2)
    assert [part.partitions for part in parts] == [1, 1]
    assert parts[0].data != parts[1].data


def test_wrong_proofs_are_seen(tmp_path: Path) -> None:
    """A proof of another partition's inputs counts as not verified."""
    code, _ = run(tmp_path, "--steps", "setup", "--keep")
    assert code == 0
    keys = tmp_path / "cuzk-engine-por-poseidon-8-0-0-8-public"
    sectors: list[Sector] = make_sector(_CIRCUIT, b"b", 2)
    measured = Run(_CIRCUIT, keys, ["cpu"], {}, 600.0)
    with measured.running():
        jobs, _ = measured.prove(sectors)
    key_file = keys / engine_steps.key_name(_CIRCUIT)
    assert check_proofs(key_file, sectors, jobs)["verified"] == 2
    swapped = check_proofs(key_file, sectors, jobs[::-1])
    assert (swapped["verified"], swapped["verified_for_others"]) == (0, 2)
    empty = Job(
        "x", 0, _CIRCUIT, 1, 0, PayloadForm.VANILLA, Priority.LOW, tmp_path, 0, 0.0, state=JobState.DONE
    )
    assert check_proofs(key_file, sectors[:1], [empty])["proofs"] == 0
