"""A first, cheap look at many mutants: one object holds a hundred of them, and a child process runs one at a time.

A mutant that the battery kills here is done.  All others are compiled alone and examined in full: whatever survives,
equals the original or another mutant, or takes no run-time choice, is never judged by this look.
"""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuzk_fuzz.mutation.battery import SURVIVED, Choice, Drawn, fork_battery
from cuzk_fuzz.mutation.build import KERNELS, Workshop, run_compiler
from cuzk_fuzz.mutation.operators import Mutant
from cuzk_fuzz.mutation.plans import PLANS, PlanKey
from cuzk_fuzz.mutation.schema import PRELUDE, arrange, blamed

#: Mutants in one object: more make it slower to run, fewer cost a compilation more often.
TOGETHER = 100
#: A batch may take so many times as long as without a fault, and some seconds more, of processor time.
_SLOWER, _EXTRA_SECONDS = 8.0, 2.0
_CHILD_SECONDS = 900
_ROUNDS = 8


@dataclass(frozen=True)
class Built:
    """An object with mutants by their numbers."""

    path: Path
    mutants: dict[int, Mutant]


@dataclass
class Screen:
    """Looks at mutants of one header after another.

    Attributes:
        workshop: Where it compiles.
    """

    workshop: Workshop
    _kills: Counter[tuple[PlanKey, str, int]] = field(default_factory=Counter)

    def killed(
        self, header: str, mutants: Sequence[Mutant], battery: list[Drawn]
    ) -> dict[Mutant, tuple[str, int]]:
        """How those that the battery kills are killed, and the exit code; the cheaper platform first."""
        found: dict[Mutant, tuple[str, int]] = {}
        for platform in sorted(PLANS[header].platforms):  # cpu before emu
            rest = [mutant for mutant in mutants if mutant not in found]
            for start in range(0, len(rest), TOGETHER):
                for built in self._build(header, rest[start : start + TOGETHER], platform):
                    found |= self._run(header, platform, built, battery)
                    built.path.unlink()
        return found

    def _build(self, header: str, mutants: Sequence[Mutant], platform: str) -> Iterator[Built]:
        """Objects with as many of the mutants as take a choice at run time."""
        source = (KERNELS / header).read_text()
        rest = list(mutants)
        for _ in range(_ROUNDS):
            schema, left = arrange(source, rest)
            held = {number: m for number, m in enumerate(rest, start=1) if number not in left}
            if not held:
                return
            done = self._compile(header, schema, platform)
            if not done.returncode:
                path = self.workshop.folder / f"{platform}-schema.so"
                run_compiler(self.workshop.link_command(platform, path))
                yield Built(path, held)
                return
            bad = blamed(schema, header, done.stderr)
            if not bad:
                break
            rest = [mutant for number, mutant in held.items() if number not in bad]
        if len(rest) > 1:  # the error stands in a line that is none's: some constant's, perhaps
            yield from self._build(header, rest[::2], platform)
            yield from self._build(header, rest[1::2], platform)

    def _compile(self, header: str, schema: str, platform: str) -> subprocess.CompletedProcess[str]:
        plan = PLANS[header]
        command = self.workshop.compile_command(plan, platform, ("-O0",))
        (self.workshop.folder / "mutant.cpp").write_text(PRELUDE + plan.source())
        place = self.workshop.folder / "tree" / header
        place.write_text(schema)
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False)
        finally:
            place.write_text((KERNELS / header).read_text())

    def _run(
        self, header: str, platform: str, built: Built, battery: list[Drawn]
    ) -> dict[Mutant, tuple[str, int]]:
        limits = np.full(len(battery), float(_CHILD_SECONDS))
        code, _, starts = _try(built.path, platform, 0, battery, range(len(battery)), limits)
        if code != SURVIVED:  # the choice itself changes something: nothing is concluded
            return {}
        seconds = np.diff(starts, append=starts[-1] + np.diff(starts).max(initial=0))
        limits = _EXTRA_SECONDS + _SLOWER * seconds
        key = PLANS[header].key
        found: dict[Mutant, tuple[str, int]] = {}
        for number, mutant in built.mutants.items():
            order = sorted(range(len(battery)), key=lambda i: (-self._kills[key, platform, i], seconds[i]))
            code, last, _ = _try(built.path, platform, number, battery, order, limits)
            if code != SURVIVED:
                self._kills[key, platform, last] += 1
                found[mutant] = platform, code
        return found


def _try(
    path: Path, platform: str, number: int, battery: list[Drawn], order: Sequence[int],
    limits: npt.NDArray[np.float64],
) -> tuple[int, int, npt.NDArray[np.float64]]:  # fmt: skip
    """One mutant in a child: its exit code, the last batch that began, and when each began (processor time)."""
    notes = np.frombuffer(mmap.mmap(-1, 8 * (len(battery) + 1)), dtype=np.float64)  # shared with the child

    def before(batch: int) -> None:
        notes[batch], notes[-1] = sum(os.times()[:2]), batch
        signal.setitimer(signal.ITIMER_PROF, limits[batch])

    child = fork_battery(battery, path, platform, _CHILD_SECONDS, Choice(number, order, before))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, int(notes[-1]), notes[:-1]
