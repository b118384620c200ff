"""A shared object of a few kernels, in the shape that ``CpuDevice(module=...)`` and ``EmuDevice(module=...)`` take."""

from __future__ import annotations

import ctypes
from pathlib import Path

Kernels = list[tuple[str, list[tuple[str, str]], int]]


class NativeKernels:
    """The kernels of one shared object.

    Args:
        path: The object, made from entry.cpp and one that defines register_mutant().
    """

    def __init__(self, path: Path) -> None:
        self.__file__ = str(path)
        self._library = ctypes.CDLL(str(path))
        self._library.cuzk_describe.restype = ctypes.c_char_p
        self._library.cuzk_launch.argtypes = [
            ctypes.c_uint64, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_uint64),
        ]  # fmt: skip

    def kernels(self) -> Kernels:
        """Every kernel as (name, [(field, kind)], most threads a block)."""
        found: Kernels = []
        for line in self._library.cuzk_describe().decode().splitlines():
            name, threads, *fields = line.split()
            pairs = [(field.partition(":")[0], field.partition(":")[2]) for field in fields]
            found.append((name, pairs, int(threads)))
        return found

    def launch(self, kernel: int, args: bytes, grid: int, *rest: int) -> tuple[int, int]:
        """One launch: (shared bytes, threads) follow on cpu; (block, shared bytes, order, seed, resident) on emu."""
        if len(rest) == 2:
            block, shared, order, seed, resident = 1, rest[0], 0, 0, 1
        else:
            block, shared, order, seed, resident = rest
        shape = (ctypes.c_uint32 * 5)(grid, block, shared, order, resident)
        fault = (ctypes.c_uint64 * 2)()
        self._library.cuzk_launch(kernel, args, shape, seed, fault)
        return int(fault[0]), int(fault[1])

    def counters(self) -> dict[str, int]:
        """None are kept."""
        return {}

    def reset_counters(self) -> None:
        """Nothing to reset."""
