"""Runs the parts of the device suite that have not finished yet for this tree, each in a process of its own.

python -m tests.device.suite --out DIR [--budget-s 520] [--again] [--list] [part...]

State is kept under build/device-run/TREE (TREE: digest of the sources), so a later call goes on where one stopped: a
part that passed is not run again, one made of tests leaves out the tests that passed.  After every part DIR/suite.json
holds all results so far and DIR/suite.log what the parts printed.  Exit code 1 if a part failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.device import gpu
from tests.device.plugin import passed
from tests.device.results import ROOT, UNFINISHED, tree_digest, write_json

#: Exit codes of pytest that are no failure: all passed, and nothing left to run.
_PYTEST_FINE = (0, 5)


@dataclass(frozen=True)
class Part:
    """One part.

    Args:
        name: For the command line.
        command: Arguments of Python; RESULT stands for the result file, SECONDS for the time it has, WORKERS for
            how many processes may share the GPU.
        most_s: Seconds it may take.
        least_s: With less time left it is not begun.
    """

    name: str
    command: str
    most_s: int
    least_s: int

    @property
    def is_pytest(self) -> bool:
        """Whether its results are a line per test."""
        return self.command.startswith("-m pytest")

    def result(self, state: Path) -> Path:
        """Its result file."""
        return state / f"{self.name}.{'jsonl' if self.is_pytest else 'json'}"


_PYTEST = "-m pytest -q -p tests.device.plugin --record RESULT --maxfail 25 -W default --continue-on-collection-errors"
_REGRESSIONS = " ".join(
    f"tests/regressions/test_{name}.py" for name in ("SYN_gpu_sync", "MEM_gpu_memory", "TLC_toolchain")
)
#: What runs on the emulator, on the GPU; the pairing is no kernel.
_ON_GPU = '--on-device cuda -n 6 -m "device or not device" --ignore tests/kernels/test_pairing_bn254.py'
_SCRIPT = "--json RESULT --budget-s SECONDS"
PARTS = (
    Part("kernels", "-m tests.device.smoke --against cpu,emu --json RESULT", 240, 60),
    Part("checks", f"{_PYTEST} -n WORKERS -m device tests/device", 400, 60),
    Part("regressions", f"{_PYTEST} -m device {_REGRESSIONS}", 240, 40),
    Part("oracles", f"{_PYTEST} {_ON_GPU} tests/kernels tests/prover", 300, 60),
    Part("sanitizer", f"-m tests.device.sanitize {_SCRIPT}", 400, 60),
    Part("device-layer", "-m tests.device.device_layer --json RESULT", 240, 60),
    Part("timings", f"-m tests.device.timings {_SCRIPT}", 300, 30),
    Part("synthesis", f"-m tests.device.synthesis {_SCRIPT}", 480, 60),
    Part("ladder", f"-m tests.device.ladder {_SCRIPT}", 480, 60),
    Part("ladder-file", f"-m tests.device.ladder --circuits porep:512MiB --folder build {_SCRIPT}", 240, 60),
    Part("porep-32gib", f"-m tests.device.ladder --circuits porep:32GiB {_SCRIPT}", 520, 320),
    Part(
        "porep-32gib-file",
        f"-m tests.device.ladder --circuits porep:32GiB --folder build {_SCRIPT}",
        530,
        480,
    ),
    Part("engine", f"-m tests.device.engine {_SCRIPT}", 530, 300),
    Part(
        "engine-x2",
        f"-m tests.device.engine --gpus 2 --steps setup,engine,engines --keep {_SCRIPT}",
        530,
        300,
    ),
    Part("engine-small", f"-m tests.device.engine --circuit porep:2KiB --steps small {_SCRIPT}", 200, 60),
    Part("engine-large", f"-m tests.device.engine --steps setup,large --keep {_SCRIPT}", 480, 150),
    Part("startup", "-m tests.device.startup --json RESULT", 120, 40),
    Part("proofs", f"-m tests.device.proofs --logs 22,24 {_SCRIPT}", 400, 60),
    Part("proofs-ladder", f"-m tests.device.proofs --logs 20,21,23 {_SCRIPT}", 400, 60),
    Part("proofs-25", f"-m tests.device.proofs --logs 25 {_SCRIPT}", 400, 150),
    Part("ledger", f"-m tests.device.ledger --log 20 {_SCRIPT}", 530, 60),
    Part("ledger-22", f"-m tests.device.ledger --log 22 --planted 12 --same 20 {_SCRIPT}", 400, 90),
    Part("proofs-dense", f"-m tests.device.proofs --logs 22,24 --dense {_SCRIPT}", 400, 60),
    Part("proofs-bn254", f"-m tests.device.proofs --logs 20,22 --curve bn254 {_SCRIPT}", 300, 60),
    Part(
        "variants",
        "-m tests.variants.covering --device cuda --curve bls12_381 --log 12 --json RESULT --budget-s SECONDS",
        500,
        120,
    ),
    Part(
        "campaign", "-m tests.ab.study --device cuda --circuits 4 --json RESULT --budget-s SECONDS", 520, 120
    ),
    Part("fuzz", f"-m tests.device.fuzz campaign --seconds 600 {_SCRIPT}", 530, 150),
    Part("classes", f"-m tests.device.fuzz classes --heavy {_SCRIPT}", 530, 200),
    Part("streaming", "-m tests.device.streaming --log 24 --limit 4GiB --json RESULT", 300, 150),
    Part(
        "streaming-26", "-m tests.device.streaming --log 26 --limit 14GiB --in-memory --json RESULT", 300, 200
    ),
)


def arguments(part: Part, state: Path, seconds: float) -> list[str]:
    """The command's words."""
    names = {"RESULT": str(part.result(state)), "SECONDS": f"{seconds:.0f}"}
    words = shlex.split(part.command)
    if "WORKERS" in words:
        names["WORKERS"] = str(gpu.workers())
    return [sys.executable, *(names.get(word, word) for word in words)]


def run(part: Part, state: Path, seconds: float) -> dict[str, Any]:
    """Run a part; its output goes to a log beside its result."""
    start, log = time.perf_counter(), state / f"{part.name}.log"
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            arguments(part, state, seconds - 10),
            cwd=ROOT,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=seconds)
            outcome = "passed" if code == 0 or (part.is_pytest and code in _PYTEST_FINE) else "failed"
            if code == UNFINISHED and not part.is_pytest:
                outcome = "unfinished"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with the workers and tools under it
            code, outcome = process.wait(), "unfinished"
    return {"outcome": outcome, "exit": code, "seconds": round(time.perf_counter() - start, 1)}


def results_of(part: Part, state: Path) -> Any:
    """What a part has written so far."""
    path = part.result(state)
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8")
    if not part.is_pytest:
        return json.loads(text)
    last = {row["test"]: row for row in map(json.loads, text.splitlines())}
    counts = Counter(row["outcome"] for row in last.values())
    return {"counts": counts, "not_passed": [row for row in last.values() if row["outcome"] != "passed"]}


def collect(state: Path, out: Path, done: dict[str, Any]) -> None:
    """Write all results and logs so far into the output folder."""
    out.mkdir(parents=True, exist_ok=True)
    parts = {
        p.name: {**done.get(p.name, {"outcome": "not run"}), "results": results_of(p, state)} for p in PARTS
    }
    head = {"tree": state.name, "gpu": gpu.gpu().name if not gpu.why_none() else gpu.why_none()}
    write_json(out / "suite.json", {**head, "parts": parts})
    logs = [(p.name, state / f"{p.name}.log") for p in PARTS]
    text = "".join(f"==== {name}\n{path.read_text(errors='replace')}" for name, path in logs if path.exists())
    (out / "suite.log").write_text(text[-12_000_000:], encoding="utf-8")


def summary(part: Part, state: Path, row: dict[str, Any]) -> str:
    """One line for a part."""
    text = f"{part.name:14} {row['outcome']:11} {row.get('seconds', 0):7.1f} s"
    if part.is_pytest and part.result(state).exists():
        text += f"  {len(passed(part.result(state)))} tests passed"
    return text


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help="which parts; all by default")
    parser.add_argument("--out", type=Path, default=Path("build/device-run/out"))
    parser.add_argument("--budget-s", type=float, default=520)
    parser.add_argument("--again", action="store_true", help="run parts that passed before, too")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{part.name:14} at most {part.most_s} s" for part in PARTS))
        return 0
    unknown = set(options.parts) - {part.name for part in PARTS}
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; see --list")
    if reason := gpu.why_none():
        print(f"device suite skipped: {reason}")
        return 0
    clock = gpu.Clock(options.budget_s)
    state = ROOT / "build" / "device-run" / tree_digest()
    state.mkdir(parents=True, exist_ok=True)
    done_file = state / "done.json"
    done: dict[str, Any] = json.loads(done_file.read_text()) if done_file.exists() else {}
    for part in PARTS:
        if options.parts and part.name not in options.parts:
            continue
        if done.get(part.name, {}).get("outcome") == "passed" and not options.again:
            print(f"{part.name:14} passed before", flush=True)
            continue
        if not clock.has(part.least_s):
            print(f"{part.name:14} not begun: {clock.left_s:.0f} s are left", flush=True)
            continue
        done[part.name] = run(part, state, min(part.most_s, clock.left_s - 5))
        write_json(done_file, done)
        collect(state, options.out, done)
        print(summary(part, state, done[part.name]), flush=True)
        if done[part.name]["outcome"] != "passed":
            print((state / f"{part.name}.log").read_text(errors="replace")[-2500:], flush=True)
    collect(state, options.out, done)
    bad = [name for name, row in done.items() if row["outcome"] == "failed"]
    print(
        f"result: {len(done)} parts run so far, failed: {', '.join(bad) or 'none'}; all in {options.out}/suite.json"
    )
    return int(bool(bad))


if __name__ == "__main__":
    os.chdir(ROOT)
    raise SystemExit(main())
