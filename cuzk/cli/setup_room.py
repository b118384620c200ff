"""Whether a set-up fits: what it takes is held against what device, host and disk have, before any work."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cuzk.errors import InputError, OutOfMemoryError

if TYPE_CHECKING:
    from cuzk.device import Device
    from cuzk.groth16.setup_memory import SetupNeed
    from cuzk.pieces import CompiledCircuit
    from cuzk.relation import R1CS

__all__ = ["check_disk", "check_room", "need_of", "need_words"]


def need_of(circuit: R1CS | CompiledCircuit, device: Device) -> SetupNeed:
    """What a set-up on a device takes."""
    from cuzk.groth16.setup_memory import setup_need

    return setup_need(circuit, device.limits, on_host=device.kind != "cuda")


def need_words(need: SetupNeed) -> str:
    """It in a line."""
    from cuzk.device.arena import format_bytes

    device, host, file = (format_bytes(count) for count in (need.device, need.host, need.file))
    return f"at most {device} of the device's memory and {host} of the host's, {file} on the disk"


def check_room(need: SetupNeed, device: Device, key: Path, name: str) -> None:
    """Refuse a set-up that would die in the middle.

    Args:
        need: What it takes.
        device: Where it is to compute.
        key: File to be written.
        name: What the circuit is called.

    Raises:
        OutOfMemoryError: Device or host have less.
        InputError: The disk has less.
    """
    from cuzk.device.machine import memory_bytes

    check_disk(need, key, name)
    if need.device > device.limits.memory_bytes:
        raise OutOfMemoryError(
            f"a set-up of {name} takes {need.device} bytes of the device: {_sum_words(need.device_parts)}",
            where=device.name,
            limit=f"{device.limits.memory_bytes} bytes",
            remedy="use a device with more memory, free this one, or make the key elsewhere and copy its file",
        )
    available = memory_bytes("MemAvailable")
    if need.host > available:
        raise OutOfMemoryError(
            f"a set-up of {name} takes {need.host} bytes of the host's memory: {_sum_words(need.host_parts)}",
            where="this machine",
            limit=f"{available} bytes are available",
            remedy="close other programs, or use a machine with more memory; a built-in circuit takes less without "
            "--matrices",
        )


def check_disk(need: SetupNeed, key: Path, name: str) -> None:
    """Refuse a key that has no room on the disk; arguments as of check_room.

    Raises:
        InputError: The disk has less.
    """
    free = _free_bytes(key)
    if need.file > free:
        raise InputError(
            f"the key of {name} takes {need.file} bytes on the disk, more than there is room for",
            where=str(key),
            limit=f"{free} bytes are free",
            remedy="make room, or write it to another disk",
        )


def _free_bytes(key: Path) -> int:
    """Room on the disk of a file to be."""
    state = os.statvfs(key.resolve().parent)
    return state.f_bavail * state.f_frsize


def _sum_words(parts: Mapping[str, int]) -> str:
    return " + ".join(f"{size} for {what}" for what, size in parts.items() if size)
