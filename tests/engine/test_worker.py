"""A worker's loop and its handle alone: words that overtake each other, and an end in the moment of being given up.

Would catch: a report of keys that is older than the last answer and undoes it, and a stop that fails where the process
ends just then.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import threading
from typing import Any

import pytest
from cuzk_fuzz.rehearsal import Rehearsal

from cuzk.engine import worker
from cuzk.engine.key_store import KeyReport
from cuzk.engine.messages import Evict, KeyChange, Preload, Stop
from cuzk.engine.pool import WorkerHandle, WorkerPipe, WorkerProcess
from cuzk.engine.worker import WorkerConfig, _Worker

_PATIENCE_S = 120.0


class Pipe:
    """Orders that a test gives, and the answers."""

    def __init__(self) -> None:
        self.orders: queue.Queue[Any] = queue.Queue()
        self.answers: queue.Queue[Any] = queue.Queue()

    def send(self, obj: Any) -> None:
        self.answers.put(obj)

    def recv(self) -> Any:
        return self.orders.get()

    def until_keys_are_told(self, number: int = -1) -> None:
        """Take answers until that to an order about keys has come, or one that answers none."""
        while True:
            message = self.answers.get(timeout=_PATIENCE_S)
            if isinstance(message, KeyChange) and message.number == number:
                return


class HeldUp(Rehearsal):
    """Its reports are held up once, when they have seen a key, before they tell of it."""

    def __init__(self) -> None:
        super().__init__(WorkerConfig("0"))
        self._reporter: threading.Thread | None = None
        self.has_looked, self.may_tell = threading.Event(), threading.Event()

    def keys(self) -> tuple[KeyReport, ...]:
        found = super().keys()
        self._reporter = (
            self._reporter or threading.current_thread()
        )  # nothing else looks before the first order
        if found and threading.current_thread() is self._reporter and not self.has_looked.is_set():
            self.has_looked.set()
            # Where an answer can overtake it, it does so in far less; where none can, this is waited for once.
            self.may_tell.wait(0.5)
        return found


def test_the_last_word_about_keys_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has looked before a key went, and is told after it: nobody must take the key for loaded."""
    monkeypatch.setattr(worker, "_REPORT_EVERY_S", 0.01)
    pipe, backend = Pipe(), HeldUp()
    thread = threading.Thread(target=_Worker(WorkerConfig("0"), pipe, backend).run)
    thread.start()
    pipe.until_keys_are_told()
    pipe.orders.put(Preload(1, "c"))
    assert backend.has_looked.wait(_PATIENCE_S)
    pipe.until_keys_are_told(1)
    pipe.orders.put(Evict(2, "c"))
    pipe.until_keys_are_told(2)
    backend.may_tell.set()
    pipe.orders.put(Stop())
    thread.join(_PATIENCE_S)
    assert not thread.is_alive()
    later = [message for message in pipe.answers.queue if isinstance(message, KeyChange)]
    assert [message for message in later if message.keys] == []


class Process:
    """A process that has ended by the time anybody looks."""

    pid, exitcode = 1, 0

    def kill(self) -> None:
        """Nothing is left to be killed."""

    def join(self) -> None:
        """Likewise."""


def test_a_process_may_end_in_the_moment_in_which_it_is_given_up() -> None:
    """Its end is handled between the end of the grace and the kill that follows."""

    async def scenario() -> None:
        own, its = multiprocessing.Pipe()
        deaths: list[WorkerHandle] = []

        def launch(index: int, config: WorkerConfig) -> tuple[WorkerProcess, WorkerPipe]:
            return Process(), own

        handle = WorkerHandle(
            0, WorkerConfig("0"), lambda *_: None, lambda which, *_: deaths.append(which), launch
        )
        heard: list[Any] = []
        gone = handle._gone
        handle._gone = lambda *told: heard.extend(told)  # type: ignore[method-assign]
        handle.start()
        its.close()
        # What its listener will say comes in the moment in which the grace, which is none, is over.
        while not heard:
            await asyncio.sleep(0.001)
        asyncio.get_running_loop().call_soon(gone, *heard)
        await handle.stop(0.0)
        assert deaths == [handle]

    asyncio.run(asyncio.wait_for(scenario(), _PATIENCE_S))
