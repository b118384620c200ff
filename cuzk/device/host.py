"""The two host devices: ``cpu`` (fast, group width 1) and ``emu`` (the GPU's own code as fibers)."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from cuzk.device.arena import Arena, Block
from cuzk.device.base import Array, Device, DeviceLimits, KernelSpec, kernel_table, raise_fault
from cuzk.device.copies import MOST_SPANS, CopySpan, Ticket
from cuzk.device.hazards import Hazards
from cuzk.device.machine import has_bmi2_adx, memory_bytes
from cuzk.errors import DeviceError, InternalError, KernelFault
from cuzk.native import load_compiled

Schedule = Literal["ascending", "descending", "random_thread", "random_warp", "last_block_first"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)

#: Bytes the emulator writes before a kernel may read or write: in fresh arrays, and around them.
POISON = 0xA5
#: Untouched bytes kept on either side of an emulated array; a multiple of the alignment that kernels rely on.
CANARY_BYTES = 128


_address = ctypes.addressof
_FIRST_BYTE: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


class HostDevice(Device):
    """What both host devices share: NumPy arrays, launches and copies that finish before they return.

    Args:
        memory_limit: Most bytes that arrays may hold; plans take what is available now by default.  With a limit,
            uploads are copies and count, as they would on a GPU; without, an uploaded array is used in place.
    """

    def __init__(self, name: str, memory_limit: int | None) -> None:
        super().__init__()
        self._pid = os.getpid()
        self.name = name
        self._limited = memory_limit is not None
        self._arena = Arena(
            name,
            memory_bytes("MemTotal") if memory_limit is None else memory_limit,
            remedy="prove a smaller circuit, or one in more pieces"
            if memory_limit is None
            else "raise the memory limit",
        )
        self._origin = time.perf_counter()
        self._copies: deque[CopySpan] = deque(maxlen=MOST_SPANS)
        self._owners: dict[int, tuple[weakref.ref[npt.NDArray[Any]], Block]] = {}

    def _plan_bytes(self) -> int:
        """What plans may assume: the limit, or less where the machine has less to give."""
        return min(self._arena.capacity, memory_bytes("MemAvailable"))

    def _account(self, nbytes: int) -> Block:
        return self._arena.take(nbytes, self._position)

    def _own(self, array: npt.NDArray[Any], block: Block) -> None:
        """Return a block to the account when the last view of an array is gone."""
        give_back, owners, key = self._arena.give_back, self._owners, id(block)

        def gone(_: object) -> None:
            del owners[key]
            give_back(block)

        owners[key] = weakref.ref(array, gone), block

    def alloc(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64, *, zero: bool = False) -> Array:
        kind = np.dtype(dtype)
        block = self._account(int(np.prod(shape, dtype=np.int64)) * kind.itemsize)
        result = np.zeros(shape, kind) if zero else np.empty(shape, kind)
        self._own(result, block)
        return result

    def upload(self, array: npt.NDArray[Any]) -> Array:
        self._count_upload(array.nbytes)
        if self._limited or not array.flags.c_contiguous:
            result = self.alloc(array.shape, array.dtype)
            result[...] = array
            return result
        # A read-only or memory-mapped array is used in place: kernels get it as a pointer to const.
        return array

    def stage(self, host_array: npt.NDArray[Any], into: Array, after: Ticket | None = None) -> Ticket:
        self._check_stage(host_array, into)
        begin = time.perf_counter()
        into.reshape(-1).view(np.uint8)[...] = host_array.reshape(-1).view(np.uint8)
        ticket = Ticket(self._position if after is None else after.position, is_copy=True)
        self._count_upload(host_array.nbytes)
        times = ((moment - self._origin) * 1e3 for moment in (begin, ticket.passed_at))
        self._copies.append(CopySpan(self._arena.label, host_array.nbytes, *times))
        return ticket

    def wait(self, ticket: Ticket) -> None:
        del ticket  # its copy ended before stage() returned

    def mark(self) -> Ticket:
        return Ticket(self._position)

    def time_of(self, ticket: Ticket) -> float:
        return (ticket.passed_at - self._origin) * 1e3

    def take_copies(self) -> list[CopySpan]:
        spans = list(self._copies)
        self._copies.clear()
        return spans

    def download(self, array: Array) -> npt.NDArray[Any]:
        self._counts["bytes_down"] += array.nbytes
        return np.array(array, copy=True)

    def fill_zero(self, array: Array) -> None:
        self._position += 1
        array[...] = 0

    def _pointer(self, array: Array) -> int:
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise InternalError(
                f"{self.name}: {type(array).__name__} is not a contiguous array of this device"
            )
        if not array.size:
            return 0
        # array.ctypes.data costs three times as much, and a launch has a dozen of these.
        return _address(_FIRST_BYTE(array)) if array.flags.writeable else int(array.ctypes.data)

    def synchronize(self) -> None:
        return None

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise DeviceError(
                f"{self.name} was opened before fork; open the device again in the child process"
            )


class CpuDevice(HostDevice):
    """The kernels compiled for the host with 64-bit limbs, one thread a block, on all cores.

    Args:
        threads: Worker threads; all cores this process may use by default.
        portable: Use the baseline x86-64 build even where BMI2 and ADX exist.
        memory_limit: As for HostDevice.
        module: Kernels from elsewhere instead of the installed ones: an object with the functions of a compiled
            module (kernels/native/module.cpp) and a ``__file__``. For harnesses that test altered kernels.
    """

    kind = "cpu"

    def __init__(
        self,
        threads: int | None = None,
        *,
        portable: bool = False,
        memory_limit: int | None = None,
        module: Any = None,
    ) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        fast = module is None and not portable and has_bmi2_adx()
        super().__init__(f"cpu ({self.threads} threads, {'bmi2+adx' if fast else 'portable'})", memory_limit)
        self._module = module if module is not None else load_compiled("_cpu_v3" if fast else "_cpu")
        self._kernels = kernel_table(self._module.kernels())
        self.build_key = _module_key(self._module.__file__)
        self.limits = DeviceLimits(
            num_sms=self.threads, max_threads=1, warp=1, shared_bytes=1 << 20,
            memory_bytes=self._plan_bytes(), gpu_like=False,
        )  # fmt: skip

    @property
    def kernels(self) -> Mapping[str, KernelSpec]:
        return self._kernels

    @property
    def reference(self) -> Device:
        return self

    @functools.cached_property
    def one_thread(self) -> Device:
        lone = CpuDevice(1, module=self._module)
        lone._arena = self._arena  # one account, and one limit, for both
        return lone

    def _run(self, spec: KernelSpec, grid: int, block: int, shared_bytes: int, words: list[int]) -> None:
        del block  # always 1 here: limits.max_threads says so
        self._check_process()
        code, index = self._module.launch(
            spec.index, spec.packer.pack(*words), grid, shared_bytes, self.threads
        )
        raise_fault(spec.name, code, index)


class EmuDevice(HostDevice):
    """The kernels compiled for the host with the GPU's 32-bit limbs, as threads, warps and blocks.

    Fresh arrays are poisoned, and canaries around them are checked after every launch.  So is the order between
    ``stage`` copies and launches: what a GPU could run too early raises (hazards.py).

    Args:
        schedule: In which order ready threads and blocks run.
        seed: Seed of the random schedules.
        resident: Blocks that interleave; more than one lets blocks run into each other's writes.
        memory_limit: As for HostDevice.
        module: As for CpuDevice.
    """

    kind = "emu"

    def __init__(
        self,
        schedule: Schedule = "ascending",
        seed: int = 0,
        resident: int = 1,
        *,
        memory_limit: int | None = None,
        module: Any = None,
    ) -> None:
        super().__init__(f"emu ({schedule}, seed {seed})", memory_limit)
        if schedule not in SCHEDULES:
            raise DeviceError(f"unknown schedule {schedule!r}; choose one of {', '.join(SCHEDULES)}")
        self._module = module if module is not None else load_compiled("_emu")
        self._kernels = kernel_table(self._module.kernels())
        self._schedule, self._seed, self._resident = SCHEDULES.index(schedule), seed, resident
        self._hazards = Hazards(self.name)
        self._guarded: dict[int, tuple[weakref.ref[npt.NDArray[np.uint8]], int, int]] = {}
        self.build_key = _module_key(self._module.__file__)
        self.limits = DeviceLimits(
            num_sms=1, max_threads=1024, warp=32, shared_bytes=48 << 10,
            memory_bytes=self._plan_bytes(), gpu_like=True,
        )  # fmt: skip

    @property
    def kernels(self) -> Mapping[str, KernelSpec]:
        return self._kernels

    def alloc(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64, *, zero: bool = False) -> Array:
        kind = np.dtype(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        block = self._account(nbytes)
        whole = np.full(nbytes + 2 * CANARY_BYTES + 64, POISON, np.uint8)
        start = CANARY_BYTES + (-(whole.ctypes.data + CANARY_BYTES)) % 64
        inner = whole[start : start + nbytes]
        if zero:
            inner[...] = 0
        result = inner.view(kind).reshape(shape)
        self._guarded[whole.ctypes.data] = (weakref.ref(whole), start, nbytes)
        self._own(whole, block)
        return result

    def upload(self, array: npt.NDArray[Any]) -> Array:
        result = self.alloc(array.shape, array.dtype)
        result[...] = array
        self._count_upload(array.nbytes)
        return result

    def stage(self, host_array: npt.NDArray[Any], into: Array, after: Ticket | None = None) -> Ticket:
        ticket = super().stage(host_array, into, after)
        self._hazards.staged(into.ctypes.data, into.nbytes, ticket, after, self._arena.label)
        return ticket

    def wait(self, ticket: Ticket) -> None:
        self._hazards.waited(ticket)

    def synchronize(self) -> None:
        self._hazards.settled()

    def download(self, array: Array) -> npt.NDArray[Any]:
        self._hazards.used(array.ctypes.data, array.nbytes, "a download")
        return super().download(array)

    def fill_zero(self, array: Array) -> None:
        self._hazards.used(array.ctypes.data, array.nbytes, "fill_zero")
        super().fill_zero(array)
        self._hazards.launched(array.ctypes.data, array.nbytes, self._position, "fill_zero")

    def launch(
        self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Array | int
    ) -> None:
        given = [(a.ctypes.data, a.nbytes) for a in args.values() if isinstance(a, np.ndarray)]
        for start, nbytes in given:
            self._hazards.used(start, nbytes, kernel)
        super().launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes, **args)
        for start, nbytes in given:
            self._hazards.launched(start, nbytes, self._position, kernel)

    @functools.cached_property
    def _reference(self) -> CpuDevice:
        return CpuDevice()

    @property
    def reference(self) -> Device:
        return self._reference

    def check_canaries(self, kernel: str) -> None:
        """Raise KernelFault if a kernel wrote next to one of the living arrays."""
        for key, (ref, start, nbytes) in list(self._guarded.items()):
            whole = ref()
            if whole is None:
                self._guarded.pop(key, None)  # another thread may have been faster
            elif not ((whole[:start] == POISON).all() and (whole[start + nbytes :] == POISON).all()):
                raise KernelFault(kernel, 5, nbytes, f"a write landed beside an array of {nbytes} bytes")

    def _run(self, spec: KernelSpec, grid: int, block: int, shared_bytes: int, words: list[int]) -> None:
        self._check_process()
        where = grid, block, shared_bytes, self._schedule, self._seed, self._resident
        code, index = self._module.launch(spec.index, spec.packer.pack(*words), *where)
        raise_fault(spec.name, code, index)
        self.check_canaries(spec.name)

    def counters(self) -> dict[str, int]:
        return super().counters() | dict(self._module.counters())

    def reset_counters(self) -> None:
        super().reset_counters()
        self._module.reset_counters()


@functools.cache
def _module_key(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]
