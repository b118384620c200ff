"""Steps of the engine's measurement that use a device themselves, each in a process that ends with it.

python -m tests.device.engine_steps setup|single --circuit NAME --device cuda:0 --folder DIR --json RESULT.json
                                                 [--payload FILE] [--repeats 5]
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import tempfile
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.ab.engine import CONTROL, compare_engines, engine_candidates
from cuzk.ab.engine_workload import EngineWorkload
from cuzk.circuits.catalogue import compiled_circuit, find_circuit
from cuzk.circuits.porep import forget_files
from cuzk.device import get_device
from cuzk.engine.jobs import JobRequest, PayloadForm
from cuzk.formats.cuzk_key import load_cuzk_key
from cuzk.groth16 import Prover
from cuzk.telemetry import Recorder
from cuzk.witness import Hints
from tests.device import gpu, ladder
from tests.device.engine_data import make_sector
from tests.device.results import ROOT, write_json

#: Bytes of a key's file, and some more.
_ROOM = {"porep:32GiB": 46 << 30, "porep:64GiB": 46 << 30}
_ROOM_OF_OTHERS = 8 << 30
#: Pairs of runs for each value: the fewest with an interval.
_PAIRS = 6


def key_name(circuit: str) -> str:
    """The name of a key's file in a folder of keys."""
    return f"{circuit.replace(':', '-')}.cuzk"


def room(circuit: str) -> int:
    """Bytes that a folder needs for the key."""
    return _ROOM.get(circuit, _ROOM_OF_OTHERS)


def choose_folder(wanted: Path | None, circuit: str) -> Path:
    """Where the key is: the folder asked for, else that with the most room, memory first where it has enough."""
    name = f"cuzk-engine-{circuit.replace(':', '-')}"
    if wanted is None:
        places = [Path("/dev/shm"), Path(tempfile.gettempdir()), ROOT / "build"]
        there = [place for place in places if place.is_dir() and os.access(place, os.W_OK)]
        kept = [place for place in there if (place / name / key_name(circuit)).exists()]
        roomy = [place for place in there if shutil.disk_usage(place).free >= room(circuit)]
        wanted = (kept or roomy or [max(there, key=lambda place: shutil.disk_usage(place).free)])[0]
    folder = wanted / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def setup_key(device: Any, circuit: str, folder: Path) -> dict[str, Any]:
    """Make the key's file."""
    row: dict[str, Any] = {"device": device.name}
    compiled = ladder.timed(row, "compile_s", partial(compiled_circuit, circuit))
    row |= {"constraints": compiled.num_rows, "variables": compiled.num_variables}
    device.reset_memory_peak()
    ladder.make_key(device, circuit, compiled, folder, row)
    (folder / "ladder.cuzk").rename(folder / key_name(circuit))
    return row | {"device_bytes": device.memory().peak, "host_bytes": gpu.host_peak_bytes()}


def single(device: Any, circuit: str, folder: Path, payload: Path, repeats: int) -> dict[str, Any]:
    """Proofs from vanilla data by a Prover, judged by the ladder's targets."""
    row: dict[str, Any] = {"circuit": circuit, "device": device.name}
    compiled = ladder.timed(row, "compile_s", partial(compiled_circuit, circuit))
    key = load_cuzk_key(folder / key_name(circuit), verify="none")
    built_in, data = find_circuit(circuit), payload.read_bytes()

    def read() -> Hints:
        forget_files()  # every proof reads its file anew
        return Hints.from_ints(compiled.curve, built_in.hints(data, "vanilla proof", 0))

    recorder = Recorder()
    prover = ladder.timed(
        row, "key_load_s", partial(Prover, key, device, recorder=recorder, circuit=compiled)
    )
    row["load_device_bytes"] = device.memory().used
    row["verified"] = ladder.timed(row, "first_proofs_s", partial(ladder.check_proof, prover, read()))
    device.reset_memory_peak()
    gpu.reset_host_peak()
    row |= ladder.prove_many(prover, read, recorder, repeats)
    row |= {"device_bytes": device.memory().peak, "host_bytes": gpu.host_peak_bytes()}
    ladder.judge(row)
    row["checks"] = {"verified": row["verified"], **({"targets": row["pass"]} if "pass" in row else {})}
    return row


def small_requests(circuit: str, jobs: int) -> tuple[JobRequest, ...]:
    """Jobs of a run: every second one has a partition, the others three where the circuit's files have several."""
    return tuple(
        JobRequest(circuit, sector.partitions, sector.data, PayloadForm.VANILLA)
        for i in range(jobs)
        for sector in make_sector(circuit, b"small %d" % i, 1 if i % 2 else 3)
    )


def candidates() -> list[tuple[str, str]]:
    """The values to compare with the defaults, which come first themselves: how far the same differs from the same."""
    return [CONTROL, *engine_candidates()]


def compare(
    circuit: str, folder: Path, requests: tuple[JobRequest, ...], value: tuple[str, str], device: str
) -> dict[str, Any]:
    """One value against the defaults; an error is its row's."""
    workload = EngineWorkload(circuit, folder, requests)
    try:
        (row,) = compare_engines(workload, [value], device, _PAIRS)
    except Exception as error:  # noqa: BLE001 - the other values are wanted even so
        return {"variant": value[0], "value": value[1], "error": f"{type(error).__name__}: {error}"}
    return dataclasses.asdict(row) | {"verdict": row.verdict, "proofs": workload.num_proofs}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=["setup", "single"])
    parser.add_argument("--circuit", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--payload", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        device = get_device(options.device)
        if options.step == "setup":
            row = setup_key(device, options.circuit, options.folder)
        else:
            row = single(device, options.circuit, options.folder, options.payload, options.repeats)
    except Exception as error:  # noqa: BLE001 - the reason is wanted where the figures are
        traceback.print_exc()
        row = {"error": f"{type(error).__name__}: {error}"}
    write_json(options.json, row)
    return int("error" in row)


if __name__ == "__main__":
    raise SystemExit(main())
