"""Bases that do not stay on the device: they pass through two buffers, in chunks, straight from the host's arrays.

While the kernels work on one chunk the next is copied into the other buffer. The order of all chunks of a proof is
known beforehand, so the first chunk of a query is on its way while the one before it is finished, and the first of a
proof as soon as the caller says so.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.device.copies import Ticket
from cuzk.errors import InternalError
from cuzk.groth16.residency import NUM_BUFFERS
from cuzk.limbs import U64Array

__all__ = ["Chunk", "KeyStream", "StreamedQuery", "borders"]


def borders(length: int, chunk: int) -> list[tuple[int, int]]:
    """First and last (exclusive) index of every chunk; a single empty one for no bases."""
    return [(first, min(first + chunk, length)) for first in range(0, max(length, 1), chunk)]


def _whole(array: U64Array) -> npt.NDArray[Any]:
    """The array that an array is a view of: a file's map, for a section of it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@dataclass(frozen=True, eq=False)
class StreamedQuery:
    """The bases of one query on the host.

    Args:
        name: The query.
        group: The bases' group.
        bases: Shape (m, *affine_shape) uint64, C-contiguous; may be mapped from a file. Form: Montgomery.
        chunk: Bases of a chunk.
    """

    name: str
    group: GroupSpec
    bases: U64Array
    chunk: int


@dataclass(frozen=True, eq=False)
class Chunk:
    """Neighbouring bases of a query on the device.

    Args:
        first: Index of the first in the query.
        last: Index behind the last.
        bases: Shape (last - first, *affine_shape) uint64; valid until the next chunk is asked for.
        ahead: Starts the copy of the next chunk. To be called once the chunk's longest kernels are launched and
            before the host waits for them; what is not called is made up for when the next chunk is asked for.
    """

    first: int
    last: int
    bases: Array
    ahead: Callable[[], None]


@dataclass(frozen=True, eq=False)
class _Piece:
    """One chunk of one query."""

    query: StreamedQuery
    first: int
    last: int


class KeyStream:
    """Two buffers and the order in which chunks pass through them.

    Args:
        device: Where to.
        queries: In the order in which a proof takes them.
        buffer_bytes: Bytes of each of the two buffers; a chunk of every query fits one.
        lock_bytes: Bytes of the host's memory that may be page-locked while this lives, so that chunks are copied at
            the bus's speed and without the host's cores. What is not, or can't be, takes the way round.

    Not safe to use from several threads.
    """

    def __init__(
        self, device: Device, queries: Sequence[StreamedQuery], buffer_bytes: int, lock_bytes: int = 0
    ) -> None:
        self.device = device
        locks = ExitStack()
        self._unlock = weakref.finalize(self, locks.close)
        wholes = {id(whole): whole for whole in (_whole(query.bases) for query in queries)}
        for whole in wholes.values():
            lock_bytes -= whole.nbytes
            if lock_bytes >= 0:
                locks.enter_context(device.lock_pages(whole))
        self._pieces = [
            _Piece(query, first, last)
            for query in queries
            for first, last in borders(len(query.bases), query.chunk)
        ]
        with device.label("key_stream"):
            self._buffers = [device.alloc((buffer_bytes // 8,)) for _ in range(NUM_BUFFERS)]
        # When the last launch that reads a buffer is over; the buffers are new, so nothing reads them yet.
        self._free = [device.mark() for _ in self._buffers]
        # The chunk that is on its way or there: its place in the order, its buffer and the end of its copy.
        self._staged: tuple[int, int, Ticket] | None = None
        # The buffer of the chunk that was handed out last: the next copy takes the other.
        self._last_slot = 1

    def begin(self) -> None:
        """Start to copy the first chunk of a proof, if it is not on its way yet."""
        if self._staged is None or self._staged[0] != 0:
            self._stage(0)

    def close(self) -> None:
        """Let go of the buffers and of the page locks, for good.

        Waits for the copies: until they have ended a device keeps what they fill, and whatever is allocated meanwhile
        is placed behind it.
        """
        self._staged = None
        self._buffers.clear()
        self._pieces.clear()
        self.device.synchronize()
        self._unlock()

    def feed(self, name: str) -> Generator[Chunk, None, None]:
        """The chunks of a query, each to be used in kernels that are launched before the next is asked for."""
        places = [place for place, piece in enumerate(self._pieces) if piece.query.name == name]
        if not places:
            raise InternalError(f"the query {name!r} is not streamed")
        for place in places:
            if self._staged is None or self._staged[0] != place:
                self._stage(place)
            yield from self._pass(place)

    def _pass(self, place: int) -> Iterator[Chunk]:
        """One chunk that is staged; after its launches, at the latest, the copy of the next is started."""
        if self._staged is None:
            raise InternalError("a chunk that was just staged is gone")
        _, slot, ticket = self._staged
        self._staged, self._last_slot = None, slot
        piece = self._pieces[place]
        self.device.wait(ticket)
        ahead = functools.partial(self._ahead, place + 1)
        try:
            yield Chunk(piece.first, piece.last, self._view(slot, piece), ahead)
        finally:
            self._free[slot] = self.device.mark()
        ahead()

    def _ahead(self, place: int) -> None:
        """Start the copy of a chunk, unless it is on its way or there is none."""
        if place < len(self._pieces) and self._staged is None:
            self._stage(place)

    def _stage(self, place: int) -> None:
        """Start a copy; it waits for the last launch that reads its buffer."""
        slot = 1 - self._last_slot
        piece = self._pieces[place]
        bases = piece.query.bases[piece.first : piece.last]
        ticket = self.device.stage(bases, self._view(slot, piece), after=self._free[slot])
        self._staged = place, slot, ticket

    def _view(self, slot: int, piece: _Piece) -> Array:
        shape = piece.query.group.affine_shape
        words = piece.query.group.affine_bytes // 8
        count = piece.last - piece.first
        return self._buffers[slot][: count * words].reshape(count, *shape)
