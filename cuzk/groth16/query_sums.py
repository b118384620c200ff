"""Sums of witnesses' scalars over the bases of a key's queries, launched chunk by chunk.

Several witnesses are summed up together: bases that pass through the device in chunks pass once for all of them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.groth16.msm_choice import MsmChoice
from cuzk.groth16.residency import MOST_PENDING
from cuzk.groth16.resident import Query, ResidentKey
from cuzk.limbs import U64Array
from cuzk.ops.batch_add import batch_add, launch_batch_add
from cuzk.ops.classify import Classified, classify_parts
from cuzk.ops.fr_vec import gather
from cuzk.ops.msm import PendingMsm, launch_msm
from cuzk.ops.msm_context import MsmContext
from cuzk.ops.msm_memory import scratch_bytes, sum_bytes
from cuzk.ops.plan_msm import MsmPlan
from cuzk.telemetry import Recorder

__all__ = ["QuerySums", "add_shape", "in_force", "sum_of_points"]

#: A plan's own choice of lists and buckets takes at most this share of a device.
_DEFAULT_WORKSPACE_SHARE = 4
#: Sums that may wait on a device with memory for everything.
_MANY_PENDING = 64


def in_force(variants: Mapping[str, str], *names: str) -> dict[str, Any]:
    """The traces of some variants, as tags of a phase."""
    return {name: variants[name] for name in names}


def add_shape(device: Device, variants: Mapping[str, str]) -> dict[str, int | None]:
    """Threads and blocks of batch_add: what D2 = THREADSxBLOCKS asks for, the blocks counted by multiprocessor."""
    if variants["D2"] == "auto":
        return {"threads": None, "blocks": None}
    threads, blocks = map(int, variants["D2"].split("x"))
    # A block is one thread on the cpu device.
    return {
        "threads": threads if device.limits.gpu_like else None,
        "blocks": blocks * device.limits.num_sms,
    }


class QuerySums:
    """The sums of some circuits' scalars over some queries.

    Args:
        resident: The key.
        variants: Every variant's value; D2, D4, D5, M1 and M2 act here.
        recorder: Where the phase ``msm_init`` is booked.
        workspace: Bytes that a multi-scalar multiplication may take for lists and buckets.
        circuits: How many witnesses are summed up together.
        alive: How many have vectors on the device; as many where None.
    """

    def __init__(
        self,
        resident: ResidentKey,
        variants: Mapping[str, str],
        recorder: Recorder,
        workspace: int,
        circuits: int = 1,
        alive: int | None = None,
    ) -> None:
        self.resident, self.device = resident, resident.device
        self.variants, self.recorder, self.circuits = variants, recorder, circuits
        longest = max(query.length for query in resident.queries.values())
        self.choice = MsmChoice(self.device, variants, longest, resident.tuned_windows)
        scratch = max(
            scratch_bytes(group, self.device.limits) for group in (resident.curve.g1, resident.curve.g2)
        )
        workspace -= ((alive or circuits) - 1) * resident.plan.circuit_bytes
        roomy = workspace >= self.device.limits.memory_bytes // _DEFAULT_WORKSPACE_SHARE + scratch
        self.workspace = None if roomy else max(workspace, 1)
        self._most_pending = _MANY_PENDING if roomy else MOST_PENDING
        self._add_shape = add_shape(self.device, variants)
        self._context: MsmContext | None = None
        self._built = 0
        self._gathered: dict[tuple[int, int], Array] = {}
        self._classes: dict[tuple[str, int], list[Classified]] = {}
        self._pending: dict[tuple[str, int], list[PendingMsm]] = defaultdict(list)
        self._sums: dict[tuple[str, int], list[U64Array]] = defaultdict(list)

    # -- scalars

    def scalars(self, query: Query, ws: Sequence[Array]) -> list[Array]:
        """The scalars of a query's bases, one each, of every circuit; queries with the same places share them."""
        return [self._scalars(query, i, w) for i, w in enumerate(ws)]

    def _scalars(self, query: Query, i: int, w: Array) -> Array:
        if query.places is None:
            return w[query.first : query.first + query.length]
        key = id(query.places), i
        if key not in self._gathered:
            self._gathered[key] = gather(self.device, self.resident.curve, w, query.places)
        return self._gathered[key]

    def classify(self, queries: Sequence[Query], scalars: Mapping[str, Sequence[Array]]) -> None:
        """Classify the scalars of each chunk; queries that skip and cut alike share one classification."""
        parts: list[tuple[Array, Array | None]] = []
        places: dict[tuple[int, ...], range] = {}
        chosen: dict[tuple[str, int], range] = {}
        for query in queries:
            for i in range(self.circuits):
                key = (query.first, id(query.places), id(query.skip), query.borders[0][1], i)
                if key not in places:
                    places[key] = range(len(parts), len(parts) + len(query.borders))
                    for first, last in query.borders:
                        skip = None if query.skip is None else query.skip[first:last]
                        parts.append((scalars[query.name][i][first:last], skip))
                chosen[query.name, i] = places[key]
        found = classify_parts(self.device, self.resident.curve, parts)
        self._classes = {name: [found[k] for k in place] for name, place in chosen.items()}

    def others(self, query: Query, i_chunk: int, circuit: int) -> Array | None:
        """Which scalars of a chunk are neither 0 nor 1; None where all are taken."""
        classes = self._classes.get((query.name, circuit))
        return None if classes is None else classes[i_chunk].others

    # -- launches

    def add_ones(self, query: Query, i_chunk: int, bases: Array) -> None:
        """Launch the sums of the bases of scalar one of a chunk."""
        for i in range(self.circuits):
            classes = self._classes.get((query.name, i))
            if classes is None or not classes[i_chunk].num_ones:
                continue
            ones, limits = classes[i_chunk].ones, self.device.limits
            fits = self.workspace is None or sum_bytes(len(ones), query.group, limits) <= self.workspace
            rounds = self.choice.rounds if fits else 0
            self._add(
                (query.name, i),
                launch_batch_add(self.device, query.group, bases, ones, rounds=rounds, **self._add_shape),
            )

    def launch(self, query: Query, scalars: Sequence[Array]) -> None:
        """Launch what add_ones() has not taken, chunk by chunk; of streamed bases, the ones too.

        Args:
            query: The bases.
            scalars: One for each base, of every circuit.
        """
        for k, chunk in enumerate(self.resident.chunks(query.name)):
            for i, own in enumerate(scalars):
                part = own[chunk.first : chunk.last]
                self._add((query.name, i), self._msm(query, chunk.bases, part, self.others(query, k, i)))
                if i == 0:
                    chunk.ahead()
            if query.bases is None:
                self.add_ones(query, k, chunk.bases)

    def prepare(self, query: Query, scalars: Sequence[Array]) -> None:
        """With D5 = per_query, build what the query's multiplications work in, as a phase of its own."""
        if self.variants["D5"] != "per_query":
            return
        first, last = query.borders[0]
        indices = self.others(query, 0, 0)
        terms = len(scalars[0][first:last]) if indices is None else len(indices)
        with self.recorder.phase("msm_init", D5="per_query", query=query.name) as span:
            self._release()
            if terms:
                room = self._room(0 if indices is None else terms)
                plan = self.choice.plan(terms, query.group, room)
                self._work_in(query.group).prepare(plan)
                span.tag(terms=terms, window_bits=plan.window_bits)

    def _msm(self, query: Query, bases: Array, scalars: Array, indices: Array | None) -> PendingMsm:
        """Launch one multi-scalar multiplication, within the workspace."""
        device, group = self.device, query.group
        terms = len(scalars) if indices is None else len(indices)
        compact = indices is not None and self.variants["M2"] == "split"
        if indices is not None and compact:  # a vector of its own, as long as the list
            scalars = gather(device, group.curve, scalars, indices)
        if terms == 0:
            return launch_msm(device, group, bases, scalars, indices=indices, gather_scalars=not compact)
        context, room = self._work_in(group), self._room(terms if compact else 0)

        def run(plan: MsmPlan) -> PendingMsm:
            return launch_msm(
                device, group, bases, scalars, indices=indices, gather_scalars=not compact, plan=plan,
                context=context,
            )  # fmt: skip

        if self.choice.wants_tuning(terms, group):
            self._tune(query, terms, room, run)
        return run(self.choice.plan(terms, group, room))

    def _tune(self, query: Query, terms: int, room: int | None, run: Callable[[MsmPlan], PendingMsm]) -> None:
        """Time the windows around the plan's own, on this very multiplication."""

        def time_of(plan: MsmPlan) -> float:
            self._settle()
            start = time.perf_counter()
            run(plan).result()
            return time.perf_counter() - start

        with self.recorder.phase("msm_init", D4="autotuned", query=query.name) as span:
            times = self.choice.tune(terms, query.group, room, time_of)
            span.tag(**{f"window_{bits}_ms": round(took * 1e3, 3) for bits, took in times.items()})

    def _settle(self) -> None:
        """Wait for what is launched."""
        self.device.download(self.device.alloc((0,)))

    def _room(self, listed: int) -> int | None:
        """The workspace, less what so many scalars of a list take of it where M2 = split makes them a vector."""
        if self.workspace is None or self.variants["M2"] != "split":
            return self.workspace
        return max(self.workspace - listed * self.resident.curve.fr.nbytes, 1)

    def _work_in(self, group: GroupSpec) -> MsmContext:
        """What multiplications over a group work in; that of another group is let go before."""
        if self._context is None or self._context.group is not group:
            self._release()
            self._context = MsmContext(self.device, group)
        return self._context

    def _release(self) -> None:
        if self._context is not None:
            self._built += self._context.built
            self._context.release()
        self._context = None

    @property
    def contexts_built(self) -> int:
        """How often memory and tables for multiplications were made, so far."""
        return self._built + (self._context.built if self._context is not None else 0)

    # -- results

    def _add(self, key: tuple[str, int], pending: PendingMsm) -> None:
        """Note what is launched; where too much waits, collect it."""
        self._pending[key].append(pending)
        if sum(map(len, self._pending.values())) >= self._most_pending:
            for other in self._pending:
                self._collect(other)

    def total(self, query: Query, circuit: int = 0) -> U64Array:
        """A circuit's sum over a query, on the host; waits for it."""
        key = query.name, circuit
        self._collect(key)
        return sum_of_points(self.device.host, query.group, self._sums.pop(key))

    def take_ones(self, query: Query, circuit: int) -> list[U64Array]:
        """A circuit's sums over a query so far, for somebody who adds the rest; waits for them."""
        self._collect((query.name, circuit))
        return self._sums.pop((query.name, circuit), [])

    def so_far(self, query: Query, circuit: int) -> list[U64Array]:
        """A circuit's sums over a query that are launched; waits for them. They stay what the total is made of."""
        self._collect((query.name, circuit))
        return self._sums[query.name, circuit]

    def _collect(self, key: tuple[str, int]) -> None:
        """Wait for a circuit's sums over a query, and put them by."""
        pending = self._pending[key]
        self._sums[key] += [one.result() for one in pending]
        pending.clear()


def sum_of_points(host: Device, group: GroupSpec, points: Sequence[U64Array]) -> U64Array:
    """The sum of a few points on the host, at least one. Shape affine_shape each."""
    if len(points) == 1:
        return points[0]
    total = batch_add(host, group, host.upload(np.ascontiguousarray(np.stack(points))))
    return np.asarray(total)
