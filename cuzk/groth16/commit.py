"""The multi-scalar multiplications: phases ``prep_msm``, ``msm_h``, ``batch_add``, ``tail_msm``, ``b_g2_msm``.

Witness scalars are mostly 0 and 1 in circuits made of bits. With M2 = split they are classified on the device;
bases of scalar one are summed up, the rest goes through the MSM by index list, so no base is copied. A query that is
streamed does both while a chunk is there, in the phase of its MSM.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.device.copies import Ticket
from cuzk.groth16.commitments import Commitments
from cuzk.groth16.residency import MOST_PENDING
from cuzk.groth16.resident import Query, ResidentKey
from cuzk.limbs import U64Array
from cuzk.ops.batch_add import batch_add, launch_batch_add
from cuzk.ops.classify import Classified, classify_parts
from cuzk.ops.fr_vec import gather
from cuzk.ops.msm import PendingMsm, launch_msm
from cuzk.ops.msm_memory import plan_msm_within, scratch_bytes, sum_bytes
from cuzk.telemetry import Recorder, Span

__all__ = ["Commitments", "commit_h", "commit_witness"]

#: A plan's own choice of lists and buckets takes at most this share of a device.
_DEFAULT_WORKSPACE_SHARE = 4


def _window_bits(variants: Mapping[str, str]) -> int | None:
    return None if variants["D4"] == "auto" else int(variants["D4"])


def commit_h(
    resident: ResidentKey,
    h: Array,
    variants: Mapping[str, str],
    recorder: Recorder,
    meanwhile: Callable[[], None] = lambda: None,
) -> U64Array:
    """The sum of h[i] * h_query[i].

    Args:
        resident: The key.
        h: What quotient() returned.
        variants: Every variant's value; D4 acts here.
        recorder: Where the phase is booked.
        meanwhile: What the host may do while the device is at work.

    Returns:
        Shape affine_shape of G1 uint64, on the host. Form: affine, Montgomery.

    Checked by: tests/prover/test_phases.py.
    """
    query = resident.queries["h"]
    with recorder.phase("msm_h", D4=variants["D4"]) as span:
        _tag(span, [query])
        commit = _Commit(resident, variants, resident.plan.msm_h_bytes)
        commit.launch(query, h)
        meanwhile()
        total = commit.total(query)
    recorder.show(sum_h=total)
    return total


def commit_witness(
    resident: ResidentKey, w: Array, variants: Mapping[str, str], recorder: Recorder
) -> Commitments:
    """The sums over the A, B (G1 and G2) and L queries.

    Args:
        resident: The key.
        w: Shape (num_variables, limbs) uint64, on the device. Form: Montgomery.
        variants: Every variant's value; D4 and M2 act here.
        recorder: Where the phases are booked.

    Checked by: tests/prover/test_phases.py.
    """
    queries = [resident.queries[name] for name in ("l", "a", "b_g1", "b_g2")]
    commit = _Commit(resident, variants, resident.plan.commit_bytes)
    with recorder.phase("prep_msm", M2=variants["M2"]):
        scalars = {query.name: commit.scalars(query, w) for query in queries}
        if variants["M2"] == "split":
            commit.classify(queries, scalars)
    with recorder.phase("batch_add", M2=variants["M2"]) as span:
        parts = _Parts(resident.device, recorder, span)
        for query in queries:
            if query.bases is not None:
                with parts.part(query):
                    for chunk in resident.chunks(query.name):
                        commit.add_ones(query, 0, chunk.bases)
        parts.finish()
    result = Commitments()
    with recorder.phase("tail_msm", D4=variants["D4"], M2=variants["M2"]) as span:
        _tag(span, queries[:3])
        parts = _Parts(resident.device, recorder, span)
        for query in queries[:3]:
            with parts.part(query):
                commit.launch(query, scalars[query.name])
        for query in queries[:3]:
            result.points[query.name] = commit.total(query)
        parts.finish()
    with recorder.phase("b_g2_msm", D4=variants["D4"], M2=variants["M2"]) as span:
        query = queries[3]
        _tag(span, [query])
        commit.launch(query, scalars[query.name])
        result.points[query.name] = commit.total(query)
    recorder.show(**{f"sum_{name}": point for name, point in result.points.items()})
    return result


def _tag(span: Span, queries: Sequence[Query]) -> None:
    """Say which queries of a phase are streamed, and in how many chunks."""
    streamed = [query for query in queries if query.bases is None]
    if streamed:
        span.tag(
            streamed=",".join(query.name for query in streamed),
            chunks=sum(len(query.borders) for query in streamed),
        )


class _Parts:
    """The times of a phase's queries, which are launched one behind the other without waiting.

    On a device that is its own host a launch is over when it returns, and each query is a phase of its own. Elsewhere
    the device notes when it passes from one to the next, and the phase is tagged with milliseconds.

    Args:
        device: Where the launches go.
        recorder: Where phases are booked.
        span: The phase they are part of.
    """

    def __init__(self, device: Device, recorder: Recorder, span: Span) -> None:
        self.device, self.recorder, self.span = device, recorder, span
        self._marks: list[tuple[str, Ticket, Ticket]] = []

    @contextmanager
    def part(self, query: Query) -> Iterator[None]:
        """Launch a query inside the ``with`` block."""
        if self.device.host is self.device:
            with self.recorder.phase(f"query_{query.name}"):
                yield
        else:
            begin = self.device.mark()
            yield
            self._marks.append((query.name, begin, self.device.mark()))

    def finish(self) -> None:
        """Tag the phase; waits for the launches."""
        for name, begin, end in self._marks:
            self.span.tag(**{f"query_{name}_ms": round(self.device.elapsed(begin, end), 3)})


class _Commit:
    """The sums of one witness over some queries, launched chunk by chunk.

    Args:
        resident: The key.
        variants: Every variant's value.
        workspace: Bytes that a multi-scalar multiplication may take for lists and buckets.
    """

    def __init__(self, resident: ResidentKey, variants: Mapping[str, str], workspace: int) -> None:
        self.resident = resident
        self.device = resident.device
        self.window_bits = _window_bits(variants)
        scratch = max(
            scratch_bytes(group, self.device.limits) for group in (resident.curve.g1, resident.curve.g2)
        )
        roomy = workspace >= self.device.limits.memory_bytes // _DEFAULT_WORKSPACE_SHARE + scratch
        self.workspace = None if roomy else workspace
        self.gathered: dict[int, Array] = {}
        self.classes: dict[str, list[Classified]] = {}
        self.pending: dict[str, list[PendingMsm]] = defaultdict(list)
        self.sums: dict[str, list[U64Array]] = defaultdict(list)

    def scalars(self, query: Query, w: Array) -> Array:
        """The scalars of a query's bases, one each; queries with the same places share them."""
        if query.places is None:
            return w[query.first : query.first + query.length]
        if id(query.places) not in self.gathered:
            self.gathered[id(query.places)] = gather(self.device, self.resident.curve, w, query.places)
        return self.gathered[id(query.places)]

    def classify(self, queries: Sequence[Query], scalars: Mapping[str, Array]) -> None:
        """Classify the scalars of each chunk; queries that skip and cut alike share one classification."""
        parts: list[tuple[Array, Array | None]] = []
        places: dict[tuple[int, int, int, int], range] = {}
        chosen: dict[str, range] = {}
        for query in queries:
            key = (query.first, id(query.places), id(query.skip), query.borders[0][1])
            if key not in places:
                places[key] = range(len(parts), len(parts) + len(query.borders))
                for first, last in query.borders:
                    skip = None if query.skip is None else query.skip[first:last]
                    parts.append((scalars[query.name][first:last], skip))
            chosen[query.name] = places[key]
        found = classify_parts(self.device, self.resident.curve, parts)
        self.classes = {name: [found[i] for i in place] for name, place in chosen.items()}

    def add_ones(self, query: Query, i_chunk: int, bases: Array) -> None:
        """Launch the sum of the bases of scalar one of a chunk."""
        if query.name in self.classes and self.classes[query.name][i_chunk].num_ones:
            ones = self.classes[query.name][i_chunk].ones
            limits = self.device.limits
            fits = self.workspace is None or sum_bytes(len(ones), query.group, limits) <= self.workspace
            self.pending[query.name].append(
                launch_batch_add(self.device, query.group, bases, ones, rounds=None if fits else 0)
            )

    def launch(self, query: Query, scalars: Array) -> None:
        """Launch what add_ones() has not taken, chunk by chunk; of streamed bases, the ones too.

        Args:
            query: The bases.
            scalars: One for each base.
        """
        pending = self.pending[query.name]
        for i, chunk in enumerate(self.resident.chunks(query.name)):
            indices = self.classes[query.name][i].others if query.name in self.classes else None
            own = scalars[chunk.first : chunk.last]
            pending.append(self._msm(query.group, chunk.bases, own, indices))
            chunk.ahead()
            if query.bases is None:
                self.add_ones(query, i, chunk.bases)
            if len(pending) >= MOST_PENDING - 1:  # the next chunk adds up to two
                self._collect(query)

    def _msm(self, group: GroupSpec, bases: Array, scalars: Array, indices: Array | None) -> PendingMsm:
        """Launch one multi-scalar multiplication, within the workspace."""
        terms = len(scalars) if indices is None else len(indices)
        if self.workspace is None or terms == 0:
            return launch_msm(
                self.device, group, bases, scalars, indices=indices, window_bits=self.window_bits
            )
        plan = plan_msm_within(terms, group, self.device.limits, self.workspace, window_bits=self.window_bits)
        return launch_msm(self.device, group, bases, scalars, indices=indices, plan=plan)

    def total(self, query: Query) -> U64Array:
        """The sum over a query, on the host; waits for it."""
        self._collect(query)
        return _sum(self.device.host, query.group, self.sums.pop(query.name))

    def _collect(self, query: Query) -> None:
        """Wait for what is launched over a query, and put its sums by."""
        pending = self.pending[query.name]
        self.sums[query.name] += [one.result() for one in pending]
        pending.clear()


def _sum(host: Device, group: GroupSpec, points: Sequence[U64Array]) -> U64Array:
    """The sum of a few points on the host. Shape affine_shape each."""
    if len(points) == 1:
        return points[0]
    total = batch_add(host, group, host.upload(np.ascontiguousarray(np.stack(points))))
    return np.asarray(total)
