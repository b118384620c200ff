"""``cuzk perf check``, ``record`` and ``accept``: the gate over the stored figures, and how they come to be stored."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import note, print_json, print_table, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cuzk.perf import Baseline, Ledger
    from cuzk.perf.verdicts import Absent, Answers

__all__ = [
    "ACCEPT_EXAMPLES",
    "CHECK_EXAMPLES",
    "RECORD_EXAMPLES",
    "nearer",
    "perf_accept",
    "perf_check",
    "perf_record",
    "show",
]

CHECK_EXAMPLES = epilog(
    "cuzk perf check",
    "cuzk perf check --tier T1h --junit perf.xml --markdown perf.md",
    "cuzk perf check --from suite.json --environment gpu='NVIDIA H200'",
    done="every figure is as stored",
    no="a figure moved",
    bad="something was not compared: no baseline, one from another environment, or a tier that cannot be measured here",
)
RECORD_EXAMPLES = epilog(
    "cuzk perf record --reason 'first figures of the new kernels'",
    note="Stores what has no baseline yet, and measured times in the history. Figures that moved stay as they are.",
    no="a figure moved, and stays as it was stored",
)
ACCEPT_EXAMPLES = epilog(
    "cuzk perf accept --reason 'mixed additions without a branch'",
    "cuzk perf accept --tier T0 --toolchain --reason 'NVRTC 13.6'",
)

_BaselinesOption = Annotated[Path, typer.Option("--baselines", help="Folder of the stored figures.")]
_TierOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tier",
        help="T0 (compiled kernels), T1 (counts), T1h (instructions, under valgrind); T0 and T1 by default.",
    ),
]
_ArchOption = Annotated[
    list[str] | None,
    typer.Option("--arch", help="T0: compute capability without the dot; 90 and 120 by default."),
]
_ReasonOption = Annotated[str, typer.Option("--reason", help="Why the figures move; stored with them.")]
_FromOption = Annotated[
    list[Path] | None,
    typer.Option("--from", help="Take figures from a result file (device suite, pytest-benchmark) instead."),
]
_EnvironmentOption = Annotated[
    list[str] | None,
    typer.Option("--environment", metavar="KEY=TEXT", help="What a result file does not say of its machine."),
]
_FOLDER = Path("perf_baselines")


def perf_check(
    baselines: _BaselinesOption = _FOLDER,
    tier: _TierOption = None,
    arch: _ArchOption = None,
    source: _FromOption = None,
    environment: _EnvironmentOption = None,
    allow_absent: Annotated[
        list[str] | None, typer.Option("--allow-absent", help="A tier that may be missing on this machine.")
    ] = None,
    compile_all: Annotated[
        bool, typer.Option("--compile-all", help="T0: compile modules too whose sources the ledger knows.")
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Show the figures that did not move too.")] = False,
    junit: Annotated[Path | None, typer.Option("--junit", help="Also write a JUnit file.")] = None,
    markdown_file: Annotated[Path | None, typer.Option("--markdown", help="Also write Markdown.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Compare this build's figures with the stored ones; any that moved fails the check."""
    from cuzk.perf import Ledger
    from cuzk.perf.verdicts import exit_code, markdown, to_json, to_junit

    ledger = Ledger(baselines)
    figures, absent = _figures(tier, arch, source, environment, "", baselines, compile_all)
    answers = _judge(ledger, figures, absent, allow_absent or [])
    if not source and any(row.tier == "T1h" for row in answers.moved):
        answers = _judge(ledger, _counted_again(ledger, figures), absent, allow_absent or [])
    if junit is not None:
        junit.write_text(to_junit(answers), encoding="utf-8")
    if markdown_file is not None:
        markdown_file.write_text(markdown(answers), encoding="utf-8")
    if as_json:
        print_json(to_json(answers))
    else:
        show(answers, show_all)
    return exit_code(answers)


def _judge(ledger: Ledger, figures: list[Baseline], absent: list[Absent], allowed: list[str]) -> Answers:
    """Compare every workload; one that cannot be compared does not hide the others."""
    from cuzk.errors import InputError
    from cuzk.perf import Row
    from cuzk.perf.verdicts import Absent, Answers

    rows: list[Row] = []
    gone = [dataclasses.replace(a, allowed=a.tier in allowed) for a in absent]
    for now in figures:
        try:
            rows += ledger.check(now)
        except InputError as error:
            gone.append(Absent(now.tier, now.workload, str(error), now.tier in allowed))
    return Answers(rows, gone)


def _counted_again(ledger: Ledger, figures: list[Baseline]) -> list[Baseline]:
    """Instructions once more, of each phase the count nearer to its baseline: what rose stays up, noise doesn't."""
    from cuzk.cli.perf_instructions import HOST_WORKLOADS, count_instructions

    made = []
    for now in figures:
        if now.tier == "T1h":
            note(f"{now.workload}: instructions moved, so they are counted once more")
            stored, again = ledger.find(now).figures, count_instructions(*HOST_WORKLOADS[now.workload])
            now = dataclasses.replace(now, figures=nearer(stored, now.figures, again))
        made.append(now)
    return made


def nearer(
    stored: Mapping[str, Mapping[str, int]],
    first: Mapping[str, Mapping[str, int]],
    again: Mapping[str, Mapping[str, int]],
) -> dict[str, dict[str, int]]:
    """Of two counts of each figure the one nearer to the stored one; what one count lacks is left out.

    Args:
        stored: Phase -> metric -> figure of the baseline.
        first: Of the first count.
        again: Of the second one.
    """

    def pick(phase: str, metric: str) -> int:
        goal = stored.get(phase, {}).get(metric, 0)
        return min(first[phase][metric], again[phase][metric], key=lambda value: abs(value - goal))

    return {
        phase: {metric: pick(phase, metric) for metric in first[phase]} for phase in first if phase in again
    }


def show(answers: Answers, show_all: bool = False) -> None:
    """Print the table, and each figure that moved as a line of its own."""
    from cuzk.perf import Verdict
    from cuzk.perf.verdicts import cells, sentence

    known = [row for row in answers.moved if row.verdict is not Verdict.NEW]
    shown = answers.rows if show_all else known
    if shown:
        made = table(
            "Figures" if show_all else "Figures that moved", "where", "figure", ">baseline", ">now", ">ratio",
            ">tolerance", "verdict",
        )  # fmt: skip
        for row in shown:
            made.add_row(*cells(row))
        print_table(made)
    for row in known:
        note(sentence(row))
    new: dict[str, dict[str, None]] = {}
    for row in answers.moved:
        if row.verdict is Verdict.NEW:
            new.setdefault(f"{row.tier} {row.workload}", {})[row.subject] = None
    for where, subjects in new.items():
        note(f"{where}: without a baseline yet (cuzk perf record --reason WHY): {', '.join(subjects)}")
    for absent in answers.absent:
        said = "not compared, as allowed" if absent.allowed else "NOT COMPARED"
        note(f"{said}: {absent.tier} {absent.workload}: {absent.why}")
    if known:
        note("If the change is meant, move the baseline with the reason: cuzk perf accept --reason WHY")
    note(f"{len(answers.rows)} figures compared, {len(answers.moved)} moved")


def perf_record(
    reason: _ReasonOption,
    baselines: _BaselinesOption = _FOLDER,
    tier: _TierOption = None,
    arch: _ArchOption = None,
    source: _FromOption = None,
    environment: _EnvironmentOption = None,
    as_json: JsonOption = False,
) -> int:
    """Measure this build and store what has no baseline yet; times go to the history as well."""
    from cuzk.perf import Ledger, Verdict, compare
    from cuzk.perf.baseline import PORTABLE_TIERS

    ledger = Ledger(baselines)
    figures, absent = _figures(tier, arch, source, environment, _checked(reason), baselines)
    _refuse_absent(absent)
    left, written = 0, []
    for now in figures:
        if not (baselines / now.file_name).exists():
            written.append(_stored(ledger, now, _count(now), "figures"))
            continue
        stored = ledger.find(now)
        rows = compare(stored, now, ledger.tolerances)
        new = {(row.subject, row.metric) for row in rows if row.verdict is Verdict.NEW}
        moved = sum(row.verdict not in (Verdict.NEW, Verdict.SAME) for row in rows)
        left += moved
        # Figures that stay are of the sources that they came from: no later check may take them for these ones'.
        sources = stored.sources if moved else now.sources
        if now.tier not in PORTABLE_TIERS:
            ledger.add_record(now)
        if new or sources != stored.sources:
            kept = dataclasses.replace(_merged(stored, now, new), sources=sources)
            written.append(_stored(ledger, kept, len(new), "new figures"))
    if as_json:
        print_json({"written": written, "moved": left})
    if left:
        note(f"{left} figures moved and stay as stored: cuzk perf accept --reason WHY moves them")
    return int(left > 0)


def perf_accept(
    reason: _ReasonOption,
    baselines: _BaselinesOption = _FOLDER,
    tier: _TierOption = None,
    arch: _ArchOption = None,
    source: _FromOption = None,
    environment: _EnvironmentOption = None,
    toolchain: Annotated[
        bool,
        typer.Option(
            "--toolchain", help="Also where the compiler or another part of the environment changed."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Move the baselines to this build's figures, with the reason."""
    from cuzk.perf import Ledger
    from cuzk.perf.gate import check_comparable

    ledger = Ledger(baselines)
    figures, absent = _figures(tier, arch, source, environment, _checked(reason), baselines)
    _refuse_absent(absent)
    written = []
    for now in figures:
        path = baselines / now.file_name
        if path.exists():
            stored = ledger.find(now)
            if not toolchain:
                check_comparable(stored, now)
            same = all(
                getattr(stored, f) == getattr(now, f)
                for f in ("figures", "measured", "environment", "sources")
            )
            if same:
                note(f"{path}: nothing moved")
                continue
        written.append(_stored(ledger, now, _count(now), "figures"))
    if as_json:
        print_json({"written": written})


def _stored(ledger: Ledger, baseline: Baseline, count: int, what: str) -> dict[str, Any]:
    """Store figures, say so, and return it for programs."""
    path = ledger.store(baseline)
    note(f"wrote {path}: {count} {what}")
    return {"file": str(path), "figures": count}


def _merged(stored: Baseline, now: Baseline, new: set[tuple[str, str]]) -> Baseline:
    """The stored figures and, of the new ones, those named; the rest stays as it is."""
    figures = {s: dict(metrics) for s, metrics in stored.figures.items()}
    measured = {s: dict(metrics) for s, metrics in stored.measured.items()}
    for subject, metric in new:
        if metric in now.figures.get(subject, {}):
            figures.setdefault(subject, {})[metric] = now.figures[subject][metric]
        else:
            measured.setdefault(subject, {})[metric] = now.measured[subject][metric]
    return dataclasses.replace(now, figures=figures, measured=measured)


def _figures(
    tier: list[str] | None,
    arch: list[str] | None,
    source: list[Path] | None,
    environment: list[str] | None,
    reason: str,
    baselines: Path,
    compile_all: bool = False,
) -> tuple[list[Baseline], list[Absent]]:
    """From files where some are named, else measured."""
    from cuzk.cli.perf_gather import ARCHS, gather, origin, wanted_tiers

    if not source:
        return gather(wanted_tiers(tier), reason, baselines, tuple(arch or ARCHS), compile_all=compile_all)
    from cuzk.cli.perf_files import read_results

    return read_results(source, environment or [], reason, origin(baselines)), []


def _refuse_absent(absent: list[Absent]) -> None:
    from cuzk.errors import InputError

    if absent:
        raise InputError(
            f"{absent[0].tier} cannot be measured: {absent[0].why}",
            where="--tier",
            remedy="leave it out, or mend that",
        )


def _count(now: Baseline) -> int:
    return sum(map(len, now.figures.values())) + sum(map(len, now.measured.values()))


def _checked(reason: str) -> str:
    from cuzk.errors import InputError

    if not reason.strip():
        raise InputError("a baseline needs a reason", remedy="say in a few words why the figures moved")
    return reason.strip()
