"""``python -m cuzk_fuzz report``: a page of campaigns, as Markdown or HTML."""

from __future__ import annotations

import argparse
import html
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cuzk_fuzz import report
from cuzk_fuzz.commands import DONE, FOUND, say
from cuzk_fuzz.engine import Result
from cuzk_fuzz.findings import Finding
from cuzk_fuzz.merge import read_results
from cuzk_fuzz.registry import TARGETS

_STYLE = (
    "body{font:15px/1.4 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #bbb;padding:.2em .6em;text-align:left}"
    "td.n{text-align:right}tr.bad{background:#fdd}code{font-size:90%}"
)


def add_parser(commands: Any) -> None:
    """Add the command to the others."""
    page = commands.add_parser("report", help="a Markdown or HTML page from the JSON of runs")
    page.add_argument("results", type=Path, nargs="+", help="results, or folders of them")
    page.add_argument("--out", type=Path, help="write the Markdown there instead of printing it")
    page.add_argument("--html", type=Path, help="write an HTML page there")
    page.set_defaults(do=run)


def class_rows(results: Sequence[Result]) -> Iterator[tuple[str, str, str]]:
    """(target, id, hits on all devices together) of every id that is required or was hit."""
    hits: dict[str, Counter[str]] = {}
    for result in results:
        hits.setdefault(result.target, Counter()).update(result.hits)
    for target, counted in hits.items():
        for edge_id in sorted(TARGETS[target].required | set(counted)):
            yield target, edge_id, f"{counted[edge_id]:,}"


def bucket_rows(results: Sequence[Result]) -> list[tuple[str, int, Finding]]:
    """(bucket, how many results have it, the first finding) by bucket."""
    found: dict[str, list[Finding]] = {}
    for result in results:
        for finding in result.findings:
            found.setdefault(finding.bucket, []).append(finding)
    return [(bucket, len(same), same[0]) for bucket, same in sorted(found.items())]


def _replay(finding: Finding) -> str:
    return f"python -m cuzk_fuzz replay {finding.name}.json"


def markdown(results: Sequence[Result]) -> str:
    """Throughput, class coverage, findings by bucket."""
    lines = [
        "# Fuzzing report",
        "",
        "| " + " | ".join(report.COLUMNS) + " |",
        "|" + "---|" * len(report.COLUMNS),
    ]
    lines += ["| " + " | ".join(report.result_row(result)) + " |" for result in results]
    lines += ["", "## Edge classes", "", "| target | id | hits |", "|---|---|---|"]
    lines += ["| " + " | ".join(row) + " |" for row in class_rows(results)]
    lines += ["", "## Findings", ""]
    buckets = bucket_rows(results)
    for bucket, count, finding in buckets:
        lines.append(f"- **{bucket}** ({count}): {finding.outcome.describe()}; `{_replay(finding)}`")
    return "\n".join(lines if buckets else [*lines, "None."]) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], bad: Sequence[bool] | None = None) -> str:
    marks = bad or [False] * len(rows)
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr{' class=bad' if mark else ''}>"
        + "".join(f"<td{' class=n' if cell[:1].isdigit() else ''}>{html.escape(cell)}</td>" for cell in row)
        + "</tr>"
        for row, mark in zip(rows, marks, strict=True)
    )
    return f"<table><tr>{cells}</tr>{body}</table>"


def as_html(results: Sequence[Result]) -> str:
    """The same page, in one file that needs no other."""
    classes = list(class_rows(results))
    rows = [(bucket, f"{count}", finding.outcome.describe(), _replay(finding))
            for bucket, count, finding in bucket_rows(results)]  # fmt: skip
    required = [edge_id in TARGETS[target].required and hits == "0" for target, edge_id, hits in classes]
    parts = [
        "<!doctype html><meta charset=utf-8><title>Fuzzing report</title>", f"<style>{_STYLE}</style>",
        "<h1>Fuzzing report</h1>", _table(report.COLUMNS, [report.result_row(result) for result in results]),
        "<h2>Findings</h2>", _table(("bucket", "results", "what", "replay"), rows) if rows else "<p>None.</p>",
        "<h2>Edge classes</h2>", _table(("target", "id", "hits"), classes, required),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def run(args: argparse.Namespace) -> int:
    """Run the command; 1 where there are findings."""
    results = read_results(args.results)
    if not results:
        raise ValueError(f"no results of campaigns in {', '.join(map(str, args.results))}")
    if args.html is not None:
        args.html.write_text(as_html(results))
    if args.out is not None:
        args.out.write_text(markdown(results))
    elif args.html is None:
        say(markdown(results))
    return FOUND if any(result.findings for result in results) else DONE
