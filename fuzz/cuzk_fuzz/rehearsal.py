"""A worker backend that proves nothing and does what its payload says: how the engine is tested without proving.

A payload is JSON: for each stage (``synthesis``, ``gpu``, ``finish``) milliseconds to spend, and faults. Proofs are
192 bytes that follow from payload and partition, so that one lost, doubled or mixed up is seen.

``{"gpu": 5}`` takes 5 ms of gpu; ``{"fault": "input"}`` fails there, with ``device``, ``lost`` or ``internal`` too;
``{"fault": "device", "only_on": 0}`` fails on worker device 0 alone; ``{"fault": "die"}`` ends the process;
``{"fault": "die", "once": PATH}`` does so the first time only; ``{"fault": "hang"}`` never comes back;
``{"fault": "device", "host": "well"}`` is proven on the processor.

``{"gates": {"gpu": PATH}}`` stays in that stage until the file PATH is there, which whoever holds it back makes; with
``"gated": [1, 2]`` only those partitions do. So what waits for what does not hang on how fast a machine is.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

from cuzk.engine.key_store import Budget, KeyReport, KeySizes, KeyStore
from cuzk.engine.messages import PhaseLine, Prove, WorkerMemory
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import DeviceError, InputError, KernelFault

__all__ = ["PROOF_BYTES", "Rehearsal", "expected_proof", "make_backend"]

PROOF_BYTES = 192
_SLICE_S = 0.002


def expected_proof(payload: bytes, partition: int) -> bytes:
    """What the rehearsal "proves" of a partition."""
    seed = sha256(payload + partition.to_bytes(4, "little")).digest()
    return seed * (PROOF_BYTES // len(seed))


class _Keys:
    """Keys that are names: their sizes come from the settings, 100 bytes each by default."""

    def __init__(self, sizes: dict[str, int], gate: str) -> None:
        self._sizes = sizes
        self._gate = Path(gate) if gate else None

    def sizes(self, circuit: str) -> KeySizes:
        if circuit.startswith("unknown"):
            raise InputError(f"there is no key of {circuit}")
        size = self._sizes.get(circuit, 100)
        return KeySizes(size, size)

    def map(self, circuit: str, progress: Callable[[float], None]) -> str:
        while self._gate is not None and not self._gate.exists():
            time.sleep(_SLICE_S)
        progress(1.0)
        return circuit

    def host_bytes(self, mapped: str, _: str) -> int:
        return self._sizes.get(mapped, 100)

    def upload(self, mapped: str) -> tuple[str, int]:
        return mapped, self._sizes.get(mapped, 100)


class Rehearsal:
    """The backend; see the module's text for what payloads can ask for."""

    def __init__(self, config: WorkerConfig) -> None:
        self._device = config.device
        settings = config.settings
        sizes: dict[str, int] = settings.get("key_sizes", {})
        budget = int(settings.get("budget", 1000))
        self._keys = KeyStore(_Keys(sizes, settings.get("load_gate", "")), Budget(budget, budget))

    def describe(self) -> tuple[str, str]:
        """Name and kind of the device that is none."""
        return f"rehearsal {self._device}", "cpu"

    def preload(self, circuit: str) -> bool:
        """Load a key that is a name."""
        return self._keys.preload(circuit)

    def evict(self, circuit: str) -> int | None:
        """Let it go."""
        return self._keys.evict(circuit)

    def keys(self) -> tuple[KeyReport, ...]:
        """What there is."""
        return tuple(self._keys.report())

    def memory(self) -> WorkerMemory:
        """The budget of the keys that are names."""
        return WorkerMemory(rss=1, host_limit=self._keys.budget.host)

    def record_fault(self, order: Prove, error: BaseException) -> str:
        """A name for the case; nothing is written."""
        return f"case-{order.number}: {type(error).__name__}"

    def synthesis(self, order: Prove, check: Callable[[], None]) -> list[tuple[bytes, dict[str, Any]]]:
        """Read the scripts, and take their time."""
        payloads = [payload.path.read_bytes() for payload in order.payloads]
        try:
            work = [(data, json.loads(data)) for data in payloads]
        except ValueError as error:
            raise InputError(f"the payload is no JSON: {error}") from error
        self._spend(order, work, "synthesis", check)
        return work

    def gpu(self, order: Prove, work: list[tuple[bytes, dict[str, Any]]], check: Callable[[], None]) -> Any:
        """Take the time of the device, and fail there as asked."""
        held = ExitStack()
        with held:
            began = time.perf_counter()
            held.enter_context(self._keys.hold(order.circuit))
            took = (time.perf_counter() - began) * 1e3
            self._spend(order, work, "gpu", check)
            for _, script in work:
                self._fail(script, order.on_host)
            return work, held.pop_all(), took

    def finish(self, order: Prove, work: Any, check: Callable[[], None]) -> Sequence[bytes]:
        """Take the time, let the key go, and make the proofs."""
        work, held, _ = work
        self._spend(order, work, "finish", check)
        held.close()
        return [
            expected_proof(data, payload.partition)
            for (data, _), payload in zip(work, order.payloads, strict=True)
        ]

    def load_ms(self, work: Any) -> float:
        """What the key took to come."""
        return float(work[2])

    def abandon(self, work: Any) -> None:
        """Let the key go."""
        if isinstance(work, tuple):
            work[1].close()

    def phases(self) -> tuple[PhaseLine, ...]:
        """Two, as an example."""
        return PhaseLine("prove", 0, 0.0, 4.0), PhaseLine("ntt_msm_h", 1, 1.0, 2.0)

    @staticmethod
    def _spend(
        order: Prove, work: list[tuple[bytes, dict[str, Any]]], stage: str, check: Callable[[], None]
    ) -> None:
        """Sleep in slices, each a phase that may be cancelled at its boundary; then wait at closed gates likewise."""
        left = sum(float(script.get(stage, 0)) for _, script in work) / 1e3
        while left > 0:
            check()
            time.sleep(min(left, _SLICE_S))
            left -= _SLICE_S
        for (_, script), payload in zip(work, order.payloads, strict=True):
            gate = script.get("gates", {}).get(stage)
            if gate is None or payload.partition not in script.get("gated", [payload.partition]):
                continue
            while not Path(gate).exists():
                check()
                time.sleep(_SLICE_S)

    def _fail(self, script: dict[str, Any], on_host: bool) -> None:
        fault = script.get("fault")
        if on_host and script.get("host") == "well":
            return
        if "only_on" in script and script["only_on"] != self._device:
            return
        if fault == "die":
            if "once" in script:
                try:
                    Path(script["once"]).touch(exist_ok=False)
                except FileExistsError:
                    return
            os._exit(9)
        if fault == "hang":
            time.sleep(3600)
        if fault == "input":
            raise InputError("the witness breaks constraint 7")
        if fault == "device":
            raise KernelFault("rehearsed", 1, 2)
        if fault == "lost":
            raise DeviceError("the context is gone")
        if fault == "internal":
            raise ZeroDivisionError("a defect of ours")


def make_backend(config: WorkerConfig) -> Rehearsal:
    """The backend of a worker process."""
    return Rehearsal(config)
