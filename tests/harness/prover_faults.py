"""``python -m tests.harness.prover_faults``: faults of the prover, by hand, and whether the general checks see them."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuzk_fuzz.mutation.python_code import Checks, draw_checks, outcome, source_of

from tests.harness.patching import PATCHES


@dataclass(frozen=True)
class ProverFault:
    """One fault.

    Attributes:
        id: Short name.
        module: Whose source is changed.
        what: In words.
        old, new: Text that stands in it exactly once, and what takes its place.
    """

    id: str
    module: str
    what: str
    old: str
    new: str

    def source(self) -> str:
        """The module's text with the fault in it.

        Raises:
            ValueError: It has the text not at all, or several times.
        """
        _, text = source_of(self.module)
        if text.count(self.old) != 1:
            raise ValueError(f"{self.id}: {self.module} has {text.count(self.old)} times the text to change")
        return text.replace(self.old, self.new)


def faults() -> list[ProverFault]:
    """All of them."""
    return [ProverFault(**entry) for entry in tomllib.loads((PATCHES / "prover.toml").read_text())["fault"]]


def judge(chosen: Sequence[ProverFault], checks: Checks) -> Iterator[tuple[ProverFault, str]]:
    """Each fault, and what sees it; empty where nothing does."""
    for fault in chosen:
        yield fault, outcome(fault.module, fault.source(), checks)


def main(argv: Sequence[str] | None = None) -> int:
    """Judge them all; 1 where one is not seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.prover_faults", description=__doc__)
    parser.add_argument("--only", action="append", metavar="ID")
    parser.add_argument("--seed", type=int, default=0, help="of the checks (default: 0)")
    parser.add_argument("--json", type=Path, help="write there what sees each")
    args = parser.parse_args(argv)
    chosen = [fault for fault in faults() if not args.only or fault.id in args.only]
    checks = draw_checks(args.seed)
    seen: dict[str, str] = {}
    for fault, how in judge(chosen, checks):
        seen[fault.id] = how
        sys.stdout.write(f"{'caught' if how else 'MISSED'}  {fault.id}: {fault.what}; {how}\n")
        sys.stdout.flush()
    caught = sum(map(bool, seen.values()))
    sys.stdout.write(f"{caught} of {len(chosen)} faults are caught\n")
    if args.json is not None:
        args.json.write_text(json.dumps(seen, indent=1) + "\n")
    return 0 if caught == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
