"""The two buffers that streamed bases pass through: order, waits, page locks, and feeds that are given up.

Would catch: a copy that waits for too much and so hides nothing, or for too little; a chunk of another query after an
error; pages that stay locked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from cuzk.device import Device, Ticket
from cuzk.device.host import CpuDevice
from cuzk.errors import InternalError
from cuzk.groth16.key_stream import KeyStream, StreamedQuery
from tests.prover.support import device, workload


class Journal(CpuDevice):
    """Notes copies with what they wait for, marks, and which arrays are page-locked."""

    def __init__(self) -> None:
        super().__init__(memory_limit=1 << 20)
        self.notes: list[tuple[str, Any]] = []
        self.locked: list[int] = []

    @contextmanager
    def lock_pages(self, array: Any) -> Iterator[bool]:
        self.locked.append(id(array))
        yield True
        self.locked.remove(id(array))

    def stage(self, host_array: Any, into: Any, after: Ticket | None = None) -> Ticket:
        self.notes.append(("stage", after))
        return super().stage(host_array, into, after)

    def synchronize(self) -> None:
        self.notes.append(("synchronize", self.memory().used))

    def mark(self) -> Ticket:
        ticket = super().mark()
        self.notes.append(("mark", ticket))
        return ticket


def whole(array: Any) -> Any:
    """What an array is a view of."""
    return array if array.base is None else whole(array.base)


def stream_of(
    lengths: dict[str, int], chunk: int, on: Device, lock_bytes: int = 0
) -> tuple[KeyStream, dict[str, Any]]:
    """A stream over made-up bases; b_g2's are twice as large."""
    curve = workload("random", "toy", 20).curve
    queries, arrays = [], {}
    for name, length in lengths.items():
        group = curve.g2 if name == "b_g2" else curve.g1
        shape = (length, *group.affine_shape)
        arrays[name] = np.arange(int(np.prod(shape)), dtype=np.uint64).reshape(shape)
        queries.append(StreamedQuery(name, group, arrays[name], chunk // group.degree))
    return KeyStream(on, queries, chunk * curve.g1.affine_bytes, lock_bytes), arrays


@pytest.mark.parametrize("chunk", [2, 6, 10, 64])
def test_a_copy_waits_for_the_last_reader_of_its_buffer(chunk: int) -> None:
    """Copy k + 1 waits for the kernels of chunk k - 1 and for no later ones, so it runs beside those of chunk k."""
    journal = Journal()
    stream, arrays = stream_of({"h": 20, "l": 7, "b_g2": 11}, chunk, journal)
    journal.notes.clear()
    for _ in range(2):
        stream.begin()
        for name, bases in arrays.items():
            seen = [(one.first, one.last, np.array(one.bases)) for one in stream.feed(name)]
            assert np.array_equal(np.concatenate([part for _, _, part in seen]), bases)
            assert all(len(part) == last - first for first, last, part in seen)
    stages = [ticket for what, ticket in journal.notes if what == "stage"]
    marks = [ticket for what, ticket in journal.notes if what == "mark"]
    total = 2 * sum(
        -(-len(bases) // (chunk // (2 if name == "b_g2" else 1))) for name, bases in arrays.items()
    )
    assert len(stages) == len(marks) == total
    assert all(after is marks[i] for i, after in enumerate(stages[2:]))


def test_page_locks_end_with_the_stream() -> None:
    """Bases are locked in order while they fit the allowance, and let go with the stream."""
    for extra, count in ((0, 2), (-1, 1), (1 << 20, 3)):
        journal = Journal()
        stream, arrays = stream_of({"h": 8, "l": 4, "a": 40}, 4, journal, (8 + 4) * 16 + extra)
        assert journal.locked == [id(whole(bases)) for bases in arrays.values()][:count]
        del stream
        assert journal.locked == []
    # Sections of one file's map are locked as one.
    file, group = np.zeros((40, 2, 1), np.uint64), workload("random", "toy", 20).curve.g1
    journal = Journal()
    queries = [StreamedQuery(name, group, file[i : i + 9], 4) for i, name in enumerate(("h", "l", "a"))]
    stream = KeyStream(journal, queries, 64, file.nbytes)
    assert journal.locked == [id(file)]
    del stream


def test_a_closed_stream_holds_nothing() -> None:
    """Neither buffers nor locked pages, and the device was asked to let go of what copies filled."""
    journal = Journal()
    before = journal.memory().used
    stream, _ = stream_of({"h": 8, "l": 4}, 4, journal, 1 << 10)
    assert [chunk.first for chunk in stream.feed("h")] == [0, 4]
    assert journal.memory().used > before
    journal.notes.clear()
    stream.close()
    stream.close()  # no harm
    assert journal.locked == []
    assert journal.memory().used == before
    assert journal.notes[0] == ("synchronize", before)
    with pytest.raises(InternalError, match="not streamed"):
        next(stream.feed("h"))


def test_ahead_starts_the_next_copy_once() -> None:
    """A chunk's user may start the next copy before it waits for its own kernels; it is made up for otherwise."""
    journal = Journal()
    stream, _ = stream_of({"h": 8, "l": 4}, 4, journal)
    journal.notes.clear()
    order = []
    for chunk in stream.feed("h"):
        chunk.ahead()
        chunk.ahead()
        order.append((chunk.first, sum(what == "stage" for what, _ in journal.notes)))
    assert order == [(0, 2), (4, 3)]  # the third is the first chunk of the next query


def test_a_feed_that_is_given_up_starts_anew() -> None:
    """After an error half way, and out of order, every chunk is still the right one."""
    stream, arrays = stream_of({"h": 12, "l": 5}, 4, device("cpu"))
    for given_up in (0, 1, 2):
        feed = stream.feed("h")
        for _ in range(given_up):
            next(feed)
        feed.close()
        for name in ("l", "h", "l"):
            got = [np.array(chunk.bases) for chunk in stream.feed(name)]
            assert np.array_equal(np.concatenate(got), arrays[name])
    with pytest.raises(InternalError, match="not streamed"):
        next(stream.feed("a"))


def test_no_bases_make_one_empty_chunk() -> None:
    stream, _ = stream_of({"l": 0, "h": 3}, 4, device("cpu"))
    assert [(chunk.first, chunk.last, len(chunk.bases)) for chunk in stream.feed("l")] == [(0, 0, 0)]
    assert [chunk.last for chunk in stream.feed("h")] == [3]
