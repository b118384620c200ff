"""What single values of variants promise beyond the same bytes, and what is refused.

Would catch: buffers that are page-locked anew for every proof, a batch that streams its key once for each circuit,
windows that are timed again and again, a thread that is left behind by an error, a value that is accepted where it is
impossible.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from cuzk.device import Device, get_device
from cuzk.device.host import EmuDevice
from cuzk.errors import InputError
from cuzk.groth16 import Prover, b_g2
from cuzk.groth16.msm_choice import MsmChoice
from cuzk.groth16.residency import KeyShape, smallest_limit
from cuzk.ops.classify import classify
from cuzk.ops.msm_windows import measured_windows, nearest_window
from cuzk.telemetry import Event, Recorder
from cuzk.variants import VARIANTS, defaults, resolve
from tests.prover.support import blinding, device, key, workload
from tests.variants.circuit import classes
from tests.workloads import Workload

LOADS = [classes("bn254", 500, seed) for seed in range(4)]
LOAD = LOADS[0]
#: So large that two circuits with a streamed key take less than one with all of it.
LARGER = [classes("bn254", 1000, seed) for seed in range(2)]


def batch(
    on: Device,
    variants: dict[str, str],
    circuits: int = 2,
    *,
    times: int = 1,
    loads: Sequence[Workload] = LOADS,
) -> tuple[list[Any], list[Event]]:
    """Proofs of the last of some batches, and the events of that one."""
    recorder = Recorder()
    prover = Prover(key(loads[0]), on, variants=variants, recorder=recorder)
    found = []
    for _ in range(times):
        seen = len(recorder.events)
        blindings = [blinding(loads[0].curve, 3 + i, 5 + i) for i in range(circuits)]
        witnesses = [load.witness for load in loads[:circuits]]
        proofs = prover.prove_batch(witnesses, blindings=blindings, self_check=False)
        found.append((proofs, recorder.events[seen:]))
    return found[-1]


def of(events: list[Event], phase: str) -> list[Event]:
    """The events of a phase."""
    return [event for event in events if event.phase == phase]


@pytest.mark.parametrize("kind", ["cpu", "emu", "cuda"])
def test_impossible_values_are_refused_with_what_is_possible(kind: str) -> None:
    """By kind of device; a default is in force even where there is nothing to choose."""
    for row in VARIANTS.values():
        assert row.default_for(kind) in row.values
        for value in row.values:
            reason = row.why_not(value, kind)
            if reason is None:
                assert resolve({row.id: value}, kind)[row.id] == value
            elif value != row.default_for(kind):
                with pytest.raises(InputError, match=f"{row.id}={value}.*impossible on {kind}") as error:
                    resolve({row.id: value}, kind)
                assert reason in str(error.value)
                assert error.value.limit is not None
                assert f"possible on {kind}" in error.value.limit
    assert resolve({}, kind) == defaults(kind)
    assert defaults("cuda")["A4"] == defaults("emu")["A4"] == "gpu"
    assert defaults("cpu")["A4"] == defaults()["A4"] == "pippenger"


def test_a_prover_refuses_what_its_device_does_not_have() -> None:
    with pytest.raises(InputError, match=r"B1=pool.*impossible on cpu"):
        Prover(key(LOAD), device("cpu"), variants={"B1": "pool"})
    with pytest.raises(InputError, match=r"A4=gpu.*impossible on cpu"):
        Prover(key(LOAD), device("cpu"), variants={"A4": "gpu"})


def test_measured_windows_need_a_measured_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they are possible: the model's table, the nearest size; the error names the models in it."""
    emu = EmuDevice()
    monkeypatch.setattr(emu, "kind", "cuda")
    with pytest.raises(InputError, match="measured") as error:
        Prover(key(LOAD), emu, variants={"D4": "per_msm"})
    assert "NVIDIA H200" in str(error.value)
    emu.limits = replace(emu.limits, model="NVIDIA H200")
    group = key(workload("bits", "bls12_381", 20)).curve.g1
    table = measured_windows()["NVIDIA H200", group.full_name]
    variants = resolve({"D4": "per_msm"})
    for log_n, bits in table.items():
        assert nearest_window("NVIDIA H200", group.full_name, 1 << log_n) == bits
    plan = MsmChoice(emu, variants, 1, {}).plan(100, group, None)
    assert plan.window_bits == table[min(table)]
    assert nearest_window("NVIDIA H200", "toy_g1", 100) is None


def test_pool_buffers_are_recycled() -> None:
    """The second batch takes the first one's; `register` locks anew."""
    load, recorder = workload("bits", "toy", 60), Recorder()
    prover = Prover(key(load), device("emu"), variants={"B1": "pool"}, recorder=recorder)
    for _ in range(2):
        prover.prove_batch([load.witness] * 2, self_check=False)
    first, second = of(recorder.events, "pin_abc")
    assert (first.tags["recycled"], second.tags["recycled"], second.tags["num_circuits"]) == (0, 2, 2)
    assert second.tags["abc_bytes_each"] == 3 * 8 * 64
    recorder = Recorder()
    prover = Prover(key(load), device("emu"), variants={"B1": "register"}, recorder=recorder)
    prover.prove(load.witness, self_check=False)
    (pin,) = of(recorder.events, "pin_abc")
    assert "recycled" not in pin.tags
    assert "locked" in pin.tags


def test_tuning_is_done_once() -> None:
    """In the first batch, for each size of a multiplication; then its windows are used."""
    first = of(batch(device("cpu"), {"D4": "autotuned"})[1], "msm_init")
    assert first
    for event in first:
        times = {name: value for name, value in event.tags.items() if name.endswith("_ms")}
        assert 3 <= len(times) <= 5
    assert of(batch(device("cpu"), {"D4": "autotuned"}, times=2)[1], "msm_init") == []


def test_one_context_serves_a_phase() -> None:
    """Unless every query has its own; G2 always has."""
    tail = {}
    for value in ("shared", "per_query"):
        events = batch(device("cpu"), {"D5": value, "D4": "6"})[1]
        (tail[value],) = of(events, "tail_msm")
        queries = [event.tags["query"] for event in of(events, "msm_init")]
        assert queries == ([] if value == "shared" else ["h", "h", "l", "a", "b_g1", "b_g2"])
    assert tail["per_query"].tags["contexts"] == 3
    assert 1 <= int(tail["shared"].tags["contexts"]) < 3


def test_a_streamed_key_passes_once_for_a_batch() -> None:
    """With C1 = 2 two circuits share the passes: what is streamed goes up once for both."""
    limits, shape = device("cpu").limits, KeyShape.of(key(LARGER[0]), device("cpu").limits)
    limit = smallest_limit(replace(shape, circuits=2), limits)
    while True:
        limit = (limit + limit // 50) // 512 * 512
        plan = Prover(
            key(LARGER[0]), get_device("cpu", memory_limit=limit), variants={"C1": "2"}
        )._resident.plan
        assert plan.streamed
        if plan.circuits == 2:
            break
    limited = get_device("cpu", memory_limit=limit)
    proofs, events = batch(limited, {"C1": "2"}, loads=LARGER)
    assert proofs == batch(device("cpu"), {}, loads=LARGER)[0]
    assert limited.memory().peak <= limited.memory().limit
    (call,) = of(events, "prove")
    assert (call.tags["calls"], call.tags["circuits_a_call"]) == (1, 2)
    queries = [KeyShape.of(key(LARGER[0]), limits).query_bytes(name) for name in plan.streamed]
    up = sum(event.bytes_up for phase in ("msm_h", "tail_msm", "b_g2_msm") for event in of(events, phase))
    assert 0 < up < 1.25 * sum(queries) + 4096
    assert len(batch(get_device("cpu", memory_limit=limit), {"C1": "1"}, loads=LARGER)[1]) > len(events)


@pytest.mark.parametrize("value", ["pippenger", "par_map"])
def test_errors_beside_the_device_are_raised(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the processor's thread runs into, and no thread is left when the device fails instead."""
    prover = Prover(key(LOAD), device("emu"), variants={"A4": value})

    def fail(*args: object, **rest: object) -> None:
        raise MemoryError("there is none")

    monkeypatch.setattr(b_g2, "to_mont", fail)
    with pytest.raises(MemoryError, match="there is none"):
        prover.prove(LOAD.witness, self_check=False)
    monkeypatch.undo()
    monkeypatch.setattr("cuzk.groth16.prover.commit_witnesses", fail)
    with pytest.raises(MemoryError, match="there is none"):
        prover.prove(LOAD.witness, self_check=False)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("cuzk-b-g2")] == []
    monkeypatch.undo()
    prover.prove(LOAD.witness)


STREAMED: dict[str, dict[str, str]] = {
    "cpu": {"A4": "par_map", "B1": "pageable", "B2": "sync", "D2": "1x4", "D5": "per_query", "M1": "batched_affine",
            "M2": "split"},
    "emu": {"A4": "par_map", "B1": "pool", "B2": "async", "D2": "64x4", "D4": "autotuned", "D5": "per_query",
            "M2": "split"},
}  # fmt: skip


@pytest.mark.parametrize("kind", ["cpu", "emu"])
@pytest.mark.parametrize(
    "more", [{}, {"D4": "largest", "M1": "xyzz", "B1": "register"}, {"D4": "5", "N1": "2^4"}]
)
def test_streamed_keys_under_variants(kind: str, more: dict[str, str]) -> None:
    """Chunks, and little memory for lists and buckets: the same bytes, within the limit."""
    load = classes("toy", 500, 1)
    made = key(load)
    reference = Prover(made, device("cpu")).prove(load.witness, blinding=blinding(load.curve))
    variants = {**STREAMED[kind], **more}
    if kind == "cpu":
        variants |= {"B1": "pageable"}
    limit = smallest_limit(KeyShape.of(made, device(kind).limits), device(kind).limits)
    limited = get_device(kind, memory_limit=-(-limit // 512) * 512 + 4096)
    prover = Prover(made, limited, variants=variants)
    assert prover._resident.plan.streamed
    assert prover.prove(load.witness, blinding=blinding(load.curve)) == reference
    assert limited.memory().peak <= limited.memory().limit


@pytest.mark.parametrize(("value", "times"), [("none", 0), ("index", 1), ("split", 1)])
def test_scalars_are_classified_beside_the_device_where_they_are_on_it(
    value: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    prover = Prover(key(LOAD), device("emu"), variants={"A4": "pippenger", "M2": value})
    asked: list[int] = []

    def counted(*args: Any, **rest: Any) -> Any:
        asked.append(1)
        return classify(*args, **rest)

    monkeypatch.setattr(b_g2, "classify", counted)
    prover.prove(LOAD.witness, self_check=False)
    assert len(asked) == times
