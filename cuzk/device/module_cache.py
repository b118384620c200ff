"""Compiled kernel modules on disk, one file each, under a name that says what they were compiled from.

A file is the cubin as it is (so that CUDA's own tools read it), then the compiler's log, then a trailer with the
lengths and a digest of both.  A file that is cut off, empty or changed does not match its digest and counts as absent.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["lock", "pack", "read", "unpack", "write"]

_TRAILER = struct.Struct("<QQ32s8s")
_MAGIC = b"CUZKMOD1"


def pack(cubin: bytes, log: str) -> bytes:
    """The content of a file."""
    text = log.encode()
    digest = hashlib.sha256(cubin + text).digest()
    return cubin + text + _TRAILER.pack(len(cubin), len(text), digest, _MAGIC)


def unpack(data: bytes) -> tuple[bytes, str] | None:
    """Cubin and log of a file; None where it is damaged."""
    if len(data) < _TRAILER.size:
        return None
    body, trailer = data[: -_TRAILER.size], data[-_TRAILER.size :]
    cubin_length, log_length, digest, magic = _TRAILER.unpack(trailer)
    if magic != _MAGIC or cubin_length + log_length != len(body) or hashlib.sha256(body).digest() != digest:
        return None
    return body[:cubin_length], body[cubin_length:].decode(errors="replace")


def read(path: Path) -> tuple[bytes, str] | None:
    """Cubin and log; None where there is no file, or a damaged one, or one that may not be read."""
    try:
        return unpack(path.read_bytes())
    except OSError:
        return None


def write(path: Path, data: bytes) -> None:
    """Write beside, then rename: a reader sees the whole file or none.

    Raises:
        OSError: The directory can't be written, or the disk is full; nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Let one process at a time make a file: the others wait, and find it.

    Where no lock can be had (a read-only directory, a file system without locks) everybody makes it; the results are
    the same, so that only costs time.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(path.with_suffix(".lock").open("wb"))
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, also by a process that dies
        yield
