"""Instruments: phase events, timing lines, event files, the table after a run, the memory monitor.

Telemetry receives events and calls nobody back.  Phases get a `Recorder` as an argument:

    with recorder.phase("ntt_msm_h"):
        with recorder.phase("ntt_h") as span:
            ...
            span.tag(quotient="six_ntt")
"""

from cuzk.telemetry.events import Event, EventSink, ProgressSink, Recorder, Span
from cuzk.telemetry.jsonl import JsonlWriter, read_events
from cuzk.telemetry.lines import TimingLines
from cuzk.telemetry.memory import MemoryMonitor
from cuzk.telemetry.phases import PHASES, PhaseSpec
from cuzk.telemetry.remaining import Remaining
from cuzk.telemetry.table import timing_rows, timing_table
from cuzk.telemetry.tree import build_tree, gpu_total_ns, unexplained

__all__ = [
    "PHASES",
    "Event",
    "EventSink",
    "JsonlWriter",
    "MemoryMonitor",
    "PhaseSpec",
    "ProgressSink",
    "Recorder",
    "Remaining",
    "Span",
    "TimingLines",
    "build_tree",
    "gpu_total_ns",
    "read_events",
    "timing_rows",
    "timing_table",
    "unexplained",
]
