"""Recording of phases as a tree of events.

A `Recorder` is handed to every phase; a phase opens a span with `recorder.phase(name)` and everything that
it opens inside, on the same thread, becomes a child.  Work on another thread names its parent.  There is no
global state: two recorders never see each other, and one recorder may be used from many threads.

This module measures and stores.  It does not print (lines, table), write files (jsonl) or judge (tree).
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from cuzk.errors import InternalError
from cuzk.telemetry.phases import phase_spec

__all__ = ["Event", "EventSink", "ProgressSink", "Recorder", "Span", "Tag", "process_usage"]

#: What a tag may hold.
Tag = str | int | float | bool

#: Counter names that become the byte columns of an event instead of operation counts.
_BYTES_UP = "bytes_up"
_BYTES_DOWN = "bytes_down"


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
        tags: Further facts about the run: traces of variants, sizes, clocks and throttle reasons.
        failed: The phase ended by an exception.
        cpu_ns: Processor time of the whole process during the phase, user and system, nanoseconds, in steps of
            about a microsecond. Beside `duration_ns` it says how many cores were at work.
        peak_rss_bytes: Most resident memory that the process had up to the phase's end.
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


@dataclass(slots=True)
class Span:
    """A phase that is running.  Filled by the code inside the `with` block."""

    id: int
    phase: str
    start_ns: int
    start_cpu_ns: int = 0
    bytes_up: int = 0
    bytes_down: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    tags: dict[str, Tag] = field(default_factory=dict)

    def add_bytes(self, *, up: int = 0, down: int = 0) -> None:
        """Book copies that no counter of the device sees."""
        self.bytes_up += up
        self.bytes_down += down

    def add_counts(self, **counts: int) -> None:
        """Book operations that no counter of the device sees."""
        for name, value in counts.items():
            self.counts[name] = self.counts.get(name, 0) + value

    def tag(self, **tags: Tag) -> None:
        """Attach facts, for example the trace by which a variant proves that it ran."""
        self.tags.update(tags)


@dataclass(frozen=True)
class _Context:
    """What every event of one recorder view carries."""

    job: str = ""
    partition: int | None = None
    device: str | None = None
    stream: int | None = None
    variants: Mapping[str, str] = field(default_factory=dict)
    build_key: str | None = None
    counters: Callable[[], Mapping[str, int]] | None = None
    sync: Callable[[], None] | None = None
    viewer: Callable[[str, Any], None] | None = None


def process_usage() -> tuple[int, int]:
    """Return the processor time of this process, nanoseconds, and its peak resident memory, bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round((used.ru_utime + used.ru_stime) * 1e9), used.ru_maxrss * 1024


class _Store:
    """State that all views of one recorder share; every access holds `lock`."""

    def __init__(
        self, sinks: Sequence[EventSink], clock: Callable[[], int], usage: Callable[[], tuple[int, int]]
    ) -> None:
        self.clock = clock
        self.usage = usage
        self.sinks = tuple(sinks)
        self.watchers = tuple(sink for sink in sinks if isinstance(sink, ProgressSink))
        self.lock = threading.Lock()
        self.events: list[Event] = []
        self.next_id = 0
        self.open = threading.local()

    def stack(self) -> list[Span]:
        """Return the open spans of this thread, outermost first."""
        if not hasattr(self.open, "spans"):
            self.open.spans = []
        spans: list[Span] = self.open.spans
        return spans

    def take_id(self) -> int:
        with self.lock:
            number = self.next_id
            self.next_id += 1
        return number

    def publish(self, event: Event) -> None:
        with self.lock:
            self.events.append(event)
            for sink in self.sinks:
                sink.receive(event)

    def tell_started(self, phase: str) -> None:
        with self.lock:
            for sink in self.watchers:
                sink.started(phase)

    def tell_advanced(self, phase: str, share: float) -> None:
        with self.lock:
            for sink in self.watchers:
                sink.advanced(phase, share)


class Recorder:
    """Records phases; safe to use from several threads.

    Args:
        sinks: Receivers of finished events (timing lines, event file).
        clock: Monotonic clock in nanoseconds; tests inject their own.
        usage: Returns the process's processor time in nanoseconds and its peak memory in bytes, so far.

    Example:
        >>> ticks = iter(range(0, 100, 10))
        >>> recorder = Recorder(clock=lambda: next(ticks))
        >>> with recorder.phase("ntt_msm_h"):
        ...     with recorder.phase("ntt_h") as span:
        ...         span.tag(transforms=7)
        >>> [(event.phase, event.parent, event.duration_ns) for event in recorder.events]
        [('ntt_h', 0, 10), ('ntt_msm_h', None, 30)]
    """

    def __init__(
        self,
        sinks: Sequence[EventSink] = (),
        *,
        clock: Callable[[], int] = time.perf_counter_ns,
        usage: Callable[[], tuple[int, int]] = process_usage,
    ) -> None:
        self._store = _Store(sinks, clock, usage)
        self._context = _Context()

    def scoped(self, **context: Any) -> Recorder:
        """Return a view on the same recorder whose events carry more context.

        Args:
            **context: Any of job, partition, device, stream, variants, build_key; `counters`, a function that
                returns the device's running totals (differences over a span are booked on its event); `sync`,
                a function that waits for the device, called before each clock reading so that a phase holds
                the kernels it launched (without it, asynchronous work is booked where the host waits); `viewer`,
                which `show` hands intermediate values to.

        Returns:
            A view; this recorder is left as it was.

        Raises:
            InternalError: A name is none of these.
        """
        unknown = sorted(set(context) - set(_Context.__dataclass_fields__))
        if unknown:
            known = ", ".join(_Context.__dataclass_fields__)
            raise InternalError(f"recorder context {unknown} is unknown", limit=f"possible: {known}")
        view = Recorder.__new__(Recorder)
        view._store = self._store
        view._context = replace(self._context, **context)
        return view

    @property
    def events(self) -> list[Event]:
        """Finished events, in order of their end.  A copy."""
        with self._store.lock:
            return list(self._store.events)

    def show(self, **values: Any) -> None:
        """Hand intermediate values, by name, to the context's `viewer`: comparisons of two settings ask for them.

        Nothing happens without one.  A value is overwritten later, so a viewer copies what it keeps.
        """
        if self._context.viewer is not None:
            for name, value in values.items():
                self._context.viewer(name, value)

    def advance(self, share: float) -> None:
        """Say how much of the innermost phase that is open on this thread is done, 0 to 1.

        Sinks that show progress hear of it; the phase's event does not change.
        """
        stack = self._store.stack()
        if stack and self._store.watchers:
            self._store.tell_advanced(stack[-1].phase, share)

    @contextmanager
    def phase(self, name: str, *, parent: Span | None = None, **tags: Tag) -> Iterator[Span]:
        """Open a span for the duration of a `with` block.

        Args:
            name: Phase name from the table.
            parent: Enclosing span where it belongs to another thread; by default the innermost open one here.
            **tags: Facts to attach.

        Yields:
            The running span.

        Raises:
            InternalError: Unknown phase, or one that does not belong under its parent.
        """
        stack = self._store.stack()
        above = parent if parent is not None else (stack[-1] if stack else None)
        phase_spec(name, above.phase if above is not None else "")
        before = self._read_counters()
        number, start_ns = self._store.take_id(), self._now()
        span = Span(number, name, start_ns, start_cpu_ns=self._store.usage()[0], tags=dict(tags))
        stack.append(span)
        if self._store.watchers:
            self._store.tell_started(name)
        failed = True
        try:
            yield span
            failed = False
        finally:
            stack.remove(span)
            # After a failure the device may be unusable; waiting for it could hide the first error.
            end_ns = self._store.clock() if failed else self._now()
            counts = {} if failed else _difference(before, self._read_counters())
            self._store.publish(self._finish(span, above, end_ns, counts, failed))

    def _now(self) -> int:
        if self._context.sync is not None:
            self._context.sync()
        return self._store.clock()

    def _read_counters(self) -> Mapping[str, int]:
        return dict(self._context.counters()) if self._context.counters is not None else {}

    def _finish(
        self, span: Span, above: Span | None, end_ns: int, counts: dict[str, int], failed: bool
    ) -> Event:
        for name, value in span.counts.items():
            counts[name] = counts.get(name, 0) + value
        bytes_up = counts.pop(_BYTES_UP, 0) + span.bytes_up
        bytes_down = counts.pop(_BYTES_DOWN, 0) + span.bytes_down
        context = self._context
        cpu_ns, peak_rss_bytes = self._store.usage()
        return Event(
            id=span.id,
            parent=above.id if above is not None else None,
            phase=span.phase,
            job=context.job,
            partition=context.partition,
            device=context.device,
            stream=context.stream,
            thread=threading.get_ident(),
            start_ns=span.start_ns,
            end_ns=end_ns,
            bytes_up=bytes_up,
            bytes_down=bytes_down,
            counts=counts,
            variants=dict(context.variants),
            build_key=context.build_key,
            tags=dict(span.tags),
            failed=failed,
            cpu_ns=cpu_ns - span.start_cpu_ns,
            peak_rss_bytes=peak_rss_bytes,
        )


def _difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return how far each counter moved, leaving out those that stood still."""
    moved = {name: value - before.get(name, 0) for name, value in after.items()}
    backwards = sorted(name for name, value in moved.items() if value < 0)
    if backwards:
        raise InternalError(
            f"counters {backwards} ran backwards inside a phase", remedy="reset counters between proofs only"
        )
    return {name: value for name, value in moved.items() if value}
