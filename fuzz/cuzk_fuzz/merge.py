"""``python -m cuzk_fuzz merge``: corpora, results and findings of several campaigns become those of one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cuzk_fuzz import corpus, fleet
from cuzk_fuzz.commands import DONE, FOUND, say, write_json
from cuzk_fuzz.engine import Campaign, Result
from cuzk_fuzz.findings import Finding, load
from cuzk_fuzz.registry import TARGETS


def add_parser(commands: Any) -> None:
    """Add the command to the others."""
    parser = commands.add_parser(
        "merge", help="corpora, results and findings of several campaigns into one folder"
    )
    parser.add_argument(
        "source", type=Path, nargs="+", help="results (JSON), findings, or folders of them; corpora"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder that takes them all")
    parser.set_defaults(do=run)


def results_in(data: Any) -> list[Result]:
    """The results of a JSON file of a run, of a smoke, or of a worker; none if it is something else.

    Raises:
        ValueError: It looks like results and is not.
    """
    if not isinstance(data, dict):
        return []
    if "scope" in data and "result" in data:
        return [Result.from_json(data["result"])]
    if "results" in data or {"target", "hits", "findings"} <= set(data):
        try:
            return [Result.from_json(one) for one in data.get("results", [data])]
        except (KeyError, TypeError) as error:
            raise ValueError(f"not the results of a campaign: {type(error).__name__} {error}") from error
    return []


def read_results(paths: Iterable[Path]) -> list[Result]:
    """The results in files and folders, one a target and device."""
    found: list[Result] = []
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            found += results_in(json.loads(file.read_text()))
    return fleet.merged(found)


def read_findings(paths: Iterable[Path]) -> list[Finding]:
    """The findings in files and folders."""
    found = []
    for path in paths:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            data = json.loads(file.read_text())
            if isinstance(data, dict) and "bucket" in data:
                found.append(load(file))
    return found


def corpora(paths: Sequence[Path]) -> dict[str, list[bytes]]:
    """Batches by the name of their folder, TARGET-DEVICE, which says what they decode to."""
    found: dict[str, list[bytes]] = {}
    for path in paths:
        folders = [path, *sorted(x for x in path.rglob("*") if x.is_dir())] if path.is_dir() else []
        for folder in folders:
            target, _, device = folder.name.rpartition("-")
            if target in TARGETS and device in ("cpu", "emu", "cuda"):
                found.setdefault(folder.name, []).extend(
                    file.read_bytes() for file in corpus.files_of(folder)
                )
    return found


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 where there are findings."""
    for path in args.source:
        if not path.exists():
            raise ValueError(f"{path} does not exist")
    results = read_results(args.source)
    findings = fleet.simplest([*read_findings(args.source), *(f for r in results for f in r.findings)])
    for finding in findings:
        finding.save(args.out / "findings")
    for name, batches in corpora(args.source).items():
        target, _, device = name.rpartition("-")
        # Decoding needs a device's kernels, not its answers; cuda's are those of the emulator.
        campaign = Campaign(TARGETS[target], "cpu" if device == "cpu" else "emu")
        kept = sum(
            corpus.save(args.out / "corpus" / name, data) for data in corpus.smallest(campaign, batches)
        )
        say(f"{name}: {len(batches)} batches, {kept} kept")
    write_json(args.out / "results.json", {"results": [result.to_json() for result in results]})
    say(f"{len(results)} results, {len(findings)} findings in {args.out}")
    return FOUND if findings else DONE
