"""Timing lines on stderr: `CUZK_TIMING: key=value ...`, one per finished phase, flushed line by line.

Field names and their order are those of the engine that this project follows, so that scripts written for its
log keep working; job and partition stand at the end of each line.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TextIO

from cuzk.telemetry.events import Event
from cuzk.telemetry.phases import PHASES
from cuzk.telemetry.tree import gpu_total_ns

__all__ = ["LINE_FIELDS", "PREFIX", "TimingLines", "format_line"]

PREFIX = "CUZK_TIMING:"

#: Fields of a phase's line beyond `<phase>_ms`: those before it, those after it.  A field is a tag of the
#: event, or `gpu_tid` (number of the device), `gpu_total_ms` (first to last kernel of the job, no waits) or
#: `num_circuits` (one, where the phase does not say that it served more).
LINE_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "pin_abc": ((), ("num_circuits", "abc_bytes_each")),
        "prep_msm": ((), ()),
        "ntt_msm_h": (("gpu_tid",), ()),
        "batch_add": (("gpu_tid",), ()),
        "tail_msm": (("gpu_tid",), ("gpu_total_ms",)),
        "b_g2_msm": ((), ("num_circuits",)),
    }
)


def format_line(event: Event, extra: Mapping[str, object]) -> str:
    """Format one event as a timing line without the newline.

    Args:
        event: A finished phase.
        extra: Values for fields that are not tags of the event.

    Returns:
        The line.  Milliseconds are whole numbers, rounded half up, as in the original log.
    """
    before, after = LINE_FIELDS.get(event.phase, ((), ()))
    values = {**event.tags, **extra}
    fields = [f"{name}={values[name]}" for name in before if name in values]
    fields.append(f"{event.phase}_ms={_milliseconds(event.duration_ns)}")
    fields += [f"{name}={values[name]}" for name in after if name in values]
    fields.append(f"job={event.job or '-'}")
    fields.append(f"partition={'-' if event.partition is None else event.partition}")
    if event.failed:
        fields.append("failed=1")
    return f"{PREFIX} {' '.join(fields)}"


class TimingLines:
    """Sink that prints a line for every phase directly under a job, and for every wait.

    Args:
        stream: Where to print.  By default stderr as it is at the time of the line.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream: Callable[[], TextIO] = (lambda: sys.stderr) if stream is None else (lambda: stream)
        self._seen: dict[tuple[str, int | None, str | None], list[Event]] = defaultdict(list)

    def receive(self, event: Event) -> None:
        """Print one event, unless it is a part of a phase that has its own line."""
        group = self._seen[event.job, event.partition, event.device]
        group.append(event)
        if not PHASES[event.phase].has_line:
            return
        extra: dict[str, object] = {"gpu_tid": _device_number(event.device)}
        if "num_circuits" not in event.tags:
            extra["num_circuits"] = 1
        if event.phase == "tail_msm":
            extra["gpu_total_ms"] = _milliseconds(gpu_total_ns(group))
        stream = self._stream()
        stream.write(format_line(event, extra) + "\n")
        stream.flush()
        if event.phase == "prove":
            # The job is over; a daemon that proves for weeks must not keep its events here.
            for key in [key for key in self._seen if key[0] == event.job]:
                del self._seen[key]


def _milliseconds(duration_ns: int) -> int:
    return (duration_ns + 500_000) // 1_000_000


def _device_number(device: str | None) -> int:
    """Return 1 for "cuda:1"; devices without a number are number 0."""
    _, _, number = (device or "").partition(":")
    return int(number) if number.isdigit() else 0
