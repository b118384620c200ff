"""A campaign: batch after batch from seeded choices, each on the device and through the oracle, until a budget ends."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from cuzk.errors import CuzkError
from cuzk_fuzz.batch import Batch, Rows, Scope, mismatches
from cuzk_fuzz.choices import Choices, Guided
from cuzk_fuzz.devices import DeviceChoice, Opener, open_choice, rotation
from cuzk_fuzz.findings import Finding, run_case
from cuzk_fuzz.registry import Target


class BlindHarnessError(Exception):
    """The comparison did not see a difference that was put there."""


@dataclass(frozen=True)
class Budget:
    """When a campaign ends: after so many seconds or cases, whichever comes first; None is no limit."""

    seconds: float | None = None
    cases: int | None = None

    def is_spent(self, started: float, cases: int) -> bool:
        """Whether it is over."""
        late = self.seconds is not None and time.monotonic() - started >= self.seconds
        return late or (self.cases is not None and cases >= self.cases)


@dataclass
class Result:
    """What a campaign came to.

    Attributes:
        target, device, engine, seed: What ran.
        batches, cases: How much.
        seconds: How long, without the opening of the device.
        hits: Hits per edge class.
        findings: One per bucket.
    """

    target: str
    device: str
    seed: int
    engine: str = "generator"
    batches: int = 0
    cases: int = 0
    seconds: float = 0.0
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
            data["seconds"], Counter(data["hits"]), [Finding.from_json(one) for one in data["findings"]],
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """As --json writes it."""
        return {
            "target": self.target, "device": self.device, "engine": self.engine, "seed": self.seed,
            "batches": self.batches, "cases": self.cases, "seconds": round(self.seconds, 3),
            "cases_per_second": round(self.rate, 1), "hits": dict(sorted(self.hits.items())),
            "findings": [finding.to_json() for finding in self.findings],
        }  # fmt: skip


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
    ) -> None:
        self.target, self.opener, self.most_findings, self.pending = target, opener, most_findings, pending
        self.choices = rotation(spec, seed)
        self.result = Result(target.name, spec, seed)
        self._buckets: set[str] = set()
        self._scope = Scope.of(opener(self.choices[0]))

    @property
    def is_over(self) -> bool:
        """Whether enough was found."""
        return len(self.result.findings) >= self.most_findings

    def guided(self) -> bytes:
        """Run the next batch of the seeded generator; return its bytes."""
        result = self.result
        source = Guided(f"{result.seed}/{self.target.name}/{result.batches}", result.hits)
        self.run_choices(source)
        return source.record

    def run_bytes(self, data: bytes) -> None:
        """Run the batch that bytes decode to."""
        self.run_choices(Choices(data))

    def run_choices(self, choices: Choices) -> None:
        """Decode a batch, run it, compare it, count its classes."""
        started = time.monotonic()
        batch = self.target.decode(choices, self._scope)
        where = self.choices[self.result.batches % len(self.choices)]
        if self.pending is not None and isinstance(choices, Guided):
            self.pending.write_bytes(choices.record)
        self._run(batch, where)
        self.result.batches += 1
        self.result.cases += batch.num_cases
        self.result.hits += batch.classes()
        self.result.seconds += time.monotonic() - started

    def _run(self, batch: Batch, where: DeviceChoice) -> None:
        expected, device = batch.expected(), self.opener(where)
        try:
            answers = batch.answers(device)
            if self.result.batches % 64 == 0:
                prove_comparison(answers)
            bad = mismatches(answers, expected)
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


def run_campaign(
    campaign: Campaign, budget: Budget, *, on_batch: Callable[[Result, bytes], None] | None = None
) -> Result:
    """Run a campaign's generator until its budget is spent or it is over."""
    started = time.monotonic()
    while not campaign.is_over and not budget.is_spent(started, campaign.result.cases):
        record = campaign.guided()
        if on_batch is not None:
            on_batch(campaign.result, record)
    return campaign.result


def run_corpus(campaign: Campaign, folder: Path) -> int:
    """Run every file of a corpus folder; return how many there were."""
    files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
    for path in files:
        if campaign.is_over:
            break
        campaign.run_bytes(path.read_bytes())
    return len(files)


def save_to_corpus(folder: Path, data: bytes) -> None:
    """Keep a batch's bytes under their hash."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
