"""An engine whose workers rehearse, for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from cuzk.engine.config import DaemonConfig, KeysConfig, PipelineConfig, QueueConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobRequest, PayloadForm, Priority
from cuzk.engine.journal import Journal
from cuzk.engine.stages import Options
from cuzk.engine.worker import WorkerConfig

T = TypeVar("T")

#: No test waits longer for anything.
PATIENCE_S = 60.0


def script(**steps: object) -> bytes:
    """A payload."""
    return json.dumps(steps).encode()


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
