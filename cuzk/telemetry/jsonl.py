"""Event files: one JSON object a line, written as each phase ends, so that a killed run keeps its events."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TextIO

from cuzk.errors import FormatError
from cuzk.telemetry.events import Event

__all__ = ["JsonlWriter", "event_to_json", "read_events"]


def event_to_json(event: Event) -> str:
    """Return one event as a line of JSON without the newline.  Key order is that of `Event`."""
    return json.dumps(asdict(event), separators=(",", ":"))


class JsonlWriter:
    """Sink that appends events to a file, flushed line by line.  Also a context manager.

    Args:
        path: File to create; an existing one is replaced, since event ids start at 0 in every run.
    """

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w", encoding="utf-8", buffering=1)

    def receive(self, event: Event) -> None:
        """Write one event."""
        self._file.write(event_to_json(event) + "\n")

    def close(self) -> None:
        """Close the file; later events would raise."""
        self._file.close()

    def __enter__(self) -> JsonlWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_events(path: Path) -> list[Event]:
    """Read an event file.

    Args:
        path: File written by `JsonlWriter`.  A last line cut off by a kill is left out.

    Returns:
        The events, in file order.

    Raises:
        FormatError: A complete line is not an event.
    """
    events = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        try:
            events.append(Event(**json.loads(line)))
        except (ValueError, TypeError) as error:
            # Of a TypeError only Python's words for the arguments of a class would be known.
            reason = str(error) if isinstance(error, ValueError) else "its fields are not an event's"
            raise FormatError(
                f"line {number} is no event: {reason}",
                path=path,
                remedy="pass a file that --events wrote",
            ) from error
    return events
