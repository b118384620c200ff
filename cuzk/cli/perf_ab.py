"""Two builds by turns: their trees, a worker process of each, and the answer for every phase."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from cuzk.errors import CuzkError, InputError
from cuzk.perf.pairs import Answer, PairLimits, Rounds, judge, looks_of, order_of_three

__all__ = ["ROOT", "WALL", "Sampler", "Worker", "build_tree", "judge_phases"]

ROOT = Path(__file__).resolve().parents[2]
#: A phase shorter than this, in one proof, is left to operation counts.
_LEAST_MS = 0.5
#: The host's clock around a phase of a device is another metric of it, and one of short phases says little.
WALL = ".wall"
_LEAST_WALL_MS = 2.0
#: A sample lasts at least so long in the shortest judged phase.
_SAMPLE_MS = 5.0
_MOST_PROOFS = 10
#: Phases that hold others: their parts say more.
_WHOLE = ("key_load",)


class Sampler(Protocol):
    """Something that proves on request."""

    @property
    def ready(self) -> dict[str, float]:
        """Phase -> milliseconds of one proof."""

    def sample(self, proofs: int) -> dict[str, float]:
        """Phase -> milliseconds of so many proofs."""


class Worker:
    """A process that proves with one tree's package.

    Args:
        tree: Folder whose `cuzk` is used.
        arguments: For perf_worker.py.
    """

    def __init__(self, tree: Path, arguments: Sequence[str]) -> None:
        paths = [str(tree), *([str(ROOT)] if tree != ROOT else []), *(path for path in sys.path if path)]
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("perf_worker.py")), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tree,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "0"},
        )  # fmt: skip
        self.ready: dict[str, float] = self._read()["ready"]

    def sample(self, proofs: int) -> dict[str, float]:
        """Phase -> milliseconds of so many proofs."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{proofs}\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise CuzkError(
                f"a worker ended with {self._process.returncode}",
                remedy="its last words are above: that tree does not run",
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class _Table:
    """Rounds of every phase: A, B and A once more, each so many proofs.

    Args:
        sides: A, B and the second A.
        proofs: Of a sample.
    """

    def __init__(self, sides: Sequence[Sampler], proofs: int) -> None:
        self._sides, self._proofs, self.rounds = dict(zip("ABC", sides, strict=True)), proofs, 0
        self._taken: dict[str, dict[str, list[float]]] = {side: {} for side in self._sides}

    def take_until(self, rounds: int) -> None:
        """Take rounds until there are so many."""
        while self.rounds < rounds:
            for side in order_of_three(self.rounds):
                for phase, took in self._sides[side].sample(self._proofs).items():
                    self._taken[side].setdefault(phase, []).append(took)
            self.rounds += 1

    def of(self, phase: str) -> Rounds:
        """One phase's."""
        return Rounds(*(self._taken[side].get(phase, []) for side in "ABC"))


def judge_phases(
    a: Sampler,
    b: Sampler,
    twin: Sampler,
    limits: Callable[[str], PairLimits],
    pairs: int,
    *,
    sample_ms: float = _SAMPLE_MS,
) -> dict[str, Answer]:
    """Compare every phase of at least _LEAST_MS; all of them by the same proofs.

    Rounds are taken until the last phase is answered; what a phase was answered with stays.

    Args:
        a: The baseline.
        b: What is judged.
        twin: The baseline once more.
        limits: Those of a phase, or of PHASE.wall.
        pairs: The most rounds before an alarm is confirmed.
        sample_ms: A sample is as many proofs as the shortest phase needs to last so long.

    Raises:
        InputError: A phase that one build has and the other has not: renamed, gone or new.
    """
    if set(a.ready) != set(b.ready):
        raise InputError(
            f"the builds have other phases: only in A {sorted(set(a.ready) - set(b.ready))}, "
            f"only in B {sorted(set(b.ready) - set(a.ready))}",
            remedy="compare builds with the same phases, and record the new ones: cuzk perf record",
        )
    phases = sorted(filter(lambda phase: _is_judged(phase, a.ready[phase]), a.ready))
    if not phases:
        raise InputError(f"no phase takes {_LEAST_MS} ms", remedy="take a larger workload: --size")
    shortest = min(a.ready[phase] for phase in phases)
    table = _Table((a, b, twin), min(_MOST_PROOFS, max(1, round(sample_ms / shortest))))
    answers: dict[str, Answer] = {}
    wanted = looks_of(pairs)[0]
    while wanted:
        table.take_until(wanted)
        wanted = 0
        for phase in phases:
            if phase not in answers:
                said = judge(table.of(phase), limits(phase), pairs)
                if isinstance(said, Answer):
                    answers[phase] = said
                elif said > table.rounds:
                    wanted = min(wanted or said, said)
    return {phase: answers[phase] for phase in phases}


def _is_judged(name: str, milliseconds: float) -> bool:
    phase = name.removesuffix(WALL)
    return phase not in _WHOLE and milliseconds >= (_LEAST_MS if phase == name else _LEAST_WALL_MS)


def build_tree(commit: str, cache: Path) -> Path:
    """A commit's package, built once and kept.

    Args:
        commit: Any name that git knows.
        cache: Folder that keeps the builds.

    Raises:
        InputError: Git does not know it, or it does not build.
    """

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise InputError(
                f"git {words[0]}: {done.stderr.strip()}",
                where=commit,
                remedy="name a commit of this checkout",
            )
        return done.stdout.strip()

    full = git("rev-parse", "--verify", f"{commit}^{{commit}}")
    source, built = cache / f"{full[:12]}-source", cache / full[:12]
    if not (built / "cuzk").is_dir():
        if not source.is_dir():
            cache.mkdir(parents=True, exist_ok=True)
            git("worktree", "add", "--detach", "--force", str(source), full)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--target",
                str(built),
                str(source),
            ],
            check=False,
        )
        if done.returncode:
            raise InputError(f"commit {full[:12]} does not build", remedy="its compiler's words are above")
    return built
