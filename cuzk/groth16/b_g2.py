"""The sum over the B query in G2 on the processor: what the variant A4 chooses besides the key's own device.

``pippenger`` makes one multi-scalar multiplication after the other on all threads, ``par_map`` one on a single thread
for every circuit, side by side. On the cpu device they are the phase ``b_g2_msm`` itself; beside another device they
run while that one does the rest, from the witness alone, so that nothing waits for them before the proof is put
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from cuzk.device.base import Array, Device
from cuzk.groth16.msm_choice import MsmChoice
from cuzk.groth16.query_sums import QuerySums, in_force, sum_of_points
from cuzk.groth16.resident import Query, ResidentKey
from cuzk.limbs import U64Array
from cuzk.ops.batch_add import batch_add
from cuzk.ops.classify import classify
from cuzk.ops.fr_vec import gather, to_mont
from cuzk.ops.msm import launch_msm
from cuzk.telemetry import Recorder, Span

__all__ = ["BesideDevice", "par_map", "runs_beside"]


def runs_beside(device: Device, variants: Mapping[str, str]) -> bool:
    """Whether the sum is made on the processor while the device does something else."""
    return variants["A4"] != "gpu" and device.reference is not device


def par_map(sums: QuerySums, query: Query, scalars: Sequence[Array]) -> list[U64Array]:
    """The sum of every circuit over a query on the cpu device, each on a thread of its own.

    Args:
        sums: Holds the sums over bases of scalar one, and the classes.
        query: The bases.
        scalars: One for each base, of every circuit.
    """
    lone, circuits = sums.device.one_thread, len(scalars)
    choice = MsmChoice(lone, sums.variants, query.length, {})
    room = None if sums.workspace is None else max(sums.workspace // circuits, 1)
    found: list[list[U64Array]] = [[] for _ in scalars]
    with ThreadPoolExecutor(circuits, thread_name_prefix="cuzk-b-g2") as pool:
        for k, chunk in enumerate(sums.resident.chunks(query.name)):
            started = [
                pool.submit(
                    _sum, lone, choice, sums.variants, query, chunk.bases, own[chunk.first : chunk.last],
                    sums.others(query, k, i), room,
                )
                for i, own in enumerate(scalars)
            ]  # fmt: skip
            for one, points in zip(started, found, strict=True):
                points.append(one.result())
            if query.bases is None:
                sums.add_ones(query, k, chunk.bases)
    return [
        sum_of_points(sums.device.host, query.group, [*own, *sums.take_ones(query, i)])
        for i, own in enumerate(found)
    ]


def _sum(
    host: Device,
    choice: MsmChoice,
    variants: Mapping[str, str],
    query: Query,
    bases: Array,
    scalars: Array,
    indices: Array | None,
    room: int | None,
) -> U64Array:
    """One multi-scalar multiplication on a host device."""
    group, terms = query.group, len(scalars) if indices is None else len(indices)
    plan = choice.plan(terms, group, room) if terms else None
    compact = indices is not None and variants["M2"] == "split"
    if indices is not None and compact:
        scalars = gather(host, group.curve, scalars, indices)
    return launch_msm(
        host, group, bases, scalars, indices=indices, gather_scalars=not compact, plan=plan
    ).result()


class BesideDevice:
    """The sums of some circuits over B in G2, on the processor, while the device does the rest.

    Args:
        resident: The key; its host arrays are read, not the device's.
        variants: Every variant's value; A4, D4, M1 and M2 act here.
        recorder: Where the phase is booked.
        parent: The phase that it is a part of, which runs on another thread.
        witnesses: Values of every circuit. Shape (num_variables, limbs) uint64. Form: standard, < r.
    """

    def __init__(
        self,
        resident: ResidentKey,
        variants: Mapping[str, str],
        recorder: Recorder,
        parent: Span | None,
        witnesses: Sequence[U64Array],
    ) -> None:
        self._resident, self._variants, self._witnesses = resident, variants, witnesses
        self._query = resident.queries["b_g2"]
        # The device's clock, counters and waits are none of this thread's business.
        self._recorder = recorder.scoped(device="cpu", sync=None, counters=None)
        self._parent = parent
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="cuzk-b-g2")
        self._future: Future[list[U64Array]] = self._pool.submit(self._run)

    def result(self) -> list[U64Array]:
        """The sums; waits for them, and raises what went wrong."""
        return self._future.result()

    def close(self) -> None:
        """After an error elsewhere: wait for the thread, whatever it found."""
        self._pool.shutdown(cancel_futures=True)

    def _run(self) -> list[U64Array]:
        variants, circuits = self._variants, len(self._witnesses)
        tags = in_force(variants, "A4", "D4", "M1", "M2")
        with self._recorder.phase("b_g2_msm", parent=self._parent, num_circuits=circuits, **tags):
            host = self._resident.device.reference
            if variants["A4"] == "pippenger":
                return [self._whole_sum(host, values) for values in self._witnesses]
            with ThreadPoolExecutor(circuits, thread_name_prefix="cuzk-b-g2") as pool:
                return list(pool.map(self._whole_sum, [host.one_thread] * circuits, self._witnesses))

    def _whole_sum(self, host: Device, values: U64Array) -> U64Array:
        """One circuit's sum, bases of scalar one included."""
        query, curve = self._query, self._resident.curve
        bases = host.upload(self._resident.key.b_g2_query)
        raw = host.upload(values)
        scalars = to_mont(host, curve, raw, out=None if raw is values else raw)
        if (places := self._resident.key.b_places) is not None:
            scalars = gather(host, curve, scalars, host.upload(places))
        choice = MsmChoice(host, self._variants, query.length, {})
        if self._variants["M2"] == "none":
            return _sum(host, choice, self._variants, query, bases, scalars, None, None)
        classes = classify(host, curve, scalars)
        ones = batch_add(host, query.group, bases, classes.ones, rounds=choice.rounds)
        rest = _sum(host, choice, self._variants, query, bases, scalars, classes.others, None)
        return sum_of_points(host, query.group, [ones, rest])
