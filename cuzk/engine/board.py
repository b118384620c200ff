"""The jobs of an engine: accepted, waited for, ended once, counted.

The journal has them first; what is here is what a running daemon needs of those that have not ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cuzk.engine.jobs import Job, JobRequest, JobState, Task
from cuzk.engine.journal import Journal
from cuzk.engine.messages import Payload, Proved
from cuzk.errors import EngineError

__all__ = ["JobBoard", "ProofRecord", "Totals"]


@dataclass(frozen=True)
class ProofRecord:
    """How one partition was proven.

    Args:
        job: Whose.
        circuit: Likewise.
        partition: Which.
        worker: Number of the worker.
        at_s: When, on the engine's clock.
        rss: Resident memory of the worker's process then, bytes.
        times_ms: Stage -> milliseconds; of a batch for all of it.
        threads: Stage -> thread of the worker that ran it.
    """

    job: str
    circuit: str
    partition: int
    worker: int
    at_s: float
    rss: int
    times_ms: Mapping[str, float]
    threads: Mapping[str, str]


_LOG = logging.getLogger("cuzk.engine")
_DURATIONS_KEPT = 1000
_PROOFS_KEPT = 4096


@dataclass
class Totals:
    """Counts since the start.

    Attributes:
        accepted: Jobs taken in; done, failed, cancelled: jobs that ended so; refused: jobs not taken in.
        proofs: Partitions proven.
        retried: Partitions given out again.
        faults: Failures of devices and of our own code.
    """

    accepted: int = 0
    proofs: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    retried: int = 0
    refused: int = 0
    faults: int = 0


class JobBoard:
    """Jobs that have not ended, and the way to those that have. One event loop owns it.

    Args:
        journal: Where jobs survive.
        clock: Seconds, monotonic.
    """

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        self.journal = journal
        self.totals = Totals()
        #: Circuit and seconds from acceptance to end, of the last jobs that ended.
        self.durations_s: deque[tuple[str, float]] = deque(maxlen=_DURATIONS_KEPT)
        #: How the last partitions were proven.
        self.proven: deque[ProofRecord] = deque(maxlen=_PROOFS_KEPT)
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._accepted_at: dict[str, float] = {}
        self._ends: dict[str, asyncio.Future[Job]] = {}
        #: Writes that the disk has refused, in order; they are made again until it takes them.
        self._refused: deque[Callable[[], None]] = deque()
        self._ending: set[str] = set()
        #: Why, the last time; empty while all is written.
        self.disk_error = ""
        self._idle = asyncio.Event()
        self._idle.set()

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def open_jobs(self) -> list[Job]:
        """Jobs that have not ended, oldest first."""
        return sorted(self._jobs.values(), key=lambda job: job.seq)

    def get(self, job_id: str) -> Job | None:
        """A job that has not ended."""
        return self._jobs.get(job_id)

    def find(self, job_id: str) -> Job | None:
        """A job that goes on or is remembered."""
        return self._jobs.get(job_id) or self.journal.find(job_id)

    def age_s(self, job: Job) -> float:
        """Seconds since this daemon has had the job."""
        return self._clock() - self._accepted_at[job.id]

    def begin(self, task: Task) -> Payload:
        """A partition is given out; what it is made from."""
        job = self._jobs[task.job_id]
        if job.state is JobState.QUEUED:
            job.state = JobState.RUNNING
            job.add_time("queue_wait", self.age_s(job) * 1e3)
        return Payload(job.payload_path, job.form, job.first_partition + task.partition)

    def recover(self) -> list[Job]:
        """The jobs that an earlier daemon left, now on the board."""
        jobs = self.journal.unfinished()
        for job in jobs:
            self._add(job)
        return jobs

    def accept(self, request: JobRequest) -> Job:
        """Take in a new job; errors as of Journal.accept."""
        return self._accepted(self.journal.accept(request)[0])

    async def accept_large(self, request: JobRequest) -> Job:
        """The same, with the payload written by a thread, so that the loop goes on meanwhile."""
        name = await asyncio.to_thread(self.journal.store, request.payload)
        return self._accepted(self.journal.accept_stored(request, name))

    def _accepted(self, job: Job) -> Job:
        self._add(job)
        self.totals.accepted += 1
        facts = {"job": job.id, "circuit": job.circuit, "priority": job.priority.name, **dict(job.tags)}
        _LOG.info("accepted", extra={"facts": facts})
        return job

    def _add(self, job: Job) -> None:
        self._jobs[job.id] = job
        self._accepted_at[job.id] = self._clock()
        self._ends[job.id] = asyncio.Future()
        self._idle.clear()

    def add_proof(self, job: Job, partition: int, proof: bytes) -> bool:
        """Keep a proof; False where the job has it already."""
        if partition in job.proofs:
            return False
        job.proofs[partition] = proof
        self.totals.proofs += 1
        self._write(lambda: self.journal.record_proof(job.id, partition, proof))
        return True

    def note_proof(self, job: Job, worker: int, message: Proved) -> None:
        """Remember how a partition was proven."""
        self.proven.append(
            ProofRecord(
                job.id, job.circuit, message.task.partition, worker, self._clock(), message.memory.rss,
                dict(message.times_ms), dict(message.threads),
            )
        )  # fmt: skip

    def _write(self, action: Callable[[], object]) -> None:
        """Write to the journal now, or as soon as the disk takes it, after what it has refused before."""
        self._refused.append(lambda: (action(), None)[1])
        self.write_refused()

    def write_refused(self) -> None:
        """Try again to write what the disk has refused."""
        while self._refused:
            try:
                self._refused[0]()
            except EngineError as error:
                if not self.disk_error:
                    _LOG.error("journal", extra={"facts": {"reason": str(error)}})
                self.disk_error = str(error)
                return
            self._refused.popleft()
        self.disk_error = ""

    def end(self, job: Job, state: JobState, reason: str = "") -> None:
        """End a job, and tell whoever waits for it once that is on the disk."""
        if job.id in self._ending:
            return
        self._ending.add(job.id)
        self._write(lambda: self._end(job, state, reason))

    def _end(self, job: Job, state: JobState, reason: str) -> None:
        if self.journal.finish(job, state, reason):
            self.durations_s.append((job.circuit, self.age_s(job)))
            counter = {JobState.DONE: "done", JobState.FAILED: "failed", JobState.CANCELLED: "cancelled"}[
                state
            ]
            setattr(self.totals, counter, getattr(self.totals, counter) + 1)
            _LOG.info("ended", extra={"facts": {"job": job.id, "state": state.value, "reason": reason}})
        self._jobs.pop(job.id, None)
        self._accepted_at.pop(job.id, None)
        end = self._ends.pop(job.id, None)
        self._ending.discard(job.id)
        if end is not None:
            end.set_result(job)
        if not self._jobs:
            self._idle.set()

    async def wait(self, job_id: str, timeout_s: float | None) -> Job | None:
        """Wait for a job's end, at most so long; the job as it is then, or None where there is none."""
        end = self._ends.get(job_id)
        if end is not None:
            try:
                # The job as it ended, not as the journal has it: by now it may have been pruned.
                return await asyncio.wait_for(asyncio.shield(end), timeout_s)
            except TimeoutError:
                return self._jobs.get(job_id)
        return self.find(job_id)

    async def all_ended(self) -> None:
        """Wait until no job goes on."""
        await self._idle.wait()
