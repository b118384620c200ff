"""Writing files in one step.

Would catch: a target that is damaged by a failure, leftovers beside it, an existing file overwritten unasked,
the umask ignored, an input destroyed because it is also the output.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cuzk.errors import InputError
from cuzk.formats import atomic_write


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


def test_killed_while_writing(tmp_path: Path) -> None:
    """The target still has its old content; only a file that is not the target may be left."""
    path = tmp_path / "out"
    path.write_bytes(b"old")
    code = (
        "import sys, os, signal\n"
        "from cuzk.formats import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'new' * 100000)\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert all(p == path or p.name.endswith(".part") for p in tmp_path.iterdir())
