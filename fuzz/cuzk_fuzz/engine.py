"""A campaign: batch after batch from seeded choices, each on the device and through the oracle, until a budget ends."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from cuzk.errors import CuzkError, LaunchError
from cuzk_fuzz.batch import Batch, Rows, Scope, mismatches
from cuzk_fuzz.choices import Choices, Guided
from cuzk_fuzz.devices import DeviceChoice, Opener, open_choice, rotation
from cuzk_fuzz.findings import Finding, run_case
from cuzk_fuzz.registry import Target


class BlindHarnessError(Exception):
    """The comparison did not see a difference that was put there, or nothing was compared at all."""


class DeviceLostError(Exception):
    """The device does not work any more in this process; the batch that was running is still pending."""


@dataclass(frozen=True)
class Budget:
    """When a campaign ends: after so many seconds or cases, whichever comes first; None is no limit.

    Attributes:
        seconds, cases: The limits.
        of_processor: Whether the seconds are those of the processor: on a busy machine they give the same work.
    """

    seconds: float | None = None
    cases: int | None = None
    of_processor: bool = False

    def clock(self) -> float:
        """Now, as is_spent() wants its start."""
        return time.process_time() if self.of_processor else time.monotonic()

    def is_spent(self, started: float, cases: int) -> bool:
        """Whether it is over."""
        late = self.seconds is not None and self.clock() - started >= self.seconds
        return late or (self.cases is not None and cases >= self.cases)


@dataclass
class Result:
    """What a campaign came to.

    Attributes:
        target, device, engine, seed: What ran.
        batches, cases: How much.
        compared: Rows that were compared with an oracle's, or whose refusal was; 0 makes a campaign fail.
        seconds: How long, without the opening of the device.
        processor_seconds: The same in processor time, all threads together.
        corpus_new: Batches that went to the corpus.
        hits: Hits per edge class.
        findings: One per bucket.
    """

    target: str
    device: str
    seed: int
    engine: str = "generator"
    batches: int = 0
    cases: int = 0
    compared: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    corpus_new: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Cases a second."""
        return self.cases / self.seconds if self.seconds else 0.0

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        return cls(
            data["target"], data["device"], data["seed"], data["engine"], data["batches"], data["cases"],
            data["compared"], data["seconds"], data["processor_seconds"], data["corpus_new"],
            Counter(data["hits"]), [Finding.from_json(one) for one in data["findings"]],
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As --json writes it."""
        return {
            "target": self.target, "device": self.device, "engine": self.engine, "seed": self.seed,
            "batches": self.batches, "cases": self.cases, "compared": self.compared,
            "seconds": round(self.seconds, 3), "processor_seconds": round(self.processor_seconds, 3),
            "corpus_new": self.corpus_new, "cases_per_second": round(self.rate, 1),
            "hits": dict(sorted(self.hits.items())),
            "findings": [finding.to_json() for finding in self.findings],
        }  # fmt: skip


def demand_comparisons(results: Sequence[Result]) -> None:
    """See to it that every campaign compared something on its device.

    Raises:
        BlindHarnessError: One ran batches and compared nothing, or did not run at all.
    """
    for result in results:
        if not result.compared and not result.findings:
            raise BlindHarnessError(
                f"{result.target} on {result.device}: {result.batches} batches, and nothing was compared with an oracle"
            )


def prove_comparison(answers: Rows) -> None:
    """Flip one bit of the last answer and look whether the comparison sees it, and only it.

    Raises:
        BlindHarnessError: It does not.
    """
    if answers.size == 0:
        return
    spoiled = answers.copy()
    spoiled[-1, -1] ^= np.uint64(1)
    if mismatches(spoiled, answers) != [len(answers) - 1] or mismatches(answers, answers):
        raise BlindHarnessError("a flipped bit in the answers goes unnoticed: the comparison is broken")


class Campaign:
    """One target on one kind of device.

    Args:
        target: What to run.
        spec: Device: "cpu", "emu", "cuda" or "cuda:N".
        seed: Of choices and schedules.
        opener: Opens devices.
        most_findings: Buckets after which to stop.
        pending: Where to keep the batch that is running, for the case that it takes the process with it.
        log_large: log2 of the longest inputs of checks that are exact at any size; by the device where None.
        heavy: Whether settings that cost seconds a case may be drawn.
    """

    def __init__(
        self,
        target: Target,
        spec: str,
        *,
        seed: int = 0,
        opener: Opener = open_choice,
        most_findings: int = 1,
        pending: Path | None = None,
        log_large: int | None = None,
        heavy: bool = False,
    ) -> None:
        self.target, self.opener, self.most_findings, self.pending = target, opener, most_findings, pending
        self.choices = rotation(spec, seed)
        self.result = Result(target.name, spec, seed)
        self._buckets: set[str] = set()
        device = opener(self.choices[0])
        self.build_key = device.build_key
        self.scope = Scope.of(device, log_large=log_large, heavy=heavy)
        self._features: set[tuple[str, str, str]] = set()

    @property
    def is_over(self) -> bool:
        """Whether enough was found."""
        return len(self.result.findings) >= self.most_findings

    def resume(self, result: Result) -> None:
        """Go on where an earlier run of the same campaign stopped."""
        self.result = result
        self._buckets = {finding.bucket for finding in result.findings}

    def decode(self, data: bytes) -> Batch:
        """The batch that bytes stand for here."""
        return self.target.decode(Choices(data), self.scope)

    def guided(self) -> tuple[bytes, bool]:
        """Run the next batch of the seeded generator; return its bytes, and whether it was of a new kind."""
        result = self.result
        with self._timed():
            source = Guided(f"{result.seed}/{self.target.name}/{result.batches}", result.hits)
            batch = self.target.decode(source, self.scope)
            return source.record, self._run_batch(batch, source.record)

    def run_bytes(self, data: bytes) -> bool:
        """Run the batch that bytes decode to; return whether it was of a new kind."""
        with self._timed():
            return self._run_batch(self.decode(data), data)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started, used = time.monotonic(), time.process_time()
        yield
        self.result.seconds += time.monotonic() - started
        self.result.processor_seconds += time.process_time() - used

    def _run_batch(self, batch: Batch, data: bytes) -> bool:
        """Run a batch, compare it, count its classes."""
        result = self.result
        where = self.choices[result.batches % len(self.choices)]
        if self.pending is not None:
            note = {"batch": result.batches, "device": where.to_json(), "bytes": data.hex()}
            self.pending.write_text(json.dumps(note))
        self._run(batch, where)
        hits = batch.classes()
        result.batches += 1
        result.cases += batch.num_cases
        result.hits += hits
        features = {(batch.subject, batch.op, edge_id) for edge_id in hits}
        is_new = not features <= self._features
        self._features |= features
        return is_new

    def _run(self, batch: Batch, where: DeviceChoice) -> None:
        expected, device = batch.expected(), self.opener(where)
        try:
            answers = batch.answers(device)
            if self.result.batches % 64 == 0:
                prove_comparison(answers)
            bad = mismatches(answers, expected)
            self.result.compared += len(answers)
        except LaunchError as error:
            if self.pending is not None:  # somebody watches this process and goes on in a fresh one
                raise DeviceLostError(str(error)) from error
            bad = list(range(batch.num_cases))
        except (CuzkError, ValueError, RuntimeError):
            bad = list(range(batch.num_cases))  # which case it was shows when each runs alone
        for one in self._culprits(batch, bad):
            outcome = run_case(one, device)
            if outcome.agrees:
                continue
            origin = {"engine": self.result.engine, "seed": self.result.seed, "batch": self.result.batches}
            finding = Finding(one, where, device.build_key, outcome, origin)
            if finding.bucket not in self._buckets:
                self._buckets.add(finding.bucket)
                self.result.findings.append(finding)
            break

    @staticmethod
    def _culprits(batch: Batch, bad: list[int]) -> Iterator[Batch]:
        """Wrong cases alone; and the whole batch, for what only goes wrong in company."""
        for index in bad[:16]:
            yield batch.one(index)
        if bad:
            yield batch


def run_campaign(campaign: Campaign, budget: Budget) -> Result:
    """Run a campaign's generator until its budget is spent or it is over."""
    started = budget.clock()
    while not campaign.is_over and not budget.is_spent(started, campaign.result.cases):
        campaign.guided()
    return campaign.result
