"""The multi-scalar multiplications: phases ``prep_msm``, ``msm_h``, ``batch_add``, ``tail_msm``, ``b_g2_msm``.

Witness scalars are mostly 0 and 1 in circuits made of bits. Unless M2 = none they are classified on the device;
bases of scalar one are summed up, the rest goes through the MSM by index list, so no base is copied. A query that is
streamed does both while a chunk is there, in the phase of its MSM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from cuzk.device.base import Array, Device
from cuzk.device.copies import Ticket
from cuzk.groth16.b_g2 import BesideDevice, par_map
from cuzk.groth16.commitments import Commitments
from cuzk.groth16.query_sums import QuerySums, in_force
from cuzk.groth16.resident import Query, ResidentKey
from cuzk.limbs import U64Array
from cuzk.telemetry import Recorder, Span

__all__ = ["Commitments", "commit_h", "commit_hs", "commit_witness", "commit_witnesses"]


def commit_h(
    resident: ResidentKey,
    h: Array,
    variants: Mapping[str, str],
    recorder: Recorder,
    meanwhile: Callable[[], None] = lambda: None,
) -> U64Array:
    """The sum of h[i] * h_query[i]: commit_hs of one."""
    return commit_hs(resident, [h], variants, recorder, meanwhile)[0]


def commit_hs(
    resident: ResidentKey,
    hs: Sequence[Array],
    variants: Mapping[str, str],
    recorder: Recorder,
    meanwhile: Callable[[], None] = lambda: None,
    *,
    alive: int | None = None,
) -> list[U64Array]:
    """The sums of h[i] * h_query[i] of some circuits, in one pass over the bases.

    Args:
        resident: The key.
        hs: What quotient() returned for each.
        variants: Every variant's value; D4, D5 and M1 act here.
        recorder: Where the phase is booked.
        meanwhile: What the host may do while the device is at work.
        alive: Circuits whose vectors are on the device; these alone where None.

    Returns:
        A point for each. Shape affine_shape of G1 uint64, on the host. Form: affine, Montgomery.

    Checked by: tests/prover/test_phases.py.
    """
    query = resident.queries["h"]
    tags = in_force(variants, "D4", "D5", "M1")
    with recorder.phase("msm_h", num_circuits=len(hs), **tags) as span:
        _tag(span, [query])
        sums = QuerySums(resident, variants, recorder, resident.plan.msm_h_bytes, len(hs), alive)
        sums.prepare(query, hs)
        sums.launch(query, hs)
        meanwhile()
        totals = [sums.total(query, i) for i in range(len(hs))]
        span.tag(contexts=sums.contexts_built)
    for total in totals:
        recorder.show(**{_shown("sum_h", resident): total})
    return totals


def commit_witness(
    resident: ResidentKey, w: Array, variants: Mapping[str, str], recorder: Recorder
) -> Commitments:
    """The sums over the A, B (G1 and G2) and L queries: commit_witnesses of one."""
    return commit_witnesses(resident, [w], variants, recorder)[0]


def commit_witnesses(
    resident: ResidentKey,
    ws: Sequence[Array],
    variants: Mapping[str, str],
    recorder: Recorder,
    beside: BesideDevice | None = None,
) -> list[Commitments]:
    """The sums over the A, B (G1 and G2) and L queries of some circuits, in one pass over each query's bases.

    Args:
        resident: The key.
        ws: Witness of each. Shape (num_variables, limbs) uint64, on the device. Form: Montgomery.
        variants: Every variant's value; A4, D2, D4, D5, M1 and M2 act here.
        recorder: Where the phases are booked.
        beside: Makes the sum over B in G2, where that does not run here.

    Checked by: tests/prover/test_phases.py.
    """
    names = ("l", "a", "b_g1") if beside is not None else ("l", "a", "b_g1", "b_g2")
    queries = [resident.queries[name] for name in names]
    sums = QuerySums(resident, variants, recorder, resident.plan.commit_bytes, len(ws))
    circuits = len(ws)
    with recorder.phase("prep_msm", M2=variants["M2"], num_circuits=circuits):
        scalars = {query.name: sums.scalars(query, ws) for query in queries}
        if variants["M2"] != "none":
            sums.classify(queries, scalars)
    _add_ones(sums, queries)
    tags = in_force(variants, "D4", "D5", "M1", "M2")
    with recorder.phase("tail_msm", num_circuits=circuits, **tags) as span:
        _tag(span, queries[:3])
        parts = _Parts(resident.device, recorder, span)
        for query in queries[:3]:
            sums.prepare(query, scalars[query.name])
            with parts.part(query):
                sums.launch(query, scalars[query.name])
        results = [Commitments() for _ in ws]
        for query in queries[:3]:
            for i, result in enumerate(results):
                result.points[query.name] = sums.total(query, i)
        parts.finish()
        span.tag(contexts=sums.contexts_built)
    if beside is None:
        points = _b_g2(sums, queries[3], scalars["b_g2"])
    else:
        with recorder.phase("wait_b_g2", A4=variants["A4"]):
            points = beside.result()
    for result, point in zip(results, points, strict=True):
        result.points["b_g2"] = point
        recorder.show(**{_shown(f"sum_{name}", resident): point for name, point in result.points.items()})
    return results


def _shown(name: str, resident: ResidentKey) -> str:
    """The name under which a sum is shown: over folded bases another, as what is summed up differs."""
    return f"{name}_folded" if resident.is_folded and name.endswith(("_h", "_l")) else name


def _add_ones(sums: QuerySums, queries: Sequence[Query]) -> None:
    """Phase ``batch_add``: the bases of scalar one of all queries that stay on the device."""
    tags = in_force(sums.variants, "D2", "M1", "M2")
    with sums.recorder.phase("batch_add", num_circuits=sums.circuits, **tags) as span:
        parts = _Parts(sums.device, sums.recorder, span)
        for query in queries:
            if query.bases is not None:
                with parts.part(query):
                    for chunk in sums.resident.chunks(query.name):
                        sums.add_ones(query, 0, chunk.bases)
        parts.finish()
    if sums.recorder.is_viewed:
        for query in queries:
            for point in (point for i in range(sums.circuits) for point in sums.so_far(query, i)):
                sums.recorder.show(**{_shown(f"ones_{query.name}", sums.resident): point})


def _b_g2(sums: QuerySums, query: Query, scalars: Sequence[Array]) -> list[U64Array]:
    """Phase ``b_g2_msm`` on the key's own device; a point for each circuit."""
    tags = in_force(sums.variants, "A4", "D4", "D5", "M1", "M2")
    built = sums.contexts_built
    with sums.recorder.phase("b_g2_msm", num_circuits=sums.circuits, **tags) as span:
        _tag(span, [query])
        if sums.variants["A4"] == "par_map":
            return par_map(sums, query, scalars)
        sums.prepare(query, scalars)
        sums.launch(query, scalars)
        points = [sums.total(query, i) for i in range(sums.circuits)]
        span.tag(contexts=sums.contexts_built - built)
        return points


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
            times = self.device.time_of(begin), self.device.time_of(end)
            self.recorder.record_device(f"query_{name}", *times, parent=self.span)
