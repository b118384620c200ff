"""Points in a device's work, and copies that run beside it.

Kernels, and the copies of ``upload``, ``download`` and ``fill_zero``, run in launch order.  ``stage`` copies run
beside them, in an order of their own; a Ticket ties the two orders together.  ``mark()`` gives one for the point
that the launches have reached, ``stage`` one for the end of a copy::

    for i, chunk in enumerate(chunks):
        copied = device.stage(chunk, into=buffer[i % 2], after=free[i % 2])   # runs beside the kernels
        device.wait(copied)                                                   # kernels launched from here on
        ...                                                                   # launches that read buffer[i % 2]
        free[i % 2] = device.mark()                                           # the buffer may be overwritten

(with ``free = [None, None]`` at the start).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

__all__ = ["MOST_SPANS", "CopySpan", "Ticket"]

#: Spans that a device keeps for ``take_copies``; on a GPU each holds two events.
MOST_SPANS = 8192


@dataclass(frozen=True, eq=False)
class Ticket:
    """A point in the work of one device.

    Attributes:
        position: Launches made before this point; of a copy, before the point that the copy waited for.
        is_copy: Whether it is the end of a copy, not a point of the launches.
        passed_at: When a host device passed the point: seconds of time.perf_counter.
    """

    position: int
    is_copy: bool = False
    passed_at: float = field(default_factory=time.perf_counter)


@dataclass(frozen=True, slots=True)
class CopySpan:
    """One copy that ran beside the kernels.

    Attributes:
        label: Who asked.
        nbytes: Bytes copied.
        begin_ms: Milliseconds from the device's origin, as ``device.time_of`` counts for a mark.
        end_ms: As begin_ms.
    """

    label: str
    nbytes: int
    begin_ms: float
    end_ms: float
