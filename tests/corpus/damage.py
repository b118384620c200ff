"""Damage small valid files systematically and at random, and check how every reader takes it.

::

    python -m tests.corpus.damage --cases 100000 --seed 1
    python -m tests.corpus.damage --cases 20000 --readers zkey params
    python -m tests.corpus.damage --cases 1000000 --part 3/20 --json part3.json
    python -m tests.corpus.damage --merge part*.json

A reader may answer with an error of cuzk.errors, or with what the bytes say (compared with another parser or with the
writer).  Anything else is a failure: another exception, a dead or hanging process, more memory than four times the
file and a constant.  Prints how many cases of each reader ended how; the exit code is 1 after a failure.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.corpus.worker import CONSTANT, PROGRESS, TOO_LONG, Plan, work

ROOT = Path(__file__).resolve().parents[2]
#: Seconds of processor time on one case after which a process is ended as hanging, and of waiting: others may have
#: the processors meanwhile.
_BUSY, _ASLEEP = 20.0, 900.0
#: A run ends after so many.
_MOST_FAILURES = 20


@dataclass
class Report:
    """What a run found.

    Args:
        cases: Cases that ran.
        systematic: How many of the numbering are systematic.
        outcomes: READER|CURVE|OUTCOME -> how often.
        failures: Each with its case number, sample and outcome.
        seconds: Wall time.
        most_bytes: Largest memory of the cases that were traced.
        most_seconds: Most processor time that one reading took.
        digests: Of the files, so that equal ones are counted once.
    """

    cases: int = 0
    systematic: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    most_bytes: int = 0
    most_seconds: float = 0.0
    digests: set[bytes] = field(default_factory=set)

    def by_reader(self) -> dict[tuple[str, str], dict[str, int]]:
        """(reader, curve) -> outcome -> how often."""
        found: dict[tuple[str, str], dict[str, int]] = {}
        for name, count in sorted(self.outcomes.items()):
            reader, curve, outcome = name.split("|")
            found.setdefault((reader, curve), {})[outcome] = count
        return found

    def lines(self) -> list[str]:
        """The report as text: each reader and curve, failures, sums."""
        rows = [
            f"{sum(counts.values()):>9}  {reader} on {curve}: "
            + ", ".join(f"{outcome} {count}" for outcome, count in counts.items())
            for (reader, curve), counts in self.by_reader().items()
        ]
        rows += [f"FAILED {failure}" for failure in self.failures[:50]]
        rate = self.cases / max(self.seconds, 1e-9)
        rows.append(
            f"one file took at most {self.most_seconds:.2f} s of processor time "
            f"(limit {TOO_LONG} s) and {self.most_bytes / 2**20:.2f} MiB where memory was traced "
            f"(limit 4 times the file + {CONSTANT >> 20} MiB, also of address space in every case)"
        )
        rows.append(
            f"{self.cases} damaged files, {len(self.digests)} of them different, {self.systematic} systematic, "
            f"{sum(self.outcomes.values())} readings in {self.seconds:.1f} s, {rate:.0f} files a second: "
            f"{len(self.failures)} failures"
        )
        return rows

    def save(self, path: Path) -> None:
        """Write the report, and the digests beside it."""
        text = dataclasses.asdict(self) | {"outcomes": dict(self.outcomes), "digests": len(self.digests)}
        path.write_text(json.dumps(text, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        path.with_suffix(".digests").write_bytes(b"".join(self.digests))

    def add(self, path: Path) -> None:
        """Add what ``save`` or a worker wrote."""
        found = json.loads(path.read_text(encoding="utf-8"))
        self.cases += found.get("cases", 0)
        self.seconds += found.get("seconds", 0.0)
        self.systematic = max(self.systematic, found["systematic"])
        self.outcomes.update(found["outcomes"])
        self.failures += found["failures"]
        self.most_bytes = max(self.most_bytes, found["most_bytes"])
        self.most_seconds = max(self.most_seconds, found["most_seconds"])
        digests = path.with_suffix(".digests").read_bytes()
        self.digests.update(digests[i : i + 8] for i in range(0, len(digests), 8))


def run(cases: int, seed: int = 0, readers: tuple[str, ...] = (), part: tuple[int, int] = (1, 1)) -> Report:
    """Run cases in a process of their own, starting another after one that died.

    Args:
        cases: How many the numbering has.
        seed: Of the random ones.
        readers: Only these; all where empty.
        part: (I, N): of N equal parts of the numbering only the I-th, from 1.
    """
    start, stop = (cases * i // part[1] for i in (part[0] - 1, part[0]))
    report, first, begun = Report(), start, time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while first < stop:
            progress, partial = folder / "progress", folder / f"report{first}.json"
            progress.write_bytes(PROGRESS.pack(first, time.time()))
            died = _run_part(Plan(cases, seed, readers), (first, stop), progress, partial)
            if partial.exists():
                report.add(partial)
            first = stop
            if died:
                at = PROGRESS.unpack(progress.read_bytes())[0]
                report.failures.append({"case": at, "outcome": died})
                first = at + 1
            if len(report.failures) >= _MOST_FAILURES:
                break
    report.cases, report.seconds = first - start, time.perf_counter() - begun
    return report


def _run_part(plan: Plan, span: tuple[int, int], progress: Path, report: Path) -> str:
    """Start a worker for a span of cases and wait; what it died of, or the empty string."""
    words = [
        sys.executable,
        "-m",
        "tests.corpus.damage",
        "--worker",
        *map(str, span),
        str(progress),
        str(report),
    ]
    words += ["--cases", str(plan.count), "--seed", str(plan.seed)]
    words += ["--readers", *plan.chosen] if plan.chosen else []
    paths = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    # One heap: another that a thread opens takes 64 MiB of address space, whenever threads happen to meet.
    environment = os.environ | {"PYTHONPATH": paths, "MALLOC_ARENA_MAX": "1"}
    with report.with_suffix(".err").open("w+b") as errors:
        worker = subprocess.Popen(words, cwd=ROOT, env=environment, stderr=errors)
        stalled = not _ends(worker, progress)
        errors.seek(0)
        message = errors.read().decode(errors="replace")[-300:]
    if stalled:
        return f"no progress in {_BUSY:.0f} s of processor time, or {_ASLEEP:.0f} s"
    return "" if worker.returncode == 0 else f"the process ended with {worker.returncode}: {message}"


def _ends(worker: subprocess.Popen[bytes], progress: Path) -> bool:
    """Wait for a worker; one that does not get on is killed."""
    case, busy_before = -1, 0.0
    while True:
        try:
            worker.wait(timeout=0.5)
            return True
        except subprocess.TimeoutExpired:
            now, since = PROGRESS.unpack(progress.read_bytes())
            busy = _processor_seconds(worker.pid)
            if now != case:
                case, busy_before = now, busy
            elif busy - busy_before > _BUSY or time.time() - since > _ASLEEP:
                worker.kill()
                worker.wait()
                return False


def _processor_seconds(pid: int) -> float:
    """Processor time of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(words: list[str] | None = None) -> int:
    """Command line; 1 if a case failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.corpus.damage", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--cases", type=int, default=20_000, metavar="N", help="damaged files to read")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the random damage")
    parser.add_argument("--readers", nargs="+", default=[], metavar="READER", help="only these kinds of file")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="only the I-th of N parts of the cases")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report, too")
    parser.add_argument(
        "--merge", type=Path, nargs="+", metavar="FILE", help="run nothing, add such reports up"
    )
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.worker:
        first, last, progress, report = options.worker
        plan = Plan(options.cases, options.seed, options.readers)
        work(plan, int(first), int(last), Path(progress), Path(report))
        return 0
    if options.merge:
        total = Report()
        for path in options.merge:
            total.add(path)
    else:
        part, parts = map(int, options.part.split("/"))
        total = run(options.cases, options.seed, tuple(options.readers), (part, parts))
    if options.json:
        total.save(options.json)
    print("\n".join(total.lines()))
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
