"""What the package metadata says: packages that exist, extras that are used, one version.

Would catch: a package left out of the wheel, an extra named in the documentation that nobody can install, a
tox environment that the guides mention and that is gone.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from cuzk.native import how_to_get


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    """The parsed pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def test_packages_of_the_wheel_exist_and_are_typed(project: dict[str, Any], root: Path) -> None:
    packages = project["tool"]["scikit-build"]["wheel"]["packages"]
    assert {name.rpartition("/")[2] for name in packages} == {"cuzk", "cuzk_oracles", "cuzk_fuzz"}
    for name in packages:
        assert (root / name / "__init__.py").is_file(), name
        assert (root / name / "py.typed").is_file(), name


def test_the_installed_version_is_the_declared_one(project: dict[str, Any]) -> None:
    assert metadata.version("cuzk") == project["project"]["version"]


def test_documented_extras_exist(project: dict[str, Any], texts: dict[Path, str]) -> None:
    extras = set(project["project"]["optional-dependencies"])
    for path, text in texts.items():
        if path.suffix == ".md":
            for group in re.findall(r'"\.\[([\w,]+)\]"', text):
                assert set(group.split(",")) <= extras, f"{path.name}: {group}"


def test_documented_environments_exist(root: Path, texts: dict[Path, str]) -> None:
    config = configparser.ConfigParser(interpolation=None)
    config.read(root / "tox.ini")
    sections = {section.removeprefix("testenv:") for section in config.sections()}
    names = {name for section in sections for name in section.strip("{}").split(",")}
    for path, text in texts.items():
        if path.suffix == ".md":
            for group in re.findall(r"tox run -e ([\w,]+)", text):
                assert set(group.split(",")) <= names, f"{path.name}: {group}"


def test_the_readme_says_first_what_this_is_and_is_not(root: Path) -> None:
    opening = (root / "README.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert "Groth16" in opening
    assert "Curio" in opening
    assert "cuZK* paper" in opening


def test_the_license_is_apache(project: dict[str, Any], root: Path) -> None:
    assert project["project"]["license"] == "Apache-2.0"
    assert "Apache License" in (root / "LICENSE").read_text(encoding="utf-8").split("\n\n")[0]


def test_sources_that_shadow_the_installed_package_are_named(tmp_path: Path) -> None:
    """Python run in a checkout finds `cuzk` there, without what an install compiled."""
    package = tmp_path / "cuzk"
    assert "pip install ." in how_to_get(package)
    (tmp_path / "pyproject.toml").touch()
    assert "python -P" in how_to_get(package)
