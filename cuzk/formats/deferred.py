"""Checks of large files that run beside the work that uses them, and must be over before its result is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

__all__ = ["Deferred"]

_MOST_THREADS = 4


class Deferred:
    """Checks on threads of their own, from now on. As a context manager it waits at the end of the block.

    An error that the block raises may come from what a check would have found, so that a check's error takes
    its place.

    Args:
        checks: Each raises what it finds. They must spend their time where Python lets other threads run.
    """

    def __init__(self, checks: Sequence[Callable[[], None]]) -> None:
        self._running: list[Future[None]] = []
        if checks:
            threads = min(_MOST_THREADS, len(checks), len(os.sched_getaffinity(0)))
            pool = ThreadPoolExecutor(threads, thread_name_prefix="cuzk-check")
            self._running = [pool.submit(check) for check in checks]
            pool.shutdown(wait=False)

    def wait(self) -> None:
        """Wait for all checks; raises the first error in their order."""
        for future in self._running:
            future.result()

    def __enter__(self) -> Deferred:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, Exception):
            self.wait()
        else:  # an interruption: nobody waits for what has not begun
            for future in self._running:
                future.cancel()
