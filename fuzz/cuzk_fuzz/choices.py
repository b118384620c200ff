"""From bytes to structured choices: which edge class first, then which of its values.

A decoder reads its decisions from a ``Choices``.  The same decoder serves every source of bytes: a fuzzer's
mutations, a corpus file, or ``Guided``, which draws the bytes itself, prefers edge classes that were hit least,
and keeps what it drew, so that the same batch can be decoded again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

#: Bytes that a source without an end reports as left.
ENDLESS = 1 << 30


class Choices:
    """Decisions read from bytes; past the end every byte is zero.

    Args:
        data: The bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes not yet read."""
        return max(0, len(self._data) - self._at)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        piece = self._data[self._at : self._at + count]
        self._at += count
        return piece.ljust(count, b"\0")

    def below(self, limit: int) -> int:
        """A number in [0, limit), limit >= 1; reads two bytes more than the limit has."""
        return int.from_bytes(self.take((limit.bit_length() + 7) // 8 + 2), "little") % limit

    def between(self, low: int, high: int) -> int:
        """A number in [low, high]."""
        return low + self.below(high - low + 1)

    def one_in(self, count: int) -> bool:
        """True once in so many times."""
        return self.take(1)[0] % count == count - 1

    def several(self, limit: int) -> Iterator[int]:
        """0, 1, 2, ... while bytes are left: for as many cases as there are decisions for, at least one.

        Nothing may be read after the loop, or a recorded batch would decode to another number of cases.
        """
        count = 0
        while count < limit and (count == 0 or self.left):
            yield count
            count += 1

    def pick(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def pick_class(self, groups: Mapping[str, Sequence[T]]) -> T:
        """An edge class, then one of its values; every class has the same chance, however many values it has."""
        names = list(groups)
        return self.pick(groups[names[self._class_index(names)]])

    def _class_index(self, names: Sequence[str]) -> int:
        return int.from_bytes(self.take(2), "little") % len(names)


class Guided(Choices):
    """Seeded decisions without an end; half of the class choices go to the class that was hit least.

    Args:
        seed: The same seed and the same hits give the same decisions.
        hits: Hits per edge class so far.
    """

    def __init__(self, seed: str, hits: Mapping[str, int] | None = None) -> None:
        super().__init__(b"")
        self._random = random.Random(seed)
        self._hits: Counter[str] = Counter(hits or {})
        self._drawn: list[bytes] = []

    @property
    def left(self) -> int:
        """More than anybody reads."""
        return ENDLESS

    @property
    def record(self) -> bytes:
        """What was drawn: ``Choices(record)`` decides the same."""
        return b"".join(self._drawn)

    def take(self, count: int) -> bytes:
        """Draw the next bytes."""
        piece = self._random.randbytes(count)
        self._drawn.append(piece)
        return piece

    def _class_index(self, names: Sequence[str]) -> int:
        if self._random.random() < 0.5:
            index = int.from_bytes(self._random.randbytes(2), "little") % len(names)
        else:
            index = min(range(len(names)), key=lambda i: (self._hits[names[i]], self._random.random()))
            self._hits[names[index]] += 1  # a hint within this batch; the engine counts what really happened
        room = (0xFFFF - index) // len(names)
        self._drawn.append((index + len(names) * self._random.randint(0, room)).to_bytes(2, "little"))
        return index
