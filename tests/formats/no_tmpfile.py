"""The module os as it is on a file system that has no files without names."""

from __future__ import annotations

import errno
import os
from typing import Any


def open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
    """As os.open, but O_TMPFILE is refused."""
    if flags & os.O_TMPFILE == os.O_TMPFILE:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return os.open(path, flags, *arguments, **options)


def __getattr__(name: str) -> Any:
    return getattr(os, name)
