"""Memory over time (`--memory M.csv`): a thread samples resident, pinned and GPU memory at an interval.

From the samples and the events of the same run, ``peaks_by_phase`` says how much each phase had at its most.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TextIO

from cuzk.errors import RangeError
from cuzk.telemetry.records import Event

__all__ = ["CSV_HEADER", "MemoryMonitor", "MemorySample", "peaks_by_phase"]

CSV_HEADER = "elapsed_ms,rss_bytes,pinned_bytes,device_bytes"


class MemorySample(NamedTuple):
    """One reading.

    Fields: when, on the recorder's clock, nanoseconds; resident memory of the process; page-locked memory of the
    process; memory of the GPU in use.  Bytes, None where nobody can say.
    """

    at_ns: int
    rss_bytes: int
    pinned_bytes: int | None = None
    device_bytes: int | None = None


class MemoryMonitor:
    """Samples memory while a `with` block runs.

    Args:
        path: CSV file to create, flushed line by line.
        interval_ms: Time between two samples, milliseconds, at least 1.
        clock: Monotonic clock in nanoseconds, the recorder's.
        sample: Returns resident memory in bytes.
        pinned: Returns page-locked memory in bytes; the system's figure for this process by default.

    Attributes:
        pinned: As given; a GPU's own account takes its place once one is open.
        device: Returns the memory of the GPU in use, bytes, or None; set once a GPU is open.
        samples: Every reading so far.

    Raises:
        RangeError: The interval is shorter than a millisecond.
    """

    def __init__(
        self,
        path: Path,
        *,
        interval_ms: int = 100,
        clock: Callable[[], int] = time.perf_counter_ns,
        sample: Callable[[], int] | None = None,
        pinned: Callable[[], int | None] | None = None,
    ) -> None:
        if interval_ms < 1:
            raise RangeError(
                f"memory interval of {interval_ms} ms",
                limit="at least 1 ms",
                remedy="100 ms is the default",
            )
        self._interval_s = interval_ms / 1000
        self._clock = clock
        self._sample = sample if sample is not None else _resident_bytes
        self.pinned = pinned if pinned is not None else _locked_bytes
        self.device: Callable[[], int | None] = lambda: None
        self.samples: list[MemorySample] = []
        self._file: TextIO = path.open("w", encoding="utf-8", buffering=1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cuzk-memory", daemon=True)
        self._start_ns = 0

    @property
    def peak_bytes(self) -> int:
        """Most resident memory seen."""
        return max((sample.rss_bytes for sample in self.samples), default=0)

    def __enter__(self) -> MemoryMonitor:
        self._file.write(CSV_HEADER + "\n")
        self._start_ns = self._clock()
        self._write_sample()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._write_sample()
        self._file.close()

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            self._write_sample()

    def _write_sample(self) -> None:
        found = MemorySample(self._clock(), self._sample(), self.pinned(), self.device())
        self.samples.append(found)
        cells = [(found.at_ns - self._start_ns) // 1_000_000, *found[1:]]
        self._file.write(",".join("" if cell is None else str(cell) for cell in cells) + "\n")


def peaks_by_phase(samples: Sequence[MemorySample], events: Iterable[Event]) -> dict[str, MemorySample]:
    """The most that each phase had, from the samples inside it and the nearest one on either side.

    Args:
        samples: In order of time.
        events: Of the same run and clock.

    Returns:
        Phase -> maxima over its events, each column for itself; the time is that of the resident memory's peak.  A
        phase shorter than the interval gets its neighbours' samples: an upper bound, never a missing row.
    """
    times = [sample.at_ns for sample in samples]
    peaks: dict[str, MemorySample] = {}
    for event in events:
        first = max(bisect_left(times, event.start_ns) - 1, 0)
        last = bisect_right(times, event.end_ns) + 1
        for sample in samples[first:last]:
            peaks[event.phase] = _higher(peaks.get(event.phase, sample), sample)
    return peaks


def _higher(a: MemorySample, b: MemorySample) -> MemorySample:
    """The maxima of two samples, column by column."""
    at = a if a.rss_bytes >= b.rss_bytes else b
    return MemorySample(
        at.at_ns,
        at.rss_bytes,
        max((x for x in (a.pinned_bytes, b.pinned_bytes) if x is not None), default=None),
        max((x for x in (a.device_bytes, b.device_bytes) if x is not None), default=None),
    )


def _resident_bytes() -> int:
    import psutil  # here, so that commands which sample nothing start faster

    return int(psutil.Process().memory_info().rss)


def _locked_bytes() -> int | None:
    """Memory of this process that the system may not move: locked by mlock, or pinned by a driver."""
    found = None
    try:
        with Path("/proc/self/status").open(encoding="ascii") as file:
            for line in file:
                if line.startswith(("VmLck:", "VmPin:")):
                    found = (found or 0) + int(line.split()[1]) * 1024
    except OSError:
        return None
    return found
