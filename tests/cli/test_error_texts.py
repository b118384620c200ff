"""Every error that cuzk raises says what is wrong, which limit was passed or where, and what to do.

Would catch: a new error without a remedy, a remedy that speaks of a limit which the message lacks, a class of errors
without words for the usual case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import cuzk
from cuzk import errors
from cuzk.errors import CuzkError, FormatError, InputError, RangeError, ShapeError

ROOT = Path(cuzk.__file__).resolve().parent
CLASSES = {name: getattr(errors, name) for name in errors.__all__ if name != "SecurityWarning"}


class Site(NamedTuple):
    """A place that makes an error.

    Args:
        place: FILE:LINE.
        kind: The class's name.
        parts: The named arguments.
        what: The source of the first argument.
    """

    place: str
    kind: str
    parts: set[str]
    what: str


def sites() -> Iterator[Site]:
    """Every call of an error class in the package."""
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLASSES:
                parts = {keyword.arg or "**" for keyword in node.keywords}
                place = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield Site(place, node.func.id, parts, ast.unparse(node.args[0]) if node.args else "")


def test_every_site_says_what_to_do() -> None:
    found = list(sites())
    assert len(found) > 150
    silent = [
        site for site in found if "remedy" not in site.parts and CLASSES[site.kind].usual_remedy is None
    ]
    # KernelFault makes its own text; two places pass on what an error was made of.
    silent = [site for site in silent if site.kind != "KernelFault" and "**" not in site.parts]
    assert not silent, "\n".join(map(str, silent))


def test_a_usual_remedy_speaks_of_a_limit_that_is_there() -> None:
    relying = [
        site
        for site in sites()
        if CLASSES[site.kind] in (RangeError, ShapeError) and not site.parts & {"remedy", "limit", "**"}
    ]
    assert not relying, "\n".join(map(str, relying))


def test_sentences_start_small_and_end_without_a_stop() -> None:
    """They follow "error: FILE: " and are followed by "(limit: ...)"."""
    for site in sites():
        text = site.what.removeprefix("f").strip("'\"")
        assert not text.endswith("."), site
        first = text.split(" ")[0]
        assert not (first[:1].isupper() and first[1:].islower()), site


@pytest.mark.parametrize("kind", [InputError, FormatError, RangeError])
def test_the_text_has_every_part(kind: type[CuzkError]) -> None:
    text = str(kind("it is wrong", limit="at most 5", remedy="count again"))
    assert text == "it is wrong (limit: at most 5). To fix: count again"
    usual = kind.usual_remedy
    assert str(kind("it is wrong")).endswith("it is wrong" if usual is None else f"To fix: {usual}")
