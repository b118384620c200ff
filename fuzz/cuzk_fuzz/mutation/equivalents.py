"""Reviewed equivalents: mutants that change no answer, each with the reason why."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from cuzk_fuzz.mutation.operators import Mutant

LIST = Path(__file__).parents[1] / "equivalent.toml"


@dataclass(frozen=True)
class Equivalent:
    """An entry: a line of a header before and after, blanks aside, and why it makes no difference.

    Lines are named by their text, so that an entry follows its line and dies with it.
    """

    header: str
    line: str
    mutant: str
    proof: str


def _tight(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"//.*", "", text)).strip()


def load_equivalents(path: Path = LIST) -> dict[tuple[str, str, str], Equivalent]:
    """The list by header, line and mutant.

    Raises:
        ValueError: An entry without a proof, or one that is listed twice.
    """
    entries = tomllib.loads(path.read_text()).get("equivalent", [])
    found: dict[tuple[str, str, str], Equivalent] = {}
    for entry in entries:
        equivalent = Equivalent(entry["header"], entry["line"], entry["mutant"], entry.get("proof", ""))
        key = (equivalent.header, _tight(equivalent.line), _tight(equivalent.mutant))
        if not equivalent.proof.strip():
            raise ValueError(f"{path.name}: {equivalent.header}: {equivalent.line!r} has no proof")
        if key in found:
            raise ValueError(f"{path.name}: {equivalent.header}: {equivalent.mutant!r} is listed twice")
        found[key] = equivalent
    return found


def key_of(mutant: Mutant) -> tuple[str, str, str]:
    """Where a mutant would stand in the list."""
    return mutant.header, _tight(mutant.original), _tight(mutant.mutated)


def stale(entries: dict[tuple[str, str, str], Equivalent], sources: dict[str, str]) -> list[Equivalent]:
    """Entries whose line is no longer in its header."""
    lines = {header: {_tight(line) for line in text.split("\n")} for header, text in sources.items()}
    return [e for (header, line, _), e in entries.items() if line not in lines.get(header, set())]
