"""docs/cli.md: its commands run in order and print what the page shows.

Would catch: an option or an output that changed while the page did not, an exit code that moved.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cuzk.cli.app import make_app
from tests.cli.docs_page import PAGE, ROOT, Block, blocks, furnish, normal, rewritten
from tests.cli.support import cuzk

_SAMPLE = (
    "```console\n$ cuzk a \\\n    --b c\nout\n```\nprose\n"
    "```console exit=2\n$ cuzk d\n```\n```text\n$ cuzk e\ny\n```\n"
)


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    # A step that takes long says how far it is and what is left; on a busy machine any step does.
    monkeypatch.setattr("cuzk.cli.progress._LINE_EVERY_S", float("inf"))
    monkeypatch.setattr("cuzk.cli.progress._WORTH_SAYING_S", float("inf"))
    found = blocks(PAGE.read_text(encoding="utf-8"))
    assert {block.words[1] for block in found} == {
        "setup", "prove", "verify", "info", "key", "circuit", "doctor", "variants", "bench"
    }  # fmt: skip
    for block in found:
        done = cuzk(*block.words[1:])
        shown = f"$ {shlex.join(block.words)}\n{done.err}{done.out}"
        assert (block.words[0], done.code) == ("cuzk", block.code), shown
        if block.is_exact:
            assert normal(done.err + done.out) == normal(block.output), (
                f"{shown}\nwrite the page again: python -m tests.cli.docs_page"
            )


def test_commands_are_found_with_their_exit_codes() -> None:
    assert blocks(_SAMPLE) == [
        Block(True, 0, ["cuzk", "a", "--b", "c"], "out\n"),
        Block(True, 2, ["cuzk", "d"], ""),
        Block(False, 0, ["cuzk", "e"], "y\n"),
    ]


def test_a_page_is_written_again_around_its_commands() -> None:
    new = rewritten(_SAMPLE, lambda block: f"new {block.words[1]}  \n\n")
    assert [block.output for block in blocks(new)] == ["new a\n", "new d\n", "new e\n"]
    assert new.replace("new a\n", "out\n").replace("new d\n", "").replace("new e\n", "y\n") == _SAMPLE


def test_only_what_differs_between_machines_is_left_out() -> None:
    assert normal("device  cpu (2 threads)\nseconds 0.25") == normal("device cpu (9 threads)\nseconds 11.5")
    assert normal("on 2026-11-29 by") == normal("on 2031-01-02 by")
    assert normal("constraints 36") != normal("constraints 37")
    assert normal("verified yes") != normal("verified no")


_APP: Any = get_command(make_app())
_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCED = re.compile(r"^```(console|text|sh|bash)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN = re.compile(r"^((?:\$ )?)(cuzk (?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
_INLINE = re.compile(r"`(cuzk [^`]+)`")
#: What stands for the rest of a command, or for any command.
_OPEN = {"...", "…"}


def _found(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words name, and the rest of them."""
    command = _APP
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_the_docs_is_one(page: Path) -> None:
    """Those in blocks parse; of those within sentences each word before the first option, and each option, is real."""
    text = page.read_text(encoding="utf-8")
    for language, block in _FENCED.findall(text):
        for prompt, line in _SHOWN.findall(block):
            if not prompt and language in ("console", "text"):
                continue  # what a command has printed
            words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
            if _OPEN & set(words) or words[:1] == ["--help"]:
                continue
            command, rest = _found(words)
            assert not hasattr(command, "commands"), (page.name, line)
            command.make_context(words[0], list(rest))
    for line in _INLINE.findall(text):
        words = line.replace("\n", " ").split()[1:]
        command, rest = _found(words)
        assert rest != words or words[0].startswith("-") or words[0] in _OPEN, (page.name, line)
        known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
        known |= {"--help", "--version"}
        assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= known, (page.name, line)
