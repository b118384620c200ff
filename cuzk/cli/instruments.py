"""What a command attaches to its recorder: counters, gauges and clock of the device, memory; and tables of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from cuzk.cli.output import note, table

if TYPE_CHECKING:
    from rich.table import Table

    from cuzk.device import Device
    from cuzk.telemetry import MemoryMonitor, MemorySample, Recorder

__all__ = ["attach", "book_copies", "open_counters", "peaks_json", "peaks_table"]

#: Stream number of copies beside the kernels, in events.
_COPY_STREAM = 1


def open_counters(stack: ExitStack) -> Callable[[], Mapping[str, int]]:
    """Open the processor's counters until a stack is closed; a line on stderr names those that are not there."""
    from cuzk.telemetry import PerfCounters

    counters = stack.enter_context(PerfCounters())
    if counters.missing:
        reasons = ", ".join(sorted(set(counters.missing.values())))
        note(
            f"not counted here: {', '.join(counters.missing)} ({reasons}); "
            "callgrind counts instructions anywhere (docs/instruments.md)"
        )
    return counters.read


def attach(recorder: Recorder, device: Device, monitor: MemoryMonitor | None = None) -> Recorder:
    """A view of a recorder that reads a device's clocks, memory and time axis, where it is a GPU.

    Args:
        recorder: Of the command.
        device: Just opened.
        monitor: Gets the GPU's memory and the locked memory of the host to sample.
    """
    from cuzk.device.instruments import bus_id, pinned_bytes
    from cuzk.telemetry import DeviceAxis, open_gauges

    if device.kind != "cuda":
        return recorder
    gauges = open_gauges(bus_id(device))
    if monitor is not None:
        monitor.pinned = lambda: pinned_bytes(device)
        if gauges is not None:
            monitor.device = lambda: gauges().device_bytes
    axis = DeviceAxis.measure(lambda: device.time_of(device.mark()))
    return recorder.scoped(gauges=gauges, axis=axis)


def book_copies(recorder: Recorder, device: Device) -> None:
    """Put the copies that ran beside the kernels on the recorder's time axis."""
    if device.kind != "cuda":
        return
    name = device.name.partition(" ")[0]
    for span in device.take_copies():
        recorder.scoped(device=name).record_device(
            "transfer",
            span.begin_ms,
            span.end_ms,
            stream=_COPY_STREAM,
            bytes_up=span.nbytes,
            label=span.label,
        )


def _peaks(monitor: MemoryMonitor, recorder: Recorder) -> dict[str, MemorySample]:
    from cuzk.telemetry import peaks_by_phase

    return peaks_by_phase(monitor.samples, recorder.events)


def peaks_json(monitor: MemoryMonitor, recorder: Recorder) -> dict[str, dict[str, Any]]:
    """Phase -> peaks in bytes."""
    return {
        phase: {
            "rss_bytes": peak.rss_bytes, "pinned_bytes": peak.pinned_bytes, "device_bytes": peak.device_bytes
        }
        for phase, peak in _peaks(monitor, recorder).items()
    }  # fmt: skip


def peaks_table(monitor: MemoryMonitor, recorder: Recorder) -> Table:
    """Peaks of each phase, in MiB."""
    made = table("Most memory in each phase, MiB", "phase", ">resident", ">pinned", ">GPU")
    for phase, peak in _peaks(monitor, recorder).items():
        cells = (peak.rss_bytes, peak.pinned_bytes, peak.device_bytes)
        made.add_row(phase, *("" if cell is None else f"{cell / 2**20:.1f}" for cell in cells))
    return made
