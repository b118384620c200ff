"""What a change can have broken: kernels by the content of their headers, tests by the modules that they name."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from cuzk_fuzz import catalogue
from cuzk_fuzz.registry import TARGETS

_INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True)
class Selection:
    """What to run.

    Attributes:
        files: Files that changed, relative to the root; empty where only keys were compared.
        headers: Kernel headers whose content, or that of what they include, changed.
        targets: Fuzz targets of the kernels in them, and of changed code of the harness.
        tests: Test files.
    """

    files: tuple[str, ...]
    headers: tuple[str, ...]
    targets: tuple[str, ...]
    tests: tuple[str, ...]


def closure(folder: Path, header: str) -> frozenset[str]:
    """A header and everything that it includes, by name."""
    found: set[str] = set()
    waiting = [header]
    while waiting:
        name = waiting.pop()
        path = folder / name
        if name in found or not path.is_file():
            continue
        found.add(name)
        beside = Path(name).parent
        for included in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            waiting += [included, str(beside / included)]
    return frozenset(found)


def content_keys(folder: Path) -> dict[str, str]:
    """Digest of every header with kernels, over all that it includes."""
    keys = {}
    for header in sorted(set(catalogue.headers().values())):
        digest = hashlib.sha256()
        for name in sorted(closure(folder, header)):
            digest.update(name.encode() + (folder / name).read_bytes())
        keys[header] = digest.hexdigest()[:16]
    return keys


def changed_since(root: Path, revision: str) -> tuple[str, ...]:
    """Files that differ from a revision of git, those that are new included.

    Raises:
        ValueError: git does not know the revision.
    """
    commands = (
        ["git", "diff", "--name-only", revision],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    names: set[str] = set()
    for command in commands:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"git: {done.stderr.strip()}")
        names.update(done.stdout.splitlines())
    return tuple(sorted(names))


def _module(path: str) -> str | None:
    """The dotted name of a Python file of the packages."""
    for prefix in ("oracles/", "fuzz/"):
        path = path.removeprefix(prefix)
    if not path.endswith(".py") or not path.startswith(("cuzk", "tests/")):
        return None
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def operations(root: Path, kernels: Iterable[str]) -> set[str]:
    """Modules of operations that launch one of the kernels."""
    wanted = [re.compile(rf"\b{re.escape(name)}(?:_|\b)") for name in kernels]
    return {
        f"cuzk.ops.{path.stem}"
        for path in (root / "cuzk" / "ops").glob("*.py")
        if any(pattern.search(path.read_text(encoding="utf-8")) for pattern in wanted)
    }


def tests_naming(root: Path, modules: Iterable[str], words: Iterable[str]) -> set[str]:
    """Test files that import one of the modules, or name one of the words (kernels)."""
    patterns = []
    for module in modules:
        package, _, name = module.rpartition(".")
        patterns.append(rf"\b{re.escape(module)}\b")
        if package:
            patterns.append(rf"from {re.escape(package)} import [^\n]*\b{name}\b")
    patterns += [rf"\b{re.escape(word)}(?:_|\b)" for word in words]
    if not patterns:
        return set()
    wanted = re.compile("|".join(patterns))
    files = (path for path in (root / "tests").rglob("test_*.py"))
    return {str(path.relative_to(root)) for path in files if wanted.search(path.read_text(encoding="utf-8"))}


def select(root: Path, files: Iterable[str], headers: Iterable[str]) -> Selection:
    """What changed files and headers can have broken.

    Args:
        root: Of the checkout.
        files: That changed.
        headers: With kernels, whose keys changed.
    """
    files = tuple(files)
    kernels = root / "cuzk" / "kernels"
    touched = {Path(name).name for name in files if name.startswith("cuzk/kernels/")}
    changed = set(headers)
    for header in set(catalogue.headers().values()):
        if {Path(name).name for name in closure(kernels, header)} & touched:
            changed.add(header)
    mine = [kernel for kernel in catalogue.kernels() if kernel.header in changed]
    families = {kernel.family for kernel in mine}
    modules = {module for name in files if (module := _module(name)) is not None}
    targets = {name for name, target in TARGETS.items() if families & set(target.families)}
    targets |= {name for name, target in TARGETS.items() if target.batch.__module__ in modules}
    targets |= {module.rpartition(".")[2] for module in modules if module.startswith("cuzk.ops.")} & set(
        TARGETS
    )
    names = {kernel.name for kernel in mine}
    tests = tests_naming(root, modules | operations(root, names), names)
    tests |= {name for name in files if Path(name).name.startswith("test_") and (root / name).is_file()}
    return Selection(files, tuple(sorted(changed)), tuple(sorted(targets)), tuple(sorted(tests)))


def changed_headers(stored: Mapping[str, str], keys: Mapping[str, str]) -> list[str]:
    """Headers whose key is not the stored one."""
    return sorted(header for header, key in keys.items() if stored.get(header) != key)


def read_keys(path: Path) -> dict[str, str]:
    """Keys of the last run that passed; none before the first."""
    try:
        data = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return data if isinstance(data, dict) else {}
