"""The fuzzer on a GPU, in calls that end by themselves: a campaign over all targets, or the class table.

python -m tests.device.fuzz campaign [--seconds 600] [--device cuda] [--budget-s 520] [--json RESULT.json]
python -m tests.device.fuzz classes [--min-hits 20] [--device cuda] [--budget-s 520] [--json RESULT.json]

Every target is a worker process of its own (`python -m cuzk_fuzz run`), as many at a time as there are cores: oracles
take most of the time, and a launch failure spoils the process it happens in, no other.  State lies beside the result
file, so a later call goes on.  Exit code 0 done, 1 a finding, a batch that never ended, or (classes) a class hit too
seldom in ten minutes of its target; 3 the campaign does not run here; 75 there is more to do.

The result file holds throughput by target, hits, and every finding whole: `python -m cuzk_fuzz replay` takes one
that is written to a file of its own.  `classes` also runs tests/device/large.py for the sizes that no batch has.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from cuzk_fuzz import fleet, table_command
from cuzk_fuzz.engine import Result
from cuzk_fuzz.findings import Finding
from cuzk_fuzz.isolate import environment
from cuzk_fuzz.merge import read_findings, read_results
from cuzk_fuzz.registry import TARGETS

from tests.device import gpu, large
from tests.device.results import ROOT, UNFINISHED, tree_digest, write_json

#: Seconds that starting and ending the processes takes: kernels are loaded, last batches and cases end.
_MARGIN_S = 45.0
#: Seconds that processes have to end after they were asked to.
_GRACE_S = 40.0
#: Seconds of a worker below which a round is not worth its start.
_LEAST_ROUND_S = 5.0
#: A round of the class table: after each the classes are looked at again.
_CLASS_ROUND_S = 60.0
#: Seconds a target after which a class that was still hit too seldom counts as missing.
_CLASS_PATIENCE_S = 600.0
DONE, FOUND, BROKEN = 0, 1, 3


class Campaign:
    """One campaign with state in a folder.

    Args:
        options: The command line.
        folder: Where the state is.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.names: list[str] = options.targets.split(",") if options.targets else list(TARGETS)
        self.kind: str = options.device.partition(":")[0]
        self.hung: list[dict[str, Any]] = []
        self.words, self.code = "", DONE
        folder.mkdir(parents=True, exist_ok=True)
        self._clock_file = folder / "seconds.txt"

    @property
    def seconds(self) -> float:
        """What each worker was given so far."""
        return float(self._clock_file.read_text()) if self._clock_file.exists() else 0.0

    @property
    def waves(self) -> int:
        """How often as long as a worker takes a round takes: processes wait where cores are few."""
        at_once: int = max(1, self.options.at_once)
        return -(-len(self.names) // at_once)

    @property
    def workers(self) -> Path:
        """Where workers keep their state."""
        return self.folder / "workers"

    @property
    def out(self) -> Path:
        """Where findings go."""
        return self.folder / "findings"

    def round(self, seconds: float) -> None:
        """Give every worker so many seconds more."""
        total = self.seconds + seconds
        command = [
            sys.executable, "-m", "cuzk_fuzz", "run", *self.names, "--device", self.options.device,
            "--seed", str(self.options.seed), "--engine", "generator", "--isolate", "--findings", "4",
            "--at-once", str(self.options.at_once), "--seconds", str(total), "--resume", str(self.workers),
            "--out", str(self.out),
        ]  # fmt: skip
        if self.options.heavy:
            command.append("--heavy")
        log = self.folder / "run.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment(),
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.code = self._await(process, seconds * self.waves + _MARGIN_S)
        self.words = log.read_text(errors="replace")[-4000:]
        if self.code not in (DONE, FOUND):
            print(self.words, flush=True)
        self._clock_file.write_text(str(total))

    def _await(self, process: subprocess.Popen[bytes], most_s: float) -> int:
        """Its exit code; one that takes too long is asked to end, then ended, and what it was at is noted."""
        try:
            return process.wait(most_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            return process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for path in sorted(self.workers.glob("*.pending.json")):
            note = json.loads(path.read_text())
            self.hung.append({"worker": path.name.removesuffix(".pending.json"), **note})
        return FOUND

    @property
    def results(self) -> list[Result]:
        """One a target."""
        return read_results([self.workers]) if self.workers.exists() else []

    @property
    def findings(self) -> list[Finding]:
        """One a bucket, those of processes that died included."""
        saved = read_findings([self.out]) if self.out.exists() else []
        return fleet.simplest([*(f for result in self.results for f in result.findings), *saved])

    @property
    def hits(self) -> dict[tuple[str, str], Counter[str]]:
        """By target, as if all of them had run on the device: the readers need none."""
        return {(result.target, self.kind): result.hits for result in self.results}

    def seldom(self) -> list[str]:
        """Required classes of this kind of device with too few hits, as "target: class"."""
        found, hits = [], self.hits
        for name in self.names:
            counts = hits.get((name, self.kind), Counter())
            wanted = TARGETS[name].required_on([self.kind])
            found += [f"{name}: {i}" for i in sorted(wanted) if counts[i] < self.options.min_hits]
        return found

    def to_json(self) -> dict[str, Any]:
        """Throughput and findings."""
        targets = [
            {**result.to_json(), "findings": [f.bucket for f in result.findings],
             "processor_share": round(result.processor_seconds / max(result.seconds, 1e-9), 3)}
            for result in self.results
        ]  # fmt: skip
        return {
            "mode": self.options.mode, "device": self.options.device, "tree": tree_digest(), "seed": self.options.seed,
            "at_once": self.options.at_once, "seconds_a_target": round(self.seconds, 1),
            "cases": sum(one["cases"] for one in targets), "compared": sum(one["compared"] for one in targets),
            "targets": targets, "findings": [finding.to_json() for finding in self.findings], "hung": self.hung,
            "not_run": sorted(set(self.names) - {result.target for result in self.results}),
            "seldom": self.seldom(), "exit": self.code, "last_words": self.words if self.code not in (0, 1) else "",
        }  # fmt: skip


def campaign(state: Campaign, clock: gpu.Clock) -> int:
    """Let every target run until it had its seconds, as far as this call's budget goes."""
    options = state.options
    left = options.seconds - state.seconds
    share = min(left, (clock.left_s - _MARGIN_S - _GRACE_S) / state.waves)
    if left > 0 and share >= min(_LEAST_ROUND_S, left):
        state.round(share)
    data = state.to_json()
    complete = state.seconds >= options.seconds - 1e-3
    write_json(options.json, {**data, "complete": complete})
    return verdict(state, data, complete)


def verdict(state: Campaign, data: dict[str, Any], complete: bool) -> int:
    """The exit code."""
    for row in data["targets"]:
        print(
            f"{row['target']:11} {row['batches']:8} batches {row['cases']:10} cases {row['cases_per_second']:12.1f} a "
            f"second, processor {row['processor_share']:.0%} of the time, findings: {len(row['findings'])}"
        )
    for finding in data["findings"]:
        print(f"FINDING {finding['bucket']}: {finding['what']}")
    for one in state.hung:
        print(f"NEVER ENDED {one['worker']}, batch {one['batch']}")
    if data["findings"] or state.hung or state.code == FOUND:
        return FOUND
    if state.code != DONE:
        return BROKEN
    return DONE if complete and not data["not_run"] else UNFINISHED


def classes(state: Campaign, clock: gpu.Clock) -> int:
    """Rounds until every class was hit, then the sizes that no batch has."""
    options = state.options
    start, code, need = time.monotonic(), DONE, _MARGIN_S + _GRACE_S
    while state.seldom() or not state.results:
        share = min(options.seconds or _CLASS_ROUND_S, (clock.left_s - need) / state.waves)
        if share < min(_LEAST_ROUND_S, options.seconds or _CLASS_ROUND_S):
            break
        state.round(share)
        if state.code != DONE:
            break
    sizes: dict[str, Any] = {"rows": [], "complete": True} if options.no_large else large_sizes(state, clock)
    data = state.to_json()
    hits = state.hits
    for row in sizes["rows"]:
        if row["agrees"]:
            key = (row["target"], state.kind)
            hits[key] = hits.get(key, Counter()) + Counter({row["class"]: len(row["checks"])})
    whole = table_command.table(hits, [state.kind], options.min_hits, counted=True)
    whole["classes"] = [row for row in whole["classes"] if row["target"] in state.names]
    complete = not data["seldom"] and sizes["complete"]
    whole["seldom"] = data["seldom"]
    write_json(options.json, {**data, "table": whole, "large": sizes, "complete": complete})
    code = verdict(state, data, complete)
    for missing in data["seldom"]:
        print(f"MISSING {missing}: fewer than {options.min_hits} hits after {state.seconds:.0f} s a target")
    print(f"{len(whole['classes'])} classes, {len(data['seldom'])} hit too seldom, "
          f"{len(sizes['rows'])} checks of large sizes, {time.monotonic() - start:.0f} s")  # fmt: skip
    wrong = [row for row in sizes["rows"] if not row["agrees"]]
    late = bool(data["seldom"]) and state.seconds >= _CLASS_PATIENCE_S
    return FOUND if wrong or whole["gaps"] or late else code


def large_sizes(state: Campaign, clock: gpu.Clock) -> dict[str, Any]:
    """Rows of tests/device/large.py, each target in a fresh process; those that agreed in an earlier call are kept."""
    rows: list[dict[str, Any]] = []
    complete = True
    for name in (name for name in large.TARGETS if name in state.names):
        path = state.folder / f"large-{name}.json"
        before: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"complete": False}
        if not before["complete"] or not all(row["agrees"] for row in before["rows"]):
            if clock.left_s < 30:
                complete = False
                continue
            command = [sys.executable, "-m", "tests.device.large", "--device", state.options.device,
                       "--targets", name, "--json", str(path)]  # fmt: skip
            if state.kind != "cuda":
                command += ["--elements", "600", "--curve", "toy"]
            try:
                subprocess.run(command, cwd=ROOT, env=environment(), check=False, timeout=clock.left_s - 10)
            except subprocess.TimeoutExpired:
                complete = False
        data: dict[str, Any] = {"rows": [], "complete": False}
        if path.exists():
            data = json.loads(path.read_text())
        rows += data["rows"]
        complete = complete and data["complete"]
    return {"rows": rows, "complete": complete}


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=("campaign", "classes"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--targets", default="", help="names, by comma; all by default")
    parser.add_argument(
        "--seconds", type=float, help="for every target in all (600); of a round of classes (60)"
    )
    parser.add_argument("--min-hits", type=int, default=table_command.LEAST)
    parser.add_argument(
        "--at-once", type=int, default=len(os.sched_getaffinity(0)), help="processes at a time"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--heavy", action="store_true", help="also settings that cost seconds a case")
    parser.add_argument("--no-large", action="store_true", help="without the sizes that no batch has")
    parser.add_argument("--budget-s", type=float, default=520)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    if options.device.startswith("cuda") and (reason := gpu.why_none()):
        print(f"{options.mode} skipped: {reason}")
        return DONE
    if unknown := set(filter(None, options.targets.split(","))) - set(TARGETS):
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    clock = gpu.Clock(options.budget_s)
    state = Campaign(options, options.json.with_name(options.json.stem + "-state").resolve())
    if options.mode == "classes":
        return classes(state, clock)
    options.seconds = options.seconds or 600.0
    return campaign(state, clock)


if __name__ == "__main__":
    raise SystemExit(main())
