"""What `cuzk bench` gives jobs to: an engine in this process, or a daemon."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil

from cuzk.ab.engine_workload import make_key, witness_payload, worker_config
from cuzk.circuits.catalogue import find_circuit, is_circuit_name
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES
from cuzk.cli.output import note
from cuzk.engine.client import EngineClient
from cuzk.engine.config import DaemonConfig, QueueConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobRequest, JobState, PayloadForm, Priority
from cuzk.engine.local import LocalEngine
from cuzk.errors import EngineError, InputError

__all__ = ["Done", "Target", "form_of", "open_target", "payload_of"]

_PATIENCE_S = 3600.0
_RSS = re.compile(r"^cuzk_worker_rss_bytes\{[^}]*\} (\S+)$", re.MULTILINE)
_KINDS = {"porep": 1, "window-post": 3, "winning-post": 4}


@dataclass(frozen=True)
class Done:
    """A job that has ended.

    Args:
        latency_ms: From its submission to the answer, as the client saw it.
        stages_ms: What the engine says of its stages.
        proofs: How many it has.
        error: Why it was not proven.
    """

    latency_ms: float
    stages_ms: dict[str, float] = field(default_factory=dict)
    proofs: int = 1
    error: str = ""


class Target(Protocol):
    """Something that proves; safe to use from several threads."""

    name: str
    #: Seconds between two looks at its memory.
    sample_s: float

    def prove(self, circuit: str, payload: bytes, priority: int) -> Done:
        """Submit a job and wait for its end."""

    def preload(self, circuit: str) -> tuple[float, bool]:
        """Load a key; milliseconds, and whether it was loaded before."""

    def evict(self, circuit: str) -> int:
        """Let a key go; bytes freed."""

    def memory(self) -> dict[str, int]:
        """Stage -> resident memory of all workers now, bytes; "any" where stages are not known."""


def form_of(payload: bytes) -> PayloadForm:
    """What a payload is, by how it begins."""
    return PayloadForm.WITNESS if payload[:4] == b"wtns" else PayloadForm.VANILLA


def payload_of(circuit: str, path: Path | None) -> bytes:
    """A file's bytes, or a vanilla proof that nobody's sector has.

    Raises:
        InputError: There is neither.
    """
    if path is not None:
        return path.read_bytes()
    if not is_circuit_name(circuit):
        raise InputError(f"there is no file to prove {circuit!r:.60} from", remedy="give --payload FILE")
    return find_circuit(circuit).synthetic(b"cuzk bench")


@contextmanager
def open_target(circuit: str, address: str | None, keys: Path | None, device: str) -> Iterator[Target]:
    """A daemon, or an engine with one worker for the duration of a ``with`` block."""
    if address is not None:
        with EngineClient(address) as client:
            yield _Remote(client)
        return
    config = DaemonConfig(queue=QueueConfig(max_jobs=100_000))
    with tempfile.TemporaryDirectory(prefix="cuzk-keys-") as made:
        if keys is None:
            note(f"making a key of {circuit}")
            make_key(circuit, Path(made))
        worker = worker_config(config, device, keys or Path(made))
        with LocalEngine(config, [worker]) as engine:
            yield _Local(engine)


class _Local:
    """An engine in this process."""

    sample_s = 0.005

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine
        self.name = "in process"

    def prove(self, circuit: str, payload: bytes, priority: int) -> Done:
        began = time.perf_counter()
        request = JobRequest(circuit, 1, payload, form_of(payload), Priority(priority))
        job = self._engine.wait(self._engine.submit(request), _PATIENCE_S)
        error = "" if job.state is JobState.DONE else f"{job.state.value}: {job.error}"
        return Done((time.perf_counter() - began) * 1e3, dict(job.times_ms), len(job.proofs), error)

    def preload(self, circuit: str) -> tuple[float, bool]:
        began = time.perf_counter()
        was_loaded = self._engine.preload(circuit)
        return (time.perf_counter() - began) * 1e3, was_loaded

    def evict(self, circuit: str) -> int:
        answers = self._engine.run(self._engine.ask(lambda engine: engine).keys.evict(circuit))
        return sum(answer.freed for answer in answers)

    def memory(self) -> dict[str, int]:
        def look(engine: Engine) -> list[tuple[int | None, list[str]]]:
            return [(w.pid, [stage for stage, _ in w.state.stages.values()]) for w in engine.workers]

        found: dict[str, int] = {}
        for pid, stages in self._engine.ask(look):
            try:
                rss = psutil.Process(pid).memory_info().rss if pid is not None else 0
            except psutil.Error:
                continue  # it has just been replaced
            for stage in set(stages) or {"idle"}:
                found[stage] = found.get(stage, 0) + rss
        return found


class _Remote:
    """A daemon, over the wire."""

    sample_s = 0.2

    def __init__(self, client: EngineClient) -> None:
        self._client = client
        self.name = client.address

    def prove(self, circuit: str, payload: bytes, priority: int) -> Done:
        began = time.perf_counter()
        job = self._submit(circuit, payload, priority)
        answer = self._client.wait(job, _PATIENCE_S)
        took = (time.perf_counter() - began) * 1e3
        stages = {
            "queue_wait": answer.queue_wait_ms, "key_load": answer.srs_load_ms,
            "synthesis": answer.synthesis_ms, "gpu": answer.gpu_compute_ms,
        }  # fmt: skip
        error = "" if answer.status == 1 else answer.error_message or f"status {answer.status}"
        return Done(took, {name: float(value) for name, value in stages.items()}, 1, error)

    def _submit(self, circuit: str, payload: bytes, priority: int) -> str:
        family, _, size = circuit.partition(":")
        if form_of(payload) is PayloadForm.WITNESS:
            return self._client.submit_witness(circuit, payload, priority=priority)
        if family not in _KINDS or size not in SECTOR_SHAPES:
            # The wire has no vanilla proofs of other circuits; their witness it takes.
            return self._client.submit_witness(circuit, witness_payload(circuit, payload), priority=priority)
        fields: dict[str, Any] = {
            "proof_kind": _KINDS[family], "sector_size": SECTOR_SHAPES[size].size_bytes, "priority": priority,
        }  # fmt: skip
        proof = {"vanilla_proof": payload} if family == "porep" else {"vanilla_proofs": [payload]}
        return self._client.submit(fields | proof)

    def preload(self, circuit: str) -> tuple[float, bool]:
        began = time.perf_counter()
        was_loaded = bool(self._client.call("PreloadSRS", circuit_id=circuit).already_loaded)
        return (time.perf_counter() - began) * 1e3, was_loaded

    def evict(self, circuit: str) -> int:
        return int(self._client.call("EvictSRS", circuit_id=circuit).freed_bytes)

    def memory(self) -> dict[str, int]:
        try:
            text = str(self._client.call("GetMetrics", timeout_s=60).prometheus_text)
        except EngineError:
            return {}
        return {"any": round(sum(float(value) for value in _RSS.findall(text)))}
