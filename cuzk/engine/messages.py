"""What the daemon and its worker processes say to each other, pickled over a pipe between them.

The daemon sends Prove, Cancel, Preload, Evict, Stop; a worker answers with Ready, Proved, Failed, KeyChange and,
at each change of stage, Stage. Payloads are files: only their paths travel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cuzk.engine.jobs import PayloadForm, Task
from cuzk.engine.key_store import KeyReport

__all__ = [
    "Cancel", "Evict", "Failed", "FailureKind", "FromWorker", "KeyChange", "NotReady", "Payload", "PhaseLine",
    "Preload", "Prove", "Proved", "Ready", "Stage", "Stop", "ToWorker", "WorkerMemory",
]  # fmt: skip

#: Who is at fault: "input" (the job's data), "device" (worth another try elsewhere), "internal", "cancelled".
FailureKind: TypeAlias = str


@dataclass(frozen=True)
class Payload:
    """The data of one partition.

    Args:
        path: A file.
        form: How to read it.
        partition: Number of the partition within it.
    """

    path: Path
    form: PayloadForm
    partition: int


@dataclass(frozen=True)
class Prove:
    """Prove partitions of one circuit together.

    Args:
        number: Of this order; answers repeat it.
        circuit: Whose key.
        tasks: The partitions.
        payloads: For each, where its data is.
        rank: The more, the sooner.
        on_host: Prove on the processor, whatever the worker's device is.
    """

    number: int
    circuit: str
    tasks: tuple[Task, ...]
    payloads: tuple[Payload, ...]
    rank: int
    on_host: bool = False


@dataclass(frozen=True)
class Cancel:
    """Stop the partitions of a job at their next phase."""

    job_id: str


@dataclass(frozen=True)
class Preload:
    """Load a key.

    Args:
        number: Answers repeat it.
        circuit: Whose.
    """

    number: int
    circuit: str


@dataclass(frozen=True)
class Evict:
    """Let a key go; as of Preload."""

    number: int
    circuit: str


@dataclass(frozen=True)
class Stop:
    """End when the orders in hand are done."""


@dataclass(frozen=True)
class WorkerMemory:
    """Bytes of a worker, None where unknown or where its device has no memory of its own.

    Args:
        rss: Resident.
        pinned: Page-locked.
        device_used: What arrays take of the device.
        device_total: What arrays may take of it.
        host_limit: What its keys may take of the host: configured, or measured at its start.
        device_limit: What its keys may take of the device; likewise.
    """

    rss: int = 0
    pinned: int | None = None
    device_used: int | None = None
    device_total: int | None = None
    host_limit: int | None = None
    device_limit: int | None = None


@dataclass(frozen=True)
class Ready:
    """The worker takes orders now.

    Args:
        device: Name of its device.
        kind: cpu, emu or cuda.
        pid: Its process.
    """

    device: str
    kind: str
    pid: int


@dataclass(frozen=True)
class NotReady:
    """The worker cannot start, and ends.

    Args:
        reason: Why.
    """

    reason: str


@dataclass(frozen=True)
class Stage:
    """A partition enters a stage.

    Args:
        task: Which.
        stage: synthesis, gpu, finish, or "ready" for the next of them.
    """

    task: Task
    stage: str


@dataclass(frozen=True)
class PhaseLine:
    """One phase of a proof, for the waterfall.

    Args:
        name: Of the phase.
        depth: How many phases it lies in.
        start_ms: Since the first phase of the proof.
        duration_ms: How long it took.
    """

    name: str
    depth: int
    start_ms: float
    duration_ms: float


@dataclass(frozen=True)
class Proved:
    """A partition is proven and checked.

    Args:
        number: Of the order.
        task: Which partition.
        proof: Its bytes.
        times_ms: Stage -> milliseconds.
        memory: Of the worker, now.
        phases: What the time went into, in order.
        threads: Stage -> name of the thread that ran it, by which P2, P8 and P12 show.
    """

    number: int
    task: Task
    proof: bytes
    times_ms: Mapping[str, float] = field(default_factory=dict)
    memory: WorkerMemory = WorkerMemory()
    phases: tuple[PhaseLine, ...] = ()
    threads: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """A partition is not proven here.

    Args:
        number: Of the order.
        task: Which partition.
        kind: Whose fault it is.
        reason: In words, for the client.
        device_lost: The device will not work again in this process.
        case: File with a replayable case, if one was written.
    """

    number: int
    task: Task
    kind: FailureKind
    reason: str
    device_lost: bool = False
    case: str = ""


@dataclass(frozen=True)
class KeyChange:
    """What keys the worker has now.

    Args:
        keys: All of them.
        memory: Of the worker, now.
        number: Of the order that this answers; -1 for none.
        error: Why that order failed.
        was_loaded: Of a Preload or Evict: whether the key was there before.
        freed: Bytes that an Evict freed.
        took_ms: What a Preload took.
    """

    keys: tuple[KeyReport, ...]
    memory: WorkerMemory = WorkerMemory()
    number: int = -1
    error: str = ""
    was_loaded: bool = False
    freed: int = 0
    took_ms: float = 0.0

    @property
    def is_unasked(self) -> bool:
        """Whether it answers no order."""
        return self.number < 0


ToWorker: TypeAlias = Prove | Cancel | Preload | Evict | Stop
FromWorker: TypeAlias = Ready | NotReady | Stage | Proved | Failed | KeyChange
