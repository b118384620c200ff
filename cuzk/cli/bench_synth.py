"""``cuzk bench synth``: the classic synthesis under every setting, interleaved, and the sparse product beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzk.cli.output import note, print_json, print_table, table
from cuzk.cli.paths import check_inputs
from cuzk.errors import InputError

if TYPE_CHECKING:
    from cuzk.closures import Setting
    from cuzk.curves import Curve
    from cuzk.relation import R1CS

__all__ = ["ACTING", "bench_synth", "settings_around"]

#: Variants that act in a classic synthesis.
ACTING = frozenset({"A1", "A2", "A3", "A5"})
_DEFAULT_ROWS = 1 << 14
#: Counts that the table shows; JSON has all.
_SHOWN = (
    "allocations", "reallocations", "spills", "relocations", "recycled", "vector_reallocations", "prefetches",
)  # fmt: skip


def bench_synth(
    circuit: str | None,
    rows: Sequence[int],
    curve: Curve,
    variants: Mapping[str, str],
    repeats: int,
    *,
    callgrind: bool,
    as_json: bool,
) -> None:
    """Measure and report.

    Args:
        circuit: Name of a built-in circuit, or a .r1cs file; None for generated rows.
        rows: How many rows to generate, at most one number.
        curve: Over which curve they are.
        variants: Values that every setting has; the other variants are varied one at a time.
        repeats: Rounds; each runs every setting twice, in one order and in the other.
        callgrind: Count instructions in a simulated processor instead of measuring time.
        as_json: Report as JSON.

    Raises:
        InputError: A circuit and a number of rows, several numbers, or no such circuit.
    """
    from cuzk.cli.bench_synth_runs import measure, prepare, setting_name

    r1cs, name = _load(circuit, rows, curve)
    settings = settings_around(variants)
    case = prepare(r1cs)
    facts = {
        "circuit": name, "curve": r1cs.curve.name, "rows": r1cs.num_constraints, "variables": r1cs.num_variables,
        "nonzero": sum(matrix.nnz for matrix in r1cs.matrices.values()), "terms": case.num_terms,
    }  # fmt: skip
    note(f"{name}: {facts['rows']} rows, {facts['terms']} terms as written, {len(settings)} settings")
    if callgrind:
        from cuzk.cli.bench_synth_callgrind import count

        note("under callgrind, about 50 times as slow as outside")
        counted = zip(settings, count(case, settings), strict=True)
        rows_of = [
            {"name": setting_name(s), "variants": s.variants(), "events": events} for s, events in counted
        ]
        report = facts | {"results": rows_of}
        print_json(report) if as_json else _print_counted(report)
        return
    report = facts | measure(case, settings, repeats, note)
    print_json(report) if as_json else _print_measured(report)


def settings_around(variants: Mapping[str, str]) -> list[Setting]:
    """The setting with the given values, the others at their defaults, and those that differ from it in one more.

    Args:
        variants: Values by id, of ACTING alone.
    """
    from cuzk.closures import Setting
    from cuzk.variants import VARIANTS, resolve

    base = resolve(variants)
    free = sorted(ACTING - variants.keys())
    changed = [base | {one: value} for one in free for value in VARIANTS[one].values if value != base[one]]
    return [Setting.of(values) for values in (base, *changed)]


def _load(circuit: str | None, rows: Sequence[int], curve: Curve) -> tuple[R1CS, str]:
    if circuit is not None and rows:
        raise InputError(
            f"both the circuit {circuit} and a number of rows", where="--rows", remedy="give one of them"
        )
    if len(rows) > 1:
        raise InputError(
            f"{len(rows)} numbers of rows", where="--rows", limit="one", remedy="run it for each"
        )
    if circuit is None:
        from cuzk.cli.bench_cases import chain_circuit

        count = rows[0] if rows else _DEFAULT_ROWS
        return chain_circuit(curve, count)[0], f"{count} generated rows"
    from cuzk.circuits.catalogue import build_circuit, is_circuit_name

    if is_circuit_name(circuit):
        note(f"recording {circuit}")
        return build_circuit(circuit), circuit
    from cuzk.formats import load_r1cs
    from cuzk.formats.detect import require_kind

    path = Path(circuit)
    check_inputs({"C.r1cs": path})
    require_kind(path, ("r1cs",), "a circuit")
    return load_r1cs(path), path.name


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:+.1f}%"


def _short(row: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    """What differs from the first setting."""
    if row is first:
        return "the first"
    return " ".join(
        f"{name}={value}" for name, value in row["variants"].items() if first["variants"][name] != value
    )


def _title(report: Mapping[str, Any]) -> str:
    return (
        f"{report['circuit']}, {report['rows']} rows, {report['terms']} terms; the first is "
        f"{report['results'][0]['name']}"
    )


def _print_measured(report: Mapping[str, Any]) -> None:
    counters = [
        name for name in ("instructions", "branches", "cache_misses") if name not in report["missing"]
    ]
    columns = ("setting", ">median ms", ">spread", ">against the first", ">from", ">to")
    made = table(_title(report), *columns, *(f">{name}" for name in counters))
    first = report["results"][0]
    for row in report["results"]:
        against = [_percent(row[name]) for name in ("ratio", "ratio_low", "ratio_high")]
        made.add_row(
            _short(row, first), f"{row['median_ms']:.2f}", f"{row['spread']:.1%}", *against,
            *(f"{row['counters'][name]:.4g}" for name in counters),
        )  # fmt: skip
    print_table(made)
    counted = table("What each did in one run", "setting", *(f">{name.replace('_', ' ')}" for name in _SHOWN))
    for row in report["results"]:
        if row["counts"]:
            counted.add_row(_short(row, first), *(str(row["counts"][name]) for name in _SHOWN))
    print_table(counted)
    if report["missing"]:
        names = ", ".join(report["missing"])
        note(f"this machine does not count {names}; --callgrind counts in a simulated processor")


def _print_counted(report: Mapping[str, Any]) -> None:
    columns = ("setting", ">instructions", ">", ">branches", ">", ">mispredicted", ">", ">L1 misses", ">")
    made = table(f"In callgrind's simulated processor. {_title(report)}", *columns)
    first = report["results"][0]
    for row in report["results"]:
        cells = []
        for name in ("instructions", "branches", "mispredicted", "l1_misses"):
            value, base = row["events"][name], first["events"][name]
            cells += [str(value), _percent(value / max(base, 1))]
        made.add_row(_short(row, first), *cells)
    print_table(made)
