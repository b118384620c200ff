"""Run a gate: ``python -m tests.harness.gates quick|gate|nightly``.

Every step runs, whatever became of those before it. OUT gets `gate.xml` (JUnit, a case a step), `tests.xml` (JUnit, a
case a test), `summary.md` and the steps' own results. Exit code 0: all passed; 1: not; 2: bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import cuzk
from tests.harness.gates import selection, sharding, steps
from tests.harness.gates.steps import Step

ROOT = Path(__file__).resolve().parents[3]
DONE, FAILED, USAGE = 0, 1, 2
_LAST_LINES = 40


@dataclass(frozen=True)
class Outcome:
    """What a step came to."""

    step: Step
    code: int
    seconds: float
    output: str
    counts: str

    @property
    def passed(self) -> bool:
        """Exit code 0."""
        return self.code == 0


def counts_of(path: Path | None) -> str:
    """What was checked and how much, from a step's result."""
    if path is None or not path.is_file():
        return ""
    if path.suffix == ".xml":
        suites = list(Xml.parse(path).getroot().iter("testsuite"))
        total, bad = (sum(int(suite.get(k, 0)) for suite in suites for k in keys)
                      for keys in (("tests",), ("failures", "errors")))  # fmt: skip
        return f"{total:,} tests, {bad} failed"
    data: Any = json.loads(path.read_text())
    if "classes" in data:
        required = [row["total"] for row in data["classes"] if row["status"] == "required"]
        fewest = min(required, default=0)
        return f"{len(required)} edge classes of {len(data['families'])} families, fewest hits {fewest}"
    if "killed" in data:
        return f"{data['killed']} mutants killed, {data.get('survived', 0)} survived"
    if "hunts" in data:
        found = sum(hunt["found"] for hunt in data["hunts"].values())
        return f"{found} of {len(data['hunts'])} hunts found their fault"
    if "figures" in data:
        return f"{len(data['figures'])} rates"
    results = data.get("results", [data])
    cases, findings = sum(one["cases"] for one in results), sum(len(one["findings"]) for one in results)
    return f"{cases:,} cases, {findings} findings"


def run_step(step: Step) -> Outcome:
    """Run one command; its output goes to the terminal and, the end of it, to the report."""
    sys.stdout.write(f"gate: {step.name}: {' '.join(step.command)}\n")
    sys.stdout.flush()
    started = time.monotonic()
    kept: list[str] = []
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}  # who watches sees each line when it is said
    with subprocess.Popen(step.command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env=environment) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            kept = [*kept[-_LAST_LINES + 1 :], line]
        code = process.wait()
    return Outcome(step, code, time.monotonic() - started, "".join(kept), counts_of(step.result))


def junit(name: str, outcomes: Sequence[Outcome]) -> str:
    """A case a step."""
    failures = sum(not one.passed for one in outcomes)
    suite = Xml.Element("testsuite", name=name, tests=str(len(outcomes)), failures=str(failures),
                        time=f"{sum(one.seconds for one in outcomes):.1f}")  # fmt: skip
    for one in outcomes:
        case = Xml.SubElement(
            suite, "testcase", classname=name, name=one.step.name, time=f"{one.seconds:.1f}"
        )
        if not one.passed:
            failure = Xml.SubElement(case, "failure", message=f"exit code {one.code}")
            failure.text = "".join(c for c in one.output if c >= " " or c in "\n\t")
        if one.counts:
            Xml.SubElement(case, "system-out").text = one.counts
    return Xml.tostring(suite, encoding="unicode")


def markdown(name: str, shard: str, outcomes: Sequence[Outcome], chosen: selection.Selection | None) -> str:
    """What was checked, how much, with which seeds, how long."""
    verdict = "passed" if all(one.passed for one in outcomes) else "FAILED"
    lines = [
        f"# {name}: {verdict}",
        "",
        f"Part {shard}, cuzk {cuzk.__version__}, Python {sys.version.split()[0]}.",
        "",
    ]
    if chosen is not None:
        headers, targets = (", ".join(names) or "none" for names in (chosen.headers, chosen.targets))
        lines += [
            f"{len(chosen.files)} files changed. Kernel headers: {headers}.",
            f"Fuzz targets: {targets}. Test files: {len(chosen.tests)}.",
            "",
        ]
    lines += ["| step | result | what | seed | seconds |", "|---|---|---|---|---|"]
    for one in outcomes:
        seed = "" if one.step.seed is None else str(one.step.seed)
        result = "ok" if one.passed else f"**exit code {one.code}**"
        lines.append(f"| {one.step.name} | {result} | {one.counts} | {seed} | {one.seconds:.0f} |")
    for one in outcomes:
        if not one.passed:
            lines += [
                "",
                f"## {one.step.name}",
                "",
                f"`{' '.join(one.step.command)}`",
                "",
                "```",
                one.output.rstrip(),
                "```",
            ]
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.harness.gates", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("gate", choices=("quick", "gate", "nightly"))
    parser.add_argument(
        "--out", type=Path, default=ROOT / ".tox" / "gate", help="folder for reports (default: .tox/gate)"
    )
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="run part I of N (gate, nightly)")
    parser.add_argument("--changed-since", metavar="REVISION",
                        help="quick: changes since this commit; without it, kernels whose content key is not that of "
                        "the last run that passed, and uncommitted files")  # fmt: skip
    parser.add_argument("--scale", type=float, default=1.0, help="nightly: factor of all campaigns' times")
    parser.add_argument("--seed", type=int, default=0, help="nightly: seed of the campaigns")
    parser.add_argument("--only", action="append", metavar="STEP", help="only these steps")
    parser.add_argument("--list", action="store_true", help="print the steps and run none")
    return parser


def _quick_selection(args: argparse.Namespace) -> tuple[selection.Selection, dict[str, str]]:
    keys = selection.content_keys(ROOT / "cuzk" / "kernels")
    headers: list[str] = []
    if args.changed_since is None:
        headers = selection.changed_headers(selection.read_keys(args.out / "keys.json"), keys)
    files = selection.changed_since(ROOT, args.changed_since or "HEAD")
    return selection.select(ROOT, files, headers), keys


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the gate; return the exit code."""
    args = _parser().parse_args(arguments)
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    chosen: selection.Selection | None = None
    keys: dict[str, str] = {}
    try:
        part, parts = sharding.parse(args.shard)
        if args.gate == "quick":
            chosen, keys = _quick_selection(args)
            planned = steps.quick(args.out, chosen)
        elif args.gate == "gate":
            planned = steps.part_of(steps.gate(args.out, args.shard), part, parts)
        else:
            planned = steps.nightly(args.out, args.shard, scale=args.scale, seed=args.seed)
            planned = steps.part_of(planned, part, parts)
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return USAGE
    planned = [step for step in planned if not args.only or step.name in args.only]
    if args.list:
        sys.stdout.write("".join(f"{step.name}: {' '.join(step.command)}\n" for step in planned))
        return DONE
    outcomes = [run_step(step) for step in planned]
    (args.out / "gate.xml").write_text(junit(args.gate, outcomes))
    text = markdown(args.gate, args.shard, outcomes, chosen)
    (args.out / "summary.md").write_text(text)
    sys.stdout.write(text)
    passed = bool(outcomes) and all(one.passed for one in outcomes)
    if passed and keys:
        (args.out / "keys.json").write_text(json.dumps(keys, indent=1) + "\n")
    return DONE if passed else FAILED


if __name__ == "__main__":
    sys.exit(main())
