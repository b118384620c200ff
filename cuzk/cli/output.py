"""Reports on stdout: tables for people, JSON for programs; and one-line notes on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["json_names", "note", "print_facts", "print_json", "print_table", "report_console", "table"]

#: Columns of a report that goes to a file or a pipe, where nobody would widen a terminal.
_PIPE_WIDTH = 140


def note(text: str) -> None:
    """Print a line that is no result, on stderr."""
    typer.secho(text, err=True, dim=True)


def print_json(data: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print a report as JSON."""
    print(json.dumps(data, indent=2))


def report_console() -> Console:
    """A console on stdout that cuts nothing off where there is no terminal."""
    from rich.console import Console

    is_terminal = sys.stdout.isatty()
    return Console(width=None if is_terminal else _PIPE_WIDTH, highlight=False, soft_wrap=False)


def table(title: str, *columns: str) -> Table:
    """A table; a column whose name starts with ``>`` is aligned to the right."""
    from rich.table import Table

    made = Table(title=title or None, title_justify="left")
    for column in columns:
        made.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    return made


def print_table(made: Table) -> None:
    """Print a table on stdout."""
    report_console().print(made)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values in two aligned columns, one pair a line."""
    width = max((len(name) for name in facts), default=0)
    for name, value in facts.items():
        shown = ("no", "yes")[value] if isinstance(value, bool) else value
        print(f"{name:<{width}}  {shown}")


def json_names(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same facts with names that are identifiers."""
    return {name.replace(" ", "_").replace("-", "_"): value for name, value in facts.items()}
