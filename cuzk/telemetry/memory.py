"""Memory of this process over time (`--memory M.csv`): a thread samples resident memory at an interval."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from cuzk.errors import RangeError

__all__ = ["CSV_HEADER", "MemoryMonitor"]

CSV_HEADER = "elapsed_ms,rss_bytes"


class MemoryMonitor:
    """Samples resident memory while a `with` block runs.

    Args:
        path: CSV file to create, flushed line by line.
        interval_ms: Time between two samples, milliseconds, at least 1.
        clock: Monotonic clock in nanoseconds.
        sample: Returns resident memory in bytes.

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
    ) -> None:
        if interval_ms < 1:
            raise RangeError(f"memory interval of {interval_ms} ms", limit="at least 1 ms")
        self._interval_s = interval_ms / 1000
        self._clock = clock
        self._sample = sample if sample is not None else _resident_bytes
        self._file: TextIO = path.open("w", encoding="utf-8", buffering=1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cuzk-memory", daemon=True)
        self._start_ns = 0
        self.peak_bytes = 0

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
        rss_bytes = self._sample()
        self.peak_bytes = max(self.peak_bytes, rss_bytes)
        elapsed_ms = (self._clock() - self._start_ns) // 1_000_000
        self._file.write(f"{elapsed_ms},{rss_bytes}\n")


def _resident_bytes() -> int:
    import psutil  # here, so that commands which sample nothing start faster

    return int(psutil.Process().memory_info().rss)
