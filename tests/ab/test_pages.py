"""docs/instruments.md: its commands run, and the counter command it names is a real one.

Would catch: an option that went, a page that promises what no command does.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from cuzk.cli.app import make_app
from cuzk.telemetry.lines import LINE_FIELDS
from tests.cli.docs_page import blocks, furnish
from tests.cli.support import cuzk

PAGE = Path(__file__).resolve().parents[2] / "docs" / "instruments.md"


def test_the_pages_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = blocks(PAGE.read_text(encoding="utf-8"))
    assert [block.words[1] for block in found] == ["prove", "waterfall", "ab"]
    for block in found:
        done = cuzk(*block.words[1:])
        assert done.code == block.code, f"{shlex.join(block.words)}\n{done.err}"
    assert (
        (tmp_path / "memory.csv").read_text().startswith("elapsed_ms,rss_bytes,pinned_bytes,device_bytes\n")
    )
    assert "<svg" in (tmp_path / "run.html").read_text()


def test_the_page_names_real_fields_and_a_real_command() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for phase, (before, after) in LINE_FIELDS.items():
        for name in (*before, f"{phase}_ms", *after):
            assert name in text, name
    (line,) = re.findall(r"^valgrind .* -m cuzk (.*)$", text, re.MULTILINE)
    word, *arguments = shlex.split(line)
    get_command(make_app(word)).commands[word].make_context(word, arguments)  # type: ignore[attr-defined]
