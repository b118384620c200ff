"""How many changes to circuits the tests see: changed coefficients and rows, and changed source of gadgets.

    python -m tests.circuits.mutants [--sample 200] [--seed S] [--module NAME]

Half of the sample are changed rows of compiled circuits: another coefficient, a sign, a variable, a term less, sides
exchanged, no row at all. A row of a piece is changed in all its instances, as a mistake in a gadget would. The hash
over all rows (tests/circuits/test_pins.py) sees each of them; counted is what witnesses see without it.

The other half are changes to the Python source of gadgets: constants, operators, arguments, statements left out. Each
runs in a process of its own against the cheap tests of the circuits that it can reach.

Changes that change nothing are listed with their reason in mutants_equivalent.py. Exit status: 0 all others were
caught, 1 some were not, which are printed.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import os
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Sequence
from types import ModuleType

from tests.circuits.mutants_checks import first_failure
from tests.circuits.mutants_equivalent import why_equivalent
from tests.circuits.mutants_source import MODULES, SourceMutant, mutants_of

_SECONDS, _BYTES = 120, 6 << 30
#: Modules that a process imports anew, with the mutant among them.
_FRESH = ("cuzk.circuits", "tests.circuits.test_", "tests.circuits.witnesses", "tests.circuits.sectors")


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from changed source."""

    def __init__(self, name: str, code: str) -> None:
        self._name, self._code = name, code

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for the changed module alone."""
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin="a mutant")

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(compile(self._code, f"<mutant of {self._name}>", "exec"), module.__dict__)


def _in_child(mutant: SourceMutant, code: str, out: int) -> None:
    """Import everything with a mutant, run the tests, write which one failed first."""
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    for name in [name for name in sys.modules if name.startswith(_FRESH)]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Changed(f"cuzk.circuits.{mutant.module}", code))
    os.write(out, (first_failure(mutant.module) or "").encode())


def caught_by(mutant: SourceMutant, code: str) -> str | None:
    """The test that fails with a mutant, or how its process ended; None where all pass."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _in_child(mutant, code, write)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if status:
        return f"its process ended with status {status}"
    return said or None


def _source_score(count: int, rng: random.Random, modules: Sequence[str]) -> tuple[int, list[str]]:
    """Run a sample of source mutants; how many there were, and those that were not caught."""
    survivors, by_test = [], Counter[str]()
    equivalent = 0
    pools = {module: rng.sample(found, len(found)) for module in modules if (found := mutants_of(module))}
    while by_test.total() < count and pools:
        module = rng.choice(list(pools))
        mutant = pools[module].pop()
        if not pools[module]:
            del pools[module]
        change, code = mutant.rendered()
        where = f"{mutant.module}:{mutant.line} in {mutant.function}: {change}"
        if why_equivalent(mutant.module, mutant.function, change):
            equivalent += 1
            continue
        caught = caught_by(mutant, code)
        if caught is None:
            survivors.append(where)
        by_test[(caught or "none").partition(":")[0].partition(".")[0]] += 1
        print(f"{'survives' if caught is None else 'caught'}  {where}  {caught or ''}", flush=True)
    ran = by_test.total()
    print(f"source: {ran - len(survivors)} of {ran} caught, {equivalent} drawn that change nothing")
    print("by file: " + ", ".join(f"{name} {number}" for name, number in by_test.most_common()))
    return ran, survivors


def _row_score(count: int, rng: random.Random) -> None:
    """Make a sample of changed rows; those that no witness shows."""
    from tests.circuits.mutants_rows import row_mutants

    missed = [f"{mutant}: {mutant.reason}" for mutant in row_mutants(count, rng) if not mutant.is_seen]
    print(f"rows: {count} of {count} change the hash, {count - len(missed)} are seen by witnesses alone")
    for mutant in missed:
        print(f"  by the hash alone: {mutant}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.circuits.mutants", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--sample", type=int, default=200, help="how many changes")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--module", choices=MODULES, help="only changes to the source of this one")
    options = parser.parse_args(arguments)
    rng, start = random.Random(options.seed), time.process_time()
    of_rows = 0 if options.module else options.sample // 2
    modules = [options.module] if options.module else MODULES
    # Before anything here starts threads, which a forked process would miss.
    of_source, survivors = _source_score(options.sample - of_rows, rng, modules)
    if of_rows:
        _row_score(of_rows, rng)
    used = time.process_time() - start + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    total = of_rows + of_source
    print(f"{total - len(survivors)} of {total} caught, {used:.0f} s of processor time")
    for survivor in survivors:
        print(f"not caught: {survivor}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
