"""The phases of a worker's last proof, small enough to travel with it: what the page's waterfall shows."""

from __future__ import annotations

import threading
from collections import deque

from cuzk.engine.messages import PhaseLine
from cuzk.telemetry import Event

__all__ = ["PhaseSummary"]

#: Lines of one proof; the longest are kept.
_MOST_LINES = 40
#: Proofs whose end is awaited; more are never under way.
_MOST_STARTED = 16


class PhaseSummary:
    """A sink of a recorder that remembers the phases of the last proof.

    A proof made in two steps has two roots: the device's part, and assembly and self-check. The second is put to the
    oldest first that was over when it began.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[Event] = []
        self._started: deque[list[Event]] = deque(maxlen=_MOST_STARTED)
        self._last: tuple[PhaseLine, ...] = ()

    def receive(self, event: Event) -> None:
        """Take one event; a root ends a part of a proof, or a load."""
        with self._lock:
            self._open.append(event)
            if event.parent is None:
                family = _family(event, self._open)
                self._open = [other for other in self._open if other.id not in family]
                if event.phase == "prove" and not event.failed:
                    self._part(event, list(family.values()))

    def _part(self, root: Event, events: list[Event]) -> None:
        step = root.tags.get("P12")
        if step == "start":
            self._started.append(events)
            return
        if step == "finish" and self._started:
            events = self._started.popleft() + events
        self._last = _lines(events)

    def last(self) -> tuple[PhaseLine, ...]:
        """Lines of the last proof, in order of their start."""
        with self._lock:
            return self._last


def _family(root: Event, events: list[Event]) -> dict[int, Event]:
    """A root and what lies in it. Children come before their parents."""
    members = {root.id: root}
    for event in reversed(events):
        if event.parent in members:
            members[event.id] = event
    return members


def _lines(events: list[Event]) -> tuple[PhaseLine, ...]:
    by_id = {event.id: event for event in events}
    longest = sorted(events, key=lambda event: -event.duration_ns)[:_MOST_LINES]
    start = min(event.start_ns for event in events)

    def depth(event: Event) -> int:
        return 0 if event.parent not in by_id else 1 + depth(by_id[event.parent])

    return tuple(
        PhaseLine(event.phase, depth(event), (event.start_ns - start) / 1e6, event.duration_ns / 1e6)
        for event in sorted(longest, key=lambda event: (event.start_ns, -event.duration_ns))
    )
