"""An emulated device that looks at every access of its kernels."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.device import Array
from cuzk.device.copies import Ticket
from cuzk.device.host import EmuDevice, Schedule
from cuzk.errors import InternalError, KernelFault
from cuzk_fuzz.mutation.native import NativeKernels

#: Codes of shadow/runtime.hpp, and what they are called.
RACE, UNWRITTEN, OUTSIDE = 101, 102, 103
KINDS = {RACE: "race", UNWRITTEN: "uninitialised", OUTSIDE: "out of bounds"}
#: Kernels that may read unwritten shared memory, and why.
LENIENT = {
    "msm_halve_": "the slot of a neighbour that there is not is loaded with the rest, and its value is not used",
}
_SHARED, _NOWHERE = 2**64 - 1, 2**64 - 2


class ShadowFault(InternalError):
    """An access that a GPU would not forgive, even where the answer is right.

    It is no KernelFault: targets take those for the refusal of bad input.

    Attributes:
        kind: One of KINDS.
    """

    def __init__(self, kernel: str, kind: str, message: str) -> None:
        super().__init__(f"kernel {kernel}: {kind}: {message}")
        self.kind = kind


class ShadowKernels(NativeKernels):
    """The kernels of a shared object that was built with shadow memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._library.cuzk_shadow_mark.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]

    def mark(self, array: npt.NDArray[Any], *, written: bool) -> None:
        """Say whether the bytes of an array hold anything."""
        if array.size:
            self._library.cuzk_shadow_mark(array.ctypes.data, array.nbytes, written)

    def regions(self, arrays: list[npt.NDArray[Any]], *, unwritten_shared: bool) -> None:
        """What the next launch may touch, and whether shared memory that nobody wrote may be read."""
        words = ctypes.c_uint64 * len(arrays)
        begins, sizes = words(*(a.ctypes.data for a in arrays)), words(*(a.nbytes for a in arrays))
        self._library.cuzk_shadow_regions(ctypes.c_uint64(len(arrays)), begins, sizes, unwritten_shared)

    def report(self) -> list[int]:
        """Of the last launch: code, array, offset, size, whether a write, block, thread, the other's three."""
        out = (ctypes.c_uint64 * 10)()
        self._library.cuzk_shadow_report(out)
        return list(out)


class ShadowDevice(EmuDevice):
    """The emulator over kernels with shadow memory.

    Fresh arrays count as unwritten until a copy or a kernel writes them.

    Args:
        kernels: The shared object.
        schedule, seed, resident: As for EmuDevice.
    """

    def __init__(
        self, kernels: ShadowKernels, schedule: Schedule = "ascending", seed: int = 0, resident: int = 1
    ) -> None:
        super().__init__(schedule, seed, resident, module=kernels)
        self._shadow = kernels
        self._names: list[str] = []

    def alloc(self, shape: tuple[int, ...], dtype: npt.DTypeLike = np.uint64, *, zero: bool = False) -> Array:
        """Allocate; the bytes count as unwritten unless they are zeros."""
        array = super().alloc(shape, dtype, zero=zero)
        self._shadow.mark(array, written=zero)
        return array

    def upload(self, array: npt.NDArray[Any]) -> Array:
        """Copy; all of it counts as written."""
        result = super().upload(array)
        self._shadow.mark(result, written=True)
        return result

    def stage(self, host_array: npt.NDArray[Any], into: Array, after: Ticket | None = None) -> Ticket:
        """Copy; all of it counts as written."""
        ticket = super().stage(host_array, into, after)
        self._shadow.mark(into, written=True)
        return ticket

    def fill_zero(self, array: Array) -> None:
        """Write zeros, which count as written."""
        super().fill_zero(array)
        self._shadow.mark(array, written=True)

    def launch(
        self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Array | int
    ) -> None:
        """Launch over the arrays of the arguments, and no other memory."""
        arrays = {name: a for name, a in args.items() if isinstance(a, np.ndarray)}
        self._names = list(arrays)
        lenient = any(kernel.startswith(name) for name in LENIENT)
        self._shadow.regions(list(arrays.values()), unwritten_shared=lenient)
        super().launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes, **args)

    def _run(self, spec: Any, grid: int, block: int, shared_bytes: int, words: list[int]) -> None:
        try:
            super()._run(spec, grid, block, shared_bytes, words)
        except KernelFault as fault:
            report = self._shadow.report()
            if fault.code not in KINDS or fault.code != report[0]:
                raise
            raise ShadowFault(spec.name, KINDS[report[0]], self._describe(report)) from None

    def _describe(self, report: list[int]) -> str:
        code, array, offset, size, is_write, block, thread, other_block, other_thread, other_is_write = report
        name = "shared memory" if array == _SHARED else "memory of no argument"
        if array not in (_SHARED, _NOWHERE):
            name = repr(self._names[array])
        place = offset - 2**64 if offset >> 63 else offset
        what = f"{'write' if is_write else 'read'} of {size} bytes at byte {place} of {name}"
        who = f"by thread {thread} of block {block}"
        if code != RACE:
            return f"{what} {who}"
        other = f"{'write' if other_is_write else 'read'} by thread {other_thread} of block {other_block}"
        return f"{what} {who}, and a {other} without a barrier in between"
