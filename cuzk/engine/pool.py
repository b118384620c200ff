"""Worker processes as the daemon sees them: started, given orders, listened to, replaced when they die.

Everything here runs in the daemon's event loop but for one listening thread per worker, which only hands messages to
the loop.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from typing import Any, Protocol, TypeAlias

from cuzk.engine.jobs import Task
from cuzk.engine.key_store import KeyReport, Tier
from cuzk.engine.messages import (
    FromWorker,
    KeyChange,
    NotReady,
    PhaseLine,
    Prove,
    Proved,
    Ready,
    Stage,
    Stop,
    ToWorker,
    WorkerMemory,
)
from cuzk.engine.worker import DAEMON_SIGNALS, WorkerConfig, worker_main

__all__ = ["Launch", "WorkerHandle", "WorkerPipe", "WorkerProcess", "WorkerState", "launch_process"]

#: A worker that dies before it was ready is started again after so many seconds, twice as many each time.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0
#: Names of workers' processes begin so.
_NAME = "cuzk-worker-"


class WorkerProcess(Protocol):
    """What the daemon needs of a worker's process, wherever it runs."""

    @property
    def pid(self) -> int | None:
        """Its number, where it has one."""

    @property
    def exitcode(self) -> int | None:
        """How it ended, where that is known."""

    def kill(self) -> None:
        """End it at once."""

    def join(self) -> None:
        """Wait for its end."""


class WorkerPipe(Protocol):
    """The daemon's end of the way to a worker; OSError and EOFError say that the other end is gone."""

    def send(self, message: Any) -> None:
        """Send an order."""

    def recv(self) -> Any:
        """Wait for an answer."""

    def close(self) -> None:
        """Let go of it."""


Launch: TypeAlias = Callable[[int, WorkerConfig], tuple[WorkerProcess, WorkerPipe]]


def launch_process(index: int, config: WorkerConfig) -> tuple[WorkerProcess, WorkerPipe]:
    """Start a worker as a process of this machine."""
    context = multiprocessing.get_context("spawn")
    own, its = context.Pipe()
    process = context.Process(target=worker_main, args=(config, its), name=f"{_NAME}{index}", daemon=True)
    # It ignores the daemon's signals from its first instruction on: it inherits that they are blocked here. What it
    # would start on the way opens them again, so that comes before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, DAEMON_SIGNALS)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    its.close()
    return process, own


@atexit.register
def _kill_workers() -> None:
    """At the end of the process; multiprocessing would send them SIGTERM, which they ignore, and wait for them."""
    for child in multiprocessing.active_children():
        if child.name.startswith(_NAME):
            child.kill()


@dataclass
class WorkerState:
    """What is known of a worker.

    Attributes:
        index: Its number.
        device: Name of its device; what was asked for until it is ready.
        kind: cpu, emu or cuda, or nothing yet.
        ready: It takes orders.
        healthy: Its device works; False from its loss until another process has taken over.
        restarts: How often its process was replaced.
        last_error: Why, the last time.
        orders: Orders in hand by number.
        stages: Partition in hand -> stage and since when.
        keys: What keys it has.
        memory: What it takes.
        phases: Phases of its last proof.
        heard: When it was started, or said something of a partition or an order about keys the last time.
        asked: The device that was asked for.
    """

    index: int
    device: str
    kind: str = ""
    ready: bool = False
    healthy: bool = True
    restarts: int = 0
    last_error: str = ""
    orders: dict[int, Prove] = field(default_factory=dict)
    stages: dict[tuple[str, int], tuple[str, float]] = field(default_factory=dict)
    keys: tuple[KeyReport, ...] = ()
    memory: WorkerMemory = field(default_factory=WorkerMemory)
    phases: tuple[PhaseLine, ...] = ()
    heard: float = field(default_factory=time.monotonic)
    asked: str = ""

    def stalled(self, now: float, limit_s: float) -> str:
        """What a worker that has work has been at for too long without a word; nothing where all is well."""
        if now - self.heard <= limit_s or (self.ready and not self.orders):
            return ""
        if not self.ready:
            return f"stalled: not ready after {limit_s:g} s" if self.healthy else ""
        return f"stalled: no progress for {limit_s:g} s (pipeline.stall_s)"

    def culprit(self) -> tuple[str, int] | None:
        """The partition that a stalled worker is at: the one that is farthest, and of such the oldest."""
        ranks = {"finish": 0, "gpu": 1}
        at = [
            (ranks.get(stage, 2), since, task)
            for task, (stage, since) in self.stages.items()
            if stage != "ready"
        ]
        return min(at)[2] if at else None

    @property
    def ordinal(self) -> int:
        """Number of its GPU on its machine, where it was asked for by that; else the worker's own."""
        kind, _, number = self.asked.partition(":")
        return int(number) if kind == "cuda" and number.isdigit() else self.index

    def current(self) -> tuple[str, str] | None:
        """Job and circuit of what is on the device now, else of what was given out first; None for nothing."""
        orders = self.orders.values()
        given = {(task.job_id, task.partition): order for order in orders for task in order.tasks}
        on_device = (task for task, (stage, _) in self.stages.items() if stage == "gpu" and task in given)
        task = next(on_device, next(iter(given), None))
        return None if task is None else (task[0], given[task].circuit)

    def answered(self, number: int, task: Task) -> None:
        """One partition of an order is off the worker's hands."""
        order = self.orders.get(number)
        if order is not None:
            left = tuple(other for other in order.tasks if other != task)
            self.orders[number] = replace(order, tasks=left)
            if not left:
                del self.orders[number]

    def has_key(self, circuit: str) -> bool:
        """Whether a circuit's key is on the device."""
        return any(key.circuit == circuit and key.tier is Tier.HOT for key in self.keys)


class WorkerHandle:
    """One worker process and its successors.

    Args:
        index: Its number.
        config: What to be.
        on_message: Takes each message, in the loop.
        on_death: Takes the orders that were in hand, in the loop, after the process has ended, and the partition that
            it was at, where it was not killed by the daemon for a reason that is known.
        launch: Starts a process, and gives it and the pipe to it.
    """

    def __init__(
        self,
        index: int,
        config: WorkerConfig,
        on_message: Callable[[WorkerHandle, FromWorker], None],
        on_death: Callable[[WorkerHandle, list[Prove], tuple[str, int] | None], None],
        launch: Launch | None = None,
    ) -> None:
        self.state = WorkerState(index, config.device, asked=config.device)
        self._config = config
        self._launch = launch or launch_process
        self._on_message = on_message
        self._on_death = on_death
        self._process: WorkerProcess | None = None
        self._pipe: WorkerPipe | None = None
        self._stopping = False
        self._why = ""  # why the process is about to end, where that is known
        self._pause_s = _FIRST_PAUSE_S
        self._ended = asyncio.Event()

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to end."""
        return self._stopping

    @property
    def pid(self) -> int | None:
        """Process identifier, while there is one."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start a process; it is ready when its Ready message comes."""
        self.state.heard = time.monotonic()
        process, own = self._launch(self.state.index, self._config)
        self._process, self._pipe = process, own
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop, own, process), daemon=True).start()

    def send(self, message: ToWorker) -> None:
        """Send to the process; to one that has just died, nothing: its death is about to be handled."""
        if isinstance(message, Prove):
            if not self.state.orders:
                self.state.heard = time.monotonic()
            self.state.orders[message.number] = message
        if self._pipe is not None:
            with contextlib.suppress(OSError):
                self._pipe.send(message)

    def replace(self, reason: str) -> None:
        """Kill the process: its device is lost. Its successor is started when it is gone."""
        self.state.healthy, self.state.ready, self.state.last_error = False, False, reason
        self._why = reason
        if self._process is not None:
            self._process.kill()

    async def stop(self, grace_s: float) -> None:
        """Let it finish what is in hand for so long, then kill it."""
        self._stopping = True
        if self._process is None:
            return
        self.send(Stop())
        try:
            await asyncio.wait_for(self._ended.wait(), grace_s)
        except TimeoutError:
            if self._process is not None:  # it may have ended in the moment in which it was given up
                self._process.kill()
            await self._ended.wait()

    def _listen(self, loop: asyncio.AbstractEventLoop, pipe: WorkerPipe, process: WorkerProcess) -> None:
        """In a thread: hand messages to the loop until the process is gone."""
        while True:
            try:
                message: FromWorker = pipe.recv()
            except (EOFError, OSError):
                break
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._receive, message)
        process.join()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the daemon has ended
            loop.call_soon_threadsafe(self._gone, pipe, process)

    def _receive(self, message: FromWorker) -> None:
        state = self.state
        is_news = not (isinstance(message, KeyChange) and message.is_unasked)
        if is_news:  # the others come from a worker that hangs, too
            state.heard = time.monotonic()
        if isinstance(message, NotReady):
            state.last_error = self._why = message.reason
        elif isinstance(message, Ready):
            state.device, state.kind, state.ready, state.healthy = message.device, message.kind, True, True
            self._pause_s = _FIRST_PAUSE_S
        elif isinstance(message, KeyChange):
            state.keys, state.memory = message.keys, message.memory
        elif isinstance(message, Stage):
            state.stages[message.task.job_id, message.task.partition] = message.stage, time.monotonic()
        else:
            state.stages.pop((message.task.job_id, message.task.partition), None)
            if isinstance(message, Proved):
                state.phases = message.phases or state.phases
        self._on_message(self, message)

    def _gone(self, pipe: WorkerPipe, process: WorkerProcess) -> None:
        """The process has ended and all its messages are handled."""
        pipe.close()
        was_ready = self.state.ready
        blamed = None if self._why or self._stopping else self.state.culprit()
        self._process, self._pipe = None, None
        self.state.ready = False
        self.state.keys, self.state.memory = (), WorkerMemory()
        self.state.stages.clear()
        orders = list(self.state.orders.values())
        self.state.orders.clear()
        self._ended.set()
        if self._stopping:
            self._on_death(self, orders, blamed)
            return
        self.state.restarts += 1
        self.state.last_error = self._why or f"worker process ended with code {process.exitcode}"
        self._why = ""
        self._on_death(self, orders, blamed)
        self._ended.clear()
        if was_ready or not self.state.healthy:
            self.start()
        else:
            asyncio.get_running_loop().call_later(self._pause_s, self._start_again)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _start_again(self) -> None:
        if not self._stopping:
            self.start()
