"""Instruments: phase events, timing lines, event files, the table after a run, the memory monitor.

Telemetry receives events and calls nobody back.  Phases get a `Recorder` as an argument:

    with recorder.phase("ntt_msm_h"):
        with recorder.phase("ntt_h") as span:
            ...
            span.tag(quotient="six_ntt")
"""

from cuzk.telemetry.axis import DeviceAxis
from cuzk.telemetry.device_time import DeviceTime
from cuzk.telemetry.events import Event, EventSink, ProgressSink, Recorder, Span
from cuzk.telemetry.jsonl import JsonlWriter, read_events
from cuzk.telemetry.lines import TimingLines
from cuzk.telemetry.memory import MemoryMonitor, MemorySample, peaks_by_phase
from cuzk.telemetry.nvml import open_gauges
from cuzk.telemetry.perf_counters import PerfCounters
from cuzk.telemetry.phases import PHASES, PhaseSpec
from cuzk.telemetry.records import Gauges
from cuzk.telemetry.remaining import Remaining
from cuzk.telemetry.table import timing_rows, timing_table
from cuzk.telemetry.tree import build_tree, gpu_total_ns, overlap_ns, unexplained, wall_shares

__all__ = [
    "PHASES",
    "DeviceAxis",
    "DeviceTime",
    "Event",
    "EventSink",
    "Gauges",
    "JsonlWriter",
    "MemoryMonitor",
    "MemorySample",
    "PerfCounters",
    "PhaseSpec",
    "ProgressSink",
    "Recorder",
    "Remaining",
    "Span",
    "TimingLines",
    "build_tree",
    "gpu_total_ns",
    "open_gauges",
    "overlap_ns",
    "peaks_by_phase",
    "read_events",
    "timing_rows",
    "timing_table",
    "unexplained",
    "wall_shares",
]
