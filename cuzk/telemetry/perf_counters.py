"""Counters of the processor and of the kernel for this process: instructions, cycles, branches, misses, page faults.

They come from ``perf_event_open``, where the machine has such counters and the system lets this process read them
(``/proc/sys/kernel/perf_event_paranoid`` of 2 or less; most virtual machines have no hardware counters).  Threads that
start later are counted with their parents, so open the counters before the device.  Where there are no hardware
counters, ``valgrind --tool=callgrind`` counts instructions (docs/instruments.md).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType

__all__ = ["COUNTERS", "PerfCounters"]

#: Name -> (type, config) of perf_event.h.  Hardware is type 0, software type 1.
COUNTERS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "instructions": (0, 1),
        "cycles": (0, 0),
        "branches": (0, 4),
        "branch_misses": (0, 5),
        "cache_misses": (0, 3),
        "page_faults": (1, 2),
        "context_switches": (1, 3),
    }
)

#: perf_event_attr up to PERF_ATTR_SIZE_VER0: type, size, config, period, sample type, read format, flags, 3 words.
_ATTRIBUTE = struct.Struct("=IIQQQQQIIQ")
#: inherit, exclude_kernel, exclude_hv: bits of the flags.
_INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
_SYSCALLS = {"x86_64": 298, "aarch64": 241}

_Opener = Callable[[int, int], int]


def _open_counter(kind: int, config: int) -> int:
    """A file descriptor for one counter of this process and of threads it will start; OSError where there is none."""
    number = _SYSCALLS.get(platform.machine())
    if number is None:
        raise OSError(f"perf_event_open is not known on {platform.machine()}")
    # Faults and switches happen in the kernel; instructions are counted in the program alone.
    flags = _INHERIT if kind else _INHERIT | _EXCLUDE_KERNEL | _EXCLUDE_HV
    attribute = ctypes.create_string_buffer(
        _ATTRIBUTE.pack(kind, _ATTRIBUTE.size, config, 0, 0, 0, flags, 0, 0, 0), _ATTRIBUTE.size
    )
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor: int = libc.syscall(ctypes.c_long(number), attribute, 0, -1, -1, ctypes.c_ulong(8))
    if descriptor < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return descriptor


class PerfCounters:
    """The counters that this machine gives; a context manager that closes them.

    Args:
        open_counter: Opens one by type and config; raises OSError.

    Attributes:
        missing: Name -> reason, of those that could not be opened.
    """

    def __init__(self, open_counter: _Opener = _open_counter) -> None:
        self.missing: dict[str, str] = {}
        self._descriptors: dict[str, int] = {}
        for name, (kind, config) in COUNTERS.items():
            try:
                self._descriptors[name] = open_counter(kind, config)
            except OSError as error:
                self.missing[name] = error.strerror or str(error)

    def read(self) -> dict[str, int]:
        """Totals since the counters were opened, by name."""
        return {
            name: int.from_bytes(os.read(descriptor, 8), "little")
            for name, descriptor in self._descriptors.items()
        }

    def close(self) -> None:
        """Close the counters; they read nothing afterwards."""
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()

    def __enter__(self) -> PerfCounters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
