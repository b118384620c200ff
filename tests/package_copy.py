"""A copy of the package that is imported in its own right, however the package itself is installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import cuzk

__all__ = ["copy_package"]

_PATH_FIRST = (
    "import sys\nfrom importlib.machinery import PathFinder\n\nsys.meta_path.insert(0, PathFinder)\n"
)


def copy_package(to: Path) -> None:
    """Copy `cuzk` into a folder; a Python whose path begins there imports the copy.

    An editable install has its compiled modules beside no sources, and its finder comes before the path: the modules
    are copied from where they are, and a sitecustomize.py puts the path first.
    """
    package = to / "cuzk"
    shutil.copytree(Path(cuzk.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in cuzk.__path__:
        for built in Path(folder).glob("_*.so"):
            if not (package / built.name).exists():
                shutil.copy(built, package)
    (to / "sitecustomize.py").write_text(_PATH_FIRST, encoding="utf-8")
