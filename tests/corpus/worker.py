"""The process that reads damaged files: it may be killed or die at any case without taking the report along."""

from __future__ import annotations

import json
import mmap
import random
import resource
import struct
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cuzk.errors import CuzkError, InternalError, SecurityWarning
from cuzk.formats import describe
from tests.corpus.edits import Damage, apply, at_random, systematic
from tests.corpus.readers import READERS
from tests.corpus.samples import Sample, samples

#: Seconds of processor time that one small file may take.
TOO_LONG = 2.0
#: Bytes that reading may take beyond four times the file.
CONSTANT = 4 << 20
_ADDRESS_SPACE = 512 << 20  # a hard stop, far above what the constant allows
_MEASURED = 16  # every so many cases memory is traced, which is slow
_DESCRIBED = 4  # every so many cases the file is also given to the reader of any kind
_CROSSED = 64  # every so many cases all readers get the file

PROGRESS = struct.Struct("<qd")  # case in hand, when it began


class Plan:
    """Which damage case number i is: the systematic ones evenly, then random ones.

    Args:
        count: Cases in all.
        seed: Of the random ones.
        chosen: Readers to try; all where empty.
    """

    def __init__(self, count: int, seed: int, chosen: Sequence[str]) -> None:
        self.seed, self.count = seed, count
        self.samples = [sample for sample in samples() if not chosen or sample.reader in chosen]
        known: list[tuple[int, Damage]] = [
            (i, damage) for i, sample in enumerate(self.samples) for damage in systematic(sample)
        ]
        wanted = min(len(known), count * 3 // 4)
        self.num_systematic = len(known)
        self.known = [known[i * len(known) // wanted] for i in range(wanted)] if wanted else []

    def case(self, index: int) -> tuple[Sample, Damage]:
        """Sample and damage of one case."""
        if index < len(self.known):
            which, damage = self.known[index]
            return self.samples[which], damage
        rng = random.Random(f"{self.seed}:{index}")
        sample = self.samples[index % len(self.samples)]
        return sample, at_random(sample, rng)


class Judge:
    """Runs cases and counts what came of them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "case"
        self.outcomes: Counter[str] = Counter()
        self.failures: list[dict[str, Any]] = []
        self.most_bytes = 0

    def run(self, index: int, sample: Sample, damage: Damage) -> None:
        """One case: its own reader always, the others now and then."""
        data = sample.wrap(apply(sample.data, damage))
        self.path.write_bytes(data)
        measured = index % _MEASURED == 0
        if measured:
            tracemalloc.start()
        start = time.process_time()
        outcome = self._read(sample.reader, sample, data, intact=not damage)
        seconds = time.process_time() - start
        if measured:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.most_bytes = max(self.most_bytes, peak)
            if peak > 4 * len(data) + CONSTANT:
                outcome = f"FAILED: {peak} bytes taken for a file of {len(data)}"
        if seconds > TOO_LONG:
            outcome = f"FAILED: {seconds:.1f} s"
        self._note(index, sample, sample.reader, outcome)
        if index % _DESCRIBED == 0:
            self._note(index, sample, "describe", self._read("describe", sample, data))
        if index % _CROSSED == 0:
            for name in READERS:
                if name != sample.reader and (name != "params" or sample.circuit is not None):
                    self._note(index, sample, f"{name}, any file", self._read(name, sample, data))

    def _read(self, name: str, sample: Sample, data: bytes, *, intact: bool = False) -> str:
        """What a reader makes of the file: "parsed", a named error, or a failure."""
        try:
            if name == "describe":
                describe(self.path)
                return "parsed"
            found = READERS[name].read(self.path, sample.curve, sample.circuit)
            if name != sample.reader or READERS[name].holds(found, data, sample.curve):
                return "parsed"
            return "FAILED: parsed to something else"
        except InternalError as error:
            return f"FAILED: {error}"
        except CuzkError as error:
            return f"FAILED: the undamaged file is refused: {error}" if intact else type(error).__name__
        except Exception as error:  # noqa: BLE001 - whatever else comes out is what this looks for
            return f"FAILED: {type(error).__name__}: {error}"

    def _note(self, index: int, sample: Sample, reader: str, outcome: str) -> None:
        if outcome.startswith("FAILED"):
            self.failures.append(
                {"case": index, "sample": sample.name, "reader": reader, "outcome": outcome[:500]}
            )
            outcome = "FAILED"
        self.outcomes[f"{reader}|{outcome}"] += 1


def _limit_memory() -> None:
    """Allocations far beyond the allowance fail at once, instead of filling the machine."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmSize:"):
            limit = int(line.split()[1]) * 1024 + _ADDRESS_SPACE
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _in_hand(progress: Path, first: int, count: int) -> Iterator[int]:
    """Case numbers, each written to the progress file before it is yielded."""
    with progress.open("r+b") as file, mmap.mmap(file.fileno(), PROGRESS.size) as shared:
        for index in range(first, count):
            PROGRESS.pack_into(shared, 0, index, time.time())
            yield index


def work(plan: Plan, first: int, progress: Path, report: Path) -> None:
    """Run cases first .. count - 1 and write the report."""
    _limit_memory()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SecurityWarning)
        judge = Judge(Path(folder))
        for index in _in_hand(progress, first, plan.count):
            judge.run(index, *plan.case(index))
            if index % 2000 == 1999:
                _write(report, judge, index + 1, plan)
        _write(report, judge, plan.count, plan)


def _write(report: Path, judge: Judge, done: int, plan: Plan) -> None:
    text = {
        "next": done,
        "systematic": plan.num_systematic,
        "outcomes": judge.outcomes,
        "failures": judge.failures,
        "most_bytes": judge.most_bytes,
    }
    beside = report.with_suffix(".new")
    beside.write_text(json.dumps(text), encoding="utf-8")
    beside.replace(report)
