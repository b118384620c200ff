"""The measuring scripts run from end to end, on a host device that stands in for a GPU.

Would catch: a script that breaks on a machine with a GPU, where a minute costs more than here; a row that is measured
and not judged, or judged by another row's target.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuzk.device import get_device
from tests.device import gpu, ladder, proofs, startup, synthesis, timings, tune_msm


class Event:
    """A point in time."""

    def record(self, stream: Any) -> None:
        """Now: work of a host device is done when it was launched."""
        self.seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Nothing to wait for."""


class Stream(contextlib.nullcontext[None]):
    """A stream whose graphs are empty."""

    def begin_capture(self) -> None:
        """Nothing is captured: it runs."""

    def end_capture(self) -> Any:
        """A graph that does nothing."""
        return SimpleNamespace(launch=lambda stream: time.sleep(0.001))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A cpu device with NumPy in CuPy's place, that the scripts take for an H200."""
    device: Any = get_device("cpu")
    cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda a, b: (b.seconds - a.seconds) * 1e3)
    pool = SimpleNamespace(free_all_blocks=lambda: None)
    names = ("random", "uint64", "float32", "broadcast_to", "asarray", "copyto", "zeros_like")
    device._cupy = SimpleNamespace(
        cuda=cuda, get_default_memory_pool=lambda: pool, **{name: getattr(np, name) for name in names}
    )
    device._device, device._stream = contextlib.nullcontext(), Stream()
    device.name = "cpu (stands in for an H200)"
    monkeypatch.setattr(gpu, "why_none", lambda: "")
    monkeypatch.setattr(gpu, "gpu", lambda: device)
    return device


def run(
    module: Any, monkeypatch: pytest.MonkeyPatch, path: Path, *options: str
) -> tuple[int, dict[str, Any]]:
    monkeypatch.setattr(sys, "argv", ["script", *options, "--json", str(path)])
    code = module.main()
    result: dict[str, Any] = json.loads(path.read_text())
    return code, result


def test_synthesis(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two circuits; a second call measures what the first one left out, and bits that differ fail it."""
    monkeypatch.setattr(synthesis, "TARGETS", {"poseidon:4": 1e9})
    monkeypatch.setattr(synthesis, "tree_digest", lambda: "same")
    first, path = "poseidon:2", tmp_path / "s.json"
    code, result = run(synthesis, monkeypatch, path, "--circuits", first, "--repeats", "1")
    assert (code, result["complete"], len(result["rows"])) == (0, True, 1)
    row = result["rows"][0]
    assert row["differences"] == []
    assert row["levels"] > 0
    assert row["chain"] >= row["levels"]
    assert all(row[step]["median_ms"] > 0 for step in ("witness", "a", "b", "c", "all"))
    monkeypatch.setattr(synthesis, "differences", lambda run: ["w"])
    code, result = run(synthesis, monkeypatch, path, "--circuits", f"{first},poseidon:4", "--repeats", "1")
    assert code == 1
    assert result["rows"][0] == row
    assert (result["rows"][1]["differences"], result["rows"][1]["pass"]) == (["w"], True)


def test_timings(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    logs = dict.fromkeys(timings.LOGS, (6, 8))
    monkeypatch.setattr(timings, "LOGS", logs)
    monkeypatch.setattr(timings, "TARGETS", {"msm_g1": {8: 1e9}, "ntt": {6: 0.0}})
    code, result = run(timings, monkeypatch, tmp_path / "t.json", "--repeats", "2")
    rows = result["rows"]
    assert not [row for row in rows if "error" in row or "skipped" in row]
    assert {row["family"] for row in rows} == set(logs)
    assert all(row["median_ms"] > 0 and row["floor_ms"] > 0 and row["device_bytes"] > 0 for row in rows)
    judged = {(row["family"], row["log_n"], row["pass"]) for row in rows if "pass" in row}
    assert judged == {("msm_g1", 8, True), ("ntt", 6, False)}
    assert result["complete"] is True
    assert code == 1


def test_timings_stop_in_time(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(timings, "LOGS", {"ntt": (6, 7)})
    code, result = run(timings, monkeypatch, tmp_path / "t.json", "--only", "ntt", "--budget-s", "1")
    assert [row["skipped"] for row in result["rows"]] == ["no time left"] * 4
    assert code == 0


def test_sparse_scalars_have_their_shares(stand_in: Any) -> None:
    n = 20_000
    host = stand_in.download(timings.sparse_scalars(stand_in, timings.CURVE, n, 1))
    one = np.array(timings._limbs_of_one(timings.CURVE), np.uint64)
    zeros, ones = (host == 0).all(axis=1).mean(), (host == one).all(axis=1).mean()
    assert abs(zeros - timings.ZEROS) < 0.02
    assert abs(ones - timings.ONES) < 0.02
    assert len(np.unique(host, axis=0)) > 0.09 * n


def test_proofs(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(proofs, "get_device", lambda name: stand_in)
    monkeypatch.setattr(proofs, "TARGETS", {12: (1e9, 1e9)})
    options = ("--logs", "12", "--repeats", "2", "--budget-s", "100")
    code, result = run(proofs, monkeypatch, tmp_path / "p.json", *options)
    (row,) = result["rows"]
    assert code == 0, row
    assert row["pass"] is True
    assert row["repeats"] == 2
    assert {"ntt_h", "msm_h", "self_check"} <= set(row["phases"])
    assert row["device_bytes"] > 0
    assert row["host_peak_bytes"] > 1 << 20
    code, result = run(proofs, monkeypatch, tmp_path / "p.json", *options[:4], "--dense", "--curve", "bn254")
    assert code == 0
    assert "pass" not in result["rows"][0]


def test_ladder(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Set-up in memory and into a file, a proof that holds, targets; a second call leaves out what is done."""
    monkeypatch.setattr(ladder, "get_device", lambda name: stand_in)
    monkeypatch.setattr(ladder, "tree_digest", lambda: "same")
    monkeypatch.setattr(ladder, "TARGETS", {"poseidon:2": (1e9, 0.0)})
    path, first = tmp_path / "l.json", "por:poseidon:8-0-0:8:public"
    options = ("--repeats", "2", "--folder", str(tmp_path), "--circuits", first)
    code, result = run(ladder, monkeypatch, path, *options)
    assert (code, result["complete"]) == (0, True), result
    row = result["rows"][0]
    assert row["verified"] is True
    assert row["file_bytes"] > row["key_bytes"] > 0
    assert {"tau_columns", "points_a", "points_h", "setup"} <= set(row["setup_phases_s"])
    assert {"synthesis", "msm_h", "self_check", "prove"} <= set(row["phases"])
    assert row["all"]["median_ms"] > row["read"]["median_ms"] > 0
    assert row["device_bytes"] > 0
    assert not list(tmp_path.glob("tmp*")), "the key file is removed"
    code, result = run(ladder, monkeypatch, path, "--repeats", "1", "--circuits", f"{first},poseidon:2")
    assert code == 1
    assert result["rows"][0] == row
    second = result["rows"][1]
    assert (second["pass"], "file_bytes" in second, second["verified"]) == (False, False, True)
    code, result = run(
        ladder, monkeypatch, tmp_path / "m.json", "--circuits", "nothing,poseidon:4", "--budget-s", "39"
    )
    assert code == 1
    assert "needed" in result["rows"][0]["skipped"]
    code, result = run(ladder, monkeypatch, tmp_path / "m.json", "--circuits", "nothing")
    assert "no built-in circuit" in result["rows"][0]["error"]


def test_windows(stand_in: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, result = run(tune_msm, monkeypatch, tmp_path / "w.json", "--logs", "6", "--windows", "4,6")
    assert code == 0
    assert set(result["ms"]["6"]["windows"]) == {"4", "6"}


def test_startup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A fresh process really is one: what it imports costs time."""
    options = ("--log", "12", "--repeats", "1", "--device", "cpu")
    code, result = run(startup, monkeypatch, tmp_path / "s.json", *options)
    (row,) = result["rows"]
    points = [row[name] for name in ("python", "imports", "device", "kernels", "ready", "first_proof")]
    assert points == sorted(points)
    assert points[1] > 0.05
    assert code == int(not row["pass"])
