"""Running mutants: compile, tell apart by the objects, run the battery; several at a time, results in order."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuzk.errors import CompileError, InternalError
from cuzk_fuzz.mutation.battery import KILLED, SURVIVED, Drawn, draw_battery, fork_battery, kernel_names
from cuzk_fuzz.mutation.build import KERNELS, Workshop, build_common
from cuzk_fuzz.mutation.equivalents import Equivalent, key_of, load_equivalents
from cuzk_fuzz.mutation.operators import Mutant, mutants_of
from cuzk_fuzz.mutation.plans import PLANS, Plan, PlanKey

#: What can become of a mutant.  Only the last three are distinct.
VERDICTS = ("not compiling", "same as the original", "duplicate", "killed", "survived", "equivalent")

_COMPILE_SECONDS = 120
#: A battery may take so many times as long as on the unchanged kernels, and some seconds more.
_SLOWER, _EXTRA_SECONDS = 8, 5


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, and how: by which platform's battery, by wrong answers, a crash or a time-out."""

    mutant: Mutant
    verdict: str
    how: str = ""


@dataclass
class Score:
    """All verdicts of a run.

    Attributes:
        generated: Mutants that the operators make of the headers.
        verdicts: Of those that were looked at, in order.
        seconds: How long it took.
    """

    generated: int
    verdicts: list[Verdict] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def counts(self) -> Counter[str]:
        """How many of each verdict."""
        return Counter(v.verdict for v in self.verdicts)

    @property
    def survivors(self) -> list[Verdict]:
        """Those that nothing saw and nobody reviewed."""
        return [v for v in self.verdicts if v.verdict == "survived"]

    @property
    def distinct(self) -> int:
        """Mutants that compile to something of their own."""
        return sum(self.counts[name] for name in ("killed", "survived", "equivalent"))

    @property
    def score(self) -> float:
        """Killed among the distinct ones that are not equivalent, 1 where there are none."""
        meant = self.distinct - self.counts["equivalent"]
        return self.counts["killed"] / meant if meant else 1.0

    def to_json(self) -> dict[str, Any]:
        """As --json writes it."""
        return {
            "generated": self.generated, "examined": len(self.verdicts), "distinct": self.distinct,
            **{name.replace(" ", "_"): self.counts[name] for name in VERDICTS},
            "score": round(self.score, 4), "seconds": round(self.seconds, 1),
            "verdicts": [
                {"name": v.mutant.name, "verdict": v.verdict, "how": v.how,
                 "line": v.mutant.original.strip(), "mutant": v.mutant.mutated.strip()}
                for v in self.verdicts
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class Command:
    """Something to wait for: a command."""

    arguments: list[str]


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


@dataclass
class _Base:
    """The unchanged kernels of a plan: objects' digests, the battery, and how long it takes by platform."""

    digests: dict[str, str]
    battery: list[Drawn]
    limits: dict[str, int]


class _Slot:
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
                step.arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            self._deadline = time.monotonic() + _COMPILE_SECONDS
        else:
            self._child = fork_battery(step.battery, step.path, step.platform, step.seconds)
            self._deadline = (
                time.monotonic() + 3 * step.seconds
            )  # the limit is of processor time; this is a backstop

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


class Runner:
    """Examines mutants of some headers.

    Args:
        headers: Names of headers that have a plan.
        folder: Where to work.
        jobs: Mutants at a time.
        equivalents: The reviewed list; the project's own where None.
    """

    def __init__(
        self, headers: Sequence[str], folder: Path, *, jobs: int = 2,
        equivalents: dict[tuple[str, str, str], Equivalent] | None = None,
    ) -> None:  # fmt: skip
        self.sources = {header: (KERNELS / header).read_text() for header in headers}
        self.mutants = [m for header, text in self.sources.items() for m in mutants_of(header, text)]
        self.equivalents = load_equivalents() if equivalents is None else equivalents
        self._folder = folder
        platforms = {platform for header in headers for platform in PLANS[header].platforms}
        common = build_common(folder, platforms)
        self._slots = [_Slot(Workshop.create(folder / f"workshop{i}", common)) for i in range(jobs)]
        self._bases: dict[PlanKey, _Base] = {}
        self._seen: dict[tuple[PlanKey, str, str], str] = {}

    def shuffled(self, seed: int) -> list[Mutant]:
        """All mutants in a seeded order."""
        mutants = list(self.mutants)
        random.Random(seed).shuffle(mutants)
        return mutants

    def run(self, mutants: Sequence[Mutant], wanted: int | None = None) -> Iterator[Verdict]:
        """Examine mutants in order until `wanted` distinct ones were found, or all of them."""
        for header in dict.fromkeys(m.header for m in mutants):
            self._base(PLANS[header])
        done: dict[int, Verdict] = {}
        queue = iter(enumerate(mutants))
        emitted = distinct = 0
        while emitted < len(mutants) and (wanted is None or distinct < wanted):
            for slot in self._slots:
                if slot.examination is None and (following := next(queue, None)) is not None:
                    number, mutant = following
                    slot.begin(number, self._examine(mutant, slot.workshop))
                if slot.examination is not None and (verdict := slot.poll()) is not None:
                    done[slot.number] = verdict
            while emitted in done and (wanted is None or distinct < wanted):
                verdict = done.pop(emitted)
                emitted += 1
                distinct += verdict.verdict in ("killed", "survived", "equivalent")
                yield verdict
            time.sleep(0.005)
        for slot in self._slots:  # whatever is still under way beyond what was wanted
            while slot.examination is not None and slot.poll() is None:
                time.sleep(0.005)

    def _examine(self, mutant: Mutant, workshop: Workshop) -> Examination:
        plan = PLANS[mutant.header]
        base = self._base(plan)
        workshop.insert(mutant, mutant.header)
        differs = False
        try:
            for platform in plan.platforms:
                if (yield Command(workshop.compile_command(plan, platform))) != 0:
                    return Verdict(mutant, "not compiling", platform)
                digest = workshop.digest(platform)
                if digest == base.digests[platform]:
                    continue
                key = (plan.key, platform, digest)
                if key in self._seen:
                    return Verdict(mutant, "duplicate", self._seen[key])
                self._seen[key] = mutant.name
                differs = True
                path = workshop.folder / f"{platform}-{digest[:16]}.so"
                if (yield Command(workshop.link_command(platform, path))) != 0:
                    return Verdict(mutant, "not compiling", f"{platform}, linking")
                code = yield Trial(base.battery, path, platform, base.limits[platform])
                path.unlink()
                if code != SURVIVED:
                    return Verdict(mutant, "killed", f"{platform}, {_way(code)}")
        finally:
            workshop.insert(None, mutant.header)
        if not differs:
            return Verdict(mutant, "same as the original")
        known = self.equivalents.get(key_of(mutant))
        return Verdict(mutant, "equivalent", known.proof) if known else Verdict(mutant, "survived")

    def _base(self, plan: Plan) -> _Base:
        """Build the unchanged kernels, draw the battery, and see that it passes.

        Raises:
            CompileError: The unchanged kernels do not build.
            InternalError: The battery fails on them.
        """
        base = self._bases.setdefault(plan.key, _Base({}, [], {}))
        workshop = self._slots[0].workshop
        for platform in plan.platforms:
            if platform in base.limits:
                continue
            path = workshop.folder / f"{platform}-base-{len(self._bases)}.so"
            for command in (workshop.compile_command(plan, platform), workshop.link_command(platform, path)):
                finished = subprocess.run(command, capture_output=True, text=True, check=False)
                if finished.returncode:
                    raise CompileError(f"the unchanged kernels do not build:\n{finished.stderr[-2000:]}")
            base.digests[platform] = workshop.digest(platform)
            if not base.battery:
                base.battery = draw_battery(plan, kernel_names(path))
            started = time.monotonic()
            child = fork_battery(base.battery, path, platform, 300)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code != SURVIVED:
                raise InternalError(f"the battery fails on the unchanged kernels ({platform}, {_way(code)})")
            base.limits[platform] = _EXTRA_SECONDS + int(_SLOWER * (time.monotonic() - started))
        return base


def _way(code: int) -> str:
    """An exit code of a battery in words."""
    if code == KILLED:
        return "wrong answers"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "no end"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def score_headers(
    headers: Sequence[str], *, sample: int | None, seed: int, jobs: int,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> Score:  # fmt: skip
    """Examine all mutants of some headers, or a seeded sample of so many distinct ones."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cuzk_mutants_") as folder:
        runner = Runner(headers, Path(folder), jobs=jobs)
        score = Score(len(runner.mutants))
        order = runner.mutants if sample is None else runner.shuffled(seed)
        for verdict in runner.run(order, sample):
            score.verdicts.append(verdict)
            on_verdict(verdict)
    score.seconds = time.monotonic() - started
    return score
