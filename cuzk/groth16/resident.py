"""A proving key on a device: what stays there, what passes through, and where each query's bases come from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cuzk.closures import Tape
from cuzk.curves import Curve, GroupSpec
from cuzk.device.base import Array, Device
from cuzk.device.machine import has_bmi2_adx
from cuzk.errors import InternalError, OutOfMemoryError
from cuzk.groth16.finite import Mask, compact, find_infinite
from cuzk.groth16.key_stream import Chunk, KeyStream, StreamedQuery, borders
from cuzk.groth16.residency import QUERY_ORDER, WITNESS_QUERIES, KeyShape, ResidencyPlan, plan_residency
from cuzk.groth16.row_forms import CsrRows, PieceRows, RowForm
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array
from cuzk.ops.domain import Domain
from cuzk.ops.piece_tables import DevicePieces
from cuzk.pieces import CompiledCircuit

__all__ = ["Query", "ResidentKey", "Rows"]

#: The rows' values a, b, c: one array of shape (3, n, limbs), or three of shape (n, limbs).
Rows: TypeAlias = Array | list[Array]

#: Finite bases of a query above which a copy without the infinite ones does not pay, as a share of all.
_MOST_FINITE = 0.75
#: Share of the host's memory that streamed bases may have page-locked.
_LOCK_SHARE = 3


@dataclass(frozen=True, eq=False)
class Query:
    """The bases of one multi-scalar multiplication of a proof.

    Args:
        name: "a", "b_g1", "b_g2", "l" or "h".
        group: The bases' group.
        length: Number of bases, m.
        bases: Shape (m, *affine_shape) uint64, on the device; None where they are streamed. Form: Montgomery;
            infinity is all zero.
        skip: Shape (m,) uint8, on the device: 1 where the base is infinity; None where none is, or nobody asks.
        first: Index of the scalar that belongs to bases[0] (the L query starts behind the public variables).
        places: Shape (m,) uint32, on the device: index of each base's scalar, where the infinite bases are left out;
            None where the scalars follow one another.
        chunk: Bases of a chunk where they are streamed.
    """

    name: str
    group: GroupSpec
    length: int
    bases: Array | None
    skip: Array | None = None
    first: int = 0
    places: Array | None = None
    chunk: int = 0

    @property
    def borders(self) -> list[tuple[int, int]]:
        """First and last (exclusive) base of every chunk: one chunk of a resident query."""
        return [(0, self.length)] if self.bases is not None else borders(self.length, self.chunk)


@dataclass(frozen=True, eq=False)
class ResidentKey:
    """What the phases of a proof read.

    Args:
        key: The key this was uploaded from; streamed bases come from its arrays.
        device: Where.
        plan: What stays on the device.
        domain: The evaluation domain of the key's rows.
        rows: The circuit's rows, with those that bind the inputs.
        pieces: The compiled circuit, where its programs make witnesses; None where there is none.
        queries: The five queries by name.
        stream: The way of bases that do not stay; None where all do.
        tuned_windows: (group, log2 of terms) -> bits of the window that D4 = autotuned found fastest here.
        is_folded: Whether the L bases hold what C contributes to h, so that they are those of all variables.
    """

    key: ProvingKey
    device: Device
    plan: ResidencyPlan
    domain: Domain
    rows: RowForm
    pieces: DevicePieces | None
    queries: dict[str, Query]
    stream: KeyStream | None
    tuned_windows: dict[tuple[str, int], int] = field(default_factory=dict)
    is_folded: bool = False

    @property
    def curve(self) -> Curve:
        """The key's curve."""
        return self.key.curve

    @cached_property
    def tape(self) -> Tape:
        """The circuit's steps for the classic synthesis, made at first use: the rows' own, binding rows included."""
        key = self.key
        return Tape.from_matrices(key.curve, (key.a, key.b, key.c), key.num_public + 1, fast=has_bmi2_adx())

    @classmethod
    def upload(
        cls,
        device: Device,
        key: ProvingKey,
        circuits: int = 1,
        *,
        compiled: CompiledCircuit | None = None,
        by_pieces: bool = False,
        folded_l: U64Array | None = None,
    ) -> ResidentKey:
        """Upload a key, as much of it as finds room beside a proof's own arrays.

        Args:
            device: Where to.
            key: Checked for shapes; points on the curve are the loader's business. Its arrays must not change
                while proofs are made. Of streamed queries that are mostly infinity the host keeps a copy of the rest.
            circuits: Witnesses that are best proved together, as plan_residency() takes it.
            compiled: The circuit, if its programs are to make witnesses, or its pieces the rows.
            by_pieces: The rows come from the pieces of `compiled`, without it from the whole circuit as one; the key's
                matrices then stay where they are.
            folded_l: The L bases of all variables (fold.py), instead of the key's.

        Raises:
            OutOfMemoryError: A proof does not fit the device even with all bases streamed.
            ShapeError, RangeError: The compiled circuit is damaged.
        """
        shape = KeyShape.of(key, device.limits)
        if folded_l is not None:
            shape = replace(shape, lengths={**shape.lengths, "l": len(folded_l)})
        with device.label("key"):
            pieces = None if compiled is None else DevicePieces.upload(device, compiled)
            rows = PieceRows.upload(device, key, pieces) if by_pieces else None
        matrix_bytes = (0 if rows else shape.matrix_bytes) + sum(
            p.nbytes for p in {rows and rows.pieces, pieces} if p
        )
        shape = replace(shape, matrix_bytes=matrix_bytes)
        plan = plan_residency(shape, device.limits, circuits)
        parts = _Parts(device, key, folded_l)
        if plan.streamed:
            parts.find_infinite(plan)
            with suppress(OutOfMemoryError):  # the scalars that are gathered then may be too much
                plan = plan_residency(shape.with_lengths(parts.kept_lengths), device.limits, circuits)
                parts.leave_infinite_out()
        with device.label("key"):
            form: RowForm = rows or CsrRows.upload(device, key)
        queries, stream = parts.upload(plan)
        return cls(
            key=key, device=device, plan=plan, domain=Domain(key.curve, key.log_domain, key.root_convention),
            rows=form, pieces=pieces, queries=queries, stream=stream, is_folded=folded_l is not None,
        )  # fmt: skip

    def chunks(self, name: str) -> Iterator[Chunk]:
        """The bases of a query: one chunk if they are resident, else chunks that pass through the device.

        Each is to be used in kernels that are launched before the next is asked for.
        """
        query = self.queries[name]
        if query.bases is not None:
            yield Chunk(0, query.length, query.bases, lambda: None)
        elif self.stream is not None:
            yield from self.stream.feed(query.name)
        else:
            raise InternalError(f"the bases of the query {query.name!r} are nowhere")


def _host_bytes() -> int:
    """Physical memory of the host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class _Parts:
    """A key's queries on their way to a device."""

    def __init__(self, device: Device, key: ProvingKey, folded_l: U64Array | None) -> None:
        self.device, self.key = device, key
        self.bases: dict[str, U64Array] = {name: getattr(key, f"{name}_query") for name in QUERY_ORDER}
        self._first_l = key.num_public + 1
        if folded_l is not None:
            self.bases["l"], self._first_l = folded_l, 0
        self.masks: dict[str, Mask | None] = {"h": None}  # full-width scalars: nobody asks for infinite bases
        self.places: dict[str, npt.NDArray[np.uint32]] = {}
        if key.b_places is not None:
            self.places |= {"b_g1": key.b_places, "b_g2": key.b_places}
            self.masks |= {"b_g1": None, "b_g2": None}
        self._uploaded: dict[bytes, Array] = {}

    @property
    def kept_lengths(self) -> dict[str, int]:
        """Bases of the queries from which it pays to leave the infinite ones out."""
        finite = {name: len(m) - int(np.count_nonzero(m)) for name, m in self.masks.items() if m is not None}
        without = {name: len(self.bases[name]) for name in self.places}
        return without | {name: n for name, n in finite.items() if n <= _MOST_FINITE * len(self.bases[name])}

    def _group(self, name: str) -> GroupSpec:
        return self.key.curve.g2 if name == "b_g2" else self.key.curve.g1

    def _first(self, name: str) -> int:
        return self._first_l if name == "l" else 0

    def find_infinite(self, plan: ResidencyPlan) -> None:
        """Let all bases pass through the device once, to see which are infinity."""
        names = tuple(name for name in WITNESS_QUERIES if name not in self.places)
        # Closed before anything that stays is placed: a hole as large as its buffers would fit little else.
        with closing(self._stream(names, plan)) as stream:
            for name in names:
                group, length = self._group(name), len(self.bases[name])
                self.masks[name] = find_infinite(self.device, group, length, stream.feed(name))

    def leave_infinite_out(self) -> None:
        """Take the queries that it pays for without their infinite bases."""
        for name in self.kept_lengths.keys() - self.places.keys():
            places = np.flatnonzero(self.masks[name] == 0).astype(np.uint32)
            self.bases[name] = compact(self.bases[name], places)
            self.places[name], self.masks[name] = places + np.uint32(self._first(name)), None

    def upload(self, plan: ResidencyPlan) -> tuple[dict[str, Query], KeyStream | None]:
        """Copy up what stays, and make a way for what does not."""
        with self.device.label("key"):
            resident = {
                name: self.device.upload(self.bases[name]) for name in QUERY_ORDER if name in plan.resident
            }
        queries = {}
        for name in QUERY_ORDER:
            group, bases = self._group(name), resident.get(name)
            if name not in self.masks and bases is not None:
                whole = Chunk(0, len(bases), bases, lambda: None)
                self.masks[name] = find_infinite(self.device, group, len(bases), [whole])
            queries[name] = Query(
                name, group, len(self.bases[name]), bases, skip=self._shared(self.masks[name]),
                first=0 if name in self.places else self._first(name),
                places=self._shared(self.places.get(name)), chunk=plan.chunk_length(group),
            )  # fmt: skip
        if not plan.streamed:
            return queries, None
        return queries, self._stream(plan.streamed, plan, lock_bytes=_host_bytes() // _LOCK_SHARE)

    def _stream(self, names: tuple[str, ...], plan: ResidencyPlan, lock_bytes: int = 0) -> KeyStream:
        streamed = [
            StreamedQuery(name, self._group(name), self.bases[name], plan.chunk_length(self._group(name)))
            for name in names
        ]
        return KeyStream(self.device, streamed, plan.buffer_bytes, lock_bytes)

    def _shared(self, array: npt.NDArray[np.uint8] | npt.NDArray[np.uint32] | None) -> Array | None:
        """An array on the device; equal ones become one (B has one mask in G1 and G2)."""
        if array is None:
            return None
        content = array.tobytes()
        if content not in self._uploaded:
            with self.device.label("key"):
                self._uploaded[content] = self.device.upload(array)
        return self._uploaded[content]
