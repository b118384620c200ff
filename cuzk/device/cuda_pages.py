"""Page-locked host memory, locked once and reused: a pool, arrays of callers, and a ring that chunks pass through.

A copy over the bus runs at full speed, and beside kernels, only from page-locked memory.  Locking fresh pages is slow
(1.8 GB/s), much slower than the copy itself, so nothing is locked per proof.
"""

from __future__ import annotations

import functools
import os
import queue
import threading
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["HostMemory", "LockedRanges", "Ring"]

#: Slots of the ring and their size: while one is filled, one waits and one is copied; and one to spare.
_RING_SLOTS = 4
_SLOT_BYTES = 32 << 20
#: One thread of the host copies about 10 GB/s, the bus takes 54: so many threads fill a slot.
_FILL_THREADS = 8
#: The smallest piece that is worth a thread.
_FILL_GRAIN = 1 << 20


class LockedRanges:
    """The page-locked ranges of host memory that this device knows of.

    A change replaces the whole tuple: whoever reads it meanwhile, in another thread, sees the old one.
    """

    def __init__(self) -> None:
        self._ranges: tuple[tuple[int, int], ...] = ()  # (start, end), ascending

    def add(self, start: int, nbytes: int) -> None:
        """Note a range; it overlaps no other."""
        self._ranges = tuple(sorted((*self._ranges, (start, start + nbytes))))

    def remove(self, start: int) -> None:
        """Forget the range that starts here, if there is one."""
        self._ranges = tuple(one for one in self._ranges if one[0] != start)

    @property
    def total_bytes(self) -> int:
        """Bytes of all ranges."""
        return sum(end - start for start, end in self._ranges)

    def covers(self, start: int, nbytes: int) -> bool:
        """Whether one range holds all of these bytes."""
        ranges = self._ranges
        at = bisect_right(ranges, start, key=itemgetter(0)) - 1
        return at >= 0 and start + nbytes <= ranges[at][1]


class HostMemory:
    """The page-locked memory of one device: a pool, the ring's slots, and arrays of callers.

    Args:
        cuda: ``cupy.cuda``.
        errors: What CUDA calls raise.
    """

    def __init__(self, cuda: Any, errors: tuple[type[Exception], ...]) -> None:
        self._cuda, self._errors = cuda, errors
        self._ranges = LockedRanges()
        self._pool = cuda.PinnedMemoryPool(self._allocate)
        self._slots: Ring | None = None
        # Not the device's lock: the copier's thread comes here while somebody who holds that one waits for the copier.
        self._making = threading.Lock()
        #: How often pages were locked; constant once a program is warm.
        self.growths = 0

    def _allocate(self, nbytes: int) -> Any:
        memory = self._cuda.PinnedMemory(nbytes)
        start = int(memory.ptr)
        self._ranges.add(start, nbytes)
        # The pool gives everything back when the system has no more.
        weakref.finalize(memory, self._ranges.remove, start).atexit = False
        self.growths += 1
        return self._cuda.PinnedMemoryPointer(memory, 0)

    @property
    def locked_bytes(self) -> int:
        """Host memory that is page-locked now, bytes."""
        return self._ranges.total_bytes

    def take(self, nbytes: int) -> npt.NDArray[np.uint8]:
        """Locked bytes from the pool; they return to it with the last view of them."""
        memory = self._pool.malloc(_size_class(nbytes))
        return np.frombuffer(memory, np.uint8, nbytes)

    def ring(self) -> Ring:
        """The ring of slots; made when something first needs it."""
        with self._making:
            if self._slots is None:
                event = functools.partial(self._cuda.Event, block=True, disable_timing=True)
                self._slots = Ring(self.take, event, slots=_RING_SLOTS, slot_bytes=_SLOT_BYTES)
            return self._slots

    def is_locked(self, array: npt.NDArray[Any]) -> bool:
        """Whether an array lies in locked memory as a whole."""
        return self._ranges.covers(array.ctypes.data, array.nbytes)

    @contextmanager
    def lock(self, array: npt.NDArray[Any], drain: Callable[[], None]) -> Iterator[bool]:
        """Lock the pages of a caller's array while a ``with`` block runs, as Device.lock_pages says.

        Args:
            array: The whole array that it is a view of is locked.
            drain: Waits for every copy; called before the pages are unlocked.
        """
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        start, nbytes = root.ctypes.data, root.nbytes
        if not root.flags.c_contiguous or not nbytes or self._ranges.covers(start, nbytes):
            yield bool(nbytes) and root.flags.c_contiguous
            return
        # Read-only memory (a key mapped from its file) needs a flag of its own.
        flags = _REGISTER_PORTABLE | (0 if root.flags.writeable else _REGISTER_READ_ONLY)
        try:
            self._cuda.runtime.hostRegister(start, nbytes, flags)
        except self._errors:
            yield False
            return
        self.growths += 1
        self._ranges.add(start, nbytes)
        try:
            yield True
        finally:
            self._ranges.remove(start)
            with suppress(
                *self._errors
            ):  # the context is lost: so are its locks, and a better error is on its way
                drain()
                self._cuda.runtime.hostUnregister(start)


_REGISTER_PORTABLE = 1  # cudaHostRegisterPortable
_REGISTER_READ_ONLY = 8  # cudaHostRegisterReadOnly


def _size_class(nbytes: int) -> int:
    """Round up by at most an eighth, so that arrays of about one size take the same pages."""
    step = max(1 << max(nbytes.bit_length() - 4, 0), 4096)
    return -(-nbytes // step) * step


class Ring:
    """Page-locked slots that chunks pass through.

    Args:
        allocate: Returns page-locked bytes.
        make_event: Returns an event that a thread can wait for without spinning.
        slots: How many there are.
        slot_bytes: Size of each.
    """

    def __init__(
        self,
        allocate: Callable[[int], npt.NDArray[np.uint8]],
        make_event: Callable[[], Any],
        *,
        slots: int,
        slot_bytes: int,
    ) -> None:
        self.slot_bytes = slot_bytes
        self._free: queue.SimpleQueue[tuple[npt.NDArray[np.uint8], Any]] = queue.SimpleQueue()
        for _ in range(slots):
            self._free.put((allocate(slot_bytes), make_event()))
        self._num_fillers = threads = min(_FILL_THREADS, len(os.sched_getaffinity(0)))
        self._fillers = ThreadPoolExecutor(threads, thread_name_prefix="cuzk-fill") if threads > 1 else None

    def send(self, source: npt.NDArray[np.uint8], issue: Callable[[npt.NDArray[np.uint8], int], Any]) -> None:
        """Pass bytes through the ring; returns when the last have left `source`.

        Args:
            source: The bytes.
            issue: Called with (locked bytes, offset): starts their copy and returns the stream it runs on.
        """
        for start in range(0, len(source), self.slot_bytes):
            chunk = source[start : start + self.slot_bytes]
            slot, event = self._free.get()
            try:
                event.synchronize()  # what passed through it last is on the GPU
                self._fill(slot[: len(chunk)], chunk)
                event.record(issue(slot[: len(chunk)], start))
            finally:
                self._free.put((slot, event))

    def fetch(self, into: npt.NDArray[np.uint8], issue: Callable[[npt.NDArray[np.uint8], int], Any]) -> None:
        """Fill bytes of the host through the ring; `issue` starts a copy down.  Returns when all have arrived."""
        waiting: deque[tuple[npt.NDArray[np.uint8], Any, int, int]] = deque()

        def arrive() -> None:
            slot, event, start, length = waiting.popleft()
            try:
                event.synchronize()
                self._fill(into[start : start + length], slot[:length])
            finally:
                self._free.put((slot, event))

        try:
            for start in range(0, len(into), self.slot_bytes):
                length = min(self.slot_bytes, len(into) - start)
                if (
                    len(waiting) == 2
                ):  # one on its way, one being emptied; the others are left to other threads
                    arrive()
                slot, event = self._free.get()
                waiting.append((slot, event, start, length))
                event.synchronize()
                event.record(issue(slot[:length], start))
            while waiting:
                arrive()
        finally:
            for slot, event, _, _ in waiting:  # after an error only
                self._free.put((slot, event))

    def _fill(self, into: npt.NDArray[np.uint8], source: npt.NDArray[np.uint8]) -> None:
        """Copy on the host, in several threads where it pays: one piece each, for handing over costs time, too."""
        if self._fillers is None or len(source) < 2 * _FILL_GRAIN:
            np.copyto(into, source)
            return
        piece = max(-(-len(source) // self._num_fillers), _FILL_GRAIN)
        parts = [(into[at : at + piece], source[at : at + piece]) for at in range(0, len(source), piece)]
        for _ in self._fillers.map(lambda part: np.copyto(*part), parts):
            pass
