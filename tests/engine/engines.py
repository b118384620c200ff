"""An engine whose workers rehearse, for tests.

What a test says must hold on a machine that is fast, slow, or stands still for a second between any two lines. So what
must still be under way when it is looked at waits at a Gate, or never ends by itself (ENDLESS), and what has been is
looked up in what was written down of it (stages_of, Heard) rather than caught while it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from cuzk.engine.config import DaemonConfig, KeysConfig, PipelineConfig, QueueConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobRequest, PayloadForm, Priority, Task
from cuzk.engine.journal import Journal
from cuzk.engine.stages import Options
from cuzk.engine.worker import WorkerConfig

T = TypeVar("T")

#: No test waits longer for anything. On a busy machine a worker takes seconds to start.
PATIENCE_S = 240.0


def script(**steps: object) -> bytes:
    """A payload."""
    return json.dumps(steps).encode()


#: A partition that is on the device until it is cancelled or killed.
ENDLESS = script(gpu=1e9)


class Gate:
    """What holds partitions back in a stage until it is opened.

    Args:
        path: Of its file, which is there once it is open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def script(self, stage: str = "gpu", **steps: object) -> bytes:
        """A payload whose partitions stay in a stage meanwhile."""
        return script(gates={stage: str(self.path)}, **steps)

    def open(self) -> None:
        """Let them on."""
        self.path.touch()


class Heard(logging.Handler):
    """The records of the engine's logger, of every level, each once."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.records.append(record)

    @property
    def messages(self) -> list[str]:
        """What they say."""
        return [record.getMessage() for record in self.records]


@contextmanager
def log_left_as_found() -> Iterator[logging.Logger]:
    """The engine's logger, put back as it was: ``cuzk daemon``, run in this process, sets it up for good."""
    log = logging.getLogger("cuzk.engine")
    handlers, level, propagate = log.handlers, log.level, log.propagate
    try:
        yield log
    finally:
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


@contextmanager
def hearing() -> Iterator[Heard]:
    """Listen to the engine's logger, whatever commands in this process have made of it before.

    Pytest's own capture hears nothing of it after ``cuzk daemon``, or all of it twice.
    """
    heard = Heard()
    with log_left_as_found() as log:
        log.handlers, log.propagate = [heard], False
        log.setLevel(logging.DEBUG)
        yield heard


def job(
    payload: bytes,
    partitions: int = 1,
    circuit: str = "c",
    priority: Priority = Priority.NORMAL,
    name: str = "",
) -> JobRequest:
    return JobRequest(circuit, partitions, payload, PayloadForm.WITNESS, priority, name)


def make_engine(
    folder: Path,
    workers: int = 1,
    *,
    pipeline: PipelineConfig | None = None,
    queue: QueueConfig | None = None,
    **settings: Any,
) -> Engine:
    """An engine with so many rehearsing workers; their devices are called "0", "1", ..."""
    pipeline = pipeline or PipelineConfig()
    timeout = float(settings.pop("request_timeout_s", 0.0))
    keys, log = settings.pop("keys", KeysConfig()), settings.pop("decision_log", "")
    config = DaemonConfig(
        pipeline=pipeline,
        queue=queue or QueueConfig(),
        request_timeout_s=timeout,
        keys=keys,
        decision_log=log,
    )
    options = Options(pipeline.overlap, pipeline.split, pipeline.workers_per_device, pipeline.lookahead)
    backend = "cuzk_fuzz.rehearsal:make_backend"
    configs = [WorkerConfig(str(i), options, backend, settings) for i in range(workers)]
    return Engine(config, configs, Journal(folder))


def run(
    scenario: Callable[[Engine], Coroutine[Any, Any, T]],
    engine: Callable[[], Engine],
    *,
    grace_s: float = 5.0,
) -> T:
    """Run a scenario against a started engine, and stop it whatever happens."""

    async def main() -> T:
        running = engine()
        await running.start()
        try:
            return await asyncio.wait_for(scenario(running), PATIENCE_S)
        finally:
            await running.stop(grace_s)

    return asyncio.run(main())


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, looking often."""
    while not condition():
        await asyncio.sleep(0.005)


def stages_of(engine: Engine) -> dict[str, list[str]]:
    """The stages of each job's partitions from now on, one after the other, "over" when a worker is rid of it."""
    seen: dict[str, list[str]] = {}
    entered = engine.schedule.entered

    def note(worker: int, task: Task, stage: str) -> None:
        seen.setdefault(task.job_id, []).append(stage)
        entered(worker, task, stage)

    engine.schedule.entered = note  # type: ignore[method-assign]
    return seen
