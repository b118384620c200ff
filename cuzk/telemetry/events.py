"""Recording of phases as a tree of events.

A `Recorder` is handed to every phase; a phase opens a span with `recorder.phase(name)` and everything that
it opens inside, on the same thread, becomes a child.  Work on another thread names its parent.  They share nothing.

This module measures and stores.  It does not print (lines, table), write files (jsonl) or judge (tree).
"""

from __future__ import annotations

import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from cuzk.errors import InternalError
from cuzk.telemetry.axis import DeviceAxis
from cuzk.telemetry.phases import PHASES, phase_spec
from cuzk.telemetry.records import Event, EventSink, Gauges, GaugesReader, ProgressSink, Tag

__all__ = ["Event", "EventSink", "ProgressSink", "Recorder", "Span", "Tag", "process_usage"]

#: Counter names that become the byte columns of an event instead of operation counts.
_BYTES_UP, _BYTES_DOWN = "bytes_up", "bytes_down"


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
    gauges: GaugesReader | None = None
    axis: DeviceAxis | None = None
    checkpoint: Callable[[], None] | None = None


def process_usage() -> tuple[int, int]:
    """Return the processor time of this process, nanoseconds, and its peak resident memory, bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round((used.ru_utime + used.ru_stime) * 1e9), used.ru_maxrss * 1024


class _Store:
    """State that all views of one recorder share; every access holds `lock`."""

    def __init__(
        self,
        sinks: Sequence[EventSink],
        clock: Callable[[], int],
        usage: Callable[[], tuple[int, int]],
        counters: Callable[[], Mapping[str, int]] | None,
        keep: int | None,
    ) -> None:
        self.counters = counters
        self.clock = clock
        self.usage = usage
        self.sinks = tuple(sinks)
        self.watchers = tuple(sink for sink in sinks if isinstance(sink, ProgressSink))
        self.lock = threading.Lock()
        self.events: deque[Event] = deque(maxlen=keep)
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
        counters: Running totals of the whole process (perf_counters.py), booked beside those of the device.
        keep: How many events `events` remembers, the last ones; all by default, which a daemon cannot afford.

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
        counters: Callable[[], Mapping[str, int]] | None = None,
        keep: int | None = None,
    ) -> None:
        self._store = _Store(sinks, clock, usage, counters, keep)
        self._context = _Context()

    def scoped(self, **context: Any) -> Recorder:
        """Return a view on the same recorder whose events carry more context.

        Args:
            **context: Any of job, partition, device, stream, variants, build_key; `counters`, a function that
                returns the device's running totals (differences over a span are booked on its event); `sync`,
                a function that waits for the device, called before each clock reading so that a phase holds
                the kernels it launched (without it, asynchronous work is booked where the host waits); `viewer`,
                which `show` hands intermediate values to; `gauges`, which reads clocks and memory of a GPU at the
                end of phases there; `axis`, which `record_device` needs; `checkpoint`, which may raise before a
                phase begins, and so stops the work between two phases.

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

    @property
    def variants(self) -> Mapping[str, str]:
        """The variants in force, id to value, as events carry them."""
        return self._context.variants

    @property
    def is_viewed(self) -> bool:
        """Whether `show` has anybody to show to: what takes time to make is not made for nobody."""
        return self._context.viewer is not None

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
        if self._context.checkpoint is not None:
            self._context.checkpoint()
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
        own = dict(self._context.counters()) if self._context.counters is not None else {}
        return own if self._store.counters is None else own | dict(self._store.counters())

    def record_device(
        self,
        name: str,
        begin_ms: float,
        end_ms: float,
        *,
        parent: Span | None = None,
        stream: int | None = None,
        bytes_up: int = 0,
        **tags: Tag,
    ) -> None:
        """Book what a device has done beside the host's phases, from its own clock; nothing without an `axis`.

        Args:
            name: Phase name from the table.
            begin_ms: Start on the device's clock, milliseconds.
            end_ms: End on the same clock.
            parent: Enclosing span; the root by default.
            stream: Stream number, None for the one that kernels run on.
            bytes_up: Bytes copied to the device.
            **tags: Facts to attach.
        """
        axis = self._context.axis
        if axis is None:
            return
        phase_spec(name, parent.phase if parent is not None else "")
        span = Span(self._store.take_id(), name, axis.host_ns(begin_ms), bytes_up=bytes_up, tags=dict(tags))
        event = self._finish(span, parent, axis.host_ns(end_ms), {}, failed=True)
        self._store.publish(replace(event, stream=stream, failed=False, cpu_ns=0))

    def _finish(
        self, span: Span, above: Span | None, end_ns: int, counts: dict[str, int], failed: bool
    ) -> Event:
        for name, value in span.counts.items():
            counts[name] = counts.get(name, 0) + value
        bytes_up = counts.pop(_BYTES_UP, 0) + span.bytes_up
        bytes_down = counts.pop(_BYTES_DOWN, 0) + span.bytes_down
        context = self._context
        cpu_ns, peak_rss_bytes = self._store.usage()
        gauges = Gauges()
        if context.gauges is not None and PHASES[span.phase].on_device and not failed:
            gauges = context.gauges()
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
            sm_mhz=gauges.sm_mhz,
            memory_mhz=gauges.memory_mhz,
            throttle=gauges.throttle,
            device_bytes=gauges.device_bytes,
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
