"""Errors, warnings and interruptions become messages and exit codes.

Would catch: an exit code that moved, a traceback nobody asked for, a warning that is lost or printed twice,
output files after an interrupted run.
"""

from __future__ import annotations

import errno
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from cuzk.cli.guard import guard
from cuzk.cli.paths import write_together
from cuzk.errors import CompileError, FormatError, InputError, InternalError, KernelFault, SecurityWarning
from cuzk.groth16 import Prover
from tests.cli.support import Run, circuit, entries, prove


def _run(action: Callable[[], int | None], *arguments: str) -> Run:
    """Run a command that does one thing, under the guard."""

    def command(as_json: bool = False) -> int | None:
        return action()

    app = typer.Typer()
    app.command()(guard(command))
    result = CliRunner().invoke(app, list(arguments))
    return Run(result.exit_code, result.stdout, result.stderr)


def _raises(error: BaseException) -> Callable[[], int | None]:
    def action() -> int | None:
        raise error

    return action


@pytest.mark.parametrize(
    ("error", "code", "fragment"),
    [
        (
            FormatError("bad", path="k.zkey", section=5, offset=9, limit="8", remedy="fetch it"),
            2,
            "byte 9: bad",
        ),
        (InputError("odd"), 2, "odd"),
        (CompileError("no compiler"), 3, "no compiler"),
        (KernelFault("ntt", 1, 7), 3, "fault 1"),
        (InternalError("ours"), 3, "ours"),
        (FileNotFoundError(errno.ENOENT, "No such file", "x.json"), 2, "x.json: No such file"),
        (PermissionError(errno.EACCES, "Permission denied", "y"), 2, "y: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "No space left"),
        (MemoryError(), 3, "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 3, "use a machine with more memory"),
        (ZeroDivisionError("by zero"), 3, "a defect of cuzk"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_exit_codes(error: BaseException, code: int, fragment: str) -> None:
    done = _run(_raises(error))
    assert done.code == code
    assert fragment in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_limit_and_remedy_have_lines_of_their_own() -> None:
    done = _run(_raises(FormatError("bad", path="f", limit="at most 3", remedy="make it again")))
    assert done.err.splitlines() == ["error: f: bad", "  limit: at most 3", "  to fix: make it again"]


def test_a_traceback_only_on_request() -> None:
    done = _run(_raises(InputError("odd")), "--debug")
    assert done.code == 2
    assert "Traceback" in done.err
    assert "error: odd" in done.err


def test_an_error_as_json() -> None:
    report = _run(_raises(FormatError("bad", path="f", remedy="r")), "--as-json").report
    assert report == {
        "error": {
            "type": "FormatError", "what": "bad", "where": "f", "limit": None, "remedy": "r", "exit_code": 2
        }
    }  # fmt: skip


@pytest.mark.parametrize("answer", [0, None, 1, 3])
def test_the_command_chooses_its_exit_code(answer: int | None) -> None:
    assert _run(lambda: answer).code == (answer or 0)


def test_a_security_warning_is_one_line_once() -> None:
    def action() -> None:
        for _ in range(2):
            warnings.warn("no secrecy", SecurityWarning, stacklevel=1)
        warnings.warn("no soundness", SecurityWarning, stacklevel=1)

    assert _run(action).err == "warning: no secrecy\nwarning: no soundness\n"


def test_an_interrupted_proof_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Prover, "prove_with_public", interrupted)
    assert prove(circuit("bn128"), tmp_path).code == 130
    assert entries(tmp_path) == set()


def test_ctrl_c_ends_a_process_with_130() -> None:
    words = ["bench", "msm", "--size", "2^14", "--repeats", "1000", "--device", "cpu"]  # minutes
    process = subprocess.Popen(
        [sys.executable, "-m", "cuzk", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    with process:
        assert process.stderr is not None
        assert "1000 runs" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=1000)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err + out


def test_files_appear_together_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_bytes(b"old")
    with pytest.raises(InputError):
        write_together({first: b"new", tmp_path / "none" / "b": b"new"})
    assert first.read_bytes() == b"old"
    assert entries(tmp_path) == {"a"}
    write_together({first: b"new", second: b"new"})
    assert (first.read_bytes(), second.read_bytes()) == (b"new", b"new")
    assert entries(tmp_path) == {"a", "b"}
