"""``python -m cuzk_fuzz table``: kernel families x devices x variants x oracles x edge classes, with counts."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from cuzk_fuzz import catalogue, report
from cuzk_fuzz.commands import DONE, FOUND, say, say_findings, write_json
from cuzk_fuzz.engine import Result
from cuzk_fuzz.merge import read_results
from cuzk_fuzz.registry import DEVICE_ONLY, TARGETS, Target
from cuzk_fuzz.smoke import smoke

#: Hits that every required class needs in a gate.
LEAST = 20

Hits = Mapping[tuple[str, str], Counter[str]]


def add_parser(commands: Any) -> None:
    """Add the command to the others."""
    parser = commands.add_parser("table", help="what is checked by what, on which classes, how often")
    parser.add_argument(
        "--device", action="append", choices=("cpu", "emu", "cuda"), help="only these (default: cpu and emu)"
    )
    parser.add_argument(
        "--results", type=Path, nargs="+", help="count in these results instead of running the targets"
    )
    parser.add_argument("--no-run", action="store_true", help="print the table without counts")
    parser.add_argument("--seconds", type=float, default=30.0, help="for all targets together; a class that is hit too "
                        "seldom takes its target up to eight times as long (default: 30)")  # fmt: skip
    parser.add_argument(
        "--min-hits", type=int, default=LEAST, help=f"hits every required class needs (default: {LEAST})"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("fuzz-out"), help="where findings go")
    parser.add_argument("--json", type=Path, help="write the table there")
    parser.set_defaults(do=run)


def hits_of(results: Iterable[Result]) -> dict[tuple[str, str], Counter[str]]:
    """Hits by target and kind of device."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for result in results:
        found.setdefault((result.target, result.device.partition(":")[0]), Counter()).update(result.hits)
    return found


def status_of(target: Target, edge_id: str, devices: Sequence[str]) -> str:
    """Whether a class is required on these kinds of devices; else the reason of the exemption."""
    if edge_id in target.required_on(devices):
        return "required"
    if edge_id in target.required:
        return f"not a setting of {' or '.join(devices)}"
    reason = next(why for pattern, why in target.exempt.items() if fnmatchcase(edge_id, pattern))
    return f"device only: {reason}" if edge_id in DEVICE_ONLY else reason


def class_rows(hits: Hits, devices: Sequence[str]) -> list[dict[str, Any]]:
    """One row a target and class: its hits by device, and what they are measured by.

    What needs no device (readers of files) ran on the host whatever devices the campaign had, and counts at the first.
    """
    rows = []
    for target in TARGETS.values():
        families = target.families or ("(several)",)
        counts = {kind: hits.get((target.name, kind), Counter()) for kind in devices}
        if not target.needs_device:
            of_all = (count for (name, _), count in hits.items() if name == target.name)
            counts = {kind: Counter() for kind in devices} | {devices[0]: sum(of_all, Counter[str]())}
        for edge_id in sorted(target.all_ids):
            by_device = {kind: counts[kind][edge_id] for kind in devices}
            rows.append({
                "families": list(families), "target": target.name, "class": edge_id, "hits": by_device,
                "total": sum(by_device.values()), "status": status_of(target, edge_id, devices),
            })  # fmt: skip
    return rows


def table(hits: Hits, devices: Sequence[str], least: int, *, counted: bool) -> dict[str, Any]:
    """The whole table as JSON, with what is missing in it."""
    classes = class_rows(hits, devices)
    seldom = [
        f"{row['target']}: {row['class']} was hit {row['total']} times, {least} are needed"
        for row in classes
        if counted and row["status"] == "required" and row["total"] < least
    ]
    families = [
        {
            "family": row.name, "kernels": [kernel.name for kernel in row.kernels], "devices": list(row.devices),
            "targets": list(row.targets), "oracles": list(row.oracles), "checked_by": list(row.checked_by),
            "classes": list(row.edge_ids), "mutated_headers": list(row.headers),
        }
        for row in catalogue.family_rows()
    ]  # fmt: skip
    variants = [
        {
            "setting": row.id, "devices": list(row.devices), "targets": list(row.targets), "oracles": list(row.oracles),
            "heavy": row.heavy,
            "hits": {k: sum(hits.get((t, k), Counter())[row.id] for t in row.targets) for k in devices},
        }
        for row in catalogue.variant_rows()
    ]  # fmt: skip
    return {
        "families": families, "variants": variants, "classes": classes, "min_hits": least,
        "gaps": catalogue.gaps(), "seldom": seldom,
    }  # fmt: skip


def _fewest(data: Mapping[str, Any], targets: Sequence[str]) -> str:
    counts = [
        row["total"] for row in data["classes"] if row["target"] in targets and row["status"] == "required"
    ]
    return str(min(counts, default=0))


def lines_of(data: Mapping[str, Any], devices: Sequence[str]) -> list[str]:
    """The table for a terminal."""
    head = (
        "family",
        "kernels",
        "devices",
        "targets",
        "oracles",
        "checked by",
        "classes",
        "fewest hits",
        "mutated",
    )
    rows: list[tuple[str, ...]] = [head]
    for row in data["families"]:
        rows.append((
            row["family"], str(len(row["kernels"])), " ".join(row["devices"]), " ".join(row["targets"]),
            str(len(row["oracles"])), str(len(row["checked_by"])), str(len(row["classes"])),
            _fewest(data, row["targets"]), str(len(row["mutated_headers"])),
        ))  # fmt: skip
    lines = [report.table(rows), "", "oracles by family:"]
    lines += [f"  {row['family']:14}{', '.join(row['oracles'])}" for row in data["families"]]
    kinds = [("setting", *devices, "")]
    kinds += [
        (row["setting"], *(str(row["hits"][kind]) for kind in devices), "heavy" if row["heavy"] else "")
        for row in data["variants"]
    ]
    lines += ["", report.table(kinds), ""]
    cells: list[tuple[str, ...]] = [("target", "class", *devices, "status")]
    cells += [
        (row["target"], row["class"], *(str(row["hits"][kind]) for kind in devices), row["status"][:60])
        for row in data["classes"]
    ]
    return [*lines, report.table(cells)]


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 where a cell is empty, a class was hit too seldom, or something was found."""
    devices = args.device or ["cpu", "emu"]
    results: list[Result] = []
    if args.results:
        results = read_results(args.results)
        devices = args.device or sorted({result.device.partition(":")[0] for result in results})
    elif not args.no_run:
        results = smoke(
            list(TARGETS.values()), args.seconds, seed=args.seed, least=args.min_hits, devices=devices
        ).results
    data = table(hits_of(results), devices, args.min_hits, counted=not args.no_run)
    for line in lines_of(data, devices):
        say(line)
    write_json(args.json, data)
    for hole in (*data["gaps"], *data["seldom"]):
        say(f"MISSING {hole}")
    found = say_findings(results, args.out)
    return FOUND if found or data["gaps"] or data["seldom"] else DONE
