"""Campaigns of many processes: started, watched, replaced when a batch takes them along, and told of as they run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cuzk_fuzz.engine import Result
from cuzk_fuzz.findings import Finding
from cuzk_fuzz.isolate import ending, environment, recover
from cuzk_fuzz.native_coverage import preload
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.worker import Settings, read_status

#: Seconds between two looks at the workers.
_TICK = 0.25
#: Crashes after which a worker is not started again: by then the findings say what is wrong.
_MOST_RESTARTS = 8


class WorkerError(RuntimeError):
    """A worker ended and left no batch that could have been the reason; its last words are in the message."""


@dataclass
class Member:
    """One worker.

    Attributes:
        settings: What it does.
        process: The process that runs now, or None.
        restarts: Processes that ended before their time.
        crashes: What they left.
    """

    settings: Settings
    process: subprocess.Popen[bytes] | None = None
    restarts: int = 0
    crashes: list[Finding] = field(default_factory=list)

    @property
    def result(self) -> Result | None:
        """What it came to so far, the crashes of its processes included."""
        status = read_status(self.settings.status)
        if status is None:
            return None
        result = Result.from_json(status["result"])
        known = {finding.bucket for finding in result.findings}
        result.findings += [finding for finding in self.crashes if finding.bucket not in known]
        return result

    def start(self) -> None:
        """Begin, or go on where the status says."""
        self.settings.save()
        module = "cuzk_fuzz.engine_atheris" if self.settings.engine == "atheris" else "cuzk_fuzz.worker"
        errors = self.settings.config.with_suffix(".log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, str(self.settings.config)],
            env=environment() | preload(self.settings.opener), stderr=errors, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        errors.close()

    def look(self) -> bool:
        """Whether it still runs; a process that died is replaced once its batch is cut down to the case."""
        if self.process is None:
            return False
        code = self.process.poll()
        if code is None:
            return True
        self.process = None
        if code == 0:
            return False
        words = self.settings.config.with_suffix(".log").read_text(errors="replace")
        found = recover(self.settings, code, words)
        if found is None:
            raise WorkerError(f"worker {self.settings.name}: {ending(code)}\n{words[-2000:]}")
        finding, number = found
        self.crashes.append(finding)
        finding.save(Path(self.settings.findings))
        self._skip(number)
        self.restarts += 1
        buckets = {crash.bucket for crash in self.crashes}
        if self.restarts < _MOST_RESTARTS and len(buckets) < self.settings.most_findings:
            self.start()
            return True
        return False

    def _skip(self, number: int) -> None:
        """Let the next process begin behind the batch that ended this one."""
        status = read_status(self.settings.status)
        assert status is not None
        status["result"]["batches"] = max(status["result"]["batches"], number + 1)
        self.settings.status.write_text(json.dumps(status))


def plan(targets: Sequence[str], base: Settings, workers: int, *, share: bool = True) -> list[Settings]:
    """Workers for every target, each with a seed of its own.

    Args:
        targets: Names.
        base: Settings that all share; its budget of cases is for a target's workers together.
        workers: Processes a target.
        share: Whether targets have a corpus folder each below the base's.
    """
    device = base.device.replace(":", "_")
    found = []
    for name in targets:
        uses = TARGETS[name].needs_device
        for number in range(workers):
            cases = None if base.cases is None else -(-base.cases // workers)
            corpus = base.corpus
            if corpus is not None and share:
                corpus = str(Path(corpus, f"{name}-{device if uses else 'cpu'}"))
            found.append(replace(
                base, name=f"{name}-{device}-{number}", target=name, seed=base.seed + 10_000 * number, cases=cases,
                device=base.device if uses else "cpu", corpus=corpus,
            ))  # fmt: skip
    return found


def merged(results: Iterable[Result]) -> list[Result]:
    """One result a target and device: counts added up, one finding a bucket, the simplest."""
    together: dict[tuple[str, str], Result] = {}
    for result in results:
        key = (result.target, result.device)
        if key not in together:
            together[key] = Result(result.target, result.device, result.seed, result.engine)
        total = together[key]
        for name in ("batches", "cases", "compared", "processor_seconds", "corpus_new"):
            setattr(total, name, getattr(total, name) + getattr(result, name))
        total.seconds += result.seconds
        total.hits += result.hits
        total.findings = simplest([*total.findings, *result.findings])
    return list(together.values())


def simplest(findings: Iterable[Finding]) -> list[Finding]:
    """One finding a bucket: that of fewest cases and smallest size."""
    best: dict[str, Finding] = {}
    for finding in findings:
        batch, old = finding.batch, best.get(finding.bucket)
        if old is None or (batch.num_cases, batch.size) < (old.batch.num_cases, old.batch.size):
            best[finding.bucket] = finding
    return [best[bucket] for bucket in sorted(best)]


class Fleet:
    """All workers of a campaign.

    Args:
        settings: One a worker.
        at_once: Processes at a time.
        status: File that tells, as JSON, how far the campaign is; or None.
        progress: Called about once a second with the same.
    """

    def __init__(
        self,
        settings: Sequence[Settings],
        at_once: int,
        status: Path | None = None,
        progress: Callable[[dict[str, Any]], None] = lambda state: None,
    ) -> None:
        self._members = [Member(one) for one in settings]
        self._at_once, self._status, self._progress = at_once, status, progress
        self._started = time.monotonic()

    def run(self) -> list[Result]:
        """Run every worker to its end; Ctrl-C lets them finish their batches, and the results so far are returned."""
        waiting = list(self._members)
        running: list[Member] = []
        told = 0.0
        try:
            while waiting or running:
                while waiting and len(running) < self._at_once:
                    member = waiting.pop(0)
                    member.start()
                    running.append(member)
                running = [member for member in running if member.look()]
                if time.monotonic() - told >= 1.0:
                    told = time.monotonic()
                    self._tell("running")
                time.sleep(_TICK)
        except KeyboardInterrupt:
            self.stop()
        except BaseException:
            self.stop()
            raise
        self._tell("done")
        return self.results

    def stop(self) -> None:
        """End every process after its batch."""
        for member in self._members:
            if member.process is not None:
                member.process.terminate()
        for member in self._members:
            if member.process is not None:
                try:
                    member.process.wait(30)
                except subprocess.TimeoutExpired:
                    member.process.kill()

    @property
    def results(self) -> list[Result]:
        """One a worker that has told anything."""
        return [result for member in self._members if (result := member.result) is not None]

    def state(self, word: str) -> dict[str, Any]:
        """How far the campaign is, for people and for machines."""
        workers: list[dict[str, Any]] = []
        hits: Counter[str] = Counter()
        for member in self._members:
            result = member.result
            if result is None:
                continue
            pid = None if member.process is None else member.process.pid
            hits += Counter({f"{result.target}/{edge_id}": count for edge_id, count in result.hits.items()})
            workers.append({
                "name": member.settings.name, "target": result.target, "device": result.device, "pid": pid,
                "batches": result.batches, "cases": result.cases, "cases_per_second": round(result.rate, 1),
                "restarts": member.restarts, "findings": [finding.bucket for finding in result.findings],
            })  # fmt: skip
        targets = {member.settings.target for member in self._members}
        return {
            "state": word, "seconds": round(time.monotonic() - self._started, 1), "workers": workers,
            "cases": sum(worker["cases"] for worker in workers),
            "findings": sorted({bucket for worker in workers for bucket in worker["findings"]}),
            "classes_missing": {
                name: sorted(i for i in TARGETS[name].required if not hits[f"{name}/{i}"]) for name in sorted(targets)
            },
        }  # fmt: skip

    def _tell(self, word: str) -> None:
        state = self.state(word)
        if self._status is not None:
            beside = self._status.with_suffix(".part")
            beside.write_text(json.dumps(state, indent=1) + "\n")
            beside.replace(self._status)
        self._progress(state)
