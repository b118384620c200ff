"""``python -m cuzk_fuzz mutants``: how many faults in the kernels the differential targets see."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from cuzk_fuzz.mutation.build import KERNELS
from cuzk_fuzz.mutation.equivalents import load_equivalents, stale
from cuzk_fuzz.mutation.operators import GPU_OPERATORS, HELD_OUT, mutants_of
from cuzk_fuzz.mutation.plans import DEFAULT_HEADERS, GROUPS, PLANS
from cuzk_fuzz.mutation.score import VERDICTS, Score, Verdict
from cuzk_fuzz.mutation.scoring import Order, score_headers

DONE, FOUND = 0, 1


def add_parser(commands: Any) -> None:
    """Add the command to the others."""
    parser = commands.add_parser(
        "mutants", help="put small faults into kernel headers and see whether they are found"
    )
    parser.add_argument("--header", action="append", choices=[*PLANS, *GROUPS], metavar="HEADER",
                        help=f"headers to mutate, or groups of them: {', '.join(GROUPS)} "
                        f"(default: {', '.join(DEFAULT_HEADERS)})")  # fmt: skip
    parser.add_argument(
        "--operator", action="append", default=[], help="only mutants of these kinds, or 'gpu', 'held-out'"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants in a seeded order (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="order of the sample (default: 0)")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="every N-th of them, from the I-th")
    parser.add_argument("--record", type=Path, metavar="FILE",
                        help="keep every verdict there; the same command goes on where it stopped")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)),
                        help="survivors of the first look that are compiled at a time")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the mutants and compile none")
    parser.add_argument("--json", type=Path, help="write the verdicts there as JSON")
    parser.set_defaults(do=run)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _tell(verdict: Verdict) -> None:
    if verdict.verdict in ("survived", "equivalent") or verdict.content is not None:
        _say(f"{verdict.verdict:10}  {verdict.mutant.name}  {verdict.how}")


def summary(score: Score) -> str:
    """Denominators and score."""
    lines = [f"{score.generated} mutants generated, {len(score.verdicts)} examined in {score.seconds:.0f} s"]
    lines += [f"  {score.counts[name]:5}  {name}" for name in VERDICTS]
    lines.append(
        f"score: {score.counts['killed']} of {score.distinct - score.counts['equivalent']} distinct mutants that are "
        f"not equivalent are killed: {score.score:.1%} (95%: {score.bounds[0]:.1%} to {score.bounds[1]:.1%})"
    )
    for title, names in (("faults of threads", GPU_OPERATORS), ("held-out operators", HELD_OUT)):
        part = Score(0, [v for v in score.verdicts if v.mutant.operator in names])
        if part.distinct:
            meant = part.distinct - part.counts["equivalent"]
            lines.append(f"  {title}: {part.counts['killed']} of {meant}: {part.score:.1%}")
    return "\n".join(lines)


def _operators(given: list[str]) -> list[str]:
    """Names of operators, groups of them spelt out."""
    groups = {"gpu": GPU_OPERATORS, "held-out": HELD_OUT}
    return [name for one in given for name in groups.get(one, (one,))]


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 where a mutant survives that is not on the reviewed list, or the list is stale."""
    headers = [h for given in args.header or DEFAULT_HEADERS for h in GROUPS.get(given, (given,))]
    mutants = {header: mutants_of(header, (KERNELS / header).read_text()) for header in PLANS}
    operators = _operators(args.operator)
    if args.list:
        for header in headers:
            for mutant in (m for m in mutants[header] if not operators or m.operator in operators):
                _say(f"{mutant.name}\n    {mutant.original.strip()}\n    {mutant.mutated.strip()}")
        return DONE
    gone = stale(load_equivalents(), mutants)
    for entry in gone:
        _say(f"equivalent.toml: {entry.header} has no mutant {entry.mutant!r} any more")
    own, parts = map(int, args.shard.split("/"))
    order = Order(headers, operators, args.sample, args.seed, (own, parts))
    score = score_headers(order, jobs=max(1, args.jobs), record=args.record, on_verdict=_tell)
    _say(summary(score))
    for verdict in score.survivors:
        mutant = verdict.mutant
        _say(f"SURVIVED {mutant.name}\n    {mutant.original.strip()}\n    {mutant.mutated.strip()}")
    if args.json is not None:
        args.json.write_text(json.dumps(score.to_json(), indent=1) + "\n")
    return FOUND if score.survivors or gone else DONE
