"""One region of addresses that all arrays of a device are cut from, and the account of who holds what.

The arena places blocks; it knows nothing of where the bytes are.  Best fit over holes that are merged as soon
as neighbours meet, so that the same sequence of requests is always placed the same way.  The same code counts
the memory of the host devices, so a limit of the GPU can be tried without one.

A block that is returned may be handed out again at once: all kernels of a device run in launch order, so the
next owner's come after the last owner's.  Copies that run beside the kernels carry their own order (copies.py).
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cuzk.errors import OutOfMemoryError

__all__ = ["ALIGNMENT", "NO_LABEL", "Arena", "Block", "MemoryReport", "format_bytes"]

#: Every block starts at a multiple of this and takes a multiple of it: one transaction of any GPU, and more.
ALIGNMENT = 512
#: Who holds what was allocated outside every label.
NO_LABEL = "unlabelled"


def format_bytes(count: int) -> str:
    """A number of bytes as people write it, such as "5.50 GiB"."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} bytes"


@dataclass(slots=True)
class Block:
    """One allocation.

    Attributes:
        start: Offset in the arena, bytes.
        size: Bytes taken, a multiple of ALIGNMENT.
        label: Who asked.
        born: How many launches the device had made when the block was handed out.
    """

    start: int
    size: int
    label: str
    born: int


@dataclass(frozen=True)
class MemoryReport:
    """The state of an arena, in bytes unless it says otherwise.

    Attributes:
        limit: What the device may hold.
        reserved: What is backed by memory of a GPU now; it never shrinks before the device is closed.  0 on hosts.
        used: What arrays hold now.
        peak: Most that arrays held at once since the last reset.
        largest_free: The largest array that fits now.
        growths: How often `reserved` grew (a count); constant once a program is warm.
        allocations: Arrays handed out (a count).
        held: Label -> what arrays made under it hold now.
        high_water: Label -> most that all arrays together held while something was allocated under it.
        page_locks: How often host memory was page-locked (a count); constant once a program is warm.  0 on hosts.
    """

    limit: int
    reserved: int
    used: int
    peak: int
    largest_free: int
    growths: int
    allocations: int
    held: dict[str, int] = field(default_factory=dict)
    high_water: dict[str, int] = field(default_factory=dict)
    page_locks: int = 0


class Arena:
    """Places blocks in ``[0, capacity)``.

    Args:
        name: The device, for messages.
        capacity: Bytes that may be handed out.
        grow: Called with the size that has to be backed before bytes beyond the present one are handed out; returns
            how many bytes are backed now, None if there is no more.  Without it everything is backed.
        reserved: Bytes that are backed from the start.
        remedy: What to do when nothing fits.
    """

    def __init__(
        self,
        name: str,
        capacity: int,
        *,
        grow: Callable[[int], int | None] | None = None,
        reserved: int = 0,
        remedy: str = "prove a smaller circuit",
    ) -> None:
        self.name = name
        self.capacity = capacity // ALIGNMENT * ALIGNMENT
        self._grow = grow
        self._reserved = reserved
        self._remedy = remedy
        self._holes: dict[int, int] = {0: self.capacity} if self.capacity else {}  # start -> size
        self._ends: dict[int, int] = {self.capacity: 0} if self.capacity else {}  # end -> start
        self._lock = threading.Lock()
        # Arrays die whenever Python's collector likes, even inside a locked region of this very thread: what
        # they held is put down here (append is atomic) and taken up at the next request.
        self._returned: deque[Block] = deque()
        self._labels = threading.local()
        self._used = self._peak = self._growths = self._allocations = 0
        self._held: Counter[str] = Counter()
        self._high_water: dict[str, int] = {}

    # -- labels

    @property
    def label(self) -> str:
        """The innermost label of this thread."""
        stack = getattr(self._labels, "stack", None)
        return stack[-1] if stack else NO_LABEL

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """Book what this thread allocates in a ``with`` block under a name."""
        stack = self._labels.__dict__.setdefault("stack", [])
        stack.append(label)
        try:
            yield
        finally:
            stack.pop()

    # -- blocks

    def take(self, nbytes: int, born: int = 0) -> Block:
        """Hand out a block.

        Args:
            nbytes: Size asked for; 0 takes no room.
            born: Launches made so far.

        Raises:
            OutOfMemoryError: No hole is large enough, or the device has no memory behind it.
        """
        size = -(-nbytes // ALIGNMENT) * ALIGNMENT
        label = self.label
        with self._lock:
            self._collect()
            start = self._best_fit(size, nbytes, label) if size else 0
            if size and start + size > self._reserved and self._grow is not None:
                backed = self._grow(start + size)
                if backed is None:
                    raise self.out_of_memory(nbytes, label, "other programs hold the rest of this GPU")
                self._reserved = backed
                self._growths += 1
            if size:
                hole = self._remove_hole(start)
                if hole > size:
                    self._add_hole(start + size, hole - size)
            self._used += size
            self._held[label] += size
            self._allocations += 1
            self._peak = max(self._peak, self._used)
            self._high_water[label] = max(self._high_water.get(label, 0), self._used)
        return Block(start, size, label, born)

    def give_back(self, block: Block) -> None:
        """Return a block.  May be called at any moment from any thread; takes no lock."""
        self._returned.append(block)

    def _collect(self) -> None:
        while self._returned:
            block = self._returned.popleft()
            self._used -= block.size
            self._held[block.label] -= block.size
            if not block.size:
                continue
            start, size = block.start, block.size
            if start + size in self._holes:
                size += self._remove_hole(start + size)
            if start in self._ends:
                before = self._ends[start]
                size += self._remove_hole(before)
                start = before
            self._add_hole(start, size)

    def _add_hole(self, start: int, size: int) -> None:
        self._holes[start] = size
        self._ends[start + size] = start

    def _remove_hole(self, start: int) -> int:
        size = self._holes.pop(start)
        del self._ends[start + size]
        return size

    def _best_fit(self, size: int, nbytes: int, label: str) -> int:
        best, best_hole = -1, self.capacity + 1
        for start, hole in self._holes.items():
            if size <= hole < best_hole or (
                hole == best_hole and start < best
            ):  # equal holes: the lowest address
                best, best_hole = start, hole
        if best < 0:
            raise self.out_of_memory(nbytes, label)
        return best

    def out_of_memory(self, nbytes: int, label: str, because: str | None = None) -> OutOfMemoryError:
        """The error of a request that can't be met: who needed what, what is held by whom, what would fit."""
        held = ", ".join(
            f"{name} {format_bytes(size)}" for name, size in self._held.most_common(6) if size > 0
        )
        largest = max(self._holes.values(), default=0)
        return OutOfMemoryError(
            f"{label} needs an array of {format_bytes(nbytes)}, which does not fit"
            + (f" ({because})" if because else "")
            + f": {format_bytes(self._used)} are held ({held or 'nothing'}), and the largest array that fits is "
            f"{format_bytes(largest)}",
            where=self.name,
            limit=format_bytes(self.capacity),
            remedy=self._remedy,
        )

    # -- the account

    def report(self) -> MemoryReport:
        """What is held now, and what was."""
        with self._lock:
            self._collect()
            return MemoryReport(
                limit=self.capacity, reserved=self._reserved, used=self._used, peak=self._peak,
                largest_free=max(self._holes.values(), default=0), growths=self._growths,
                allocations=self._allocations, held={k: v for k, v in self._held.items() if v},
                high_water=dict(self._high_water),
            )  # fmt: skip

    def reset_peak(self) -> None:
        """Begin a new account: peak and high water start from what is held now."""
        with self._lock:
            self._collect()
            self._peak = self._used
            self._high_water.clear()
            self._allocations = 0
