"""Partitions that harm their workers: one that hangs is killed and replaced, and what is at fault given up in time."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Sequence

from cuzk.engine.jobs import Task
from cuzk.engine.pool import WorkerHandle

__all__ = ["Watchdog"]

#: Workers that may die while they prove one partition: the third that does is no accident.
_MAX_DEATHS = 2

_LOG = logging.getLogger("cuzk.engine")


class Watchdog:
    """Looks at workers now and then.

    Args:
        limit_s: Seconds without a word from a worker that has work, or is not ready; 0 for never.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._stalls: Counter[Task] = Counter()
        self._deaths: Counter[Task] = Counter()

    def forget(self, job_id: str) -> None:
        """A job has ended."""
        for counts in (self._stalls, self._deaths):
            for task in [task for task in counts if task.job_id == job_id]:
                del counts[task]

    def died(self, task: Task, error: str) -> str:
        """A worker has died with a partition in hand; why that is given up, or nothing where it is not."""
        self._deaths[task] += 1
        if self._deaths[task] <= _MAX_DEATHS:
            return ""
        return f"failed: {self._deaths[task]} workers died while they proved it: {error}"

    def look(self, workers: Sequence[WorkerHandle]) -> tuple[int, list[tuple[Task, str]]]:
        """Kill those that stall.

        Returns:
            How many, and the partitions that have now made workers stall twice, each with the reason.
        """
        killed, given_up, now = 0, [], time.monotonic()
        for worker in workers if self._limit_s else ():
            reason = worker.state.stalled(now, self._limit_s)
            if not reason:
                continue
            at = worker.state.culprit()
            facts = {"worker": worker.state.index, "at": at, "reason": reason}
            _LOG.error("stalled", extra={"facts": facts})
            worker.replace(reason)
            killed += 1
            for task in [task for order in worker.state.orders.values() for task in order.tasks]:
                if (task.job_id, task.partition) == at:
                    self._stalls[task] += 1
                    if self._stalls[task] > 1:
                        given_up.append((task, f"{reason}, for the second time"))
        return killed, given_up
