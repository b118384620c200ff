"""How long a run of known phases will still take: a cost model for the proportions, the run itself for the speed.

The model says how much work each phase is, in any unit; what has been done so far, and in which time, gives the
seconds a unit takes on this machine, today. Until enough has been measured there is no estimate, rather than a
guess. A phase that takes longer than predicted slows the estimate down while it runs, and one that reports its
progress is extrapolated from its own pace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

__all__ = ["MEASURED_SHARE", "Remaining"]

#: No estimate before this share of all predicted work has been measured.
MEASURED_SHARE = 0.02
#: A phase's own pace is trusted from this share of it on.
_OWN_PACE = 0.05


class Remaining:
    """Estimates the remaining time of a run.

    Args:
        work: Phase -> predicted work, any unit; phases that are not in it are not counted.
        clock: Monotonic clock in nanoseconds.
    """

    def __init__(self, work: Mapping[str, float], *, clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._waiting = {phase: units for phase, units in work.items() if units > 0}
        self._total = sum(self._waiting.values())
        self._clock = clock
        self._done_units = 0.0
        self._done_s = 0.0
        self._running: str | None = None
        self._started_ns = 0
        self._share = 0.0
        self._reported_ns = 0

    def start(self, phase: str) -> None:
        """A phase begins."""
        if phase in self._waiting:
            self._running, self._started_ns, self._share = phase, self._clock(), 0.0

    def advance(self, phase: str, share: float) -> None:
        """A running phase has come so far, 0 to 1."""
        if phase == self._running:
            self._share, self._reported_ns = min(max(share, self._share), 1.0), self._clock()

    def finish(self, phase: str, seconds: float) -> None:
        """A phase has ended after so many seconds."""
        units = self._waiting.pop(phase, None)
        if units is not None:
            self._done_units += units
            self._done_s += seconds
        if phase == self._running:
            self._running = None

    @property
    def done_share(self) -> float:
        """Share of all work that is done, by the model; a running phase counts as far as it is known to be."""
        running = self._waiting.get(self._running, 0.0) if self._running is not None else 0.0
        return (self._done_units + running * self._share) / self._total if self._total else 0.0

    def seconds(self) -> float | None:
        """The estimate in seconds, or None while too little has been measured."""
        running = self._waiting.get(self._running, 0.0) if self._running is not None else 0.0
        now_ns, share = self._clock(), self._share
        elapsed_s = (now_ns - self._started_ns) / 1e9 if running else 0.0
        # What is known of the phase's pace is from its last report; since then time went by.
        reported_s = (self._reported_ns - self._started_ns) / 1e9
        units, spent_s = self._done_units, self._done_s
        if running and share > 0:
            units, spent_s = units + share * running, spent_s + reported_s
        elif running and units and elapsed_s > running * spent_s / units:
            # Over its prediction, so that at least this much is known of it.
            units, spent_s = units + running, spent_s + elapsed_s
        if not self._total or units < MEASURED_SHARE * self._total:
            return None
        pace = spent_s / units
        later = pace * (sum(self._waiting.values()) - running)
        if not running:
            return later
        whole_s = reported_s / share if share >= _OWN_PACE else pace * running
        return later + max(whole_s * (1 - share) - (elapsed_s - reported_s if share else elapsed_s), 0.0)
