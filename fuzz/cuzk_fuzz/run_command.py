"""``python -m cuzk_fuzz run``: campaigns on one or several targets, in this process, in many, or on many machines."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cuzk_fuzz import corpus, engine_atheris, fleet, native_coverage, report
from cuzk_fuzz.commands import DONE, FOUND, Progress, say, say_findings, write_json
from cuzk_fuzz.engine import Budget, Campaign, Result, demand_comparisons
from cuzk_fuzz.registry import TARGETS, get_target
from cuzk_fuzz.worker import Settings

#: Seconds of a campaign for which neither time nor cases were given.
_USUAL_SECONDS = 30.0


def add_parser(commands: Any) -> None:
    """Add the command to the others."""
    run = commands.add_parser("run", help="a campaign on one target or several")
    run.add_argument("target", nargs="+", choices=[*TARGETS, "all"], metavar="TARGET",
                     help=f"all, or some of {', '.join(TARGETS)}")  # fmt: skip
    run.add_argument(
        "--seconds", type=float, help="time limit a target (30 where --cases is not given either)"
    )
    run.add_argument("--cases", type=int, help="number of cases a target after which to stop")
    run.add_argument("--device", default="cpu", help="cpu, emu, cuda or cuda:N (default: cpu)")
    run.add_argument("--seed", type=int, default=0, help="seed of choices and schedules (default: 0)")
    run.add_argument("--engine", choices=("auto", "atheris", "generator"), default="auto",
                     help="auto: atheris where it is installed, except on cuda; else the generator")  # fmt: skip
    run.add_argument("--workers", type=int, default=1, metavar="N", help="processes a target (default: 1)")
    run.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                     help="processes at a time (default: cores)")  # fmt: skip
    run.add_argument("--isolate", action="store_true",
                     help="run in processes of their own even with one worker: a crash becomes a finding, and the "
                     "campaign goes on (always so on cuda)")  # fmt: skip
    run.add_argument("--resume", type=Path, metavar="DIR",
                     help="keep the state of the workers there, and go on where it says")  # fmt: skip
    run.add_argument(
        "--ray", metavar="ADDRESS", help="run on the machines of a Ray cluster ('auto': the local one)"
    )
    run.add_argument("--corpus", type=Path, help="folder of batches to start from and to add to")
    run.add_argument(
        "--out", type=Path, default=Path("fuzz-out"), help="where findings go (default: fuzz-out)"
    )
    run.add_argument(
        "--status", type=Path, metavar="FILE", help="tell there, as JSON, how far the campaign is"
    )
    run.add_argument(
        "--findings", type=int, default=1, help="different findings a worker after which to stop (default: 1)"
    )
    run.add_argument("--log-size", type=int, metavar="K", help="longest inputs of `identities`: 2^K")
    run.add_argument("--native-coverage", action="store_true",
                     help="count the kernels' own edges too: compiles them with clang (emu, atheris)")  # fmt: skip
    run.add_argument("--heavy", action="store_true", help="also draw settings that cost seconds a case")
    run.add_argument("--json", type=Path, help="write the results there as JSON")
    run.set_defaults(do=run_command)


def targets_of(names: Sequence[str]) -> list[str]:
    """Names of targets; `all` stands for every one."""
    return list(TARGETS) if "all" in names else list(dict.fromkeys(names))


def run_command(args: argparse.Namespace) -> int:
    """Run the command; 1 where something was found."""
    names = targets_of(args.target)
    if args.workers < 1 or args.at_once < 1:
        raise ValueError(f"{args.workers} workers, {args.at_once} at once; at least 1 of each")
    if args.ray is not None:
        from cuzk_fuzz import ray_fleet

        results = ray_fleet.run(args.ray, names, _base(args, Path()), args.workers)
    elif _in_this_process(args, names):
        results = [_alone(args, names[0])]
    else:
        results = _many(args, names)
    demand_comparisons(results)
    results = fleet.merged(results)
    say(report.table([report.COLUMNS, *map(report.result_row, results)]))
    for result in results:
        if len(results) == 1:
            for line in report.class_lines(result.hits):
                say(line)
        missing = sorted(i for i in get_target(result.target).required if not result.hits[i])
        if missing:
            say(f"{result.target}: not hit: {', '.join(missing)}")
    data = [result.to_json() for result in results]
    write_json(args.json, data[0] if len(data) == 1 else {"results": data})
    return FOUND if say_findings(results, args.out) else DONE


def engine_of(args: argparse.Namespace) -> str:
    """Who makes the bytes."""
    if args.engine != "auto":
        return str(args.engine)
    return "atheris" if engine_atheris.available() and not args.device.startswith("cuda") else "generator"


def _in_this_process(args: argparse.Namespace, names: Sequence[str]) -> bool:
    """Whether a campaign needs nobody to watch it."""
    watched = args.workers > 1 or len(names) > 1 or args.isolate or args.resume or args.status
    watched = watched or args.native_coverage
    return not watched and engine_of(args) == "generator" and not args.device.startswith("cuda")


def _base(args: argparse.Namespace, folder: Path) -> Settings:
    seconds = args.seconds if args.seconds or args.cases else _USUAL_SECONDS
    return Settings(
        name="", target="", device=args.device, seed=args.seed, engine=engine_of(args), seconds=seconds,
        cases=args.cases, folder=str(folder.resolve()), findings=str(args.out.resolve()),
        corpus=None if args.corpus is None else str(args.corpus.resolve()), most_findings=args.findings,
        log_large=args.log_size, heavy=args.heavy,
    )  # fmt: skip


def _many(args: argparse.Namespace, names: Sequence[str]) -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="cuzk_fuzz_") as scratch:
        base = _base(args, args.resume or Path(scratch))
        settings = fleet.plan(names, base, args.workers, share=len(names) > 1)
        if args.native_coverage:
            if base.device != "emu" or base.engine != "atheris":
                raise ValueError("--native-coverage needs --device emu and atheris (--engine atheris)")
            settings = [replace(one, opener=native_coverage.opener_of(one.target)) for one in settings]
        return fleet.Fleet(settings, args.at_once, args.status, Progress()).run()


def _alone(args: argparse.Namespace, name: str) -> Result:
    """The seeded generator in this process; a batch of a new kind goes to the corpus."""
    seconds = args.seconds if args.seconds or args.cases else _USUAL_SECONDS
    campaign = Campaign(
        get_target(name), args.device, seed=args.seed, most_findings=args.findings, log_large=args.log_size,
        heavy=args.heavy,
    )  # fmt: skip
    budget = Budget(seconds, args.cases)
    if args.corpus is not None:
        corpus.run(campaign, args.corpus)
    clock = budget.clock()
    while not campaign.is_over and not budget.is_spent(clock, campaign.result.cases):
        data, is_new = campaign.guided()
        if is_new and args.corpus is not None:
            campaign.result.corpus_new += corpus.save(args.corpus, data)
    return campaign.result
