"""What the commands of the command line share: exit codes, output, findings, progress."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cuzk_fuzz.engine import Result

#: Exit codes, as everywhere in the project.
DONE, FOUND, USAGE, BROKEN = 0, 1, 2, 3


def say(text: str) -> None:
    """One line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def write_json(path: Path | None, data: object) -> None:
    """Write a result where one was asked for."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=1) + "\n")


def say_findings(results: Iterable[Result], folder: Path) -> int:
    """Save and print every finding; return how many there are."""
    count = 0
    for result in results:
        for finding in result.findings:
            count += 1
            say(f"FOUND {finding.bucket}: {finding.outcome.describe()}\n  {finding.save(folder)}")
    return count


class Progress:
    """A line that is rewritten on a terminal, and plain lines, fewer of them, elsewhere."""

    def __init__(self, every: float = 10.0) -> None:
        self._every, self._last = every, -every
        self._terminal = sys.stderr.isatty()

    def __call__(self, state: dict[str, Any]) -> None:
        """Tell how far a campaign is."""
        done = state["state"] == "done"
        if not (self._terminal or done or state["seconds"] - self._last >= self._every):
            return
        self._last = state["seconds"]
        rate = sum(worker["cases_per_second"] for worker in state["workers"])
        missing = sum(map(len, state["classes_missing"].values()))
        line = (
            f"{state['seconds']:.0f} s: {state['cases']:,} cases, {rate:,.0f}/s, {missing} classes not hit yet, "
            f"{len(state['findings'])} findings, {sum(w['restarts'] for w in state['workers'])} restarts"
        )
        sys.stderr.write(f"\r{line}\x1b[K" + "\n" * done if self._terminal else line + "\n")
        sys.stderr.flush()
