"""How the large arrays of a proof are let go: what the variant B2 chooses.

``arena``: each when its last reader is done; its memory goes back to the device's arena, whose next array takes it, and
no call of the system is made.  ``sync``: all that is left at the end, in the phase ``dealloc``, before the proof is
returned.  ``async``: the same by another thread, one batch after the other, while the proof is returned.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cuzk.device.base import Device
from cuzk.telemetry import Recorder

__all__ = ["Disposal"]


class Disposal:
    """Lets arrays go.

    Args:
        setting: "arena", "sync" or "async".
        device: Where arrays of a device are.
        recorder: Where the phase is booked.
    """

    def __init__(self, setting: str, device: Device, recorder: Recorder) -> None:
        self.setting = setting
        self._device, self._recorder = device, recorder
        self._worker = ThreadPoolExecutor(1, "cuzk-dealloc") if setting == "async" else None

    def dispose(self, arrays: list[Any]) -> None:
        """Let go of arrays of which the caller holds the last references.

        Args:
            arrays: Of the device or the host. Empty afterwards; by ``async``, soon.
        """
        if self.setting == "arena":
            arrays.clear()
            return
        num_bytes = sum(array.nbytes for array in arrays)
        with self._recorder.phase("dealloc", B2=self.setting, arrays=len(arrays), bytes=num_bytes) as span:
            if self._worker is not None:
                self._worker.submit(arrays.clear)
                return
            before = self._device.memory().used
            arrays.clear()
            span.tag(freed_bytes=before - self._device.memory().used)
