"""The worker of an interleaved comparison proves with its tree's package, or not at all.

Would catch: two builds that are compared, and both are the installed one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.cli.perf_ab import ROOT, Worker
from cuzk.errors import CuzkError
from tests.package_copy import copy_package

#: Like the finder of an editable install: before the path, and for its own tree.
_FINDER = f"""
import importlib.util, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "cuzk":
            home = {str(ROOT / "cuzk")!r}
            return importlib.util.spec_from_file_location(
                name, home + "/__init__.py", submodule_search_locations=[home]
            )

sys.meta_path.insert(0, Finder)
"""


def test_a_build_is_imported_before_an_editable_install(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A build whose curves refuse to be imported: a worker that proves all the same has another's."""
    copy_package(tmp_path)
    (tmp_path / "cuzk" / "curves" / "__init__.py").write_text("raise SystemExit('the build itself')\n")
    (tmp_path / "sitecustomize.py").write_text(_FINDER)
    with pytest.raises(CuzkError, match="a worker ended"):
        Worker(tmp_path, ["--size", "30"]).close()
    assert "the build itself" in capfd.readouterr().err


def test_a_tree_without_the_package_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CuzkError, match="a worker ended"):
        Worker(tmp_path, ["--size", "30"]).close()
    assert f"not from {tmp_path}" in capfd.readouterr().err
