"""Where kernels run: one protocol, three devices (``cuda``, ``cpu``, ``emu``)."""

from __future__ import annotations

from typing import Any

from cuzk.device.arena import MemoryReport
from cuzk.device.base import Array, Device, DeviceKind, DeviceLimits
from cuzk.device.copies import CopySpan, Ticket
from cuzk.errors import DeviceError

__all__ = [
    "Array",
    "CopySpan",
    "Device",
    "DeviceKind",
    "DeviceLimits",
    "MemoryReport",
    "Ticket",
    "cuda_available",
    "cuda_count",
    "get_device",
]


def cuda_available() -> bool:
    """Whether CuPy is installed and sees a usable GPU.  Never raises."""
    from cuzk.device.cuda import available

    return available()


def cuda_count() -> int:
    """How many GPUs CuPy sees; 0 where it is not installed or none is usable.  Never raises."""
    from cuzk.device.cuda_health import count

    return count()


def get_device(spec: str = "auto", memory_limit: int | None = None, **options: Any) -> Device:
    """Open a device.

    Args:
        spec: "cpu", "emu", "cuda", "cuda:N", or "auto": cuda where there is one, else cpu.
        memory_limit: Most bytes that the device's arrays may hold together; all it has by default.  What does not
            fit is streamed or done in pieces where that is possible, and an OutOfMemoryError where it is not.
        options: Passed to the device: ``threads``, ``portable`` (cpu); ``schedule``, ``seed``,
            ``resident`` (emu).

    Raises:
        DeviceError: Unknown name, no such GPU, a driver that is too old, kernels that were never built, or a limit
            that is no positive number.
    """
    if memory_limit is not None and memory_limit <= 0:
        raise DeviceError(f"a device can't work with {memory_limit} bytes of memory", limit="at least 1 byte")
    kind, _, ordinal = spec.partition(":")
    if kind == "auto" and not ordinal:
        kind = "cuda" if cuda_available() else "cpu"
    if kind == "cuda" and (not ordinal or ordinal.isdecimal()):
        from cuzk.device.cuda import CudaDevice

        return CudaDevice(int(ordinal or 0), memory_limit=memory_limit, **options)
    if kind in ("cpu", "emu") and not ordinal:
        from cuzk.device.host import CpuDevice, EmuDevice

        if kind == "cpu":
            return CpuDevice(memory_limit=memory_limit, **options)
        return EmuDevice(memory_limit=memory_limit, **options)
    raise DeviceError(f"unknown device {spec!r}; choose auto, cpu, emu, cuda or cuda:N, N = index of the GPU")
