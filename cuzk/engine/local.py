"""An engine inside the calling program, without a daemon: the same queue, workers and proofs, no wire.

It runs in a thread with an event loop of its own; every method may be called from any thread.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from cuzk.engine.config import DaemonConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import Job, JobRequest
from cuzk.engine.journal import Journal
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import EngineError

__all__ = ["LocalEngine"]

_T = TypeVar("_T")
_GRACE_S = 10.0


class LocalEngine:
    """Starts with the ``with`` block, ready when it is entered; ends with it.

    Args:
        config: As of the daemon; addresses and security mean nothing here. The journal is a temporary one.
        workers: One configuration per worker process.
        patience_s: Seconds to wait for the workers' start.
    """

    def __init__(
        self, config: DaemonConfig, workers: Sequence[WorkerConfig], *, patience_s: float = 300.0
    ) -> None:
        self._config = config
        self._workers = workers
        self._patience_s = patience_s
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cuzk-engine", daemon=True)
        self._folder = tempfile.TemporaryDirectory(prefix="cuzk-engine-")
        self._engine: Engine | None = None

    def __enter__(self) -> LocalEngine:
        self._thread.start()
        try:
            self.run(self._start())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    async def _start(self) -> None:
        self._engine = Engine(self._config, self._workers, Journal(Path(self._folder.name)))
        await self._engine.start()
        until = self._loop.time() + self._patience_s
        while not all(worker.state.ready for worker in self._engine.workers):
            reasons = [worker.state.last_error for worker in self._engine.workers if worker.state.last_error]
            if reasons or self._loop.time() > until:
                raise EngineError(f"a worker does not start: {'; '.join(reasons) or 'no word from it'}")
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """End the workers, and forget the jobs."""
        if self._engine is not None:
            self.run(self._engine.stop(_GRACE_S))
            self._engine = None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._folder.cleanup()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the engine's loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def ask(self, question: Callable[[Engine], _T]) -> _T:
        """Ask the engine in its own loop, which alone may touch its state."""

        async def answer() -> _T:
            if self._engine is None:
                raise EngineError("the engine has ended", remedy="use it inside its `with` block")
            return question(self._engine)

        return self.run(answer())

    def preload(self, circuit: str) -> bool:
        """Load a key on every worker; whether each had it before.

        Raises:
            EngineError: It cannot be loaded; says why.
        """
        answers = self.run(self.ask(lambda engine: engine).keys.preload(circuit))
        for answer in answers:
            if answer.error:
                raise EngineError(answer.error)
        return all(answer.was_loaded for answer in answers)

    def submit(self, request: JobRequest) -> str:
        """Accept a job; its identifier. Errors as of Engine.submit."""
        return self.ask(lambda engine: engine.submit(request)[0].id)

    def wait(self, job_id: str, timeout_s: float | None = None) -> Job:
        """Wait for a job's end, at most so long; the job as it is then.

        Raises:
            EngineError: There is no such job.
        """
        job = self.run(self.ask(lambda engine: engine).board.wait(job_id, timeout_s))
        if job is None:
            raise EngineError(f"there is no job {job_id!r:.60}")
        return job
