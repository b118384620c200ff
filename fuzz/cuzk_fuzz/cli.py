"""The command line: run, smoke, replay, minimise, report, mutants."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuzk.errors import CuzkError
from cuzk_fuzz import engine_atheris, report
from cuzk_fuzz.engine import (
    BlindHarnessError,
    Budget,
    Campaign,
    Result,
    run_campaign,
    run_corpus,
    save_to_corpus,
)
from cuzk_fuzz.findings import check, load
from cuzk_fuzz.mutation import command as mutants
from cuzk_fuzz.registry import TARGETS, get_target
from cuzk_fuzz.shrink import minimise
from cuzk_fuzz.smoke import smoke

#: Exit codes, as everywhere in the project.
DONE, FOUND, USAGE, BROKEN = 0, 1, 2, 3

_EXAMPLES = """examples:
  python -m cuzk_fuzz run msm --seconds 60 --device emu --out fuzz-out
  python -m cuzk_fuzz run field --cases 1000000 --seed 7 --json field.json
  python -m cuzk_fuzz replay fuzz-out/msm-msm-toy_g1-emu-difference-0123abcd.json
  python -m cuzk_fuzz minimise fuzz-out/msm-msm-toy_g1-emu-difference-0123abcd.json
  python -m cuzk_fuzz smoke --seconds 20
  python -m cuzk_fuzz mutants --sample 12 --seed 1

exit codes: 0 nothing found, 1 a finding, a missing edge class or a surviving mutant, 2 bad usage or input,
3 the device or the compiler failed"""


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _write_json(path: Path | None, data: object) -> None:
    if path is not None:
        path.write_text(json.dumps(data, indent=1) + "\n")


def _run(args: argparse.Namespace) -> int:
    target = get_target(args.target)
    budget = Budget(args.seconds if args.seconds or args.cases else 30.0, args.cases)
    use_atheris = args.engine == "atheris" or (
        args.engine == "auto" and engine_atheris.available() and not args.device.startswith("cuda")
    )
    if use_atheris:
        result = engine_atheris.run(target.name, args.device, args.seed, budget, args.corpus, args.findings)
    else:
        result = _generate(args, budget)
    _say(report.table([report.COLUMNS, report.result_row(result)]))
    for line in report.class_lines(result.hits):
        _say(line)
    missing = sorted(edge_id for edge_id in target.required if not result.hits[edge_id])
    if missing:
        _say(f"not hit: {', '.join(missing)}")
    _write_json(args.json, result.to_json())
    for finding in result.findings:
        path = finding.save(args.out)
        _say(f"FOUND {finding.bucket}: {finding.outcome.describe()}\n  {path}")
    return FOUND if result.findings else DONE


def _generate(args: argparse.Namespace, budget: Budget) -> Result:
    """The seeded generator; a batch that hits a new edge class goes to the corpus."""
    pending = None
    if args.out.is_dir():
        pending = args.out / f"pending-{args.target}.bin"
    campaign = Campaign(
        get_target(args.target), args.device, seed=args.seed, most_findings=args.findings, pending=pending
    )
    if args.corpus is not None:
        run_corpus(campaign, args.corpus)
    seen = set(campaign.result.hits)

    def keep(result: Result, record: bytes) -> None:
        if args.corpus is not None and not set(result.hits) <= seen:
            seen.update(result.hits)
            save_to_corpus(args.corpus, record)

    result = run_campaign(campaign, budget, on_batch=keep)
    if pending is not None:
        pending.unlink(missing_ok=True)
    return result


def _smoke(args: argparse.Namespace) -> int:
    targets = [get_target(name) for name in args.target or TARGETS]
    found = smoke(targets, args.seconds, seed=args.seed, least=args.min_hits)
    _say(report.table([report.COLUMNS, *map(report.result_row, found.results)]))
    _write_json(args.json, found.to_json())
    for target, missing in found.missing.items():
        if missing:
            _say(f"{target}: hit fewer than {args.min_hits} times: {', '.join(missing)}")
    for result in found.results:
        for finding in result.findings:
            _say(f"FOUND {finding.bucket}: {finding.outcome.describe()}\n  {finding.save(args.out)}")
    _say(f"{'passed' if found.passed else 'FAILED'} in {found.seconds:.1f} s")
    return DONE if found.passed else FOUND


def _replay(args: argparse.Namespace) -> int:
    finding = load(args.finding)
    outcome = check(finding)
    _say(f"{finding.bucket}: {outcome.describe()}")
    return DONE if outcome.agrees else FOUND


def _minimise(args: argparse.Namespace) -> int:
    finding = load(args.finding)
    smallest = minimise(finding, seconds=args.seconds)
    path = smallest.save(args.out or args.finding.parent)
    _say(f"size {finding.batch.size} -> {smallest.batch.size}: {smallest.outcome.describe()}\n  {path}")
    return FOUND


def _report(args: argparse.Namespace) -> int:
    results: list[dict[str, Any]] = []
    for path in args.results:
        data = json.loads(path.read_text())
        results += data.get("results", [data])
    text = report.markdown(results)
    if args.out is None:
        _say(text)
    else:
        args.out.write_text(text)
    return FOUND if any(data["findings"] for data in results) else DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cuzk_fuzz",
        description="Differential fuzzing of the kernels, the prover and the file readers against the oracles.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="one campaign on one target")
    run.add_argument("target", choices=TARGETS)
    run.add_argument("--seconds", type=float, help="time limit (30 where --cases is not given either)")
    run.add_argument("--cases", type=int, help="number of cases after which to stop")
    run.add_argument("--device", default="cpu", help="cpu, emu, cuda or cuda:N (default: cpu)")
    run.add_argument("--seed", type=int, default=0, help="seed of choices and schedules (default: 0)")
    run.add_argument("--engine", choices=("auto", "atheris", "generator"), default="auto",
                     help="auto: atheris where it is installed, except on cuda; else the generator")  # fmt: skip
    run.add_argument("--corpus", type=Path, help="folder of batches to start from and to add to")
    run.add_argument(
        "--out", type=Path, default=Path("fuzz-out"), help="where findings go (default: fuzz-out)"
    )
    run.add_argument(
        "--findings", type=int, default=1, help="different findings after which to stop (default: 1)"
    )
    run.set_defaults(do=_run)
    quick = commands.add_parser("smoke", help="every target for a moment, on cpu and emu")
    quick.add_argument("--seconds", type=float, default=20.0, help="for all targets together (default: 20)")
    quick.add_argument("--target", action="append", choices=TARGETS, help="only these")
    quick.add_argument("--seed", type=int, default=0)
    quick.add_argument(
        "--min-hits", type=int, default=1, help="hits every required edge class needs (default: 1)"
    )
    quick.add_argument("--out", type=Path, default=Path("fuzz-out"))
    quick.set_defaults(do=_smoke)
    replay = commands.add_parser("replay", help="run a finding again")
    replay.add_argument("finding", type=Path)
    replay.set_defaults(do=_replay)
    shrink = commands.add_parser("minimise", help="the simplest case that fails like a finding")
    shrink.add_argument("finding", type=Path)
    shrink.add_argument("--seconds", type=float, default=60.0)
    shrink.add_argument("--out", type=Path, help="folder for the result (default: the finding's)")
    shrink.set_defaults(do=_minimise)
    page = commands.add_parser("report", help="a Markdown page from the JSON of runs")
    page.add_argument("results", type=Path, nargs="+")
    page.add_argument("--out", type=Path)
    page.set_defaults(do=_report)
    mutants.add_parser(commands)
    for command in (run, quick):
        command.add_argument("--json", type=Path, help="write the results there as JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.do(args)
    except BlindHarnessError as error:
        _say(f"FAILED: {error}")
        return FOUND
    except (ValueError, OSError) as error:
        _say(f"error: {error}")
        return error.exit_code if isinstance(error, CuzkError) else USAGE
    except (CuzkError, RuntimeError) as error:
        _say(f"error: {error}")
        return BROKEN
    return code
