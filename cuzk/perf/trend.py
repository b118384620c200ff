"""Change points in a history of medians, and several small steps that add up.  A watcher, no gate.

A series is cut in two where the levels on both sides differ most beyond the noise, and again within each part.  Noise
is taken from neighbours, so a step does not hide itself; a level is a median of at least three points, so one spike,
also at the end, is no change.  Only the order of points counts, not what names them.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cuzk.errors import RangeError

__all__ = ["MIN_POINTS", "Change", "Creep", "change_points", "creep"]

#: Points that a level rests on at least; a history shorter than two levels says nothing.
_LEVEL = 3
MIN_POINTS = 4
#: Standard errors that two levels must lie apart.  tests/perf/test_trend.py has what that means in false alarms.
_THRESHOLD = 3.9
#: Noise is not taken for less than this share, or a constant series with one odd point would alarm.
_LEAST_NOISE = 0.001
_MAD_TO_SIGMA = 0.6745
#: A point that lies so many sigmas off both its neighbours is a spike.
_SPIKE = 4.0
#: Points of the history that are looked at.
_WINDOW = 60


@dataclass(frozen=True)
class Change:
    """A step.

    Args:
        index: First point of the new level.
        before: Level before.
        after: Level after.
    """

    index: int
    before: float
    after: float

    @property
    def share(self) -> float:
        """By how much, as a share of the level before."""
        return self.after / self.before - 1


@dataclass(frozen=True)
class Creep:
    """Where the series is, against the best that it was.

    Args:
        best: Lowest level of the window.
        now: The last level.
    """

    best: float
    now: float

    @property
    def share(self) -> float:
        """By how much."""
        return self.now / self.best - 1


def _logs(series: Sequence[float]) -> list[float]:
    for i, value in enumerate(series):
        if not (math.isfinite(value) and value > 0):
            raise RangeError(f"point {i} of the history is {value!r}", limit="a finite number above zero")
    return [math.log(value) for value in series]


def _noise(logs: Sequence[float]) -> float:
    """One sigma of a point, from neighbours."""
    steps = [abs(y - x) for x, y in itertools.pairwise(logs)]
    robust = statistics.median(steps) / _MAD_TO_SIGMA / math.sqrt(2)
    return max(robust, _LEAST_NOISE)


def _without_spikes(logs: Sequence[float]) -> list[float]:
    """The series with each odd point, one that neither neighbour (or the two before the last) is near, left out."""
    far, made = _SPIKE * _noise(logs), list(logs)
    for i in range(len(logs)):
        near = (i - 1, i + 1) if 0 < i < len(logs) - 1 else (1, 2) if i == 0 else (i - 2, i - 1)
        steps = [logs[i] - logs[j] for j in near]
        if min(map(abs, steps)) > far and (steps[0] > 0) == (steps[1] > 0):
            made[i] = statistics.fmean(logs[j] for j in near)
    return made


def change_points(series: Sequence[float], magnitude: float = 0.02) -> list[Change]:
    """Find steps.

    Args:
        series: Medians, oldest first.
        magnitude: Steps of less than this share are none.

    Returns:
        In order of the history.  Empty where there are too few points.

    Raises:
        RangeError: A point that no measurement can give.
    """
    logs = _logs(series[-_WINDOW:])
    offset = max(0, len(series) - _WINDOW)
    if len(logs) < 2 * _LEVEL:
        return []
    logs = _without_spikes(logs)
    cuts = sorted(_split(logs, 0, len(logs), _noise(logs), math.log1p(magnitude)))
    edges = [0, *cuts, len(logs)]
    levels = [statistics.median(logs[i:j]) for i, j in itertools.pairwise(edges)]
    return [
        Change(cut + offset, math.exp(x), math.exp(y))
        for cut, x, y in zip(cuts, levels, levels[1:], strict=False)
        if abs(y - x) >= math.log1p(magnitude)
    ]


def _split(logs: Sequence[float], start: int, end: int, sigma: float, least: float) -> list[int]:
    best, where = 0.0, 0
    for cut in range(start + _LEVEL, end - _LEVEL + 1):
        left, right = logs[start:cut], logs[cut:end]
        step = abs(statistics.fmean(right) - statistics.fmean(left))
        typical = abs(statistics.median(right) - statistics.median(left))
        score = step / (sigma * math.sqrt(1 / len(left) + 1 / len(right)))
        if typical >= least and score > best:
            best, where = score, cut
    if best <= _THRESHOLD:
        return []
    return [
        *_split(logs, start, where, sigma, least), where, *_split(logs, where, end, sigma, least),
    ]  # fmt: skip


def creep(series: Sequence[float], tolerance: float = 0.05) -> Creep | None:
    """Whether small steps, each within its tolerance, have added up.

    Args:
        series: Medians, oldest first.
        tolerance: Share that the last level may lie above the best one.

    Returns:
        Best and last level, None where the last one is within the tolerance or there are too few points.
    """
    points = [math.exp(x) for x in _logs(series[-_WINDOW:])]
    if len(points) < MIN_POINTS:
        return None
    best = min(statistics.fmean(pair) for pair in itertools.pairwise(points))
    now = statistics.median(points[-_LEVEL:])
    return Creep(best, now) if now > best * (1 + tolerance) else None
