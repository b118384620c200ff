"""``python -m cuzk_fuzz.mutation.python_command``: small faults in the prover's Python.

Batches of the fuzz targets and the project's own tests look at each where they enter the line (python_reach.py), from
a checkout's root. The record keeps what was judged, and the file beside it what each check enters; the same command
goes on where it stopped, and forgets lines that have changed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import random
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

import pytest

from cuzk_fuzz.mutation.equivalents import Equivalent, load_equivalents
from cuzk_fuzz.mutation.operators import Mutant
from cuzk_fuzz.mutation.python_code import (
    draw_checks,
    failure,
    forked,
    limit_memory,
    limit_time,
    source_of,
    swap,
)
from cuzk_fuzz.mutation.python_modules import FIRST, MODULES, ONLY, SECOND
from cuzk_fuzz.mutation.python_operators import mutants_of_python
from cuzk_fuzz.mutation.python_reach import Check, Chooser, recorded, seen_by
from cuzk_fuzz.mutation.python_tests import all_files, failing, with_tests

#: Mutants that change no answer, each with the reason.
REVIEWED = Path(__file__).parents[1] / "equivalent_python.toml"
#: Operators that no test was written against; their score is told apart.
HELD_OUT = ("negation", "logic")


#: What --modules takes.
_LISTS = {"all": MODULES, "first": FIRST, "second": SECOND}


def all_mutants(modules: Sequence[str]) -> list[tuple[str, Mutant]]:
    """Every mutant of some modules."""
    return [(module, m) for module in modules for m in _mutants_of(module)]


def _mutants_of(module: str) -> list[Mutant]:
    source = source_of(module)[1]
    found = mutants_of_python(module, source)
    if module not in ONLY:
        return found
    wanted = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name in ONLY[module]
    ]
    return [mutant for mutant in found if any(mutant.line in lines for lines in wanted)]


def is_entry(entry: Equivalent, mutant: Mutant) -> bool:
    """Whether a mutant is the reviewed one: its lines to the letter, since // is no comment here."""
    lines = entry.header, entry.line.strip(), entry.mutant.strip()
    return lines == (mutant.header, mutant.original.strip(), mutant.mutated.strip())


def judge(module: str, mutant: Mutant, chooser: Chooser) -> tuple[str, str]:
    """A verdict as the headers' mutants have, and how it came about."""
    _, source = source_of(module)
    altered = mutant.apply(source)
    try:
        if ast.dump(ast.parse(altered)) == ast.dump(ast.parse(source)):
            return "same as the original", ""
    except SyntaxError:
        return "not compiling", ""
    for entry in load_equivalents(REVIEWED):
        if is_entry(entry, mutant):
            return "equivalent", entry.proof
    while checks := chooser.checks_of(module, mutant.line):
        how = forked(partial(_look, module, altered, checks))
        if not how:
            return "survived", f"{len(checks)} checks see nothing"
        if chooser.learn(module, how, lambda check: forked(partial(_look, module, source, [check]))):
            return "killed", how
    return "survived", "no check enters the line"


def _look(module: str, altered: str, checks: Sequence[Check], note: Callable[[str], None]) -> str:
    """In a child process: what the checks see of an altered module."""

    def before(check: Check) -> None:
        note(check.name)
        limit_time(5 + 5 * check.seconds)

    limit_memory()
    limit_time(20)
    try:
        swap(importlib.import_module(module), altered)
    except BaseException as error:  # noqa: BLE001 - SystemExit too
        return f"{type(error).__name__} while it is imported"
    return seen_by(checks, before)


def all_checks(seed: int, items: Sequence[pytest.Item]) -> list[Check]:
    """Batches of the fuzz targets, and tests."""
    batches = [
        Check(f"{one[1].target} on {one[0]} #{number}", f"seed {seed}", partial(failure, one))
        for number, one in enumerate(draw_checks(seed))
    ]
    return batches + [Check(item.nodeid, _version(item.path), partial(_said, item)) for item in items]


@cache
def _version(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"


def _said(item: pytest.Item) -> str:
    return "fails" if failing(item) else ""


def summary(verdicts: dict[str, list[Any]], generated: int) -> str:
    """Denominators and scores, held-out operators apart."""
    counts = Counter(verdict for verdict, *_ in verdicts.values())
    lines = [f"{generated} mutants generated, {len(verdicts)} judged: {dict(counts)}"]
    for title, wanted in (("all operators", None), ("held-out operators", HELD_OUT)):
        kept = [v[0] for name, v in verdicts.items() if wanted is None or name.split(":")[3] in wanted]
        distinct = sum(v in ("killed", "survived") for v in kept)
        killed = kept.count("killed")
        lines.append(
            f"{title}: {killed} of {distinct} killed" + (f": {killed / distinct:.1%}" if distinct else "")
        )
    by_tests = sum(v[0] == "killed" and "tests/" in v[1] for v in verdicts.values())
    lines.append(
        f"{by_tests} of the killed by a test, the others by a batch of a fuzz target, whichever came first"
    )
    return "\n".join(lines)


def _outdated(stored: dict[str, list[Any]], mutant: Mutant) -> bool:
    """Whether a mutant is yet to be judged: never met, or its line has changed."""
    return mutant.name not in stored or stored[mutant.name][2] != mutant.original


def main(argv: Sequence[str] | None = None) -> int:
    """Judge a sample; 1 where one survives."""
    parser = argparse.ArgumentParser(prog="python -m cuzk_fuzz.mutation.python_command", description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="so many, in a seeded order (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the order and of the checks (default: 0)")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="every N-th of them, from the I-th")
    parser.add_argument(
        "--modules", default="all", help="all, first, second, or names with commas (default: all)"
    )
    parser.add_argument("--seconds", type=float, help="begin no further mutant after so long")
    parser.add_argument("--targets-only", action="store_true", help="leave the project's own tests out")
    parser.add_argument("--record", type=Path, default=Path("python-mutants.json"))
    args = parser.parse_args(argv)
    mutants = all_mutants(_LISTS.get(args.modules) or args.modules.split(","))
    random.Random(args.seed).shuffle(mutants)
    own, parts = map(int, args.shard.split("/"))
    chosen = mutants[: args.sample][own::parts]
    stored = json.loads(args.record.read_text()) if args.record.exists() else {}
    fresh = [(module, mutant) for module, mutant in chosen if _outdated(stored, mutant)]
    run = Run(args.record, stored, args.seconds, sys.stdout)
    if fresh and args.targets_only:
        run.judge_all(fresh, args.seed, [])
    elif fresh:
        with_tests(all_files(), lambda items: run.judge_all(fresh, args.seed, items))
    verdicts = {m.name: stored[m.name] for _, m in chosen if not _outdated(stored, m)}
    for _, mutant in chosen:
        if verdicts.get(mutant.name, [""])[0] == "survived":
            sys.stdout.write(
                f"SURVIVED {mutant.name}\n    {mutant.original.strip()}\n    {mutant.mutated.strip()}\n"
            )
    sys.stdout.write(summary(verdicts, len(mutants)) + "\n")
    return 1 if any(v[0] == "survived" for v in verdicts.values()) else 0


class Run:
    """The judging of some mutants, into a record.

    Args:
        record: File that is written after each.
        stored: What it holds.
        seconds: No mutant is begun later than this; None: all are judged.
        out: Where progress goes.
    """

    def __init__(
        self, record: Path, stored: dict[str, list[Any]], seconds: float | None, out: TextIO
    ) -> None:
        self.record, self.stored, self.seconds, self.out = record, stored, seconds, out

    def judge_all(self, fresh: Sequence[tuple[str, Mutant]], seed: int, items: Sequence[pytest.Item]) -> None:
        """Judge them in their order."""
        began = time.monotonic()
        chooser = Chooser(recorded(all_checks(seed, items), MODULES, self.record.with_suffix(".reach")))
        self._say(f"{len(chooser.checks)} checks recorded in {time.monotonic() - began:.0f} s")
        began = time.monotonic()
        for number, (module, mutant) in enumerate(fresh):
            started = time.monotonic()
            if self.seconds is not None and started - began > self.seconds:
                self._say(f"out of time after {number} of {len(fresh)}")
                return
            verdict = judge(module, mutant, chooser)
            self.stored[mutant.name] = [*verdict, mutant.original, round(time.monotonic() - started, 2)]
            self.record.write_text(json.dumps(self.stored, indent=1) + "\n")
            if verdict[0] == "survived":
                self._say(f"survives: {mutant.name}")

    def _say(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()


if __name__ == "__main__":
    sys.exit(main())
