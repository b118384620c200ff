"""The daemon of a soak: a process to be killed, whose workers prove one circuit for real and rehearse the rest."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import psutil
from cuzk_fuzz.rehearsal import Rehearsal

from cuzk.ab.engine_workload import witness_payload
from cuzk.circuits.catalogue import find_circuit
from cuzk.engine.backend import ProverBackend
from cuzk.engine.client import EngineClient
from cuzk.engine.config import DaemonConfig, PipelineConfig, QueueConfig
from cuzk.engine.messages import Prove
from cuzk.engine.stages import Options
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import CuzkError, EngineError
from cuzk.formats import load_witness

__all__ = ["REAL", "Daemon", "SoakBackend", "make_backend", "public_of", "real_payload"]

#: Small, and with a public input, so that the proof of another job is seen.
REAL = "por:poseidon:8-0-0:64:public"
_START_S = 120.0
#: What a second signal leaves to workers: on a busy machine it must be enough for what needs no time at all.
_GRACE_S = 60.0
_WORKERS = 2


@cache
def real_payload(number: int) -> bytes:
    """A witness of the circuit that is proven for real."""
    return witness_payload(REAL, find_circuit(REAL).synthetic(b"soak %d" % number))


@cache
def public_of(payload: bytes) -> list[int]:
    """The public inputs of such a witness."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "w.wtns"
        path.write_bytes(payload)
        return load_witness(path).public(2)


class SoakBackend(Rehearsal):
    """Rehearses; what is of the real circuit a prover of its own proves, with its own keys."""

    def __init__(self, config: WorkerConfig) -> None:
        super().__init__(config)
        self._prover = ProverBackend(
            WorkerConfig("cpu", settings={"keys_folder": config.settings["keys_folder"]})
        )

    def synthesis(self, order: Prove, check: Any) -> Any:
        """As of the backend that has the circuit; so are the others."""
        if order.circuit == REAL:
            return self._prover.synthesis(order, check)
        return super().synthesis(order, check)

    def gpu(self, order: Prove, work: Any, check: Any) -> Any:
        """Likewise."""
        if order.circuit == REAL:
            return self._prover.gpu(order, work, check)
        return super().gpu(order, work, check)

    def finish(self, order: Prove, work: Any, check: Any) -> Any:
        """Likewise."""
        if order.circuit == REAL:
            return self._prover.finish(order, work, check)
        return super().finish(order, work, check)

    def load_ms(self, work: Any) -> float:
        """Likewise."""
        return super().load_ms(work) if isinstance(work, tuple) else self._prover.load_ms(work)

    def abandon(self, work: Any) -> None:
        """Both take what is theirs."""
        super().abandon(work)
        self._prover.abandon(work)


def make_backend(config: WorkerConfig) -> SoakBackend:
    """The backend of a worker process."""
    return SoakBackend(config)


class Daemon:
    """A daemon that is started again and again on the same state.

    Args:
        folder: For state, keys, logs and the socket.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lives = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.address = f"unix:{folder}/socket"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._lives += 1
        with (self._folder / "daemon.log").open("ab") as log:
            words = [sys.executable, "-m", "tests.engine.soak_daemon", str(self._folder), str(self._lives)]
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + _START_S
        while time.monotonic() < until and self.is_running():
            with contextlib.suppress(CuzkError), EngineClient(self.address) as client:
                client.call("GetStatus", timeout_s=10.0)
                return
            time.sleep(0.05)
        raise AssertionError((self._folder / "daemon.log").read_text()[-2000:])

    def kill(self) -> None:
        """SIGKILL: it and its workers are gone at once."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    @property
    def pid(self) -> int:
        """Of its own process, which leads its group."""
        assert self._process is not None
        return self._process.pid

    def children(self) -> list[psutil.Process]:
        """The processes it has started."""
        return list(psutil.Process(self.pid).children(recursive=True))

    def signal_group(self, number: int) -> None:
        """Send a signal to it and its workers."""
        os.killpg(self.pid, number)

    def wait(self) -> int:
        """Wait for its end; the code that it ends with."""
        assert self._process is not None
        return self._process.wait(_START_S)

    def is_running(self) -> bool:
        """Whether its own process is there."""
        assert self._process is not None
        return self._process.poll() is None

    def is_deaf(self) -> bool:
        """Whether it takes no calls any more."""
        try:
            with EngineClient(self.address) as client:
                client.call("GetStatus", timeout_s=60.0)
        except EngineError:
            return True
        return False

    def end(self) -> None:
        """Stop it, gently if it can."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_START_S)
            except subprocess.TimeoutExpired:
                self.kill()

    def workers(self) -> list[psutil.Process]:
        """Its workers' processes that are there now."""
        found = []
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(self.pid).children():
                with contextlib.suppress(psutil.Error):
                    if "spawn_main" in " ".join(child.cmdline()):
                        found.append(child)
        return found

    def kill_worker(self, seed: float) -> int:
        """SIGKILL one of its workers; how many were there to be killed, one or none."""
        with contextlib.suppress(psutil.Error):
            if workers := self.workers():
                random.Random(seed).choice(workers).kill()
                return 1
        return 0

    def rss_mib(self) -> float:
        """Resident memory of the daemon's own process."""
        assert self._process is not None
        return float(psutil.Process(self._process.pid).memory_info().rss) / 2**20

    def decision_logs(self) -> list[Path]:
        """Of each of its lives."""
        return sorted(self._folder.glob("decisions-*.jsonl"))


def main() -> None:
    """Serve, as `cuzk daemon` does."""
    from cuzk.engine.daemon import configure_logging, run_daemon

    folder, life = Path(sys.argv[1]), sys.argv[2]
    config = DaemonConfig(
        listen=f"unix:{folder}/socket", status_listen="", state_folder=str(folder / "state"),
        decision_log=str(folder / f"decisions-{life}.jsonl"), queue=QueueConfig(max_jobs=40),
        pipeline=PipelineConfig(stall_s=300.0),
    )  # fmt: skip
    settings = {"keys_folder": str(folder / "keys")}
    backend = "tests.engine.soak_daemon:make_backend"
    workers = [WorkerConfig(str(i), Options(), backend, settings) for i in range(_WORKERS)]
    configure_logging("info", as_json=False)
    with mock.patch("cuzk.engine.daemon._GRACE_S", _GRACE_S):
        asyncio.run(run_daemon(config, workers))


if __name__ == "__main__":
    main()
