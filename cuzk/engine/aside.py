"""Large JSON of vanilla proofs, parsed in a process of its own.

A parser holds the interpreter for milliseconds at a time, and 51 MB take seconds: beside it, in whatever thread, the
one that gives work to the device waits at each call. What comes back is the same file in bincode, a fifth of the size,
which is read in a tenth of the time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache

from cuzk.circuits.vanilla.merkle_files import is_json
from cuzk.circuits.vanilla.porep_files import read_commit1, write_commit1

__all__ = ["compact", "forget", "main"]

#: From so many bytes on a process, which takes some 0.3 s to start, is worth it.
_LARGE = 4 << 20


def compact(data: bytes) -> bytes:
    """An output of the first commit phase in bincode, where it is large JSON; else as it is.

    What does not parse comes back as it is, too: its reader says what is wrong, and where.
    """
    return _in_bincode(data) if len(data) >= _LARGE and is_json(data) else data


def forget() -> None:
    """Let go of the files that were converted last."""
    _in_bincode.cache_clear()


@lru_cache(maxsize=2)
def _in_bincode(data: bytes) -> bytes:
    """Remembered: each partition of a sector comes with the same file."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        words = [sys.executable, "-m", "cuzk.engine.aside"]
        done = subprocess.run(words, input=data, capture_output=True, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return data
    return done.stdout


def main() -> None:
    """Read JSON, write bincode."""
    sys.stdout.buffer.write(write_commit1(read_commit1(sys.stdin.buffer.read())))


if __name__ == "__main__":
    main()
