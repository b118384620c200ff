"""``cuzk perf record`` and ``check``: the stored figures, and the gate over them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cuzk.cli.help_text import epilog
from cuzk.cli.options import JsonOption
from cuzk.cli.output import note, print_json, print_table, table

if TYPE_CHECKING:
    from cuzk.perf import Baseline, Row

__all__ = ["CHECK_EXAMPLES", "RECORD_EXAMPLES", "perf_check", "perf_record"]

CHECK_EXAMPLES = epilog(
    "cuzk perf check",
    "cuzk perf check --tier T1",
    "cuzk perf check --json",
    note="Exit codes: 0 every figure is as stored; 1 a figure moved; 2 no baseline, or one from elsewhere.",
)
RECORD_EXAMPLES = epilog("cuzk perf record --reason 'mixed additions without a branch'")

#: Architectures whose static figures are kept.
_ARCHS = ("90", "120")

_BaselinesOption = Annotated[Path, typer.Option("--baselines", help="Folder of the stored figures.")]
_TierOption = Annotated[
    list[str] | None, typer.Option("--tier", help="T0 (compiled kernels) or T1 (counts); both by default.")
]


def perf_check(
    baselines: _BaselinesOption = Path("perf_baselines"),
    tier: _TierOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare this build's figures with the stored ones; any that moved fails the check."""
    from cuzk.perf import compare, read_baseline, read_tolerances

    tolerances = read_tolerances(baselines / "tolerances.toml")
    rows: list[Row] = []
    for now in _gather(tier, ""):
        rows += compare(read_baseline(baselines / now.file_name), now, tolerances)
    bad = [row for row in rows if not row.verdict.passes]
    if as_json:
        print_json({"figures": len(rows), "moved": [_row_json(row) for row in bad]})
    else:
        if bad:
            made = table(
                "Figures that moved", "tier", "workload", "subject", "metric", "baseline", "now", "verdict"
            )
            for row in bad:
                made.add_row(
                    row.tier, row.workload, row.subject, row.metric, _shown(row.baseline), _shown(row.now),
                    row.verdict.value,
                )  # fmt: skip
            print_table(made)
            note("If the change is meant, record it with the reason: cuzk perf record --reason WHY")
        note(f"{len(rows)} figures compared, {len(bad)} moved")
    if bad:
        raise typer.Exit(1)


def perf_record(
    reason: Annotated[str, typer.Option("--reason", help="Why the figures move; stored with them.")],
    baselines: _BaselinesOption = Path("perf_baselines"),
    tier: _TierOption = None,
) -> None:
    """Measure this build and store its figures as the new baseline."""
    from cuzk.errors import InputError
    from cuzk.perf import write_baseline

    if not reason.strip():
        raise InputError("a baseline needs a reason", remedy="say in a few words why the figures moved")
    for now in _gather(tier, reason.strip()):
        note(f"wrote {write_baseline(baselines, now)}: {sum(map(len, now.figures.values()))} figures")


def _gather(tiers: list[str] | None, reason: str) -> list[Baseline]:
    """Measure the figures of the wanted tiers."""
    from cuzk.errors import InputError
    from cuzk.perf.baseline import TIERS, Baseline

    wanted = tiers or list(TIERS)
    unknown = sorted(set(wanted) - set(TIERS))
    if unknown:
        raise InputError(
            f"unknown tier {', '.join(unknown)}", where="--tier", limit=f"possible: {', '.join(TIERS)}",
            remedy="name one of these, or leave the option out for all",
        )  # fmt: skip
    found = []
    if "T0" in wanted:
        from cuzk.device.static import compiler_environment, static_figures

        for arch in _ARCHS:
            figures = static_figures(
                arch, progress=lambda name, done, of: note(f"compiled {name} ({done}/{of})")
            )
            found.append(Baseline("T0", f"sm_{arch}", compiler_environment(), figures, reason))
    if "T1" in wanted:
        from cuzk.cli.perf_workloads import count_proof, workload_names

        for name, curve, rows in workload_names():
            figures = count_proof(curve, rows)
            found.append(Baseline("T1", name, {"device": "emu", "schedule": "ascending"}, figures, reason))
    return found


def _shown(value: int | None) -> str:
    return "-" if value is None else str(value)


def _row_json(row: Row) -> dict[str, object]:
    return {
        "tier": row.tier, "workload": row.workload, "subject": row.subject, "metric": row.metric,
        "baseline": row.baseline, "now": row.now, "verdict": row.verdict.value,
    }  # fmt: skip
