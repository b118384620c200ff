"""Compare figures with a baseline.  What is missing, new or unnamed fails: a silent pass is worse than an alarm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from cuzk.errors import InputError
from cuzk.perf.baseline import Baseline
from cuzk.perf.measured import MIN_SAMPLES, Measured
from cuzk.perf.tolerances import Tolerance, Tolerances

__all__ = ["Row", "Verdict", "check_comparable", "compare", "floor_rows"]


class Verdict(Enum):
    """What one figure says."""

    SAME = "same"
    RISEN = "risen"  # beyond its limit: fails
    FALLEN = "fallen"  # better: fails too until the baseline moves, so that it cannot creep back
    MISSING = "missing"  # in the baseline, not measured: fails
    NEW = "new"  # measured, not in the baseline: fails until it is recorded
    VOID = "void"  # too few samples, or A and A disagree: nothing is known, which is no pass
    STALE = "stale"  # the baseline describes another time: it has to be recorded again

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
        tolerance: Share by which it might have risen.
        note: What the verdict rests on, where the numbers alone do not say.
    """

    tier: str
    workload: str
    subject: str
    metric: str
    baseline: float | None
    now: float | None
    verdict: Verdict
    tolerance: float = 0.0
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The new value over the stored one; None where one is missing or the stored one is zero."""
        return self.now / self.baseline if self.now is not None and self.baseline else None


def check_comparable(baseline: Baseline, now: Baseline) -> None:
    """Refuse to compare what says nothing about each other.

    Raises:
        InputError: Another tier, workload, load or environment.
    """
    if (baseline.tier, baseline.workload) != (now.tier, now.workload):
        raise InputError(
            f"{now.file_name} cannot be compared with {baseline.file_name}",
            remedy="compare two ledgers of one machine and tier",
        )
    changed = _differences(baseline.environment, now.environment)
    if changed:
        raise InputError(
            f"{baseline.file_name} was recorded in another environment ({changed}): not comparable",
            remedy="install the compiler it names, or move the baseline: cuzk perf accept --toolchain --reason WHY",
        )
    if loads := _differences(baseline.load, now.load):
        raise InputError(
            f"{baseline.file_name} is of another load ({loads}): not comparable",
            remedy="name the new load in the workload's name, so that it gets a baseline of its own",
        )


def _differences(old: Mapping[str, str | int], new: Mapping[str, str | int]) -> str:
    return "; ".join(
        f"{key}: {old.get(key)!r}, now {new.get(key)!r}"
        for key in sorted({*old, *new})
        if old.get(key) != new.get(key)
    )


def compare(
    baseline: Baseline,
    now: Baseline,
    tolerances: Tolerances,
    day_spread: Mapping[tuple[str, str], float] | None = None,
) -> list[Row]:
    """Compare two sets of figures of one workload.

    Args:
        baseline: The stored figures.
        now: The new ones.
        tolerances: The limits.
        day_spread: (subject, metric) -> half the spread of one build's medians between days, as a share.

    Returns:
        A row for every figure of either.

    Raises:
        InputError: Another workload, load or environment: such figures say nothing about each other.
    """
    check_comparable(baseline, now)
    rows = []
    for subject in sorted({*baseline.subjects, *now.subjects}):
        old, new = baseline.figures.get(subject, {}), now.figures.get(subject, {})
        for metric in sorted({*old, *new}):
            limit = tolerances.of(now.tier, metric, subject)
            verdict = _judge(old, new, metric, limit)
            rows.append(
                Row(
                    now.tier,
                    now.workload,
                    subject,
                    metric,
                    old.get(metric),
                    new.get(metric),
                    verdict,
                    limit.rise,
                )
            )
        before, after = baseline.measured.get(subject, {}), now.measured.get(subject, {})
        for metric in sorted({*before, *after}):
            spread = (day_spread or {}).get((subject, metric), 0.0)
            rows.append(
                _measured_row(now, subject, metric, before.get(metric), after.get(metric), tolerances, spread)
            )
    return rows


def _judge(old: Mapping[str, int], new: Mapping[str, int], metric: str, limit: Tolerance) -> Verdict:
    if metric not in new:
        return Verdict.MISSING
    if metric not in old:
        return Verdict.NEW
    before, after = _rounded(old[metric], limit.steps), _rounded(new[metric], limit.steps)
    return _direction(before, after, limit.rise, limit.fall, limit.least)


def _direction(before: float, after: float, rise: float, fall: float, least: float) -> Verdict:
    if abs(after - before) < least:
        return Verdict.SAME
    if after > before * (1 + rise):
        return Verdict.RISEN
    if after < before * (1 - fall):
        return Verdict.FALLEN
    return Verdict.SAME


def _rounded(value: int, steps: int) -> int:
    """Up to the next step; exact where steps is 0."""
    return -(-value // steps) * steps if steps else value


def _measured_row(
    now: Baseline,
    subject: str,
    metric: str,
    old: Measured | None,
    new: Measured | None,
    tolerances: Tolerances,
    day_spread: float,
) -> Row:
    """A row of two medians.  The tolerance is the written one, or three times what days differ by if that is more."""
    limit = tolerances.of(now.tier, metric, subject)
    rise, fall = limit.rise, limit.fall
    short, factor = tolerances.find("spread", "short"), tolerances.find("spread", "factor")
    if old is not None and old.unit == "ms" and short is not None and old.median < short.least:
        rise, fall = max(rise, short.rise), max(fall, short.fall)
    if factor is not None:
        rise, fall = max(rise, factor.most * day_spread), max(fall, factor.most * day_spread)
    verdict, note = _judge_measured(old, new, rise, fall, limit.least, tolerances)
    return Row(
        now.tier, now.workload, subject, metric, None if old is None else old.median,
        None if new is None else new.median, verdict, rise, note,
    )  # fmt: skip


def _judge_measured(
    old: Measured | None,
    new: Measured | None,
    rise: float,
    fall: float,
    least: float,
    tolerances: Tolerances,
) -> tuple[Verdict, str]:
    if new is None:
        return Verdict.MISSING, ""
    if old is None:
        return Verdict.NEW, ""
    if old.unit != new.unit:
        return Verdict.VOID, f"the baseline is in {old.unit}, this in {new.unit}"
    if old.unit != "bytes" and min(old.count, new.count) < MIN_SAMPLES:
        return Verdict.VOID, f"{min(old.count, new.count)} samples; at least {MIN_SAMPLES} are needed"
    faster = tolerances.find("stale", "faster")
    if faster is not None and faster.most and old.median > faster.most * new.median:
        return Verdict.STALE, f"the baseline is {old.median / new.median:.1f} times as slow as this tree"
    verdict = _direction(old.median, new.median, rise, fall, least)
    if verdict is Verdict.RISEN and new.low <= old.high:
        return verdict, "the intervals of the medians overlap"
    return verdict, ""


def floor_rows(now: Baseline, tolerances: Tolerances) -> list[Row]:
    """T4: each time that has a written floor, as a multiple of it, against the most that is allowed."""
    rows = []
    for subject, metrics in sorted(now.measured.items()):
        for metric, value in sorted(metrics.items()):
            if value.floor is None:
                continue
            special = tolerances.find("T4", f"{subject}.{metric}")
            limit = special or tolerances.of("T4", subject)
            ratio = value.median / value.floor
            verdict = Verdict.SAME if ratio <= limit.most else Verdict.RISEN
            said = f"floor {value.floor:.4g} {value.unit}"
            rows.append(
                Row(
                    "T4", now.workload, subject, f"{metric} over floor", limit.most, ratio, verdict, 0.0, said
                )
            )
    return rows
