"""``python -m tests.harness.historical``: faults of others, put into our kernels, and the campaigns that find them.

Every patch of `patches/historical.toml` is compiled into a copy of the kernels, and the general campaign of its target
runs on that until it finds something or its processor time is over. Results go to a record; the same command goes on
where it stopped.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import Budget, Campaign, run_campaign
from cuzk_fuzz.mutation.battery import open_devices
from cuzk_fuzz.mutation.build import build_common, compile_flags, compiler, run_compiler
from cuzk_fuzz.registry import TARGETS

from cuzk.device import Device
from tests.harness.patching import Patch, copy_of_kernels, load, plan_of


def compile_patched(patch: Patch, folder: Path, common: list[Path]) -> Path:
    """The kernels with the fault in them, from a fresh copy of the sources."""
    folder.mkdir()
    tree = copy_of_kernels(folder)
    patch.apply(tree)
    source, kernels, target = (folder / name for name in ("faulty.cpp", "faulty.o", "faulty.so"))
    source.write_text(plan_of(patch).source())
    flags = [flag for flag in compile_flags(patch.platform, tree) if "sanitize" not in flag]
    run_compiler([*flags, "-c", str(source), "-o", str(kernels)])
    run_compiler([compiler(), "-shared", "-o", str(target), str(kernels), *map(str, common)])
    return target


def campaign(patch: Patch, kernels: Path, seconds: float, seed: int) -> dict[str, Any]:
    """Run the target on the faulty kernels: what it found, after how many cases and how much processor time."""
    devices = open_devices(kernels, patch.platform)
    by_choice: dict[DeviceChoice, Device] = {}

    def opener(choice: DeviceChoice) -> Device:
        return by_choice.setdefault(choice, devices[len(by_choice) % len(devices)])

    result = run_campaign(
        Campaign(TARGETS[patch.target], patch.platform, seed=seed, opener=opener),
        Budget(seconds=seconds, of_processor=True),
    )
    return {
        "found": bool(result.findings), "cases": result.cases, "seconds": round(result.processor_seconds, 2),
        "how": result.findings[0].outcome.describe() if result.findings else "",
    }  # fmt: skip


def guarded(patch: Patch, kernels: Path, seconds: float, seed: int) -> dict[str, Any]:
    """The same in a process of its own: faulty kernels may crash or hang, and that is found too."""
    read, write = os.pipe()
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            faulthandler.disable()  # a crash is a result here
            signal.setitimer(signal.ITIMER_VIRTUAL, 2 * seconds + 10)
            os.write(write, json.dumps(campaign(patch, kernels, seconds, seed)).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not data:
        lost = round(time.monotonic() - started, 2)
        return {
            "found": code < 0,
            "cases": None,
            "seconds": lost,
            "how": f"the process ends by signal {-code}",
        }
    found: dict[str, Any] = json.loads(data)
    return found


def row(patch: Patch, result: dict[str, Any]) -> str:
    """A line of the table."""
    cases = "-" if result["cases"] is None else str(result["cases"])
    verdict = "found" if result["found"] else "NOT FOUND"
    return f"| {patch.source} | {patch.target} | {verdict} | {cases} | {result['seconds']:.1f} |"


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the record lacks; 1 where a fault was not found."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.historical", description=__doc__)
    parser.add_argument(
        "--record", type=Path, default=Path("historical.json"), help="results, and where to go on"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="processor time a campaign (default: 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="ID", help="only these patches")
    args = parser.parse_args(argv)
    patches = [patch for patch in load("historical") if not args.only or patch.id in args.only]
    done: dict[str, Any] = json.loads(args.record.read_text()) if args.record.exists() else {}
    with tempfile.TemporaryDirectory(prefix="cuzk_historical_") as name:
        folder = Path(name)
        common = {platform: build_common(folder, platform) for platform in {p.platform for p in patches}}
        for patch in patches:
            if patch.id not in done:
                kernels = compile_patched(patch, folder / patch.id, common[patch.platform])
                done[patch.id] = guarded(patch, kernels, args.seconds, args.seed)
                args.record.write_text(json.dumps(done, indent=1) + "\n")
            sys.stdout.write(row(patch, done[patch.id]) + "\n")
            sys.stdout.flush()
    return 1 if any(not done[patch.id]["found"] for patch in patches) else 0


if __name__ == "__main__":
    sys.exit(main())
