"""The engine: jobs come in, partitions go to workers, proofs come back, each job ends once.

One event loop owns all of it. What must not be lost is in the journal before anyone hears of it; what a worker loses
is given out again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cuzk.engine.board import JobBoard
from cuzk.engine.config import DaemonConfig
from cuzk.engine.decision_log import DecisionFile, LoggedSchedule
from cuzk.engine.jobs import Job, JobRequest, JobState, Task
from cuzk.engine.journal import Journal
from cuzk.engine.key_orders import KeyOrders
from cuzk.engine.messages import (
    Cancel,
    Failed,
    FromWorker,
    KeyChange,
    Prove,
    Proved,
    Ready,
    Stage,
)
from cuzk.engine.placement import Placement
from cuzk.engine.pool import Launch, WorkerHandle
from cuzk.engine.schedule import Limits
from cuzk.engine.watchdog import Watchdog
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import EngineError, InputError

__all__ = ["Engine"]

_LOG = logging.getLogger("cuzk.engine")

_SWEEP_S = 1.0


class Engine:
    """Accepts jobs and has them proven. Made and used within one event loop.

    Args:
        config: How.
        workers: One configuration per worker process.
        journal: Where jobs survive; closed by stop().
        clock: Seconds, monotonic.
        launch: Starts a worker; as a process of this machine by default.
    """

    def __init__(
        self,
        config: DaemonConfig,
        workers: Sequence[WorkerConfig],
        journal: Journal,
        *,
        clock: Callable[[], float] = time.monotonic,
        launch: Launch | None = None,
    ) -> None:
        queue = config.queue
        self.config = config
        self.board = JobBoard(journal, clock)
        self._log = DecisionFile(Path(config.decision_log)) if config.decision_log else None
        self.schedule = LoggedSchedule(
            Limits(queue.max_jobs, queue.max_payload_bytes),
            ageing_s=queue.ageing_s,
            by_partition=config.pipeline.by_partition,
            write=self._log or (lambda _: None),
        )
        self._started = clock()
        self.is_draining = False
        self.workers = [
            WorkerHandle(i, worker, self._on_message, self._on_death, launch)
            for i, worker in enumerate(workers)
        ]
        self.placement = Placement(config.pipeline, self.workers)
        self._clock = clock
        self._watchdog = Watchdog(config.pipeline.stall_s)
        self._numbers = itertools.count(1)
        self.keys = KeyOrders(self.workers, self._numbers)
        self._accepting = asyncio.Lock()
        self._arriving = 0
        self._sweeper: asyncio.Task[None] | None = None

    # Life

    async def start(self) -> None:
        """Take up what the journal holds, and start the workers; they preload keys while jobs wait."""
        now = self._clock()
        for job in self.board.recover():
            if job.tasks:
                self.schedule.add(job.tasks, job.priority, job.circuit, size=job.payload_bytes, now=now)
            else:
                self.board.end(job, JobState.DONE)
        for worker in self.workers:
            worker.start()
        self._sweeper = asyncio.create_task(self._sweep())

    async def drain(self) -> None:
        """Refuse new jobs, and wait until every accepted one has ended."""
        self.is_draining = True
        await self.board.all_ended()

    async def stop(self, grace_s: float = 5.0) -> None:
        """End the workers. What is not proven stays in the journal."""
        self.is_draining = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sweeper
        await asyncio.gather(*(worker.stop(grace_s) for worker in self.workers))
        self.board.journal.close()
        if self._log is not None:
            self._log.close()

    # What clients ask for

    def submit(self, request: JobRequest) -> tuple[Job, int]:
        """Accept a job.

        Returns:
            The job, and how many partitions come before it. A request identifier that is known gives the job that it
            named before.

        Raises:
            BusyError: Too much is queued.
            EngineError: The daemon is about to stop, or its disk fails.
        """
        known = self._known(request, 0)
        return (known, self.position(known)) if known is not None else self._queue(self.board.accept(request))

    async def submit_large(self, request: JobRequest) -> tuple[Job, int]:
        """The same, with the payload written beside the loop; jobs are accepted in the order of these calls.

        Once begun it goes on, whether or not the client is still there.
        """
        known = self._known(request, self._arriving)
        if known is not None:
            return known, self.position(known)
        return await asyncio.shield(asyncio.ensure_future(self._submit_in_turn(request)))

    async def _submit_in_turn(self, request: JobRequest) -> tuple[Job, int]:
        size = len(request.payload)
        self._arriving += size
        try:
            async with self._accepting:
                known = self._known(request, self._arriving - size)
                if known is not None:
                    return known, self.position(known)
                return self._queue(await self.board.accept_large(request))
        finally:
            self._arriving -= size

    def _known(self, request: JobRequest, arriving: int) -> Job | None:
        """The job that a request named before; None where there is none, and room for a new one."""
        known = self.board.find(request.request_id) if request.request_id else None
        if known is not None:
            return known
        if self.is_draining:
            raise EngineError(
                "the daemon is stopping and takes no more jobs", remedy="submit when it is back"
            )
        try:
            self.schedule.check_room(len(request.payload) + arriving)
        except EngineError:
            self.board.totals.refused += 1
            raise
        return None

    def _queue(self, job: Job) -> tuple[Job, int]:
        self.schedule.add(job.tasks, job.priority, job.circuit, size=job.payload_bytes, now=self._clock())
        position = self.position(job)
        self._dispatch()
        return job, position

    def cancel(self, job_id: str) -> bool:
        """Stop a job, its running partitions at their next phase; whether some were running.

        Raises:
            InputError: There is no such job.
        """
        job = self.board.get(job_id)
        if job is not None:
            return self._stop_job(job, JobState.CANCELLED, "cancelled by a client")
        if self.board.find(job_id) is None:
            raise InputError(f"there is no job {job_id!r:.60}", remedy="see `cuzk status`")
        return False

    # Giving out

    def _dispatch(self) -> None:
        """Give out partitions while a worker has room for one."""
        while (choice := self.placement.next(self.schedule, self._clock())) is not None:
            worker, batch = choice
            payloads = tuple(self.board.begin(task) for task in batch.tasks)
            on_host = self.placement.needs_host(batch.tasks[0], worker)
            number = next(self._numbers)
            worker.send(Prove(number, batch.circuit, batch.tasks, payloads, batch.rank, on_host))

    # What workers say

    def _on_message(self, worker: WorkerHandle, message: FromWorker) -> None:
        if isinstance(message, Stage):
            self.schedule.entered(worker.state.index, message.task, message.stage)
            return
        if isinstance(message, Proved):
            self._answered(worker, message.number, message.task)
            self._proved(worker, message)
        elif isinstance(message, Failed):
            self._answered(worker, message.number, message.task)
            self._failed(worker, message)
        elif isinstance(message, KeyChange):
            self.keys.answered(worker, message)
        elif isinstance(message, Ready):
            self.keys.preload_unasked(worker, self.config.keys.preload)
        self._dispatch()

    def _answered(self, worker: WorkerHandle, number: int, task: Task) -> None:
        """One partition of an order is off the worker's hands."""
        self.schedule.entered(worker.state.index, task, "over")
        worker.state.answered(number, task)

    def _proved(self, worker: WorkerHandle, message: Proved) -> None:
        job = self.board.get(message.task.job_id)
        if job is None or not self.board.add_proof(job, message.task.partition, message.proof):
            return
        self.board.note_proof(job, worker.state.index, message)
        for stage, milliseconds in message.times_ms.items():
            job.add_time(stage, milliseconds)
        if self.schedule.done(message.task):
            self._end(job, JobState.DONE)

    def _failed(self, worker: WorkerHandle, message: Failed) -> None:
        task, job = message.task, self.board.get(message.task.job_id)
        if message.kind in ("device", "internal"):
            self.board.totals.faults += 1
            facts = {
                "job": task.job_id,
                "partition": task.partition,
                "reason": message.reason,
                "case": message.case,
            }
            _LOG.error("fault", extra={"facts": facts})
        if message.device_lost:
            worker.replace(message.reason)
        if job is None:
            return
        if message.kind == "cancelled":
            self.schedule.put_back(task)  # of a job that goes on: its order was stopped for another's sake
            return
        attempts = job.attempts[task.partition] = job.attempts.get(task.partition, 0) + 1
        if message.kind == "device" and attempts == 1 and self.config.pipeline.retry_elsewhere:
            self.board.totals.retried += 1
            self.placement.avoid(task, worker)
            self.schedule.put_back(task)
            return
        again = ", for the second time" if attempts > 1 else ""
        case = f" (case: {Path(message.case).name})" if message.case else ""  # the log has its path
        where = f"partition {task.partition} of {job.num_partitions} failed{again}"
        self._stop_job(job, JobState.FAILED, f"{where}: {message.reason}{case}")

    def _fail_at(self, task: Task, reason: str) -> None:
        job = self.board.get(task.job_id)
        if job is not None:
            where = f"partition {task.partition} of {job.num_partitions}"
            self._stop_job(job, JobState.FAILED, f"{where} {reason}")

    def _on_death(self, worker: WorkerHandle, orders: list[Prove], blamed: tuple[str, int] | None) -> None:
        """A process is gone: its orders go back to the queue, but for one that kills every process."""
        if worker.is_stopping:
            self._stopped(worker, orders)
            return
        index, error = worker.state.index, worker.state.last_error
        self.keys.worker_gone(worker, f"died: {error}")
        for task in [task for order in orders for task in order.tasks]:
            self.schedule.entered(index, task, "over")
            job = self.board.get(task.job_id)
            if job is None:
                continue
            is_blamed = (task.job_id, task.partition) == blamed
            reason = self._watchdog.died(task, error) if is_blamed else ""
            if reason:
                self._fail_at(task, reason)
            else:
                self.board.totals.retried += 1
                self.schedule.put_back(task)
        _LOG.warning("worker gone", extra={"facts": {"worker": index, "reason": error}})
        self._dispatch()

    def _stopped(self, worker: WorkerHandle, orders: list[Prove]) -> None:
        """A process has ended as it was told to; what it had in hand waits in the journal for the next daemon."""
        index, tasks = worker.state.index, [task for order in orders for task in order.tasks]
        self.keys.worker_gone(worker, "was stopped with the daemon")
        for task in tasks:
            self.schedule.entered(index, task, "over")
            self.schedule.put_back(task)
        _LOG.info("worker stopped", extra={"facts": {"worker": index, "given_back": len(tasks)}})

    # Ends

    def _stop_job(self, job: Job, state: JobState, reason: str) -> bool:
        was_running = self.schedule.drop(job.id)
        for worker in self.workers if was_running else ():
            if any(task.job_id == job.id for order in worker.state.orders.values() for task in order.tasks):
                worker.send(Cancel(job.id))
        self._end(job, state, reason)
        self._dispatch()
        return was_running

    def _end(self, job: Job, state: JobState, reason: str = "") -> None:
        self._watchdog.forget(job.id)
        self.placement.forget(job.id)
        self.board.end(job, state, reason)

    def uptime_s(self) -> float:
        """Seconds since the engine was made."""
        return self._clock() - self._started

    def position(self, job: Job) -> int:
        """How many waiting partitions come before a job's first."""
        return self.schedule.position(job.id, self._clock()) if job.id in self.board else 0

    async def _sweep(self) -> None:
        """Now and then: forget old results, replace workers that hang, fail jobs that take too long."""
        queue, limit = self.config.queue, self.config.request_timeout_s
        while True:
            await asyncio.sleep(_SWEEP_S)
            self.board.write_refused()
            with contextlib.suppress(EngineError):  # the board tells of a full disk; the next round is soon
                self.board.journal.prune(most=queue.max_results, max_age_s=queue.max_result_age_s)
            killed, given_up = self._watchdog.look(self.workers)
            self.board.totals.faults += killed
            for task, reason in given_up:
                self._fail_at(task, reason)
            for job in self.board.open_jobs() if limit else ():
                if self.board.age_s(job) > limit:
                    self._stop_job(
                        job, JobState.FAILED, f"not finished within {limit:g} s (request_timeout_s)"
                    )
            self._dispatch()
