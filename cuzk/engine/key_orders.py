"""Loading and evicting keys by hand: an order to every worker, and one answer from each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence

from cuzk.engine.messages import Evict, KeyChange, Preload
from cuzk.engine.pool import WorkerHandle
from cuzk.errors import BusyError, EngineError

__all__ = ["KeyOrders"]

_LOG = logging.getLogger("cuzk.engine")
#: Orders of which a worker's answer is awaited; more would fill the pipe of one that hangs.
_MOST_AWAITED = 64


class KeyOrders:
    """Sends orders, and keeps who waits for which answer. One event loop owns it.

    Args:
        workers: All of them.
        numbers: Gives each order a number.
    """

    def __init__(self, workers: Sequence[WorkerHandle], numbers: Iterator[int]) -> None:
        self._workers = workers
        self._numbers = numbers
        self._awaited: dict[int, tuple[int, asyncio.Future[KeyChange]]] = {}

    async def preload(self, circuit: str) -> list[KeyChange]:
        """Load a key on every worker; their answers."""
        return await self._ask(lambda number: Preload(number, circuit))

    async def evict(self, circuit: str) -> list[KeyChange]:
        """Let a key go on every worker; their answers."""
        return await self._ask(lambda number: Evict(number, circuit))

    def preload_unasked(self, worker: WorkerHandle, circuits: Sequence[str]) -> None:
        """Load keys on a worker that has just started; what fails is logged."""
        for circuit in circuits:
            worker.send(Preload(0, circuit))

    async def _ask(self, make: Callable[[int], Preload | Evict]) -> list[KeyChange]:
        ready = [worker for worker in self._workers if worker.state.ready]
        if not ready:
            raise EngineError("no worker is ready", remedy="try again when `cuzk status` shows one")
        if len(self._awaited) + len(ready) > _MOST_AWAITED * len(self._workers):
            raise BusyError(
                f"{len(self._awaited)} orders about keys are not answered yet", limit=f"{_MOST_AWAITED} a worker",
                remedy="wait for those",
            )  # fmt: skip
        waiting = []
        for worker in ready:
            number, future = next(self._numbers), asyncio.get_running_loop().create_future()
            self._awaited[number] = (worker.state.index, future)
            waiting.append(future)
            worker.send(make(number))
        return list(await asyncio.gather(*waiting))

    def answered(self, worker: WorkerHandle, message: KeyChange) -> None:
        """A worker's answer, to whoever waits for it."""
        if message.number == 0 and message.error:
            facts = {"worker": worker.state.index, "reason": message.error}
            _LOG.error("preload failed", extra={"facts": facts})
            worker.state.last_error = f"preload: {message.error}"
        _, future = self._awaited.pop(message.number, (0, None))
        if future is not None and not future.done():
            future.set_result(message)

    def worker_gone(self, worker: WorkerHandle, why: str) -> None:
        """A worker will answer nothing any more, because it has died or was stopped."""
        index = worker.state.index
        for number in [number for number, (asked, _) in self._awaited.items() if asked == index]:
            self.answered(worker, KeyChange((), number=number, error=f"worker {index} {why}"))
