"""``cuzk ab --engine``: the variants of the engine, in one table."""

from __future__ import annotations

from dataclasses import asdict

from cuzk.cli.output import note, print_json, print_table, table
from cuzk.errors import InputError

__all__ = ["ab_engine"]

#: Small enough that a comparison takes minutes on two cores.
_CIRCUIT = "fallback-post:8-0-0:1s:1c"


def ab_engine(
    values: list[str],
    workload: str,
    jobs: int,
    partitions: int,
    device: str,
    pairs: int | None,
    as_json: bool,
) -> int:
    """Compare and report.

    Args:
        values: As P2=off; none takes every value.
        workload: A built-in circuit, or the default of `cuzk ab`, which stands for a small one.
        jobs: Of a run.
        partitions: Of every second job.
        device: Where.
        pairs: Of runs; None compares bits alone.
        as_json: Report as JSON.

    Returns:
        0 where all bits agree, else 1.
    """
    from cuzk.ab.engine import CONTROL, compare_engines, engine_candidates
    from cuzk.ab.engine_workload import engine_workload
    from cuzk.cli.daemon import require_engine_libraries

    require_engine_libraries()
    circuit = _CIRCUIT if workload.startswith("mixed:") else workload
    chosen = [_parsed(text) for text in values] or engine_candidates()
    if pairs is not None:
        chosen = [CONTROL, *chosen]
    note(f"workload {circuit}: key")
    with engine_workload(circuit, jobs, partitions) as opened:
        proofs = opened.num_proofs
        note(f"{jobs} jobs, {proofs} proofs a run, bits first" + (f", then {pairs} pairs" if pairs else ""))
        rows = compare_engines(opened, chosen, "cpu" if device == "auto" else device, pairs, note)
    if as_json:
        report = [asdict(row) | {"verdict": row.verdict} for row in rows]
        print_json(
            {"workload": circuit, "jobs": jobs, "proofs": proofs, "device": device, "pairs": pairs, "rows": report}
        )  # fmt: skip
    else:
        made = table(
            f"{circuit}: {jobs} jobs, {proofs} proofs a run, {pairs} pairs, wall clock; time of all jobs over that of "
            "the defaults, below 1 is faster",
            "variant", "bits", ">defaults/s", ">with it/s", ">time", ">95% interval", "verdict", "forecast",
        )  # fmt: skip
        for row in rows:
            total = row.total
            rates = ("", "") if total is None else (proofs / total.a_ms * 1e3, proofs / total.b_ms * 1e3)
            made.add_row(
                " ".join(CONTROL) if (row.variant, row.value) == CONTROL else f"{row.variant}={row.value}",
                "same" if row.same else "differ",
                *(f"{rate:.1f}" if rate else "" for rate in rates),
                "" if total is None else f"{total.ratio:.3f}",
                "" if total is None else f"{total.low:.3f} to {total.high:.3f}", row.verdict, row.forecast,
            )  # fmt: skip
        print_table(made)
    return 0 if all(row.same for row in rows) else 1


def _parsed(text: str) -> tuple[str, str]:
    from cuzk.ab.engine import pipeline_of

    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r:.40} is not of the form ID=VALUE", remedy="write for example P2=off")
    pipeline_of({name.upper(): value})
    return name.upper(), value
