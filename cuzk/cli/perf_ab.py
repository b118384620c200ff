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
from cuzk.perf.pairs import Answer, PairLimits, abba, decide

__all__ = ["ROOT", "Sampler", "Worker", "build_tree", "judge_phases", "paired_sampler"]

ROOT = Path(__file__).resolve().parents[2]
#: A phase shorter than this, in one proof, is left to operation counts.
_LEAST_MS = 0.5
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


def paired_sampler(
    a: Sampler, b: Sampler, twin: Sampler, proofs: int
) -> Callable[[str, int], list[dict[str, list[float]]]]:
    """Samples of every phase by turns.

    Args:
        a: The baseline's worker.
        b: The other.
        twin: A second worker of the baseline, for A against A.
        proofs: Proofs of a sample.

    Returns:
        (kind, pairs) -> two tables, phase -> samples; kind "AA" or "AB".
    """

    def take(kind: str, pairs: int) -> list[dict[str, list[float]]]:
        sides = {"A": a, "B": twin if kind == "AA" else b}
        tables: dict[str, dict[str, list[float]]] = {"A": {}, "B": {}}
        for side in abba(pairs):
            for phase, took in sides[side].sample(proofs).items():
                tables[side].setdefault(phase, []).append(took)
        return [tables["A"], tables["B"]]

    return take


def judge_phases(
    a: Sampler, b: Sampler, twin: Sampler, limits: PairLimits, pairs: int, *, sample_ms: float = _SAMPLE_MS
) -> dict[str, Answer]:
    """Compare every phase of at least _LEAST_MS.

    All phases of a proof share its samples; a phase that needs more of them takes more proofs.

    Args:
        a: The baseline.
        b: What is judged.
        twin: The baseline once more.
        limits: As in decide().
        pairs: Of each step.
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
    phases = sorted(p for p, took in a.ready.items() if took >= _LEAST_MS and p not in _WHOLE)
    if not phases:
        raise InputError(f"no phase takes {_LEAST_MS} ms", remedy="take a larger workload: --size")
    shortest = min(a.ready[phase] for phase in phases)
    proofs = min(_MOST_PROOFS, max(1, round(sample_ms / shortest)))
    take, cache = paired_sampler(a, b, twin, proofs), {}
    answers = {}
    for phase in phases:
        calls = {"AA": 0, "AB": 0}

        def sample(kind: str, count: int, phase: str = phase, calls: dict[str, int] = calls) -> Any:
            calls[kind] += 1
            key = (kind, count, calls[kind])
            if key not in cache:
                cache[key] = take(kind, count)
            return cache[key][0].get(phase, []), cache[key][1].get(phase, [])

        answers[phase] = decide(sample, limits, pairs)
    return answers


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
