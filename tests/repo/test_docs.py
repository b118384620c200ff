"""Documentation that can be checked: links, paths, and examples.

Would catch: a link to a file or heading that moved, a path in prose that no longer exists, an example whose
output changed.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+\s+(.*?)\s*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```\s*$", re.MULTILINE | re.DOTALL)
#: A path of the repository in backticks, for example `cuzk/variants.py`.
_PATH = re.compile(r"`((?:cuzk|oracles|fuzz|tests|docs|examples|perf_baselines)/[\w./-]*)`")
#: Part of a path that stands for many, such as NAME in a list of files.
_PLACEHOLDER = re.compile(r"(^|/)[A-Z]{2,}\.")
_PACKAGES = ("cuzk", "cuzk_oracles", "cuzk_fuzz")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _pages(texts: dict[Path, str]) -> dict[Path, str]:
    return {path: text for path, text in texts.items() if path.suffix == ".md"}


def _anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as repository hosts derive them."""
    prose = _FENCE.sub("", text)
    names = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in _HEADING.findall(prose))
    return {re.sub(r"\s", "-", name) for name in names}


def test_links_resolve(texts: dict[Path, str], root: Path) -> None:
    broken = []
    for path, text in _pages(texts).items():
        for target in _LINK.findall(_FENCE.sub("", text)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                broken.append(f"{path.relative_to(root)}: {target}: no such file")
            elif anchor and anchor not in _anchors(file.read_text(encoding="utf-8")):
                broken.append(f"{path.relative_to(root)}: {target}: no such heading")
    assert not broken, "\n".join(broken)


def test_every_page_is_in_its_index(texts: dict[Path, str], root: Path) -> None:
    docs = root / "docs"
    for folder, index in ((docs, docs / "index.md"), (docs / "decisions", docs / "decisions" / "README.md")):
        linked = {(folder / target.partition("#")[0]).resolve() for target in _LINK.findall(texts[index])}
        pages = {path for path in _pages(texts) if path.parent == folder and path != index}
        assert pages <= linked, f"{index.relative_to(root)} does not link {sorted(pages - linked)}"


def test_paths_in_prose_exist(texts: dict[Path, str], root: Path) -> None:
    missing = [
        f"{path.relative_to(root)}: {name}"
        for path, text in _pages(texts).items()
        for name in _PATH.findall(_FENCE.sub("", text))
        if not _PLACEHOLDER.search(name) and not (root / name).exists()
    ]
    assert not missing, "\n".join(missing)


def _modules_with_examples() -> list[str]:
    names = []
    for package in _PACKAGES:
        module = importlib.import_module(package)
        names.append(package)
        for item in pkgutil.walk_packages(module.__path__, prefix=f"{package}."):
            if not item.name.rpartition(".")[2].startswith("_"):
                names.append(item.name)
    return [name for name in names if ">>>" in _source(name)]


def _source(name: str) -> str:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return ""
    return Path(spec.origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", _modules_with_examples())
def test_examples_in_docstrings(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=_FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_examples_in_pages(texts: dict[Path, str], root: Path) -> None:
    failures = {}
    for path, text in _pages(texts).items():
        if ">>>" in text:
            result = doctest.testfile(str(path), module_relative=False, optionflags=_FLAGS, encoding="utf-8")
            failures[str(path.relative_to(root))] = result.failed
    assert not any(failures.values()), failures
