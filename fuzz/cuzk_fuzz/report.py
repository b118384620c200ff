"""Results as text for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cuzk_fuzz.engine import Result
from cuzk_fuzz.registry import TARGETS

COLUMNS = ("target", "device", "cases", "cases/s", "classes hit", "fewest hits", "findings")


def result_row(result: Result) -> tuple[str, ...]:
    """One line of the table; classes hit of those required."""
    required = TARGETS[result.target].required
    hit = [result.hits[edge_id] for edge_id in required if result.hits[edge_id]]
    return (
        result.target, result.device, f"{result.cases:,}", f"{result.rate:,.0f}", f"{len(hit)}/{len(required)}",
        str(min(hit, default=0)), str(len(result.findings)),
    )  # fmt: skip


def table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: words to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(w) if i < 2 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def class_lines(hits: Mapping[str, int], width: int = 100) -> list[str]:
    """Hits per edge class, several to a line."""
    lines, line = [], ""
    for edge_id, count in sorted(hits.items()):
        cell = f"{edge_id} {count:,}"
        if line and len(line) + len(cell) + 3 > width:
            lines.append(line)
            line = ""
        line = f"{line}   {cell}" if line else cell
    return [*lines, line] if line else lines
