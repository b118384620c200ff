"""The protocol that every device follows, and what its implementations share.

A device allocates arrays, copies them up and down, and launches kernels by name.  It knows nothing of
curves or phases.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuzk.device.arena import Arena, MemoryReport
from cuzk.device.copies import CopySpan, Ticket
from cuzk.errors import InternalError, KernelFault

DeviceKind = Literal["cpu", "emu", "cuda"]


#: An array of some device: ``numpy.ndarray`` on the host devices, ``cupy.ndarray`` on ``cuda``.  Operations use its
#: shape, dtype and nbytes, reshape it, slice it along the first axis, and otherwise hand it on.
Array: TypeAlias = Any


@dataclass(frozen=True)
class DeviceLimits:
    """What launch plans are computed from.

    Attributes:
        num_sms: Multiprocessors of a GPU, worker threads of ``cpu``, 1 on ``emu``.
        max_threads: Most threads in a block; 1 on ``cpu``.
        warp: Threads that shuffle together; 1 on ``cpu``.
        shared_bytes: Shared memory a block may have.
        memory_bytes: Memory that arrays may take, bytes.
        gpu_like: Whether work should be cut for thousands of threads (``cuda``, ``emu``) or for a few cores.
        model: Name of a GPU's model: plans look up what was measured on it. Empty elsewhere.
    """

    num_sms: int
    max_threads: int
    warp: int
    shared_bytes: int
    memory_bytes: int
    gpu_like: bool
    model: str = ""


@dataclass(frozen=True)
class KernelSpec:
    """What a launch needs to know of a kernel.

    Attributes:
        name: Exported name.
        index: Its place in the native module.
        fields: (name, kind) of each member of its argument struct, in order; kind "i" is an integer, else a pointer.
        max_threads: Most threads a block may have.
        layout: (name, whether it is an integer) of each field.
        packer: Writes the argument struct: 8 bytes a field.
    """

    name: str
    index: int
    fields: tuple[tuple[str, str], ...]
    max_threads: int
    layout: tuple[tuple[str, bool], ...] = field(init=False, repr=False)
    packer: struct.Struct = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layout", tuple((name, kind == "i") for name, kind in self.fields))
        object.__setattr__(self, "packer", struct.Struct(f"<{len(self.fields)}Q"))


#: FaultCode of args.cuh, as the end of a sentence.
FAULTS: Mapping[int, str] = {
    1: "a field element is not reduced (>= its modulus)",
    2: "a scalar does not fit the plan's scalar_bits, or is >= r",
    3: "a point is not on the curve",
    4: "a point is outside the prime-order subgroup",
    5: "an index points outside its array",
    6: "threads of one group do not meet at one barrier",
    7: "a shuffle reads a lane that does not exist",
    8: "shared memory outside the launch's size is used",
    9: "a witness program holds an operation that there is not",
}


def kernel_table(
    kernels: Iterable[tuple[str, list[tuple[str, str]], int]],
) -> dict[str, KernelSpec]:
    """Index a native module's ``kernels()`` by name."""
    return {
        name: KernelSpec(name, index, tuple((f, k) for f, k in fields), max_threads)
        for index, (name, fields, max_threads) in enumerate(kernels)
    }


class Device(ABC):
    """One place where kernels run.

    Attributes:
        kind: "cpu", "emu" or "cuda".
        name: What to call it in messages, such as "cuda:0 (NVIDIA H200)".
        limits: What plans may assume.
        build_key: Content key of the kernels that run here.
    """

    kind: DeviceKind
    name: str
    limits: DeviceLimits
    build_key: str
    _arena: Arena

    def __init__(self) -> None:
        self._counts = {"launches": 0, "uploads": 0, "bytes_up": 0, "bytes_down": 0}
        self._position = 0  # launches made, never reset: the order that tickets speak of

    # -- memory

    @abstractmethod
    def alloc(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64, *, zero: bool = False) -> Array:
        """Return a new array; its content is undefined (poison on ``emu``) unless ``zero``."""

    @abstractmethod
    def upload(self, array: npt.NDArray[Any]) -> Array:
        """Copy a host array to the device, in launch order.

        A page-locked array (``pinned``, ``lock_pages``) is read later: it must not change before the host has waited
        for the device, in ``download`` or ``synchronize``.  Any other may change at once.
        """

    @abstractmethod
    def download(self, array: Array) -> npt.NDArray[Any]:
        """Copy a device array to the host, after everything launched before.  Checks faults."""

    @abstractmethod
    def fill_zero(self, array: Array) -> None:
        """Set every byte of an array (or of a slice along its first axis) to zero, in launch order."""

    def pinned(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
        """Return a host array that uploads at full speed: page-locked where the device copies over a bus."""
        return np.empty(shape, dtype)

    def lock_pages(self, array: npt.NDArray[Any]) -> AbstractContextManager[bool]:
        """Page-lock a host array while a ``with`` block runs, so that copies from it run at full speed and at once.

        The whole array that `array` is a view of is locked: lock the file's map, not its sections.  Every copy from
        it must have ended before the block does.

        Returns:
            Yields whether it worked.  Where it did not (a limit of the system, read-only memory on an old driver),
            copies work all the same, only slower.
        """
        del array
        return nullcontext(False)

    def label(self, name: str) -> AbstractContextManager[None]:
        """Book what this thread allocates inside a ``with`` block under a name (of a phase or an operation)."""
        return self._arena.labelled(name)

    def memory(self) -> MemoryReport:
        """Who holds how much of this device's memory, and the most that was held."""
        return self._arena.report()

    def reset_memory_peak(self) -> None:
        """Start a new account of the most that is held."""
        self._arena.reset_peak()

    # -- copies beside the launches

    @abstractmethod
    def stage(self, host_array: npt.NDArray[Any], into: Array, after: Ticket | None = None) -> Ticket:
        """Copy a host array up, beside the launches.

        Args:
            host_array: What to copy, C-contiguous, of as many bytes as `into`.  It must not change until the copy
                has ended.
            into: Where to: an array of this device, or a slice of one along its first axis.
            after: The copy starts when this point is passed: the last launch that uses what `into` held.  None: all
                launches made so far, which is always safe and overlaps with nothing launched before.

        Returns:
            The end of the copy: no launch sees it that is not made after ``wait`` on this ticket.

        Raises:
            InternalError: Sizes differ, an array is not contiguous, or `after` lies before `into` was allocated.
        """

    @abstractmethod
    def wait(self, ticket: Ticket) -> None:
        """Let everything launched from now on run after a ticket's point.  The host does not wait for it."""

    @abstractmethod
    def mark(self) -> Ticket:
        """A ticket for the point that the launches made so far will reach."""

    @abstractmethod
    def time_of(self, ticket: Ticket) -> float:
        """When a ticket's point was passed: milliseconds from an origin of this device.  Waits for the point.

        Good to a millionth of the time since the device was opened; ``elapsed`` is exact.
        """

    def elapsed(self, begin: Ticket, end: Ticket) -> float:
        """Milliseconds between two points, to a microsecond however old the device is.  Waits for both."""
        return self.time_of(end) - self.time_of(begin)

    @abstractmethod
    def take_copies(self) -> list[CopySpan]:
        """When each ``stage`` copy since the last call ran; waits for them.  At most the latest 8,192 are kept."""

    def _check_stage(self, host_array: npt.NDArray[Any], into: Array) -> None:
        if host_array.nbytes != into.nbytes:
            raise InternalError(f"{self.name}: {host_array.nbytes} bytes are staged into {into.nbytes} bytes")
        if not (host_array.flags.c_contiguous and into.flags.c_contiguous):
            raise InternalError(f"{self.name}: only contiguous arrays can be staged")

    # -- launches

    def load(self, curve: str) -> None:
        """Make the kernels of a curve ready before they are needed: on ``cuda``, compile and load them."""
        del curve  # host kernels were compiled when the package was installed

    @property
    @abstractmethod
    def kernels(self) -> Mapping[str, KernelSpec]:
        """Every kernel that can be launched."""

    @abstractmethod
    def _pointer(self, array: Array) -> int:
        """Return the address of a device array; raise InternalError for an array of another device."""

    @abstractmethod
    def _run(self, spec: KernelSpec, grid: int, block: int, shared_bytes: int, words: list[int]) -> None:
        """Launch with one 64-bit word for each field of the argument struct."""

    def launch(
        self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Array | int
    ) -> None:
        """Launch a kernel.

        Args:
            kernel: Exported name, such as "ntt_pass_bn254_fr".
            grid: Blocks; 0 launches nothing.
            block: Threads in a block.
            shared_bytes: Shared memory of a block.
            args: One value for each field of the kernel's argument struct: an array of this device, 0 for
                a null pointer, or an integer.

        Raises:
            InternalError: Unknown kernel, missing or unknown field, wrong kind of value, impossible shape.
            KernelFault: The kernel wrote a fault word (on ``cuda``, synchronize() reports it).
        """
        spec = self.kernels.get(kernel)
        if spec is None:
            raise InternalError(f"{self.name} has no kernel {kernel!r}")
        if not (0 <= grid < 2**31 and 1 <= block <= min(spec.max_threads, self.limits.max_threads)):
            raise InternalError(
                f"{kernel}: cannot launch {grid} blocks of {block} threads "
                f"(at most {min(spec.max_threads, self.limits.max_threads)} threads on {self.name})"
            )
        if shared_bytes > self.limits.shared_bytes:
            raise InternalError(
                f"{kernel}: {shared_bytes} bytes of shared memory asked, {self.limits.shared_bytes} exist"
            )
        words = self._words(spec, args)
        if grid:
            self._counts["launches"] += 1
            self._position += 1
            self._run(spec, grid, block, shared_bytes, words)

    def _words(self, spec: KernelSpec, args: Mapping[str, Array | int]) -> list[int]:
        """The members of the argument struct.  On the path of every launch: 0.1 us a member is worth having."""
        words = []
        pointer = self._pointer
        try:
            for name, is_integer in spec.layout:
                value = args[name]
                if value.__class__ is int or isinstance(value, (int, np.integer)):
                    if not is_integer and value != 0:
                        raise InternalError(f"{spec.name}: {name} is a pointer, not the integer {value}")
                    words.append(int(value) & 0xFFFFFFFFFFFFFFFF)
                elif is_integer:
                    raise InternalError(f"{spec.name}: {name} is an integer, not an array")
                else:
                    words.append(pointer(value))
        except KeyError:
            raise self._wrong_names(spec, args) from None
        if len(args) != len(words):
            raise self._wrong_names(spec, args)
        return words

    @staticmethod
    def _wrong_names(spec: KernelSpec, args: Mapping[str, Array | int]) -> InternalError:
        names = {name for name, _ in spec.fields}
        missing, unknown = sorted(names - set(args)), sorted(set(args) - names)
        return InternalError(f"{spec.name}: missing arguments {missing}, unknown arguments {unknown}")

    @abstractmethod
    def synchronize(self) -> None:
        """Let the host wait for everything launched, and for every copy that ``stage`` began.

        Raises:
            KernelFault: A kernel reported bad data.
            LaunchError: The device failed.
        """

    # -- the rest

    @property
    def host(self) -> Device:
        """The device on which a handful of scalar multiplications is cheapest."""
        return self

    @property
    @abstractmethod
    def reference(self) -> Device:
        """The ``cpu`` device that a doubtful result is computed on again."""

    @property
    def one_thread(self) -> Device:
        """The ``cpu`` device with a single thread, for callers who bring threads of their own."""
        return self.reference.one_thread

    def counters(self) -> dict[str, int]:
        """Counts since the last reset: launches, uploads and bytes; on ``emu`` field and point operations too."""
        return dict(self._counts)

    def _count_upload(self, nbytes: int) -> None:
        self._counts["uploads"] += 1
        self._counts["bytes_up"] += nbytes

    def reset_counters(self) -> None:
        """Set every counter to zero."""
        for key in self._counts:
            self._counts[key] = 0

    def __repr__(self) -> str:
        return f"<Device {self.name}>"


def raise_fault(kernel: str, code: int, index: int) -> None:
    """Raise the KernelFault for a fault word, if it holds a fault."""
    if code:
        raise KernelFault(kernel, code, index, FAULTS.get(code, f"fault code {code}"))
