"""What the sanitizer run makes of what the tool says, with a script in the tool's place.

Would catch: a report that counts as clean, a tool that could not work and counts as clean, a run that never ends.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.device import sanitize

_CASE = "fr_toy                   n=  257    0.10 s  same bytes"


def tool(folder: Path, text: str, code: int, *, seconds: float = 0) -> Path:
    """A script that says something and ends."""
    path = folder / "compute-sanitizer"
    path.write_text(
        f"#!/bin/sh\ncat <<'END'\n{text}\nEND\ntouch {folder}/said\nsleep {seconds}\nexit {code}\n"
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "code", "outcome"),
    [
        (f"========= COMPUTE-SANITIZER\n{_CASE}\n========= ERROR SUMMARY: 0 errors", 0, "clean"),
        (f"{_CASE}\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", 0, "clean"),
        (
            "========= Invalid __global__ write of size 8 bytes\n========= ERROR SUMMARY: 3 errors",
            99,
            "reports",
        ),
        ("========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)", 0, "reports"),
        ("fr_toy n=257 fr_mul at index 0\n========= ERROR SUMMARY: 0 errors", 1, "differs"),
        ("========= Error: Device not supported\n========= ERROR SUMMARY: 1 error", 99, "refused"),
        ("the tool did not even start", 0, "refused"),
    ],
)
def test_outcomes(tmp_path: Path, text: str, code: int, outcome: str) -> None:
    row = sanitize.run_tool(tool(tmp_path, text, code), "memcheck", "fr_toy", "257", 250)
    assert row["outcome"] == outcome
    assert sanitize.is_bad(row) is (outcome in ("reports", "differs"))
    assert row["finished"] == text.count("same bytes")
    assert outcome == "clean" or row["log"]


def test_a_run_that_takes_too_long_says_how_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time begins when it has said that one case is done: a busy machine starts it late."""
    original = subprocess.Popen.communicate

    def communicate(self: Any, input: Any = None, timeout: float | None = None) -> Any:
        while not (tmp_path / "said").exists():
            time.sleep(0.01)
        return original(self, input, timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    row = sanitize.run_tool(tool(tmp_path, _CASE, 0, seconds=3600), "racecheck", "fr_toy", "257", 1)
    assert (row["outcome"], row["finished"]) == ("timeout", 1)
    assert not sanitize.is_bad(row)
    assert sanitize.is_bad(row | {"finished": 0})


def test_the_tool_is_found_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tool(tmp_path, "", 0)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert sanitize.find_tool() == path
    monkeypatch.setenv("PATH", "")
    (tmp_path / "toolkit" / "bin").mkdir(parents=True)
    path = path.rename(tmp_path / "toolkit" / "bin" / "compute-sanitizer")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    assert sanitize.find_tool() == path


def test_every_case_of_the_subset_exists() -> None:
    from cuzk.curves import CURVES
    from tests.device.cases import all_cases

    assert set(sanitize.CASES) <= set(all_cases(dict(CURVES)))
