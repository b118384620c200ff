"""One time axis for host and device: a device's own clock, brought onto the host's monotonic clock.

A device tells times in milliseconds from an origin of its own (on a GPU, between two CUDA events).  The offset to the
host's clock is found by asking for a point that the device passes right now: the true time lies between the reading
before and the reading after, so the tightest of several tries says the offset and how wrong it can be.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["DeviceAxis"]


@dataclass(frozen=True)
class DeviceAxis:
    """Where a device's milliseconds lie on the host's clock.

    Args:
        offset_ns: Host nanoseconds at the device's origin.
        error_ns: By how much that can be wrong, either way.
    """

    offset_ns: int
    error_ns: int

    @classmethod
    def measure(
        cls, now_ms: Callable[[], float], *, clock: Callable[[], int] = time.perf_counter_ns, tries: int = 5
    ) -> DeviceAxis:
        """Find the offset.

        Args:
            now_ms: Marks a point on the device, waits for it, and returns its time in the device's milliseconds.
            clock: The host's monotonic clock in nanoseconds, the recorder's.
            tries: How often to ask; the tightest answer counts.
        """
        found: DeviceAxis | None = None
        for _ in range(tries):
            before = clock()
            passed_ns = round(now_ms() * 1e6)
            after = clock()
            axis = cls((before + after) // 2 - passed_ns, (after - before + 1) // 2)
            if found is None or axis.error_ns < found.error_ns:
                found = axis
        assert found is not None
        return found

    def host_ns(self, device_ms: float) -> int:
        """The host's clock, nanoseconds, at a device's time in milliseconds."""
        return self.offset_ns + round(device_ms * 1e6)
