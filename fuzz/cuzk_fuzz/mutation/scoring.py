"""A run over mutants of some headers: sampled, sharded, recorded so that it can go on where it stopped."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzk_fuzz.mutation.operators import Mutant
from cuzk_fuzz.mutation.runner import Runner
from cuzk_fuzz.mutation.score import Score, Verdict

#: Mutants of a header that are looked at in one go.
_PORTION = 400


@dataclass(frozen=True)
class Order:
    """Which mutants a run takes.

    Attributes:
        headers: Names of headers that have a plan.
        operators: Only these kinds; all where empty.
        sample: So many of a seeded order; all, in the order of the lines, where None.
        seed: Of that order.
        shard: (i, n): every n-th of them, from the i-th.
    """

    headers: Sequence[str]
    operators: Sequence[str] = ()
    sample: int | None = None
    seed: int = 0
    shard: tuple[int, int] = (0, 1)

    def choose(self, runner: Runner) -> list[Mutant]:
        """The mutants, and none but these in the runner."""
        runner.mutants = [m for m in runner.mutants if not self.operators or m.operator in self.operators]
        order = runner.mutants if self.sample is None else runner.shuffled(self.seed)[: self.sample]
        return order[self.shard[0] :: self.shard[1]]


class Record:
    """Verdicts in a file of JSON lines; one whose line has changed since is forgotten.

    Args:
        path: The file, made where there is none; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._known: dict[tuple[str, str], dict[str, Any]] = {}
        for entry in map(json.loads, lines):
            self._known[entry["name"], entry["line"]] = entry

    def find(self, mutant: Mutant) -> Verdict | None:
        """What was judged before."""
        entry = self._known.get((mutant.name, mutant.original))
        if entry is None:
            return None
        content = (entry["content"][0], entry["content"][1]) if entry["content"] else None
        return Verdict(mutant, entry["verdict"], entry["how"], content)

    def add(self, verdict: Verdict, seconds: float) -> None:
        """Write one down at once."""
        if self._path is not None:
            entry = {
                "name": verdict.mutant.name, "verdict": verdict.verdict, "how": verdict.how,
                "content": verdict.content, "seconds": round(seconds, 2), "line": verdict.mutant.original,
            }  # fmt: skip
            with self._path.open("a") as file:
                file.write(json.dumps(entry) + "\n")


def score_headers(
    order: Order, *, jobs: int = 1, record: Path | None = None,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> Score:  # fmt: skip
    """Judge the mutants of an order; first many together, then alone those that this does not kill."""
    started = time.monotonic()
    kept = Record(record)
    with tempfile.TemporaryDirectory(prefix="cuzk_mutants_") as folder:
        runner = Runner(order.headers, Path(folder), jobs=jobs)
        chosen = order.choose(runner)
        score = Score(len(runner.mutants))
        fresh: list[Mutant] = []
        for mutant in chosen:
            verdict = kept.find(mutant)
            if verdict is None:
                fresh.append(mutant)
                continue
            if verdict.content is not None:
                runner.know(mutant, verdict.content)
            score.verdicts.append(verdict)
        for verdict, seconds in _judged(runner, fresh):
            kept.add(verdict, seconds)
            score.verdicts.append(verdict)
            score.processor_seconds += seconds
            on_verdict(verdict)
    score.seconds = time.monotonic() - started
    return score


def _judged(runner: Runner, mutants: Sequence[Mutant]) -> Iterator[tuple[Verdict, float]]:
    """Verdicts, and the processor's seconds for each; those of many together are shared out."""
    by_header: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_header.setdefault(mutant.header, []).append(mutant)
    rest: list[tuple[Mutant, float]] = []
    for many in by_header.values():  # the cheap look at all of them before anything dear
        for portion in (many[i : i + _PORTION] for i in range(0, len(many), _PORTION)):
            spent = sum(os.times()[:4])
            killed = {verdict.mutant: verdict for verdict in runner.screen(portion)}
            each = (sum(os.times()[:4]) - spent) / len(portion)
            yield from ((verdict, each) for verdict in killed.values())
            rest += [(mutant, each) for mutant in portion if mutant not in killed]
    spent = sum(os.times()[:4])
    for (_, each), verdict in zip(rest, runner.run([mutant for mutant, _ in rest]), strict=True):
        now = sum(os.times()[:4])
        yield verdict, each + now - spent
        spent = now
