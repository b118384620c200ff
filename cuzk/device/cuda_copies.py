"""Copies that run beside the kernels of a GPU, on a stream of their own.

A copy whose source is page-locked is issued at once.  Any other is made by a worker thread through the ring of locked
slots (cuda_pages.py), so that the caller goes on.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.device.copies import MOST_SPANS, CopySpan, Ticket
from cuzk.device.cuda_pages import HostMemory

__all__ = ["Copier", "CudaTicket"]


@dataclass(frozen=True, eq=False)
class CudaTicket(Ticket):
    """A point of the launches, or the end of a copy.

    Attributes:
        event: Recorded at the point.
        begin: Recorded at the start of the copy.
        issued: Set once `event` is recorded; an event that is not would let everybody pass.
        failure: What the thread that issued the copy ran into.
        nbytes: Bytes copied.
        label: Who asked.
    """

    event: Any = None
    begin: Any = None
    issued: threading.Event | None = None
    failure: list[Exception] = field(default_factory=list)
    nbytes: int = 0
    label: str = ""

    @property
    def is_issued(self) -> bool:
        """Whether the event is recorded."""
        return self.issued is None or self.issued.is_set()

    def issue(self) -> None:
        """Say that it is."""
        if self.issued is not None:
            self.issued.set()

    def wait_issued(self) -> None:
        """Let the host wait until the event is recorded: not until the copy ends, but until its data left."""
        if self.issued is not None:
            self.issued.wait()
            if self.failure:
                raise self.failure[0]


@dataclass
class _Job:
    """A copy that waits for the worker."""

    ticket: CudaTicket
    source: npt.NDArray[np.uint8]
    target: Any
    after: Any


class Copier:
    """The copies of one device that run beside its kernels.

    Args:
        cuda: ``cupy.cuda``.
        stream: The copy stream.
        host_memory: The device's page-locked memory.
        enter: Makes the device current in the worker's thread, for good.
    """

    def __init__(
        self,
        cuda: Any,
        stream: Any,
        host_memory: HostMemory,
        *,
        enter: Callable[[], object],
    ) -> None:
        self._cuda, self._stream, self._host_memory, self._enter = cuda, stream, host_memory, enter
        self._issue = threading.Lock()  # one copy's calls stay together on the stream
        #: Copies for the worker; None ends it.
        self.jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._in_flight: deque[_Job] = deque()
        self._spans: deque[CudaTicket] = deque(maxlen=MOST_SPANS)

    def stage(self, host_array: npt.NDArray[Any], into: Any, after: CudaTicket, label: str) -> CudaTicket:
        """Start a copy, or hand it to the worker."""
        source = host_array.reshape(-1).view(np.uint8)
        ticket = CudaTicket(
            after.position, True, event=self._cuda.Event(), begin=self._cuda.Event(),
            issued=threading.Event(), nbytes=len(source), label=label,
        )  # fmt: skip
        # Copies are made in turn on one stream: each comes after those begun before it anyway.
        job = _Job(ticket, source, into, None if after.is_copy else after.event)
        self.forget_finished()
        self._in_flight.append(job)
        self._spans.append(ticket)
        # In turn: a copy may not wait here for one that the worker still has to make.
        if self._all_issued(but=job) and (not len(source) or self._host_memory.is_locked(source)):
            self._run(job)
        else:
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="cuzk-copy", daemon=True)
                self._worker.start()
            self.jobs.put(job)
        return ticket

    def _all_issued(self, but: _Job) -> bool:
        others = [job for job in self._in_flight if job is not but]
        return not others or others[-1].ticket.is_issued

    def _work(self) -> None:
        self._enter()
        while (job := self.jobs.get()) is not None:
            try:
                self._run(job)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is raised where the ticket is waited for
                job.ticket.failure.append(error)
            finally:
                job.ticket.issue()
            del job

    def _run(self, job: _Job) -> None:
        """Issue one copy: wait for its point, then the bytes."""
        stream, runtime, ticket = self._stream, self._cuda.runtime, job.ticket
        target = int(job.target.data.ptr)

        def issue(chunk: npt.NDArray[np.uint8], start: int) -> Any:
            runtime.memcpyAsync(
                target + start, chunk.ctypes.data, len(chunk), runtime.memcpyHostToDevice, stream.ptr
            )
            return stream

        with self._issue:
            if job.after is not None:
                stream.wait_event(job.after)
            ticket.begin.record(stream)
            if self._host_memory.is_locked(job.source):
                issue(job.source, 0)
            elif len(job.source):
                self._host_memory.ring().send(job.source, issue)
            ticket.event.record(stream)
        ticket.issue()

    def forget_finished(self) -> None:
        """Let go of what finished copies read and wrote, without waiting."""
        with suppress(IndexError):  # another thread drains meanwhile
            while self._in_flight:
                ticket = self._in_flight[0].ticket
                if not ticket.is_issued or not (ticket.failure or ticket.event.done):
                    return
                self._in_flight.popleft()

    def drain(self) -> None:
        """Let the host wait until every copy has ended.

        Raises:
            Exception: What a copy of the worker ran into.
        """
        for job in list(self._in_flight):
            job.ticket.wait_issued()
        self._stream.synchronize()
        self._in_flight.clear()

    def take(self, time_of: Callable[[Any], float]) -> list[CopySpan]:
        """The spans of all copies since the last call; waits for them."""
        spans = []
        while self._spans:
            ticket = self._spans.popleft()
            ticket.wait_issued()
            spans.append(CopySpan(ticket.label, ticket.nbytes, time_of(ticket.begin), time_of(ticket.event)))
        return spans
