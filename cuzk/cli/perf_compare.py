"""``cuzk perf compare A B``: two ledgers, two result files, or two commits built side by side and run by turns."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import note, print_json, print_table, table

if TYPE_CHECKING:
    from cuzk.perf import Answer, Baseline, Ledger
    from cuzk.perf.verdicts import Answers

__all__ = ["EXAMPLES", "perf_compare"]

EXAMPLES = epilog(
    "cuzk perf compare v0.1.0 HEAD",
    "cuzk perf compare old.json new.json",
    "cuzk perf compare HEAD~1 HEAD --run --size 2000",
    note="Exit codes: 0 nothing got slower; 1 a figure moved; 2 the two cannot be compared, or the machine is too "
    "restless to tell.",
)
_FOLDER = Path("perf_baselines")


def perf_compare(
    a: Annotated[str, typer.Argument(metavar="A", help="Commit, ledger file, or result file.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, of what is judged.")],
    baselines: Annotated[Path, typer.Option("--baselines", help="Folder of the stored figures.")] = _FOLDER,
    run: Annotated[
        bool,
        typer.Option("--run", help="Build both commits and measure them by turns, instead of their ledgers."),
    ] = False,
    device: Annotated[
        str, typer.Option("--device", help="cpu (processor time) or cuda (its own time).")
    ] = "cpu",
    shape: Annotated[
        str, typer.Option("--shape", help="mixed, or FILE.py:FUNCTION that makes one.")
    ] = "mixed",
    size: Annotated[int, typer.Option("--size", help="Rows, or what FUNCTION takes.")] = 2000,
    curve: Annotated[str, typer.Option("--curve", help="Curve, with --run.")] = "bn254",
    pairs: Annotated[int, typer.Option("--pairs", help="Most rounds of samples, with --run.")] = 60,
    as_json: JsonOption = False,
) -> int:
    """Compare two commits or two files, phase by phase."""
    from cuzk.perf import Ledger

    ledger = Ledger(baselines)
    if run:
        words = ["--device", device, "--shape", _placed(shape), "--size", str(size), "--curve", curve]
        words += ["--metric", "device" if device.startswith("cuda") else "cpu"]
        return _run_both(ledger, a, b, words, pairs, as_json)
    from cuzk.cli.perf import show
    from cuzk.perf.verdicts import exit_code, to_json

    answers = _compare_ledgers(ledger, _side(a, baselines), _side(b, baselines))
    if as_json:
        print_json(to_json(answers))
    else:
        show(answers)
    return exit_code(answers)


def _placed(shape: str) -> str:
    """The shape with its file's whole path: workers run in other folders."""
    path, colon, name = shape.rpartition(":")
    return f"{Path(path).resolve()}{colon}{name}" if colon else shape


def _side(name: str, baselines: Path) -> list[Baseline]:
    """The figures of a file, or the ledger of a commit."""
    from cuzk.cli.perf_files import read_json, read_results
    from cuzk.cli.perf_gather import origin
    from cuzk.perf import read_baseline

    path = Path(name)
    if path.is_file():
        if "schema" in read_json(path):
            return [read_baseline(path, is_record=True)]
        return read_results([path], [], "compared", origin(baselines))
    return _ledger_of(name, baselines)


def _ledger_of(commit: str, baselines: Path) -> list[Baseline]:
    """The baselines as they were in a commit.

    Raises:
        InputError: Neither a file nor a commit, or one without a ledger.
    """
    from cuzk.errors import InputError
    from cuzk.perf import read_baseline

    def git(*words: str) -> bytes:
        done = subprocess.run(["git", "-C", str(baselines), *words], capture_output=True, check=False)
        if done.returncode:
            raise InputError(
                f"{commit!r} is no file and no commit with a ledger: {done.stderr.decode().strip()}",
                remedy="name a commit of this checkout, a ledger file or a result file",
            )
        return done.stdout

    listed = git("ls-tree", "-r", "--name-only", commit, "./").decode().split()
    names = [name for name in listed if name.endswith(".json") and not name.startswith("history/")]
    if not names:
        raise InputError(f"{commit} has no baselines", remedy="name a later commit")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(git("show", f"{commit}:./{name}"))
            found.append(read_baseline(path))
    return found


def _compare_ledgers(ledger: Ledger, old: list[Baseline], new: list[Baseline]) -> Answers:
    """Pair workloads up; one that either side lacks is not compared, and that is said."""
    from cuzk.errors import InputError
    from cuzk.perf import Row, compare
    from cuzk.perf.verdicts import Absent, Answers

    before = {(b.tier, b.workload, b.folder): b for b in old}
    after = {(b.tier, b.workload, b.folder): b for b in new}
    rows: list[Row] = []
    absent = [
        Absent(key[0], key[1], "only in A" if key in before else "only in B")
        for key in sorted({*before} ^ {*after})
    ]
    for key in sorted({*before} & {*after}):
        try:
            rows += compare(before[key], after[key], ledger.tolerances, ledger.day_spread(before[key]))
        except InputError as error:
            absent.append(Absent(key[0], key[1], str(error)))
    return Answers(rows, absent)


def _run_both(ledger: Ledger, a: str, b: str, words: list[str], pairs: int, as_json: bool) -> int:
    from cuzk.cli.perf_ab import ROOT, WALL, Worker, build_tree, judge_phases
    from cuzk.device.builder import cache_dir
    from cuzk.perf import PairLimits

    cache = cache_dir().parent / "perf"
    trees = [ROOT if name == "." else build_tree(name, cache) for name in (a, b)]
    workers: list[Worker] = []
    try:
        for tree in (trees[0], trees[1], trees[0]):
            workers.append(Worker(tree, words))

        def limits(name: str) -> PairLimits:
            metric = "wall" if name.endswith(WALL) else "time"
            return PairLimits.of(ledger.tolerances, metric, name.removesuffix(WALL))

        answers = judge_phases(workers[0], workers[1], workers[2], limits, pairs)
    finally:
        for worker in workers:
            worker.close()
    return _report(answers, as_json)


def _report(answers: dict[str, Answer], as_json: bool) -> int:
    """Print every phase's answer; 1 if one moved, 2 if one is void."""
    from cuzk.perf import Outcome

    if as_json:
        print_json(
            {
                phase: {
                    "outcome": answer.outcome.value, "note": answer.note, "control_sigma": answer.control.sigma,
                    "control_median": answer.control.median,
                    "median": None if answer.comparison is None else answer.comparison.median,
                }
                for phase, answer in answers.items()
            }
        )  # fmt: skip
    else:
        made = table("A against B, by turns", "phase", "verdict", ">A against A", "what was seen")
        for phase, answer in answers.items():
            made.add_row(phase, answer.outcome.value, f"{answer.control.median:+.2%}", answer.note)
        print_table(made)
    outcomes = {answer.outcome for answer in answers.values()}
    if outcomes & {Outcome.SLOWER, Outcome.FASTER}:
        return 1
    if outcomes & {Outcome.VOID, Outcome.UNCLEAR}:
        note("some phases are void or unclear: that is no pass; measure again on a quieter machine")
        return 2
    return 0
