"""``cuzk daemon``: an engine with its servers, from start to the last signal.

SIGTERM or Ctrl-C drains: no new jobs, the accepted ones are finished. A second signal stops at once; what is not
proven stays in the journal for the next daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cuzk.engine.config import DaemonConfig
from cuzk.engine.core import Engine
from cuzk.engine.http import StatusServer
from cuzk.engine.journal import Journal
from cuzk.engine.pool import Launch
from cuzk.engine.service import check_exposure, make_server, read_token
from cuzk.engine.stages import Options
from cuzk.engine.wire.listen import check_free, socket_lock
from cuzk.engine.worker import WorkerConfig

__all__ = ["configure_logging", "run_daemon", "worker_configs"]

_LOG = logging.getLogger("cuzk.engine")
#: What a second signal leaves to workers.
_GRACE_S = 2.0


class _Stderr(logging.Handler):
    """Writes to what sys.stderr is at the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more; that stops no daemon
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()


class _Lines(logging.Formatter):
    """One line a record, with its facts; as JSON where asked for."""

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = getattr(record, "facts", {})
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        message = record.getMessage()
        if record.exc_info:
            message += " " + " ".join(self.formatException(record.exc_info).split())
        if self._as_json:
            return json.dumps(
                {"at": at, "level": record.levelname.lower(), "message": message, **facts}, default=str
            )
        tail = " ".join(f"{name}={value}" for name, value in facts.items() if value not in ("", None))
        return _printable(f"{at} {record.levelname.lower():<7} {message} {tail}".rstrip())


def _printable(text: str) -> str:
    """With escapes for what would end the line, or command a terminal: values come from clients."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def configure_logging(level: str, as_json: bool) -> None:
    """Log to stderr, a line a record, flushed at once."""
    handler = _Stderr()
    handler.setFormatter(_Lines(as_json))
    _LOG.handlers = [handler]
    _LOG.setLevel(level.upper())
    _LOG.propagate = False


def worker_configs(
    config: DaemonConfig, devices: Sequence[str], backend: str | None = None
) -> list[WorkerConfig]:
    """One worker per device.

    Args:
        config: The daemon's.
        devices: Names as of --device, none of them "auto".
        backend: What proves; the prover by default.
    """
    pipeline = config.pipeline
    options = Options(pipeline.overlap, pipeline.split, pipeline.workers_per_device, pipeline.lookahead)
    settings = {
        "keys_folder": config.keys.folder,
        "key_files": dict(config.keys.files),
        "device_bytes": config.memory.device_bytes,
        "host_bytes": config.memory.host_bytes,
        "min_idle_s": config.memory.min_idle_s,
        "num_workers": len(devices),
        "cases_folder": str(Path(config.state_folder) / "cases"),
    }
    extra = {} if backend is None else {"backend": backend}
    return [WorkerConfig(device, options, settings=settings, **extra) for device in devices]


async def run_daemon(
    config: DaemonConfig,
    workers: Sequence[WorkerConfig],
    on_ready: Callable[[str, str], None] = lambda *_: None,
    launch: Launch | None = None,
) -> None:
    """Serve until told to stop.

    Args:
        config: How.
        workers: Who proves.
        on_ready: Called with the two addresses once both servers answer.
        launch: Starts a worker; as a process of this machine by default.

    Raises:
        InputError: An address that is exposed without protection, or taken.   EngineError: The state folder is in use.
    """
    signals = _catch_signals()
    for listen, where in ((config.listen, "listen"), (config.status_listen, "status_listen")):
        if listen:
            check_exposure(listen, config)
            check_free(listen, where)
    with contextlib.closing(socket_lock(config.listen)):
        check_free(config.listen, "listen")  # until it was locked, others could take it
        await _serve(config, workers, on_ready, launch, signals)


async def _serve(
    config: DaemonConfig,
    workers: Sequence[WorkerConfig],
    on_ready: Callable[[str, str], None],
    launch: Launch | None,
    signals: asyncio.Queue[int],
) -> None:
    """Serve on addresses that are free."""
    engine = Engine(config, workers, Journal(Path(config.state_folder)), launch=launch)
    server, port = make_server(engine, config)
    status = None
    try:
        if config.status_listen:
            token = read_token(config.security)
            status = StatusServer(engine, config.status_listen, token, security=config.security)
        await engine.start()
        await server.start()
        host = (
            config.listen
            if config.listen.startswith("unix:")
            else f"{config.listen.rpartition(':')[0]}:{port}"
        )
        page = "" if status is None else status.url
        _LOG.info("ready", extra={"facts": {"listen": host, "page": page, "pid": os.getpid()}})
        on_ready(host, page)
        await _until_stopped(engine, signals)
    finally:
        await server.stop(_GRACE_S)
        await engine.stop(_GRACE_S)
        if status is not None:
            await asyncio.to_thread(status.close)
        _LOG.info("stopped")


def _catch_signals() -> asyncio.Queue[int]:
    """A queue that gets every SIGTERM and Ctrl-C from now on: one that comes during the start drains after it."""
    signals: asyncio.Queue[int] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signals.put_nowait, number)
    return signals


async def _until_stopped(engine: Engine, signals: asyncio.Queue[int]) -> None:
    """Until the first signal and the last job, or the second signal."""
    await signals.get()
    _LOG.info("draining", extra={"facts": {"jobs": len(engine.schedule)}})
    drained, again = asyncio.create_task(engine.drain()), asyncio.create_task(signals.get())
    _, pending = await asyncio.wait({drained, again}, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
