"""The gate's answer in the forms that others read: a sentence, Markdown for a merge request, JUnit, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from cuzk.perf.gate import Row

__all__ = ["Absent", "Answers", "cells", "exit_code", "markdown", "sentence", "to_json", "to_junit"]


@dataclass(frozen=True)
class Absent:
    """A workload that was not compared.

    Args:
        tier: Its tier.
        workload: Its name, or "*" for the whole tier.
        why: The reason.
        allowed: The caller said beforehand that it may be.
    """

    tier: str
    workload: str
    why: str
    allowed: bool = False


@dataclass(frozen=True)
class Answers:
    """All that one check came to."""

    rows: Sequence[Row]
    absent: Sequence[Absent] = ()

    @property
    def moved(self) -> list[Row]:
        """The rows that do not pass."""
        return [row for row in self.rows if not row.verdict.passes]


def exit_code(answers: Answers) -> int:
    """0 every figure is as stored; 1 one is not; 2 something was not compared, so nothing is known of it."""
    if answers.moved:
        return 1
    if any(not absent.allowed for absent in answers.absent) or not answers.rows:
        return 2
    return 0


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.4g}"


def cells(row: Row) -> list[str]:
    """A row of the table: phase and metric, baseline, now, ratio, tolerance, verdict."""
    return [
        f"{row.tier} {row.workload}", f"{row.subject} {row.metric}", _number(row.baseline), _number(row.now),
        "-" if row.ratio is None else f"{row.ratio:.4f}", f"{row.tolerance:.1%}" if row.tolerance else "exact",
        row.verdict.value + (f" ({row.note})" if row.note else ""),
    ]  # fmt: skip


def sentence(row: Row) -> str:
    """A row in words: which kernel or phase, which figure, from what to what."""
    moved = f"{_number(row.baseline)} -> {_number(row.now)}"
    note = f" ({row.note})" if row.note else ""
    return f"{row.tier} {row.workload}: {row.subject}: {row.metric} {row.verdict.value}: {moved}{note}"


def _widest(rows: Sequence[Row]) -> dict[str, Any] | None:
    """The figure that passes and lies furthest from its baseline: how much room the tolerances leave."""
    near = [row for row in rows if row.verdict.passes and row.ratio is not None and row.tier != "T4"]
    if not near:
        return None
    row = max(near, key=lambda row: abs((row.ratio or 1.0) - 1.0))
    return {"figure": f"{row.tier} {row.workload} {row.subject} {row.metric}", "ratio": row.ratio}


def to_json(answers: Answers) -> dict[str, Any]:
    """For programs."""
    return {
        "figures": len(answers.rows),
        "moved": [
            {
                "tier": row.tier, "workload": row.workload, "subject": row.subject, "metric": row.metric,
                "baseline": row.baseline, "now": row.now, "ratio": row.ratio, "tolerance": row.tolerance,
                "verdict": row.verdict.value, "note": row.note,
            }
            for row in answers.moved
        ],
        "not_compared": [
            {"tier": a.tier, "workload": a.workload, "why": a.why, "allowed": a.allowed} for a in answers.absent
        ],
        "widest": _widest(answers.rows),
        "exit_code": exit_code(answers),
    }  # fmt: skip


def markdown(answers: Answers) -> str:
    """For a merge request: what moved, what was not compared, and how much was."""
    lines = ["## Performance ledger", ""]
    if answers.moved:
        lines += ["| where | figure | baseline | now | ratio | tolerance | verdict |", "|" + "---|" * 7]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in answers.moved] + [""]
    for absent in answers.absent:
        allowed = ", as allowed" if absent.allowed else ""
        lines.append(f"**Not compared{allowed}:** {absent.tier} {absent.workload}: {absent.why}")
        lines.append("")
    lines.append(f"{len(answers.rows)} figures compared, {len(answers.moved)} moved.")
    return "\n".join(lines) + "\n"


def to_junit(answers: Answers) -> str:
    """For CI servers: a case for each subject of each workload, and one for each that was not compared."""
    cases: dict[tuple[str, str], list[Row]] = {}
    for row in answers.rows:
        cases.setdefault((f"{row.tier}.{row.workload}", row.subject), []).append(row)
    body = [_case(suite, subject, rows) for (suite, subject), rows in cases.items()]
    failures = sum(any(not row.verdict.passes for row in rows) for rows in cases.values())
    errors = sum(not a.allowed for a in answers.absent)
    for absent in answers.absent:
        inside = (
            f"<skipped message={quoteattr(absent.why)}/>"
            if absent.allowed
            else f"<error message={quoteattr(absent.why)}/>"
        )
        body.append(
            f"<testcase classname={quoteattr(absent.tier)} name={quoteattr(absent.workload)}>{inside}</testcase>"
        )
    head = f'<testsuite name="cuzk perf" tests="{len(body)}" failures="{failures}" errors="{errors}">'
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join([head, *body, "</testsuite>"]) + "\n"


def _case(suite: str, subject: str, rows: Iterable[Row]) -> str:
    said = [sentence(row) for row in rows if not row.verdict.passes]
    inside = f"<failure message={quoteattr(said[0])}>{escape(chr(10).join(said))}</failure>" if said else ""
    return f"<testcase classname={quoteattr(suite)} name={quoteattr(subject)}>{inside}</testcase>"
