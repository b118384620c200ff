"""Write files so that a reader sees the old content or the new one, never a part.

The text goes to a new file beside the target, is forced to disk, and takes the target's name in one step.
After any failure the target is untouched and the file beside it is gone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cuzk.errors import InputError

PathLike = str | os.PathLike[str]


def _refuse_existing(path: Path) -> InputError:
    return InputError(
        "the output file exists and would be overwritten",
        where=str(path),
        remedy="choose another name, or remove the file first",
    )


def _sync_directory(path: Path) -> None:
    """Force the directory entry to disk, so that the new name survives a power failure."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    target = Path(path)
    if not overwrite and os.path.lexists(target):
        raise _refuse_existing(target)
    beside = target.parent / f".{target.name}.{secrets.token_hex(6)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(beside, flags, 0o600 if private else 0o666)
    except OSError as error:
        raise InputError(
            f"cannot write: {error.strerror}", where=str(target), remedy="choose a directory that is writable"
        ) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _take_name(beside, target, overwrite)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _take_name(beside: Path, target: Path, overwrite: bool) -> None:
    try:
        if overwrite:
            beside.replace(target)
        else:
            target.hardlink_to(beside)  # fails if the name was taken in the meantime
            beside.unlink()
    except FileExistsError as error:
        raise _refuse_existing(target) from error
    except IsADirectoryError as error:
        raise InputError("cannot write: it is a directory", where=str(target)) from error
