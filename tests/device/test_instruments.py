"""The instruments where there is something to see: a GPU's clocks, its time axis, and a comparison of two settings.

Would catch: gauges that are never read, queries on another axis than their phases, a comparison that cannot look into a
device's arrays.
"""

from __future__ import annotations

import pytest

from cuzk.ab import LocalRunner, Setting, open_workload
from cuzk.ab.localise import localise
from cuzk.cli.instruments import attach, book_copies
from cuzk.cli.perf_workloads import mixed_circuit
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
from cuzk.telemetry import PHASES, Recorder
from cuzk.telemetry.waterfall import build_waterfall
from tests.regressions.gpu_support import open_device


@pytest.mark.parametrize("device_name", ["cpu", pytest.param("cuda", marks=pytest.mark.device)])
def test_a_proof_is_on_one_time_axis_with_clocks(device_name: str) -> None:
    curve, device = get_curve("bn254"), open_device(device_name)
    circuit, witness = mixed_circuit(curve, 1 << 12 if device_name == "cuda" else 64)
    key = setup(circuit, get_device("cpu"), toxic_waste=ToxicWaste.from_seed(curve, 1))
    recorder = attach(Recorder(), device)
    Prover(key, device, recorder=recorder).prove(witness, blinding=Blinding(7, 11))
    book_copies(recorder, device)
    events = {event.id: event for event in recorder.events}
    (call,) = (event for event in events.values() if event.phase == "prove")
    assert build_waterfall(list(events.values())).critical_path
    slack_ns = 2_000_000  # of bringing the device's clock onto the host's
    for event in events.values():
        if event.phase.startswith("query_"):
            assert event.parent is not None
            parent = events[event.parent]
            assert parent.start_ns - slack_ns <= event.start_ns <= event.end_ns <= parent.end_ns + slack_ns
        if event.parent == call.id and PHASES[event.phase].on_device and device_name == "cuda":
            assert event.device == "cuda:0"
            assert (event.sm_mhz or 0) > 100
            assert event.throttle is not None
            assert (event.device_bytes or 0) > 1 << 20


@pytest.mark.parametrize("device_name", ["emu", pytest.param("cuda", marks=pytest.mark.device)])
def test_the_bits_of_another_device_are_the_cpus(device_name: str) -> None:
    load = open_workload("mixed:24:bn254" if device_name == "emu" else "mixed:2^10:bn254", get_device("cpu"))
    other = LocalRunner(load, Setting({}, device_name), open_device)
    finding = localise(LocalRunner(load, Setting()), other)
    assert finding is None, "\n".join(finding.lines())
