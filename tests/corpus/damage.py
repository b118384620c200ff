"""Damage small valid files systematically and at random, and check how every reader takes it.

::

    python -m tests.corpus.damage --cases 100000 --seed 1
    python -m tests.corpus.damage --cases 20000 --readers zkey params

A reader may answer with an error of cuzk.errors, or with what the bytes say (compared with another parser or with the
writer).  Anything else is a failure: another exception, a dead or hanging process, more memory than four times the
file and a constant.  Prints how many cases of each reader ended how; the exit code is 1 after a failure.
"""

from __future__ import annotations

import argparse
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

from tests.corpus.worker import PROGRESS, Plan, work

ROOT = Path(__file__).resolve().parents[2]
#: Seconds without progress after which a process counts as hanging; a machine that others use stalls at times.
_STALLED = 60.0
#: A run ends after so many.
_MOST_FAILURES = 20


@dataclass
class Report:
    """What a run found.

    Args:
        cases: Cases that ran.
        systematic: Systematic cases that there are.
        outcomes: READER|OUTCOME -> how often.
        failures: Each with its case number, sample and outcome.
        seconds: Wall time.
        most_bytes: Largest memory of the cases that were measured.
    """

    cases: int = 0
    systematic: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    most_bytes: int = 0

    def lines(self) -> list[str]:
        """The report as text."""
        rows = [
            f"{count:>9}  {' -> '.join(name.split('|'))}" for name, count in sorted(self.outcomes.items())
        ]
        rows += [f"FAILED {failure}" for failure in self.failures[:50]]
        rate = self.cases / max(self.seconds, 1e-9)
        rows.append(f"at most {self.most_bytes / 2**20:.2f} MiB taken by a case that was measured")
        rows.append(
            f"{self.cases} damaged files ({self.systematic} systematic ones exist) in {self.seconds:.1f} s, "
            f"{rate:.0f} a second: {len(self.failures)} failures"
        )
        return rows


def run(cases: int, seed: int = 0, readers: tuple[str, ...] = ()) -> Report:
    """Run cases in a process of their own, starting another after one that died.

    Args:
        cases: How many.
        seed: Of the random ones.
        readers: Only these; all where empty.
    """
    report, first, at, died, start = Report(), 0, 0, "", time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        while first < cases:
            progress, part = folder / "progress", folder / f"report{first}"
            progress.write_bytes(PROGRESS.pack(first, time.time()))
            died = _run_part(cases, seed, readers, first, progress, part)
            found = json.loads(part.read_text(encoding="utf-8")) if part.exists() else {}
            report.systematic = found.get("systematic", report.systematic)
            report.outcomes.update(found.get("outcomes", {}))
            report.failures += found.get("failures", [])
            report.most_bytes = max(report.most_bytes, found.get("most_bytes", 0))
            at = cases
            if died:
                at = PROGRESS.unpack(progress.read_bytes())[0]
                report.failures.append({"case": at, "outcome": died})
            if not died or len(report.failures) >= _MOST_FAILURES:
                break
            first = at + 1
    report.cases, report.seconds = at if died else cases, time.perf_counter() - start
    return report


def _run_part(cases: int, seed: int, readers: tuple[str, ...], first: int, progress: Path, part: Path) -> str:
    """Start a worker and wait; what it died of, or the empty string."""
    words = [sys.executable, "-m", "tests.corpus.damage", "--worker", str(first), str(progress), str(part)]
    words += ["--cases", str(cases), "--seed", str(seed), *(["--readers", *readers] if readers else [])]
    paths = os.pathsep.join([str(ROOT), *(entry for entry in sys.path if entry)])
    with part.with_suffix(".err").open("w+b") as errors:
        worker = subprocess.Popen(words, cwd=ROOT, env=os.environ | {"PYTHONPATH": paths}, stderr=errors)
        stalled = not _ends(worker, progress)
        errors.seek(0)
        message = errors.read().decode(errors="replace")[-300:]
    if stalled:
        return f"no progress for {_STALLED:.0f} s"
    return "" if worker.returncode == 0 else f"the process ended with {worker.returncode}: {message}"


def _ends(worker: subprocess.Popen[bytes], progress: Path) -> bool:
    """Wait for a worker; one that does not get on is killed."""
    while True:
        try:
            worker.wait(timeout=0.5)
            return True
        except subprocess.TimeoutExpired:
            if time.time() - PROGRESS.unpack(progress.read_bytes())[1] > _STALLED:
                worker.kill()
                worker.wait()
                return False


def main(words: list[str] | None = None) -> int:
    """Command line; 1 if a case failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.corpus.damage", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--cases", type=int, default=20_000, metavar="N", help="damaged files to read")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the random damage")
    parser.add_argument("--readers", nargs="+", default=[], metavar="READER", help="only these kinds of file")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.worker:
        first, progress, part = options.worker
        work(Plan(options.cases, options.seed, options.readers), int(first), Path(progress), Path(part))
        return 0
    report = run(options.cases, options.seed, tuple(options.readers))
    print("\n".join(report.lines()))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
