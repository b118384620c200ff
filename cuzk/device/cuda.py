"""The ``cuda`` device: CuPy arrays, kernels from the content-keyed cache, one stream in launch order.

CuPy is imported when a device is opened, never before.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.device import builder
from cuzk.device.arena import Arena
from cuzk.device.base import Array, Device, DeviceLimits, KernelSpec, kernel_table, raise_fault
from cuzk.device.copies import CopySpan, Ticket
from cuzk.errors import DeviceError, InternalError, LaunchError

#: Shared memory a block may use without asking the driver for more; plans stay within it.
DEFAULT_SHARED_BYTES = 48 << 10
#: Launches between two looks at the fault word are named in a fault only if they are this recent.
RECENT_LAUNCHES = 64


_OUT_OF_MEMORY_REMEDY = "close other programs on this GPU, raise the memory limit, or use --device cpu"


@dataclass(frozen=True, eq=False)
class _Mark(Ticket):
    """A point of the launches, with its event."""

    event: Any = None


@dataclass(frozen=True, eq=False)
class _Copy(_Mark):
    """A copy beside the launches; `keep` holds what it reads and writes while it runs."""

    begin: Any = None
    nbytes: int = 0
    label: str = ""
    keep: tuple[Any, ...] = ()


def available() -> bool:
    """Whether CuPy is installed and sees a usable GPU.  Never raises."""
    try:
        import cupy
    except ImportError:
        return False
    return bool(cupy.cuda.is_available())


class CudaDevice(Device):
    """One GPU.

    Args:
        ordinal: Index of the GPU.
        progress: Called with (module, done, total) while kernels are compiled.
    """

    kind = "cuda"

    def __init__(
        self,
        ordinal: int = 0,
        progress: Callable[[str, int, int], None] | None = None,
        memory_limit: int | None = None,
    ) -> None:
        super().__init__()
        self._cupy = cp = _import_cupy()
        count = cp.cuda.runtime.getDeviceCount()
        if ordinal >= count:
            raise DeviceError(f"there is no GPU {ordinal}; this machine has {count} (0 to {count - 1})")
        self._device = cp.cuda.Device(ordinal)
        self._pid = os.getpid()
        self._progress = progress
        self._lock = threading.Lock()
        self._modules: dict[tuple[str, str], Any] = {}
        self._functions: dict[str, Any] = {}
        self._recent: list[str] = []
        properties = cp.cuda.runtime.getDeviceProperties(ordinal)
        self.arch = f"{properties['major']}{properties['minor']}"
        if int(self.arch) < 80:
            raise DeviceError(f"GPU {ordinal} has compute capability {self.arch}; 8.0 or newer is needed")
        with self._device:
            self._stream = cp.cuda.Stream(non_blocking=True)
            self._copy_stream = cp.cuda.Stream(non_blocking=True)
            self._fault = cp.zeros(2, np.uint64)
            free, _ = cp.cuda.runtime.memGetInfo()
            self._origin = cp.cuda.Event()
            self._origin.record(self._stream)
        self._copies: deque[_Copy] = deque(maxlen=65536)
        self._in_flight: deque[_Copy] = deque()
        model = (
            properties["name"].decode() if isinstance(properties["name"], bytes) else str(properties["name"])
        )
        self.name = f"cuda:{ordinal} ({model})"
        self._arena = Arena(self.name, min(free, memory_limit or free), remedy=_OUT_OF_MEMORY_REMEDY)
        self.limits = DeviceLimits(
            num_sms=int(properties["multiProcessorCount"]), max_threads=1024, warp=32,
            shared_bytes=DEFAULT_SHARED_BYTES, memory_bytes=self._arena.capacity, gpu_like=True,
        )  # fmt: skip
        self.build_key = builder.module_key("all", "all", self.arch)
        # Field names come from the host build of the same sources; the GPU build has the same structs.
        self._kernels = kernel_table(_host_module().kernels())

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

    # -- memory

    def alloc(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64, *, zero: bool = False) -> Array:
        cp = self._cupy
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        block = self._arena.take(nbytes, self._position)
        try:
            with self._device, self._stream:
                result: Array = cp.zeros(shape, dtype) if zero else cp.empty(shape, dtype)
        except cp.cuda.memory.OutOfMemoryError as error:
            self._arena.give_back(block)
            free, total = self._device.mem_info
            raise self._arena.out_of_memory(
                nbytes, self._arena.label, f"{free} of {total} bytes of the GPU are free"
            ) from error
        weakref.finalize(result, self._arena.give_back, block)
        return result

    def upload(self, array: npt.NDArray[Any]) -> Array:
        result: Any = self.alloc(array.shape, array.dtype)
        with self._device, self._stream:
            result.set(np.ascontiguousarray(array), stream=self._stream)
        self._counts["bytes_up"] += array.nbytes
        return result

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        kind, count = np.dtype(dtype), int(np.prod(shape, dtype=np.int64))
        with self._device:
            memory = self._cupy.cuda.alloc_pinned_memory(max(count * kind.itemsize, 1))
        return np.frombuffer(memory, kind, count).reshape(shape)

    def download(self, array: Array) -> npt.NDArray[Any]:
        self.synchronize()
        with self._device, self._stream:
            result: npt.NDArray[Any] = array.get(stream=self._stream)
        self._stream.synchronize()
        self._counts["bytes_down"] += array.nbytes
        return result

    def stage(self, host_array: npt.NDArray[Any], into: Array, after: Ticket | None = None) -> Ticket:
        self._check_stage(host_array, into)
        after = after or self.mark()
        runtime, nbytes = self._cupy.cuda.runtime, host_array.nbytes
        pinned = self.pinned((nbytes,), np.uint8)
        pinned[...] = host_array.reshape(-1).view(np.uint8)
        stream = self._copy_stream
        with self._device:
            if isinstance(after, _Mark):
                stream.wait_event(after.event)
            begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
            begin.record(stream)
            if nbytes:
                runtime.memcpyAsync(
                    into.data.ptr, pinned.ctypes.data, nbytes, runtime.memcpyHostToDevice, stream.ptr
                )
            end.record(stream)
        copy = _Copy(after.position, True, event=end, begin=begin, nbytes=nbytes, label=self._arena.label)
        self._copies.append(copy)
        self._in_flight.append(replace(copy, keep=(pinned, into)))
        while self._in_flight[0].event.done:
            self._in_flight.popleft()
            if not self._in_flight:
                break
        self._counts["bytes_up"] += nbytes
        return copy

    def wait(self, ticket: Ticket) -> None:
        if isinstance(ticket, _Mark) and ticket.is_copy:
            with self._device:
                self._stream.wait_event(ticket.event)

    def mark(self) -> Ticket:
        with self._device:
            event = self._cupy.cuda.Event()
            event.record(self._stream)
        return _Mark(self._position, event=event)

    def time_of(self, ticket: Ticket) -> float:
        if not isinstance(ticket, _Mark):
            raise InternalError(f"{self.name}: a ticket of another device")
        return self._elapsed(ticket.event)

    def _elapsed(self, event: Any) -> float:
        event.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(self._origin, event))

    def take_copies(self) -> list[CopySpan]:
        copies = list(self._copies)
        self._copies.clear()
        return [
            CopySpan(copy.label, copy.nbytes, self._elapsed(copy.begin), self._elapsed(copy.event))
            for copy in copies
        ]

    def fill_zero(self, array: Array) -> None:
        with self._device, self._stream:
            array.data.memset_async(0, array.nbytes, self._stream)

    def _pointer(self, array: Array) -> int:
        if not isinstance(array, self._cupy.ndarray) or not array.flags.c_contiguous:
            raise InternalError(
                f"{self.name}: {type(array).__name__} is not a contiguous array of this device"
            )
        return int(array.data.ptr) if array.size else 0

    # -- launches

    def load(self, curve: str) -> None:
        self._load_modules(curve, ("fr", "g1", "g2"))

    def _load_modules(self, curve: str, families: tuple[str, ...]) -> None:
        """Compile what the cache lacks, in parallel, and load it."""
        pairs = [(curve, family) for family in families if (curve, family) not in self._modules]
        built = builder.build_all(self.arch, pairs, progress=self._progress)
        with self._device, self._lock:
            for module in built:
                loaded = self._cupy.cuda.function.Module()
                loaded.load_file(str(module.path))
                self._modules[module.curve, module.family] = loaded

    def _function(self, kernel: str) -> Any:
        if kernel not in self._functions:
            curve, family = _module_of(kernel)
            if (curve, family) not in self._modules:
                self._load_modules(curve, (family,))
            with self._device:
                self._functions[kernel] = self._modules[curve, family].get_function(kernel)
        return self._functions[kernel]

    def _run(self, spec: KernelSpec, grid: int, block: int, shared_bytes: int, packed: bytes) -> None:
        if os.getpid() != self._pid:
            raise DeviceError(
                f"{self.name} was opened before fork; open the device again in the child process"
            )
        function = self._function(spec.name)
        # cuLaunchKernel takes an array of pointers to the arguments: the struct, then the fault word's address.
        struct = ctypes.create_string_buffer(packed, len(packed))
        fault = ctypes.c_uint64(int(self._fault.data.ptr))
        pointers = (ctypes.c_void_p * 2)(ctypes.addressof(struct), ctypes.addressof(fault))
        self._recent.append(spec.name)
        del self._recent[:-RECENT_LAUNCHES]
        try:
            with self._device:
                self._cupy.cuda.driver.launchKernel(
                    function.ptr, grid, 1, 1, block, 1, 1, shared_bytes, self._stream.ptr,
                    ctypes.addressof(pointers), 0,
                )  # fmt: skip
        except self._cupy.cuda.driver.CUDADriverError as error:
            raise LaunchError(f"{spec.name} does not start on {self.name}: {error}") from error

    def synchronize(self) -> None:
        cp = self._cupy
        try:
            with self._device:
                self._stream.synchronize()
                code, index = (int(v) for v in self._fault.get(stream=self._stream))
                self._stream.synchronize()
        except (cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError) as error:
            raise LaunchError(
                f"{self.name} failed ({error}) in one of: {', '.join(dict.fromkeys(self._recent))}",
                remedy="start a new process; a CUDA context does not recover from this",
            ) from error
        if code:
            with self._device, self._stream:
                self._fault.fill(0)
            raise_fault(" or ".join(dict.fromkeys(self._recent[-4:])), code, index)


def _import_cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            "the cuda device needs CuPy", remedy="pip install 'cuzk[cuda13]' (or cuda12 for CUDA 12 drivers)"
        ) from error
    if not cupy.cuda.is_available():
        raise DeviceError(
            "CuPy finds no usable GPU",
            remedy="check nvidia-smi and the driver's CUDA version, or use --device cpu",
        )
    return cupy


def _host_module() -> Any:
    from cuzk.device.host import CpuDevice

    return CpuDevice(threads=1)._module


_FAMILY = re.compile(r"_(bls12_381|bn254|toy)_(fr|g1|g2)$")


def _module_of(kernel: str) -> tuple[str, str]:
    """Which module exports a kernel: by its suffix, else the fields module.

    Field kernels of the "fields" module end in a field's name (``field_op_bn254_fr``): their prefix decides.
    """
    match = _FAMILY.search(kernel)
    if match and not kernel.startswith(("field_", "word_")):
        return match[1], match[2]
    return "any", "fields"
