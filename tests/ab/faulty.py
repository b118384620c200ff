"""Devices that are wrong in a place of their own, for the comparison to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.device.host import CpuDevice

#: What goes wrong with a launch's arguments once the kernel has run.
Action = Callable[[dict[str, Any]], None]


class FaultyDevice(CpuDevice):
    """A cpu device whose kernels of one kind leave something wrong behind.

    Args:
        kernel: Start of the kernels' names.
        action: What goes wrong.
    """

    def __init__(self, kernel: str, action: Action) -> None:
        super().__init__()
        self._kernel, self._action = kernel, action

    def launch(self, kernel: str, *, grid: int, block: int, shared_bytes: int = 0, **args: Any) -> None:
        """Launch, and spoil."""
        super().launch(kernel, grid=grid, block=block, shared_bytes=shared_bytes, **args)
        if kernel.startswith(self._kernel) and grid:
            self._action(args)


def flip(field: str, at: int) -> Action:
    """The lowest bit of one word of an output, where it is that long."""

    def action(args: dict[str, Any]) -> None:
        words = args[field].reshape(-1)
        if len(words) > at:
            words[at] ^= np.asarray(1, words.dtype)

    return action


def when(name: str, value: int, action: Action) -> Action:
    """An action for launches with one value of an argument."""

    def chosen(args: dict[str, Any]) -> None:
        if int(args[name]) == value:
            action(args)

    return chosen
