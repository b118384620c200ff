"""The process that reads damaged files: it may be killed or die at any case without taking the report along."""

from __future__ import annotations

import contextlib
import functools
import hashlib
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
from tests.corpus.edits import Damage, apply, at_random, systematic
from tests.corpus.readers import ALSO, READERS, fits, is_known
from tests.corpus.samples import Sample, samples

#: Seconds of processor time, of all threads, that one small file may take.
TOO_LONG = 2.0
#: Bytes that reading may take beyond four times the file: of Python and numpy where memory is traced, and of address
#: space, which counts native memory too, touched or not, in every case.
CONSTANT = 4 << 20
_MEASURED = 64  # every so many cases memory is traced, which is slow
_DESCRIBED = 4  # every so many cases the other ways to read this kind get the file, too
_CROSSED = 64  # every so many cases all readers get the file
_LOOKED_UP = 16  # every so many readings the process's address space is looked up
_PAGE = resource.getpagesize()

PROGRESS = struct.Struct("<qd")  # case in hand, when it began


class Plan:
    """Which damage case number i is: the systematic ones evenly, then random ones.

    Args:
        count: Cases in all.
        seed: Of the random ones.
        chosen: Readers to try; all where empty.
    """

    def __init__(self, count: int, seed: int, chosen: Sequence[str]) -> None:
        self.seed, self.count, self.chosen = seed, count, tuple(chosen)

    @functools.cached_property
    def samples(self) -> list[Sample]:
        """The samples of the chosen readers."""
        return [sample for sample in samples() if not self.chosen or sample.reader in self.chosen]

    @functools.cached_property
    def known(self) -> list[tuple[int, Damage]]:
        """(sample, damage) of the systematic cases: all, or evenly chosen ones to three quarters of the count."""
        known = [(i, damage) for i, sample in enumerate(self.samples) for damage in systematic(sample)]
        wanted = min(len(known), self.count * 3 // 4)
        return [known[i * len(known) // wanted] for i in range(wanted)] if wanted else []

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
        self.most_seconds = 0.0
        self.digests: set[bytes] = set()
        self._readings = self._used = 0

    def warm_up(self) -> None:
        """Read every sample with every reader once: imports and tables that stay are not the files' memory."""
        for sample in samples():
            self.path.write_bytes(sample.wrap(sample.data))
            for name in READERS:
                self._read(name, sample)

    def run(self, index: int, sample: Sample, damage: Damage) -> None:
        """One case: its own reader always, the others now and then."""
        data = sample.wrap(apply(sample.data, damage))
        self.path.write_bytes(data)
        self.digests.add(hashlib.blake2b(sample.reader.encode() + data, digest_size=8).digest())
        own = [sample.reader]
        if index % _DESCRIBED == 0:
            own += [name for name in ALSO[sample.reader] if fits(name, sample.curve, sample.circuit)]
        for name in own:
            outcome, found = self._limited(name, sample, data, traced=index % _MEASURED == 0)
            if outcome == "parsed" and not self._holds(name, found, data, sample):
                outcome = "FAILED: parsed to something else"
            if outcome != "parsed" and not damage and is_known(name, sample.reader):
                outcome = f"FAILED: the undamaged file is refused: {outcome}"
            self._note(index, sample, name, outcome)
        if index % _CROSSED == 0:
            for name in READERS:
                if name not in own and fits(name, sample.curve, sample.circuit):
                    self._note(index, sample, f"{name}, any file", self._limited(name, sample, data)[0])

    def _limited(self, name: str, sample: Sample, data: bytes, *, traced: bool = False) -> tuple[str, Any]:
        """What a reader makes of the file; taking more time or memory than allowed is a failure."""
        allowed = 4 * len(data) + CONSTANT
        if traced:
            tracemalloc.start()
        start = time.process_time()
        with _address_space(self._in_use() + allowed):
            outcome, found = self._read(name, sample)
        seconds = time.process_time() - start
        self.most_seconds = max(self.most_seconds, seconds)
        if traced:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.most_bytes = max(self.most_bytes, peak)
            if peak > allowed:
                outcome = f"FAILED: {peak} bytes taken for a file of {len(data)}"
        if seconds > TOO_LONG:
            outcome = f"FAILED: {seconds:.1f} s"
        return outcome, found

    def _in_use(self) -> int:
        """Bytes of address space of this process, looked up now and then: that takes longer than some cases."""
        if self._readings % _LOOKED_UP == 0:
            with Path("/proc/self/statm").open("rb") as file:
                self._used = int(file.read().split()[0]) * _PAGE
        self._readings += 1
        return self._used

    def _read(self, name: str, sample: Sample) -> tuple[str, Any]:
        """What a reader makes of the file: "parsed", a named error, or a failure; and its answer."""
        try:
            return "parsed", READERS[name].read(self.path, sample.curve, sample.circuit)
        except InternalError as error:
            return f"FAILED: {error}", None
        except CuzkError as error:
            return type(error).__name__, None
        except MemoryError:
            return "FAILED: more memory than allowed", None
        except Exception as error:  # noqa: BLE001 - whatever else comes out is what this looks for
            return f"FAILED: {type(error).__name__}: {error}", None

    def _holds(self, name: str, found: Any, data: bytes, sample: Sample) -> bool:
        """Whether an answer is what the bytes say; it is not where the other parser refuses them."""
        try:
            return READERS[name].holds(found, data, sample.curve)
        except Exception:  # noqa: BLE001 - the other parser has errors of its own
            return False

    def _note(self, index: int, sample: Sample, reader: str, outcome: str) -> None:
        if outcome.startswith("FAILED"):
            self.failures.append(
                {"case": index, "sample": sample.name, "reader": reader, "outcome": outcome[:500]}
            )
            outcome = "FAILED"
        self.outcomes[f"{reader}|{sample.curve.name}|{outcome}"] += 1


@contextlib.contextmanager
def _address_space(most: int) -> Iterator[None]:
    """No more address space than so many bytes; allocations beyond it fail at once, used or not."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _in_hand(progress: Path, first: int, count: int) -> Iterator[int]:
    """Case numbers, each written to the progress file before it is yielded."""
    with progress.open("r+b") as file, mmap.mmap(file.fileno(), PROGRESS.size) as shared:
        for index in range(first, count):
            PROGRESS.pack_into(shared, 0, index, time.time())
            yield index


def work(plan: Plan, first: int, last: int, progress: Path, report: Path) -> None:
    """Run cases first .. last - 1 and write the report."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SecurityWarning)
        judge = Judge(Path(folder))
        judge.warm_up()
        for index in _in_hand(progress, first, last):
            judge.run(index, *plan.case(index))
            if index % 2000 == 1999:
                _write(report, judge, plan)
        _write(report, judge, plan)


def _write(report: Path, judge: Judge, plan: Plan) -> None:
    text = {
        "systematic": len(plan.known),
        "outcomes": judge.outcomes,
        "failures": judge.failures,
        "most_bytes": judge.most_bytes,
        "most_seconds": judge.most_seconds,
    }
    report.with_suffix(".digests").write_bytes(b"".join(judge.digests))
    beside = report.with_suffix(".new")
    beside.write_text(json.dumps(text), encoding="utf-8")
    beside.replace(report)
