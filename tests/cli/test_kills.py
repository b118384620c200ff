"""Commands that write files, killed and interrupted (tests.cli.kills is the long campaign).

Would catch: a file under its name before it is complete, a temporary file that an interruption or the next run does
not remove, results that a kill takes along, a traceback or another exit code than 130 after Ctrl-C.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import kills
from tests.cli.kill_cases import CASES, Case


@pytest.mark.long
def test_kills_at_random_moments(tmp_path: Path) -> None:
    campaign = kills.Campaign(tmp_path, seed=20)
    campaign.run(16)
    assert campaign.faults == []
    assert sum(count for name, count in campaign.results.items() if name.startswith("SIG")) == 16
    assert len({name for name in campaign.results if name.startswith("SIG")}) >= 4


_PARTIAL = "import sys, time; open('out', 'wb').write(b'half'); open('out', 'wb').write(b'whole')"
_BESIDE = "import os; open('beside', 'wb').close(); open('out', 'wb').write(b'whole'); os.remove('beside')"


@pytest.mark.parametrize(("code", "fault"), [(_PARTIAL, "out holds b'half'"), (_BESIDE, "left behind")])
def test_the_campaign_finds_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, fault: str
) -> None:
    """A program that writes in place, and one that leaves a file beside, are found out."""
    monkeypatch.setattr(kills, "CASES", (Case("faulty", (), ("out",), force=None, code=code),))
    monkeypatch.setattr(kills, "make_inputs", lambda *_: None)
    campaign = kills.Campaign(tmp_path, seed=1)
    campaign.run(24)
    assert any(fault in text for text in campaign.faults), campaign.faults


def test_interrupted_while_it_starts() -> None:
    """From the first import of the command line on, Ctrl-C has its message and its exit code."""
    code = (
        "import builtins, os, signal, sys\n"
        "real = builtins.__import__\n"
        "def slow(name, *rest, **more):\n"
        "    if name == 'typer' and 'typer' not in sys.modules:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = slow\n"
        "from cuzk.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "variants"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert done.stderr == "interrupted: no unfinished output was left behind\n"
    assert done.stdout == ""


def test_interrupted_while_it_ends() -> None:
    """A command that is done has succeeded, whatever arrives while the interpreter goes down."""
    code = (
        "import atexit, os, signal\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from cuzk.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("cuzk ")


def test_nothing_is_imported_before_interruptions_are_caught() -> None:
    """Between the start of the interpreter and main() there are two files, and they import nothing."""
    code = (
        "import sys; before = set(sys.modules); from cuzk.cli import main; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"cuzk", "cuzk.cli", "__future__"}


def test_every_command_that_names_an_output_is_a_case() -> None:
    """A new command with an option for an output file must come into the campaign."""
    help_ = subprocess.run(
        [sys.executable, "-m", "cuzk", "--help"], capture_output=True, text=True, check=True
    ).stdout
    writers = {"setup", "prove", "key", "circuit", "perf"}
    readers = {"verify", "info", "doctor", "variants", "check", "status", "cancel", "preload", "evict"}
    # Their files hold times or dates, so no two runs write the same bytes; or they need a daemon, which has its own
    # campaign (tests/engine/soak.py).
    reporters = {"bench", "ab", "waterfall", "daemon", "submit", "await"}
    listed = {line.split()[1] for line in help_.splitlines() if line.startswith("│ ") and line[2:3].islower()}
    assert listed == writers | readers | reporters, (
        "say in tests/cli/kill_cases.py what the new command writes"
    )
    assert {case.name.split()[0] for case in CASES} >= writers


_SAID = "interrupted: no unfinished output was left behind\n"
_EARLY = (
    'Traceback (most recent call last):\n  File "<frozen site>", line 73, in <module>\nKeyboardInterrupt\n'
)
_LATE = 'Traceback (most recent call last):\n  File "/x/cuzk/cli/app.py", line 9, in run\nKeyboardInterrupt\n'


@pytest.mark.parametrize(
    ("number", "code", "text", "ending"),
    [
        (signal.SIGKILL, -9, "", "killed"),
        (signal.SIGKILL, 1, "", "wrong"),
        (signal.SIGKILL, 0, "", "finished first"),
        (signal.SIGINT, 0, "", "finished first"),
        (signal.SIGINT, 130, _SAID, "interrupted"),
        (signal.SIGINT, 130, "", "wrong"),
        (signal.SIGINT, 130, _EARLY, "wrong"),
        (signal.SIGINT, 1, "Aborted.\n", "wrong"),
        (signal.SIGINT, 1, _SAID, "wrong"),
        (signal.SIGINT, -2, "", "before Python ran cuzk"),
        (signal.SIGINT, -2, _EARLY, "before Python ran cuzk"),
        (signal.SIGINT, 1, "Fatal Python error: init_import_site: no\n" + _EARLY, "before Python ran cuzk"),
        (signal.SIGINT, -2, _LATE, "wrong"),
        (signal.SIGINT, 3, _EARLY, "wrong"),
        (signal.SIGINT, -2, "error: something else\n", "wrong"),
    ],
)
def test_how_a_command_may_end(number: signal.Signals, code: int, text: str, ending: str) -> None:
    """What the campaign takes for right, and what for a fault."""
    assert kills._ending(CASES[0], number, code, text) == ending
