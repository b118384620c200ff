"""Run all checks of cases.py over a tree of circuit folders and print a table.

    python -m tests.interop.run [--snarkjs PATH] [FIXTURES_DIR]

Run it in the repository's root. Without --snarkjs the npm package is installed into a temporary folder.
FIXTURES_DIR holds CURVE/NAME folders; by default it is tests/data. The exit status is 1 if any check fails.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.interop.cases import CHECKS, SNARKJS_PACKAGE, Case, CheckFailedError, applies, find_folders

DATA = Path(__file__).resolve().parents[1] / "data"


def install_snarkjs(folder: Path) -> Path:
    """Install the npm package into a folder; returns the path of its program."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), SNARKJS_PACKAGE]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "node_modules" / ".bin" / "snarkjs"


def run_case(case: Case, failures: list[str]) -> str:
    """Run every check that applies to a case; one line of the table, failures noted on the side."""
    cells = []
    for name, check in CHECKS.items():
        if not applies(name, case):
            cells.append("-".ljust(14))
            continue
        start = time.perf_counter()
        try:
            check(case)
            verdict = "ok"
        except (CheckFailedError, subprocess.TimeoutExpired) as error:
            verdict = "FAIL"
            failures.append(f"{case.title} {name}: {error}")
        cells.append(f"{verdict} {time.perf_counter() - start:.1f} s".ljust(14))
    return f"{case.title:26} {case.num_constraints:>11}  {''.join(cells)}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="Check cuzk against snarkjs, both ways.")
    parser.add_argument("fixtures", nargs="?", type=Path, default=DATA, metavar="FIXTURES_DIR")
    parser.add_argument("--snarkjs", type=Path, help="path of the snarkjs program; installed if left out")
    options = parser.parse_args()
    folders = find_folders(options.fixtures.resolve())
    if not folders:
        parser.error(f"no CURVE/NAME folders with a NAME.r1cs under {options.fixtures}")
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        snarkjs = options.snarkjs or install_snarkjs(Path(scratch) / "npm")
        print(f"{'folder':26} {'constraints':>11}  {''.join(name.ljust(14) for name in CHECKS)}", flush=True)
        for i, folder in enumerate(folders):
            work = Path(scratch) / str(i)
            work.mkdir()
            print(run_case(Case(folder, work, snarkjs.resolve()), failures), flush=True)
    print("\n".join(["", *failures]) if failures else "\nAll checks passed.")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
