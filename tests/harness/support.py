"""Devices with a planted fault, and short campaigns on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cuzk_fuzz.devices import DeviceChoice
from cuzk_fuzz.engine import Budget, Campaign, Result, run_campaign
from cuzk_fuzz.registry import TARGETS

from cuzk.device import Array, Device
from cuzk.device.host import CpuDevice

#: What a fault does to the arguments of a launch once the kernel has run.
Fault = Callable[[dict[str, Any]], None]


class FaultyDevice(CpuDevice):
    """A cpu device whose kernels of one kind leave something wrong behind.

    Args:
        kernel: Start of the kernels' names.
        fault: What goes wrong.
    """

    def __init__(self, kernel: str, fault: Fault) -> None:
        super().__init__(1)
        self._kernel, self._fault = kernel, fault

    def launch(
        self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Array | int
    ) -> None:
        """Launch, then spoil."""
        super().launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes, **args)
        if kernel.startswith(self._kernel) and grid:
            self._fault(args)


def flip(field: str) -> Fault:
    """One bit of the last word of an output, if there is one."""

    def fault(args: dict[str, Any]) -> None:
        words = args[field].reshape(-1)
        if len(words):
            words[-1] ^= np.asarray(1, words.dtype)

    return fault


def always(device: Device) -> Callable[[DeviceChoice], Device]:
    """An opener that gives the same device for every choice."""
    return lambda choice: device


def campaign_on(device: Device, target: str, cases: int, seed: int = 1) -> Result:
    """A campaign of a target on a device, until a finding or so many cases."""
    campaign = Campaign(TARGETS[target], "cpu", seed=seed, opener=always(device))
    return run_campaign(campaign, Budget(cases=cases))
