"""The process that proves: one per device. It takes orders from a pipe, and nothing it does can hurt the daemon.

A process of its own because a GPU's context dies with its first bad access, and only a new process gets another.
"""

from __future__ import annotations

import importlib
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from typing import Any, Protocol

from cuzk.engine.key_store import KeyReport
from cuzk.engine.messages import (
    Cancel,
    Evict,
    Failed,
    FromWorker,
    KeyChange,
    NotReady,
    PhaseLine,
    Preload,
    Prove,
    Proved,
    Ready,
    Stage,
    Stop,
    ToWorker,
    WorkerMemory,
)
from cuzk.engine.stages import Backend, Options, Pipeline
from cuzk.errors import CuzkError

__all__ = ["DAEMON_SIGNALS", "OrderPipe", "WorkerBackend", "WorkerConfig", "serve", "worker_main"]

#: What the daemon handles for itself and its workers.
DAEMON_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_REPORT_EVERY_S = 1.0


@dataclass(frozen=True)
class WorkerConfig:
    """What a worker process needs to know; sent to it when it starts.

    Args:
        device: Name as of --device.
        options: How its stages run.
        backend: ``module:function`` that makes its backend from this configuration.
        settings: What that function needs beyond it.
    """

    device: str
    options: Options = field(default_factory=Options)
    backend: str = "cuzk.engine.backend:make_backend"
    settings: dict[str, Any] = field(default_factory=dict)


class OrderPipe(Protocol):
    """A worker's end of the way to the daemon; OSError and EOFError say that the daemon is gone."""

    def send(self, obj: Any) -> None:
        """Send an answer."""

    def recv(self) -> Any:
        """Wait for an order."""


class WorkerBackend(Backend, Protocol):
    """A backend with keys and a device."""

    def describe(self) -> tuple[str, str]:
        """Name and kind of the device."""

    def preload(self, circuit: str) -> bool:
        """Load a key; whether it was loaded before."""

    def evict(self, circuit: str) -> int | None:
        """Let a key go; bytes freed, or None."""

    def keys(self) -> tuple[KeyReport, ...]:
        """What keys there are."""

    def memory(self) -> WorkerMemory:
        """What the process takes now."""

    def phases(self) -> tuple[PhaseLine, ...]:
        """The phases of the last proof."""


def worker_main(config: WorkerConfig, pipe: Connection) -> None:
    """Run a worker process until the daemon says stop, or is gone.

    Args:
        config: What to be.
        pipe: To the daemon.
    """
    # A terminal and systemd send these to every process; the daemon decides when its workers end, and one whose
    # daemon is gone ends with its pipe. They were blocked until here (see pool.launch_process).
    for number in DAEMON_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, DAEMON_SIGNALS)
    serve(config, pipe)


def serve(config: WorkerConfig, pipe: OrderPipe) -> None:
    """The same on a pipe of any kind, in any process that may be ended with it."""
    module, _, name = config.backend.partition(":")
    make: Callable[[WorkerConfig], WorkerBackend] = getattr(importlib.import_module(module), name)
    try:
        backend = make(config)
    except CuzkError as error:
        pipe.send(NotReady(str(error)))
        return
    _Worker(config, pipe, backend).run()


class _Worker:
    """The loop over orders, and the answers."""

    def __init__(self, config: WorkerConfig, pipe: OrderPipe, backend: WorkerBackend) -> None:
        self._pipe = pipe
        self._backend = backend
        self._sending = threading.Lock()
        self._telling_keys = threading.Lock()
        self._told: tuple[tuple[KeyReport, ...], WorkerMemory] | None = None
        self._pipeline = Pipeline(backend, config.options, self._tell)
        self._aside: list[threading.Thread] = []
        self._over = threading.Event()

    def run(self) -> None:
        """Until Stop, or until the daemon is gone."""
        name, kind = self._backend.describe()
        self._send(Ready(name, kind, os.getpid()))
        reports = threading.Thread(target=self._report, daemon=True)
        reports.start()
        while (message := self._receive()) is not None and not isinstance(message, Stop):
            if isinstance(message, Prove):
                self._pipeline.submit(message)
            elif isinstance(message, Cancel):
                self._pipeline.cancel(message.job_id)
            else:
                thread = threading.Thread(target=self._change_keys, args=(message,), daemon=True)
                self._aside = [other for other in self._aside if other.is_alive()] + [thread]
                thread.start()
        self._pipeline.close()
        self._over.set()
        for thread in [*self._aside, reports]:
            thread.join()

    def _report(self) -> None:
        """Tell what keys there are, how far their loads are and what the process takes, as often as that changes."""
        self._send_keys()
        while not self._over.wait(_REPORT_EVERY_S):
            self._send_keys(only_news=True)

    def _receive(self) -> ToWorker | None:
        try:
            message: ToWorker = self._pipe.recv()
        except (EOFError, OSError):
            # The daemon is gone: nobody waits for what is in hand, and nothing here is to be saved.
            os._exit(0)
        return message

    def _send(self, message: FromWorker) -> None:
        with self._sending:
            try:
                self._pipe.send(message)
            except (BrokenPipeError, OSError):
                os._exit(0)

    def _send_keys(self, *, only_news: bool = False, **answer: Any) -> None:
        """Look at keys and memory and tell them in one step, so that the last word about them is the newest."""
        with self._telling_keys:
            now = self._backend.keys(), self._backend.memory()
            if only_news and now == self._told:
                return
            self._told = now
            self._send(KeyChange(*now, **answer))

    def _tell(self, message: Stage | Proved | Failed) -> None:
        if isinstance(message, Proved):
            message = replace(message, memory=self._backend.memory(), phases=self._backend.phases())
        self._send(message)
        if not isinstance(message, Stage):
            self._send_keys()

    def _change_keys(self, message: Preload | Evict) -> None:
        began = time.monotonic()
        error, was_loaded, freed = "", False, 0
        try:
            if isinstance(message, Preload):
                was_loaded = self._backend.preload(message.circuit)
            else:
                bytes_freed = self._backend.evict(message.circuit)
                was_loaded, freed = bytes_freed is not None, bytes_freed or 0
        except CuzkError as raised:
            error = str(raised)
        except Exception as raised:  # noqa: BLE001 - the client learns of it, the worker goes on
            error = f"{type(raised).__name__}: {raised}"
        took_ms = (time.monotonic() - began) * 1e3
        self._send_keys(
            number=message.number, error=error, was_loaded=was_loaded, freed=freed, took_ms=took_ms
        )
