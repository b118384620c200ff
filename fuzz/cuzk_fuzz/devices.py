"""Devices by description, so that a finding can name the very one it came from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from cuzk.device import Device, get_device

#: Orders in which emulated threads and blocks run; each alone is blind to faults that another shows.
SCHEDULES = (
    ("ascending", 0), ("random_thread", 1), ("last_block_first", 0), ("random_warp", 2), ("descending", 0),
    ("random_thread", 3), ("random_warp", 4), ("random_thread", 5),
)  # fmt: skip
_RESIDENT = 3


@dataclass(frozen=True)
class DeviceChoice:
    """One device.

    Attributes:
        spec: "cpu", "emu", "cuda" or "cuda:N".
        schedule, seed, resident: Of the emulator.
    """

    spec: str
    schedule: str = "ascending"
    seed: int = 0
    resident: int = 1

    def open(self) -> Device:
        """The device; one instance a process."""
        return _open(self)

    def to_json(self) -> dict[str, Any]:
        """As a finding holds it."""
        return asdict(self)


@functools.cache
def _open(choice: DeviceChoice) -> Device:
    if choice.spec != "emu":
        return get_device(choice.spec)
    return get_device("emu", schedule=choice.schedule, seed=choice.seed, resident=choice.resident)


#: How a campaign gets its devices; tests put faulty ones in its place.
Opener = Callable[[DeviceChoice], Device]


def open_choice(choice: DeviceChoice) -> Device:
    """The usual opener."""
    return choice.open()


def rotation(spec: str, seed: int) -> tuple[DeviceChoice, ...]:
    """The devices that the batches of a campaign go to in turn: eight schedules on the emulator, else one."""
    if spec != "emu":
        return (DeviceChoice(spec),)
    return tuple(
        DeviceChoice("emu", schedule, number + 1000 * seed if number else 0, _RESIDENT)
        for schedule, number in SCHEDULES
    )
