"""Running mutants: compile, tell apart by the objects, run the battery; several at a time, results in order."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuzk.errors import InternalError
from cuzk_fuzz.mutation.battery import (
    KILLED,
    SHADOW,
    SURVIVED,
    Drawn,
    draw_battery,
    fork_battery,
    kernel_names,
)
from cuzk_fuzz.mutation.build import (
    KERNELS,
    SANITIZED,
    SUFFIX,
    Workshop,
    build_common,
    compiler,
    run_compiler,
    sanitizer_runtime,
)
from cuzk_fuzz.mutation.equivalents import Equivalent, find, load_equivalents
from cuzk_fuzz.mutation.operators import Mutant, mutants_of
from cuzk_fuzz.mutation.plans import PLANS, Plan, PlanKey
from cuzk_fuzz.mutation.score import Verdict
from cuzk_fuzz.mutation.screen import Screen
from cuzk_fuzz.mutation.steps import Command, Examination, Slot, Step, Trial
from cuzk_fuzz.shadow.build import HOOKS, build_runtime

#: A battery may take so many times as long as on the unchanged kernels, and some seconds more.
_SLOWER, _EXTRA_SECONDS = 8, 5
#: By the clock, so that it is for what never ends: on a busy machine a run may take ten times as long.
_SANITIZED_SECONDS = 1800.0


@dataclass
class _Base:
    """The unchanged kernels of a plan: objects' digests, the battery, and how long it takes by platform."""

    digests: dict[str, str]
    battery: list[Drawn]
    limits: dict[str, int]


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
        equivalents: list[Equivalent] | None = None,
    ) -> None:  # fmt: skip
        self.sources = {header: (KERNELS / header).read_text() for header in headers}
        self.mutants = [m for header, text in self.sources.items() for m in mutants_of(header, text)]
        self.equivalents = load_equivalents() if equivalents is None else equivalents
        self._folder = folder
        platforms = {platform for header in headers for platform in PLANS[header].platforms}
        common = {platform: build_common(folder, platform) for platform in sorted(platforms)}
        self._slots = [Slot(Workshop.create(folder / f"workshop{i}", common)) for i in range(jobs)]
        self._pristine = Workshop.create(folder / "pristine", common)
        self._bases: dict[PlanKey, _Base] = {}
        self._shadow_objects: list[Path] = []
        self._seen: dict[tuple[PlanKey, str, str], tuple[int, str]] = {}
        self._counted: dict[tuple[str, str] | None, str] = {}  # by content
        self._given = 0
        self._screen = Screen(self._pristine)

    def shuffled(self, seed: int) -> list[Mutant]:
        """All mutants in a seeded order."""
        mutants = list(self.mutants)
        random.Random(seed).shuffle(mutants)
        return mutants

    def know(self, mutant: Mutant, content: tuple[str, str]) -> None:
        """Take note of a mutant that was judged earlier: one with the same object is a duplicate of it."""
        self._seen.setdefault((PLANS[mutant.header].key, *content), (-1, mutant.name))
        self._counted.setdefault(content, mutant.name)

    def screen(self, mutants: Sequence[Mutant]) -> Iterator[Verdict]:
        """Those of one header that the battery kills where one object holds many of them."""
        header = mutants[0].header
        battery = self._base(PLANS[header]).battery
        for mutant, (platform, code) in self._screen.killed(header, mutants, battery).items():
            yield Verdict(mutant, "killed", f"{platform}, {way(code)}")

    def run(self, mutants: Sequence[Mutant]) -> Iterator[Verdict]:
        """Examine mutants in order, each compiled alone."""
        for header in dict.fromkeys(m.header for m in mutants):
            self._base(PLANS[header])
        done: dict[int, Verdict] = {}
        queue = iter(enumerate(mutants, start=self._given))
        emitted, self._given = self._given, self._given + len(mutants)
        while emitted < self._given:
            for slot in self._slots:
                if slot.examination is None and (following := next(queue, None)) is not None:
                    number, mutant = following
                    slot.begin(number, self._examine(number, mutant, slot.workshop))
                if slot.examination is not None and (verdict := slot.poll()) is not None:
                    done[slot.number] = verdict
            while emitted in done:
                verdict = done.pop(emitted)
                emitted += 1
                if (
                    verdict.content in self._counted
                ):  # an equal one that was quicker, but stands later in the order
                    verdict = Verdict(verdict.mutant, "duplicate", self._counted[verdict.content])
                elif verdict.content is not None:
                    self._counted[verdict.content] = verdict.mutant.name
                yield verdict
            time.sleep(0.005)

    def _examine(self, number: int, mutant: Mutant, workshop: Workshop) -> Examination:
        plan = PLANS[mutant.header]
        base = self._base(plan)
        workshop.insert(mutant, mutant.header)
        different: list[str] = []
        content: tuple[str, str] | None = None
        try:
            for platform in plan.platforms:
                if (yield Command(workshop.compile_command(plan, platform))) != 0:
                    return Verdict(mutant, "not compiling", platform)
                digest = workshop.digest(platform)
                if digest == base.digests[platform]:
                    continue
                first, name = self._seen.setdefault((plan.key, platform, digest), (number, mutant.name))
                if (
                    first < number
                ):  # a later one that was quicker does not count: order must not depend on speed
                    return Verdict(mutant, "duplicate", name)
                different.append(platform)
                content = content or (platform, digest)
                path = workshop.folder / f"{platform}-{digest[:16]}.so"
                if (yield Command(workshop.link_command(platform, path))) != 0:
                    return Verdict(mutant, "not compiling", f"{platform}, linking")
                code = yield Trial(base.battery, path, platform, base.limits[platform])
                path.unlink()
                if code != SURVIVED:
                    return Verdict(mutant, "killed", f"{platform}, {way(code)}", content)
            if not different:
                return Verdict(mutant, "same as the original")
            if (known := find(self.equivalents, mutant)) is not None:
                return Verdict(mutant, "equivalent", known.proof, content)
            for platform in different:
                path = workshop.folder / f"{platform}-sanitized.so"
                code = SURVIVED
                for command in self._sanitized(mutant.header, platform, workshop, path):
                    code = yield command
                if code != SURVIVED:
                    return Verdict(mutant, "killed", f"{platform}, address sanitizer", content)
            if "emu" in different and (yield from self._shadowed(plan, workshop)) != SURVIVED:
                return Verdict(mutant, "killed", "emu, shadow memory", content)
            return Verdict(mutant, "survived", "", content)
        finally:
            workshop.insert(None, mutant.header)

    def _sanitized(self, header: str, platform: str, workshop: Workshop, path: Path) -> list[Command]:
        """Compile, link and run a workshop's kernels under the address sanitizer; nothing where it is not installed.

        Raises:
            InternalError: The unchanged kernels do not pass it.
        """
        plan, runtime = PLANS[header], sanitizer_runtime()
        if runtime is None:
            return []
        if platform + SUFFIX not in workshop.common:
            workshop.common[platform + SUFFIX] = build_common(self._folder, platform, sanitized=True)
        environment = {
            "LD_PRELOAD": str(runtime),
            "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:exitcode=99",
        }
        module = [sys.executable, "-m", "cuzk_fuzz.mutation.battery", str(path), platform, header]
        commands = [
            Command(workshop.compile_command(plan, platform, SANITIZED)),
            Command(workshop.link_command(platform, path, sanitized=True)),
            Command(module, _SANITIZED_SECONDS, environment),
        ]
        base = self._bases[plan.key]
        if workshop is not self._pristine and platform + SUFFIX not in base.limits:
            base.limits[platform + SUFFIX] = int(_SANITIZED_SECONDS)
            for command in self._sanitized(header, platform, self._pristine, self._folder / "pristine.so"):
                done = subprocess.run(
                    command.arguments, capture_output=True, text=True, check=False,
                    env={**os.environ, **command.environment},
                )  # fmt: skip
                if done.returncode:
                    raise InternalError(
                        f"the unchanged kernels fail under the sanitizer:\n{done.stderr[-2000:]}"
                    )
        return commands

    def _shadowed(self, plan: Plan, workshop: Workshop) -> Generator[Step, int, int]:
        """Put a workshop's kernels through the battery on the emulator with shadow memory; return its exit code.

        Raises:
            InternalError: The unchanged kernels do not pass it, or it does not build.
        """
        base = self._bases[plan.key]
        self._shadow_objects = self._shadow_objects or build_runtime(self._folder)
        places = [workshop] if SHADOW in base.limits else [self._pristine, workshop]
        code = SURVIVED
        for place in places:
            path = place.folder / f"{SHADOW}.so"
            link = [
                compiler(),
                "-shared",
                "-o",
                str(path),
                str(place.object("emu")),
                *map(str, self._shadow_objects),
            ]
            for command in (place.compile_command(plan, "emu", HOOKS), link):
                if (yield Command(command)) != 0:
                    raise InternalError(f"kernels with shadow memory do not build: {' '.join(command)}")
            code = yield Trial(base.battery, path, SHADOW, base.limits.setdefault(SHADOW, 300))
            path.unlink()
            if place is self._pristine and code != SURVIVED:
                raise InternalError(f"the unchanged kernels fail with shadow memory ({way(code)})")
        return code

    def _base(self, plan: Plan) -> _Base:
        """Build the unchanged kernels, draw the battery, and see that it passes.

        Raises:
            CompileError: The unchanged kernels do not build.
            InternalError: The battery fails on them.
        """
        base = self._bases.setdefault(plan.key, _Base({}, [], {}))
        workshop = self._pristine
        for platform in plan.platforms:
            if platform in base.limits:
                continue
            path = workshop.folder / f"{platform}-base-{len(self._bases)}.so"
            run_compiler(workshop.compile_command(plan, platform))
            run_compiler(workshop.link_command(platform, path))
            base.digests[platform] = workshop.digest(platform)
            if not base.battery:
                base.battery = draw_battery(plan, kernel_names(path))
            started = time.monotonic()
            child = fork_battery(base.battery, path, platform, 300)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code != SURVIVED:
                raise InternalError(f"the battery fails on the unchanged kernels ({platform}, {way(code)})")
            base.limits[platform] = _EXTRA_SECONDS + int(_SLOWER * (time.monotonic() - started))
        return base


def way(code: int) -> str:
    """An exit code of a battery in words."""
    if code == KILLED:
        return "wrong answers"
    if code in (-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGPROF):
        return "no end"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
