"""CUDA without a GPU: the part of CuPy that the cuda device calls, on a fake engine.  Kernels are the emulator's."""

from __future__ import annotations

import ctypes
import functools
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from cuzk.device.builder import BuiltModule
from tests.devices.fake_engine import (
    OUT_OF_MEMORY,
    DriverApiError,
    Engine,
    Event,
    RuntimeApiError,
    Stream,
    pinned,
)


class BaseMemory:
    ptr: int
    size: int
    device_id: int


class MemoryPointer:
    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset


class Array:
    """What the device and the operations use of cupy.ndarray."""

    def __init__(self, shape: Any, dtype: Any, memptr: MemoryPointer) -> None:
        self.data, self.dtype = memptr, np.dtype(dtype)
        self.shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.nbytes = self.size * self.dtype.itemsize
        self.ndim = len(self.shape)
        self._c_contiguous = True
        self.flags = SimpleNamespace(c_contiguous=True)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (self.data.ptr, False)}

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> Array:
        row = self.nbytes // self.shape[0] if self.shape[0] else 0
        if isinstance(key, slice):
            start, stop, step = key.indices(self.shape[0])
            assert step == 1
            shape: tuple[int, ...] = (max(stop - start, 0), *self.shape[1:])
        else:
            start, shape = (key + self.shape[0] if key < 0 else int(key)), self.shape[1:]
        return self._view(start * row, shape)

    def reshape(self, *shape: Any) -> Array:
        wanted = list(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape)
        if -1 in wanted:
            wanted[wanted.index(-1)] = self.size // max(-int(np.prod(wanted, dtype=np.int64)), 1)
        return self._view(0, tuple(wanted))

    def _view(self, offset: int, shape: tuple[int, ...]) -> Array:
        return Array(
            shape, self.dtype, MemoryPointer(self.data.mem, self.data.ptr - self.data.mem.ptr + offset)
        )


def make_cupy(engine: Engine, *, driver_version: int = 13000, devices: int = 1) -> Any:
    """A module like cupy on an engine."""
    current = threading.local()
    runtime, driver = _runtime(engine, driver_version, devices, current), _driver_api(engine)

    class Device:
        def __init__(self, ordinal: int) -> None:
            self.ordinal = ordinal

        def __enter__(self) -> None:
            self.before = runtime.getDevice()
            runtime.setDevice(self.ordinal)

        def __exit__(self, *_: object) -> None:
            runtime.setDevice(self.before)

    class Memory(BaseMemory):
        def __init__(self, size: int) -> None:
            engine.enter("malloc")
            if engine.taken + size > engine.memory:
                raise RuntimeApiError(OUT_OF_MEMORY)
            engine.taken += size
            self._bytes = np.empty(size, np.uint8)
            self.ptr, self.size, self.device_id = self._bytes.ctypes.data, size, 0

        def __del__(self) -> None:
            engine.calls.append("free")
            engine.taken -= getattr(self, "size", 0)

    class Module:
        def load(self, cubin: bytes) -> None:
            engine.enter("moduleLoad", DriverApiError)
            if cubin != b"cubin":
                raise DriverApiError(200)

        def get_function(self, name: str) -> Any:
            engine.enter(f"getFunction {name}", DriverApiError)
            number = len(engine.names) + 1
            engine.names[number] = name
            return SimpleNamespace(ptr=number)

    def elapsed(first: Event, second: Event) -> float:
        assert first.timed
        assert second.timed
        assert first.done
        assert second.done
        return (second.at - first.at) * 1e3

    cuda = SimpleNamespace(
        runtime=runtime, driver=driver, Device=Device, Stream=functools.partial(Stream, engine),
        Event=lambda **options: Event(engine, **options), get_elapsed_time=elapsed,
        MemoryPointer=MemoryPointer, memory=SimpleNamespace(BaseMemory=BaseMemory, Memory=Memory),
        function=SimpleNamespace(Module=Module), **pinned(engine),
    )  # fmt: skip
    return SimpleNamespace(cuda=cuda, ndarray=Array)


def _runtime(engine: Engine, driver_version: int, devices: int, current: threading.local) -> Any:
    api = SimpleNamespace(CUDARuntimeError=RuntimeApiError, memcpyHostToDevice=1, memcpyDeviceToHost=2)
    api.driverGetVersion = lambda: driver_version
    api.runtimeGetVersion = lambda: 13020

    def count() -> int:
        engine.enter("getDeviceCount")
        return devices

    def copy(target: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        engine.enter("memcpyAsync")
        host = source if kind == 1 else target
        if kind == 1 and not engine.is_locked(host, nbytes):
            taken = ctypes.string_at(source, nbytes)
            engine.push(stream, functools.partial(ctypes.memmove, target, taken, nbytes))
            return
        locked = engine.is_locked(host, nbytes)

        def run() -> None:
            assert not locked or engine.is_locked(host, nbytes), "pages were unlocked before the copy"
            ctypes.memmove(target, source, nbytes)

        engine.push(stream, run)
        if kind == 2 and not locked:
            engine.run_until(lambda: not engine.streams[stream].queue)

    def fill(target: int, value: int, nbytes: int, stream: int) -> None:
        engine.enter("memsetAsync")
        engine.push(stream, functools.partial(ctypes.memset, target, value, nbytes))

    def register(start: int, nbytes: int, flags: int) -> None:
        engine.enter(f"hostRegister {flags}")
        assert start not in engine.locked
        engine.locked[start] = nbytes

    def unregister(start: int) -> None:
        engine.enter("hostUnregister")
        del engine.locked[start]

    def synchronize() -> None:
        engine.enter("deviceSynchronize")
        engine.run_until(lambda: not any(s.queue for s in engine.streams.values()))

    api.getDeviceCount, api.memcpyAsync, api.memsetAsync = count, copy, fill
    api.hostRegister, api.hostUnregister, api.deviceSynchronize = register, unregister, synchronize
    api.memGetInfo = lambda: (engine.memory - engine.taken, engine.memory)
    api.getDevice = lambda: getattr(current, "ordinal", 0)
    api.setDevice = lambda ordinal: setattr(current, "ordinal", ordinal)
    api.free = abs  # cudaFree(0) does nothing
    properties = {"major": 9, "minor": 0, "name": b"Fake GPU", "multiProcessorCount": 4}
    api.getDeviceProperties = ([properties] * devices).__getitem__
    return api


def _driver_api(engine: Engine) -> Any:
    def launch(
        function: int,
        x: int,
        y: int,
        z: int,
        bx: int,
        by: int,
        bz: int,
        shared: int,
        stream: int,
        args: int,
        extra: int,
    ) -> None:
        engine.enter("launchKernel", DriverApiError)
        assert (y, z, by, bz, extra) == (1, 1, 1, 1, 0)
        spec = engine.emu.kernels[engine.names[function]]
        pointers = (ctypes.c_void_p * 2).from_address(args)
        packed = ctypes.string_at(pointers[0] or 0, 8 * len(spec.fields))  # read before the call returns
        fault = ctypes.c_uint64.from_address(pointers[1] or 0).value

        def run() -> None:
            code, index = engine.emu._module.launch(spec.index, packed, x, bx, shared, 0, 0, 1)
            word = (ctypes.c_uint64 * 2).from_address(fault)
            if code and not word[0]:
                word[0], word[1] = code, index

        engine.push(stream, run)

    return SimpleNamespace(
        CUDADriverError=DriverApiError, launchKernel=launch, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK=0,
        funcGetAttribute=lambda attribute, function: 1024,
    )  # fmt: skip


def built_modules(pairs: Any, cubin: bytes = b"cubin") -> list[BuiltModule]:
    """What the builder would return."""
    return [BuiltModule(c, f, "90", "key", Path(f"{c}_{f}.cubin"), "", cubin) for c, f in pairs]
