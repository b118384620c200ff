"""Work of a known time on a device's stream that is of no use: it holds a stream up, or makes a phase slower."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Load"]

#: Launches before and between the marks of a calibration: the first are queued while the device still runs them, so
#: that it never waits for the host between the marks.
_AHEAD, _TIMED = 24, 16
#: Smallest launch of what is planted, and how many sizes there are, each twice the one before it.
_LOG_UNIT, _SIZES = 14, 9


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
        self._launch(self._in, self._out)
        self.whole_ms = min(self._time(self._in, self._out) for _ in range(3))
        logs = range(min(_LOG_UNIT, log_elements), min(_LOG_UNIT + _SIZES, log_elements + 1))
        parts = ((self._in[: 1 << log], self._out[: 1 << log]) for log in reversed(logs))
        #: (milliseconds, source, target) of launches, the longest first.
        self._steps = [(max(1e-4, min(self._time(*part) for _ in range(9))), *part) for part in parts]

    @property
    def least_ms(self) -> float:
        """Milliseconds of the shortest launch."""
        return self._steps[-1][0]

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
        """Launch work of so long, to the length of the shortest launch; it does not wait.

        Long launches first, so that there are few: the host must not be late because of them.
        """
        for took, source, into in self._steps:
            while took <= milliseconds:
                self._launch(source, into)
                milliseconds -= took
        took, source, into = self._steps[-1]
        if milliseconds > took / 2:
            self._launch(source, into)
