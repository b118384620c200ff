"""Filecoin's circuits on a device: set-up from pieces, then proofs from vanilla data, verified; times and memory.

python -m tests.device.ladder [--circuits porep:2KiB,porep:32GiB] [--folder DIR] [--repeats 5] [--json RESULT.json]
                              [--budget-s 480] [--device cuda]

For each circuit: compile it, make synthetic vanilla data, set up (with --folder into a key file there, else in memory),
load the key, prove once to warm up, then from the bytes of the vanilla data to checked proofs. Every proof is verified
by pairings, and the first again by its own verifying key, with its inputs and with others. A circuit's row is
written when it is done; a later call with the same file and the same sources leaves it out.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.circuits.catalogue import compiled_circuit, find_circuit
from cuzk.circuits.porep import forget_files
from cuzk.device import get_device
from cuzk.formats.atomic import atomic_write
from cuzk.formats.key_builder import KeyBuilder
from cuzk.groth16 import Prover, ToxicWaste, verify
from cuzk.groth16.setup import default_h_form, setup
from cuzk.keys import ProvingKey
from cuzk.pieces import CompiledCircuit
from cuzk.relation import domain_log2
from cuzk.telemetry import Event, Recorder
from cuzk.witness import Hints
from tests.device import gpu
from tests.device.results import Results, tree_digest
from tests.device.synthesis import done_before

CIRCUITS = (
    "winning-post:32GiB", "sprout", "porep:2KiB", "porep:8MiB", "porep:512MiB", "stacked:8-8-0:1073741824n:11l:1c",
)  # fmt: skip
#: Milliseconds on one H200: from vanilla data to a, b, c on the device, and to the proof's bytes.
TARGETS = {"porep:32GiB": (500.0, 2000.0)}
#: Rough seconds for all of a circuit, by which one is left out rather than cut short.
_SECONDS = {"porep:32GiB": 300, "stacked:8-8-0:1073741824n:11l:1c": 60}
_OTHERS_SECONDS = 40


def timed(row: dict[str, Any], name: str, run: Callable[[], Any]) -> Any:
    """run(), with its seconds put down."""
    start = time.perf_counter()
    result = run()
    row[name] = time.perf_counter() - start
    return result


def make_key(
    device: Any, name: str, circuit: CompiledCircuit, folder: Path | None, row: dict[str, Any]
) -> ProvingKey:
    """Set up, in memory or into a file; the phases' seconds go to the row."""
    recorder = Recorder()
    options: dict[str, Any] = {
        "name": name, "toxic_waste": ToxicWaste.from_seed(circuit.curve, 1), "recorder": recorder,
        "h_form": default_h_form(circuit.curve, domain_log2(circuit.num_rows, circuit.num_inputs - 1)),
    }  # fmt: skip
    start = time.perf_counter()
    if folder is None:
        key = setup(circuit, device, **options)
    else:
        path = folder / "ladder.cuzk"
        with (
            atomic_write(path) as file,
            KeyBuilder(
                file, path, circuit, name, h_form=options["h_form"], root_convention="snarkjs"
            ) as builder,
        ):
            key = setup(circuit, device, place=builder.place, **options)
            timed(row, "checksums_s", partial(builder.finish, key))
        row["file_bytes"] = path.stat().st_size
    row["setup_s"] = time.perf_counter() - start
    row["setup_phases_s"] = {event.phase: event.duration_ns / 1e9 for event in recorder.events}
    row["key_bytes"] = sum(points.nbytes for _, _, points in key.points())
    return key


def prove_many(prover: Prover, read: Callable[[], Hints], recorder: Recorder, repeats: int) -> dict[str, Any]:
    """From the bytes of vanilla data to checked proofs: medians of reading, of every phase, and of all."""
    read_ms, all_ms, seen = [], [], len(recorder.events)
    for _ in range(repeats):
        start = time.perf_counter()
        hints = read()
        read_ms.append((time.perf_counter() - start) * 1e3)
        prover.prove(hints)
        all_ms.append((time.perf_counter() - start) * 1e3)
    phases: dict[str, list[float]] = {}
    for event in recorder.events[seen:]:
        phases.setdefault(event.phase, []).append(event.duration_ns / 1e6)
    return {
        "read": gpu.spread(read_ms), "all": gpu.spread(all_ms),
        "phases": {phase: gpu.spread(times) for phase, times in phases.items()},
    }  # fmt: skip


def check_proof(prover: Prover, hints: Hints) -> bool:
    """Whether a proof holds for its inputs, and for no others."""
    vkey, (proof, public) = prover.key.verifying_key(), prover.prove_with_public(hints)
    other = [(public[0] + 1) % prover.key.curve.r, *public[1:]] if public else None
    return bool(verify(vkey, public, proof)) and (other is None or not verify(vkey, other, proof))


def measure(device: Any, name: str, repeats: int, folder: Path | None) -> dict[str, Any]:
    """One circuit's row."""
    row: dict[str, Any] = {"circuit": name}
    built_in = find_circuit(name)
    circuit = timed(row, "compile_s", partial(compiled_circuit, name))
    row |= {"constraints": circuit.num_rows, "variables": circuit.num_variables}
    data = timed(row, "synthetic_s", partial(built_in.synthetic, b"ladder"))

    def read() -> Hints:
        forget_files()  # every proof reads its file anew
        return Hints.from_ints(circuit.curve, built_in.hints(data, "synthetic", 0))

    device.reset_memory_peak()
    key = make_key(device, name, circuit, folder, row)
    row |= {"setup_device_bytes": device.memory().peak, "setup_host_bytes": gpu.host_peak_bytes()}
    if device.kind == "cuda":
        gpu.drop_cached_memory(device)
    recorder = Recorder()
    prover = timed(row, "key_load_s", partial(Prover, key, device, recorder=recorder, circuit=circuit))
    row["streamed"] = _load_event(recorder).tags["streamed"]
    row["verified"] = timed(row, "first_proofs_s", partial(check_proof, prover, read()))
    device.reset_memory_peak()
    gpu.reset_host_peak()
    row |= prove_many(prover, read, recorder, repeats)
    return row | {"device_bytes": device.memory().peak, "host_bytes": gpu.host_peak_bytes()}


def _load_event(recorder: Recorder) -> Event:
    return next(event for event in recorder.events if event.phase == "key_load")


def judge(row: dict[str, Any]) -> None:
    """Put targets beside what was reached, where there are some."""
    if row["circuit"] in TARGETS:
        to_rows = row["read"]["median_ms"] + row["phases"]["synthesis"]["median_ms"]
        row["to_rows_ms"], row["targets_ms"] = to_rows, TARGETS[row["circuit"]]
        row["pass"] = to_rows <= row["targets_ms"][0] and row["all"]["median_ms"] <= row["targets_ms"][1]


def show(row: dict[str, Any]) -> None:
    """Print a circuit."""
    if "all" not in row:
        print(f"{row['circuit']}: {row.get('skipped') or row['error']}", flush=True)
        return
    gib = {
        name: row[name] / 2**30 for name in ("key_bytes", "device_bytes", "host_bytes", "setup_device_bytes")
    }
    print(
        f"{row['circuit']}: {row['constraints']} rows, compiled in {row['compile_s']:.1f} s, set up in "
        f"{row['setup_s']:.1f} s, key {gib['key_bytes']:.2f} GiB loaded in {row['key_load_s']:.1f} s, vanilla data to "
        f"proof {row['all']['median_ms']:.1f} ms (reading {row['read']['median_ms']:.1f}), peaks "
        f"{gib['setup_device_bytes']:.2f} and {gib['device_bytes']:.2f} GiB on the device, {gib['host_bytes']:.2f} on "
        f"the host, {'verified' if row['verified'] else 'NOT VERIFIED'}",
        flush=True,
    )


def main() -> int:
    """Entry point; returns the exit code: 1 where a circuit failed, was not verified or missed a target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--circuits", default=",".join(CIRCUITS))
    parser.add_argument("--folder", type=Path, help="where a key file is written, and removed again")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--budget-s", type=float, default=480)
    options = parser.parse_args()
    reason = gpu.why_none() if options.device.startswith("cuda") else ""
    if reason:
        print(f"ladder skipped: {reason}")
        return 0
    clock, tree = gpu.Clock(options.budget_s), tree_digest()
    device = get_device(options.device)
    device.load("bls12_381")
    before = {row["circuit"]: row for row in done_before(options.json, tree) if "all" in row}
    results = Results(options.json, {"device": device.name, "build": device.build_key, "tree": tree})
    for name in options.circuits.split(","):
        row = before.get(name) or {"circuit": name}
        needed = _SECONDS.get(name, _OTHERS_SECONDS)
        if "all" not in row and not clock.has(needed):
            row["skipped"] = f"{clock.left_s:.0f} s are left, about {needed} are needed"
        elif "all" not in row:
            try:
                with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                    row = measure(device, name, options.repeats, Path(folder) if options.folder else None)
                judge(row)
            except Exception as error:  # noqa: BLE001 - the other circuits are wanted even so
                row["error"] = f"{type(error).__name__}: {error}"
        results.add(row)
        show(row)
    complete = all("all" in row for row in results.data["rows"])
    if complete:
        results.finish()
    good = all(row.get("verified") and row.get("pass", True) for row in results.data["rows"])
    return int(not (complete and good))


if __name__ == "__main__":
    raise SystemExit(main())
