"""Jobs and their partitions: what an engine has accepted, and how far it is.

A job is one or more partitions of one circuit; each partition is one proof. A job ends once: done with all its
proofs, failed with a reason, or cancelled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path

from cuzk.errors import InputError, RangeError

__all__ = [
    "MAX_ID", "Job", "JobRequest", "JobState", "PayloadForm", "Priority", "Task", "check_circuit", "check_request_id",
]  # fmt: skip

#: Characters of a request identifier.
MAX_ID = 128
#: Bytes of a circuit's name, which with a suffix is that of a file.
_MAX_CIRCUIT = 240
_ID = re.compile(r"[A-Za-z0-9._:@/+=-]+")


class Priority(IntEnum):
    """How urgent a job is; the numbers are those of the wire."""

    LOW = 1
    NORMAL = 2
    HIGH = 3
    CRITICAL = 4


class JobState(StrEnum):
    """Where a job is. The last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to the job."""
        return self in (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


class PayloadForm(StrEnum):
    """What a job's payload is."""

    #: A vanilla proof of the circuit's family, bincode or JSON.
    VANILLA = "vanilla"
    #: A ``.wtns`` file.
    WITNESS = "witness"


def check_request_id(text: str) -> str:
    """The identifier, if it can be one.

    Raises:
        InputError: Empty, too long, or with characters that no file name or log line should hold.
    """
    if not text or len(text) > MAX_ID or not _ID.fullmatch(text):
        raise InputError(
            f"{text!r:.60} is no request identifier",
            limit=f"1 to {MAX_ID} letters, digits and . _ : @ / + = -",
            remedy="leave it empty to get one",
        )
    return text


def check_circuit(text: str) -> str:
    """The name of a circuit, if it can be one: it gets into logs, metrics, messages and names of files.

    Raises:
        InputError: Empty, too long, or with characters that do not print.
    """
    if not (text and len(text) <= _MAX_CIRCUIT and text.isprintable() and len(text.encode()) <= _MAX_CIRCUIT):
        raise InputError(
            f"{text[:60]!a} is no name of a circuit",
            limit=f"1 to {_MAX_CIRCUIT} bytes that print",
            remedy="name it as its key's file is named in the folder of keys",
        )
    return text


@dataclass(frozen=True)
class JobRequest:
    """What a client asks for.

    Args:
        circuit: Its name, by which the key is found.
        num_partitions: Proofs to make.
        payload: What they are made from.
        form: How to read it.
        priority: How urgent it is.
        request_id: The client's name for it; the same name twice is the same job. Empty: the engine names it.
        first_partition: Number of the first partition within the payload.
        tags: Facts of the client's (sector, miner) that logs and events repeat.
    """

    circuit: str
    num_partitions: int
    payload: bytes
    form: PayloadForm
    priority: Priority = Priority.NORMAL
    request_id: str = ""
    first_partition: int = 0
    tags: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        check_circuit(self.circuit)
        if self.request_id:
            check_request_id(self.request_id)
        if not 1 <= self.num_partitions <= 1 << 16 or self.first_partition < 0:
            raise RangeError(f"{self.num_partitions} partitions", limit="1 to 65536")


@dataclass(frozen=True, order=True)
class Task:
    """One partition of one job.

    Args:
        seq: Number of the job in order of acceptance.
        partition: Number of the proof within the job, from 0.
        job_id: The job.
    """

    seq: int
    partition: int
    job_id: str = field(compare=False)


@dataclass
class Job:
    """An accepted job.

    Args:
        id: Its name, unique.
        seq: Number in order of acceptance.
        circuit: As of JobRequest.
        num_partitions: Likewise.
        first_partition: Likewise.
        form: Likewise.
        priority: Likewise.
        payload_path: Where the payload is kept until the job ends.
        payload_bytes: Its size.
        submitted: Seconds since the epoch.
        tags: As of JobRequest.
        state: Where it is.
        proofs: Partition -> proof bytes, of those that are made.
        error: Why it failed.
        finished: Seconds since the epoch, or None.
        attempts: Partition -> how often it was given to a worker and failed there.
        times_ms: What the stages took, summed over partitions.
    """

    id: str
    seq: int
    circuit: str
    num_partitions: int
    first_partition: int
    form: PayloadForm
    priority: Priority
    payload_path: Path
    payload_bytes: int
    submitted: float
    tags: tuple[tuple[str, str], ...] = ()
    state: JobState = JobState.QUEUED
    proofs: dict[int, bytes] = field(default_factory=dict)
    error: str = ""
    finished: float | None = None
    attempts: dict[int, int] = field(default_factory=dict)
    times_ms: dict[str, float] = field(default_factory=dict)

    @property
    def tasks(self) -> list[Task]:
        """The partitions that have no proof yet."""
        return [Task(self.seq, i, self.id) for i in range(self.num_partitions) if i not in self.proofs]

    @property
    def proof(self) -> bytes:
        """All proofs in order of their partitions; empty unless every one is there."""
        if len(self.proofs) != self.num_partitions:
            return b""
        return b"".join(self.proofs[i] for i in range(self.num_partitions))

    def add_time(self, stage: str, milliseconds: float) -> None:
        """Book time of a stage."""
        self.times_ms[stage] = self.times_ms.get(stage, 0.0) + milliseconds
