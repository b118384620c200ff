"""The ``cuda`` device: CuPy arrays from one arena, kernels from the content-keyed cache, one stream in launch order.

CuPy is imported when a device is opened, never before.  Calls from several threads are put in a row by a lock; their
launches share one stream and one fault word, so a fault may be raised in another thread than the one that caused it.
"""

from __future__ import annotations

import functools
import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.device import builder
from cuzk.device.arena import Arena, Block, MemoryReport
from cuzk.device.base import Array, Device, DeviceLimits, KernelSpec, kernel_table
from cuzk.device.copies import CopySpan, Ticket
from cuzk.device.cuda_copies import Copier, CudaTicket
from cuzk.device.cuda_health import Health, bind_thread, identify, import_cupy, is_available, refuse_lost
from cuzk.device.cuda_launch import FAULT_BYTES, Launcher
from cuzk.device.cuda_memory import memory_class, open_backing
from cuzk.device.cuda_modules import Modules, gpu_kernels
from cuzk.device.cuda_pages import HostMemory
from cuzk.errors import InternalError, OutOfMemoryError

__all__ = ["CudaDevice", "available"]

available = is_available

#: Shared memory a block may use without asking the driver for more; plans stay within it.
_DEFAULT_SHARED_BYTES = 48 << 10
#: Copies up to this size go as they are: the driver takes them into its own buffer and returns at once.
_SMALL_BYTES = 64 << 10

_NOTHING = nullcontext()
_REMEDY = (
    "close other programs on this GPU, raise the memory limit, prove a smaller circuit, or use --device cpu"
)


class CudaDevice(Device):
    """One GPU.

    Args:
        ordinal: Index of the GPU.
        progress: Called with (module, done, total) while kernels are compiled.
        memory_limit: Most bytes that arrays may hold; by default what is free now, less a reserve for the driver.
        separate_allocations: Give every array an allocation of its own (for compute-sanitizer; slow).
    """

    kind = "cuda"
    _launcher: Launcher

    def __init__(
        self,
        ordinal: int = 0,
        progress: Callable[[str, int, int], None] | None = None,
        *,
        memory_limit: int | None = None,
        separate_allocations: bool = False,
    ) -> None:
        super().__init__()
        refuse_lost(ordinal)
        self._cupy = cp = import_cupy()
        self._runtime = cp.cuda.runtime
        self._ordinal = ordinal
        self._health = Health(cp, ordinal)
        self._lock = threading.RLock()
        self._local = threading.local()
        self._device = cp.cuda.Device(ordinal)
        self.arch, self.name, num_sms = identify(self._runtime, ordinal)
        # Field names come from the host build of the same sources; the GPU build has the same structs.
        self._kernels = gpu_kernels(kernel_table(_host_module().kernels()))
        self._modules = Modules(cp.cuda, self.arch, self._kernels, progress)
        self._functions, self._function = self._modules.functions, self._modules.function
        self.build_key = builder.module_key("all", "all", self.arch)
        with self._call("opening the device"):
            self._open_memory(memory_limit, separate_allocations)
            self._open_streams()
        self.limits = DeviceLimits(
            num_sms=num_sms, max_threads=1024, warp=32, shared_bytes=_DEFAULT_SHARED_BYTES,
            memory_bytes=self._arena.capacity, gpu_like=True, model=self.name.partition(" (")[2][:-1],
        )  # fmt: skip

    def _open_memory(self, memory_limit: int | None, separate: bool) -> None:
        capacity, self._backing = open_backing(
            self._cupy.cuda, self._ordinal, memory_limit, self._health.errors, separate=separate
        )
        self._arena = Arena(self.name, capacity, grow=self._backing.grow, remedy=_REMEDY)
        self._memory = memory_class(self._cupy.cuda.memory.BaseMemory)
        self._host_memory = HostMemory(self._cupy.cuda, self._health.errors)

    def _open_streams(self) -> None:
        cuda = self._cupy.cuda
        self._stream = cuda.Stream(non_blocking=True)
        # The copier's thread must not keep this device alive: it gets nothing that leads back here.
        self._copier = Copier(
            cuda, cuda.Stream(non_blocking=True), self._host_memory,
            enter=functools.partial(bind_thread, self._runtime, self._ordinal),
        )  # fmt: skip
        # Small downloads follow the fault word.
        self._mailbox = self._host_memory.take(FAULT_BYTES + _SMALL_BYTES)
        self._fault = self.alloc((FAULT_BYTES,), np.uint8, zero=True)
        self._launcher = Launcher(
            cuda, self._stream, self._modules, self._pointer(self._fault), self._mailbox[:FAULT_BYTES]
        )
        self._keep: list[Any] = []  # what uploads from locked memory read, until the next synchronisation
        self._origin = cuda.Event()
        self._origin.record(self._stream)
        weakref.finalize(self, self._copier.jobs.put, None)  # ends the thread

    @property
    def kernels(self) -> Mapping[str, KernelSpec]:
        return self._kernels

    @functools.cached_property
    def _host(self) -> Device:
        from cuzk.device.host import CpuDevice

        return CpuDevice()

    @property
    def host(self) -> Device:
        return self._host

    @property
    def reference(self) -> Device:
        return self._host

    # -- the calling thread

    def _here(self) -> AbstractContextManager[Any]:
        """Make this GPU current for a ``with`` block, and the one that was current before again after it."""
        if not getattr(self._local, "bound", False):
            before = self._runtime.getDevice()
            bind_thread(self._runtime, self._ordinal)
            self._runtime.setDevice(before)
            self._local.bound = True
        return _NOTHING if self._runtime.getDevice() == self._ordinal else self._device

    @contextmanager
    def _call(self, doing: str, *, locked: bool = True) -> Iterator[None]:
        """What goes around CUDA calls: a usable context, this GPU current, one thread at a time, named errors."""
        self._health.check()
        try:
            with self._lock if locked else _NOTHING, self._here():
                yield
        except self._health.errors as error:
            raise self._health.failed(error, doing, self._recent()) from error

    # -- memory

    def alloc(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64, *, zero: bool = False) -> Array:
        kind = np.dtype(dtype)
        nbytes, cp = math.prod(shape) * kind.itemsize, self._cupy
        with self._call("an allocation"):
            block = self._take(nbytes)
            memory = self._memory(self._arena, self._backing, block, self._ordinal)
            result: Array = cp.ndarray(shape, kind, memptr=cp.cuda.MemoryPointer(memory, 0))
            if zero and nbytes:
                self._runtime.memsetAsync(memory.ptr, 0, nbytes, self._stream.ptr)
        return result

    def _take(self, nbytes: int) -> Block:
        """A block of the arena, once what finished copies were made into is let go; where none fits, all copies'."""
        self._copier.forget_finished()
        try:
            return self._arena.take(nbytes, self._position)
        except OutOfMemoryError:
            self._copier.drain()
            return self._arena.take(nbytes, self._position)

    def memory(self) -> MemoryReport:
        return replace(super().memory(), page_locks=self._host_memory.growths)

    def upload(self, array: npt.NDArray[Any]) -> Array:
        """Copy up in launch order.  A page-locked source must not change before the next synchronisation."""
        result = self.alloc(array.shape, array.dtype)
        source = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        runtime, target = self._runtime, int(result.data.ptr)

        def issue(chunk: npt.NDArray[np.uint8], start: int) -> Any:
            runtime.memcpyAsync(
                target + start, chunk.ctypes.data, len(chunk), runtime.memcpyHostToDevice, self._stream.ptr
            )
            return self._stream

        with self._call("an upload"):
            if self._host_memory.is_locked(source):
                self._keep.append(source)
                issue(source, 0)
            elif len(source) > _SMALL_BYTES:
                self._host_memory.ring().send(source, issue)
            elif len(source):
                issue(source, 0)
        self._count_upload(array.nbytes)
        return result

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """A page-locked host array from a pool: the next one of about its size takes the same pages again."""
        kind, count = np.dtype(dtype), math.prod(shape)
        with self._call("page-locking host memory"):
            memory = self._host_memory.take(max(count * kind.itemsize, 1))
        return memory[: count * kind.itemsize].view(kind).reshape(shape)

    def lock_pages(self, array: npt.NDArray[Any]) -> AbstractContextManager[bool]:
        self._health.check()
        return self._host_memory.lock(array, drain=self._drain)

    def download(self, array: Array) -> npt.NDArray[Any]:
        runtime, source, nbytes = self._runtime, self._pointer(array), array.nbytes
        result = np.empty(array.shape, array.dtype)
        into = result.reshape(-1).view(np.uint8)

        def issue(chunk: npt.NDArray[np.uint8], start: int) -> Any:
            runtime.memcpyAsync(
                chunk.ctypes.data, source + start, len(chunk), runtime.memcpyDeviceToHost, self._stream.ptr
            )
            return self._stream

        with self._call("a download"):
            if nbytes <= _SMALL_BYTES:  # one synchronisation for the data and the fault word
                small = self._mailbox[FAULT_BYTES : FAULT_BYTES + nbytes]
                if nbytes:
                    issue(small, 0)
                self._settle()
                into[...] = small
            else:
                self._settle()
                self._host_memory.ring().fetch(into, issue)
        self._counts["bytes_down"] += nbytes
        return result

    def fill_zero(self, array: Array) -> None:
        target = self._pointer(array)
        with self._call("fill_zero"):
            self._position += 1
            if array.nbytes:
                self._runtime.memsetAsync(target, 0, array.nbytes, self._stream.ptr)

    def _pointer(self, array: Array) -> int:
        if not isinstance(array, self._cupy.ndarray) or not array._c_contiguous:
            raise InternalError(
                f"{self.name}: {type(array).__name__} is not a contiguous array of this device"
            )
        return int(array.data.ptr) if array.size else 0

    # -- copies beside the launches

    def stage(self, host_array: npt.NDArray[Any], into: Array, after: Ticket | None = None) -> Ticket:
        self._check_stage(host_array, into)
        with self._call("a copy beside the launches"):
            point = self._ticket(self.mark() if after is None else after)
            self._pointer(into)
            born = into.data.mem.block.born
            if point.position < born:  # of a copy: what it waited for itself
                raise InternalError(
                    f"{self.name}: a copy may not start before the array it fills was allocated",
                    limit=f"launch {born}",
                )
            ticket = self._copier.stage(host_array, into, point, self._arena.label)
        self._count_upload(host_array.nbytes)
        return ticket

    def wait(self, ticket: Ticket) -> None:
        """As Device.wait.  Of a copy that passes through the ring, the host waits until its data left the source."""
        point = self._ticket(ticket)
        with self._call("a copy beside the launches", locked=False):
            point.wait_issued()
            if point.is_copy:
                self._stream.wait_event(point.event)

    def mark(self) -> Ticket:
        with self._call("recording an event"):
            event = self._cupy.cuda.Event()
            event.record(self._stream)
            return CudaTicket(self._position, event=event)

    def _ticket(self, ticket: Ticket) -> CudaTicket:
        if not isinstance(ticket, CudaTicket):
            raise InternalError(f"{self.name}: a ticket of another device")
        return ticket

    def time_of(self, ticket: Ticket) -> float:
        point = self._ticket(ticket)
        with self._call("waiting for an event", locked=False):
            point.wait_issued()
            return self._elapsed(point.event)

    def elapsed(self, begin: Ticket, end: Ticket) -> float:
        first, second = self._ticket(begin), self._ticket(end)
        with self._call("waiting for an event", locked=False):
            first.wait_issued()
            second.wait_issued()
            first.event.synchronize()
            return self._elapsed(second.event, first.event)

    def _elapsed(self, event: Any, since: Any = None) -> float:
        event.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(since or self._origin, event))

    def take_copies(self) -> list[CopySpan]:
        with self._call("waiting for an event", locked=False):
            return self._copier.take(self._elapsed)

    # -- launches

    def load(self, curve: str) -> None:
        with self._call(f"loading the kernels of {curve}"):
            self._modules.load([(curve, family) for family in ("fr", "g1", "g2")])

    def _run(self, spec: KernelSpec, grid: int, block: int, shared_bytes: int, words: list[int]) -> None:
        self._health.check()
        with self._lock, self._here():  # not _call: this is the path of every launch
            try:
                self._launcher.launch(spec, grid, block, shared_bytes, words)
            except self._health.errors as error:
                raise self._health.failed(error, f"the launch of {spec.name}", self._recent()) from error

    def synchronize(self) -> None:
        with self._call("synchronize"):
            self._copier.drain()
            self._settle()

    def _drain(self) -> None:
        """Wait for everything, and look at nothing."""
        with self._here():
            self._copier.drain()
            self._stream.synchronize()

    def _settle(self) -> None:
        self._launcher.settle()
        self._keep.clear()

    def _recent(self) -> list[str]:
        launcher: Launcher | None = self.__dict__.get("_launcher")  # none while the device is being opened
        return list(launcher.recent) if launcher else []


def _host_module() -> Any:
    from cuzk.device.host import CpuDevice

    return CpuDevice(threads=1)._module
