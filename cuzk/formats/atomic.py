"""Write files so that a reader sees the old content or the new one, never a part.

The content goes to a file without a name (O_TMPFILE), is forced to disk, and gets the target's name in one step. A
process that dies in between, even by kill -9, leaves nothing, since the system frees files without names. Two cases
need a name of their own beside the target, `.NAME.xxxxxxxxxxxx.part`: replacing an existing file, for the moment
between link and rename; and file systems without O_TMPFILE, for as long as the content is written. What a killed
process leaves there is removed by the next one that writes the same target; a lock on the file says that its
writer is alive.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from cuzk.errors import InputError

__all__ = ["PathLike", "atomic_files", "atomic_write"]

PathLike = str | os.PathLike[str]

_FLAGS = os.O_RDWR | os.O_CLOEXEC
#: How a file system says that it has no files without names.
_NO_TMPFILE = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS})


@contextlib.contextmanager
def atomic_write(path: PathLike, *, overwrite: bool = True, private: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that appears under its name only once it is complete.

    Args:
        path: Target. A symbolic link is replaced, not followed.
        overwrite: Whether an existing target is replaced; else it is refused, even one that appears
            meanwhile.
        private: Make the file readable by its owner only (witnesses, secrets).

    Yields:
        A binary file.

    Raises:
        InputError: The directory does not exist or is not writable, or the target exists and overwrite is
            False.
    """
    with atomic_files(path, overwrite=overwrite, private=private) as (file,):
        yield file


@contextlib.contextmanager
def atomic_files(*paths: PathLike, overwrite: bool = True, private: bool = False) -> Iterator[list[BinaryIO]]:
    """Open several files that appear together: all are complete and on disk before the first gets its name.

    The names are given in order, one right after the other; an interruption (Ctrl-C) waits until all have theirs.

    Args:
        paths: Targets, else as in atomic_write.
        overwrite: As in atomic_write.
        private: As in atomic_write.

    Yields:
        A binary file for each target.

    Raises:
        InputError: As atomic_write; a target whose turn has not come then does not appear.
    """
    pending: list[_Pending] = []
    try:
        for path in paths:
            pending.append(_Pending(Path(path), overwrite, private))
        yield [entry.file for entry in pending]
        for entry in pending:
            entry.sync()
        with _interruption_waits():
            for entry in pending:
                entry.publish()
    finally:
        for entry in pending:
            entry.close()


class _Pending:
    """A file on its way to its name."""

    def __init__(self, target: Path, overwrite: bool, private: bool) -> None:
        self.target, self._overwrite = target, overwrite
        self._beside = f".{target.name}.{secrets.token_hex(6)}.part"
        self._has_name = False
        if not overwrite and os.path.lexists(target):
            raise _refuse_existing(target)
        try:
            self._directory = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _cannot_write(target, error) from error
        try:
            _remove_leftovers(self._directory, target.name)
            self.file = os.fdopen(self._open(0o600 if private else 0o666), "wb")
        except OSError as error:
            os.close(self._directory)
            raise _cannot_write(target, error) from error

    def _open(self, mode: int) -> int:
        try:
            descriptor = os.open(".", _FLAGS | os.O_TMPFILE, mode, dir_fd=self._directory)
        except OSError as error:
            if error.errno not in _NO_TMPFILE:
                raise
        else:
            if Path(f"/proc/self/fd/{descriptor}").exists():  # without /proc it could never get a name
                return descriptor
            os.close(descriptor)
        return self._open_named(mode)

    def _open_named(self, mode: int) -> int:
        self._has_name = True
        while True:
            descriptor = os.open(self._beside, _FLAGS | os.O_CREAT | os.O_EXCL, mode, dir_fd=self._directory)
            _lock(descriptor)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)  # another writer took it for a leftover before it was locked

    def sync(self) -> None:
        """Force the content to disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def publish(self) -> None:
        """Take the target's name, and force that to disk."""
        try:
            if not self._overwrite:
                self._link(self.target.name)
            else:
                self._replace()
        except FileExistsError as error:
            raise _refuse_existing(self.target) from error
        except IsADirectoryError as error:
            raise InputError(
                "cannot write: it is a directory", where=str(self.target), remedy="add a file name"
            ) from error
        except OSError as error:
            raise _cannot_write(self.target, error) from error
        os.fsync(self._directory)

    def _replace(self) -> None:
        if not self._has_name:
            with contextlib.suppress(FileExistsError):
                self._link(self.target.name)
                return
            _lock(self.file.fileno())  # before the name is there, so that nobody takes it for a leftover
            if not self._has_name:
                self._link(self._beside)
                self._has_name = True
        os.replace(self._beside, self.target.name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
        self._has_name = False

    def _link(self, name: str) -> None:
        """Give the file one more name; fails if the name is taken."""
        if not self._has_name:
            try:
                # With a directory given Python follows the link in /proc, which names a file without a name.
                self._link_from(f"/proc/self/fd/{self.file.fileno()}", name)
                return
            except FileExistsError:
                raise
            except OSError:  # some layered and remote file systems refuse it after all
                self._copy()
        if name != self._beside:
            self._link_from(self._beside, name)

    def _link_from(self, source: str, name: str) -> None:
        os.link(source, name, src_dir_fd=self._directory, dst_dir_fd=self._directory, follow_symlinks=True)

    def _copy(self) -> None:
        """Copy the content into a file that has a name beside the target, and go on with that one."""
        unnamed, offset = self.file.fileno(), 0
        named = self._open_named(stat.S_IMODE(os.fstat(unnamed).st_mode))
        try:
            while sent := os.sendfile(named, unnamed, offset, 1 << 30):
                offset += sent
            os.fsync(named)
            os.dup2(named, unnamed, inheritable=False)  # the lock is on the file that stays open
        finally:
            os.close(named)

    def close(self) -> None:
        """Give everything back; a name that is still beside the target goes."""
        if self._has_name:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._beside, dir_fd=self._directory)
        # Closing writes what is buffered, which may fail once more after a failure.
        with contextlib.suppress(OSError):
            self.file.close()
        os.close(self._directory)


def _refuse_existing(path: Path) -> InputError:
    return InputError(
        "the output file exists and would be overwritten",
        where=str(path),
        remedy="choose another name, or remove the file first",
    )


def _cannot_write(path: Path, error: OSError) -> InputError:
    remedy = "make room on the disk" if error.errno == errno.ENOSPC else "choose a directory that is writable"
    return InputError(f"cannot write: {error.strerror}", where=str(path), remedy=remedy)


def _lock(descriptor: int) -> None:
    # A file system without locks has leftovers that nobody removes; that is no reason not to write.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_leftovers(directory: int, name: str) -> None:
    """Remove what killed writers of this target have left: files beside it that nobody holds locked."""
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}\.part")
    for entry in os.listdir(directory):
        if pattern.fullmatch(entry) is None:
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(entry, dir_fd=directory)
            finally:
                os.close(descriptor)


@contextlib.contextmanager
def _interruption_waits() -> Iterator[None]:
    """Let Ctrl-C act only after the block; Python runs handlers in the main thread alone."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[0])
