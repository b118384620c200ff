"""Where kernels run: one protocol, three devices (``cuda``, ``cpu``, ``emu``)."""

from __future__ import annotations

from typing import Any

from cuzk.device.base import Array, Device, DeviceKind, DeviceLimits
from cuzk.errors import DeviceError

__all__ = ["Array", "Device", "DeviceKind", "DeviceLimits", "cuda_available", "get_device"]


def cuda_available() -> bool:
    """Whether CuPy is installed and sees a usable GPU.  Never raises."""
    from cuzk.device.cuda import available

    return available()


def get_device(spec: str = "auto", **options: Any) -> Device:
    """Open a device.

    Args:
        spec: "cpu", "emu", "cuda", "cuda:N", or "auto": cuda where there is one, else cpu.
        options: Passed to the device: ``threads``, ``portable`` (cpu); ``schedule``, ``seed``,
            ``resident`` (emu).

    Raises:
        DeviceError: Unknown name, no such GPU, or kernels that were never built.
    """
    kind, _, ordinal = spec.partition(":")
    if kind == "auto" and not ordinal:
        kind = "cuda" if cuda_available() else "cpu"
    if kind == "cuda" and (not ordinal or ordinal.isdecimal()):
        from cuzk.device.cuda import CudaDevice

        return CudaDevice(int(ordinal or 0), **options)
    if kind in ("cpu", "emu") and not ordinal:
        from cuzk.device.host import CpuDevice, EmuDevice

        return CpuDevice(**options) if kind == "cpu" else EmuDevice(**options)
    raise DeviceError(f"unknown device {spec!r}; choose auto, cpu, emu, cuda or cuda:N, N = index of the GPU")
