"""Compare figures with a baseline.  What is missing, new or unnamed fails: a silent pass is worse than an alarm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cuzk.errors import InputError
from cuzk.perf.baseline import Baseline
from cuzk.perf.tolerances import Tolerance, Tolerances

__all__ = ["Row", "Verdict", "compare"]


class Verdict(Enum):
    """What one figure says."""

    SAME = "same"
    RISEN = "risen"  # beyond its limit: fails
    FALLEN = "fallen"  # better: fails too until the baseline moves, so that it cannot creep back
    MISSING = "missing"  # in the baseline, not measured: fails
    NEW = "new"  # measured, not in the baseline: fails until it is recorded

    @property
    def passes(self) -> bool:
        """Whether the gate lets it through."""
        return self is Verdict.SAME


@dataclass(frozen=True)
class Row:
    """One compared figure.

    Args:
        tier: As in the baseline.
        workload: As in the baseline.
        subject: Kernel or phase.
        metric: What was counted.
        baseline: The stored value, None if there is none.
        now: The new value, None if it was not measured.
        verdict: What follows.
    """

    tier: str
    workload: str
    subject: str
    metric: str
    baseline: int | None
    now: int | None
    verdict: Verdict


def compare(baseline: Baseline, now: Baseline, tolerances: Tolerances) -> list[Row]:
    """Compare two sets of figures of one workload.

    Args:
        baseline: The stored figures.
        now: The new ones.
        tolerances: The limits.

    Returns:
        A row for every figure of either.

    Raises:
        InputError: Another workload, or another environment: such figures say nothing about each other.
    """
    if (baseline.tier, baseline.workload) != (now.tier, now.workload):
        raise InputError(
            f"{now.file_name} cannot be compared with {baseline.file_name}",
            remedy="compare two ledgers of one machine and tier",
        )
    changed = {
        key: (baseline.environment.get(key), now.environment.get(key))
        for key in {*baseline.environment, *now.environment}
        if baseline.environment.get(key) != now.environment.get(key)
    }
    if changed:
        differences = "; ".join(f"{key}: {old!r}, now {new!r}" for key, (old, new) in sorted(changed.items()))
        raise InputError(
            f"{baseline.file_name} was recorded in another environment ({differences})",
            remedy="install the compiler it names, or record again and give --reason",
        )
    rows = []
    for subject in sorted({*baseline.figures, *now.figures}):
        old, new = baseline.figures.get(subject, {}), now.figures.get(subject, {})
        for metric in sorted({*old, *new}):
            verdict = _judge(old, new, metric, tolerances.of(now.tier, metric))
            rows.append(
                Row(now.tier, now.workload, subject, metric, old.get(metric), new.get(metric), verdict)
            )
    return rows


def _judge(old: Mapping[str, int], new: Mapping[str, int], metric: str, limit: Tolerance) -> Verdict:
    if metric not in new:
        return Verdict.MISSING
    if metric not in old:
        return Verdict.NEW
    before, after = _rounded(old[metric], limit.steps), _rounded(new[metric], limit.steps)
    if after > before * (1 + limit.rise):
        return Verdict.RISEN
    if after < before * (1 - limit.fall):
        return Verdict.FALLEN
    return Verdict.SAME


def _rounded(value: int, steps: int) -> int:
    """Up to the next step; exact where steps is 0."""
    return -(-value // steps) * steps if steps else value
