"""Launches on one stream of a GPU, and the fault word that they share."""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.device.base import KernelSpec, raise_fault
from cuzk.device.cuda_modules import Modules

__all__ = ["FAULT_BYTES", "Launcher"]

#: Code and index of the first fault since the last look.
FAULT_BYTES = 16
#: A fault, or the loss of the context, is put down to one of so many launches.
_RECENT_LAUNCHES = 64
#: The largest argument struct of a kernel, in members.
_MAX_FIELDS = 64


class Launcher:
    """Launches kernels.  Not for several threads at once: the device's lock is around every call.

    Args:
        cuda: ``cupy.cuda``.
        stream: Where kernels run.
        modules: Where they come from.
        fault_address: FAULT_BYTES bytes of the GPU, zero.
        mailbox: As many page-locked bytes of the host.
    """

    def __init__(
        self, cuda: Any, stream: Any, modules: Modules, fault_address: int, mailbox: npt.NDArray[np.uint8]
    ) -> None:
        self._driver, self._runtime, self._stream, self._modules = cuda.driver, cuda.runtime, stream, modules
        self._mailbox = mailbox
        #: The latest launches since the last look at the fault word.
        self.recent: deque[str] = deque(maxlen=_RECENT_LAUNCHES)
        # cuLaunchKernel takes an array of pointers to the arguments: the struct, then the fault word's address.
        # It has read them when it returns, so one set serves every launch.
        self._struct = ctypes.create_string_buffer(8 * _MAX_FIELDS)
        self._fault_argument = ctypes.c_uint64(fault_address)
        self._arguments = (ctypes.c_void_p * 2)(
            ctypes.addressof(self._struct), ctypes.addressof(self._fault_argument)
        )
        self._arguments_address = ctypes.addressof(self._arguments)

    def launch(self, spec: KernelSpec, grid: int, block: int, shared_bytes: int, words: list[int]) -> None:
        """Launch with one 64-bit word for each field of the argument struct."""
        function = self._modules.function(spec.name)
        spec.packer.pack_into(self._struct, 0, *words)
        self.recent.append(spec.name)
        self._driver.launchKernel(
            function.ptr, grid, 1, 1, block, 1, 1, shared_bytes, self._stream.ptr, self._arguments_address, 0
        )

    def settle(self) -> None:
        """Wait for everything launched, then look at the fault word and clear it.

        Raises:
            KernelFault: A kernel reported bad data.
        """
        runtime, stream, address = self._runtime, self._stream, self._fault_argument.value
        runtime.memcpyAsync(
            self._mailbox.ctypes.data, address, FAULT_BYTES, runtime.memcpyDeviceToHost, stream.ptr
        )
        stream.synchronize()
        code, index = (int(word) for word in self._mailbox.view(np.uint64))
        kernels = " or ".join(dict.fromkeys(list(self.recent)[-4:]))
        self.recent.clear()
        if code:
            runtime.memsetAsync(address, 0, FAULT_BYTES, stream.ptr)
            raise_fault(kernels, code, index)
