"""``python -m cuzk_fuzz.mutation.stored FILE``: scores of a stored run of mutants, counted again from its verdicts.

A verdict there is (name, verdict, what saw it, what came of it): of a survivor that was reviewed afterwards
`equivalent`, `no longer drawn`, `killed since` or `open`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from cuzk_fuzz.mutation.operators import GPU_OPERATORS
from cuzk_fuzz.mutation.score import interval

#: What came of survivors that are no faults.
_NONE = ("equivalent", "no longer drawn")

Row = Sequence[str]


def scores(rows: Sequence[Row]) -> dict[str, tuple[int, int]]:
    """Killed, of how many: as drawn, without what was reviewed afterwards, and with what was added for survivors."""
    came = Counter((verdict, after) for _, verdict, _, after in rows)
    killed = sum(n for (verdict, _), n in came.items() if verdict == "killed")
    drawn = killed + sum(n for (verdict, _), n in came.items() if verdict == "survived")
    meant = drawn - sum(came["survived", after] for after in _NONE)
    since = killed + came["survived", "killed since"]
    return {"as drawn": (killed, drawn), "without those reviewed": (killed, meant), "by now": (since, meant)}


def lines_of(data: Mapping[str, Mapping[str, Sequence[Row]]]) -> list[str]:
    """All mutants of each group, and those of threads alone."""
    lines = []
    for group, run in data.items():
        of_threads = [row for row in run["verdicts"] if row[0].split(":")[3] in GPU_OPERATORS]
        for what, rows in ((group, run["verdicts"]), (f"{group}, faults of threads", of_threads)):
            for name, (killed, meant) in scores(rows).items():
                low, high = interval(killed, meant)
                lines.append(
                    f"{what}, {name}: {killed} of {meant}, {killed / meant:.1%} ({low:.1%} to {high:.1%})"
                )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print them."""
    parser = argparse.ArgumentParser(prog="python -m cuzk_fuzz.mutation.stored", description=__doc__)
    parser.add_argument("file", type=Path)
    data = json.loads(parser.parse_args(arguments).file.read_text("utf-8"))
    sys.stdout.write("".join(f"{line}\n" for line in lines_of(data)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
