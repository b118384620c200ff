"""``cuzk ab``: two settings compared, bits first, then times; or every variant in one campaign."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cuzk.cli.counting import count_lines
from cuzk.cli.help_text import epilog
from cuzk.cli.options import DeviceOption, JsonOption, check_device_name
from cuzk.cli.output import note, print_json, print_table, table
from cuzk.cli.paths import check_inputs
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.ab.campaign import Campaign
    from cuzk.ab.compare import Bits
    from cuzk.ab.localise import Finding
    from cuzk.ab.runner import Runner, Trace
    from cuzk.ab.settings import Setting
    from cuzk.ab.timing import PhaseRatio
    from cuzk.ab.workload import Workload

__all__ = ["EXAMPLES", "ab"]

EXAMPLES = epilog(
    "cuzk ab default M2=none --workload mixed:2^10",
    "cuzk ab D4=8 D4=12,M2=none --workload sha256:512 --pairs 12",
    "cuzk ab default device=emu --workload mixed:40:bn254 --bits-only",
    "cuzk ab commit=HEAD~1 default --workload mixed:2^12:bn254",
    "cuzk ab --all --workload mixed:2^8:bn254 --clock cpu",
    "cuzk ab --engine P2=off P3=4 --workload sha256:compression --jobs 4",
    note="A setting is default, ID=VALUE, device=NAME or commit=REV, joined by commas.",
    done="the bits agree",
    no="they differ",
)


def ab(
    a: Annotated[
        str | None, typer.Argument(metavar="A", help="A setting, as default or D4=8,M2=none.")
    ] = None,
    b: Annotated[str | None, typer.Argument(metavar="B", help="The other.")] = None,
    every_variant: Annotated[
        bool, typer.Option("--all", help="Every variant alone, all on, all on without it, and in pairs.")
    ] = False,
    workload: Annotated[
        str,
        typer.Option("--workload", metavar="W", help="mixed:N[:CURVE], a built-in circuit, or C.r1cs."),
    ] = "mixed:2^10",
    key: Annotated[Path | None, typer.Option("--key", metavar="KEY", help="The key of a C.r1cs.")] = None,
    witness: Annotated[
        Path | None, typer.Option("--witness", metavar="W.wtns", help="The witness of a C.r1cs.")
    ] = None,
    circuits: Annotated[int, typer.Option("--circuits", metavar="N", help="Circuits in a call.")] = 1,
    device: DeviceOption = "cpu",
    pairs: Annotated[int, typer.Option("--pairs", metavar="N", help="Pairs of runs, by turns.")] = 10,
    clock: Annotated[
        str,
        typer.Option("--clock", metavar="wall|cpu", help="Wall-clock time, or time of all processors."),
    ] = "wall",
    bits_only: Annotated[bool, typer.Option("--bits-only", help="Measure no time.")] = False,
    every: Annotated[bool, typer.Option("--every", help="With --all: all values of each variant.")] = False,
    engine: Annotated[
        bool, typer.Option("--engine", help="The engine's variants: A and B are values as P2=off, or all.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="With --engine: jobs of a run.")] = 6,
    partitions: Annotated[
        int, typer.Option("--partitions", metavar="N", help="With --engine: of every second job.")
    ] = 4,
    cases: Annotated[
        Path, typer.Option("--cases", metavar="DIR", help="Where a case that differs is written.")
    ] = Path("ab-cases"),
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="CASE.json", help="Compare the bits of a case again.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Compare two settings: whether every intermediate has the same bits, then how long each phase takes."""
    if engine:
        from cuzk.cli.ab_engine import ab_engine

        values, times = [one for one in (a, b) if one is not None], None if bits_only else pairs
        return ab_engine(values, workload, jobs, partitions, check_device_name(device), times, as_json)
    check_inputs({"--key": key, "--witness": witness, "--replay": replay})
    _check_usage(a, b, every_variant, replay, clock)
    if replay is not None:
        return _replay(replay, cases, as_json)
    from cuzk.ab.settings import Setting
    from cuzk.ab.timing import check_pairs

    check_device_name(device)
    if not bits_only or every_variant:
        check_pairs(pairs)
    sides = None if every_variant else (Setting.parse(a or "", device), Setting.parse(b or "", device))
    opened = _open(workload, device, key, witness, circuits)
    if sides is None:
        return _campaign(opened, device, pairs, clock, every, cases, as_json)
    return _compare(opened, sides, cases, None if bits_only else pairs, clock, as_json)


def _check_usage(a: str | None, b: str | None, every_variant: bool, replay: Path | None, clock: str) -> None:
    """Raise InputError unless exactly one of the three things is asked for, by a clock that there is."""
    from cuzk.ab.runner import CLOCKS

    if clock not in CLOCKS:
        raise InputError(
            f"there is no clock {clock!r}",
            where="--clock",
            limit="possible: wall, cpu",
            remedy="wall is the default",
        )
    if sum((every_variant, replay is not None, a is not None)) != 1 or (a is None) != (b is None):
        raise InputError(
            "give two settings, or --all, or --replay",
            limit="exactly one of the three",
            remedy="for example: cuzk ab default M2=none",
        )


def _open(name: str, device: str, key: Path | None, witness: Path | None, circuits: int) -> Workload:
    from cuzk.ab import runner, workload

    note(f"workload {name}: circuit and key")
    where = runner.open_named("cpu" if device == "auto" else device)
    return workload.open_workload(name, where.reference, key=key, witness=witness, circuits=circuits)


def _runner(workload: Workload, setting: Setting) -> Runner:
    """What runs a setting: this process, or another with another commit's code."""
    from cuzk.ab import runner

    if setting.commit is None:
        # The opener is looked up now, so that a test can put a faulty device in its place.
        return runner.LocalRunner(workload, setting, runner.open_named)
    from cuzk.ab.commits import CommitRunner

    return CommitRunner(workload, setting, progress=note)


def _compare(
    workload: Workload,
    settings: tuple[Setting, Setting],
    cases: Path,
    pairs: int | None,
    clock: str,
    as_json: bool,
) -> int:
    """Bits, then times unless `pairs` is None."""
    from cuzk.ab.compare import compare_bits, first_difference
    from cuzk.ab.forms import with_common_forms
    from cuzk.ab.timing import measure

    a, b = (_runner(workload, setting) for setting in settings)
    note("bits: one run of each")
    traces = with_common_forms(workload, (a.trace(), b.trace()))
    bits = compare_bits(*traces)
    differs = first_difference(*traces) is not None or traces[0].error != traces[1].error
    report: dict[str, Any] = {
        "workload": workload.name, "circuits": len(workload.witnesses), "a": settings[0].text,
        "b": settings[1].text, "bits": {one.name: one.state for one in bits}, "same": not differs,
    }  # fmt: skip
    if differs:
        report |= _divergence(workload, (a, b), traces, cases)
    report["no_trace"] = _without_trace(settings, traces)
    if not differs and pairs is not None:
        note(f"times: {pairs} pairs, ABBA, {clock} clock")
        report["times"] = [
            asdict(row) | {"verdict": row.verdict}
            for row in measure(a, b, pairs=pairs, clock=clock, progress=count_lines("pairs", pairs))
        ]
    if as_json:
        print_json(report)
    else:
        _print(report, bits)
    return 1 if differs else 0


def _without_trace(settings: tuple[Setting, Setting], traces: tuple[Trace, Trace]) -> list[str]:
    """Chosen values that no event of their run shows."""
    return [
        f"{name}={value}"
        for setting, trace in zip(settings, traces, strict=True)
        for name, value in setting.variants.items()
        if setting.commit is None and value not in trace.traces.get(name, set())
    ]


def _divergence(
    workload: Workload, runners: tuple[Runner, Runner], traces: tuple[Trace, Trace], cases: Path
) -> dict[str, Any]:
    """Where two settings part, in words, with the case that shows it again."""
    from cuzk.ab.case import save_case
    from cuzk.ab.localise import localise
    from cuzk.ab.runner import LocalRunner

    errors = [
        f"side {side}: {trace.failed_in}: {trace.error}"
        for side, trace in zip("AB", traces, strict=True)
        if trace.error
    ]
    if not all(isinstance(runner, LocalRunner) for runner in runners):
        from cuzk.ab.compare import first_difference

        return {"finding": [f"first difference: {first_difference(*traces)}", *errors]}
    finding = localise(runners[0], runners[1], traces)  # type: ignore[arg-type]
    if finding is None:
        return {"finding": errors}
    path, command = save_case(cases, workload, (runners[0].setting, runners[1].setting), finding)
    return {
        "finding": finding.lines() + errors,
        "wrong": finding.wrong,
        "case": str(path),
        "replay": command,
    } | _place(finding)


def _place(finding: Finding) -> dict[str, Any]:
    """The place as fields, for programs."""
    at = finding.at
    place: dict[str, Any] = {
        "phase": at.phase, "name": at.name, "circuit": at.circuit, "index": at.index, "limb": at.word,
    }  # fmt: skip
    if finding.msm is not None:
        msm = finding.msm
        place |= {"stage": msm.stage, "window": msm.window, "bucket": msm.bucket, "base": msm.index}
    return {"place": place}


def _print(report: dict[str, Any], bits: list[Bits]) -> None:
    if report["same"]:
        alike = [one.name for one in bits if one.state == "same"]
        print(f"bits: {len(alike)} intermediates are identical: {', '.join(alike)}")
    for one in bits:
        if one.state.startswith("only"):
            print(f"  {one.name}: {one.state}")
    for line in report.get("finding", []):
        print(line)
    if "case" in report:
        print(f"case: {report['case']}\nrun it again: {report['replay']}")
    for text in report["no_trace"]:
        print(f"{text} left no trace in the events: it may not have run")
    if "times" in report:
        _print_times(report)


def _print_times(report: dict[str, Any]) -> None:
    made = table(
        f"A: {report['a']}   B: {report['b']}", "phase", ">A ms", ">B ms", ">B/A", ">95% interval", "B"
    )
    for row in report["times"]:
        made.add_row(
            row["phase"], f"{row['a_ms']:.2f}", f"{row['b_ms']:.2f}", f"{row['ratio']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}", row["verdict"],
        )  # fmt: skip
    print_table(made)


def _replay(path: Path, cases: Path, as_json: bool) -> int:
    from cuzk.ab.case import load_case

    case = load_case(path)
    files = {role: path.parent / name for role, name in case.files.items()}
    name = str(files["circuit"]) if "circuit" in files else case.workload
    workload = _open(name, case.device_a, files.get("key"), files.get("witness"), case.circuits)
    return _compare(workload, case.settings(), cases, None, "wall", as_json)


def _campaign(
    workload: Workload, device: str, pairs: int, clock: str, every: bool, cases: Path, as_json: bool
) -> int:
    from cuzk.ab import runner
    from cuzk.ab.campaign import Campaign, candidates
    from cuzk.ab.case import save_case
    from cuzk.ab.settings import Setting

    chosen, left_out = candidates(device.partition(":")[0], every=every)
    campaign = Campaign(workload, device, pairs, clock, runner.open_named, note)
    campaign.run(chosen)
    for row in campaign.rows:
        if row.finding is not None:
            settings = Setting({}, device), Setting({row.candidate.variant: row.candidate.value}, device)
            note(f"{row.candidate.text}: {save_case(cases, workload, settings, row.finding)[1]}")
    if as_json:
        print_json(campaign.facts() | {"left_out": left_out})
    else:
        _print_campaign(campaign, left_out)
    return 1 if any(row.bits != "same" for row in campaign.rows) else 0


def _print_campaign(campaign: Campaign, left_out: dict[str, str]) -> None:
    made = table(
        f"{campaign.workload.name} x {len(campaign.workload.witnesses)} on {campaign.device}, {campaign.pairs} "
        f"pairs, {campaign.clock} clock; ratios to the defaults, below 1 is faster",
        "variant", "bits", ">alone", ">95% interval", ">with the rest on", ">strongest pair", "verdict", "forecast",
    )  # fmt: skip
    for row in campaign.rows:
        made.add_row(
            row.candidate.text + "".join(f" with {k}={v}" for k, v in row.beside.items()),
            row.impossible or row.bits, _ratio(row.alone),
            "" if row.alone is None else f"{row.alone.low:.3f}-{row.alone.high:.3f}", _ratio(row.without),
            "" if row.pair is None else f"{row.pair[0]}: {row.pair[1]:.3f}", row.verdict, row.forecast,
        )  # fmt: skip
    print_table(made)
    print(
        "alone: over the defaults. With the rest on: all on over all on without it, so below 1 it still helps there. "
        "Strongest pair: the time with both values over what their product alone would be; 1 means they do not touch "
        "each other. It has no interval."
    )
    if campaign.together is not None:
        total = campaign.together
        print(
            f"all on ({','.join(f'{k}={v}' for k, v in campaign.all_on.items())}): {total.ratio:.3f} "
            f"({total.low:.3f} to {total.high:.3f}), {total.verdict}"
        )
    for name, reason in left_out.items():
        print(f"left out: {name}: {reason}")


def _ratio(row: PhaseRatio | None) -> str:
    return "" if row is None else f"{row.ratio:.3f}"
