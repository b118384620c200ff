"""Progress of commands that are mostly quick: nothing at first, and what any long command shows once they last.

>>> with LateProgress("circuit info of porep:32GiB", [("hash", "hash all rows")]) as progress:
...     with progress.step("hash") as advance:
...         advance(0.5)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from cuzk.cli import progress as shared
from cuzk.cli.output import note
from cuzk.cli.progress import Progress

__all__ = ["LateProgress"]

#: Who waits for longer wants to know what for; seconds.
_AFTER_S = 1.5
_TICK_S = 0.5


class LateProgress(Progress):
    """Shows the steps of a command that takes longer than a moment, while a ``with`` block runs.

    Where there is no terminal, a step that says nothing itself gets a line every ten seconds.

    Args:
        title: What is done.
        steps: (name, words) in their order.
        quiet: Show nothing.
        clock: Monotonic clock in nanoseconds.
    """

    def __init__(
        self,
        title: str,
        steps: Sequence[tuple[str, str]],
        *,
        quiet: bool = False,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        super().__init__(title, steps, quiet=quiet, clock=clock)
        self._over = threading.Event()
        self._began_ns = clock()
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not self._quiet:
            self._watcher = threading.Thread(target=self._watch, name="cuzk-progress", daemon=True)
            self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()
        super().__exit__(kind, error, trace)

    def _watch(self) -> None:
        if self._over.wait(_AFTER_S):
            return
        self._open()
        while not self._over.wait(_TICK_S):
            self.tick()

    def tick(self) -> None:
        """Say that a step still runs, where there is no bar and nothing was said for long."""
        now_ns = self._clock()
        if self._bar is None and now_ns - self._last_line_ns > shared._LINE_EVERY_S * 1e9:
            words = self._steps[min(self._next, len(self._steps) - 1)][1]
            self._line(f"{words}: {(now_ns - self._began_ns) / 1e9:.0f} s so far")

    def remark(self, text: str) -> None:
        """Say what is no progress, but has to be known: also where nothing is shown."""
        if self._bar is None:
            note(text)
        else:
            self.say(text)

    @contextmanager
    def step(self, name: str) -> Iterator[Callable[[float], None]]:
        """One step: yields what to call with how far it is, 0 to 1."""
        self.started(name)
        self._began_ns = began_ns = self._clock()
        yield lambda share: self.advanced(name, share)
        self.ended(name, (self._clock() - began_ns) / 1e9)
