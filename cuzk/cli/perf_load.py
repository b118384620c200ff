"""Work of a known time on a device's stream that is of no use: it holds a stream up, or makes a phase slower."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Load"]

#: Launches before and between the marks of a calibration: the first are queued while the device still runs them, so
#: that it never waits for the host between the marks.
_AHEAD, _TIMED = 24, 16
#: Largest launch of what is planted: several of them fit the cache, and one is a fraction of the shortest plant.
_LOG_UNIT = 17


class Load:
    """Products of two vectors on a device's stream.

    Args:
        device: Where.
        curve: Whose scalars are multiplied.
        log_elements: Of a launch that holds the stream up; it should last many times what a launch costs the host.
    """

    def __init__(self, device: Any, curve: Any, log_elements: int = 22) -> None:
        from cuzk.ops.fr_vec import fr_mul

        self._multiply, self._device, self._curve = fr_mul, device, curve
        shape = (1 << log_elements, curve.fr.limbs)
        self._in, self._out = (device.alloc(shape, np.uint64, zero=True) for _ in range(2))
        unit = 1 << min(_LOG_UNIT, log_elements)
        self._small, self._unit = (self._in[:unit], self._out[:unit]), unit
        self._launch(self._in, self._out)
        self.whole_ms = min(self._time(self._in, self._out) for _ in range(3))
        self.unit_ms = min(self._time(*self._small) for _ in range(9))

    def _launch(self, source: Any, into: Any) -> None:
        self._multiply(self._device, self._curve, source, source, into)

    def _time(self, source: Any, into: Any) -> float:
        """Milliseconds of a launch among others."""
        for _ in range(_AHEAD):
            self._launch(self._in, self._out)
        begin = self._device.mark()
        for _ in range(_TIMED):
            self._launch(source, into)
        end = self._device.mark()
        self._device.synchronize()
        return float(self._device.elapsed(begin, end)) / _TIMED

    def hold(self, milliseconds: float) -> None:
        """Launch work of at least so long; it does not wait."""
        for _ in range(int(milliseconds / self.whole_ms) + 1):
            self._launch(self._in, self._out)

    def run(self, milliseconds: float) -> None:
        """Launch work of so long, to half a unit; it does not wait."""
        for _ in range(max(1, round(milliseconds / self.unit_ms))):
            self._launch(*self._small)
