"""The device suite leaves no kernel out, and its tools do what the suite relies on.

Would catch: a kernel that no case launches, so that a GPU's bytes are never compared; a comparison that does not see a
difference; results lost when a run is cut short; a plugin that runs the emulator's tests on the emulator all the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.curves import CURVES
from cuzk.device import get_device
from tests.device import gpu, suite, timings
from tests.device.cases import all_cases
from tests.device.plugin import passed
from tests.device.results import ROOT, Results, tree_digest
from tests.device.smoke import SIZES, Spy, compare

#: Enough for two levels of the scan, which smaller sizes do not reach.
COVERING = 600


def test_the_cases_launch_every_kernel() -> None:
    """On the emulator, whose plans are a GPU's; the sizes of a device run are no smaller than what covers here."""
    device = get_device("emu")
    spy = Spy(device)
    for n in (33, COVERING):
        for name, case in all_cases(dict(CURVES)).items():
            if n == 33 or name.startswith("fr_"):
                assert [result for _, result in case(device, n)], name
    assert spy.never_launched() == []
    assert max(SIZES) >= COVERING


def test_a_kernel_that_nobody_launches_is_seen() -> None:
    device = get_device("emu")
    spy = Spy(device)
    for _ in all_cases(dict(CURVES))["word"](device, 3):
        pass
    never = spy.never_launched()
    assert "word_op_u32" not in never
    assert any(name.startswith("spmv") for name in never)


def test_a_different_byte_is_seen() -> None:
    cpu = get_device("cpu")
    words = all_cases(dict(CURVES))["word"]

    def spoiled(device: Any, n: int) -> Any:
        for i, (name, array) in enumerate(words(device, n)):
            yield name, array ^ np.uint64(i == 3 and device is not cpu)

    assert compare(words, get_device("emu"), cpu, 40) == []
    (found,) = compare(spoiled, get_device("emu"), cpu, 40)
    assert "index 0, against cpu" in found


def test_results_are_whole_after_every_row(tmp_path: Path) -> None:
    results = Results(tmp_path / "r.json", {"device": "none"})
    for i in range(3):
        results.add({"i": i})
        seen = json.loads((tmp_path / "r.json").read_text())
        assert [row["i"] for row in seen["rows"]] == list(range(i + 1))
        assert seen["complete"] is False
    results.finish()
    assert json.loads((tmp_path / "r.json").read_text())["complete"] is True
    assert len(tree_digest()) == 16


_A_TEST = """
import pytest
from cuzk.device import get_device

@pytest.mark.parametrize("device_name", ["cpu", "emu", "emu:random_warp:4", "emu:descending:1"])
@pytest.mark.parametrize("fails", [False, True])
def test_one(device_name, fails):
    assert get_device(device_name).kind == "cpu"
    assert not fails

def test_without_a_device():
    raise RuntimeError("this must not run")
"""


def run_plugin(folder: Path, *options: str) -> tuple[int, str]:
    (folder / "test_sample.py").write_text(_A_TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.device.plugin",
        "-p",
        "no:cacheprovider",
        "-n0",
    ]
    done = subprocess.run(
        [*command, *options, "--rootdir", str(folder), str(folder / "test_sample.py")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_the_plugin_moves_tests_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    options = ("--on-device", "cpu", "--record", str(record))
    code, text = run_plugin(tmp_path, *options)
    assert code == 1
    assert "1 failed, 1 passed, 7 deselected" in text, text
    assert len(passed(record)) == 1
    code, text = run_plugin(tmp_path, *options)
    assert "1 failed, 8 deselected" in text, text
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    assert [row["outcome"] for row in rows].count("failed") == 2
    assert all(row["device"] == "cpu" for row in rows)


def test_parts_have_their_own_result_files() -> None:
    files = [part.result(Path()) for part in suite.PARTS]
    assert len(set(files)) == len(files)
    for part in suite.PARTS:
        words = suite.arguments(part, Path("state"), 77.7)
        assert str(part.result(Path("state"))) in words, part.name
        assert part.least_s <= part.most_s < 540, part.name


def test_a_part_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    slow = suite.Part("slow", "-c 'import time; time.sleep(3600)'", 60, 1)
    row = suite.run(slow, tmp_path, 1.0)
    assert row["outcome"] == "unfinished"
    assert row["seconds"] < 250
    broken = suite.Part("broken", "-c 'raise SystemExit(3)'", 60, 1)
    assert suite.run(broken, tmp_path, 250.0)["outcome"] == "failed"


@pytest.mark.parametrize("module", ["suite", "smoke", "sanitize", "timings", "proofs", "startup", "tune_msm"])
def test_scripts_say_why_they_do_nothing_without_a_gpu(module: str) -> None:
    if not gpu.why_none():
        return  # what they do with one is the device run's business
    done = subprocess.run(
        [sys.executable, "-m", f"tests.device.{module}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "skipped: " in done.stdout


def test_targets_have_rows_and_floors_lie_below_them() -> None:
    """A target without its size in the run would never be judged."""
    limits = get_device("emu").limits
    for family, targets in timings.TARGETS.items():
        assert set(targets) <= set(timings.LOGS[family]), family
        for log_n, target in targets.items():
            if family == "ntt":
                floor = timings.ntt_floor(log_n)[0]
            else:
                kind, _, name = family.partition("_")
                group = getattr(timings.CURVE, name)
                floor = getattr(timings, f"{kind}_floor")(group, 1 << log_n, limits)[0]
            assert 0 < floor < 1.1 * target, (family, log_n)


def test_the_suite_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Parts that passed are not run again, failed ones are; what has no time is not begun; all of it is collected."""
    write = "-c \"import json, sys; open('RESULT', 'w').write(json.dumps(dict(rows=[1])))\""
    good = suite.Part("good", write.replace("'RESULT'", "sys.argv[1]") + " RESULT", 300, 1)
    bad = suite.Part("bad", "-c 'print(\"reason\"); raise SystemExit(4)'", 300, 1)
    long = suite.Part("long", "-c pass", 900, 800)
    monkeypatch.setattr(suite, "PARTS", (good, bad, long))
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "tree_digest", lambda: "same")
    monkeypatch.setattr(gpu, "why_none", lambda: "")
    monkeypatch.setattr(gpu, "gpu", lambda: get_device("cpu"))
    for attempt in range(2):
        monkeypatch.setattr(sys, "argv", ["suite", "--out", str(tmp_path / "out"), "--budget-s", "600"])
        assert suite.main() == 1
        text = capsys.readouterr().out
        assert ("good           passed before" in text) is (attempt == 1), text
        assert "reason" in text
        assert "long           not begun" in text
    collected = json.loads((tmp_path / "out" / "suite.json").read_text())["parts"]
    assert {name: row["outcome"] for name, row in collected.items()} == {
        "good": "passed", "bad": "failed", "long": "not run",
    }  # fmt: skip
    assert collected["good"]["results"] == {"rows": [1]}
    assert (tmp_path / "out" / "suite.log").read_text().count("reason") == 2
