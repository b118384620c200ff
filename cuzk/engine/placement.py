"""Which worker gets the next partitions, and why: decisions are kept, so that a log explains a run."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from cuzk.engine.config import PipelineConfig
from cuzk.engine.jobs import Priority, Task
from cuzk.engine.pool import WorkerHandle
from cuzk.engine.schedule import Batch, Schedule

__all__ = ["Decision", "Placement"]

_LOG = logging.getLogger("cuzk.engine")
_DECISIONS_KEPT = 1000


@dataclass(frozen=True)
class Decision:
    """One scheduling decision, as logged.

    Args:
        at: Seconds, monotonic.
        worker: Number of the worker.
        circuit: Whose partitions.
        tasks: Job and partition of each.
        rank: Effective priority.
        waited_s: How long the first one's job had waited.
        reason: Why this worker: "retry", "only one free", "key loaded", "least to do".
    """

    at: float
    worker: int
    circuit: str
    tasks: tuple[tuple[str, int], ...]
    rank: int
    waited_s: float
    reason: str


class Placement:
    """Chooses among workers.

    Args:
        pipeline: What a worker may have in hand.
        workers: All of them.
    """

    def __init__(self, pipeline: PipelineConfig, workers: Sequence[WorkerHandle]) -> None:
        self.decisions: deque[Decision] = deque(maxlen=_DECISIONS_KEPT)
        self._pipeline = pipeline
        self._workers = workers
        self._avoid: dict[Task, set[int]] = {}

    def avoid(self, task: Task, worker: WorkerHandle) -> None:
        """Give a partition to another worker next time, as long as there is a healthy one."""
        self._avoid.setdefault(task, set()).add(worker.state.index)

    def forget(self, job_id: str) -> None:
        """A job has ended."""
        for task in [task for task in self._avoid if task.job_id == job_id]:
            del self._avoid[task]

    def needs_host(self, task: Task, worker: WorkerHandle) -> bool:
        """Whether a partition comes back to a worker whose device has failed on it: its processor is left."""
        return worker.state.index in self._avoid.get(task, set())

    def _has_room(self, worker: WorkerHandle, rank: int) -> bool:
        """A worker has in hand what it proves, what it makes ready, and at most one more that is critical."""
        most = self._pipeline.workers_per_device + (self._pipeline.lookahead if self._pipeline.overlap else 0)
        return worker.state.ready and len(worker.state.orders) < most + (rank == Priority.CRITICAL)

    def _may_take(self, worker: WorkerHandle, task: Task) -> bool:
        """Whether a worker has not failed on this partition, or no other is left."""
        avoided = self._avoid.get(task, set())
        return worker.state.index not in avoided or all(
            other.state.index in avoided or not other.state.healthy for other in self._workers
        )

    def next(self, schedule: Schedule, now: float) -> tuple[WorkerHandle, Batch] | None:
        """Take the most urgent partitions that some worker can take now, for the one that suits them best.

        That is one with the circuit's key on its device, and among such the one with the least to do.
        """

        def free(task: Task) -> list[WorkerHandle]:
            rank = schedule.rank(task.job_id, now)
            return [w for w in self._workers if self._has_room(w, rank) and self._may_take(w, task)]

        # A retry may have to wait for another worker; whoever is behind it goes first meanwhile.
        head = schedule.head(now=now, skip=lambda task: not free(task))
        if head is None:
            return None
        candidates, circuit = free(head), schedule.circuit(head.job_id)
        worker = min(
            candidates, key=lambda w: (not w.state.has_key(circuit), len(w.state.orders), w.state.index)
        )
        batch = schedule.next(now=now, most=self._pipeline.batch, skip=lambda task: worker not in free(task))
        if batch is None:
            return None
        if self._avoid.get(head):
            reason = "retry"
        elif len(candidates) == 1:
            reason = "only one free"
        else:
            reason = "key loaded" if worker.state.has_key(circuit) else "least to do"
        names = tuple((task.job_id, task.partition) for task in batch.tasks)
        decision = Decision(now, worker.state.index, circuit, names, batch.rank, batch.waited_s, reason)
        self.decisions.append(decision)
        _LOG.debug("given out", extra={"facts": vars(decision)})
        return worker, batch
