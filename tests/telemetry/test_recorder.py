"""The recorder: order, nesting, context and counters of events.

Would catch: a child booked under the wrong parent, a clock read before the device is done, counters booked
twice, a failed phase that hides its error, and threads that see each other's open spans.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from cuzk.errors import CancelledError, InternalError
from cuzk.telemetry import PHASES, Event, Recorder
from cuzk.telemetry.phases import UNATTRIBUTED, phase_spec


def ticking(step: int = 10) -> Callable[[], int]:
    """Return a clock that advances by `step` at each reading, from 0."""
    readings: Iterator[int] = itertools.count(0, step)
    return lambda: next(readings)


def test_nested_phases_become_a_tree_with_exact_times() -> None:
    recorder = Recorder(clock=ticking())
    with recorder.phase("prove"), recorder.phase("ntt_msm_h"):
        with recorder.phase("ntt_h"):
            pass
        with recorder.phase("msm_h"):
            pass
    got = [(e.phase, e.id, e.parent, e.start_ns, e.end_ns) for e in recorder.events]
    assert got == [
        ("ntt_h", 2, 1, 20, 30),
        ("msm_h", 3, 1, 40, 50),
        ("ntt_msm_h", 1, 0, 10, 60),
        ("prove", 0, None, 0, 70),
    ]


def test_processor_time_is_the_difference_and_memory_the_peak_at_the_end() -> None:
    readings = iter([(5, 100), (20, 300), (50, 400), (90, 700)])
    recorder = Recorder(clock=ticking(), usage=lambda: next(readings))
    with recorder.phase("ntt_msm_h"), recorder.phase("ntt_h"):
        pass
    got = [(event.phase, event.cpu_ns, event.peak_rss_bytes) for event in recorder.events]
    assert got == [("ntt_h", 30, 400), ("ntt_msm_h", 85, 700)]


def test_a_busy_phase_books_the_processor_time_of_the_process() -> None:
    recorder = Recorder()
    before_ns = time.process_time_ns()
    with recorder.phase("ntt_h"):
        until_ns = time.process_time_ns() + 20_000_000
        while time.process_time_ns() < until_ns:
            pass
    used_ns = time.process_time_ns() - before_ns
    asleep = (
        1.0  # least share of the time that counted as busy, of several: others in this process may be busy
    )
    for _ in range(20):
        with recorder.phase("ntt_h"):
            time.sleep(0.05)
        asleep = min(asleep, recorder.events[-1].cpu_ns / recorder.events[-1].duration_ns)
        if asleep < 0.5:
            break
    busy = recorder.events[0]
    assert 19_000_000 <= busy.cpu_ns <= used_ns + 1_000_000
    assert asleep < 0.5
    assert busy.peak_rss_bytes > 10_000_000  # a Python with numpy is larger than that


def test_scoped_views_share_events_and_add_context() -> None:
    recorder = Recorder(clock=ticking())
    first = recorder.scoped(job="a", partition=3, device="cuda:1", variants={"D4": "12"})
    second = first.scoped(job="b", build_key="k1")
    for view in (recorder, first, second):
        with view.phase("prep_msm"):
            pass
    got = [(e.job, e.partition, e.device, dict(e.variants), e.build_key) for e in recorder.events]
    assert got == [
        ("", None, None, {}, None),
        ("a", 3, "cuda:1", {"D4": "12"}, None),
        ("b", 3, "cuda:1", {"D4": "12"}, "k1"),
    ]


def test_counter_differences_and_manual_bookings_add_up() -> None:
    totals = {"fr_mul": 5, "launches": 1, "bytes_up": 100, "barriers": 7}
    recorder = Recorder(clock=ticking()).scoped(counters=lambda: totals)
    with recorder.phase("ntt_h") as span:
        totals |= {"fr_mul": 25, "launches": 4, "bytes_up": 164, "bytes_down": 32}
        span.add_bytes(up=6)
        span.add_counts(fr_mul=1, ec_add=2)
        span.tag(quotient="six_ntt", log_n=10)
    (event,) = recorder.events
    assert event.counts == {"fr_mul": 21, "launches": 3, "ec_add": 2}  # barriers stood still
    assert (event.bytes_up, event.bytes_down) == (70, 32)
    assert event.tags == {"quotient": "six_ntt", "log_n": 10}


def test_counters_that_run_backwards_are_a_defect() -> None:
    totals = {"fr_mul": 5}
    recorder = Recorder().scoped(counters=lambda: totals)
    with pytest.raises(InternalError, match=r"fr_mul.*backwards"), recorder.phase("ntt_h"):
        totals["fr_mul"] = 4


def test_the_device_is_waited_for_before_each_reading() -> None:
    calls: list[str] = []

    def clock() -> int:
        calls.append("clock")
        return len(calls)

    recorder = Recorder(clock=clock).scoped(sync=lambda: calls.append("sync"))
    with recorder.phase("msm_h"):
        calls.append("work")
    assert calls == ["sync", "clock", "work", "sync", "clock"]


def test_a_failing_phase_is_recorded_and_its_error_passes() -> None:
    synchronised = []
    recorder = Recorder().scoped(sync=lambda: synchronised.append(1))
    with pytest.raises(ZeroDivisionError), recorder.phase("prove"), recorder.phase("batch_add"):
        raise ZeroDivisionError
    assert [(e.phase, e.failed) for e in recorder.events] == [("batch_add", True), ("prove", True)]
    assert len(synchronised) == 2  # at the two starts; a broken device is not waited for
    with recorder.phase("prove"):  # the stack of open spans is clean again
        pass
    assert recorder.events[-1].parent is None


def test_threads_have_their_own_nesting_unless_a_parent_is_named() -> None:
    recorder = Recorder()

    def work(phase: str, inside: bool) -> None:
        with recorder.phase(phase, parent=prove if inside else None):
            pass

    with recorder.phase("prove") as prove:
        for arguments in (("b_g2_msm", True), ("key_load", False)):
            thread = threading.Thread(target=work, args=arguments)
            thread.start()
            thread.join()
    parents = {e.phase: e.parent for e in recorder.events}
    assert parents == {"b_g2_msm": prove.id, "key_load": None, "prove": None}


def test_many_threads_lose_no_event() -> None:
    recorder = Recorder()
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        for _ in range(200):
            with recorder.phase("synthesis"), recorder.phase("spmv"):
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = recorder.events
    assert sorted(e.id for e in events) == list(range(1600))
    by_id = {e.id: e for e in events}
    for event in events:
        if event.phase == "spmv":
            assert event.parent is not None
            assert by_id[event.parent].thread == event.thread


def test_unknown_names_and_places_are_defects() -> None:
    recorder = Recorder()
    with pytest.raises(InternalError, match=r"'msm'.*known phases.*msm_h"), recorder.phase("msm"):
        pass
    with recorder.phase("synthesis"):
        with pytest.raises(InternalError, match=r"under 'synthesis'.*: ntt_msm_h"), recorder.phase("ntt_h"):
            pass
        with pytest.raises(InternalError, match="it is a root"), recorder.phase("prove"):
            pass
    with pytest.raises(InternalError, match=r"colour.*possible.*job"):
        recorder.scoped(colour="red")
    assert [e.phase for e in recorder.events] == ["synthesis"]


def test_the_phase_table_is_closed_and_consistent() -> None:
    assert UNATTRIBUTED not in PHASES
    for name, spec in PHASES.items():
        assert name == spec.name
        assert phase_spec(name) is spec
        assert all(parent == "*" or parent in PHASES for parent in spec.parents), name
        assert spec.is_wait == name.startswith("wait_")
        assert not (spec.is_wait and spec.on_device), name


class Watcher:
    """A sink that notes all it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...] | tuple[str, float]] = []

    def started(self, phase: str) -> None:
        self.heard.append(("started", phase))

    def advanced(self, phase: str, share: float) -> None:
        self.heard.append((phase, share))

    def receive(self, event: Event) -> None:
        self.heard.append(("ended", event.phase))


def test_watchers_hear_of_running_phases() -> None:
    watcher = Watcher()
    recorder = Recorder([watcher], clock=ticking())
    recorder.advance(0.5)  # nothing runs: nobody is told
    with recorder.scoped(job="a").phase("setup"), recorder.phase("points_a"):
        recorder.advance(0.25)
    assert watcher.heard == [
        ("started", "setup"),
        ("started", "points_a"),
        ("points_a", 0.25),
        ("ended", "points_a"),
        ("ended", "setup"),
    ]


def test_a_checkpoint_stops_between_phases() -> None:
    """It raises before the phase begins: nothing of that phase is recorded, and the next one can be."""
    wanted = True

    def checkpoint() -> None:
        if not wanted:
            raise CancelledError("cancelled")

    recorder = Recorder().scoped(checkpoint=checkpoint)
    with recorder.phase("prove"):
        with recorder.phase("synthesis"):
            wanted = False
        with pytest.raises(CancelledError), recorder.phase("ntt_msm_h"):
            pass
    wanted = True
    with recorder.phase("verify"):
        pass
    assert [(event.phase, event.parent is None) for event in recorder.events] == [
        ("synthesis", False), ("prove", True), ("verify", True),
    ]  # fmt: skip


def test_a_daemon_keeps_the_last_events_only() -> None:
    recorder = Recorder(keep=2)
    for name in ("prove", "verify", "setup"):
        with recorder.phase(name):
            pass
    assert [event.phase for event in recorder.events] == ["verify", "setup"]
