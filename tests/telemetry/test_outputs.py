"""What is made of events: timing lines, event files, the table, the memory monitor.

Would catch: lines that a killed process never wrote, a renamed field, a share of the wrong parent,
overlapping children counted twice, waiting booked as work, and an event file that does not read back as it
was written.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from cuzk.errors import FormatError, InternalError, RangeError
from cuzk.telemetry import (
    Event,
    JsonlWriter,
    MemoryMonitor,
    Recorder,
    TimingLines,
    build_tree,
    gpu_total_ns,
    read_events,
    timing_rows,
    timing_table,
    unexplained,
)
from cuzk.telemetry.memory import CSV_HEADER

MS = 1_000_000


def event(number: int, phase: str, start_ms: float, end_ms: float, parent: int | None = None) -> Event:
    """Return an event of job "j" on device "cuda:1"."""
    return Event(
        id=number, parent=parent, phase=phase, job="j", partition=2, device="cuda:1", stream=None, thread=1,
        start_ns=round(start_ms * MS), end_ns=round(end_ms * MS), bytes_up=0, bytes_down=0, counts={},
        variants={}, build_key=None, tags={}, failed=False,
    )  # fmt: skip


RUN = [
    event(1, "prep_msm", 0, 10, parent=0),
    event(3, "ntt_h", 10, 40, parent=2),
    event(4, "msm_h", 40, 60, parent=2),
    event(2, "ntt_msm_h", 10, 60, parent=0),
    event(5, "wait_transfer", 60, 70, parent=0),
    event(6, "batch_add", 70, 90, parent=0),
    event(7, "b_g2_msm", 80, 99, parent=0),  # overlaps batch_add: another thread
    event(0, "prove", 0, 100),
]


def test_timing_lines_have_the_names_and_order_of_the_original_log() -> None:
    stream = io.StringIO()
    sink = TimingLines(stream)
    b_g2 = dataclasses.replace(RUN[6], tags={"num_circuits": 3})
    pinned = dataclasses.replace(
        event(8, "pin_abc", 0, 1.5, parent=0), tags={"num_circuits": 3, "abc_bytes_each": 96}
    )
    tail = event(9, "tail_msm", 90, 95, parent=0)
    for item in (pinned, *RUN[:6], b_g2, tail, dataclasses.replace(RUN[7], failed=True)):
        sink.receive(item)
    assert stream.getvalue().splitlines() == [
        "CUZK_TIMING: pin_abc_ms=2 num_circuits=3 abc_bytes_each=96 job=j partition=2",
        "CUZK_TIMING: prep_msm_ms=10 job=j partition=2",
        "CUZK_TIMING: gpu_tid=1 ntt_msm_h_ms=50 job=j partition=2",
        "CUZK_TIMING: wait_transfer_ms=10 job=j partition=2",
        "CUZK_TIMING: gpu_tid=1 batch_add_ms=20 job=j partition=2",
        "CUZK_TIMING: b_g2_msm_ms=19 num_circuits=3 job=j partition=2",
        # kernels from 0 to 99 ms, of which 10 ms were spent waiting
        "CUZK_TIMING: gpu_tid=1 tail_msm_ms=5 gpu_total_ms=89 job=j partition=2",
        "CUZK_TIMING: prove_ms=100 job=j partition=2 failed=1",
    ]


def test_lines_of_a_killed_process_are_in_the_redirected_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import sys, time\n"
        "from cuzk.telemetry import Recorder, TimingLines\n"
        "recorder = Recorder([TimingLines()]).scoped(job='k')\n"
        "with recorder.phase('prove'):\n"
        "    with recorder.phase('prep_msm'): pass\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with log.open("w") as stderr:
        command = [sys.executable, "-c", code]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=tmp_path
        ) as process:
            assert process.stdout is not None
            ready = process.stdout.readline()
            process.send_signal(signal.SIGKILL)
    assert ready == "ready\n"
    assert log.read_text() == "CUZK_TIMING: prep_msm_ms=0 job=k partition=-\n"


def test_event_files_read_back_equal_and_survive_a_cut_last_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with JsonlWriter(path) as writer:
        recorder = Recorder([writer]).scoped(job="j", variants={"M2": "none"}, device="cpu")
        with recorder.phase("prove"), recorder.phase("prep_msm") as span:
            span.add_counts(fr_mul=3)
            span.tag(M2="none")
        assert read_events(path) == recorder.events  # before it is closed: flushed line by line
    with path.open("a") as file:
        file.write('{"id": 2, "par')
    assert read_events(path) == recorder.events
    with path.open("a") as file:
        file.write("\n")
    with pytest.raises(FormatError, match="line 3"):
        read_events(path)
    path.write_text('{"id": 1}\n')
    with pytest.raises(FormatError, match="no event: its fields are not an event's") as caught:
        read_events(path)
    assert "__init__" not in str(caught.value)
    path.write_bytes(b"\xff\xfe of another kind\n")
    with pytest.raises(FormatError, match="line 1 is no event"):
        read_events(path)


def test_exclusive_time_counts_overlapping_children_once() -> None:
    (root,) = build_tree(RUN)
    assert [child.event.phase for child in root.children] == [
        "prep_msm", "ntt_msm_h", "wait_transfer", "batch_add", "b_g2_msm",
    ]  # fmt: skip
    assert root.unattributed_ns == 1 * MS  # 99 to 100 ms
    assert sum(node.exclusive_ns for node in root.walk()) == (100 + 10) * MS  # 10 ms ran twice in parallel


def test_unexplained_time_above_the_limit_is_named() -> None:
    assert unexplained(RUN) == []
    shortened = [dataclasses.replace(e, end_ns=50 * MS) if e.phase == "msm_h" else e for e in RUN]
    ((found, share),) = unexplained(shortened, recording_ns=0)
    assert found.phase == "ntt_msm_h"
    assert share == pytest.approx(0.2)
    ((found, share),) = unexplained(shortened)
    assert share == pytest.approx(0.2 - 2 * 0.1 / 50), "recording two children is not unexplained"


def test_time_on_the_device_leaves_waits_out() -> None:
    assert gpu_total_ns(RUN) == 89 * MS
    assert gpu_total_ns([RUN[7]]) == 0


def test_events_of_two_recorders_do_not_mix() -> None:
    with pytest.raises(InternalError, match="share 8 ids"):
        build_tree([*RUN, RUN[0]])


def test_the_table_has_shares_of_the_parent_and_an_unattributed_row() -> None:
    rows = {(row.depth, row.phase): row for row in timing_rows(RUN)}
    assert rows[0, "prove"].share == 1.0
    assert rows[1, "ntt_msm_h"].share == pytest.approx(0.5)
    assert rows[2, "ntt_h"].share == pytest.approx(0.6)
    assert rows[1, "unattributed"].duration_ms == pytest.approx(1.0)
    assert not rows[1, "unattributed"].is_defect
    late = [dataclasses.replace(e, end_ns=120 * MS) if e.phase == "prove" else e for e in RUN]
    assert any(row.is_defect for row in timing_rows(late) if row.phase == "unattributed")

    console = Console(file=io.StringIO(), width=100)
    console.print(timing_table(RUN))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "ntt_msm_h" in text
    assert "50.0%" in text


def test_siblings_of_one_name_are_one_row() -> None:
    twice = [event(0, "prove", 0, 10), event(1, "spmv", 0, 4, 0), event(2, "spmv", 4, 10, 0)]
    row = timing_rows(twice)[1]
    assert (row.phase, row.num_events, row.duration_ms) == ("spmv", 2, 10.0)


def test_a_sleeping_phase_reads_its_sleep() -> None:
    recorder = Recorder()
    before = time.perf_counter_ns()
    with recorder.phase("synthesis"):
        time.sleep(0.05)
    passed = time.perf_counter_ns() - before
    # A loaded machine may wake it late, never early, and then the clock around it says so too.
    assert 50 * MS <= recorder.events[0].duration_ns <= passed


def test_the_memory_monitor_samples_and_keeps_the_peak(tmp_path: Path) -> None:
    path = tmp_path / "memory.csv"
    readings = itertools.chain([100, 900], itertools.repeat(300))
    with MemoryMonitor(path, interval_ms=1, sample=lambda: next(readings)) as monitor:
        deadline = time.monotonic() + 250
        while len(path.read_text().splitlines()) < 5 and time.monotonic() < deadline:
            time.sleep(0.002)
    header, *rows = path.read_text().splitlines()
    assert header == CSV_HEADER
    assert [int(row.split(",")[1]) for row in rows[:3]] == [100, 900, 300]
    elapsed = [int(row.split(",")[0]) for row in rows]
    assert elapsed == sorted(elapsed)
    assert monitor.peak_bytes == 900


def test_the_memory_monitor_reads_this_process(tmp_path: Path) -> None:
    with MemoryMonitor(tmp_path / "m.csv") as monitor:
        pass
    assert 5 * 2**20 < monitor.peak_bytes < 2**40
    with pytest.raises(RangeError, match="at least 1 ms"):
        MemoryMonitor(tmp_path / "n.csv", interval_ms=0)
