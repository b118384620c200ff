"""The README's commands: each `$` line of a console block runs, in order, in a fresh folder.

Would catch: an option that was renamed, an example file that moved, a command that fails.
The two commands at its top build the package and run this suite, so they are what CI itself runs.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: What a command does and its steps, which a quick one says only on a slow or busy machine.
_PROGRESS = re.compile(r"^(?:[a-z][a-z0-9 ]*|  \S.*)\n", re.MULTILINE)


def console_commands(text: str) -> list[tuple[str, str]]:
    """Return each command of the console blocks with the output that follows it."""
    found = []
    for block in _CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    """A fresh folder from which the paths that the README names can be read."""
    for folder in ("examples", "tests", "perf_baselines"):
        (tmp_path / folder).symlink_to(root / folder)
    return tmp_path


@pytest.mark.long
def test_console_blocks_run(root: Path, checkout: Path) -> None:
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    commands = console_commands((root / "README.md").read_text(encoding="utf-8"))
    assert len(commands) >= 8
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for command, expected in commands:
        done = subprocess.run(
            shlex.split(command), cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
        report = f"$ {command}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, report
        assert checker.check_output(expected, done.stdout + _PROGRESS.sub("", done.stderr), flags), report


def test_python_blocks_run(root: Path, checkout: Path) -> None:
    blocks = _PYTHON.findall((root / "README.md").read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        # -W error as in this suite, -P so that the folder it runs in is not on the import path.
        command = [sys.executable, "-P", "-W", "error", "-c", block]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"


def test_ci_runs_the_two_commands(root: Path) -> None:
    first, second = (_SHELL.findall((root / "README.md").read_text(encoding="utf-8")))[:2]
    script = (root / ".ci" / "run").read_text(encoding="utf-8")
    for text, pieces in (
        (first, ("pip install .", "examples/quickstart.py")),
        (second, ("tox run -e test",)),
    ):
        for piece in pieces:
            assert piece in text
            last = piece.split()[-1]
            assert re.search(rf"{re.escape(last)}$", script, re.MULTILINE), f"{piece} is not in .ci/run"


def test_commands_are_extracted_with_their_output() -> None:
    text = "```console\n$ a b\nout\n$ c\n```\n```sh\nd\n```\n"
    assert console_commands(text) == [("a b", "out\n"), ("c", "")]


def test_progress_is_no_output() -> None:
    said = "check of 1 key\n  points on the curve: 1.70 s (about 3 s left)\nwrote a.html: 3 KiB\nwarning: no secrecy\n"
    assert _PROGRESS.sub("", said) == "wrote a.html: 3 KiB\nwarning: no secrecy\n"
