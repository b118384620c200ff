"""What a long command is doing, on stderr: a bar on a terminal, a line per finished step elsewhere.

Steps are phases: a Progress is a sink of the recorder that hears when a phase starts, how far it is, and when it
ends. Once the command knows how much work lies ahead (``expect``), the bar is the share of that work, and the time
left is the rest of it at the pace measured so far.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from cuzk.cli.output import note

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from cuzk.telemetry import Event, Remaining

__all__ = [
    "PROVE_STEPS",
    "PTAU_STEPS",
    "SETUP_STEPS",
    "CountersOption",
    "EventsOption",
    "IntervalOption",
    "MemoryOption",
    "Progress",
    "QuietOption",
    "left_words",
]

EventsOption = Annotated[
    Path | None, typer.Option("--events", metavar="E.jsonl", help="Write the phase events, one a line.")
]
MemoryOption = Annotated[
    Path | None, typer.Option("--memory", metavar="M.csv", help="Write the memory in use over time.")
]
IntervalOption = Annotated[
    int,
    typer.Option("--memory-interval", metavar="MS", min=1, help="Time between two samples of --memory, ms."),
]
CountersOption = Annotated[
    bool,
    typer.Option(
        "--counters",
        help="Count instructions, cycles, branches, misses and page faults of every phase (--events).",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]

_Step = tuple[str, str]

#: Phases of ``cuzk prove`` in their order, with what to show while each runs.
PROVE_STEPS: tuple[_Step, ...] = (
    ("witness_load", "read the witness"),
    ("kernel_build", "load the kernels"),
    ("key_load", "read and check the key"),
    ("key_load", "copy the key to the device"),
    ("synthesis", "evaluate the constraints"),
    ("ntt_h", "quotient polynomial"),
    ("msm_h", "commitment to the quotient"),
    ("prep_msm", "classify the scalars"),
    ("batch_add", "add up the bases of scalar one"),
    ("tail_msm", "commitments in G1"),
    ("b_g2_msm", "commitment in G2"),
    ("proof_assembly", "put the proof together"),
    ("self_check", "verify the proof"),
)
SETUP_STEPS: tuple[_Step, ...] = (
    ("circuit_load", "read the circuit"),
    ("kernel_build", "load the kernels"),
    ("tau_columns", "columns of the matrices"),
    ("points_single", "tables and single points"),
    ("points_a", "points of the A query"),
    ("points_l", "points of the L query"),
    ("points_b_g1", "points of the B query in G1"),
    ("points_b_g2", "points of the B query in G2"),
    ("points_h", "points of the H query"),
    ("key_write", "write the keys"),
)

#: The same of ``cuzk setup --ptau``.
PTAU_STEPS: tuple[_Step, ...] = (
    ("circuit_load", "read the circuit"),
    ("kernel_build", "load the kernels"),
    ("powers_load", "read the powers of tau"),
    ("powers_check", "check every point of the powers"),
    ("powers_lagrange", "powers to Lagrange points"),
    ("points_single", "single points"),
    ("points_l", "points of the L query"),
    ("points_a", "points of the A query"),
    ("points_b_g1", "points of the B query in G1"),
    ("points_b_g2", "points of the B query in G2"),
    ("points_h", "points of the H query"),
    ("key_write", "write the keys"),
)

#: Where there is no terminal, a step that takes longer than this says how far it is, that often; seconds.
_LINE_EVERY_S = 10.0
_TICK_S = 0.5
#: No words about so little time.
_WORTH_SAYING_S = 1.0


class Progress:
    """Shows steps while a ``with`` block runs.

    Args:
        title: What is done, shown first; may change until the block starts.
        steps: (phase, words) in the order in which the phases end.
        quiet: Show nothing (timing lines or a report for programs take its place).
        clock: Monotonic clock in nanoseconds.
    """

    def __init__(
        self,
        title: str,
        steps: Sequence[_Step],
        *,
        quiet: bool = False,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.title = title
        self._steps = tuple(steps)
        self._next = 0
        self._quiet = quiet
        self._clock = clock
        self._remaining: Remaining | None = None
        self._last_line_ns = 0
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None
        self._is_open = False
        self._began_ns = clock()
        self._over = threading.Event()
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> Self:
        if not self._quiet:
            self._open()
            self._watch()
        return self

    def _watch(self) -> None:
        """Let a thread look after the display until the block ends."""
        self._watcher = threading.Thread(target=self._look_after, name="cuzk-progress", daemon=True)
        self._watcher.start()

    def _look_after(self) -> None:
        while self._bar is None and not self._over.wait(_TICK_S):
            self.tick()

    def tick(self) -> None:
        """Say that a step still runs, where there is no bar and nothing was said for long."""
        now_ns = self._clock()
        if self._bar is None and self._next < len(self._steps) and self._is_late(now_ns):
            self._line(f"{self._steps[self._next][1]}: {(now_ns - self._began_ns) / 1e9:.0f} s so far")

    def _is_late(self, now_ns: int) -> bool:
        return now_ns - self._last_line_ns > _LINE_EVERY_S * 1e9

    def _open(self) -> None:
        """From now on something is shown."""
        if sys.stderr.isatty():
            self._open_bar()
        else:
            note(self.title)
            self._last_line_ns = self._clock()
        self._is_open = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()
        if self._bar is not None:
            self._bar.stop()

    @property
    def is_shown(self) -> bool:
        """Whether anybody sees it, so that work ahead is worth estimating."""
        return not self._quiet

    def expect(self, work: Mapping[str, float]) -> None:
        """Take how much work lies ahead: phase -> units, as ``Remaining`` does."""
        from cuzk.telemetry import Remaining

        if not self._quiet:
            self._remaining = Remaining(work, clock=self._clock)

    def _open_bar(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            ProgressColumn,
            SpinnerColumn,
            Task,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        progress = self

        class Left(ProgressColumn):
            """The time left, as it is when the line is drawn."""

            max_refresh = None

            def render(self, task: Task) -> Text:
                del task
                return Text(progress.left())

        self._bar = RichProgress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[steps]}"),
            TimeElapsedColumn(), Left(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task(self._words(), total=1.0, steps=self._step_words())
        self._bar.start()

    def left(self) -> str:
        """The time left in words; empty while nothing is known."""
        seconds = None if self._remaining is None else self._remaining.seconds()
        return "" if seconds is None or seconds < _WORTH_SAYING_S else left_words(seconds)

    def say(self, text: str) -> None:
        """Say something that is known before the first step; it stays where a bar would go."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        elif not self._quiet:
            note(text)

    def _words(self) -> str:
        if self._next < len(self._steps):
            return f"{self.title}: {self._steps[self._next][1]}"
        return f"{self.title}: write"

    def _step_words(self) -> str:
        return f"{self._next}/{len(self._steps)}"

    def _share(self) -> float:
        if self._remaining is not None:
            return self._remaining.done_share
        return self._next / len(self._steps)

    def _index(self, phase: str) -> int | None:
        """Index of the coming step of a phase, or None."""
        return next((i for i in range(self._next, len(self._steps)) if self._steps[i][0] == phase), None)

    def started(self, phase: str) -> None:
        """Take the start of a phase: steps before it are done or were left out."""
        if self._remaining is not None:
            self._remaining.start(phase)
        at = self._index(phase)
        if at is not None and not self._quiet:
            self._next, self._began_ns = at, self._clock()
            self._update()

    def advanced(self, phase: str, share: float) -> None:
        """Take how far a running phase is."""
        if self._quiet:
            return
        if self._remaining is not None:
            self._remaining.advance(phase, share)
        self._update()
        late = self._is_late(self._clock())
        if self._bar is None and late and self._next < len(self._steps) and share < 1:
            self._line(f"{self._steps[self._next][1]}: {share:.0%}")

    def receive(self, event: Event) -> None:
        """Take a finished phase; one that is no coming step changes nothing."""
        if not event.failed:
            self.ended(event.phase, event.duration_ns / 1e9)

    def ended(self, phase: str, seconds: float) -> None:
        """Take the end of a phase, and how long it took."""
        if self._quiet:
            return
        if self._remaining is not None:
            self._remaining.finish(phase, seconds)
        at = self._index(phase)
        if at is not None:
            self._next = at + 1
            self._update()
            if self._bar is None:
                self._line(f"{self._steps[at][1]}: {seconds:.2f} s")

    def _line(self, text: str) -> None:
        if not self._is_open:
            return
        self._last_line_ns = self._clock()
        left = self.left()
        note(f"  {text}" + (f" ({left})" if left else ""))

    def _update(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task, completed=self._share(), description=self._words(), steps=self._step_words()
            )

    def kernel_build(self, module: str, done: int, total: int) -> None:
        """Report a kernel module that was compiled (the first run on a GPU compiles all it needs)."""
        text = f"compiled kernels {module} ({done} of {total})"
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self.title}: {text}")
        elif not self._quiet:
            note(f"  {text}")


def left_words(seconds: float) -> str:
    """A remaining time in words, no more exact than such an estimate is."""
    if seconds < 20:
        return f"about {max(1, round(seconds))} s left"
    if seconds < 100:
        return f"about {round(seconds / 5) * 5} s left"
    minutes = seconds / 60
    if minutes < 20:
        return f"about {round(minutes)} min left"
    return f"about {round(minutes / 5) * 5} min left" if minutes < 100 else f"about {minutes / 60:.1f} h left"
