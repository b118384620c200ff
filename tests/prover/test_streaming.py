"""Keys that do not fit: the same proof bytes under every limit, within the limit, with the chunks in the events.

Would catch: a chunk's scalars or indices that belong to another, bases left out or taken twice at a border, a buffer
overwritten while it is read or read before it is filled, memory beyond the limit, a key that is streamed in silence or
not at all.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cuzk.device import Device, Ticket, get_device
from cuzk.device.host import CpuDevice
from cuzk.errors import OutOfMemoryError, UnsatisfiedError
from cuzk.groth16 import Prover
from cuzk.groth16.query_sums import QuerySums
from cuzk.groth16.residency import QUERY_ORDER, KeyShape, ResidencyPlan, plan_residency, smallest_limit
from cuzk.keys import HForm
from cuzk.proof import Proof
from cuzk.telemetry import Event, Recorder
from cuzk.witness import Witness
from tests.prover.support import blinding, device, key, workload
from tests.workloads import Workload

#: Between the least memory that will do and that in which everything fits.
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.95)


@functools.cache
def resident_proof(load: Workload, form: HForm) -> Proof:
    """The proof of a prover with all the memory it wants."""
    return Prover(key(load, form), device("cpu")).prove(load.witness, blinding=blinding(load.curve))


def limits_of(load: Workload, form: HForm, spec: str) -> list[int]:
    """Limits with which some or all queries are streamed, every plan once, and one with which none is."""
    limits = device(spec).limits
    shape = KeyShape.of(key(load, form), limits)
    least = smallest_limit(shape, limits)
    most = least
    while plan_residency(shape, limits_with(limits, most)).streamed:
        most += most // 50
    candidates = [least + int(share * (most - least)) for share in SHARES]
    plans = {}
    for limit in candidates:
        plan = plan_residency(shape, limits_with(limits, limit))
        plans[plan.resident, plan.chunk] = limit
    return [*plans.values(), most + 1024]


def limits_with(limits: Any, memory_bytes: int) -> Any:
    """The same device with another amount of memory."""
    return type(limits)(**{**vars(limits), "memory_bytes": memory_bytes})


def open_limited(spec: str, limit: int) -> Device:
    """A device with a limit; rounded up to what its account counts in."""
    return get_device(spec, memory_limit=-(-limit // 512) * 512)


CASES = [
    ("cpu", "random", "toy", 900, "odd_lagrange"),
    ("cpu", "random", "bls12_381", 300, "odd_lagrange"),
    ("cpu", "bits", "bls12_381", 900, "monomial"),
    ("cpu", "bits", "bn254", 900, "odd_lagrange"),
    ("cpu", "mimc", "bn254", 1400, "monomial"),
    ("emu", "random", "toy", 500, "odd_lagrange"),
    ("emu", "bits", "toy", 500, "monomial"),
    ("emu", "bits", "bls12_381", 100, "odd_lagrange"),
    ("emu", "random", "bn254", 100, "monomial"),
]


@pytest.mark.parametrize(("spec", "kind", "curve", "size", "form"), CASES)
def test_same_bytes_under_every_limit(spec: str, kind: str, curve: str, size: int, form: HForm) -> None:
    """Some or all queries streamed, in long and short chunks; the account says that the limit was kept."""
    load = workload(kind, curve, size)
    made = key(load, form)
    chunks_seen, streamed_seen = set(), set()
    for limit in limits_of(load, form, spec):
        limited = open_limited(spec, limit)
        recorder = Recorder()
        prover = Prover(made, limited, recorder=recorder)
        proof = prover.prove(load.witness, blinding=blinding(load.curve))
        assert proof == resident_proof(load, form), limit
        assert limited.memory().peak <= limited.memory().limit
        plan = prover._resident.plan
        check_events(recorder.events, made, plan)
        chunks_seen.add(plan.chunk)
        streamed_seen.add(plan.streamed)
    assert () in streamed_seen
    # On a large GPU, where the device suite opens one for "emu", its threads' scratch leaves toys little to stream.
    if open_limited(spec, 1 << 20).kind != "cuda":
        assert max(map(len, streamed_seen)) >= 4
        assert len(chunks_seen) >= 2


def kept(made: Any, name: str) -> int:
    """Bases of a query that a streaming prover keeps: not the infinite ones, where they are a quarter or more."""
    bases = getattr(made, f"{name}_query")
    finite = int(bases.reshape(len(bases), -1).any(axis=1).sum())
    return finite if name != "h" and finite <= 0.75 * len(bases) else len(bases)


def check_events(events: Sequence[Event], made: Any, plan: ResidencyPlan) -> None:
    """The phases name what they stream, in how many chunks; and so many bytes went up in them."""
    phases = {event.phase: event for event in events}
    left_out = str(phases["key_load"].tags["infinite_left_out"]).split(",")
    lengths = {
        name: kept(made, name) if name in left_out else len(getattr(made, f"{name}_query"))
        for name in QUERY_ORDER
    }
    by_phase = {"msm_h": ["h"], "tail_msm": ["l", "a", "b_g1"], "b_g2_msm": ["b_g2"]}
    for phase, names in by_phase.items():
        here = [name for name in names if name in plan.streamed]
        chunks = [plan.chunk // 2 if name == "b_g2" else plan.chunk for name in here]
        tags = phases[phase].tags
        assert tags.get("streamed", "") == ",".join(here)
        assert tags.get("chunks", 0) == sum(
            -(-lengths[name] // chunk) for name, chunk in zip(here, chunks, strict=True)
        )
    assert phases["key_load"].tags["streamed"] == ",".join(plan.streamed)
    copied = sum(lengths[name] * getattr(made, f"{name}_query")[:1].nbytes for name in plan.streamed)
    assert phases["prove"].bytes_up >= copied
    everything = copied + 32 * made.num_variables
    assert phases["prove"].bytes_up <= everything + everything // 4 + 4096


def test_infinite_bases_do_not_pass() -> None:
    """Queries with many are streamed without them, B's two with one list of places; others keep a mask."""
    load = workload("bits", "bls12_381", 900)
    made = key(load)
    left_out = {name for name in QUERY_ORDER if kept(made, name) < len(getattr(made, f"{name}_query"))}
    assert {"b_g1", "b_g2"} <= left_out
    recorder = Recorder()
    limit = limits_of(load, "odd_lagrange", "cpu")[0] + (64 << 10)
    prover = Prover(made, open_limited("cpu", limit), recorder=recorder)
    assert set(recorder.events[-1].tags["infinite_left_out"].split(",")) == left_out  # type: ignore[union-attr]
    queries = prover._resident.queries
    assert queries["b_g1"].places is queries["b_g2"].places
    for name in QUERY_ORDER[1:]:
        bases = getattr(made, f"{name}_query")
        finite = np.flatnonzero(bases.reshape(len(bases), -1).any(axis=1))
        first = made.num_public + 1 if name == "l" else 0
        if name in left_out:
            assert prover.device.download(queries[name].places).tolist() == (finite + first).tolist()
            assert queries[name].skip is None
        else:
            assert queries[name].places is None
            assert (queries[name].skip is None) == (len(finite) == len(bases))


@pytest.mark.parametrize("variants", [{"M2": "none"}, {"D4": "3"}, {"M2": "none", "D4": "7"}])
@pytest.mark.parametrize("kind", ["bits", "random"])
def test_variants(kind: str, variants: dict[str, str]) -> None:
    """Chunks of every class of scalars, and of all of them in one."""
    load = workload(kind, "bn254", 500)
    for limit in limits_of(load, "odd_lagrange", "cpu")[:2]:
        prover = Prover(key(load), open_limited("cpu", limit + (64 << 10)), variants=variants)
        proof = prover.prove(load.witness, blinding=blinding(load.curve))
        assert proof == resident_proof(load, "odd_lagrange"), limit


def test_several_proofs_in_a_row() -> None:
    """A batch, a witness that is refused half way, and proofs after it: nothing of one is left for the next."""
    load = workload("bits", "bls12_381", 900)
    made = key(load)
    limited = open_limited("cpu", limits_of(load, "odd_lagrange", "cpu")[0])
    prover = Prover(made, limited)
    expected = resident_proof(load, "odd_lagrange")
    values = load.witness.values.copy()
    values[int(load.r1cs.a.col.max()), 0] ^= 1
    for _ in range(2):
        proofs = prover.prove_batch([load.witness] * 3, blindings=[blinding(load.curve) for _ in range(3)])
        assert proofs == [expected] * 3
        with pytest.raises(UnsatisfiedError):
            prover.prove(Witness(load.curve, values))
    assert limited.memory().peak <= limited.memory().limit


def test_a_batch_is_cut_by_what_fits() -> None:
    """Room for two circuits of three: two together, then one; the account says that there was no room for more."""
    load = workload("random", "bn254", 500)
    made = key(load)
    limits = device("cpu").limits
    limit = limits_of(load, "odd_lagrange", "cpu")[-1]
    while plan_residency(KeyShape.of(made, limits), limits_with(limits, limit)).circuits < 2:
        limit += limit // 50
    recorder = Recorder()
    prover = Prover(made, open_limited("cpu", limit), recorder=recorder)
    proofs = prover.prove_batch([load.witness] * 3, blindings=[blinding(load.curve) for _ in range(3)])
    assert proofs == [resident_proof(load, "odd_lagrange")] * 3
    assert [event.phase for event in recorder.events].count("synthesis") == 2
    assert prover.device.memory().peak <= prover.device.memory().limit


def test_too_little_memory_is_refused_with_the_need() -> None:
    """One byte too few: the error says how many would do."""
    load = workload("bits", "bn254", 900)
    least = limits_of(load, "odd_lagrange", "cpu")[0]
    with pytest.raises(OutOfMemoryError, match="needs at least"):
        Prover(key(load), get_device("cpu", memory_limit=least // 512 * 512 - 512))


class LateCopies(CpuDevice):
    """Copies that end as late as they may: when a launch is to wait for them.  Until then the buffer is spoilt."""

    def __init__(self, memory_limit: int) -> None:
        super().__init__(memory_limit=memory_limit)
        self.late: list[tuple[Ticket, Any, Any]] = []
        self.most_late = 0

    def stage(self, host_array: Any, into: Any, after: Ticket | None = None) -> Ticket:
        ticket = super().stage(host_array, into, after)
        into.reshape(-1).view(np.uint8)[...] = 0x5A
        self.late.append((ticket, host_array, into))
        self.most_late = max(self.most_late, len(self.late))
        return ticket

    def wait(self, ticket: Ticket) -> None:
        for one, host_array, into in [late for late in self.late if late[0] is ticket]:
            into.reshape(-1).view(np.uint8)[...] = host_array.reshape(-1).view(np.uint8)
            self.late = [late for late in self.late if late[0] is not one]


def test_late_copies_are_waited_for() -> None:
    """No launch reads a buffer before the copy into it has ended, however late that is."""
    load = workload("bits", "bn254", 900)
    limit = limits_of(load, "odd_lagrange", "cpu")[0]
    late = LateCopies(-(-limit // 512) * 512)
    prover = Prover(key(load), late)
    for _ in range(2):
        proof = prover.prove(load.witness, blinding=blinding(load.curve))
        assert proof == resident_proof(load, "odd_lagrange")
    assert late.most_late == 1
    assert not late.late


class NotedCopies(CpuDevice):
    """Knows which phases were over when each copy was started."""

    def __init__(self, memory_limit: int, recorder: Recorder) -> None:
        super().__init__(memory_limit=memory_limit)
        self.recorder = recorder
        self.over: list[set[str]] = []

    def stage(self, host_array: Any, into: Any, after: Ticket | None = None) -> Ticket:
        self.over.append({event.phase for event in self.recorder.events})
        return super().stage(host_array, into, after)


def test_copies_start_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first before rows are checked, the next when a chunk's multiplication is launched, before its ones."""
    load = workload("bits", "bn254", 900)
    recorder = Recorder()
    noted = NotedCopies(-(-limits_of(load, "odd_lagrange", "cpu")[0] // 512) * 512, recorder)
    prover = Prover(key(load), noted, recorder=recorder)
    assert set(prover._resident.plan.streamed) == set(QUERY_ORDER)
    noted.over.clear()
    launched: list[int] = []
    then: list[int] = []
    msm, ones = QuerySums._msm, QuerySums.add_ones

    def noting_msm(*args: Any) -> Any:
        launched.append(len(noted.over))
        return msm(*args)

    def noting_ones(*args: Any) -> None:
        then.append(len(noted.over))
        ones(*args)

    monkeypatch.setattr(QuerySums, "_msm", noting_msm)
    monkeypatch.setattr(QuerySums, "add_ones", noting_ones)
    prover.prove(load.witness, blinding=blinding(load.curve))
    assert {"spmv", "row_check"} & noted.over[0] == {"spmv"}
    chunks = list(range(1, len(noted.over) + 1))
    assert launched == chunks
    assert then == [*chunks[1:], chunks[-1]]
