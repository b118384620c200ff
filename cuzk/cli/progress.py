"""What a long command is doing, on stderr: a bar on a terminal, a line per finished step elsewhere.

Steps are phases: a Progress is a sink of the recorder and moves on when a phase ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from cuzk.cli.output import note

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from cuzk.telemetry import Event

__all__ = ["PROVE_STEPS", "SETUP_STEPS", "Progress"]

_Step = tuple[str, str]

#: Phases of ``cuzk prove`` in their order, with what to show while each runs.
PROVE_STEPS: tuple[_Step, ...] = (
    ("witness_load", "read the witness"),
    ("kernel_build", "load the kernels"),
    ("key_load", "read and check the key"),
    ("key_load", "copy the key to the device"),
    ("synthesis", "evaluate the constraints"),
    ("ntt_msm_h", "quotient polynomial and its commitment"),
    ("prep_msm", "classify the scalars"),
    ("batch_add", "add up the bases of scalar one"),
    ("tail_msm", "commitments in G1"),
    ("b_g2_msm", "commitment in G2"),
    ("proof_assembly", "put the proof together"),
    ("self_check", "verify the proof"),
)
SETUP_STEPS: tuple[_Step, ...] = (("kernel_build", "load the kernels"), ("setup", "compute the keys"))


class Progress:
    """Shows steps while a ``with`` block runs.

    Args:
        title: What is done, shown first.
        steps: (phase, words) in the order in which the phases end.
        quiet: Show nothing (timing lines take its place).
    """

    def __init__(self, title: str, steps: Sequence[_Step], *, quiet: bool = False) -> None:
        self._title = title
        self._steps = tuple(steps)
        self._next = 0
        self._quiet = quiet
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty():
            self._open_bar()
        elif not self._quiet:
            note(self._title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self._bar = RichProgress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeElapsedColumn(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(self._words(), total=len(self._steps))
        self._bar.start()

    def _words(self) -> str:
        if self._next < len(self._steps):
            return f"{self._title}: {self._steps[self._next][1]}"
        return f"{self._title}: write"

    def receive(self, event: Event) -> None:
        """Take a finished phase; one that is no coming step changes nothing."""
        if self._quiet or event.failed:
            return
        for i in range(self._next, len(self._steps)):
            phase, words = self._steps[i]
            if phase == event.phase:
                self._next = i + 1
                self._show(words, event.duration_ns)
                return

    def _show(self, words: str, duration_ns: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._next, description=self._words())
        else:
            note(f"  {words}: {duration_ns / 1e9:.2f} s")

    def kernel_build(self, module: str, done: int, total: int) -> None:
        """Report a kernel module that was compiled (the first run on a GPU compiles all it needs)."""
        text = f"compiled kernels {module} ({done} of {total})"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self._title}: {text}")
        elif not self._quiet:
            note(f"  {text}")
