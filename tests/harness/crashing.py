"""Devices that take their process with them, or stop working in it; workers open them by name."""

from __future__ import annotations

import os
import signal
from typing import Any

from cuzk_fuzz.devices import DeviceChoice

from cuzk.device import Device
from cuzk.device.host import EmuDevice
from cuzk.errors import LaunchError

#: Bases of a sum that bring its kernel down.
FATAL = 83


class DyingDevice(EmuDevice):
    """An emulator that dies of a sum of exactly FATAL bases, as a GPU's process dies of a bad address."""

    def launch(self, kernel: str, **options: Any) -> None:
        if kernel.startswith("batch_add") and len(options["bases"]) == FATAL:
            os.kill(os.getpid(), signal.SIGSEGV)
        super().launch(kernel, **options)


class LosingDevice(EmuDevice):
    """An emulator whose context is gone after a sum of exactly FATAL bases: every later call fails as well."""

    _lost = False

    def launch(self, kernel: str, **options: Any) -> None:
        if self._lost or (kernel.startswith("batch_add") and len(options["bases"]) == FATAL):
            self._lost = True
            raise LaunchError("an illegal memory access was encountered")
        super().launch(kernel, **options)


class RaisingDevice(EmuDevice):
    """An emulator with a fault of ours: a sum of exactly FATAL bases raises what is no error of a device."""

    def launch(self, kernel: str, **options: Any) -> None:
        if kernel.startswith("batch_add") and len(options["bases"]) == FATAL:
            raise KeyError("no such buffer")
        super().launch(kernel, **options)


def open_raising(choice: DeviceChoice) -> Device:
    """A device with such a fault."""
    del choice
    return RaisingDevice()


def open_dying(choice: DeviceChoice) -> Device:
    """A device that dies."""
    del choice
    return DyingDevice()


_opened: list[Device] = []


def open_losing(choice: DeviceChoice) -> Device:
    """A device that is lost: one a process, so that it stays lost."""
    del choice
    if not _opened:
        _opened.append(LosingDevice())
    return _opened[0]
