"""Writing files in one step.

Would catch: a target that is damaged by a failure, leftovers beside it, an existing file overwritten unasked,
the umask ignored, an input destroyed because it is also the output.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuzk.errors import InputError
from cuzk.formats.atomic import atomic_files, atomic_write
from tests.formats import no_tmpfile


class BoomError(Exception):
    """Raised by the tests in the middle of writing."""


def write(
    path: Path, content: bytes, *, fail: bool = False, overwrite: bool = True, private: bool = False
) -> None:
    with atomic_write(path, overwrite=overwrite, private=private) as file:
        file.write(content)
        if fail:
            raise BoomError


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "out"
    write(path, b"one")
    write(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_failure_leaves_everything_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with pytest.raises(BoomError):
        write(path, b"half", fail=True)
    assert list(tmp_path.iterdir()) == []
    write(path, b"old")
    with pytest.raises(BoomError):
        write(path, b"half", fail=True)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_does_not_overwrite_unasked(tmp_path: Path) -> None:
    path = tmp_path / "out"
    write(path, b"old", overwrite=False)
    with pytest.raises(InputError, match="would be overwritten"):
        write(path, b"new", overwrite=False)
    dangling = tmp_path / "link"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="would be overwritten"):
        write(dangling, b"new", overwrite=False)
    assert path.read_bytes() == b"old"


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def write_while_another_does() -> None:
        with atomic_write(path, overwrite=False) as file:
            file.write(b"mine")
            path.write_bytes(b"theirs")

    with pytest.raises(InputError, match="would be overwritten"):
        write_while_another_does()
    assert path.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_links_are_replaced_not_followed(tmp_path: Path) -> None:
    source, soft, hard = tmp_path / "source", tmp_path / "soft", tmp_path / "hard"
    source.write_bytes(b"input")
    soft.symlink_to(source)
    hard.hardlink_to(source)
    for path in (soft, hard):
        write(path, b"output")
        assert path.read_bytes() == b"output"
        assert source.read_bytes() == b"input"


def test_modes(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write(tmp_path / "public", b"")
        write(tmp_path / "private", b"", private=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_bad_targets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write: No such file or directory"):
        write(tmp_path / "missing" / "out", b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="directory"):
        write(tmp_path / "folder", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from cuzk.formats import atomic

if sys.argv[2] == "named":
    atomic.os = __import__("tests.formats.no_tmpfile", fromlist=["os"])
with atomic.atomic_write(sys.argv[1]) as file:
    file.write(b"new" * 100000)
    file.flush()
    if sys.argv[3] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
"""


def _writer(path: Path, kind: str, end: str) -> subprocess.Popen[str]:
    """A process that writes a file and dies, or waits until its standard input is closed."""
    return subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(path), kind, end],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.parametrize("kind", ["unnamed", "named"])
def test_killed_while_writing(tmp_path: Path, kind: str) -> None:
    """The old content is there; a file beside it only where the system has no files without names."""
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with _writer(path, kind, "killed") as process:
        process.communicate(timeout=1000)
    assert process.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    left = [entry.name for entry in tmp_path.iterdir() if entry != path]
    assert len(left) == (kind == "named")
    assert all(name.startswith(".out.") and name.endswith(".part") for name in left)
    write(path, b"again")
    assert list(tmp_path.iterdir()) == [path], "the next writer clears up"
    assert path.read_bytes() == b"again"


def test_files_of_living_writers_and_of_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "out"
    others = [
        tmp_path / name for name in (".out.part", ".out.0123.part", ".outs.0123456789ab.part", "out.part")
    ]
    for other in others:
        other.write_bytes(b"of somebody else")
    with _writer(path, "named", "waits") as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "writing\n"
        (beside,) = set(tmp_path.iterdir()) - set(others)
        write(path, b"quicker")
        assert beside.exists()
        process.stdin.close()
        assert process.wait(timeout=1000) == 0
    assert path.read_bytes() == b"new" * 100000, "the last to finish wins"
    assert set(tmp_path.iterdir()) == {path, *others}


@pytest.fixture(params=["no unnamed files", "no names for them"])
def poor_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without files that have no name, and one that never gives them one."""
    real = os.link

    def refuse(source: str | Path, *arguments: Any, **options: Any) -> None:
        if str(source).startswith("/proc/"):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        real(source, *arguments, **options)

    if request.param == "no unnamed files":
        monkeypatch.setattr("cuzk.formats.atomic.os", no_tmpfile)
    else:
        monkeypatch.setattr("cuzk.formats.atomic.os.link", refuse)


@pytest.mark.usefixtures("poor_system")
def test_the_same_without_unnamed_files(tmp_path: Path) -> None:
    test_writes_and_replaces(tmp_path / _made(tmp_path, "a"))
    test_failure_leaves_everything_as_it_was(tmp_path / _made(tmp_path, "b"))
    test_does_not_overwrite_unasked(tmp_path / _made(tmp_path, "c"))
    test_a_name_taken_meanwhile_is_not_overwritten(tmp_path / _made(tmp_path, "d"))
    test_links_are_replaced_not_followed(tmp_path / _made(tmp_path, "e"))
    test_modes(tmp_path / _made(tmp_path, "f"))
    test_bad_targets(tmp_path / _made(tmp_path, "g"))
    test_several_files_appear_together(tmp_path / _made(tmp_path, "h"))


@pytest.mark.usefixtures("poor_system")
def test_long_content_without_unnamed_files(tmp_path: Path) -> None:
    """More than one buffer, and more than one call of the system where it is copied."""
    content = os.urandom(1 << 20) * 5
    for _ in range(2):
        write(tmp_path / "out", content)
        assert (tmp_path / "out").read_bytes() == content
        assert len(list(tmp_path.iterdir())) == 1


def _made(folder: Path, name: str) -> str:
    (folder / name).mkdir()
    return name


def test_several_files_appear_together(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    second.write_bytes(b"old")

    def write_both(*, fail: bool) -> None:
        with atomic_files(first, second) as (one, two):
            one.write(b"1")
            two.write(b"2")
            assert not first.exists()
            if fail:
                raise BoomError

    with pytest.raises(BoomError):
        write_both(fail=True)
    assert not first.exists()
    assert second.read_bytes() == b"old"
    write_both(fail=False)
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")
    with (
        pytest.raises(InputError, match="would be overwritten"),
        atomic_files(tmp_path / "x", first, overwrite=False),
    ):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"first", "second"}


def test_an_interruption_does_not_part_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the names are given acts when all files have theirs."""
    real = os.link

    def interrupted_link(*arguments: Any, **options: Any) -> None:
        real(*arguments, **options)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("cuzk.formats.atomic.os.link", interrupted_link)
    before = signal.getsignal(signal.SIGINT)

    def write_both() -> None:
        with atomic_files(tmp_path / "a", tmp_path / "b") as files:
            for file in files:
                file.write(b"content")

    with pytest.raises(KeyboardInterrupt):
        write_both()
    assert signal.getsignal(signal.SIGINT) is before
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"content", b"content"]


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("cuzk.formats.atomic.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "out", b"x")
    assert list(tmp_path.iterdir()) == []
