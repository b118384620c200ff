"""The ledger as one HTML file: what is stored, times over their floors, the history of every phase, the last run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from cuzk.perf.baseline import Baseline
from cuzk.perf.gate import floor_rows
from cuzk.perf.ledger import Ledger, Point
from cuzk.perf.pictures import history_plot
from cuzk.perf.trend import change_points, creep

__all__ = ["report", "trend_lines"]

#: Metrics that are drawn; a file with every byte count would hide what matters.
_DRAWN = ("time", "instructions", "fp_mul", "fr_mul", "ec_madd", "bytes_up", "launches", "registers")
#: T0 has a plot only where a kernel's registers or spills moved since the first record.
_STYLE = """
:root { color-scheme: light dark; --ink: #1d2129; --dim: #667; --line: #2563b0; --grid: #d8dce4; --paper: #fff;
  --alarm: #b3261e; --good: #1b7f4b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --dim: #9aa3b2; --line: #7fb0f0; --grid: #3a4150;
  --paper: #14171c; --alarm: #ff8a80; --good: #7bd6a5; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  max-width: 1180px; padding: 24px; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 8px; }
p { margin: 4px 0 10px; color: var(--dim); } table { border-collapse: collapse; margin: 8px 0; font-size: 14px; }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--grid); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
.alarm { color: var(--alarm); font-weight: 600; } .good { color: var(--good); }
.plots { display: flex; flex-wrap: wrap; gap: 14px; } .plot { overflow: visible; }
.plot .title { font-size: 12.5px; font-weight: 600; fill: var(--ink); }
.plot .axis { font-size: 10.5px; fill: var(--dim); }
.plot .grid { stroke: var(--grid); } .plot .line { fill: none; stroke: var(--line); stroke-width: 1.6; }
.plot circle { fill: var(--line); } .plot .change { stroke: var(--alarm); stroke-dasharray: 4 3; }
.plot .change-label { font-size: 10.5px; fill: var(--alarm); }
.plot .best { stroke: var(--good); stroke-dasharray: 2 3; }
details { margin: 6px 0; } summary { cursor: pointer; } code { font-size: 13px; }
.wide { overflow-x: auto; }
"""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: frozenset[int] = frozenset()) -> str:
    """A table; `numbers` are the columns that are aligned to the right. Cells are HTML."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(
            f'<{tag}{" class=number" if i in numbers else ""}>{cell}</{tag}>' for i, cell in enumerate(cells)
        ) + "</tr>"  # fmt: skip

    body = "".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table>{line(head, "th")}{body}</table></div>'


def report(ledger: Ledger, last_run: str = "", commit: str = "") -> str:
    """Write the page.

    Args:
        ledger: What to show.
        last_run: HTML of the last run's waterfall; a sentence says so where there is none.
        commit: Of the tree that it was made in.

    Returns:
        A whole HTML document that loads nothing.
    """
    baselines = ledger.baselines()
    alarms = [line for baseline in baselines for line in trend_lines(ledger, baseline)]
    body = [
        "<h1>cuzk performance ledger</h1>",
        f"<p>{len(baselines)} baselines, made at <code>{escape(commit or 'unknown')}</code></p>",
        "<h2>Trends</h2>",
        _table(["where", "figure", "what"], alarms)
        if alarms
        else "<p>No step of 2% or more and no creep of 5% in the last 60 records of any measured phase.</p>",
        "<h2>What is stored</h2>",
        _stored(baselines),
        "<h2>Times over their floors</h2>",
        _floors(ledger, baselines),
        "<h2>The last run</h2>",
        last_run
        or "<p>No events were given: <code>cuzk prove --events run.jsonl</code>, then "
        "<code>cuzk perf report --events run.jsonl</code>.</p>",
        "<h2>History</h2>",
        *[part for baseline in _by_interest(baselines) for part in _history(ledger, baseline)],
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>cuzk performance ledger</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        + "\n".join(body)
        + "</body></html>\n"
    )


def _by_interest(baselines: Sequence[Baseline]) -> list[Baseline]:
    """Times first, then counts, then compiled figures."""
    order = {"T2s": 0, "T1h": 1, "T1": 2, "T0": 3}
    return sorted(baselines, key=lambda b: (order[b.tier], b.folder, b.workload))


def _stored(baselines: Sequence[Baseline]) -> str:
    rows = []
    for b in baselines:
        where = ", ".join(f"{k} {v}" for k, v in sorted(b.environment.items()) if k != "options")
        rows.append(
            [
                b.tier, escape(b.workload), escape(where), f"<code>{b.commit}</code>", b.date,
                str(sum(map(len, b.figures.values())) + sum(map(len, b.measured.values()))), escape(b.reason),
            ]
        )  # fmt: skip
    return _table(
        ["tier", "workload", "environment", "commit", "date", "figures", "why"], rows, frozenset({5})
    )


def _floors(ledger: Ledger, baselines: Sequence[Baseline]) -> str:
    rows = []
    for b in baselines:
        for row in floor_rows(b, ledger.tolerances):
            held = row.verdict.passes
            said = f'<span class="{"good" if held else "alarm"}">{"held" if held else "missed"}</span>'
            rows.append([escape(row.subject), escape(row.note), f"{row.now:.2f}", f"{row.baseline:g}", said])
    if not rows:
        return "<p>No stored time has a written floor.</p>"
    return _table(["phase", "floor", "times", "most", ""], rows, frozenset({2, 3}))


def trend_lines(ledger: Ledger, baseline: Baseline) -> Iterator[list[str]]:
    """Change points and creeps of a baseline's measured figures, as cells of HTML."""
    step, total = ledger.tolerances.of("T3", "time"), ledger.tolerances.of("T3", "creep")
    for (subject, metric), points in ledger.series(baseline).items():
        if baseline.tier not in ("T2s", "T1h"):
            continue
        values = [point.value for point in points if point.value > 0]
        where = f"{escape(baseline.folder or baseline.tier)} {escape(baseline.workload)}"
        for change in change_points(values, step.rise):
            said = f"{change.share:+.1%} at {points[change.index].commit} ({points[change.index].date})"
            yield [where, f"{escape(subject)} {metric}", f'<span class="alarm">{said}</span>']
        crept = creep(values, total.rise)
        if crept is not None:
            said = f"{crept.share:+.1%} against the best of the window"
            yield [where, f"{escape(subject)} {metric}", f'<span class="alarm">{said}</span>']


def _history(ledger: Ledger, baseline: Baseline) -> Iterator[str]:
    series = ledger.series(baseline)
    plots = []
    for (subject, metric), points in sorted(series.items()):
        if not _is_drawn(baseline, metric, points):
            continue
        values = [p.value for p in points]
        is_measured = baseline.tier in ("T2s", "T1h") and min(values) > 0
        changes = change_points(values) if is_measured else []
        crept = creep(values) if is_measured else None
        plots.append(
            history_plot(f"{subject}: {metric}", points, changes, crept, _unit(baseline, subject, metric))
        )
    if plots:
        name = f"{baseline.tier} {baseline.workload}" + (f" on {baseline.folder}" if baseline.folder else "")
        is_open = " open" if baseline.tier in ("T2s", "T1h") else ""
        yield f"<details{is_open}><summary><b>{escape(name)}</b> ({len(plots)} plots)</summary>"
        yield f'<div class="plots">{"".join(plots)}</div></details>'


def _is_drawn(baseline: Baseline, metric: str, points: Sequence[Point]) -> bool:
    if baseline.tier == "T0":
        return len({point.value for point in points}) > 1 and metric in ("registers", "spill_store_bytes")
    return metric in _DRAWN or metric.endswith("memory")


def _unit(baseline: Baseline, subject: str, metric: str) -> str:
    value = baseline.measured.get(subject, {}).get(metric)
    return value.unit if value is not None else "bytes" if "bytes" in metric or "memory" in metric else ""
