"""Examinations as coroutines: each yields what it waits for, so that one process keeps several under way."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cuzk_fuzz.mutation.battery import Drawn, fork_battery
from cuzk_fuzz.mutation.build import Workshop
from cuzk_fuzz.mutation.score import Verdict


@dataclass(frozen=True)
class Command:
    """Something to wait for: a command, with a limit in seconds and what it finds in its environment besides ours.

    The limit is by the clock, for what never ends: a compiler on a busy machine must not make a mutant uncompilable.
    """

    arguments: list[str]
    seconds: float = 1800.0
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """Something to wait for: a battery in a child process, with a limit in seconds."""

    battery: list[Drawn]
    path: Path
    platform: str
    seconds: int


Step = Command | Trial
#: Yields what to wait for, is sent the exit code (negative: a signal), returns the verdict.
Examination = Generator[Step, int, Verdict]


class Slot:
    """A workshop with at most one examination under way."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.number = -1
        self.examination: Examination | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._child = 0
        self._deadline = 0.0

    def begin(self, number: int, examination: Examination) -> None:
        """Start on a mutant."""
        self.number, self.examination = number, examination
        self._wait_for(next(examination))

    def _wait_for(self, step: Step) -> None:
        if isinstance(step, Command):
            self._process = subprocess.Popen(
                step.arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, **step.environment},
            )  # fmt: skip
            self._deadline = time.monotonic() + step.seconds
        else:
            self._child = fork_battery(step.battery, step.path, step.platform, step.seconds)
            # The child's own limit is of processor time; this one is for a child that waits for ever.
            self._deadline = time.monotonic() + 60 + 10 * step.seconds

    def _exit_code(self) -> int | None:
        if self._process is not None:
            if time.monotonic() > self._deadline:
                self._process.kill()
            code = self._process.poll()
            if code is not None:
                self._process = None
            return code
        if time.monotonic() > self._deadline:
            os.kill(self._child, signal.SIGKILL)
        child, status = os.waitpid(self._child, os.WNOHANG)
        return None if child == 0 else os.waitstatus_to_exitcode(status)

    def poll(self) -> Verdict | None:
        """Go on where the step is done; the verdict where that was the last."""
        assert self.examination is not None
        code = self._exit_code()
        if code is None:
            return None
        try:
            self._wait_for(self.examination.send(code))
        except StopIteration as end:
            self.examination = None
            verdict: Verdict = end.value
            return verdict
        return None
