"""Turns results of a device run into the tables of docs/performance.md: figure, floor, target, met or missed.

python -m tests.device.report suite.json [timings.json proofs.json ...]

Takes what suite.py collects, and single files of its scripts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_TITLES = {
    "ntt": "Transforms in Fr, in place, to bit-reversed order",
    "msm_g1": "G1 sums, uniform scalars",
    "msm_g2": "G2 sums, uniform scalars",
    "sparse_g1": "G1 sums, 60% zeros, 30% ones, 10% random",
    "sparse_g2": "G2 sums, 60% zeros, 30% ones, 10% random",
    "batch_add": "Sum of all bases",
}
Row = dict[str, Any]


def verdict(row: Row) -> str:
    """What a row says of its target."""
    if "pass" not in row:
        return "-"
    return "met" if row["pass"] else "**missed**"


def number(value: Any) -> str:
    """A figure with three significant digits or more; a dash for none."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}" if value >= 1 else f"{value:.3g}"


def times(row: Row) -> str:
    """Median and spread, milliseconds."""
    return f"{number(row['median_ms'])} ({number(row['min_ms'])} to {number(row['max_ms'])})"


def ratio(row: Row, other: str) -> str:
    """The row's median over another figure of it."""
    return f"{row['median_ms'] / row[other]:.2f}" if row.get(other) else "-"


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def timing_tables(rows: list[Row]) -> Iterator[str]:
    """One table per family of kernels."""
    for family in dict.fromkeys(row["family"] for row in rows):
        yield f"### {_TITLES.get(family, family)}"
        yield ""
        lines: list[list[str]] = []
        floors: dict[str, list[str]] = {}
        for row in (r for r in rows if r["family"] == family):
            name = [str(row["log_n"]), row.get("variant", "")]
            if "median_ms" not in row:
                lines.append([*name, str(row.get("skipped") or row.get("error")), *["-"] * 5])
                continue
            memory = f"{row['work_bytes'] / 2**20:.0f}"
            floor = (
                f"{number(row.get('floor_ms'))} (x {ratio(row, 'floor_ms')})" if row.get("floor_ms") else "-"
            )
            peer = f"{number(row.get('peer_ms'))} (x {ratio(row, 'peer_ms')})" if row.get("peer_ms") else "-"
            lines.append([*name, times(row), floor, peer, number(row.get("target_ms")), verdict(row), memory])
            if row.get("floor_of"):
                floors.setdefault(row["floor_of"], []).append(f"2^{row['log_n']}")
        head = ["log2 n", "run", "ms, median (least to most)", "floor", "sppark", "target", "", "scratch MiB"]
        yield from table(head, lines)
        if floors:
            yield (
                "Floors: "
                + "; ".join(f"{', '.join(dict.fromkeys(sizes))} {of}" for of, sizes in floors.items())
                + "."
            )
            yield ""


def proof_tables(rows: list[Row]) -> Iterator[str]:
    """Whole proofs, then where the time goes."""
    done = [row for row in rows if "median_ms" in row]
    lines = []
    for row in rows:
        name = [str(row["log_domain"]), row["curve"], "dense" if row["dense"] else "PoRep"]
        if "median_ms" not in row:
            lines.append([*name, str(row.get("skipped") or row.get("error")), *["-"] * 6])
            continue
        targets = f"{number(row.get('target_ms'))}; six {number(row.get('six_target_ms'))}"
        peers = f"{number(row.get('peer_ms'))}; pipelined {number(row.get('six_peer_ms'))}"
        memory = [f"{row[key] / 2**30:.2f}" for key in ("device_bytes", "host_peak_bytes")]
        six = number(row["six_in_a_row_ms_each"])
        lines.append([*name, times(row), six, targets, verdict(row), peers, *memory])
    head = ["log2 domain", "curve", "values", "a proof, ms", "six in a row, ms each", "target", "", "supraseal-c2",
            "device GiB", "host GiB"]  # fmt: skip
    yield "### Whole proofs"
    yield ""
    yield from table(head, lines)
    phases = list(dict.fromkeys(phase for row in done for phase in row["phases"]))
    if phases:
        yield "Phases, ms, medians:"
        yield ""
        columns = [f"2^{r['log_domain']} {r['curve']}{' dense' if r['dense'] else ''}" for r in done]
        cells = [[p, *(number(r["phases"].get(p, {}).get("median_ms")) for r in done)] for p in phases]
        yield from table(["phase", *columns], cells)


def synthesis_table(rows: list[Row]) -> Iterator[str]:
    """Compiled circuits from hints to a, b, c."""
    steps = ("witness", "a", "b", "c", "all", "all_in_a_graph")
    lines = [
        [row["circuit"], str(row["rows"]), *(times(row[step]) for step in steps), f"{row['device_bytes'] / 2**30:.2f}",
         number(row.get("target_ms")), verdict(row)]
        for row in rows
    ]  # fmt: skip
    yield "### Synthesis from hints"
    yield ""
    yield from table(
        ["circuit", "rows", *(f"{step}, ms" for step in steps), "device GiB", "target", ""], lines
    )


def ladder_table(rows: list[Row]) -> Iterator[str]:
    """Circuits set up without matrices, and proofs from vanilla data."""
    peaks = ("setup_device_bytes", "device_bytes", "host_bytes")
    lines = [
        [row["circuit"], str(row["constraints"]), f"{row['setup_s']:.2f}", f"{row['key_bytes'] / 2**30:.2f}",
         f"{row['key_load_s']:.2f}", times(row["read"]), times(row["phases"]["witness"]), times(row["phases"]["prove"]),
         times(row["all"]), *(f"{row[key] / 2**30:.2f}" for key in peaks),
         "yes" if row["verified"] else "**no**"]
        for row in rows
    ]  # fmt: skip
    head = ["circuit", "rows", "set-up, s", "key GiB", "load, s", "reading, ms", "witness, ms", "proving, ms",
            "vanilla data to proof, ms", "device GiB, set-up", "proof", "host GiB", "verified"]  # fmt: skip
    yield "### Filecoin's circuits"
    yield ""
    yield from table(head, lines)


def startup_lines(rows: list[Row]) -> Iterator[str]:
    """Start-up with cached kernels."""
    ordered = sorted(rows, key=lambda row: float(row["ready"]))
    middle = ordered[len(ordered) // 2]
    points = ", ".join(
        f"{p} {middle[p]:.2f} s" for p in ("imports", "device", "kernels", "ready", "first_proof")
    )
    met = "met" if middle["ready"] <= middle["limit_s"] else "**missed**"
    yield f"A new process, kernels cached, key of 2^{middle['log_domain']}: {points} (median of {len(rows)}; "
    yield f"limit for ready {middle['limit_s']:g} s: {met})."
    yield ""


def other_lines(data: Row) -> Iterator[str]:
    """Builds, comparisons and sanitizer runs."""
    rows = data["rows"]
    if "seconds" in data and "compiled" in data:
        yield f"First build: {data['compiled']} modules for sm_{data['arch']} in {data['seconds']:.1f} s on "
        yield f"{data['cores']} cores (limit {data['limit_s']:g} s on 16)."
    elif "skipped" in data:
        yield f"Skipped: {data['skipped']}."
    elif rows and "bad" in rows[0]:
        bad = sum(bool(row["bad"]) for row in rows)
        yield f"Kernels: {data.get('kernels', '?')} launched in {len(rows)} cases; {bad} cases differ from the hosts."
    elif rows and "check" in rows[0]:
        failed = [row["check"] for row in rows if not row["ok"]]
        yield f"Device layer: {len(rows)} checks, failed: {', '.join(failed) or 'none'}."
    elif rows and "resident" in rows[0]:
        for row in rows:
            key, limit = row["key_bytes"] / 2**30, row["limit"] / 2**30
            yield f"A key of {key:.2f} GiB in {limit:.2f} GiB, domain 2^{row['log_domain']}: streamed "
            yield f"{times(row['limited'])} ms, resident {times(row['resident'])} ms, {row['ratio']:.2f} times; "
            yield f"bytes {'equal' if row['same_bytes'] else '**differ**'}, {verdict(row)}."
    elif rows and "faults" in rows[0]:
        bad = sum(bool(row["faults"]) for row in rows)
        yield f"Variants: {len(rows)} rows of the covering array; {bad} without the bytes or the traces."
    elif rows and "outcome" in rows[0]:
        yield "compute-sanitizer: " + ", ".join(f"{r['tool']} {r['outcome']}" for r in rows) + "."
    yield ""


def sections(data: Row) -> Iterator[str]:
    """All that one file says."""
    if "parts" in data:
        parts = data["parts"].items()
        yield f"Device: {data['gpu']}. Sources: {data['tree']}."
        yield ""
        yield from table(
            ["part", "outcome", "s"], [[name, p["outcome"], str(p.get("seconds", "-"))] for name, p in parts]
        )
        timings = [part["results"] for _, part in parts if part["results"]]
        proofs = [r for d in timings for r in d.get("rows", ()) if "dense" in r]
        if proofs:
            yield from proof_tables(proofs)
        for results in timings:
            if "counts" in results:
                yield f"Tests: {json.dumps(results['counts'])}."
                yield ""
            elif not any("dense" in row for row in results["rows"]):
                yield from sections(results)
        return
    rows = data["rows"]
    if rows and "family" in rows[0]:
        yield from timing_tables(rows)
    elif rows and "dense" in rows[0]:
        yield from proof_tables(rows)
    elif rows and "ready" in rows[0]:
        yield from startup_lines(rows)
    elif rows and "all_in_a_graph" in rows[0]:
        yield from synthesis_table(rows)
    elif rows and "setup_s" in rows[0] and "read" in rows[0]:
        yield from ladder_table(rows)
    else:
        yield from other_lines(data)


def main() -> int:
    """Entry point; returns the exit code."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    for name in sys.argv[1:]:
        print("\n".join(sections(json.loads(Path(name).read_text(encoding="utf-8")))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
