"""An engine with real workers at work: what it is given, what it takes, and whether its proofs hold."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from cuzk.ab.engine import pipeline_of
from cuzk.engine.board import ProofRecord
from cuzk.engine.config import DaemonConfig, KeysConfig, MemoryConfig, QueueConfig
from cuzk.engine.core import Engine
from cuzk.engine.daemon import worker_configs
from cuzk.engine.jobs import Job, JobRequest, JobState, PayloadForm
from cuzk.engine.local import LocalEngine
from cuzk.errors import EngineError
from cuzk.formats import decode_proof
from cuzk.formats.cuzk_key import load_cuzk_key
from cuzk.groth16 import verify
from tests.device.engine_data import Sector, public_inputs

__all__ = ["GpuWatch", "Run", "busy_share", "check_proofs", "seconds_each", "with_one", "within_budget"]

#: Bytes beside a key that a worker may keep of the host's memory where the measured share is too small.
_BESIDE = 8 << 30
_SAMPLE_S = 0.1


class GpuWatch:
    """What nvidia-smi says of each GPU while this runs; nothing where there is no such program."""

    _QUERY = "--query-gpu=index,utilization.gpu,memory.used"

    def __init__(self) -> None:
        self.samples: list[tuple[float, int, float, int]] = []
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> GpuWatch:
        words = ["nvidia-smi", self._QUERY, "--format=csv,noheader,nounits", "-lms", "200"]
        try:
            self._process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError:
            return self
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        if self._process is None or self._process.stdout is None:
            return
        for line in self._process.stdout:
            self.take(line, time.monotonic())

    def take(self, line: str, now: float) -> None:
        """One line; what is no sample is left out."""
        try:
            index, share, mib = (part.strip() for part in line.split(","))
            self.samples.append((now, int(index), float(share) / 100, int(float(mib)) << 20))
        except ValueError:
            return

    def report(self, first: float, last: float) -> dict[str, Any]:
        """By GPU, between two moments: share of the time with a kernel running, and most memory in use."""
        found: dict[str, Any] = {}
        for gpu in sorted({sample[1] for sample in self.samples}):
            mine = [sample for sample in self.samples if sample[1] == gpu]
            shares = [share for at, _, share, _ in mine if first <= at <= last]
            found[str(gpu)] = {
                "samples": len(shares), "busy": sum(shares) / len(shares) if shares else None,
                "memory_bytes": max(memory for *_, memory in mine),
            }  # fmt: skip
        return found


class Run:
    """An engine whose workers have the key loaded.

    Args:
        circuit: Whose key.
        keys: Folder with it.
        devices: One worker each.
        values: Of the engine's variants.
        patience_s: Seconds to wait for anything.
    """

    def __init__(
        self, circuit: str, keys: Path, devices: Sequence[str], values: Mapping[str, str], patience_s: float
    ) -> None:
        self.circuit, self.patience_s = circuit, patience_s
        self.figures: dict[str, Any] = {"devices": list(devices), "values": dict(values)}
        self.peaks: dict[str, int] = {}
        self._over = threading.Event()
        # Elsewhere is the processor, on which a partition of 32 GiB takes longer than anybody waits here.
        pipeline = replace(pipeline_of(dict(values)), retry_elsewhere=False)
        self._config = DaemonConfig(
            state_folder=str(keys / "state"), queue=QueueConfig(max_jobs=1000), pipeline=pipeline,
            keys=KeysConfig(folder=str(keys)), memory=self._memory(keys, len(devices)),
        )  # fmt: skip
        workers = worker_configs(self._config, devices)
        self.engine = LocalEngine(self._config, workers, patience_s=patience_s)

    def _memory(self, keys: Path, workers: int) -> MemoryConfig:
        """As measured at start, where the key fits that; a file in memory counts twice in the measurement."""
        size = (keys / f"{self.circuit.replace(':', '-')}.cuzk").stat().st_size
        measured = int(psutil.virtual_memory().available * 0.7) // workers
        self.figures |= {"key_file_bytes": size, "host_budget_measured": measured}
        return MemoryConfig(host_bytes=0 if measured > size + _BESIDE // 2 else size + _BESIDE)

    @contextmanager
    def running(self) -> Iterator[Run]:
        """Start, load the key on every worker, and watch memory, for the duration of a ``with`` block."""
        began = time.monotonic()
        with self.engine as engine:
            self.figures["ready_s"] = time.monotonic() - began
            watcher = threading.Thread(target=self._watch, daemon=True)
            watcher.start()
            try:
                began = time.monotonic()
                engine.preload(self.circuit)
                self.figures["key_load_s"] = time.monotonic() - began
                yield self
            finally:
                self._over.set()
                watcher.join()

    def _watch(self) -> None:
        while not self._over.wait(_SAMPLE_S):
            host = psutil.virtual_memory()
            self._most("host_used_bytes", host.total - host.available)
            for number, memory in enumerate(self.engine.ask(lambda e: [w.state.memory for w in e.workers])):
                for name, value in vars(memory).items():
                    if value is not None:
                        self._most(f"worker{number}_{name}", value)

    def _most(self, name: str, value: int) -> None:
        self.peaks[name] = max(self.peaks.get(name, 0), value)

    def prove(
        self, sectors: Sequence[Sector], partitions: int | None = None
    ) -> tuple[list[Job], list[ProofRecord]]:
        """Submit all jobs at once and wait for them: the jobs, and how each partition was proven, in order of time.

        Raises:
            EngineError: A job is not proven; says why.
        """

        def submit(engine: Engine) -> list[str]:
            requests = [
                JobRequest(self.circuit, partitions or sector.partitions, sector.data, PayloadForm.VANILLA)
                for sector in sectors
            ]
            return [engine.submit(request)[0].id for request in requests]

        names = self.engine.ask(submit)
        until = time.monotonic() + self.patience_s
        jobs = [self.engine.wait(name, max(0.0, until - time.monotonic())) for name in names]
        for job in jobs:
            if job.state is not JobState.DONE:
                raise EngineError(f"a job is {job.state.value} with {len(job.proofs)} proofs: {job.error}")
        records = self.engine.ask(
            lambda engine: [one for one in engine.board.proven if one.job in set(names)]
        )
        return jobs, sorted(records, key=lambda one: one.at_s)

    def loads(self) -> int:
        """How often keys were brought to devices, all workers together."""
        return sum(self.engine.ask(lambda e: [key.loads for w in e.workers for key in w.state.keys]))


def seconds_each(records: Sequence[ProofRecord], workers: int) -> float:
    """Seconds for a partition once the pipeline is full: from each worker's first proof, together, to the last."""
    times = [record.at_s for record in records]
    if len(times) <= workers:
        raise EngineError(f"{len(times)} partitions on {workers} workers say nothing of a steady state")
    return (times[-1] - times[workers - 1]) / (len(times) - workers)


def busy_share(records: Sequence[ProofRecord], workers: int) -> float:
    """Share of the workers' time in the stage that runs on the device, once the pipeline is full."""
    late = records[workers:]
    window = records[-1].at_s - records[workers - 1].at_s
    return sum(record.times_ms["gpu"] for record in late) / 1e3 / (window * workers)


def within_budget(peaks: dict[str, int], workers: int) -> bool:
    """Whether each worker's memory, as it told it, stayed within what it may take of host and device."""
    for i in range(workers):
        host, device = peaks.get(f"worker{i}_host_limit"), peaks.get(f"worker{i}_device_total")
        if host and peaks.get(f"worker{i}_rss", 0) > host:
            return False
        if device and peaks.get(f"worker{i}_device_used", 0) > device:
            return False
    return True


def check_proofs(key_file: Path, sectors: Sequence[Sector], jobs: Sequence[Job]) -> dict[str, Any]:
    """Verify every proof with the key's own verifying key, for its inputs; and each for the next one's, which fails."""
    vkey = load_cuzk_key(key_file, verify="none").verifying_key()
    cases = [
        (public_inputs(sector, number), decode_proof(vkey.curve, proof))
        for sector, job in zip(sectors, jobs, strict=True)
        for number, proof in sorted(job.proofs.items())
    ]
    others = [inputs for inputs, _ in cases[1:]] + [inputs for inputs, _ in cases[:1]]
    good = sum(bool(verify(vkey, inputs, proof)) for inputs, proof in cases)
    wrong = sum(bool(verify(vkey, inputs, proof)) for inputs, (_, proof) in zip(others, cases, strict=True))
    sizes = sorted({len(proof) for job in jobs for proof in job.proofs.values()})
    return {
        "proofs": len(cases), "verified": good, "bytes": sizes,
        "verified_for_others": wrong if len(cases) > 1 else 0,
    }  # fmt: skip


def with_one(sector: Sector) -> Sector:
    """The same file, of which one partition is wanted."""
    return replace(sector, partitions=1)
