"""The table after a run (`--timing`): the event tree with shares, and the time that nothing explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from cuzk.telemetry.events import Event
from cuzk.telemetry.phases import UNATTRIBUTED
from cuzk.telemetry.tree import UNATTRIBUTED_LIMIT, Node, build_tree

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["TimingRow", "timing_rows", "timing_table"]


class TimingRow(NamedTuple):
    """One row: a phase, or the unexplained rest of one.

    Fields: depth in the tree; phase name; duration in milliseconds; share of the parent (1.0 at the root);
    bytes up and down; number of events that the row sums; whether the row points to a defect.
    """

    depth: int
    phase: str
    duration_ms: float
    share: float
    bytes_up: int
    bytes_down: int
    num_events: int
    is_defect: bool


def timing_rows(events: Sequence[Event]) -> list[TimingRow]:
    """Summarise events as rows in tree order.

    Args:
        events: Finished events of one recorder.

    Returns:
        Rows.  Siblings of one name are summed into one row; an `unattributed` row closes each parent's block.
    """
    rows: list[TimingRow] = []
    roots = build_tree(events)
    _append_rows(rows, roots, depth=0, parent_ns=sum(root.event.duration_ns for root in roots))
    return rows


def timing_table(events: Sequence[Event]) -> Table:
    """Render events as a table for a terminal.

    Args:
        events: Finished events of one recorder.

    Returns:
        A table for a `rich` console.
    """
    from rich.table import Table

    table = Table(title="Phases")
    table.add_column("phase")
    for heading in ("ms", "of parent", "MiB up", "MiB down", "events"):
        table.add_column(heading, justify="right")
    for row in timing_rows(events):
        style = "red" if row.is_defect else ("dim" if row.phase == UNATTRIBUTED else "")
        table.add_row(
            "  " * row.depth + row.phase,
            f"{row.duration_ms:.1f}",
            f"{row.share:.1%}",
            _mebibytes(row.bytes_up),
            _mebibytes(row.bytes_down),
            str(row.num_events) if row.num_events else "",
            style=style,
        )
    return table


def _append_rows(rows: list[TimingRow], nodes: Sequence[Node], depth: int, parent_ns: int) -> None:
    by_phase: dict[str, list[Node]] = {}
    for node in nodes:
        by_phase.setdefault(node.event.phase, []).append(node)
    for phase, group in by_phase.items():
        total_ns = sum(node.event.duration_ns for node in group)
        rows.append(
            TimingRow(
                depth=depth,
                phase=phase,
                duration_ms=total_ns / 1e6,
                share=total_ns / parent_ns if parent_ns else 0.0,
                bytes_up=sum(node.event.bytes_up for node in group),
                bytes_down=sum(node.event.bytes_down for node in group),
                num_events=len(group),
                is_defect=False,
            )
        )
        children = [child for node in group for child in node.children]
        if children:
            _append_rows(rows, children, depth + 1, total_ns)
            rows.append(_unattributed_row(group, depth + 1, total_ns))


def _unattributed_row(group: Sequence[Node], depth: int, parent_ns: int) -> TimingRow:
    rest_ns = sum(node.unattributed_ns for node in group)
    share = rest_ns / parent_ns if parent_ns else 0.0
    return TimingRow(depth, UNATTRIBUTED, rest_ns / 1e6, share, 0, 0, 0, share > UNATTRIBUTED_LIMIT)


def _mebibytes(num_bytes: int) -> str:
    return f"{num_bytes / 2**20:.1f}" if num_bytes else ""
