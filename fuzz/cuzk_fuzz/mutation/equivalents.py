"""Reviewed equivalents: mutants that change no answer, each with the reason why."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuzk_fuzz.mutation.operators import Mutant

LIST = Path(__file__).parents[1] / "equivalent.toml"


@dataclass(frozen=True)
class Equivalent:
    """An entry: a line of a header before and after the change, blanks and comments aside, and why it is none.

    Lines are named by their text, so that an entry follows its line and dies with it.

    Attributes:
        header: File name.
        line, mutant: The line before and after.
        proof: Why no input tells them apart.
        after: The line of code above, where only one of several equal lines is meant.
    """

    header: str
    line: str
    mutant: str
    proof: str
    after: str = ""

    def covers(self, mutant: Mutant) -> bool:
        """Whether the mutant is this one."""
        return (
            mutant.header == self.header
            and tight(mutant.original) == tight(self.line)
            and tight(mutant.mutated) == tight(self.mutant)
            and (not self.after or tight(mutant.above) == tight(self.after))
        )


def tight(text: str) -> str:
    """A line without comment and with single blanks."""
    return re.sub(r"\s+", " ", re.sub(r"//.*", "", text)).strip()


def load_equivalents(path: Path = LIST) -> list[Equivalent]:
    """The list.

    Raises:
        ValueError: An entry without a proof, or one that is listed twice.
    """
    found: list[Equivalent] = []
    for entry in tomllib.loads(path.read_text()).get("equivalent", []):
        equivalent = Equivalent(**entry)
        if len(equivalent.proof.split()) < 5:
            raise ValueError(f"{path.name}: {equivalent.header}: {equivalent.mutant!r} has no proof")
        if any((e.header, e.line, e.mutant, e.after) ==
               (equivalent.header, equivalent.line, equivalent.mutant, equivalent.after) for e in found):  # fmt: skip
            raise ValueError(f"{path.name}: {equivalent.header}: {equivalent.mutant!r} is listed twice")
        found.append(equivalent)
    return found


def find(entries: Sequence[Equivalent], mutant: Mutant) -> Equivalent | None:
    """The entry of a mutant, or None."""
    return next((entry for entry in entries if entry.covers(mutant)), None)


def stale(entries: Sequence[Equivalent], mutants: Mapping[str, Sequence[Mutant]]) -> list[Equivalent]:
    """Entries that no mutant of their header is."""
    return [e for e in entries if not any(e.covers(mutant) for mutant in mutants.get(e.header, ()))]
