"""The digest of the kernel sources that a host build is made from, so that a stale build is noticed.

Standard library only: the build runs this file as a script (``python sources.py OUT.cpp``), which writes a C++ file
with the digest; the compiled modules give it back as ``source_digest()``.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

__all__ = ["KERNEL_DIR", "host_source_digest"]

KERNEL_DIR = Path(__file__).resolve().parent.parent / "kernels"
#: What host builds are made from, in any folder below.
_PATTERNS = ("*.cuh", "*.hpp", "*.cpp")


def host_source_digest(directory: Path | None = None) -> str:
    """Digest of every C++ source of the host builds: 16 hexadecimal digits.

    Args:
        directory: Folder of the kernels; those of this package by default.
    """
    directory = directory or KERNEL_DIR
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _PATTERNS for path in directory.rglob(pattern)):
        digest.update(path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _main(target: str) -> None:
    text = f'extern "C" const char cuzk_source_digest[] = "{host_source_digest()}";\n'
    Path(target).write_text(f'// Written by the build.\nextern "C" const char cuzk_source_digest[];\n{text}')


if __name__ == "__main__":
    _main(sys.argv[1])
