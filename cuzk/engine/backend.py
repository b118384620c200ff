"""What a worker process proves with: a device, a store of keys on it, and a prover per key."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha512
from pathlib import Path
from typing import Any

import psutil

from cuzk.circuits.catalogue import compiled_circuit, find_circuit, is_circuit_name
from cuzk.curves import Curve, get_curve
from cuzk.device import Device, get_device
from cuzk.device.instruments import pinned_bytes
from cuzk.engine.aside import compact
from cuzk.engine.jobs import PayloadForm
from cuzk.engine.key_files import KeyFiles
from cuzk.engine.key_store import Budget, KeyReport, KeySizes, KeyStore
from cuzk.engine.messages import Payload, PhaseLine, Prove, WorkerMemory
from cuzk.engine.phases import PhaseSummary
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import CuzkError, EngineError, InternalError, SecurityWarning
from cuzk.formats import encode_proof, load_key, load_witness
from cuzk.formats.cuzk_key import map_cuzk_key
from cuzk.formats.deferred import Deferred
from cuzk.formats.detect import detect
from cuzk.groth16 import Blinding, Prover
from cuzk.groth16.job import Started
from cuzk.keys import ProvingKey
from cuzk.pieces import CompiledCircuit
from cuzk.telemetry import Recorder
from cuzk.witness import Hints, Witness

__all__ = ["ProverBackend", "assignment_of", "key_bytes", "make_backend"]

#: Of what a device or the host has, the share that proofs and everything else keep for themselves.
_DEVICE_SHARE, _HOST_SHARE = 0.6, 0.7
#: Newest cases of faults, whose payloads may have 50 MB each.
_CASES_KEPT = 100
_CASE = re.compile(r"\d{8}T\d{6}-\d+-\d+")


@dataclass(frozen=True)
class _Mapped:
    """A key's file in memory, the checks of it that go on, and the programs of its circuit where it is built in."""

    key: ProvingKey
    checks: Deferred
    circuit: CompiledCircuit | None


@dataclass(frozen=True)
class _Loaded:
    prover: Prover
    mapped: _Mapped
    taken: int


def assignment_of(circuit: str, payload: Payload) -> Witness | Hints:
    """A payload as the prover takes it.

    Raises:
        InputError: It does not parse, or is of another circuit.   EngineError: The disk fails.
    """
    try:
        if payload.form is PayloadForm.WITNESS:
            return load_witness(payload.path)
        built_in = find_circuit(circuit)
        data = payload.path.read_bytes()
        if circuit.startswith("porep:"):
            data = compact(data)
        values = built_in.hints(data, "vanilla proof", payload.partition)
        return Hints.from_ints(get_curve(built_in.curve), values)
    except (
        CuzkError
    ) as error:  # it goes to whoever sent the payload, and where that lies is nothing of theirs
        path = os.fspath(payload.path)
        error.what = error.what.replace(path, "witness")
        error.where = error.where and error.where.replace(path, "witness")
        raise
    except OSError as error:
        raise EngineError(
            f"the payload cannot be read: {error.strerror}", remedy="see the daemon's disk, and submit again"
        ) from error


def key_bytes(key: ProvingKey) -> int:
    """Bytes of a key's arrays, mapped or on the heap."""
    held = key.matrices.values() if key.compiled is None else ()
    matrices = [array for m in held for array in (m.row_ptr, m.col, m.coeff, m.dictionary)]
    return sum(array.nbytes for array in [*(array for _, _, array in key.points()), *matrices])


class _Loader:
    """Brings keys to a device."""

    def __init__(self, device: Device, files: KeyFiles, recorder: Recorder) -> None:
        self._device = device
        self._files = files
        self._recorder = recorder

    def sizes(self, circuit: str) -> KeySizes:
        size = self._files.find(circuit).stat().st_size
        return KeySizes(size, size if self._device.kind == "cuda" else 0)

    def map(self, circuit: str, progress: Callable[[float], None]) -> _Mapped:
        path = self._files.find(circuit)
        key, checks = map_cuzk_key(path) if detect(path) == "cuzk_key" else (load_key(path), Deferred([]))
        progress(0.5)
        compiled = compiled_circuit(circuit) if is_circuit_name(circuit) else None
        progress(1.0)
        return _Mapped(key, checks, compiled)

    def upload(self, mapped: _Mapped) -> tuple[_Loaded, int]:
        before = self._device.memory().used
        prover = Prover(mapped.key, self._device, recorder=self._recorder, circuit=mapped.circuit)
        taken = self._device.memory().used - before
        return _Loaded(prover, mapped, taken), taken if self._device.kind == "cuda" else 0

    def host_bytes(self, mapped: _Mapped, uploaded: _Loaded) -> int:
        """The key's arrays, and what the prover has copied where the device's memory is the host's."""
        copied = 0 if self._device.kind == "cuda" else uploaded.taken
        return key_bytes(mapped.key) + copied


class ProverBackend:
    """The stages of a worker, with real proofs.

    Args:
        config: Device, and in its settings: keys_folder, key_files, device_bytes, host_bytes, min_idle_s,
            num_workers (who share the host), cases_folder, insecure_blinding (tests alone).
    """

    def __init__(self, config: WorkerConfig) -> None:
        settings = config.settings
        self._device = get_device(config.device)
        self._checks = threading.local()  # one per thread: several may give work to the device
        self._phases = PhaseSummary()
        self._recorder = Recorder([self._phases], keep=0).scoped(checkpoint=self._checkpoint)
        #: A test's: proofs repeat bit by bit, and are not zero-knowledge. No configuration file can set it.
        self._seed = str(settings.get("insecure_blinding", ""))
        self._cases = Path(settings.get("cases_folder", "cases"))
        self._process = psutil.Process()
        files = KeyFiles(settings.get("keys_folder", ""), settings.get("key_files", {}))
        self._keys: KeyStore[_Mapped, _Loaded] = KeyStore(
            _Loader(self._device, files, self._recorder),
            self._budget(settings),
            min_idle_s=float(settings.get("min_idle_s", 0.0)),
        )

    def _checkpoint(self) -> None:
        """Called at every phase: whether this thread's order is still wanted."""
        check: Callable[[], None] | None = getattr(self._checks, "check", None)
        if check is not None:
            check()

    def _budget(self, settings: Mapping[str, Any]) -> Budget:
        """The bytes configured, or a share of what there is now, divided among the workers of the host."""
        device = int(settings.get("device_bytes", 0)) or int(self._device.memory().limit * _DEVICE_SHARE)
        workers = max(1, int(settings.get("num_workers", 1)))
        available = int(psutil.virtual_memory().available * _HOST_SHARE) // workers
        return Budget(int(settings.get("host_bytes", 0)) or available, device)

    def describe(self) -> tuple[str, str]:
        """Name and kind of the device."""
        return self._device.name, self._device.kind

    def preload(self, circuit: str) -> bool:
        """Load a key; whether it was loaded before."""
        return self._keys.preload(circuit)

    def evict(self, circuit: str) -> int | None:
        """Let a key go; bytes freed, or None."""
        return self._keys.evict(circuit)

    def keys(self) -> tuple[KeyReport, ...]:
        """What keys there are."""
        return tuple(self._keys.report())

    def memory(self) -> WorkerMemory:
        """What the process takes now."""
        report = self._device.memory()
        is_gpu = self._device.kind == "cuda"
        return WorkerMemory(
            rss=self._process.memory_info().rss,
            pinned=pinned_bytes(self._device),
            device_used=report.used if is_gpu else None,
            device_total=report.limit if is_gpu else None,
            host_limit=self._keys.budget.host,
            device_limit=self._keys.budget.device if is_gpu else None,
        )

    def synthesis(self, order: Prove, check: Callable[[], None]) -> _Work:
        """Read payloads: a witness, or the hints that make one on the device."""
        check()
        return _Work([assignment_of(order.circuit, payload) for payload in order.payloads])

    def gpu(self, order: Prove, work: _Work, check: Callable[[], None]) -> _Work:
        """Everything on the device; the key stays held until the proof is finished."""
        held = ExitStack()
        try:
            loaded = held.enter_context(self._keys.hold(order.circuit, came=work.waited))
            self._checks.check = check
            prover = self._on_host(loaded) if order.on_host else loaded.prover
            curve = loaded.mapped.key.curve
            blindings = [self._blinding(curve, payload) for payload in order.payloads]
            work.started = prover.start(work.assignments, blindings=blindings if self._seed else None)
            work.prover, work.checks = prover, loaded.mapped.checks
        except BaseException:
            held.close()
            raise
        finally:
            self._checks.check = None
        work.held = held
        return work

    def _on_host(self, loaded: _Loaded) -> Prover:
        """A prover of the same key on the processor, for a partition that the device has failed on."""
        if self._device.kind == "cpu":
            return loaded.prover
        mapped = loaded.mapped
        return Prover(mapped.key, get_device("cpu"), recorder=self._recorder, circuit=mapped.circuit)

    def _blinding(self, curve: Curve, payload: Payload) -> Blinding:
        """Drawn from the operating system; where a comparison of bits asks for it, from the payload instead."""
        if not self._seed:
            return Blinding.random(curve)
        data = payload.path.read_bytes() + payload.partition.to_bytes(4, "little")
        scalars = [
            int.from_bytes(sha512(f"{self._seed}/{name}/".encode() + data).digest(), "little") % curve.r
            for name in "rs"
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)
            return Blinding.insecure(curve, *scalars)

    def finish(self, order: Prove, work: _Work, check: Callable[[], None]) -> Sequence[bytes]:
        """Assemble, verify, wait for the checks of the key's file, and encode."""
        if work.held is None or work.prover is None or work.started is None or work.checks is None:
            raise InternalError(f"order {order.number} was never proven")
        check()
        proofs = work.prover.finish(work.started)
        work.checks.wait()
        self.abandon(work)
        return [encode_proof(proof) for proof in proofs]

    def load_ms(self, work: Any) -> float:
        """What the key took to come."""
        return float(work.load_ms)

    def abandon(self, work: Any) -> None:
        """Let the key go, whatever has become of the proof."""
        if isinstance(work, _Work) and work.held is not None:
            work.held.close()

    def phases(self) -> tuple[PhaseLine, ...]:
        """The phases of the last proof."""
        return self._phases.last()

    def record_fault(self, order: Prove, error: BaseException) -> str:
        """Write what is needed to repeat an order beside copies of its payloads; the oldest cases make room."""
        folder = self._cases / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{order.number}"
        try:
            folder.mkdir(parents=True, mode=0o700)
            for i, payload in enumerate(order.payloads):
                (folder / f"payload-{i}").write_bytes(payload.path.read_bytes())
            facts = {
                "circuit": order.circuit,
                "device": self._device.name,
                "build_key": self._device.build_key,
                "error": f"{type(error).__name__}: {error}",
                "payloads": [
                    {"file": f"payload-{i}", "form": payload.form.value, "partition": payload.partition}
                    for i, payload in enumerate(order.payloads)
                ],
            }
            (folder / "case.json").write_text(json.dumps(facts, indent=2), "utf-8")
            cases = [one for one in self._cases.iterdir() if _CASE.fullmatch(one.name)]
            for old in sorted(cases, key=_age)[:-_CASES_KEPT]:
                shutil.rmtree(old, ignore_errors=True)
        except OSError:
            return ""
        return os.fspath(folder)


def _age(case: Path) -> tuple[int, int]:
    """What cases are sorted by, oldest first: a disk's clock stands still for milliseconds, numbers of orders go on."""
    return case.stat().st_mtime_ns, int(case.name.rpartition("-")[2])


@dataclass
class _Work:
    """What passes from stage to stage."""

    assignments: list[Witness | Hints]
    held: ExitStack | None = None
    load_ms: float = 0.0
    prover: Prover | None = None
    checks: Deferred | None = None
    started: Started | None = None

    def waited(self, seconds: float) -> None:
        """For the key, which was not there."""
        self.load_ms = seconds * 1e3


def make_backend(config: WorkerConfig) -> ProverBackend:
    """The backend of a worker process."""
    return ProverBackend(config)
