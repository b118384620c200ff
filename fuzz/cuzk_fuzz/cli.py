"""The command line: one module a command, or a function here for the short ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cuzk.errors import CuzkError
from cuzk_fuzz import merge, report, report_command, run_command, sensitivity, table_command
from cuzk_fuzz.commands import BROKEN, DONE, FOUND, USAGE, say, say_findings, write_json
from cuzk_fuzz.engine import BlindHarnessError
from cuzk_fuzz.findings import check, load
from cuzk_fuzz.mutation import command as mutants
from cuzk_fuzz.registry import TARGETS, get_target
from cuzk_fuzz.shrink import minimise
from cuzk_fuzz.smoke import smoke

_EXAMPLES = """examples:
  python -m cuzk_fuzz run msm --seconds 60 --device emu --out fuzz-out
  python -m cuzk_fuzz run all --workers 8 --seconds 3600 --resume state --corpus corpus --status status.json
  python -m cuzk_fuzz run field --cases 1000000 --seed 7 --json field.json
  python -m cuzk_fuzz replay fuzz-out/msm-msm-toy_g1-emu-difference-0123abcd.json
  python -m cuzk_fuzz minimise fuzz-out/msm-msm-toy_g1-emu-difference-0123abcd.json
  python -m cuzk_fuzz table
  python -m cuzk_fuzz smoke --seconds 20
  python -m cuzk_fuzz mutants --sample 40 --seed 1

exit codes: 0 nothing found, 1 a finding, a missing edge class or a surviving mutant, 2 bad usage or input,
3 the device or the compiler failed"""


def _smoke(args: argparse.Namespace) -> int:
    targets = [get_target(name) for name in args.target or TARGETS]
    found = smoke(targets, args.seconds, seed=args.seed, least=args.min_hits)
    say(report.table([report.COLUMNS, *map(report.result_row, found.results)]))
    write_json(args.json, found.to_json())
    for target, missing in found.missing.items():
        if missing:
            say(f"{target}: hit fewer than {args.min_hits} times: {', '.join(missing)}")
    say_findings(found.results, args.out)
    say(f"{'passed' if found.passed else 'FAILED'} in {found.seconds:.1f} s")
    return DONE if found.passed else FOUND


def _replay(args: argparse.Namespace) -> int:
    finding = load(args.finding)
    outcome = check(finding)
    say(f"{finding.bucket}: {outcome.describe()}")
    return DONE if outcome.agrees else FOUND


def _minimise(args: argparse.Namespace) -> int:
    finding = load(args.finding)
    smallest = minimise(finding, seconds=args.seconds)
    path = smallest.save(args.out or args.finding.parent)
    say(f"size {finding.batch.size} -> {smallest.batch.size}: {smallest.outcome.describe()}\n  {path}")
    return FOUND


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cuzk_fuzz",
        description="Differential fuzzing of the kernels, the prover and the file readers against the oracles.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run_command.add_parser(commands)
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
    merge.add_parser(commands)
    report_command.add_parser(commands)
    table_command.add_parser(commands)
    sensitivity.add_parser(commands)
    mutants.add_parser(commands)
    quick.add_argument("--json", type=Path, help="write the results there as JSON")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    args = _parser().parse_args(argv)
    try:
        code: int = args.do(args)
    except BlindHarnessError as error:
        say(f"FAILED: {error}")
        return FOUND
    except (ValueError, OSError) as error:
        say(f"error: {error}")
        return error.exit_code if isinstance(error, CuzkError) else USAGE
    except (CuzkError, RuntimeError) as error:
        say(f"error: {error}")
        return BROKEN
    return code
