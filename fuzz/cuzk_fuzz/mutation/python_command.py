"""``python -m cuzk_fuzz.mutation.python_command``: small faults in the prover's Python.

Fuzz targets look at each first, then the project's own tests of the module (python_tests.py), from a checkout's root.
The record keeps what was judged; the same command goes on where it stopped, and forgets lines that have changed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cuzk_fuzz.mutation.equivalents import Equivalent, load_equivalents
from cuzk_fuzz.mutation.operators import Mutant
from cuzk_fuzz.mutation.python_code import Checks, draw_checks, outcome, source_of
from cuzk_fuzz.mutation.python_operators import mutants_of_python
from cuzk_fuzz.mutation.python_tests import first_failing, load_tests

#: Where every value of a proof is made.  Plans, memory, streams, threads, telemetry and messages change no byte of it:
#: other tests look at those.
MODULES = tuple(
    [f"cuzk.groth16.{name}" for name in ("assemble", "commit", "evaluate", "fold", "quotient", "setup")]
    + [f"cuzk.ops.{name}" for name in (
        "batch_add", "classify", "domain", "fixed_base", "fr_vec", "lagrange", "msm", "ntt", "points", "power_tables",
        "scan", "spmv", "sums",
    )]
)  # fmt: skip
#: Mutants that change no answer, each with the reason.
REVIEWED = Path(__file__).parents[1] / "equivalent_python.toml"
#: Operators that no test was written against; their score is told apart.
HELD_OUT = ("negation", "logic")


Tests = Callable[[str], str] | None


def all_mutants(modules: Sequence[str]) -> list[tuple[str, Mutant]]:
    """Every mutant of some modules."""
    return [(module, m) for module in modules for m in mutants_of_python(module, source_of(module)[1])]


def is_entry(entry: Equivalent, mutant: Mutant) -> bool:
    """Whether a mutant is the reviewed one: its lines to the letter, since // is no comment here."""
    lines = entry.header, entry.line.strip(), entry.mutant.strip()
    return lines == (mutant.header, mutant.original.strip(), mutant.mutated.strip())


def judge(module: str, mutant: Mutant, checks: Checks, tests: Tests = None) -> tuple[str, str]:
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
    how = outcome(module, altered, checks, tests)
    if how.startswith("tests/"):
        refuse_unsound(module, tests)
    return ("killed", how) if how else ("survived", "")


@cache
def refuse_unsound(module: str, tests: Tests) -> None:
    """Raise RuntimeError where the tests fail on a module as it is: every mutant would count as killed."""
    if said := outcome(module, source_of(module)[1], [], tests):
        raise RuntimeError(f"{module} fails without a fault in it: {said}")


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
    by_tests = sum(v[0] == "killed" and v[1].startswith("tests/") for v in verdicts.values())
    lines.append(f"{by_tests} of the killed by tests alone, the others by fuzz targets")
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
    parser.add_argument("--targets-only", action="store_true", help="leave the project's own tests out")
    parser.add_argument("--record", type=Path, default=Path("python-mutants.json"))
    args = parser.parse_args(argv)
    mutants = all_mutants(MODULES)
    random.Random(args.seed).shuffle(mutants)
    own, parts = map(int, args.shard.split("/"))
    chosen = mutants[: args.sample][own::parts]
    stored = json.loads(args.record.read_text()) if args.record.exists() else {}
    checks, verdicts = draw_checks(args.seed), {}
    tests = None if args.targets_only else first_failing
    fresh = sorted({module for module, mutant in chosen if _outdated(stored, mutant)})
    if tests is not None:
        load_tests(fresh)
    for module, mutant in chosen:
        if _outdated(stored, mutant):
            started = time.monotonic()
            verdict = judge(module, mutant, checks, tests)
            stored[mutant.name] = [*verdict, mutant.original, round(time.monotonic() - started, 2)]
            args.record.write_text(json.dumps(stored, indent=1) + "\n")
        verdicts[mutant.name] = old = stored[mutant.name]
        if old[0] == "survived":
            sys.stdout.write(
                f"SURVIVED {mutant.name}\n    {mutant.original.strip()}\n    {mutant.mutated.strip()}\n"
            )
            sys.stdout.flush()
    sys.stdout.write(summary(verdicts, len(mutants)) + "\n")
    return 1 if any(v[0] == "survived" for v in verdicts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
