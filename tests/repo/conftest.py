"""What the tests of the repository itself share: its root and its files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_SKIPPED_FOLDERS = {"build", "dist", "node_modules", "__pycache__"}


def _listed_files() -> list[Path]:
    """Return the files git tracks or would track; without git, those that are no build product."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listing = subprocess.run(command, cwd=_ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        paths = [path.relative_to(_ROOT) for path in _ROOT.rglob("*")]
        names = [
            path
            for path in paths
            if not any(part in _SKIPPED_FOLDERS or part.startswith(".") for part in path.parts[:-1])
        ]
    else:
        names = [Path(name) for name in listing.split("\0") if name]
    return sorted(path for name in names if (path := _ROOT / name).is_file())


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return _ROOT


@pytest.fixture(scope="session")
def files() -> list[Path]:
    """Every file of the project, as absolute paths, sorted."""
    found = _listed_files()
    assert _ROOT / "pyproject.toml" in found
    return found


@pytest.fixture(scope="session")
def python_files(files: list[Path]) -> list[Path]:
    """Every Python file of the project."""
    return [path for path in files if path.suffix == ".py"]


@pytest.fixture(scope="session")
def texts(files: list[Path]) -> dict[Path, str]:
    """Every text file of the project with its content; files that are not UTF-8 are data."""
    contents = {}
    for path in files:
        try:
            contents[path] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return contents
