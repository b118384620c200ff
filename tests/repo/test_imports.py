"""Import rules beyond what the linter's contracts say; the contracts themselves run as `lint-imports`.

Would catch: a new module that no contract covers, a library used without being a dependency, code that
imports tests, and a module of the plain-integer layer that reaches for a library.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

#: Import name of a distribution where the two differ.
_IMPORT_NAMES = {"python_flint": "flint", "cupy_cuda12x": "cupy", "grpcio": "grpc", "protobuf": "google"}
_OUR_ROOTS = {"cuzk", "cuzk_oracles", "cuzk_fuzz"}
_STDLIB_ONLY = ("cuzk/errors.py", "cuzk/curves")


def _imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports, at any depth; relative ones as they are."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module)
    return names


def _below(paths: list[Path], folder: Path) -> list[Path]:
    return [path for path in paths if path == folder or path.is_relative_to(folder)]


def _project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


def _declared(root: Path, *extras: str) -> set[str]:
    """Return import names of the run-time dependencies and of the given extras."""
    project = _project(root)["project"]
    requirements = list(project["dependencies"])
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    names = {re.split(r"[^\w.-]", text, maxsplit=1)[0].replace("-", "_").lower() for text in requirements}
    return {_IMPORT_NAMES.get(name, name) for name in names}


def test_libraries_are_declared(python_files: list[Path], root: Path) -> None:
    allowed = {
        "cuzk": _declared(root, "plots", "cuda12", "engine", "ray") | {"cuda", "cupy_backends"},
        "oracles": _declared(root, "oracles"),
        "fuzz": _declared(root, "fuzz", "oracles", "ray") | {"pytest"},
    }
    undeclared = []
    for folder, libraries in allowed.items():
        for path in _below(python_files, root / folder):
            roots = {name.partition(".")[0] for name in _imports(path)}
            extra = roots - set(sys.stdlib_module_names) - _OUR_ROOTS - libraries
            undeclared += [f"{path.relative_to(root)}: {name}" for name in sorted(extra)]
    assert not undeclared, "\n".join(undeclared)


def test_the_plain_integer_layer_uses_the_standard_library(python_files: list[Path], root: Path) -> None:
    found = []
    for folder in _STDLIB_ONLY:
        for path in _below(python_files, root / folder):
            for name in sorted(_imports(path)):
                is_ours = name == "cuzk.errors" or name.startswith("cuzk.curves")
                if not is_ours and name.partition(".")[0] not in sys.stdlib_module_names:
                    found.append(f"{path.relative_to(root)}: {name}")
    assert not found


def test_nobody_imports_tests(python_files: list[Path], root: Path) -> None:
    found = [
        f"{path.relative_to(root)}: {name}"
        for folder in ("cuzk", "oracles", "fuzz", "examples")
        for path in _below(python_files, root / folder)
        for name in _imports(path)
        if name.partition(".")[0] in {"tests", "conftest"}
    ]
    assert not found


def test_every_module_is_the_source_of_a_contract(python_files: list[Path], root: Path) -> None:
    contracts = _project(root)["tool"]["importlinter"]["contracts"]
    covered = {name for contract in contracts for name in contract.get("source_modules", [])}
    tops = {
        f"cuzk.{path.relative_to(root / 'cuzk').parts[0].removesuffix('.py')}"
        for path in _below(python_files, root / "cuzk")
    }
    uncovered = tops - covered - {"cuzk.__init__", "cuzk.__main__", "cuzk.perf", "cuzk.kernels"}
    assert not uncovered, "add them to a contract in pyproject.toml"
