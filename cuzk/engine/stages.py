"""The stages of a worker: partitions pass from one to the next through short queues, most urgent first.

synthesis (read the payload, make the witness) -> gpu (everything that runs on the device) -> finish (assembly,
self-check). With overlap, each stage has a thread of its own; without, one thread takes a partition through all of
them. What an order asks to be proven together stays together.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from cuzk.engine.jobs import Task
from cuzk.engine.messages import Failed, Prove, Proved, Stage
from cuzk.errors import (
    CancelledError,
    CompileError,
    CuzkError,
    DeviceError,
    EngineError,
    InputError,
    KernelFault,
    OutOfMemoryError,
)

__all__ = ["Backend", "Flow", "Options", "Pipeline", "classify"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Options:
    """How the stages run: P2, P8 and P12 of the registry, and how many orders may be ready.

    Args:
        overlap: Each stage has its own thread.
        split: Finishing is a stage of its own; else it belongs to gpu.
        gpu_threads: Threads that give work to the device.
        lookahead: Orders that may wait between two stages.
    """

    overlap: bool = True
    split: bool = True
    gpu_threads: int = 1
    lookahead: int = 1


class Backend(Protocol):
    """What the stages do; each method takes and returns the work of one order.

    ``check`` is to be called at every phase boundary: it raises CancelledError once nobody wants the work.
    """

    def synthesis(self, order: Prove, check: Callable[[], None]) -> Any:
        """Payloads to whatever the device starts from."""

    def gpu(self, order: Prove, work: Any, check: Callable[[], None]) -> Any:
        """All that runs on the device."""

    def finish(self, order: Prove, work: Any, check: Callable[[], None]) -> Sequence[bytes]:
        """One checked proof per partition."""

    def load_ms(self, work: Any) -> float:
        """Milliseconds of the gpu stage that went into waiting for the key."""

    def abandon(self, work: Any) -> None:
        """Let go of what a stage made and no later one will get: memory, a key that is held."""

    def record_fault(self, order: Prove, error: BaseException) -> str:
        """Write a replayable case of a device's fault; its path, or nothing."""


class _ReadyQueue(Generic[_T]):
    """A bounded queue that gives out the most urgent item, and of equals the oldest.

    Args:
        size: How many may wait.
        takers: How many threads take from it, numbered from 0. The one that has had nothing to do for longest is next,
            so that all of them work, however short the work is.
    """

    def __init__(self, size: int, takers: int = 1) -> None:
        self._size = size
        self._items: list[tuple[int, int, _T]] = []
        self._idle = deque(range(takers))
        self._count = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, rank: int, item: _T, added: Callable[[], None] = lambda: None) -> None:
        """Wait for room, and add; an item more urgent than all that wait needs no room.

        ``added`` is called when nothing can be taken any more before this item is there.
        """
        with self._changed:
            while len(self._items) >= self._size and not self._closed and -rank >= self._items[0][0]:
                self._changed.wait()
            added()
            heapq.heappush(self._items, (-rank, self._count, item))
            self._count += 1
            self._changed.notify_all()

    def get(self, taker: int = 0) -> _T | None:
        """Wait for an item, and for this thread's turn; None once the queue is closed and empty."""
        with self._changed:
            if taker not in self._idle:
                self._idle.append(taker)
            while not self._closed and not (self._items and self._idle[0] == taker):
                self._changed.wait()
            if not self._items:
                return None
            self._idle.remove(taker)
            item = heapq.heappop(self._items)[2]
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """No more items come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


@dataclass
class Flow:
    """An order on its way.

    Args:
        order: What to prove.
        wanted: Partitions that nobody has cancelled.
        work: What the last stage made.
        times_ms: Stage -> milliseconds.
        threads: Stage -> who ran it.
    """

    order: Prove
    wanted: set[Task] = field(default_factory=set)
    work: Any = None
    times_ms: dict[str, float] = field(default_factory=dict)
    threads: dict[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raise CancelledError once every partition is cancelled."""
        if not self.wanted:
            raise CancelledError("cancelled", where=f"order {self.order.number}")


class Pipeline:
    """Runs orders through the stages of a backend.

    Args:
        backend: What the stages do.
        options: How they run.
        tell: Takes each Stage, Proved and Failed; called from any thread.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        backend: Backend,
        options: Options,
        tell: Callable[[Stage | Proved | Failed], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend = backend
        self._tell = tell
        self._clock = clock
        self._flows: dict[int, Flow] = {}
        self._lock = threading.Lock()
        names = ["synthesis", "gpu", "finish"]
        groups = [names] if not options.overlap else [[name] for name in names]
        if options.overlap and not options.split:
            groups = [["synthesis"], ["gpu", "finish"]]
        self._device_is_lost = False
        unbounded = 1 << 30  # the daemon bounds what it sends
        counts = [options.gpu_threads if "gpu" in group else 1 for group in groups]
        self._queues = [
            _ReadyQueue[Flow](unbounded if i == 0 else max(1, options.lookahead), count)
            for i, count in enumerate(counts)
        ]
        self._threads: list[list[threading.Thread]] = []
        for i, group in enumerate(groups):
            threads = [
                threading.Thread(target=self._run, args=(i, group, j), name=f"{group[-1]}-{j}", daemon=True)
                for j in range(counts[i])
            ]
            self._threads.append(threads)
            for thread in threads:
                thread.start()

    def submit(self, order: Prove) -> None:
        """Take an order."""
        flow = Flow(order, set(order.tasks))
        with self._lock:
            self._flows[order.number] = flow
        self._queues[0].put(order.rank, flow)

    def cancel(self, job_id: str) -> None:
        """Stop a job's partitions at their next phase; others in the same order go on."""
        with self._lock:
            for flow in self._flows.values():
                flow.wanted = {task for task in flow.wanted if task.job_id != job_id}

    def close(self) -> None:
        """Finish what is in hand, and end the threads."""
        for queue, threads in zip(self._queues, self._threads, strict=True):
            queue.close()
            for thread in threads:
                thread.join()

    def _run(self, index: int, names: Sequence[str], thread: int) -> None:
        """A thread of one group of stages."""
        last = index + 1 == len(self._queues)
        while (flow := self._queues[index].get(thread)) is not None:
            if not self._advance(flow, names):
                continue
            if last:
                self._deliver(flow)
            else:
                # Told before the next stage can take anything else: what is ready is next, if it is the most urgent.
                self._queues[index + 1].put(flow.order.rank, flow, partial(self._tell_stage, flow, "ready"))

    def _tell_stage(self, flow: Flow, name: str) -> None:
        for task in sorted(flow.wanted):
            self._tell(Stage(task, name))

    def _advance(self, flow: Flow, names: Sequence[str]) -> bool:
        """Take an order through stages; whether it goes on."""
        for name in names:
            if name == "gpu" and self._device_is_lost:
                # Whatever it computed would be worth nothing, and its failure would be blamed on this order. The daemon
                # ends this process, and gives the order out again.
                self._forget(flow)
                return False
            began = self._clock()
            flow.threads[name] = threading.current_thread().name
            try:
                flow.check()
                self._tell_stage(flow, name)
                flow.work = self._stage(name, flow)
            except Exception as error:  # noqa: BLE001 - whatever a stage raises ends this order, not the worker
                self._fail(flow, error)
                return False
            flow.times_ms[name] = (self._clock() - began) * 1e3
            if name == "gpu":
                flow.times_ms["key_load"] = load_ms = self._backend.load_ms(flow.work)
                flow.times_ms[name] -= load_ms
        return True

    def _stage(self, name: str, flow: Flow) -> Any:
        if name == "synthesis":
            return self._backend.synthesis(flow.order, flow.check)
        if name == "gpu":
            return self._backend.gpu(flow.order, flow.work, flow.check)
        return self._backend.finish(flow.order, flow.work, flow.check)

    def _deliver(self, flow: Flow) -> None:
        proofs: Mapping[Task, bytes] = dict(zip(flow.order.tasks, flow.work, strict=True))
        self._forget(flow)
        for task, proof in proofs.items():
            if task in flow.wanted:
                times, threads = dict(flow.times_ms), dict(flow.threads)
                self._tell(Proved(flow.order.number, task, proof, times, threads=threads))
            else:
                self._tell(Failed(flow.order.number, task, "cancelled", "cancelled"))

    def _fail(self, flow: Flow, error: Exception) -> None:
        kind, lost = classify(error)
        self._device_is_lost |= lost
        case = self._backend.record_fault(flow.order, error) if kind == "device" else ""
        if flow.work is not None:
            self._backend.abandon(flow.work)
        self._forget(flow)
        reason = str(error) if isinstance(error, CuzkError) else f"{type(error).__name__}: {error}"
        for task in flow.order.tasks:
            if task not in flow.wanted:
                # A device is lost whether or not anybody still wants the proof.
                self._tell(
                    Failed(flow.order.number, task, "cancelled", reason if lost else "cancelled", lost)
                )
            else:
                self._tell(Failed(flow.order.number, task, kind, reason, lost, case))

    def _forget(self, flow: Flow) -> None:
        flow.work = None
        with self._lock:
            self._flows.pop(flow.order.number, None)


def classify(error: BaseException) -> tuple[str, bool]:
    """Whose fault an error is, and whether the device is lost with it (see messages.Failed)."""
    if isinstance(error, CancelledError):
        return "cancelled", False
    if isinstance(error, InputError):
        return "input", False
    if isinstance(error, DeviceError):
        # Too little memory, a kernel that does not compile or one that reports bad data leave the context whole;
        # after anything else nobody knows what it would compute next.
        return "device", not isinstance(error, (OutOfMemoryError, CompileError, KernelFault))
    if isinstance(error, EngineError):
        return "input", False
    return "internal", False
