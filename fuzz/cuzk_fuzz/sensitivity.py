"""``sensitivity``: how many seeds find each planted fault. ``throughput``: cases a second and core."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuzk_fuzz import faults, report
from cuzk_fuzz.commands import DONE, FOUND, say, write_json
from cuzk_fuzz.engine import Budget, Campaign
from cuzk_fuzz.registry import TARGETS, get_target

#: Of twenty seeds, so many must find a fault.
SEEDS, NEEDED = 20, 19
#: Processor seconds a hunt may take.
SECONDS = 60.0

#: Cases a second and core that each target must reach on cpu; on emu a tenth of it suffices. For readers 10,000 was the
#: aim, before a case was a whole key of some kilobytes, written to a file, read and checked, and read by a second
#: parser, all of it in Python: a millisecond of work.
FLOORS: Mapping[str, float] = {
    "field": 100_000, "point": 2_000, "digits": 20_000, "ntt": 300, "msm": 50, "groth16": 5, "readers": 800,
}  # fmt: skip


def add_parser(commands: Any) -> None:
    """Add both commands to the others."""
    hunts = commands.add_parser(
        "sensitivity", help="how many seeds find each planted fault; goes on where it stopped"
    )
    hunts.add_argument(
        "--record", type=Path, required=True, metavar="FILE", help="what was hunted so far, as JSON"
    )
    hunts.add_argument(
        "--fault", action="append", choices=[one.id for one in faults.FAULTS], help="only these"
    )
    hunts.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds a fault (default: {SEEDS})")
    hunts.add_argument(
        "--seconds", type=float, default=SECONDS, help="processor time of a hunt (default: 60)"
    )
    hunts.add_argument("--budget", type=float, help="stop after so many seconds; the next call goes on")
    hunts.set_defaults(do=run_sensitivity)
    rates = commands.add_parser("throughput", help="cases a second and core, against the floors")
    rates.add_argument("--target", action="append", choices=TARGETS, help="only these")
    rates.add_argument(
        "--device", action="append", choices=("cpu", "emu", "cuda"), help="default: cpu and emu"
    )
    rates.add_argument("--seconds", type=float, default=3.0, help="a target and device (default: 3)")
    rates.add_argument("--json", type=Path, help="write the figures there")
    rates.set_defaults(do=run_throughput)


def _load(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    data = json.loads(path.read_text())
    if not isinstance(data, dict) or "hunts" not in data:
        raise ValueError(f"{path} is no record of hunts")
    hunts: dict[str, dict[str, Any]] = data["hunts"]
    return hunts


def summary(
    hunts: Mapping[str, Mapping[str, Any]], names: Sequence[str], seeds: int
) -> list[tuple[str, ...]]:
    """(fault, target, found, of, worst processor seconds, verdict) of every fault."""
    rows: list[tuple[str, ...]] = []
    for name in names:
        mine = [hunt for key, hunt in hunts.items() if key.partition("/")[0] == name]
        found = sum(hunt["found"] for hunt in mine)
        needed = NEEDED * seeds / SEEDS
        verdict = "open" if len(mine) < seeds else "ok" if found >= needed else "TOO FEW"
        worst = max((hunt["seconds"] for hunt in mine), default=0.0)
        rows.append((name, faults.fault(name).target, str(found), str(len(mine)), f"{worst:.2f}", verdict))
    return rows


def run_sensitivity(args: argparse.Namespace) -> int:
    """Hunt what the record lacks; 1 where a fault was found by too few seeds."""
    hunts = _load(args.record)
    names = args.fault or [one.id for one in faults.FAULTS]
    started = time.monotonic()
    for seed in range(1, args.seeds + 1):
        for name in names:
            if f"{name}/{seed}" in hunts:
                continue
            if args.budget is not None and time.monotonic() - started >= args.budget:
                break
            hunts[f"{name}/{seed}"] = dict(faults.hunt(faults.fault(name), seed, args.seconds).to_json())
            write_json(args.record, {"seconds": args.seconds, "hunts": dict(sorted(hunts.items()))})
    rows = summary(hunts, names, args.seeds)
    say(report.table([("fault", "target", "found", "hunts", "worst s", "verdict"), *rows]))
    verdicts = [row[-1] for row in rows]
    say(
        f"{verdicts.count('ok')} of {len(rows)} found by enough seeds, {verdicts.count('open')} not hunted to the end"
    )
    return FOUND if "TOO FEW" in verdicts else DONE


def rate_of(name: str, device: str, seconds: float) -> dict[str, Any]:
    """A campaign of some seconds, and its cases a second of processor time."""
    campaign = Campaign(get_target(name), device)
    campaign.guided()  # tables and pools are made once; they are not the rate
    first = campaign.result.cases, campaign.result.processor_seconds
    budget = Budget(seconds, of_processor=True)
    clock = budget.clock()
    while not campaign.is_over and not budget.is_spent(clock, 0):
        campaign.guided()
    cases = campaign.result.cases - first[0]
    used = campaign.result.processor_seconds - first[1]
    floor = FLOORS.get(name, 0.0) / (10 if device == "emu" else 1)
    return {
        "target": name, "device": device, "cases": cases, "processor_seconds": round(used, 3),
        "cases_per_second_and_core": round(cases / used, 1) if used else 0.0, "floor": floor,
        "findings": len(campaign.result.findings),
    }  # fmt: skip


def run_throughput(args: argparse.Namespace) -> int:
    """Run the command; 1 where a floor is missed."""
    figures = []
    for name in args.target or TARGETS:
        for device in args.device or ("cpu", "emu"):
            if TARGETS[name].needs_device or device == "cpu":
                figures.append(rate_of(name, device, args.seconds))
    rows = [("target", "device", "cases/s and core", "floor", "")]
    missed = 0
    for one in figures:
        low = one["cases_per_second_and_core"] < one["floor"]
        missed += low
        rows.append((
            one["target"], one["device"], f"{one['cases_per_second_and_core']:,.0f}", f"{one['floor']:,.0f}",
            "TOO SLOW" if low else "",
        ))  # fmt: skip
    say(report.table(rows))
    write_json(
        args.json,
        {"unit": "cases a second of processor time, decoding and oracle included", "figures": figures},
    )
    return FOUND if missed else DONE
