"""The instruments tested on themselves: sleeps, overlaps, sums, clocks, gauges, counters, memory.

Would catch: a clock in another unit, exclusive times that do not add up, a device's time on the wrong axis, a gauge
that fails a proof, counters booked under a sibling, a peak that belongs to another phase, and a phase of the
prover that its parts do not explain.
"""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import itertools
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuzk.cli.perf_workloads import mixed_circuit
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.device.instruments import bus_id, pinned_bytes
from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
from cuzk.telemetry import (
    DeviceAxis,
    Gauges,
    MemoryMonitor,
    MemorySample,
    PerfCounters,
    Recorder,
    open_gauges,
    overlap_ns,
    peaks_by_phase,
    unexplained,
    wall_shares,
)
from cuzk.telemetry.perf_counters import COUNTERS

MS = 1_000_000


def spin(ms: float) -> None:
    """Use so much of this thread's processor time."""
    end = time.thread_time_ns() + int(ms * MS)
    while time.thread_time_ns() < end:
        pass


def overlapping_run() -> tuple[float, Recorder]:
    """Sum of the exclusive times over the wall time, which is read outside of the recorder."""
    recorder, begun, done = Recorder(), threading.Event(), threading.Event()

    def beside() -> None:
        with recorder.phase("b_g2_msm", parent=root):
            begun.set()
            done.wait()

    before = time.perf_counter_ns()
    with recorder.phase("prove") as root:
        thread = threading.Thread(target=beside)
        thread.start()
        begun.wait()
        with recorder.phase("prep_msm"):
            time.sleep(0.05)
        done.set()
        thread.join()
        with recorder.phase("ntt_msm_h"), recorder.phase("ntt_h"):
            time.sleep(0.02)
    wall = time.perf_counter_ns() - before
    return sum(wall_shares(recorder.events).values()) / wall, recorder


def test_exclusive_times_are_the_wall_time_within_2_percent_whatever_overlaps() -> None:
    """A busy machine may take the thread away between the two clocks, so one run of several has to be within."""
    shares: list[float] = []
    while len(shares) < 10 and not any(share >= 0.98 for share in shares):
        share, recorder = overlapping_run()
        shares.append(share)
        by_phase = {event.phase: event for event in recorder.events}
        slept = by_phase["prep_msm"].duration_ns
        # One phase began before and ended after the other, so all of the other is overlap, however late threads wake.
        assert overlap_ns(recorder.events, "prep_msm", "b_g2_msm") == slept >= 50 * MS
        assert overlap_ns(recorder.events, "b_g2_msm", "ntt_h") == 0
        assert wall_shares(recorder.events)["prep_msm"] == pytest.approx(slept / 2, abs=2)
    assert max(shares) <= 1
    assert shares[-1] >= 0.98, f"exclusive times explain {shares} of the wall time"


@pytest.fixture
def no_garbage_collection() -> Iterator[None]:
    """A collection in the middle of a phase is that phase's time, and may be longer than the phase."""
    gc.disable()
    yield
    gc.enable()


#: Processor time of three nested phases.  Recording one costs 0.1 ms on a 2 GHz core, and ten times that on a slow one
#: has to stay within 2% of the shortest.
_SPINS_MS = {"prep_msm": 500, "ntt_msm_h": 200, "ntt_h": 300}


def _misattributed() -> list[str]:
    """Phases whose exclusive time is not what their thread used, within 2%, in one run."""
    recorder = Recorder(clock=time.thread_time_ns)
    before = time.thread_time_ns()
    with recorder.phase("prove"):
        with recorder.phase("prep_msm"):
            spin(_SPINS_MS["prep_msm"])
        with recorder.phase("ntt_msm_h"):
            spin(_SPINS_MS["ntt_msm_h"])
            with recorder.phase("ntt_h"):
                spin(_SPINS_MS["ntt_h"])
    used = time.thread_time_ns() - before
    shares = wall_shares(recorder.events)
    limits = {phase: (ms * MS, 1.02 * ms * MS) for phase, ms in _SPINS_MS.items()}
    limits["prove"] = (0, 0.02 * used)
    wrong = [phase for phase, (low, high) in limits.items() if not low <= shares[phase] <= high]
    return wrong + ["all together"] * (not 0.98 * used <= sum(shares.values()) <= used)


@pytest.mark.usefixtures("no_garbage_collection")
def test_exclusive_times_are_the_threads_processor_time_within_2_percent() -> None:
    """One quiet run of ten is enough.

    Other programs do not count here, but what is taken from a virtual processor does; a time that is booked in the
    wrong phase is so in every run.
    """
    assert any(not _misattributed() for _ in range(10))


def test_shares_of_overlapping_phases_are_halves() -> None:
    clock = iter([0, 0, 0, 40, 100, 100]).__next__
    recorder = Recorder(clock=clock)
    with recorder.phase("prove") as root:
        first = recorder.phase("prep_msm")
        second = recorder.phase("b_g2_msm", parent=root)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        second.__exit__(None, None, None)
    assert wall_shares(recorder.events) == {"prep_msm": 20, "b_g2_msm": 80, "prove": 0}
    assert overlap_ns(recorder.events, "prep_msm", "b_g2_msm") == 40


@pytest.mark.usefixtures("no_garbage_collection")
def test_the_prover_explains_97_percent_of_its_processor_time() -> None:
    """Processor time of the proving thread in place of the wall clock: other programs do not count."""
    device, curve = get_device("cpu"), get_curve("bn254")
    circuit, witness = mixed_circuit(curve, 8000)
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(curve, 1))
    least: dict[
        str, float
    ] = {}  # phase -> least unexplained share: noise differs from run to run, a gap does not
    for attempt in range(12):
        recorder = Recorder(clock=time.thread_time_ns)
        Prover(key, device, recorder=recorder).prove(witness, blinding=Blinding(7, 11))
        proof = [event for event in recorder.events if event.phase != "key_load"]
        assert {"row_check", "msm_h", "self_check"} <= {event.phase for event in proof}
        shares = {event.phase: share for event, share in unexplained(proof)}
        least = {p: min(s, least[p]) for p, s in shares.items() if p in least} if attempt else shares
        if not least:
            break
    assert not least, "a part of the prover has no phase"


def test_a_gap_in_every_run_is_found() -> None:
    recorder = Recorder(clock=iter([0, 0, 40 * MS, 50 * MS, 90 * MS, 100 * MS]).__next__)
    with recorder.phase("prove"):
        with recorder.phase("prep_msm"):
            pass
        with recorder.phase("b_g2_msm"):
            pass
    ((event, share),) = unexplained(recorder.events)
    assert event.phase == "prove"
    assert share == pytest.approx(0.2 - 0.002)


def test_a_device_clock_is_brought_onto_the_hosts() -> None:
    readings = iter([1_000, 9_000, 20_000, 20_400, 30_000, 37_000])
    answers = iter([0.002, 0.0172, 0.03])
    axis = DeviceAxis.measure(lambda: next(answers), clock=lambda: next(readings), tries=3)
    assert axis == DeviceAxis(offset_ns=3_000, error_ns=200), "the tightest of the tries counts"
    assert axis.host_ns(0.5) == 503_000


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_a_real_devices_clock_agrees_with_the_hosts(spec: str) -> None:
    device = get_device(spec)
    axis = DeviceAxis.measure(lambda: device.time_of(device.mark()))
    before = time.perf_counter_ns()
    passed = axis.host_ns(device.time_of(device.mark()))
    after = time.perf_counter_ns()
    assert before - axis.error_ns - 1_000 <= passed <= after + axis.error_ns + 1_000


def test_work_beside_the_phases_is_booked_on_the_same_axis() -> None:
    recorder = Recorder(clock=itertools.count(5 * MS, MS).__next__)
    placed = recorder.scoped(device="cuda:1", job="j", axis=DeviceAxis(3 * MS, 10))
    with placed.phase("prove"), placed.phase("batch_add") as span:
        placed.record_device("query_a", 0.5, 1.5, parent=span)
        placed.record_device("transfer", 1.0, 2.0, stream=1, bytes_up=64, label="l")
        recorder.record_device("transfer", 1.0, 2.0)  # without an axis nothing can be placed
    part, copy = recorder.events[:2]
    assert (part.phase, part.start_ns, part.end_ns, part.parent) == ("query_a", 3_500_000, 4_500_000, 1)
    assert (copy.phase, copy.stream, copy.bytes_up, copy.device) == ("transfer", 1, 64, "cuda:1")
    assert (copy.parent, copy.failed, copy.cpu_ns) == (None, False, 0)
    assert [event.phase for event in recorder.events] == ["query_a", "transfer", "batch_add", "prove"]


class FakeNvml:
    """The driver's library as far as it is used; each function fills in what it is asked for."""

    def __init__(self, *, fails: tuple[str, ...] = ()) -> None:
        self.fails = fails

    def __getattr__(self, name: str) -> Any:
        def function(*arguments: Any) -> int:
            if name in self.fails:
                return 3
            if name == "nvmlDeviceGetClockInfo":
                arguments[2]._obj.value = {1: 1980, 2: 2619}[arguments[1].value]
            elif name == "nvmlDeviceGetCurrentClocksThrottleReasons":
                arguments[1]._obj.value = 0x4 | 0x40 | 0x1000
            elif name == "nvmlDeviceGetMemoryInfo":
                arguments[1]._obj.used = 5 << 30
            elif name == "nvmlDeviceGetHandleByPciBusId_v2":
                assert arguments[0] == b"0000:18:00.0"
                arguments[1]._obj.value = 77
            return 0

        return function


def test_gauges_of_a_gpu_stand_in_the_events_of_phases_there() -> None:
    gauges = open_gauges("0000:18:00.0", FakeNvml())
    recorder = Recorder().scoped(gauges=gauges)
    with recorder.phase("prove"), recorder.phase("prep_msm"):
        pass
    on_gpu, on_host = recorder.events
    found = (on_gpu.sm_mhz, on_gpu.memory_mhz, on_gpu.throttle, on_gpu.device_bytes)
    assert found == (1980, 2619, "power cap, hardware thermal slowdown, 0x1000", 5 << 30)
    assert (on_host.sm_mhz, on_host.throttle) == (None, None)


def test_gauges_that_do_not_answer_are_none() -> None:
    assert open_gauges(None) is None
    assert open_gauges("0000:18:00.0", FakeNvml(fails=("nvmlInit_v2",))) is None
    assert open_gauges("0000:18:00.0", SimpleNamespace()) is None
    deaf = open_gauges("0000:18:00.0", FakeNvml(fails=("nvmlDeviceGetClockInfo", "nvmlDeviceGetMemoryInfo")))
    assert deaf is not None
    assert deaf() == Gauges(throttle="power cap, hardware thermal slowdown, 0x1000")
    assert bus_id(get_device("cpu")) is None


def test_counters_of_the_process_are_booked_phase_by_phase() -> None:
    with PerfCounters() as counters:
        assert set(counters.missing) | set(counters.read()) == set(COUNTERS)
        recorder = Recorder(counters=counters.read)
        with recorder.phase("ntt_h"):
            touched = bytearray(64 << 20)  # 16,384 pages that nobody has touched yet
            ctypes.memset((ctypes.c_char * len(touched)).from_buffer(touched), 1, len(touched))
        with recorder.phase("msm_h"):
            pass
    first, second = ({**event.counts} for event in recorder.events)
    if "page_faults" not in counters.missing:
        assert first["page_faults"] > second.get("page_faults", 0)
    if "instructions" not in counters.missing:
        assert first["instructions"] > second["instructions"] > 0


def test_counters_that_are_not_permitted_are_named_with_the_reason() -> None:
    def refuse(kind: int, config: int) -> int:
        if kind == 0:
            raise PermissionError(13, "Permission denied")
        read_end, write_end = os.pipe()
        os.write(write_end, (7).to_bytes(8, "little"))
        os.close(write_end)
        return read_end

    with PerfCounters(refuse) as counters:
        assert counters.missing == dict.fromkeys(
            ("instructions", "cycles", "branches", "branch_misses", "cache_misses"), "Permission denied"
        )
        assert counters.read() == {"page_faults": 7, "context_switches": 7}
    assert counters.read() == {}


def test_memory_columns_and_peaks_by_phase(tmp_path: Path) -> None:
    path = tmp_path / "memory.csv"
    clock = itertools.count(7 * MS).__next__  # a nanosecond a reading
    with MemoryMonitor(path, interval_ms=1, clock=clock, sample=lambda: 100, pinned=lambda: None) as monitor:
        monitor.device = lambda: 5
    assert path.read_text().splitlines()[1] == "0,100,,"
    assert path.read_text().splitlines()[-1] == "0,100,,5"

    samples = [MemorySample(at * MS, rss, pinned, gpu) for at, rss, pinned, gpu in (
        (0, 10, None, None), (10, 50, 7, None), (20, 30, 9, 4), (30, 90, 1, 2), (40, 20, 0, 1),
    )]  # fmt: skip
    recorder = Recorder(clock=iter([11 * MS, 12 * MS, 19 * MS, 20 * MS]).__next__)
    with recorder.phase("ntt_h"):
        pass
    with recorder.phase("msm_h"):
        pass
    peaks = peaks_by_phase(samples, recorder.events)
    assert peaks["ntt_h"] == MemorySample(10 * MS, 50, 9, 4), "the nearest sample on either side"
    assert peaks["msm_h"] == MemorySample(30 * MS, 90, 9, 4)
    assert pinned_bytes(get_device("cpu")) is None


def test_old_event_files_still_read() -> None:
    from cuzk.telemetry import Event

    event = Event(0, None, "prove", "", None, None, None, 1, 0, 5, 0, 0, {}, {}, None, {}, False)
    assert (event.sm_mhz, event.cpu_ns) == (None, 0)
    assert dataclasses.asdict(event)["throttle"] is None
