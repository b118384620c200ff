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

__all__ = [
    "NEGLIGIBLE", "RECORDING_NS", "UNATTRIBUTED_LIMIT", "Node", "build_tree", "gpu_total_ns", "overlap_ns",
    "unexplained", "wall_shares",
]  # fmt: skip

#: More unexplained time than this share of a parent is a defect of the instrumentation.
UNATTRIBUTED_LIMIT = 0.03
#: What recording itself may take for each child, nanoseconds: two waits for the device and two readings of counters.
RECORDING_NS = 100_000
#: Unexplained time of less than this share of the whole call matters to nobody.
NEGLIGIBLE = 0.005


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


def unexplained(
    events: Sequence[Event], limit: float = UNATTRIBUTED_LIMIT, recording_ns: int = RECORDING_NS
) -> list[tuple[Event, float]]:
    """List the parents of which too much time is explained by no child.

    Args:
        events: Finished events of one recorder.
        limit: Highest share of a parent that may stay unexplained.
        recording_ns: Time a child that counts as recording, not as unexplained; nanoseconds.

    Returns:
        Each offending event with its unexplained share, largest first; what is negligible in the whole call is not
        listed.
    """
    found = []
    for root in build_tree(events):
        for node in root.walk():
            total_ns = node.event.duration_ns
            rest_ns = node.unattributed_ns - recording_ns * len(node.children)
            share = rest_ns / total_ns if total_ns else 0.0
            if share > limit and rest_ns > NEGLIGIBLE * root.event.duration_ns:
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


def overlap_ns(events: Sequence[Event], first: str, second: str) -> int:
    """Time during which a phase of one name and a phase of another ran at once, nanoseconds."""
    spans = {
        name: [(event.start_ns, event.end_ns) for event in events if event.phase == name]
        for name in (first, second)
    }
    both = _union_ns(spans[first]) + _union_ns(spans[second])
    return both - _union_ns([*spans[first], *spans[second]])


def wall_shares(events: Sequence[Event]) -> dict[str, float]:
    """Divide the time in which anything ran among the phases that ran in it.

    Every moment belongs to the innermost phases that are open then, in equal shares where several run at once, so
    that the shares of all phases add up to the wall time whatever overlaps.

    Args:
        events: Finished events of one recorder.

    Returns:
        Phase -> nanoseconds.
    """
    parents = {event.id: event.parent for event in events}
    moments = sorted(
        [(event.start_ns, 1, event.id) for event in events]
        + [(event.end_ns, 0, event.id) for event in events]
    )
    names = {event.id: event.phase for event in events}
    open_ids: set[int] = set()
    shares: dict[str, float] = defaultdict(float)
    reached = 0
    for moment, starts, number in moments:
        covered = {parents[one] for one in open_ids}
        innermost = [one for one in open_ids if one not in covered]
        for one in innermost:
            shares[names[one]] += (moment - reached) / len(innermost)
        reached = moment
        if starts:
            open_ids.add(number)
        else:
            open_ids.discard(number)
    return dict(shares)


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
