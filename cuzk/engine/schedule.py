"""Which partition is next: a pure order over what is queued, so that a log of decisions can be replayed.

Urgent jobs first; among equals the oldest job, and of it the lowest partition. A job that waits rises by one step
per ageing interval, up to HIGH: nothing starves, and CRITICAL stays ahead of all that has merely aged.

>>> schedule = Schedule(Limits(), ageing_s=60)
>>> schedule.add([Task(0, 0, "old")], Priority.LOW, "sha256:512", size=10, now=0)
>>> schedule.add([Task(1, 0, "new")], Priority.NORMAL, "sha256:512", size=10, now=0)
>>> schedule.next(now=1).tasks[0].job_id, schedule.next(now=1).tasks[0].job_id
('new', 'old')
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cuzk.engine.jobs import Priority, Task
from cuzk.errors import BusyError

__all__ = ["Batch", "Limits", "Schedule"]


@dataclass(frozen=True)
class Limits:
    """How much may wait.

    Args:
        jobs: Jobs that are queued or running.
        payload_bytes: Bytes of their payloads.
    """

    jobs: int = 1000
    payload_bytes: int = 8 << 30


def _skip_none(_: Task) -> bool:
    return False


@dataclass
class _Entry:
    priority: Priority
    circuit: str
    size: int
    since: float
    waiting: list[Task] = field(default_factory=list)
    running: set[Task] = field(default_factory=set)


@dataclass(frozen=True)
class Batch:
    """Partitions to prove in one call, all of one circuit.

    Args:
        circuit: Which.
        tasks: In order.
        rank: Effective priority of the first.
        waited_s: How long its job has waited.
    """

    circuit: str
    tasks: tuple[Task, ...]
    rank: int
    waited_s: float


class Schedule:
    """Jobs that wait or run. Not thread-safe: one event loop owns it.

    Args:
        limits: What to refuse.
        ageing_s: Seconds of waiting that raise a job by one priority; 0 for never.
        by_partition: Whether partitions of several jobs interleave; else a job is given out whole.
    """

    def __init__(self, limits: Limits, *, ageing_s: float = 300.0, by_partition: bool = True) -> None:
        self.limits = limits
        self.ageing_s = ageing_s
        self.by_partition = by_partition
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def payload_bytes(self) -> int:
        """Bytes of the payloads of all jobs here."""
        return sum(entry.size for entry in self._entries.values())

    def check_room(self, size: int) -> None:
        """Raise BusyError where one more job of a payload of this size would be too much."""
        if len(self._entries) >= self.limits.jobs:
            raise BusyError(
                f"{len(self._entries)} jobs are queued or running",
                limit=f"{self.limits.jobs} jobs",
                remedy="submit again later, or raise queue.max_jobs",
            )
        if self.payload_bytes + size > self.limits.payload_bytes:
            raise BusyError(
                f"the payloads of {len(self._entries)} jobs take {self.payload_bytes} bytes, and this one {size} more",
                limit=f"{self.limits.payload_bytes} bytes",
                remedy="submit again later, or raise queue.max_payload_bytes",
            )

    def add(self, tasks: Iterable[Task], priority: Priority, circuit: str, *, size: int, now: float) -> None:
        """Queue the partitions of one job. Jobs are added whatever the limits say: check_room first."""
        waiting = sorted(tasks)
        if waiting:
            self._entries[waiting[0].job_id] = _Entry(priority, circuit, size, now, waiting)

    def rank(self, job_id: str, now: float) -> int:
        """The effective priority of a job."""
        entry = self._entries[job_id]
        if entry.priority is Priority.CRITICAL or not self.ageing_s:
            return int(entry.priority)
        steps = int(max(0.0, now - entry.since) / self.ageing_s)
        return min(int(Priority.HIGH), int(entry.priority) + steps)

    def position(self, job_id: str, now: float) -> int:
        """How many waiting partitions of other jobs come before the first of this job."""
        order = self._order(now)
        return next((i for i, task in enumerate(order) if task.job_id == job_id), 0)

    def circuit(self, job_id: str) -> str:
        """The circuit of a job."""
        return self._entries[job_id].circuit

    def head(self, *, now: float, skip: Callable[[Task], bool] = _skip_none) -> Task | None:
        """The partition that next() would give out first."""
        return next((task for task in self._order(now) if not skip(task)), None)

    def next(self, *, now: float, most: int = 1, skip: Callable[[Task], bool] = _skip_none) -> Batch | None:
        """Take the next partitions out of the queue.

        Args:
            now: Seconds, of the clock that add() was given.
            most: Partitions at most; more than one only of one circuit, none that would overtake another, and
                none that a critical one would have to wait for.
            skip: Partitions that whoever asks cannot take.

        Returns:
            What to prove; None where nothing waits.
        """
        order = [task for task in self._order(now) if not skip(task)]
        if not order:
            return None
        first = order[0]
        entry = self._entries[first.job_id]
        if not self.by_partition:
            taken = [task for task in order if task.job_id == first.job_id]
        else:
            taken = []
            for task in order[:most]:
                other = self._entries[task.job_id]
                if other.circuit != entry.circuit:
                    break
                if entry.priority is Priority.CRITICAL and other.priority is not Priority.CRITICAL:
                    break
                taken.append(task)
        for task in taken:
            owner = self._entries[task.job_id]
            owner.waiting.remove(task)
            owner.running.add(task)
        return Batch(entry.circuit, tuple(taken), self.rank(first.job_id, now), max(0.0, now - entry.since))

    def put_back(self, task: Task) -> None:
        """Queue a partition again that was taken, in its old place."""
        entry = self._entries.get(task.job_id)
        if entry is not None and task in entry.running:
            entry.running.remove(task)
            entry.waiting = sorted([*entry.waiting, task])

    def done(self, task: Task) -> bool:
        """A partition is proven; whether it was the last of its job, which is then forgotten."""
        entry = self._entries.get(task.job_id)
        if entry is None:
            return False
        entry.running.discard(task)
        if entry.waiting or entry.running:
            return False
        del self._entries[task.job_id]
        return True

    def drop(self, job_id: str) -> bool:
        """Forget a job; whether some of its partitions were running."""
        entry = self._entries.pop(job_id, None)
        return entry is not None and bool(entry.running)

    def waiting(self) -> int:
        """Partitions that wait."""
        return sum(len(entry.waiting) for entry in self._entries.values())

    def by_circuit(self) -> dict[str, tuple[int, int]]:
        """Circuit -> partitions that wait, partitions that run."""
        counts: dict[str, tuple[int, int]] = {}
        for entry in self._entries.values():
            waiting, running = counts.get(entry.circuit, (0, 0))
            counts[entry.circuit] = (waiting + len(entry.waiting), running + len(entry.running))
        return counts

    def _order(self, now: float) -> list[Task]:
        ranked = [
            (-self.rank(job_id, now), task)
            for job_id, entry in self._entries.items()
            for task in entry.waiting
        ]
        return [task for _, task in sorted(ranked)]
