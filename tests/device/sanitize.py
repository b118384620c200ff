"""Kernels under NVIDIA's compute-sanitizer: memcheck, racecheck, synccheck, initcheck on a subset of the cases.

python -m tests.device.sanitize [--tools memcheck,racecheck] [--cases toy,g1_bn254] [--sizes 257] [--json RESULT.json]

Each tool runs the cases of tests/device/cases.py in a process of its own (tests/device/smoke.py --separate: every array
is an allocation of its own, so that memcheck sees a write beside it).  A report of the tool, or bytes that differ from
the cpu's, fail.  Where the tool is missing or refuses the machine the run says so and counts as skipped.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

from tests.device import gpu
from tests.device.results import ROOT, Results, tree_digest

TOOLS = ("memcheck", "synccheck", "racecheck", "initcheck")
#: Both kinds of coordinates, every family of kernels, and limbs of 1, 4 and 6 words.
CASES = (
    "word",
    "field_bls12_381_fp",
    "fr_toy",
    "g1_toy",
    "g2_toy",
    "fr_bls12_381",
    "g1_bls12_381",
    "g2_bn254",
)
#: Options beside --tool: room between allocations, so that a write beside an array lands in none.
EXTRA = {"memcheck": ("--padding", "512"), "racecheck": ("--racecheck-report", "all")}
#: What the tool says where it can't work at all.
_REFUSALS = ("Device not supported", "not supported on this", "Unable to find injection", "LibraryNotLoaded")
_SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")


def find_tool() -> Path | None:
    """compute-sanitizer: on the path, in a CUDA toolkit, or from the wheel nvidia-cuda-sanitizer-api."""
    if found := shutil.which("compute-sanitizer"):
        return Path(found)
    wheels = {Path(path) / "nvidia" for path in (sysconfig.get_path("purelib"), *sys.path) if path}
    roots = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")), *Path("/usr/local").glob("cuda*"), *wheels]
    for root in roots:
        for hit in sorted(root.glob("**/compute-sanitizer")):
            if hit.is_file() and os.access(hit, os.X_OK):
                return hit
    return None


def run_tool(tool: Path, name: str, cases: str, sizes: str, timeout_s: float) -> dict[str, Any]:
    """One tool over the cases: outcome "clean", "reports", "differs", "refused" or "timeout"."""
    command = [
        str(tool), "--tool", name, *EXTRA.get(name, ()), "--error-exitcode", "99", "--print-limit", "20",
        sys.executable, "-m", "tests.device.smoke", "--device", "cuda", "--separate", "--only", cases, "--sizes", sizes,
    ]  # fmt: skip
    start = time.perf_counter()
    row: dict[str, Any] = {"tool": name, "cases": cases, "sizes": sizes}
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with the program under the tool
        text, _ = process.communicate()
        finished = text.count("same bytes")
        return row | {"outcome": "timeout", "seconds": timeout_s, "finished": finished, "log": text[-1500:]}
    errors = sum(int(a or b) for a, b in _SUMMARY.findall(text))
    row |= {"seconds": time.perf_counter() - start, "exit": process.returncode, "errors": errors}
    row["finished"] = text.count("same bytes")
    if any(phrase in text for phrase in _REFUSALS) or not _SUMMARY.search(text):
        return row | {"outcome": "refused", "log": text[-1500:]}
    if errors or process.returncode == 99:
        return row | {"outcome": "reports", "log": "\n".join(reports(text))[:12000]}
    fine = process.returncode == 0
    return row | {"outcome": "clean" if fine else "differs", "log": "" if fine else text[-1500:]}


def reports(text: str) -> list[str]:
    """The tool's own lines, without the progress of the program under it."""
    return [line for line in text.splitlines() if line.startswith("=========")]


def main() -> int:
    """Entry point; returns the exit code: 1 if a tool reports something."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--sizes", default="257")
    parser.add_argument("--budget-s", type=float, default=400)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reason, tool = gpu.why_none(), find_tool()
    if not reason and tool is None:
        reason = "compute-sanitizer is not installed: it comes with CUDA's toolkit, or as nvidia-cuda-sanitizer-api"
    if reason or tool is None:
        print(f"sanitizer skipped: {reason}")
        results = Results(options.json, {"skipped": reason, "tree": tree_digest()})
        results.finish()
        return 0
    results = Results(options.json, {"tool": str(tool), "tree": tree_digest()})
    clock, names = gpu.Clock(options.budget_s), options.tools.split(",")
    for i, name in enumerate(names):
        share = clock.left_s / (len(names) - i)
        row = {"tool": name, "outcome": "timeout", "seconds": 0.0} if share < 10 else None
        row = row or run_tool(tool, name, options.cases, options.sizes, share)
        results.add(row)
        print(
            f"{name:10} {row['outcome']:8} {row['seconds']:6.1f} s, {row.get('finished', 0)} cases finished",
            flush=True,
        )
        if row.get("log"):
            print(row["log"][-3000:], flush=True)
    results.finish()
    return int(any(is_bad(row) for row in results.data["rows"]))


def is_bad(row: dict[str, Any]) -> bool:
    """Whether a tool reported something, or had no time to look at a single case."""
    return row["outcome"] in ("reports", "differs") or (
        row["outcome"] == "timeout" and not row.get("finished")
    )


if __name__ == "__main__":
    raise SystemExit(main())
