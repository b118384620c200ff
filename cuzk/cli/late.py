"""Progress of commands that are mostly quick: nothing at first, and what any long command shows once they last.

>>> with LateProgress("circuit info of porep:32GiB", [("hash", "hash all rows")]) as progress:
...     with progress.step("hash") as advance:
...         advance(0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from cuzk.cli.output import note
from cuzk.cli.progress import Progress

__all__ = ["LateProgress"]

#: Who waits for longer wants to know what for; seconds.
_AFTER_S = 1.5


class LateProgress(Progress):
    """Shows the steps of a command that takes longer than a moment, while a ``with`` block runs.

    Arguments as of Progress; the names of steps need not be phases.
    """

    def __enter__(self) -> Self:
        if not self._quiet:
            self._watch()
        return self

    def _look_after(self) -> None:
        if not self._over.wait(_AFTER_S):
            self._open()
            super()._look_after()

    def _words(self) -> str:
        return super()._words() if self._next < len(self._steps) else self.title

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
        began_ns = self._clock()
        yield lambda share: self.advanced(name, share)
        self.ended(name, (self._clock() - began_ns) / 1e9)
