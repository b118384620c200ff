"""A proving key on a device: what stays there, what passes through, and where each query's bases come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cuzk.curves import Curve, GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import InternalError
from cuzk.groth16.key_stream import Chunk, KeyStream, StreamedQuery, borders
from cuzk.groth16.residency import QUERY_ORDER, KeyShape, ResidencyPlan, plan_residency
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array
from cuzk.ops.domain import Domain
from cuzk.ops.points import infinite_mask
from cuzk.ops.spmv import DeviceMatrix

__all__ = ["Query", "ResidentKey", "Rows"]

#: The rows' values a, b, c: one array of shape (3, n, limbs), or three of shape (n, limbs).
Rows: TypeAlias = Array | list[Array]


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
        chunk: Bases of a chunk where they are streamed.
    """

    name: str
    group: GroupSpec
    length: int
    bases: Array | None
    skip: Array | None
    first: int = 0
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
        a: Matrix A with its binding rows.
        b: Matrix B.
        c: Matrix C, None where the key does not have it.
        queries: The five queries by name.
        stream: The way of bases that do not stay; None where all do.
    """

    key: ProvingKey
    device: Device
    plan: ResidencyPlan
    domain: Domain
    a: DeviceMatrix
    b: DeviceMatrix
    c: DeviceMatrix | None
    queries: dict[str, Query]
    stream: KeyStream | None

    @property
    def curve(self) -> Curve:
        """The key's curve."""
        return self.key.curve

    @classmethod
    def upload(cls, device: Device, key: ProvingKey) -> ResidentKey:
        """Upload a key, as much of it as finds room beside a proof's own arrays.

        Args:
            device: Where to.
            key: Checked for shapes; points on the curve are the loader's business. Its arrays must not change
                while proofs are made.

        Raises:
            OutOfMemoryError: A proof does not fit the device even with all bases streamed.
        """
        plan = plan_residency(KeyShape.of(key, device.limits), device.limits)
        with device.label("key"):
            matrices = {name: DeviceMatrix.upload(device, matrix) for name, matrix in key.matrices.items()}
            resident = {
                name: device.upload(_bases(key, name)) for name in QUERY_ORDER if name in plan.resident
            }
        streamed = [
            StreamedQuery(name, _group(key, name), _bases(key, name), plan.chunk_length(_group(key, name)))
            for name in plan.streamed
        ]
        stream = KeyStream(device, streamed, plan.buffer_bytes) if streamed else None
        masks = _Masks(device)
        queries = {}
        for name in QUERY_ORDER:
            first = key.num_public + 1 if name == "l" else 0
            group = _group(key, name)
            query = Query(
                name, group, len(_bases(key, name)), resident.get(name), None, first, plan.chunk_length(group)
            )
            # The H query's scalars are full-width: nobody asks which of its bases are infinity.
            queries[name] = query if name == "h" else replace(query, skip=masks.make(query, stream))
        return cls(
            key=key, device=device, plan=plan, domain=Domain(key.curve, key.log_domain, key.root_convention),
            a=matrices["A"], b=matrices["B"], c=matrices.get("C"), queries=queries, stream=stream,
        )  # fmt: skip

    def chunks(self, name: str) -> Iterator[Chunk]:
        """The bases of a query: one chunk if they are resident, else chunks that pass through the device.

        Each is to be used in kernels that are launched before the next is asked for.
        """
        return _chunks(self.queries[name], self.stream)


def _chunks(query: Query, stream: KeyStream | None) -> Iterator[Chunk]:
    if query.bases is not None:
        yield Chunk(0, query.length, query.bases, lambda: None)
    elif stream is not None:
        yield from stream.feed(query.name)
    else:
        raise InternalError(f"the bases of the query {query.name!r} are nowhere")


def _group(key: ProvingKey, name: str) -> GroupSpec:
    return key.curve.g2 if name == "b_g2" else key.curve.g1


def _bases(key: ProvingKey, name: str) -> U64Array:
    bases: U64Array = getattr(key, f"{name}_query")
    return bases


class _Masks:
    """Makes masks of infinite bases; equal masks become one array (B has one in G1 and G2)."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._known: dict[bytes, Array] = {}

    def make(self, query: Query, stream: KeyStream | None) -> Array | None:
        """The mask of a query, from its bases on the device, or as they pass through it."""
        with self.device.label("key"):
            mask = self.device.alloc((query.length,), np.uint8)
        for chunk in _chunks(query, stream):
            infinite_mask(self.device, query.group, chunk.bases, mask[chunk.first : chunk.last])
        content = self.device.download(mask)
        if not content.any():
            return None
        return self._known.setdefault(content.tobytes(), mask)
