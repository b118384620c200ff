"""The gate as an instrument: false alarms on the same tree and on neutral edits, and what planted work it sees.

python -m tests.perf.campaign --out DIR [--runs 60] [--neutral 20] [--plants] [--build BUILD_DIR] [--budget-s N]

The tree is copied first, so that work in the checkout does not disturb.  A run is ``cuzk perf check --tier T1 --tier
T1h`` in a copy.  Neutral edits leave the work alone: unused text in modules, a folder and an environment of other
lengths, other orders of the object files in the link, a kernel that nothing calls (these two need --build, a finished
CMake/Ninja build folder).  Each run is a line of DIR/runs.jsonl; a later call goes on where one stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.cli.perf_instructions import HOST_WORKLOADS, count_instructions
from cuzk.perf import Ledger, Measured, Verdict, compare, rate_upper_bound, read_baseline
from cuzk.perf.baseline import Baseline
from tests.package_copy import copy_package

ROOT = Path(__file__).resolve().parents[2]
#: Slow-downs that are planted, as shares of a phase's instructions.
SHARES = (0.01, 0.02, 0.03, 0.05, 0.10)
#: What has to be caught, whatever phase it is in.
SURELY = 0.03
_KINDS = ("text", "link", "kernel", "path", "text", "link", "path", "text", "link", "text")
#: What the gate measures, and the object files that another kernel changes.
_MODULES = ("_cpu_v3", "_emu")
_RECOMPILED = ("_bn254_fr.dir", "_bls12_381_fr.dir", "source_digest.dir")
_KERNEL = """
/// A kernel that no workload launches: the campaign's neutral edit.
template <class Ex, class Fr>
CUZK_FN void fr_idle(Ex& ex, const FrBinaryArgs<Fr>& a) {
    for_range(ex, a.n, [&](u64 i) { a.out[i] = a.a[i] + a.b[i]; });
}
"""


def copy_tree(to: Path) -> Path:
    """Copy what the gate needs of the checkout."""
    to.mkdir(parents=True, exist_ok=True)
    copy_package(to)
    shutil.copytree(ROOT / "perf_baselines", to / "perf_baselines")
    return to


def run_gate(tree: Path, extra: dict[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """The gate's core in a tree; returns its exit code and its JSON."""
    words = [sys.executable, "-m", "cuzk", "perf", "check", "--tier", "T1", "--tier", "T1h", "--json"]
    env = {**os.environ, "PYTHONPATH": str(tree), **(extra or {})}
    done = subprocess.run(words, cwd=tree, env=env, capture_output=True, text=True, check=False)
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, {"error": done.stderr[-400:]}


def accept(tree: Path) -> None:
    """Make a tree's own figures its baseline."""
    words = ["perf", "accept", "--tier", "T1", "--tier", "T1h", "--toolchain", "--reason", "campaign"]
    subprocess.run(
        [sys.executable, "-m", "cuzk", *words],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        check=True,
    )


def edit_text(tree: Path, seed: int) -> None:
    """Unused functions and comments in a third of the modules: other line numbers, sizes and hashes of code."""
    rng = random.Random(seed)
    for path in sorted((tree / "cuzk").rglob("*.py")):
        if rng.random() < 1 / 3:
            text = path.read_text(encoding="utf-8")
            body = "".join(f"    x{i} = {rng.randrange(10**6)}\n" for i in range(rng.randrange(1, 30)))
            path.write_text(
                f"{text}\n\n# Nobody calls this.\ndef _idle_{seed}() -> None:\n{body}", encoding="utf-8"
            )


def commands_of(build: Path, module: str = _MODULES[0]) -> list[list[str]]:
    """The commands that make a module, the link last."""
    done = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", module], capture_output=True, text=True, check=True
    )
    lines = done.stdout.strip().splitlines()
    return [[word for word in shlex.split(line) if word not in (":", "&&")] for line in lines]


def sources_of(build: Path) -> str:
    """The checkout that a build folder compiles."""
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache, re.M)[1]  # type: ignore[index]


def link_again(
    tree: Path, build: Path, seed: int, other: Sequence[tuple[str, str]] = (), module: str = _MODULES[0]
) -> None:
    """Link a host module with its object files in another order.

    Args:
        tree: Gets the module.
        build: Folder with the objects.
        seed: Of the order.
        other: Objects to be taken from elsewhere: (name in the build folder, file).
        module: Which.
    """
    words, taken = commands_of(build, module)[-1], dict(other)
    objects = [taken.get(word, word) for word in words if word.endswith(".o")]
    random.Random(seed).shuffle(objects)
    order = iter(objects)
    words = [next(order) if word.endswith(".o") else word for word in words]
    target = words.index("-o") + 1
    words[target] = str(tree / "cuzk" / Path(words[target]).name)
    subprocess.run(words, cwd=build, check=True)


def add_kernel(tree: Path, build: Path, seed: int) -> None:
    """A kernel that nothing launches, compiled into the scalar families of both curves; then another link order.

    In every module that the gate measures, each with the digest of its new sources.
    """
    header = tree / "cuzk" / "kernels" / "fr_vec.cuh"
    text, row = header.read_text(encoding="utf-8"), "    X(fr_mul, FrBinaryArgs<Fr>, 256, 1)"
    place = text.index("\n#define CUZK_FR_VEC_KERNELS(X, Fr)")
    text = (
        text[:place]
        + _KERNEL
        + text[place:].replace(row, "    X(fr_idle, FrBinaryArgs<Fr>, 256, 1) \\\n" + row, 1)
    )
    header.write_text(text, encoding="utf-8")
    digest = tree / "source_digest.cpp"
    subprocess.run([sys.executable, tree / "cuzk" / "device" / "sources.py", digest], check=True)
    swaps = {str(Path(sources_of(build)) / "cuzk"): str(tree / "cuzk"), str(build / digest.name): str(digest)}
    for module in _MODULES:
        made: list[tuple[str, str]] = []
        for words in commands_of(build, module):
            name = words[words.index("-o") + 1] if "-o" in words else ""
            if "-c" in words and any(part in name for part in _RECOMPILED):
                target = tree / f"{module}{len(made)}.o"
                swapped = [_swapped(word, swaps) for word in words]
                swapped[swapped.index("-o") + 1] = str(target)
                swapped[swapped.index("-MF") + 1] = str(target) + ".d"
                subprocess.run(swapped, cwd=build, check=True)
                made.append((name, str(target)))
        assert len(made) == len(_RECOMPILED), "the build folder has other object files than this knows"
        link_again(tree, build, seed, made, module)


def _swapped(word: str, swaps: dict[str, str]) -> str:
    for old, new in swaps.items():
        word = word.replace(old, new)
    return word


_Maker = Callable[[int], tuple[Path, dict[str, str]]]


def neutral_trees(out: Path, base: Path, build: Path | None) -> Iterator[tuple[str, _Maker]]:
    """Kinds of neutral edit, over and over, each with what makes the tree."""

    def make(kind: str, seed: int) -> tuple[Path, dict[str, str]]:
        tree = out / ("n" * (1 + seed % 40)) / f"{kind}{seed}"
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(base, tree, ignore=shutil.ignore_patterns("__pycache__"))
        if kind == "text":
            edit_text(tree, seed)
        elif kind == "link" and build is not None:
            link_again(tree, build, seed)
        elif kind == "kernel" and build is not None:
            add_kernel(tree, build, seed)
        return tree, {"CAMPAIGN_PADDING": "x" * (seed * 37 % 4000)}

    i = 0
    while True:
        kind = _KINDS[i % len(_KINDS)]
        if build is None and kind in ("kernel", "link"):
            kind = "text"
        yield kind, partial(make, kind)
        i += 1


class Runs:
    """The results so far.

    Args:
        path: JSON lines.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def count(self, group: str) -> int:
        """Runs of a group."""
        return sum(row["group"] == group for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        """Keep a run."""
        self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)


def one_run(tree: Path, group: str, kind: str, extra: dict[str, str]) -> dict[str, Any]:
    """Run the gate and say what came of it."""
    start = time.perf_counter()
    code, said = run_gate(tree, extra)
    row: dict[str, Any] = {
        "group": group,
        "kind": kind,
        "exit": code,
        "seconds": round(time.perf_counter() - start, 1),
    }
    moved = [f"{m['workload']} {m['subject']} {m['metric']} {m['ratio']}" for m in said.get("moved", [])]
    return row | {"moved": moved, "widest": said.get("widest"), "error": said.get("error", "")}


def plant(base: Path, runs: Runs, turn: int) -> None:
    """Add work to every phase, each by a share of its own, and see whether the gate names each of them.

    Counts of phases do not touch each other, so one run is a trial of every phase; in len(SHARES) turns every phase
    gets every share.
    """
    ledger = Ledger(base / "perf_baselines")
    name, (curve, rows) = next(iter(HOST_WORKLOADS.items()))
    stored = read_baseline(next((base / "perf_baselines").glob(f"*/T1h-{name}.json")))
    per_loop = _per_loop(runs, stored, curve, rows)
    shares = {phase: SHARES[(i + turn) % len(SHARES)] for i, phase in enumerate(stored.figures)}
    loops = {
        phase: round(s * stored.figures[phase]["instructions"] / per_loop) for phase, s in shares.items()
    }
    counts = count_instructions(curve, rows, loops)
    now = Baseline("T1h", name, stored.environment, counts, "planted", load=stored.load)
    risen = {row.subject for row in compare(stored, now, ledger.tolerances) if row.verdict is Verdict.RISEN}
    for phase, share in shares.items():
        really = counts[phase]["instructions"] / stored.figures[phase]["instructions"] - 1
        runs.add(
            {
                "group": "plant",
                "phase": phase,
                "share": share,
                "really": really,
                "turn": turn,
                "caught": phase in risen,
            }
        )


def _per_loop(runs: Runs, stored: Baseline, curve: str, rows: int) -> float:
    """Instructions of one round of the empty loop, measured once and kept."""
    known = [row for row in runs.rows if row["group"] == "calibration"]
    if not known:
        loops, phase = 20_000, "msm_h"
        more = count_instructions(curve, rows, {phase: loops})[phase]["instructions"]
        runs.add({"group": "calibration", "per_loop": (more - stored.figures[phase]["instructions"]) / loops})
        known = runs.rows[-1:]
    return float(known[0]["per_loop"])


def summary(runs: Runs) -> str:
    """What the campaign says so far."""
    lines = []
    for group in ("aa", "neutral"):
        rows = [row for row in runs.rows if row["group"] == group]
        if rows:
            alarms = sum(row["exit"] != 0 for row in rows)
            widest = max((abs(row["widest"]["ratio"] - 1) for row in rows if row["widest"]), default=0.0)
            seconds = Measured.from_samples([row["seconds"] for row in rows], "s")
            bound = rate_upper_bound(alarms, len(rows))
            lines.append(
                f"{group}: {alarms} alarms in {len(rows)} runs (95% upper bound {bound:.1%}); "
                f"widest figure {widest:.2%} off; {seconds.median:.0f} s a run (most {max(seconds.samples):.0f})"
            )
    for share in SHARES:
        rows = [row for row in runs.rows if row["group"] == "plant" and row["share"] == share]
        if rows:
            really = [row["really"] for row in rows]
            lines.append(
                f"planted {share:.0%}: {sum(row['caught'] for row in rows)} of {len(rows)} caught "
                f"(really {min(really):.2%} to {max(really):.2%})"
            )
    plants = [row for row in runs.rows if row["group"] == "plant"]
    if plants:
        missed = max((row["really"] for row in plants if not row["caught"]), default=0.0)
        for least in (SURELY, missed):
            rows = [row for row in plants if row["really"] > least]
            lines.append(
                f"counted, more than {least:.2%}: {sum(row['caught'] for row in rows)} of {len(rows)} caught"
            )
    return "\n".join(lines)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--neutral", type=int, default=20)
    parser.add_argument("--plants", action="store_true", help="plant every share in every phase too")
    parser.add_argument("--build", type=Path, help="a finished build folder, for other link orders")
    parser.add_argument("--budget-s", type=float, default=1e9)
    options = parser.parse_args()
    end = time.monotonic() + options.budget_s
    options.out.mkdir(parents=True, exist_ok=True)
    base, runs = options.out.resolve() / "base", Runs(options.out / "runs.jsonl")
    if not base.is_dir():
        accept(copy_tree(base))
    sys.path.insert(0, str(base))  # what is counted is the copy, too
    for turn in range(len(SHARES) if options.plants else 0):
        if turn not in {row.get("turn") for row in runs.rows} and time.monotonic() < end:
            plant(base, runs, turn)
    kinds = neutral_trees(options.out.resolve(), base, options.build)
    for i in range(options.neutral):
        kind, make = next(kinds)
        if i >= runs.count("neutral") and time.monotonic() < end:
            tree, extra = make(i)
            runs.add(one_run(tree, "neutral", kind, extra))
            shutil.rmtree(tree)
    while runs.count("aa") < options.runs and time.monotonic() < end:
        runs.add(one_run(base, "aa", "", {}))
    print(summary(runs))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
