"""Result files of device runs: JSON that is whole after every row, so that a run cut short still counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Exit code of a script that left work for a later call.
UNFINISHED = 75
#: What a result depends on: sources of the library, of the harness, and the build's description.
_SOURCES = ("cuzk", "oracles", "fuzz", "tests", "examples", "CMakeLists.txt", "pyproject.toml")
_SUFFIXES = {
    ".py",
    ".cuh",
    ".cu",
    ".hpp",
    ".cpp",
    ".h",
    ".txt",
    ".toml",
    ".sh",
    ".json",
    ".zkey",
    ".r1cs",
    ".wtns",
}


def tree_digest() -> str:
    """Digest of the sources: names a commit where no git history is at hand."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        top = ROOT / name
        paths = [top] if top.is_file() else sorted(p for p in top.rglob("*") if p.suffix in _SUFFIXES)
        for path in paths:
            if "__pycache__" not in path.parts:
                digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Results:
    """A JSON object in a file, written again at every change.

    Args:
        path: The file, or None to keep the object in memory alone.
        head: First entries.
    """

    def __init__(self, path: Path | None, head: Mapping[str, Any]) -> None:
        self.path = path
        self.data: dict[str, Any] = {**head, "rows": [], "complete": False}
        self.write()

    def add(self, row: dict[str, Any]) -> None:
        """Append a row."""
        self.data["rows"].append(row)
        self.write()

    def finish(self) -> None:
        """Mark the run as complete."""
        self.data["complete"] = True
        self.write()

    def write(self) -> None:
        """Write the object as it is."""
        if self.path is not None:
            write_json(self.path, self.data)


def write_json(path: Path, data: Any) -> None:
    """Write beside, then rename: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)
