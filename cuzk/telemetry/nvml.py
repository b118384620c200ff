"""Clocks, throttle reasons and memory of an NVIDIA GPU, from the driver's own library (NVML), through ctypes.

There is nothing to install: the library comes with the driver.  Where it is missing, or does not answer a question,
the gauge is None; no proof ever fails because of a gauge.
"""

from __future__ import annotations

import ctypes
from typing import Any

from cuzk.telemetry.records import Gauges

__all__ = ["THROTTLE_REASONS", "NvmlGauges", "open_gauges"]

#: nvml.h, nvmlClocksEventReasons: bit -> words.
THROTTLE_REASONS = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clock",
}
#: nvml.h, nvmlClockType_t.
_SM_CLOCK, _MEMORY_CLOCK = 1, 2


class _Memory(ctypes.Structure):
    """nvmlMemory_t."""

    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class NvmlGauges:
    """Reads the gauges of one GPU: call it.

    Args:
        library: libnvidia-ml, initialised.
        handle: Of the GPU.
    """

    def __init__(self, library: Any, handle: ctypes.c_void_p) -> None:
        self._library, self._handle = library, handle

    def __call__(self) -> Gauges:
        """The gauges now; takes some tens of microseconds."""
        reasons = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong())
        memory = _Memory()
        known = self._ask("nvmlDeviceGetMemoryInfo", ctypes.byref(memory))
        return Gauges(
            sm_mhz=self._clock(_SM_CLOCK),
            memory_mhz=self._clock(_MEMORY_CLOCK),
            throttle=None if reasons is None else _in_words(reasons),
            device_bytes=int(memory.used) if known else None,
        )

    def _ask(self, function: str, *arguments: Any) -> bool:
        """Whether a function of the library answered."""
        found = getattr(self._library, function, None)
        return found is not None and found(self._handle, *arguments) == 0

    def _clock(self, kind: int) -> int | None:
        value = ctypes.c_uint()
        known = self._ask("nvmlDeviceGetClockInfo", ctypes.c_int(kind), ctypes.byref(value))
        return int(value.value) if known else None

    def _number(self, function: str, value: ctypes.c_ulonglong) -> int | None:
        return int(value.value) if self._ask(function, ctypes.byref(value)) else None


def _in_words(reasons: int) -> str:
    """A mask of reasons in words; bits that this table does not know are shown as numbers."""
    named = [words for bit, words in THROTTLE_REASONS.items() if reasons & bit]
    rest = reasons & ~sum(THROTTLE_REASONS)
    return ", ".join([*named, hex(rest)] if rest else named) or "none"


def open_gauges(bus_id: str | None, library: Any = None) -> NvmlGauges | None:
    """The gauges of the GPU at a PCI address.

    Args:
        bus_id: As "0000:18:00.0"; None where the device is no GPU.
        library: libnvidia-ml; found on this machine by default.

    Returns:
        The reader, or None where there is no such GPU, library or driver.
    """
    if bus_id is None:
        return None
    try:
        library = library if library is not None else ctypes.CDLL("libnvidia-ml.so.1")
        handle = ctypes.c_void_p()
        if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByPciBusId_v2(
            bus_id.encode(), ctypes.byref(handle)
        ):
            return None
    except (OSError, AttributeError):
        return None
    return NvmlGauges(library, handle)
