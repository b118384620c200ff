"""The case study's tables in one command: indexer, pinning, batch, every variant, and the waterfall of a batch.

python -m tests.ab.study [--device cpu|cuda] [--parts indexer,pinning,batch,all,waterfall] [--circuit W] [--circuits 3]
    [--pairs 6] [--json FILE] [--budget-s S]

The batch is several circuits of one shape, each with values of its own. On the cpu it is SHA-256's compression,
like nearly all rows of a PoRep; on a GPU generated rows, half bits. Processor time on the cpu, where other programs
then do not count; wall-clock time on a GPU. Every comparison looks at the bits first. A row is
written as it is done, and a later call with the same file and sources goes on where this one stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.ab import LocalRunner, Setting, Workload, first_difference, measure, open_workload
from cuzk.ab.campaign import Campaign, Candidate, candidates
from cuzk.ab.forms import with_common_forms
from cuzk.ab.runner import open_named
from cuzk.ab.timing import LEAST_PAIRS
from cuzk.device import get_device
from cuzk.groth16 import Prover
from cuzk.telemetry import Recorder
from cuzk.telemetry.waterfall import build_waterfall
from cuzk.telemetry.waterfall_text import waterfall_text
from cuzk.variants import VARIANTS
from tests.device.results import Results, tree_digest

PARTS = ("indexer", "pinning", "batch", "waterfall", "all")
#: What is proved by default, and by which clock.
WORKLOADS = {"cpu": "sha256:compression", "cuda": "mixed:2^18"}
CLOCKS = {"cpu": "cpu", "cuda": "wall"}
#: The two sides of each comparison of a part; what a device does not have is left out with the reason.
COMPARED = {
    "pinning": [
        ("B1=resident", "B1=pageable"), ("B1=pageable", "B1=register"), ("B1=pageable", "B1=pool"),
    ],
    "batch": [
        ("C1=1", "C1=fit"), ("A4=pippenger", "A4=par_map"), ("A4=gpu", "A4=par_map"), ("D5=shared", "D5=per_query"),
    ],
}  # fmt: skip
#: Circuit of the indexer's table, and rounds of its settings.
INDEXER, ROUNDS = "sha256:compression", 10


class Study:
    """One run of the command.

    Args:
        options: Of the command line.
        results: Where rows go; those that are there are not made again.
    """

    def __init__(self, options: argparse.Namespace, results: Results) -> None:
        self.options, self.results = options, results
        self.end = time.monotonic() + options.budget_s
        self.kind = options.device.partition(":")[0]
        self._workload: Workload | None = None

    @property
    def workload(self) -> Workload:
        """The batch; made when the first part wants it."""
        if self._workload is None:
            on = get_device(self.options.device).reference
            self._workload = open_workload(self.options.circuit, on, circuits=self.options.circuits)
        return self._workload

    def run(self) -> bool:
        """Everything that was asked for and is not there yet; False where time ran out."""
        done = {(row["part"], row["name"]) for row in self.results.data["rows"]}
        for part in self.options.parts:
            for name, make in self._steps(part):
                if (part, name) in done:
                    continue
                if time.monotonic() > self.end:
                    return False
                row = {"part": part, "name": name}
                try:
                    row |= make()
                except Exception as error:
                    self.results.add(row | {"error": f"{type(error).__name__}: {error}"})
                    raise
                self.results.add(row)
                print(summary(row), flush=True)
        return True

    def _steps(self, part: str) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
        """Name and work of every row of a part."""
        if part == "indexer":
            yield from ((f"A3={value}", partial(indexer, value)) for value in ("off", "on"))
        elif part == "waterfall":
            yield "batch", self._waterfall
        elif part == "all":
            yield "campaign", self._campaign
        else:
            for a, b in COMPARED[part]:
                yield f"{a} / {b}", partial(self._compare, a, b)

    def _compare(self, a: str, b: str) -> dict[str, Any]:
        """Bits of two settings, then their times."""
        for text in (a, b):
            name, _, value = text.partition("=")
            if reason := VARIANTS[name].why_not(value, self.kind):
                return {"left_out": f"{text}: {reason}"}
        sides = [LocalRunner(self.workload, Setting.parse(text, self.options.device)) for text in (a, b)]
        traces = with_common_forms(self.workload, (sides[0].trace(), sides[1].trace()))
        found: dict[str, Any] = {"same": first_difference(*traces) is None, "error": traces[1].error}
        if found["same"] and found["error"] is None:
            rows = measure(*sides, pairs=self.options.pairs, clock=CLOCKS[self.kind])
            found["times"] = [asdict(row) | {"verdict": row.verdict} for row in rows]
        return found

    def _campaign(self) -> dict[str, Any]:
        """Every variant alone, all on, without each, and in pairs."""
        campaign = Campaign(
            self.workload, self.options.device, self.options.pairs, CLOCKS[self.kind], open_named,
            lambda line: print(line, flush=True),
        )  # fmt: skip
        campaign.run(chosen(self.kind))
        return campaign.facts()

    def _waterfall(self) -> dict[str, Any]:
        """The picture of one batch, as the terminal shows it, after one to warm up."""
        recorder = Recorder()
        prover = Prover(self.workload.key, get_device(self.options.device), recorder=recorder)
        prover.prove_batch(self.workload.witnesses, self_check=False)
        seen = len(recorder.events)
        prover.prove_batch(self.workload.witnesses, self_check=False)
        fall = build_waterfall(recorder.events[seen:])
        return {"sentence": fall.sentence, "text": waterfall_text(fall, 100)}


def chosen(kind: str) -> list[Candidate]:
    """What the campaign tries: on the cpu no single widths of windows, of which a wrong one takes minutes."""
    found = candidates(kind)[0]
    return [
        one for one in found
        if kind != "cpu" or not (one.variant in ("D4", "C1") and one.value.isdigit() and one.value != "1")
    ]  # fmt: skip


def indexer(a3: str) -> dict[str, Any]:
    """Synthesis under every setting, interleaved."""
    from cuzk.circuits.catalogue import build_circuit
    from cuzk.cli.bench_synth import settings_around
    from cuzk.cli.bench_synth_runs import measure as measure_synthesis
    from cuzk.cli.bench_synth_runs import prepare

    case, settings = prepare(build_circuit(INDEXER)), settings_around({"A3": a3})
    return {"circuit": INDEXER, "settings": measure_synthesis(case, settings, ROUNDS, lambda line: None)}


def summary(row: dict[str, Any]) -> str:
    """One line for a row."""
    head = f"{row['part']:10} {row['name']}: "
    if "times" in row:
        total = row["times"][0]
        words = f"{total['ratio']:.3f} ({total['low']:.3f} to {total['high']:.3f}), {total['verdict']}"
        return f"{head}same bits; {words}"
    return head + str(row.get("left_out") or row.get("sentence") or row.get("error") or "done")


def earlier(path: Path | None, head: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of an earlier call of the same sources, device and batch that ended without an error."""
    if path is None or not path.exists():
        return []
    data = json.loads(path.read_text(encoding="utf-8"))
    if any(data.get(name) != value for name, value in head.items() if name != "load"):
        return []
    return [row for row in data["rows"] if "error" not in row or row["error"] is None]


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--parts", default=",".join(PARTS), type=lambda text: text.split(","))
    parser.add_argument("--circuit", default="")
    parser.add_argument("--circuits", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=LEAST_PAIRS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--budget-s", type=float, default=3600)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; possible: {', '.join(PARTS)}")
    options.circuit = options.circuit or WORKLOADS[options.device.partition(":")[0]]
    head: dict[str, Any] = {
        "tree": tree_digest(), "device": get_device(options.device).name, "circuit": options.circuit,
        "circuits": options.circuits, "pairs": options.pairs, "clock": CLOCKS[options.device.partition(":")[0]],
        "machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0],
    }  # fmt: skip
    before = earlier(options.json, head)
    results = Results(options.json, head)
    results.data["rows"] = before
    started = time.monotonic(), time.process_time()
    complete = Study(options, results).run()
    print(
        f"{time.monotonic() - started[0]:.0f} s, {time.process_time() - started[1]:.0f} s of processor time"
    )
    results.finish() if complete else results.write()
    if not complete:
        print("no time was left for the rest: the same command goes on")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
