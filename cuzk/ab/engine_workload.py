"""What an engine is measured with: a built-in circuit, its key in a folder, and payloads from which it is proven."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cuzk.engine.config import DaemonConfig
from cuzk.engine.jobs import JobRequest, PayloadForm, Priority
from cuzk.engine.stages import Options
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import InputError, SecurityWarning

__all__ = ["EngineWorkload", "engine_workload", "make_key", "witness_payload", "worker_config"]

_SEED = 1


@dataclass(frozen=True)
class EngineWorkload:
    """Jobs of one circuit.

    Args:
        circuit: Name of a built-in circuit.
        keys_folder: Where its key is.
        requests: The jobs of one run, in order of submission; identifiers are left to the engine.
    """

    circuit: str
    keys_folder: Path
    requests: tuple[JobRequest, ...]

    @property
    def num_proofs(self) -> int:
        """Partitions of all jobs."""
        return sum(request.num_partitions for request in self.requests)


def make_key(circuit: str, folder: Path) -> Path:
    """A key of a built-in circuit from a public seed, for measurements alone; its file.

    Raises:
        InputError: There is no such circuit.
    """
    from cuzk.circuits.catalogue import compiled_circuit
    from cuzk.device import get_device
    from cuzk.formats import save_cuzk_key
    from cuzk.groth16 import ToxicWaste, setup

    compiled = compiled_circuit(circuit)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        waste = ToxicWaste.from_seed(compiled.curve, _SEED)
    key = setup(compiled, get_device("cpu"), toxic_waste=waste)
    path = folder / f"{circuit.replace(':', '-')}.cuzk"
    save_cuzk_key(path, key)
    return path


def witness_payload(circuit: str, vanilla: bytes) -> bytes:
    """The bytes of a .wtns file with the witness that a vanilla proof makes."""
    from cuzk.circuits.catalogue import find_circuit
    from cuzk.curves import get_curve
    from cuzk.formats.wtns import encode_witness
    from cuzk.synthesis import ConstraintSystem
    from cuzk.witness import Witness

    found = find_circuit(circuit)
    curve = get_curve(found.curve)
    cs = ConstraintSystem(curve, hints=found.hints(vanilla, "vanilla proof", 0))
    found.record(cs)
    return encode_witness(Witness.from_ints(curve, [*(cs.inputs or []), *(cs.aux or [])]))


@contextmanager
def engine_workload(circuit: str, jobs: int, partitions: int) -> Iterator[EngineWorkload]:
    """Jobs and a key for the duration of a ``with`` block.

    Every second job has one partition and is proven from a vanilla proof; the others have the given number, each the
    same witness, since small circuits have no files of several partitions.

    Raises:
        InputError: There is no such circuit, or a number is out of range.
    """
    from cuzk.circuits.catalogue import find_circuit

    if not (1 <= jobs <= 1000 and 1 <= partitions <= 64):
        raise InputError(
            f"{jobs} jobs of {partitions} partitions",
            limit="1 to 1000 jobs of 1 to 64",
            remedy="ask for fewer",
        )
    found = find_circuit(circuit)
    requests = []
    for i in range(jobs):
        data = found.synthetic(f"job {i}".encode())
        if i % 2 and partitions > 1:
            payload = witness_payload(circuit, data)
            requests.append(JobRequest(circuit, partitions, payload, PayloadForm.WITNESS, Priority.NORMAL))
        else:
            requests.append(JobRequest(circuit, 1, data, PayloadForm.VANILLA, Priority.NORMAL))
    with TemporaryDirectory(prefix="cuzk-keys-") as folder:
        make_key(circuit, Path(folder))
        yield EngineWorkload(circuit, Path(folder), tuple(requests))


def worker_config(
    config: DaemonConfig, device: str, keys_folder: Path, *, blinding: str = ""
) -> WorkerConfig:
    """A worker for a workload.

    Args:
        config: Of the engine.
        device: Name of its device.
        keys_folder: Where keys are.
        blinding: Text from which r and s are made, so that bits can be compared; insecure. Empty: drawn.
    """
    pipeline = config.pipeline
    options = Options(pipeline.overlap, pipeline.split, pipeline.workers_per_device, pipeline.lookahead)
    settings = {"keys_folder": str(keys_folder), "insecure_blinding": blinding}
    return WorkerConfig(device, options, settings=settings)
