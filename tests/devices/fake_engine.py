"""A GPU on host memory: streams that a seeded scheduler empties, events, page-locked memory, and the driver's maps.

Streams are queues that are emptied only when somebody waits, in any order that the events allow, so that a missing
wait shows as wrong bytes.  Copies from page-locked memory read it when they run, copies from other memory when they
are issued, as CUDA does.
"""

from __future__ import annotations

import ctypes
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.device.host import EmuDevice

ILLEGAL_ADDRESS = 700
OUT_OF_MEMORY = 2


class CudaError(RuntimeError):
    """An error with a status, as CuPy raises."""

    def __init__(self, status: int) -> None:
        super().__init__(f"fake CUDA error {status}")
        self.status = status


class RuntimeApiError(CudaError):
    pass


class DriverApiError(CudaError):
    pass


class Engine:
    """The GPU: memory, streams, and what goes wrong.

    Args:
        memory: Bytes of the GPU.
        seed: Of the order in which streams run.
    """

    def __init__(self, memory: int = 1 << 30, seed: int = 0) -> None:
        self.memory, self.taken = memory, 0
        self.random = random.Random(seed)
        self.lock = threading.RLock()
        self.streams: dict[int, Stream] = {}
        self.locked: dict[int, int] = {}  # page-locked ranges: start -> bytes
        self.calls: list[str] = []
        self.dead: int | None = None  # status of a sticky error
        self.fail_next: dict[str, int] = {}  # call -> status that it fails with once
        self.emu = EmuDevice()
        self.names: dict[int, str] = {}
        self.owners: list[Any] = []

    def enter(self, call: str, kind: type[CudaError] = RuntimeApiError) -> None:
        """Note a call; fail if it has to."""
        self.calls.append(call)
        if self.dead is not None:
            raise kind(self.dead)
        if call in self.fail_next:
            raise kind(self.fail_next.pop(call))

    def push(self, stream: int, run: Callable[[], object], ready: Callable[[], bool] = lambda: True) -> None:
        with self.lock:
            self.streams[stream].queue.append((run, ready))

    def run_until(self, done: Callable[[], bool]) -> None:
        """Let streams make steps, any that can, until a condition holds."""
        with self.lock:
            while not done():
                able = [s for s in self.streams.values() if s.queue and s.queue[0][1]()]
                if not able:
                    raise AssertionError("every stream waits for an event that nobody will record")
                self.random.choice(able).queue.popleft()[0]()

    def is_locked(self, start: int, nbytes: int) -> bool:
        return any(a <= start and start + nbytes <= a + n for a, n in self.locked.items())


class Stream:
    def __init__(self, engine: Engine, *, non_blocking: bool) -> None:
        assert non_blocking  # the legacy default stream would wait for it, and it for that
        self.engine, self.queue = engine, deque[tuple[Callable[[], object], Callable[[], bool]]]()
        with engine.lock:
            self.ptr = len(engine.streams) + 1
            engine.streams[self.ptr] = self

    def synchronize(self) -> None:
        self.engine.enter("streamSynchronize")
        self.engine.run_until(lambda: not self.queue)
        self.engine.enter("streamSynchronize")  # an error of a kernel shows here

    def wait_event(self, event: Event) -> None:
        self.engine.enter("streamWaitEvent")
        wanted = event.issued
        self.engine.push(self.ptr, lambda: None, lambda: event.reached >= wanted)


class Event:
    def __init__(self, engine: Engine, *, block: bool = False, disable_timing: bool = False) -> None:
        del block
        engine.enter("eventCreate")
        self.engine, self.timed = engine, not disable_timing
        self.issued = self.reached = 0
        self.at = 0.0

    def record(self, stream: Stream) -> None:
        self.engine.enter("eventRecord")
        self.issued += 1
        number = self.issued

        def reach() -> None:
            self.reached, self.at = number, time.perf_counter()

        self.engine.push(stream.ptr, reach)

    def synchronize(self) -> None:
        self.engine.enter("eventSynchronize")
        self.engine.run_until(lambda: self.reached >= self.issued)

    @property
    def done(self) -> bool:
        return self.reached >= self.issued


class Driver:
    """libcuda.so.1: the calls that map memory.  Takes what ctypes would pass on."""

    def __init__(self, engine: Engine, *, virtual_memory: bool = True, unit: int = 1 << 16) -> None:
        self.engine, self.virtual_memory, self.unit = engine, virtual_memory, unit
        self.ranges: dict[int, Any] = {}
        self.handles: dict[int, int] = {}
        self.mapped: dict[int, int] = {}
        self.usable: dict[int, int] = {}

    @staticmethod
    def _set(pointer: Any, value: int) -> None:
        pointer._obj.value = value

    def cuDeviceGetAttribute(self, out: Any, attribute: int, ordinal: int) -> int:
        assert (attribute, ordinal) == (102, 0)
        self._set(out, int(self.virtual_memory))
        return 0

    def cuMemGetAllocationGranularity(self, out: Any, properties: Any, option: int) -> int:
        assert properties._obj.type == 1
        assert properties._obj.location.type == 1
        assert option == 0
        self._set(out, self.unit)
        return 0

    def cuMemAddressReserve(self, out: Any, size: int, align: int, address: int, flags: int) -> int:
        del align, address, flags
        whole = np.empty(
            size + self.unit, np.uint8
        )  # the system backs what is touched, as the GPU what is mapped
        base = -(-whole.ctypes.data // self.unit) * self.unit
        self.ranges[base] = whole
        self._set(out, base)
        return 0

    def cuMemCreate(self, out: Any, size: int, properties: Any, flags: int) -> int:
        del properties, flags
        self.engine.calls.append("cuMemCreate")
        assert size % self.unit == 0
        assert size > 0
        if self.engine.taken + size > self.engine.memory:
            return OUT_OF_MEMORY
        self.engine.taken += size
        handle = len(self.handles) + 1
        self.handles[handle] = size
        self._set(out, handle)
        return 0

    def cuMemMap(self, address: int, size: int, offset: int, handle: Any, flags: int) -> int:
        assert self.handles[handle.value] == size
        assert offset == flags == 0
        assert address not in self.mapped
        self.mapped[address] = size
        return 0

    def cuMemRelease(self, handle: Any) -> int:
        del self.handles[handle.value]
        return 0

    def cuMemSetAccess(self, address: int, size: int, access: Any, count: int) -> int:
        assert self.mapped[address] == size
        assert count == 1
        assert access._obj.flags == 3
        self.usable[address] = size
        return 0

    def cuMemUnmap(self, address: int, size: int) -> int:
        assert self.mapped.pop(address) == size
        self.engine.taken -= size
        return 0

    def cuMemAddressFree(self, address: int, size: int) -> int:
        del size, self.ranges[address]
        return 0


def pinned(engine: Engine) -> dict[str, Any]:
    class PinnedMemory:
        def __init__(self, size: int) -> None:
            engine.enter("hostAlloc")
            self.bytes = np.empty(size, np.uint8)
            self.ptr = self.bytes.ctypes.data
            engine.locked[self.ptr] = size

    class PinnedMemoryPool:
        """Exact sizes, kept for ever, handed out again when the last view is gone."""

        def __init__(self, allocator: Callable[[int], Any]) -> None:
            self.allocator, self.free = allocator, dict[int, list[Any]]()

        def malloc(self, size: int) -> Any:
            free = self.free.setdefault(size, [])
            memory = free.pop() if free else self.allocator(size)

            class Lease(ctypes.c_ubyte * size):  # type: ignore[misc]
                """A buffer, which np.frombuffer wants and keeps."""

                def __del__(self) -> None:
                    free.append(memory)

            return Lease.from_buffer(memory.bytes)

    return {
        "PinnedMemory": PinnedMemory, "PinnedMemoryPool": PinnedMemoryPool,
        "PinnedMemoryPointer": lambda memory, offset: memory,
    }  # fmt: skip
