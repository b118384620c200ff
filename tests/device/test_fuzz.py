"""The fuzzer's parts of the device suite, from end to end on host devices.

Would catch: a campaign that starts anew in every call or is complete too early; a finding, or a batch that never ends,
that the result file or the exit code does not show; a class that no batch on a GPU can have; a large vector whose last
elements nobody compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz.batch import Scope
from cuzk_fuzz.choices import Guided
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.findings import Finding, run_case
from cuzk_fuzz.registry import DEVICE_ONLY, TARGETS

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.device.cuda_modules import gpu_kernels
from tests.device import fuzz, gpu, large
from tests.device.results import UNFINISHED, Results


def run(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    words = ["fuzz", *options, "--device", "emu", "--at-once", "1", "--json", str(path)]
    monkeypatch.setattr(sys, "argv", words)
    code = fuzz.main()
    data: dict[str, Any] = json.loads(path.read_text())
    return code, data


def left(monkeypatch: pytest.MonkeyPatch, seconds: Callable[[], float]) -> None:
    """Let the clock of a call say what is left besides its margins, however fast the machine is."""
    needed = fuzz._MARGIN_S + fuzz._GRACE_S
    monkeypatch.setattr(gpu.Clock, "left_s", property(lambda clock: needed + seconds()))


def test_a_campaign_goes_on_and_tells_what_it_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "fuzz.json"
    options = ("campaign", "--targets", "word", "--seconds", "4")
    monkeypatch.setattr(fuzz, "_LEAST_ROUND_S", 0.1)
    with monkeypatch.context() as patch:
        left(patch, lambda: 1.0)
        code, first = run(monkeypatch, path, *options)
    assert (code, first["complete"]) == (UNFINISHED, False)
    assert first["cases"] > 0
    code, second = run(monkeypatch, path, *options)
    assert (code, second["complete"], second["findings"]) == (0, True, [])
    assert second["cases"] > first["cases"], "the second call went on behind the first"
    assert second["targets"][0]["cases_per_second"] > 0
    batch = TARGETS["word"].decode(Guided("1"), Scope(frozenset(get_device("emu").kernels))).one(0)
    outcome = run_case(batch, get_device("emu"))
    assert outcome.answer is not None
    wrong = replace(outcome, answer=outcome.answer ^ np.uint64(1), place=(0, 0))
    Finding(batch, DeviceChoice("emu"), "key", wrong, {}).save(tmp_path / "fuzz-state" / "findings")
    code, third = run(monkeypatch, path, *options)
    assert code == 1
    (found,) = third["findings"]
    assert found["case"] == batch.to_json(), "the whole case comes back"


def test_what_never_ends_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Namespace(targets="word", device="emu", at_once=1, seed=0, min_hits=1, mode="campaign")
    state = fuzz.Campaign(options, tmp_path)
    state.workers.mkdir()
    (state.workers / "word-emu-0.pending.json").write_text('{"batch": 7, "bytes": "00"}')
    monkeypatch.setattr(fuzz, "_GRACE_S", 0.2)
    ignoring = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", ignoring], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    with process.stdout:
        process.stdout.readline()
        assert state._await(process, 0.1) == 1
    assert state.hung == [{"worker": "word-emu-0", "batch": 7, "bytes": "00"}]
    assert fuzz.verdict(state, {"targets": [], "findings": []}, complete=True) == 1


def test_every_class_of_a_gpu_can_be_drawn() -> None:
    """With a GPU's kernels and batches; the sizes beyond a batch have checks of their own."""
    scope = Scope(frozenset(gpu_kernels(get_device("emu").kernels)), device="cuda", log_large=10)
    for name, target in TARGETS.items():
        wanted, hits = target.required_on(["cuda"]), Counter[str]()
        for number in range(3000):
            hits += target.decode(Guided(f"5/{name}/{number}", hits), scope).classes()
            if all(hits[edge_id] for edge_id in wanted):
                break
        assert not [edge_id for edge_id in wanted if not hits[edge_id]], name
        assert DEVICE_ONLY & target.all_ids <= {*wanted, *(large.SIZES if name in large.TARGETS else ())}


def test_classes_have_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Rounds until one target has all; thousands of elements come up on a GPU alone: the other's is not full here."""
    rounds: list[list[str]] = []
    original = fuzz.Campaign.round

    def counted(self: fuzz.Campaign, seconds: float) -> None:
        original(self, seconds)
        rounds.append([one for one in self.seldom() if one.startswith("word")])

    monkeypatch.setattr(fuzz.Campaign, "round", counted)
    left(monkeypatch, lambda: 0.0 if rounds and not rounds[-1] else 10.0)
    options = ("classes", "--targets", "word,fixed_base", "--min-hits", "1", "--seconds", "0.4")
    code, data = run(monkeypatch, tmp_path / "classes.json", *options)
    assert (code, data["complete"]) == (UNFINISHED, False)
    assert "fixed_base: S.grid_stride" in data["seldom"]
    assert not [one for one in data["seldom"] if one.startswith("word")]
    rows = {(row["target"], row["class"]): row["total"] for row in data["table"]["classes"]}
    assert all(rows["word", edge_id] for edge_id in TARGETS["word"].required)
    assert rows["fixed_base", "S.2GiB"] == 1


def test_large_checks_see_one_wrong_element(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device, toy = get_device("cpu"), get_curve("toy")
    results = Results(None, {})
    assert large.run(device, list(large.TARGETS), ["S.2^20+1"], toy, 777, results)
    assert all(row["checks"] for row in results.data["rows"])
    download = device.download

    def spoilt(array: Any) -> Any:
        host = np.array(download(array))
        if len(host) > 700:
            host[-1] ^= 1
        return host

    monkeypatch.setattr(device, "download", spoilt)
    for name in ("vec", "spmv", "ntt"):
        assert not large.run(device, [name], ["S.2^20+1"], toy, 777, Results(None, {})), name
    assert large.elements("S.2GiB", 96) * 96 > 1 << 31
    assert gpu.Clock(0).left_s <= 0
