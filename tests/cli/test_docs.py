"""docs/cli.md: its commands run in order and print what the page shows.

Would catch: an option or an output that changed while the page did not, an exit code that moved.
Times, devices and kernel keys differ between machines and are left out of the comparison. Blocks marked `text`
show one machine, so only their commands are run.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from cuzk.formats import load_witness, save_witness
from cuzk.witness import Witness
from tests.cli.support import circuit, cuzk

_ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```(console|text)(?: exit=(\d))?\n\$ (.*?[^\\])\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NORMAL = (
    (re.compile(r"\b(cpu|emu) \([^)\n]*\)"), r"\1"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "KEY"),
    (re.compile(r"_ms=\d+"), "_ms=N"),
    (re.compile(r"\d+\.\d+"), "N"),
    (re.compile(r"[━─]+"), "-"),
    (re.compile(r"\s+"), " "),
)


class Block(NamedTuple):
    """One command of the page."""

    is_exact: bool
    code: int
    command: str
    output: str


def blocks(text: str) -> list[Block]:
    """The commands of a page, with what they should print and how they should end."""
    return [
        Block(kind == "console", int(code or 0), command.replace("\\\n", " "), output)
        for kind, code, command, output in _BLOCK.findall(text)
    ]


def normal(text: str) -> str:
    """Text without what differs from machine to machine."""
    for pattern, replacement in _NORMAL:
        text = pattern.sub(replacement, text)
    return text.strip()


def test_the_page_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("examples", "tests", "README.md"):
        (tmp_path / name).symlink_to(_ROOT / name)
    witness = load_witness(circuit("bn128").wtns)
    values = [*witness.to_ints()[:-1], 5]
    save_witness(tmp_path / "wrong.wtns", Witness.from_ints(witness.curve, values))
    monkeypatch.chdir(tmp_path)
    found = blocks((_ROOT / "docs" / "cli.md").read_text(encoding="utf-8"))
    assert {shlex.split(block.command)[1] for block in found} == {
        "setup", "prove", "verify", "info", "key", "circuit", "doctor", "variants", "bench"
    }  # fmt: skip
    for block in found:
        words = shlex.split(block.command)
        done = cuzk(*words[1:])
        assert (words[0], done.code) == ("cuzk", block.code), f"{block.command}\n{done.err}{done.out}"
        if block.is_exact:
            assert normal(done.err + done.out) == normal(block.output), block.command
        assert block.output.strip()


def test_blocks_are_found_with_their_exit_codes() -> None:
    page = "```console\n$ cuzk a \\\n  b\nout\n```\nx\n"
    page += "```console exit=2\n$ cuzk c\n```\n```text\n$ cuzk d\ny\n```\n"
    assert blocks(page) == [
        Block(True, 0, "cuzk a    b", "out\n"),
        Block(True, 2, "cuzk c", ""),
        Block(False, 0, "cuzk d", "y\n"),
    ]


def test_only_what_differs_between_machines_is_left_out() -> None:
    assert normal("device  cpu (2 threads)\nseconds 0.25") == normal(
        "device cpu (9 threads, bmi2)\nseconds 11.5"
    )
    assert normal("constraints 36") != normal("constraints 37")
    assert normal("rc ok") != normal("rc no")
