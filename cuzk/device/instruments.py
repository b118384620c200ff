"""What instruments ask of a device: where its GPU is, how much host memory it locked, whether its kernels are stale."""

from __future__ import annotations

from typing import Any

from cuzk.device.base import Device
from cuzk.errors import DeviceError

__all__ = ["bus_id", "pinned_bytes", "require_fresh", "stale_reason"]


def bus_id(device: Device) -> str | None:
    """PCI address of a device's GPU; None where it is none."""
    found = getattr(getattr(device, "_device", None), "pci_bus_id", None)
    return None if found is None else str(found)


def pinned_bytes(device: Device) -> int | None:
    """Page-locked host memory that a device holds, in bytes; None on a host device, which locks none."""
    memory = getattr(device, "_host_memory", None)
    return None if memory is None else int(memory.locked_bytes)


def stale_reason(device: Device) -> str | None:
    """Why a device's kernels are not those of the sources on disk; None where they are.

    Kernels that were handed in from elsewhere (``module=``) have no sources here and count as fresh.
    """
    if device.kind == "cuda":
        return _stale_cuda(device)
    module: Any = getattr(device, "_module", None)
    digest = getattr(module, "source_digest", None)
    if digest is None:
        return None
    from cuzk.device.sources import host_source_digest

    built, now = digest(), host_source_digest()
    if built == now:
        return None
    return f"{device.name} runs kernels built from other sources ({built}) than those on disk ({now})"


def _stale_cuda(device: Device) -> str | None:
    from cuzk.device import builder

    arch = str(getattr(device, "arch", ""))
    builder.source_digest.cache_clear()  # what was true when the device was opened may not be true now
    now = builder.module_key("all", "all", arch)
    if device.build_key == now:
        return None
    return f"{device.name} runs kernels of key {device.build_key}, but the sources on disk have {now}"


def require_fresh(device: Device) -> None:
    """Refuse to measure a stale build.

    Raises:
        DeviceError: The kernels are not those of the sources on disk.
    """
    reason = stale_reason(device)
    if reason is not None:
        raise DeviceError(
            f"a stale kernel build is not measured: {reason}",
            where=device.name,
            limit="a measurement is of the sources that stand beside it",
            remedy="build again (pip install --no-build-isolation -e .), or open the device again on a GPU",
        )
