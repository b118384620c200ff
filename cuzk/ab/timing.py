"""Then times: ABBA by turns, and for each phase the median ratio with an interval that assumes nothing."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from cuzk.ab.runner import TOTAL, Runner
from cuzk.errors import InputError
from cuzk.perf.pairs import abba
from cuzk.perf.signs import median_interval

__all__ = ["DEFAULT_PAIRS", "LEAST_PAIRS", "PhaseRatio", "check_pairs", "measure", "ratios", "verdict"]

#: Pairs of a comparison. Six are the fewest with a 95% interval.
DEFAULT_PAIRS, LEAST_PAIRS = 10, 6
#: A ratio nearer to 1 than this is no difference, whatever its interval.
_MARGIN = 0.005
#: Phases shorter than this are mostly the clock, milliseconds.
_SHORTEST_MS = 0.05


@dataclass(frozen=True)
class PhaseRatio:
    """One phase of two settings.

    Args:
        phase: Its name, or "total".
        a_ms: Median of the one, milliseconds.
        b_ms: Median of the other.
        ratio: Median of b/a over pairs; below 1, B is faster.
        low: Lower end of the 95% interval for the median ratio.
        high: Upper end.
        pairs: How many.
    """

    phase: str
    a_ms: float
    b_ms: float
    ratio: float
    low: float
    high: float
    pairs: int

    @property
    def verdict(self) -> str:
        """Helps, hurts, or no difference: what the interval excludes."""
        return verdict(self.ratio, self.low, self.high)


def verdict(ratio: float, low: float, high: float) -> str:
    """What an interval for a ratio says of B."""
    if high < 1 and ratio < 1 - _MARGIN:
        return "helps"
    if low > 1 and ratio > 1 + _MARGIN:
        return "hurts"
    return "no difference"


def check_pairs(pairs: int) -> None:
    """Raise InputError where so few pairs have no interval."""
    if pairs < LEAST_PAIRS:
        raise InputError(
            f"{pairs} pairs", where="--pairs", limit=f"at least {LEAST_PAIRS}, the fewest with a 95% interval",
            remedy=f"{DEFAULT_PAIRS} is the default",
        )  # fmt: skip


def measure(
    a: Runner,
    b: Runner,
    *,
    pairs: int = DEFAULT_PAIRS,
    clock: str = "wall",
    progress: Callable[[int], None] = lambda done: None,
) -> list[PhaseRatio]:
    """Run two settings by turns, after one run of each to warm up.

    Args:
        a: The one.
        b: The other.
        pairs: Pairs of runs.
        clock: "wall" or "cpu".
        progress: Called with the number of pairs done.

    Returns:
        The total first, then the phases that both have, longest first.

    Raises:
        InputError: Too few pairs for an interval.
    """
    check_pairs(pairs)
    a.sample(clock), b.sample(clock)
    samples: dict[str, list[dict[str, float]]] = {"A": [], "B": []}
    for i, side in enumerate(abba(pairs)):
        samples[side].append((a if side == "A" else b).sample(clock))
        if i % 2:
            progress(i // 2 + 1)
    return ratios(samples["A"], samples["B"])


def ratios(a: list[dict[str, float]], b: list[dict[str, float]]) -> list[PhaseRatio]:
    """Ratios by phase of samples taken in pairs."""
    phases = set.intersection(*(set(sample) for sample in (*a, *b)))
    found = [
        _ratio(phase, [s[phase] for s in a], [s[phase] for s in b])
        for phase in phases
        if _is_long(phase, a, b)
    ]
    return sorted(found, key=lambda row: (row.phase != TOTAL, -row.a_ms, row.phase))


def _is_long(phase: str, a: list[dict[str, float]], b: list[dict[str, float]]) -> bool:
    return phase == TOTAL or min(sample[phase] for sample in (*a, *b)) >= _SHORTEST_MS


def _ratio(phase: str, a: list[float], b: list[float]) -> PhaseRatio:
    logs = [math.log(max(y, 1e-9) / max(x, 1e-9)) for x, y in zip(a, b, strict=True)]
    low, high = (math.exp(bound) for bound in median_interval(logs))
    middle = math.exp(statistics.median(logs))
    return PhaseRatio(phase, statistics.median(a), statistics.median(b), middle, low, high, len(logs))
