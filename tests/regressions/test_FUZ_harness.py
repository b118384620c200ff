"""Fuzzing harnesses that looked at nothing, failed by chance, or could not be repeated.

Would catch: deadlines that a cold cache breaks, coverage that nobody sees, back ends that are never compared,
parameters that always have their default, findings whose printed line does not bring them back.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz import cli, commands, devices, engine_atheris
from cuzk_fuzz.batch import Batch, Scope
from cuzk_fuzz.choices import Guided
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import BlindHarnessError, Budget, Campaign, run_campaign
from cuzk_fuzz.faults import FaultyDevice, flip
from cuzk_fuzz.findings import load
from cuzk_fuzz.isolate import environment
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.smoke import smoke
from hypothesis import given, settings
from hypothesis import strategies as st

from cuzk.device import Device, get_device
from cuzk.device.host import CpuDevice

ROOT = Path(__file__).resolve().parents[2]
ON_DEVICES = [name for name, target in TARGETS.items() if target.needs_device]


def test_fuz_01_the_profile_in_force_has_no_deadline() -> None:
    assert settings.get_current_profile_name() in ("ci", "quick", "deep")
    assert settings().deadline is None
    assert all(settings.get_profile(name).deadline is None for name in ("ci", "quick", "deep"))


def test_fuz_02_a_slow_first_example_is_no_failure() -> None:
    slept: list[float] = []

    @given(st.integers())
    def first_is_slow(number: int) -> None:
        if not slept:
            time.sleep(0.7)  # the usual deadline is 0.2 s
        slept.append(number)

    first_is_slow()
    assert len(slept) > 1


def test_fuz_05_coverage_of_readers_makes_the_corpus_grow(tmp_path: Path) -> None:
    assert importlib.util.find_spec("atheris"), "the extra fuzz brings it"
    corpus, data = tmp_path / "corpus", tmp_path / "run.json"
    run = [
        "run",
        "readers",
        "--engine",
        "atheris",
        "--cases",
        "2500",
        "--corpus",
        str(corpus),
        "--json",
        str(data),
    ]
    assert cli.main(run) == commands.DONE
    result = json.loads(data.read_text())
    assert result["engine"] == "atheris"
    assert result["corpus_new"] > 10
    assert len(list(corpus.iterdir())) > 10
    # In this process the readers were imported long ago: nothing that they do would count.
    assert "cuzk.formats" in engine_atheris.imported_too_early()
    with pytest.raises(RuntimeError, match="imported before they were instrumented"):
        engine_atheris.main(str(tmp_path / "never_read.json"))


def test_fuz_07_a_job_that_runs_no_input_fails_and_the_setting_is_written_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Budget, "is_spent", lambda self, started, cases: True)
    assert cli.main(["run", "spmv", "--engine", "generator"]) == commands.FOUND
    assert "nothing was compared" in capsys.readouterr().out
    for path in (".ci/sanitize", "docs/fuzzing.md"):
        assert "protect_shadow_gap=0" in (ROOT / path).read_text(encoding="utf-8")


class StubDevice(CpuDevice):
    """Every launch succeeds and computes nothing: outputs hold what was there before."""

    def launch(self, kernel: str, **options: Any) -> None:
        del kernel
        for value in options.values():
            if isinstance(value, np.ndarray) and not value.flags.writeable:
                raise AssertionError("an input that cannot be written to")


@pytest.mark.parametrize("name", ON_DEVICES)
def test_fuz_09_a_back_end_that_does_nothing_is_flagged(name: str) -> None:
    device = StubDevice(1)
    campaign = Campaign(TARGETS[name], "cpu", opener=lambda choice: device)
    assert run_campaign(campaign, Budget(cases=40_000, seconds=20)).findings


@pytest.mark.parametrize(("name", "operand"), [("field", "a"), ("spmv", "w"), ("msm", "scalars")])
def test_fuz_09_inputs_that_a_back_end_overwrites_do_not_hide_it(name: str, operand: str) -> None:
    """The oracle's answer comes from the case, never from buffers that the device had in its hands."""

    def overwrite(args: dict[str, Any]) -> None:
        if isinstance(args.get(operand), np.ndarray):
            args[operand][...] = 0
        for output in ("dst", "out", "digits"):
            if isinstance(args.get(output), np.ndarray):
                args[output][...] = 0

    device = FaultyDevice("", overwrite)
    campaign = Campaign(TARGETS[name], "cpu", opener=lambda choice: device)
    assert run_campaign(campaign, Budget(cases=20_000, seconds=20)).findings


#: What says which case it is; everything else in a case is a parameter.
_NO_PARAMETERS = {"target", "subject", "op", "form", "inputs"}


def _parameters(batch: Batch) -> dict[str, set[str]]:
    data = batch.to_json()
    found = {key: {json.dumps(value)} for key, value in data.items() if key not in _NO_PARAMETERS}
    for case in data["inputs"].get("sums", []):
        for key in set(case) - {"bases", "scalars", "points_in_memory"}:
            found.setdefault(key, set()).add(json.dumps(case[key]))
    return found


@pytest.mark.parametrize("name", ["ntt", "msm", "spmv", "batch_add", "digits", "groth16", "field"])
def test_fuz_10_every_parameter_takes_more_than_its_default(name: str) -> None:
    seen: dict[str, set[str]] = defaultdict(set)
    scope = Scope.of(get_device("cpu"))
    for i in range(120):
        for key, values in _parameters(TARGETS[name].decode(Guided(f"ledger/{i}"), scope)).items():
            seen[key] |= values
    assert seen
    assert [key for key, values in seen.items() if len(values) < 2] == []


def test_fuz_11_a_back_end_that_is_never_compared_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    report = smoke([TARGETS["spmv"]], 1.0)
    assert {result.device: result.compared == result.cases for result in report.results} == {
        "cpu": True,
        "emu": True,
    }
    run = Campaign._run

    def without_emu(self: Campaign, batch: Batch, where: DeviceChoice) -> None:
        if where.spec != "emu":
            run(self, batch, where)

    monkeypatch.setattr(Campaign, "_run", without_emu)
    with pytest.raises(BlindHarnessError, match="spmv on emu"):
        smoke([TARGETS["spmv"]], 1.0)


def test_fuz_12_the_printed_line_alone_brings_a_finding_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faulty: Device = FaultyDevice("spmv_rows", flip("out"))
    with monkeypatch.context() as patch:
        patch.setattr(devices, "_open", lambda choice: faulty)
        run = ["run", "spmv", "--engine", "generator", "--seed", "5", "--out", str(tmp_path)]
        assert cli.main(run) == commands.FOUND
    printed = re.search(r"^FOUND .*\n  (\S+\.json)$", capsys.readouterr().out, re.MULTILINE)
    assert printed
    path = Path(printed[1])
    line = shlex.split(json.loads(path.read_text())["replay"])
    assert line[:3] == ["python", "-m", "cuzk_fuzz"]
    done = subprocess.run(
        [sys.executable, *line[1:]], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == commands.DONE, done.stdout + done.stderr  # this machine's devices are healthy
    assert "device and oracle agree" in done.stdout
    # The same inputs, from the file, from the seed, and from the test beside it.
    origin = load(path).origin
    assert origin["seed"] == 5
    first = Campaign(TARGETS["spmv"], "cpu", seed=5)
    while first.result.batches < origin["batch"]:
        first.guided()
    source = Guided(f"5/spmv/{origin['batch']}", first.result.hits)
    whole = json.dumps(first.target.decode(source, first.scope).to_json())
    case = load(path).batch.to_json()["inputs"]
    assert all(json.dumps(row)[1:-1] in whole for row in case["rows"])
