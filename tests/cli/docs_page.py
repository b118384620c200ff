"""The commands of docs/cli.md: found, run, compared, and the page written again.

    python -m tests.cli.docs_page

runs every command of the page and puts what it prints in place of what the page shows.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cuzk.circuits.catalogue import find_circuit
from cuzk.formats import load_witness, save_witness
from cuzk.witness import Witness
from tests.cli.support import circuit

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "cli.md"
_BLOCK = re.compile(
    r"^```(console|text)(?: exit=(\d))?\n(\$ (?:[^\n]*\\\n)*[^\n]*\n)(.*?)^```$", re.MULTILINE | re.DOTALL
)
_NORMAL = (
    (re.compile(r"\b(cpu|emu) \([^)\n]*\)"), r"\1"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "KEY"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "DATE"),
    (re.compile(r"_ms=\d+"), "_ms=N"),
    (re.compile(r"\d+\.\d+"), "N"),
    (re.compile(r"[━─]+"), "-"),
    (re.compile(r"\s+"), " "),
)


class Block(NamedTuple):
    """One command of the page.

    Args:
        is_exact: What it prints is compared; else it shows one machine.
        code: The exit code.
        words: The command, ``cuzk`` first.
        output: What it prints, stderr before stdout.
    """

    is_exact: bool
    code: int
    words: list[str]
    output: str


def _block(match: re.Match[str]) -> Block:
    kind, code, command, output = match.groups()
    return Block(kind == "console", int(code or 0), shlex.split(command[2:].replace("\\\n", " ")), output)


def blocks(text: str) -> list[Block]:
    """The commands of a page, with what they should print and how they should end."""
    return [_block(match) for match in _BLOCK.finditer(text)]


def rewritten(text: str, run: Callable[[Block], str]) -> str:
    """The page with the output of each command replaced by what ``run`` returns for it."""

    def replace(match: re.Match[str]) -> str:
        whole, output = match.group(), match.group(4)
        new = "".join(f"{line.rstrip()}\n" for line in run(_block(match)).rstrip().splitlines())
        return whole[: len(whole) - len(output) - 3] + new + "```"

    return _BLOCK.sub(replace, text)


def normal(text: str) -> str:
    """Text without what differs from machine to machine: times, devices, kernel keys, widths of tables."""
    for pattern, replacement in _NORMAL:
        text = pattern.sub(replacement, text)
    return text.strip()


def furnish(folder: Path) -> None:
    """Put into a folder what the page's commands read."""
    for name in ("examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    witness = load_witness(circuit("bn128").wtns)
    values = [*witness.to_ints()[:-1], 5]
    save_witness(folder / "wrong.wtns", Witness.from_ints(witness.curve, values))
    (folder / "cut.vproof").write_bytes(find_circuit("winning-post:2KiB").synthetic(b"")[:1000])


def main() -> None:
    """Write the page again."""
    with tempfile.TemporaryDirectory() as name:
        furnish(Path(name))

        def run(block: Block) -> str:
            command = [sys.executable, "-m", "cuzk", *block.words[1:]]
            cache = str(Path(name) / "cache")
            environment = os.environ | {"XDG_CACHE_HOME": cache}
            done = subprocess.run(
                command, cwd=name, capture_output=True, text=True, check=False, env=environment
            )
            if done.returncode != block.code:
                sys.exit(
                    f"{shlex.join(block.words)} ended with {done.returncode}:\n{done.stderr}{done.stdout}"
                )
            return (done.stderr + done.stdout).replace(cache, "~/.cache")

        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), run), encoding="utf-8")


if __name__ == "__main__":
    main()
