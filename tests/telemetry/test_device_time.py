"""The device's time of phases, on a device whose clock a test sets.

Would catch: a span that ends when the host comes back, not when the work is done; work of a phase booked on another;
holding up that is part of what is measured, or shorter than the host needs; a device that stays watched.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from cuzk.cli.perf_worker import open_meter
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.ops.fr_vec import fr_mul
from cuzk.telemetry import DeviceTime, Recorder


class Stream:
    """A stream that runs what is queued on a clock of its own, and a host whose launches take a given time."""

    def __init__(self) -> None:
        self.host_ms = self.free_at = 0.0

    def launch(self, took: float, *, host: float = 0.0) -> None:
        """Queue work, after the host has spent its part."""
        self.host_ms += host
        self.free_at = max(self.free_at, self.host_ms) + took

    def fill_zero(self, array: Any) -> None:
        """Nothing to fill."""

    def mark(self) -> float:
        """When the stream gets there."""
        return max(self.free_at, self.host_ms)

    def elapsed(self, begin: float, end: float) -> float:
        """Waits for both."""
        self.host_ms = max(self.host_ms, end)
        return end - begin

    def time_of(self, ticket: float) -> float:
        """Waits."""
        return self.elapsed(0.0, ticket)

    def download(self, array: Any = None) -> None:
        """Wait for everything."""
        self.host_ms = self.mark()

    def synchronize(self) -> None:
        """Wait for everything."""
        self.download()


@dataclass
class Bench:
    """A stream, its meter and a recorder that settles it."""

    stream: Stream
    meter: DeviceTime
    recorder: Any

    def msm(self, host: float) -> float:
        """A phase of two spans: 3 launches of 1 ms, a wait, 1 of 2 ms. The device's time of it."""
        with self.recorder.phase("prep_msm"):
            for _ in range(3):
                self.stream.launch(1.0, host=host)
            self.stream.download()
            self.stream.host_ms += 7.0  # the host thinks; nothing is queued
            self.stream.launch(2.0, host=host)
        return self.meter.take()["prep_msm"]


def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    stream = Stream()
    monkeypatch.setattr(time, "perf_counter_ns", lambda: round(stream.host_ms * 1e6))
    meter = DeviceTime(stream, lambda milliseconds: stream.launch(milliseconds))
    return Bench(stream, meter, Recorder([meter]).scoped(sync=lambda: stream.download()))


def test_gaps_of_a_late_host_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that needs 1.2 ms a launch makes gaps; held up, phases take what their work takes, then with less hold."""
    made = bench(monkeypatch)
    free = made.msm(host=1.2)
    assert free > 5.5
    made.meter.mode = "hold"
    assert made.msm(host=1.2) == pytest.approx(5.0)
    before = made.meter.held_ms
    made.meter.tighten()
    assert made.meter.held_ms < before
    assert made.msm(host=1.2) == pytest.approx(5.0)
    made.meter.mode = "off"
    assert made.msm(host=0.0) == pytest.approx(5.0)


def test_what_is_planted_is_measured_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its phase, by the same clock."""
    made = bench(monkeypatch)
    made.msm(host=0.0)
    made.meter.mode = "hold"
    made.meter.plants = {"prep_msm": lambda: made.stream.launch(0.2)}
    assert made.msm(host=0.0) == pytest.approx(5.2)
    assert made.meter.take_planted() == {"prep_msm": pytest.approx(0.2)}
    assert made.meter.take_planted() == {}


def test_waiting_for_an_event_ends_a_span(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host waits for a mark, and thinks: what it thinks is not the device's time. A part counts in its whole."""
    made = bench(monkeypatch)
    with made.recorder.phase("batch_add"), made.recorder.phase("query_l"):
        begin = made.stream.mark()
        made.stream.launch(1.0)
        made.stream.elapsed(begin, made.stream.mark())
        made.stream.host_ms += 9.0
    assert made.meter.take() == {"batch_add": pytest.approx(1.0), "query_l": pytest.approx(1.0)}


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_a_device_is_watched_until_it_is_closed(spec: str) -> None:
    device, curve = get_device(spec), get_curve("bn254")
    meter = open_meter(device, curve, 6)
    recorder = Recorder([meter]).scoped(sync=device.synchronize)
    a = device.alloc((4, curve.fr.limbs), zero=True)
    with recorder.phase("ntt_h"):
        fr_mul(device, curve, a, a)
    assert meter.take()["ntt_h"] > 0
    meter.close()
    assert not {"launch", "download", "synchronize"} & set(vars(device))
    with recorder.phase("ntt_h"):
        fr_mul(device, curve, a, a)
    assert meter.take() == {}
