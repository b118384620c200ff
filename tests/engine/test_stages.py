"""The stages of a worker alone, in this process: what is ready first, what a lost device still does, who takes what.

Would catch: a critical partition overtaken between the word that it is ready and its place in the queue, partitions
given to a device that is lost, and threads of a device of which one does all the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cuzk.engine.jobs import Task
from cuzk.engine.messages import Failed, Prove, Proved, Stage
from cuzk.engine.stages import Options, Pipeline
from cuzk.errors import DeviceError

Message = Stage | Proved | Failed
_PATIENCE_S = 120.0


class Device:
    """A backend whose device does what a test says, by the order's number."""

    def __init__(self, on_device: Callable[[int], None]) -> None:
        self._on_device = on_device
        self.served: list[int] = []
        self.threads: list[str] = []

    def synthesis(self, order: Prove, check: Callable[[], None]) -> int:
        return order.number

    def gpu(self, order: Prove, work: int, check: Callable[[], None]) -> int:
        self.served.append(order.number)
        self.threads.append(threading.current_thread().name)
        self._on_device(order.number)
        return work

    def finish(self, order: Prove, work: int, check: Callable[[], None]) -> Sequence[bytes]:
        return [b"proof"]

    def load_ms(self, work: Any) -> float:
        return 0.0

    def abandon(self, work: Any) -> None:
        """Nothing is held."""

    def record_fault(self, order: Prove, error: BaseException) -> str:
        return ""


def order(number: int, rank: int = 2) -> Prove:
    return Prove(number, "c", (Task(number, 0, f"job{number}"),), (), rank)


def stage(number: int, name: str) -> Stage:
    return Stage(Task(number, 0, f"job{number}"), name)


class Told:
    """What a pipeline has told, and who waits for it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._changed = threading.Condition()

    def __call__(self, message: Message) -> None:
        with self._changed:
            self.messages.append(message)
            self._changed.notify_all()

    def wait(self, wanted: Callable[[], bool], patience_s: float = _PATIENCE_S) -> bool:
        with self._changed:
            return self._changed.wait_for(wanted, patience_s)

    def wait_for(self, message: Message) -> None:
        assert self.wait(lambda: message in self.messages), message


def test_nothing_is_taken_between_the_word_and_the_place_of_what_is_ready() -> None:
    """A critical order is said to be ready, and the device becomes free at that moment: it is next."""
    told, first_may_end = Told(), threading.Event()
    device = Device(lambda number: None if number != 1 else (first_may_end.wait(_PATIENCE_S), None)[1])

    def tell(message: Message) -> None:
        told(message)
        if message == stage(3, "ready"):
            first_may_end.set()
            told.wait_for(stage(1, "ready"))
            # A device that can take the one behind does so in far less; one that cannot costs this much once.
            told.wait(lambda: stage(2, "gpu") in told.messages, 0.5)

    pipeline = Pipeline(device, Options(), tell)
    pipeline.submit(order(1))
    told.wait_for(stage(1, "gpu"))
    pipeline.submit(order(2))
    told.wait_for(stage(2, "ready"))
    pipeline.submit(order(3, rank=4))
    told.wait_for(stage(3, "gpu"))
    pipeline.close()
    assert device.served == [1, 3, 2]


@pytest.mark.parametrize("options", [Options(), Options(overlap=False), Options(split=False)])
def test_a_lost_device_is_given_nothing_more(options: Options) -> None:
    """What waited behind the one that lost it is neither computed nor said to have failed: others will prove it."""

    def lose(number: int) -> None:
        raise DeviceError(f"the context is gone at {number}")

    told, device = Told(), Device(lose)
    pipeline = Pipeline(device, options, told)
    for number in (1, 2, 3):
        pipeline.submit(order(number))
    pipeline.close()
    assert device.served == [1]
    (failed,) = [message for message in told.messages if not isinstance(message, Stage)]
    assert isinstance(failed, Failed)
    assert (failed.number, failed.kind, failed.device_lost) == (1, "device", True)


def test_a_device_that_is_lost_to_a_cancelled_order_is_lost() -> None:
    """Nobody wants the proof any more, and everybody the device."""
    pipeline: list[Pipeline] = []

    def lose(number: int) -> None:
        pipeline[0].cancel("job1")
        raise DeviceError("the context is gone")

    told = Told()
    pipeline.append(Pipeline(Device(lose), Options(), told))
    pipeline[0].submit(order(1))
    pipeline[0].close()
    failed = told.messages[-1]
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.device_lost) == ("cancelled", True)
    assert "the context is gone" in failed.reason


def test_threads_of_a_device_take_turns() -> None:
    """However short the work is, the one that has had nothing to do for longest is next."""
    told, device = Told(), Device(lambda _: None)
    pipeline = Pipeline(device, Options(gpu_threads=3), told)
    for number in range(3):
        pipeline.submit(order(number))
    assert told.wait(lambda: sum(isinstance(message, Proved) for message in told.messages) == 3)
    pipeline.close()
    assert device.threads == ["gpu-0", "gpu-1", "gpu-2"]
