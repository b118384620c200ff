"""One finished phase, and who may hear of it: plain data, and two protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Event", "EventSink", "Gauges", "GaugesReader", "ProgressSink", "Tag"]

#: What a tag may hold.
Tag = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Gauges:
    """What a GPU says of itself at one moment; None is what nobody could read.

    Args:
        sm_mhz: Clock of the multiprocessors, MHz.
        memory_mhz: Clock of the memory, MHz.
        throttle: Why the clock is not at its most, in words joined by commas; "none" where nothing holds it back.
        device_bytes: Memory of the GPU in use by everybody, bytes.
    """

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    throttle: str | None = None
    device_bytes: int | None = None


#: Reads the gauges now.
GaugesReader = Callable[[], Gauges]


@dataclass(frozen=True, slots=True)
class Event:
    """One finished phase.

    Args:
        id: Number of the event within its recorder, in order of start, from 0.
        parent: `id` of the enclosing event, None at the root.
        phase: Name from the phase table.
        job: Caller's name for the proof or batch, may be empty.
        partition: Index of the partition within the job, None if the job has none.
        device: Device name such as "cpu" or "cuda:0", None for host-only work outside a device.
        stream: Stream number on the device, None on the default stream.
        thread: Identifier of the thread that ran it.
        start_ns: Start on a monotonic clock, nanoseconds.
        end_ns: End on the same clock, nanoseconds.
        bytes_up: Bytes copied to the device in the phase, children included.
        bytes_down: Bytes copied from the device in the phase, children included.
        counts: Operation counts in the phase, children included, for devices that count.
        variants: Variants in force, id to value.
        build_key: Content key of the kernel build, None before one is known.
        tags: Further facts about the run: traces of variants, sizes.
        failed: The phase ended by an exception.
        cpu_ns: Processor time of the whole process during the phase, user and system, nanoseconds, in steps of
            about a microsecond. Beside `duration_ns` it says how many cores were at work.
        peak_rss_bytes: Most resident memory that the process had up to the phase's end.
        sm_mhz: Clock of the GPU's multiprocessors at the phase's end, None where it is unknown.
        memory_mhz: Clock of its memory.
        throttle: Why its clock is held back, "none" where it is not, None where it is unknown.
        device_bytes: Memory of the GPU in use at the phase's end, None where it is unknown.
    """

    id: int
    parent: int | None
    phase: str
    job: str
    partition: int | None
    device: str | None
    stream: int | None
    thread: int
    start_ns: int
    end_ns: int
    bytes_up: int
    bytes_down: int
    counts: Mapping[str, int]
    variants: Mapping[str, str]
    build_key: str | None
    tags: Mapping[str, Tag]
    failed: bool
    cpu_ns: int = 0
    peak_rss_bytes: int = 0
    sm_mhz: int | None = None
    memory_mhz: int | None = None
    throttle: str | None = None
    device_bytes: int | None = None

    @property
    def duration_ns(self) -> int:
        """Length of the phase in nanoseconds, children included."""
        return self.end_ns - self.start_ns


class EventSink(Protocol):
    """Receives each event once, when its phase ends.  Calls are serialised by the recorder."""

    def receive(self, event: Event) -> None:
        """Take one finished event."""


@runtime_checkable
class ProgressSink(EventSink, Protocol):
    """A sink that also hears of phases while they run.  Calls are serialised by the recorder."""

    def started(self, phase: str) -> None:
        """Take the start of a phase."""

    def advanced(self, phase: str, share: float) -> None:
        """Take how much of a running phase is done, 0 to 1."""
