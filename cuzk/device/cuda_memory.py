"""The bytes behind the arena of a GPU: one range of addresses, backed by memory as far as it is used.

The range is reserved once, as long as the device may ever hold; physical memory is mapped into it from its start as
the arena grows, and stays until the device is closed.  So a warm program neither allocates nor frees, arrays never
move, and there are no borders between pieces that an array could fail to cross.  CuPy has no calls for this part of
the driver, so it is called through ctypes.  Where a GPU lacks it (some virtual ones), the whole range is allocated
at once.

Source: CUDA driver API, "Virtual memory management" (cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess).
"""

from __future__ import annotations

import ctypes
import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from cuzk.device.arena import ALIGNMENT, Arena, Block
from cuzk.errors import DeviceError

__all__ = [
    "Backing",
    "MappedRange",
    "SeparatePieces",
    "WholeRange",
    "load_driver",
    "memory_class",
    "open_backing",
]

#: Physical memory is mapped in steps of this, so that the first proof does not map in hundreds of steps.
_STEP_BYTES = 256 << 20

#: What the arena leaves to the driver, for the stacks of kernels and their code: so much, or this share of the GPU.
_RESERVE_BYTES = 512 << 20
_RESERVE_SHARE = 64

_VIRTUAL_MEMORY_SUPPORTED = 102  # CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


class Backing(ABC):
    """What an arena asks of the memory behind it."""

    base: int

    @abstractmethod
    def grow(self, size: int) -> int | None:
        """Back the first `size` bytes or more; return how many are backed, None if the GPU has no more."""

    def address(self, block: Block) -> int:
        """Where a block is."""
        return self.base + block.start

    def free(self, block: Block) -> None:
        """Called when a block's array is gone, before the arena may hand it out again."""
        del block


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp: 32 bytes; everything that is not named here stays zero."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """CUmemAccessDesc: 12 bytes."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


_SIZE, _PTR, _U64, _INT = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuDeviceGetAttribute": (_PTR, _INT, _INT),
    "cuMemGetAllocationGranularity": (_PTR, _PTR, _INT),
    "cuMemAddressReserve": (_PTR, _SIZE, _SIZE, _U64, _U64),
    "cuMemAddressFree": (_U64, _SIZE),
    "cuMemCreate": (_PTR, _SIZE, _PTR, _U64),
    "cuMemRelease": (_U64,),
    "cuMemMap": (_U64, _SIZE, _SIZE, _U64, _U64),
    "cuMemUnmap": (_U64, _SIZE),
    "cuMemSetAccess": (_U64, _SIZE, _PTR, _SIZE),
}


def load_driver() -> Any:
    """The driver's library with the signatures of the calls used here.

    Raises:
        DeviceError: There is no driver.
    """
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise DeviceError(
            "the NVIDIA driver's library libcuda.so.1 does not load", remedy=str(error)
        ) from error
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, _INT
    return library


def _check(status: int, call: str) -> None:
    if status:
        raise DeviceError(f"{call} failed with driver status {status}")


class MappedRange(Backing):
    """A reserved range of addresses with memory mapped into its beginning.

    Args:
        driver: The driver's library, as load_driver returns it.
        ordinal: Index of the GPU; its context is current.
        capacity: Bytes to reserve.
        drain: Called before memory is unmapped: waits for the GPU.
        step: Bytes to map at a time.
    """

    def __init__(
        self, driver: Any, ordinal: int, capacity: int, drain: Callable[[], None], step: int = _STEP_BYTES
    ) -> None:
        self._driver = driver
        location = _Location(1, ordinal)  # CU_MEM_LOCATION_TYPE_DEVICE
        self._properties = _AllocationProperties(type=1, location=location)  # CU_MEM_ALLOCATION_TYPE_PINNED
        self._access = _Access(location, 3)  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        unit = _SIZE()
        self._call("cuMemGetAllocationGranularity", ctypes.byref(unit), ctypes.byref(self._properties), 0)
        self._unit = unit.value
        self._size = self._round(capacity)
        self._step = self._round(step)
        base = _U64()
        self._call("cuMemAddressReserve", ctypes.byref(base), self._size, 0, 0, 0)
        self.base = base.value
        # The pieces are kept in a list that the finalizer owns too: it must not keep this object alive.
        self._pieces: list[tuple[int, int]] = []
        self._close = weakref.finalize(
            self, _unmap, driver, self.base, self._size, self._pieces, drain, os.getpid()
        )

    def _call(self, name: str, *args: Any) -> None:
        _check(getattr(self._driver, name)(*args), name)

    def _round(self, size: int) -> int:
        return -(-size // self._unit) * self._unit

    def grow(self, size: int) -> int | None:
        mapped = sum(length for _, length in self._pieces)
        needed = self._round(size) - mapped
        if needed <= 0:
            return mapped
        # A step at a time; where the GPU has not that much, as much as is needed now.
        for length in sorted({min(max(needed, self._step), self._size - mapped), needed}, reverse=True):
            handle = _U64()
            status = self._driver.cuMemCreate(ctypes.byref(handle), length, ctypes.byref(self._properties), 0)
            if status == _OUT_OF_MEMORY:
                continue
            _check(status, "cuMemCreate")
            start = self.base + mapped
            try:
                self._call("cuMemMap", start, length, 0, handle, 0)
            finally:
                self._call("cuMemRelease", handle)  # the mapping keeps the memory
            self._pieces.append((start, length))
            self._call("cuMemSetAccess", start, length, ctypes.byref(self._access), 1)
            return mapped + length
        return None

    def close(self) -> None:
        """Unmap everything and give the addresses back.  Nothing may use them any more."""
        self._close()


def _unmap(
    driver: Any, base: int, size: int, pieces: list[tuple[int, int]], drain: Callable[[], None], pid: int
) -> None:
    """Undo a MappedRange.  Failures are not reported: they mean that the context is gone, and all with it."""
    if os.getpid() != pid:
        return  # a forked child has no context; its parent owns the range
    drain()
    for start, length in pieces:
        driver.cuMemUnmap(start, length)
    driver.cuMemAddressFree(base, size)
    pieces.clear()


class WholeRange(Backing):
    """The whole capacity as one allocation, for GPUs that can't map memory into a range.

    Args:
        malloc: Returns an object that owns `size` bytes of the GPU and has their address as ``ptr``.
        capacity: Bytes to allocate.
    """

    def __init__(self, malloc: Callable[[int], Any], capacity: int) -> None:
        self._memory = malloc(capacity)
        self.base = int(self._memory.ptr)
        self._capacity = capacity

    def grow(self, size: int) -> int | None:
        return self._capacity if size <= self._capacity else None


class SeparatePieces(Backing):
    """Every array as an allocation of its own: slow, and what compute-sanitizer needs to see a stray access.

    Args:
        malloc: As for WholeRange.
    """

    base = 0

    def __init__(self, malloc: Callable[[int], Any]) -> None:
        self._malloc = malloc
        self._memory: dict[int, Any] = {}

    def grow(self, size: int) -> int | None:
        return size

    def address(self, block: Block) -> int:
        self._memory[id(block)] = memory = self._malloc(max(block.size, 1))
        return int(memory.ptr)

    def free(self, block: Block) -> None:
        self._memory.pop(id(block), None)


def open_backing(
    cuda: Any,
    ordinal: int,
    limit: int | None,
    errors: tuple[type[Exception], ...],
    *,
    separate: bool = False,
    driver: Any = None,
) -> tuple[int, Backing]:
    """Choose how much memory of a GPU the arena may have, and what backs it.

    Args:
        cuda: ``cupy.cuda``.
        ordinal: Index of the GPU; its context is current.
        limit: Most bytes to take; None: what is free now, less a reserve for the driver.
        errors: What CUDA calls raise.
        separate: Give every array an allocation of its own.
        driver: The driver's library; loaded where None.

    Returns:
        The capacity of the arena, bytes, and its backing.
    """
    free, total = cuda.runtime.memGetInfo()
    capacity = max(free - max(_RESERVE_BYTES, total // _RESERVE_SHARE), 0)
    capacity = (capacity if limit is None else min(capacity, limit)) // ALIGNMENT * ALIGNMENT
    if separate:
        return capacity, SeparatePieces(cuda.memory.Memory)
    driver = driver or load_driver()
    supported = _INT()
    _check(
        driver.cuDeviceGetAttribute(ctypes.byref(supported), _VIRTUAL_MEMORY_SUPPORTED, ordinal),
        "cuDeviceGetAttribute",
    )
    if not supported.value:
        return capacity, WholeRange(cuda.memory.Memory, capacity)

    def drain() -> None:
        try:
            with cuda.Device(ordinal):
                cuda.runtime.deviceSynchronize()
        except errors:
            pass  # the context is gone, and what it held with it

    return capacity, MappedRange(driver, ordinal, capacity, drain)


def memory_class(base: type[Any]) -> type[Any]:
    """The class of the memory of one array: CuPy's BaseMemory with our arena behind it.

    It is made when a device is opened, because CuPy is imported then and not before.
    """

    class ArenaMemory(base):  # type: ignore[misc]
        """Memory of one array and of every view of it; returns its block when the last of them is gone."""

        def __init__(self, arena: Arena, backing: Backing, block: Block, ordinal: int) -> None:
            super().__init__()
            self._arena, self._backing, self.block = arena, backing, block
            self.ptr = backing.address(block)
            self.size = block.size
            self.device_id = ordinal

        def __del__(self) -> None:
            self._backing.free(self.block)
            self._arena.give_back(self.block)

    return ArenaMemory
