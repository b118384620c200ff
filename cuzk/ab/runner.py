"""Running a workload under one setting: once with every intermediate kept, and again and again for its times."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from cuzk.ab.settings import Setting
from cuzk.ab.workload import Workload
from cuzk.device import Device
from cuzk.device.instruments import require_fresh
from cuzk.errors import CuzkError, SecurityWarning
from cuzk.groth16 import Blinding, Prover
from cuzk.limbs import U64Array
from cuzk.telemetry import Event, Recorder
from cuzk.variants import VARIANTS

__all__ = ["CLOCKS", "TOTAL", "LocalRunner", "Opener", "Runner", "Trace", "open_named"]

#: What times may be: of the wall, or of the processors (other programs do not count, waiting does not either).
CLOCKS = ("wall", "cpu")
#: Row of the table that stands for the whole call.
TOTAL = "total"
_R_BLIND, _S_BLIND = 7, 11

Opener = Callable[[str], Device]


@dataclass
class Trace:
    """What one run has computed on its way.

    Args:
        values: Name -> one array for each circuit: a, b, c, h_FORM, sum_QUERY, proof_POINT.
        phases: Phases that ran.
        traces: Variant -> values that the run's events show for it.
        error: What the run ended with, in words; None where it came to a proof.
        failed_in: The innermost phase that the error left.
    """

    values: dict[str, list[U64Array]] = field(default_factory=dict)
    phases: set[str] = field(default_factory=set)
    traces: dict[str, set[str]] = field(default_factory=dict)
    error: str | None = None
    failed_in: str = ""


class Runner(Protocol):
    """Runs one setting."""

    setting: Setting

    def trace(self) -> Trace:
        """Prove once and keep every intermediate."""

    def sample(self, clock: str) -> dict[str, float]:
        """Prove once and return milliseconds by phase, and in total."""


def open_named(name: str) -> Device:
    """The usual opener of devices."""
    from cuzk.device import get_device

    return get_device(name)


class _Collector:
    """A sink whose events are taken away after each run."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def receive(self, event: Event) -> None:
        """Keep one event."""
        self.events.append(event)

    def take(self) -> list[Event]:
        """The events since the last call."""
        taken, self.events = self.events, []
        return taken


class LocalRunner:
    """Runs a setting of this process's own code.

    Args:
        workload: What to prove.
        setting: How.
        opener: Opens devices by name.

    Raises:
        DeviceError: The device cannot be opened, or its kernels are stale.
    """

    def __init__(self, workload: Workload, setting: Setting, opener: Opener = open_named) -> None:
        self.setting, self.workload = setting, workload
        self.device = opener(setting.device)
        require_fresh(self.device)
        self._trace: Trace | None = None
        self._collector = _Collector()
        recorder = Recorder([self._collector]).scoped(viewer=self._view)
        self.prover = Prover(
            workload.key, self.device, variants=setting.variants, recorder=recorder, circuit=workload.circuit
        )
        self._collector.take()

    def _view(self, name: str, value: Any) -> None:
        if self._trace is not None:
            host = value if isinstance(value, np.ndarray) else self.device.download(value)
            self._trace.values.setdefault(name, []).append(np.array(host, copy=True))

    def _prove(self) -> list[Any]:
        curve = self.workload.key.curve
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            blindings = [Blinding.insecure(curve, _R_BLIND, _S_BLIND) for _ in self.workload.witnesses]
        return self.prover.prove_batch(self.workload.witnesses, blindings=blindings, self_check=False)

    def trace(self) -> Trace:
        """Prove once and keep every intermediate; an error of ours ends the trace, which keeps what was before."""
        self._trace = trace = Trace()
        proofs: list[Any] = []
        try:
            proofs = self._prove()
        except CuzkError as error:
            trace.error = f"{type(error).__name__}: {error.what}"
        finally:
            self._trace = None
        for point in ("a", "b", "c") if proofs else ():
            trace.values[f"proof_{point}"] = [getattr(proof, point) for proof in proofs]
        for event in self._collector.take():
            trace.phases.add(event.phase)
            if event.failed and not trace.failed_in:
                trace.failed_in = event.phase  # events come innermost first
            for row in VARIANTS.values():
                if row.trace in event.tags:
                    trace.traces.setdefault(row.id, set()).add(str(event.tags[row.trace]))
        return trace

    def sample(self, clock: str) -> dict[str, float]:
        """Prove once and return milliseconds by phase; children count in their parents too."""
        self._prove()
        found: dict[str, float] = {}
        for event in self._collector.take():
            name = TOTAL if event.phase == "prove" else event.phase
            taken = event.duration_ns if clock == "wall" else event.cpu_ns
            found[name] = found.get(name, 0.0) + taken / 1e6
        return found
