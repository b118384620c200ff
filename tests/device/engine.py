"""The engine on a device, from set-up to its rate: each step in processes of its own, with its figures written at once.

python -m tests.device.engine [--circuit porep:32GiB] [--device cuda] [--gpus 1] [--partitions 10] [--steps ...]
                              [--folder DIR] [--keep] [--small porep:2KiB] [--json RESULT.json] [--budget-s 480]

setup    the circuit's key, into a file that workers map; one that an interrupted call has left is taken as it is
single   from vanilla data to one checked proof, again and again, by a Prover alone
engine   different partitions through the engine with one worker: rate, memory, what start and key cost, all verified
engines  the same partitions on --gpus workers
small    the engine's variants compared on a small circuit: bits first, then times
large    the same on one worker with other values of the engine's variants, a few partitions each
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.device import engine_steps, gpu
from tests.device.engine_data import Sector, make_sector
from tests.device.engine_run import (
    GpuWatch,
    Run,
    busy_share,
    check_proofs,
    seconds_each,
    with_one,
    within_budget,
)
from tests.device.results import ROOT, tree_digest, write_json

#: Seconds for a partition of 32 GiB, share of the time on the device, and throughput of two GPUs over one's.
MOST_SECONDS_EACH = {"porep:32GiB": 1.5}
LEAST_BUSY = 0.85
LEAST_RATIO = {2: 1.9}
#: A worker without a key, from its start.
MOST_READY_S = 3.0
#: The second proof of a worker waits so long for the key at most: it is there.
_MOST_RELOAD_MS = 5.0
STEPS = ("setup", "single", "engine", "engines", "small", "large")
#: With fewer seconds left a step is not begun.
_LEAST_S = {"setup": 60, "single": 30, "engine": 40, "engines": 40, "large": 45, "small": 60}
_LARGE_VALUES = ({"P2": "off"}, {"P12": "off"}, {"P3": "2"}, {"P8": "2"}, {"P2": "off", "P12": "off"})
_LARGE_PARTITIONS = 5
#: Looks at a GPU from which the share of its time with a kernel running can be told.
_ENOUGH_SAMPLES = 20


class Bench:
    """What the steps share.

    Args:
        options: Of the command line.
        clock: What time there is.
    """

    def __init__(self, options: argparse.Namespace, clock: gpu.Clock) -> None:
        self.options, self.clock = options, clock
        self.data: dict[str, Any] = {
            "circuit": options.circuit, "tree": tree_digest(), "cpus": os.cpu_count(), "steps": {}, "complete": False,
        }  # fmt: skip
        self.keys = engine_steps.choose_folder(options.folder, options.circuit)
        self.data["folder"] = str(self.keys)
        self._pool = ProcessPoolExecutor(3, mp_context=get_context("spawn"))
        # One partition for single proofs and the engine's first; then, for each GPU, as many as asked for.
        counts = [1, *[options.partitions] * options.gpus]
        self._made: list[Future[list[Sector]]] = [
            self._pool.submit(make_sector, options.circuit, b"engine %d" % i, count)
            for i, count in enumerate(counts)
        ]

    @property
    def key_file(self) -> Path:
        """The key."""
        return self.keys / engine_steps.key_name(self.options.circuit)

    def sectors(self) -> tuple[Sector, list[Sector]]:
        """What is proven alone, and what by the engine."""
        one, *rest = [made.result() for made in self._made]
        return one[0], [sector for sectors in rest for sector in sectors]

    def devices(self, count: int) -> list[str]:
        """Names of so many devices."""
        name = self.options.device
        return [f"{name}:{i}" for i in range(count)] if name == "cuda" else [name] * count

    def write(self) -> None:
        """Write all figures so far."""
        if self.options.json is not None:
            write_json(self.options.json, self.data)

    def close(self) -> None:
        """End what goes on beside the steps, and remove the key unless it is to be kept."""
        self._pool.shutdown(cancel_futures=True)
        if not self.options.keep:
            shutil.rmtree(self.keys, ignore_errors=True)

    def own_process(self, step: str, *more: str) -> dict[str, Any]:
        """Run one of engine_steps in a process of its own, which gives all its memory back when it ends."""
        result = self.keys / f"{step}.json"
        result.unlink(missing_ok=True)
        words = ["--device", self.devices(1)[0], "--json", str(result), *more]
        words = [sys.executable, "-m", "tests.device.engine_steps", step, *words]
        try:
            code = subprocess.run(
                words, cwd=ROOT, timeout=max(5.0, self.clock.left_s - 10), check=False
            ).returncode
        except subprocess.TimeoutExpired:
            code = -1
        row: dict[str, Any] = json.loads(result.read_text()) if result.exists() else {}
        if code and "error" not in row:
            row["error"] = "no time left" if code == -1 else f"the process ended with code {code}"
        return row


def setup_step(bench: Bench) -> dict[str, Any]:
    """The key."""
    if bench.key_file.exists():
        return {"found": True, "file_bytes": bench.key_file.stat().st_size}
    for left in bench.keys.iterdir():  # of a call that was killed
        if left.is_file():
            left.unlink()
    return bench.own_process("setup", "--circuit", bench.options.circuit, "--folder", str(bench.keys))


def single_step(bench: Bench) -> dict[str, Any]:
    """Proofs by a Prover alone."""
    payload = bench.keys / "single.payload"
    payload.write_bytes(bench.sectors()[0].data)
    words = ("--circuit", bench.options.circuit, "--folder", str(bench.keys), "--payload", str(payload))
    return bench.own_process("single", *words, "--repeats", str(bench.options.repeats))


def _run(bench: Bench, gpus: int, values: dict[str, str], partitions: int | None) -> dict[str, Any]:
    """Partitions through an engine: figures, once the first proofs have warmed it up."""
    first, sectors = bench.sectors()
    if partitions is not None:
        sectors = [sector for sector in sectors if sector.partitions > 1][:1] or sectors[:partitions]
    run = Run(
        bench.options.circuit, bench.keys, bench.devices(gpus), values, max(5.0, bench.clock.left_s - 15)
    )
    bench.data["last_run"] = run.figures  # what is known of it, should it end early
    with GpuWatch() as watch, run.running():
        bench.write()
        loads: list[float] = []
        for _ in range(2):  # the first pays for tables and for the checks of the key's file
            jobs, _records = run.prove([with_one(first)] * gpus)
            loads.append(max(job.times_ms.get("key_load", 0.0) for job in jobs))
        began = time.monotonic()
        jobs, records = run.prove(sectors, partitions if len(sectors) == 1 else None)
        run.figures |= {"wall_s": time.monotonic() - began, "partitions": len(records), "peaks": run.peaks}
        run.figures |= {"seconds_each": seconds_each(records, gpus), "busy_share": busy_share(records, gpus)}
        bench.write()
        stages = {
            stage: gpu.spread([one.times_ms[stage] for one in records]) for stage in records[0].times_ms
        }
        window = (records[gpus - 1].at_s, records[-1].at_s)
        return run.figures | {
            "gpus": watch.report(*window), "stages": stages,
            "by_worker": [sum(one.worker == i for one in records) for i in range(gpus)],
            "key_load_ms_first_and_second": loads, "loads": run.loads(),
            "threads": sorted({name for one in records for name in one.threads.values()}),
            **check_proofs(bench.key_file, sectors, jobs),
        }  # fmt: skip


def engine_step(bench: Bench) -> dict[str, Any]:
    """One worker; judged."""
    row = _run(bench, 1, {}, None)
    checks = {
        "ready": row["ready_s"] <= MOST_READY_S,
        "second_pays_no_load": row["key_load_ms_first_and_second"][1] <= _MOST_RELOAD_MS and row["loads"] == 1,
        "memory": within_budget(row["peaks"], 1), "busy": row["busy_share"] >= LEAST_BUSY,
        "verified": row["verified"] == row["proofs"] and not row["verified_for_others"],
    }  # fmt: skip
    kernels = row["gpus"].get("0", {})
    if kernels.get("samples", 0) >= _ENOUGH_SAMPLES:
        checks["kernels_busy"] = kernels["busy"] >= LEAST_BUSY
    most = MOST_SECONDS_EACH.get(bench.options.circuit)
    if most is not None:
        checks["rate"] = row["seconds_each"] <= most
    return row | {"checks": checks}


def engines_step(bench: Bench) -> dict[str, Any]:
    """As many workers as GPUs, and how much more they do than one."""
    if bench.options.gpus < 2:
        return {"skipped": "one GPU"}
    row, one = _run(bench, bench.options.gpus, {}, None), bench.data["steps"].get("engine", {})
    checks = {
        "verified": row["verified"] == row["proofs"] and not row["verified_for_others"],
        "memory": within_budget(row["peaks"], bench.options.gpus),
    }  # fmt: skip
    if "seconds_each" in one:
        row["throughput_ratio"] = one["seconds_each"] / row["seconds_each"]
        row["wall_ratio"] = one["wall_s"] / row["wall_s"]
        if bench.options.gpus in LEAST_RATIO and bench.options.device == "cuda":
            checks["ratio"] = row["throughput_ratio"] >= LEAST_RATIO[bench.options.gpus]
    return row | {"checks": checks}


def large_step(bench: Bench) -> dict[str, Any]:
    """Values of the engine's variants, on the circuit itself: seconds a partition."""
    rows: list[dict[str, Any]] = []
    took = 0.0
    for values in ({}, *_LARGE_VALUES):
        if not bench.clock.has(max(_LEAST_S["large"], 1.3 * took)):
            rows.append({"values": values, "skipped": "no time left"})
            continue
        began = time.monotonic()
        try:
            row = _run(bench, 1, values, min(_LARGE_PARTITIONS, bench.options.partitions))
            names = (
                "values",
                "partitions",
                "wall_s",
                "seconds_each",
                "verified",
                "proofs",
                "threads",
                "gpus",
            )
            rows.append({name: row[name] for name in names})
        except Exception as error:  # noqa: BLE001 - the other values are wanted even so
            rows.append({"values": values, "error": f"{type(error).__name__}: {error}"})
        took = time.monotonic() - began
        bench.data["steps"]["large"] = {"rows": rows}
        bench.write()
    good = all(row["verified"] == row["proofs"] for row in rows if "proofs" in row)
    return {"rows": rows, "checks": {"verified": good, "no_errors": not any("error" in row for row in rows)}}


def small_step(bench: Bench) -> dict[str, Any]:
    """All values against the defaults, on a small circuit."""
    folder = bench.keys / "small"
    folder.mkdir(exist_ok=True)
    circuit = bench.options.small
    made = bench.own_process("setup", "--circuit", circuit, "--folder", str(folder))
    if "error" in made:
        return made
    requests = engine_steps.small_requests(circuit, bench.options.small_jobs)
    rows: list[dict[str, Any]] = []
    took = 0.0
    for name, value in engine_steps.candidates():
        if not bench.clock.has(max(15.0, 1.3 * took)):
            rows.append({"variant": name, "value": value, "skipped": "no time left"})
            continue
        began = time.monotonic()
        rows.append(engine_steps.compare(circuit, folder, requests, (name, value), bench.devices(1)[0]))
        took = time.monotonic() - began
        bench.data["steps"]["small"] = {"rows": rows}
        bench.write()
    same = all(row["same"] for row in rows if "same" in row)
    checks = {"same_bits": same, "no_errors": not any("error" in row for row in rows)}
    return {"circuit": circuit, "setup_s": made.get("setup_s"), "rows": rows, "checks": checks}


_RUN: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "setup": setup_step, "single": single_step, "engine": engine_step, "engines": engines_step,
    "large": large_step, "small": small_step,
}  # fmt: skip


def run_step(bench: Bench, name: str) -> None:
    """Run a step and write down what comes of it; whatever it raises is its row's error."""
    needed = _LEAST_S[name] if bench.options.device == "cuda" else 1
    began = time.monotonic()
    if not bench.clock.has(needed):
        row: dict[str, Any] = {
            "skipped": f"{bench.clock.left_s:.0f} s are left, at least {needed} are needed"
        }
    elif name not in ("setup", "small") and not bench.key_file.exists():
        row = {"skipped": "there is no key"}
    else:
        try:
            row = _RUN[name](bench)
        except Exception as error:  # noqa: BLE001 - the next step is wanted even so
            row = bench.data["steps"].get(name, {}) | {"error": f"{type(error).__name__}: {error}"}
    row["seconds"] = round(time.monotonic() - began, 2)
    bench.data["steps"][name] = row
    bench.write()
    print(f"{name}: {summary(row)}", flush=True)


def summary(row: dict[str, Any]) -> str:
    """A step in one line."""
    names = ("error", "skipped", "setup_s", "key_load_s", "to_rows_ms", "seconds_each", "wall_s", "busy_share",
             "ready_s", "verified", "proofs", "throughput_ratio", "checks", "seconds")  # fmt: skip
    return ", ".join(f"{name} {row[name]}" for name in names if name in row)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code: 1 where a step failed, found no time, or missed what is asked of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--circuit", default="porep:32GiB")
    add("--device", default="cuda")
    add("--gpus", type=int, default=1)
    add("--partitions", type=int, default=10, help="for each GPU")
    add("--repeats", type=int, default=5)
    add("--steps", default=",".join(STEPS))
    add("--small", default="porep:2KiB", help="the circuit on which all variants are compared")
    add("--small-jobs", type=int, default=4)
    add("--folder", type=Path, help="where the key is put; memory by default, where it has room")
    add("--keep", action="store_true", help="leave the key for another call")
    add("--json", type=Path)
    add("--budget-s", type=float, default=480)
    options = parser.parse_args(arguments)
    reason = gpu.why_none() if options.device.startswith("cuda") else ""
    if not reason and options.device == "cuda" and gpu.num_gpus() < options.gpus:
        reason = f"{options.gpus} GPUs are asked for, {gpu.num_gpus()} are here"
    if reason:
        print(f"engine skipped: {reason}")
        return 0
    bench = Bench(options, gpu.Clock(options.budget_s))
    try:
        for name in options.steps.split(","):
            run_step(bench, name)
    finally:
        bench.close()
    steps = bench.data["steps"].values()
    bench.data["complete"] = not any("error" in step for step in steps)
    bench.write()
    missed = [check for step in steps for check, good in step.get("checks", {}).items() if not good]
    print(f"missed: {', '.join(missed) or 'nothing'}")
    return int(bool(missed) or not bench.data["complete"])


if __name__ == "__main__":
    raise SystemExit(main())
