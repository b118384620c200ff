"""Reading of a finished event tree: exclusive times, unexplained time, time on the device.

Times are unions of intervals, so children that overlap (two streams, two threads) are never counted twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cuzk.errors import InternalError
from cuzk.telemetry.events import Event
from cuzk.telemetry.phases import PHASES

__all__ = ["UNATTRIBUTED_LIMIT", "Node", "build_tree", "gpu_total_ns", "unexplained"]

#: More unexplained time than this share of a parent is a defect of the instrumentation.
UNATTRIBUTED_LIMIT = 0.03


@dataclass(slots=True)
class Node:
    """An event with its children, in order of start."""

    event: Event
    children: list[Node] = field(default_factory=list)

    @property
    def exclusive_ns(self) -> int:
        """Time of the event that no child covers, nanoseconds.  For a leaf this is its whole duration."""
        inside = [
            (max(child.event.start_ns, self.event.start_ns), min(child.event.end_ns, self.event.end_ns))
            for child in self.children
        ]
        return self.event.duration_ns - _union_ns(inside)

    @property
    def unattributed_ns(self) -> int:
        """Time of a parent that no child explains; 0 for a leaf, whose time is its own."""
        return self.exclusive_ns if self.children else 0

    def walk(self) -> Iterable[Node]:
        """Yield this node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


def build_tree(events: Sequence[Event]) -> list[Node]:
    """Arrange events by their parents.

    Args:
        events: Finished events of one recorder, any order.

    Returns:
        The roots, in order of start.

    Raises:
        InternalError: Two events share an id.
    """
    nodes = {event.id: Node(event) for event in events}
    if len(nodes) != len(events):
        raise InternalError(
            f"{len(events)} events share {len(nodes)} ids", remedy="build one tree per recorder, do not mix"
        )
    children: dict[int | None, list[Node]] = defaultdict(list)
    for node in sorted(nodes.values(), key=lambda item: (item.event.start_ns, item.event.id)):
        # A parent that is still running has no event yet; its children stand at the root meanwhile.
        parent = node.event.parent if node.event.parent in nodes else None
        children[parent].append(node)
    for number, node in nodes.items():
        node.children = children[number]
    return children[None]


def unexplained(events: Sequence[Event], limit: float = UNATTRIBUTED_LIMIT) -> list[tuple[Event, float]]:
    """List the parents of which too much time is explained by no child.

    Args:
        events: Finished events of one recorder.
        limit: Highest share of a parent that may stay unexplained.

    Returns:
        Each offending event with its unexplained share, largest first.
    """
    found = []
    for root in build_tree(events):
        for node in root.walk():
            total_ns = node.event.duration_ns
            share = node.unattributed_ns / total_ns if total_ns else 0.0
            if share > limit:
                found.append((node.event, share))
    return sorted(found, key=lambda item: -item[1])


def gpu_total_ns(events: Iterable[Event]) -> int:
    """Time from the first to the last kernel phase, without the waits in between.

    Args:
        events: Events of one job and device.

    Returns:
        Nanoseconds; 0 where no phase ran kernels.
    """
    events = list(events)
    busy = [event for event in events if PHASES[event.phase].on_device]
    if not busy:
        return 0
    first = min(event.start_ns for event in busy)
    last = max(event.end_ns for event in busy)
    waits = [
        (max(event.start_ns, first), min(event.end_ns, last))
        for event in events
        if PHASES[event.phase].is_wait
    ]
    return last - first - _union_ns(waits)


def _union_ns(intervals: Iterable[tuple[int, int]]) -> int:
    """Return the length of the union of half-open intervals; empty and inverted ones count nothing."""
    total = 0
    reached: int | None = None
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if reached is None or start > reached:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total
