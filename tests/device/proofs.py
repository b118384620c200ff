"""Whole proofs of PoRep shape on a device: from a witness in host memory to checked proof bytes, phase by phase.

python -m tests.device.proofs [--logs 20,22] [--repeats 7] [--dense] [--device cuda] [--json RESULT.json]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from pathlib import Path
from typing import Any

from cuzk.device import Device, get_device
from cuzk.groth16 import Prover, ToxicWaste
from cuzk.groth16.setup import setup
from cuzk.telemetry import Recorder
from cuzk.witness import Witness
from tests.workloads.porep_shape import porep_shape


def prove_many(device: Device, log_domain: int, repeats: int, dense: bool) -> dict[str, Any]:
    """Set up, load, prove; medians over the proofs after one warm-up."""
    circuit, plain = porep_shape(log_domain, dense=dense)
    values = device.pinned(plain.values.shape)
    values[...] = plain.values
    witness = Witness(plain.curve, values)
    start = time.perf_counter()
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(circuit.curve, 1))
    setup_s = time.perf_counter() - start
    recorder = Recorder()
    start = time.perf_counter()
    prover = Prover(key, device, recorder=recorder)
    load_s = time.perf_counter() - start
    prover.prove(witness)
    seen = len(recorder.events)
    for _ in range(repeats):
        prover.prove(witness)
    phases: dict[str, list[float]] = {}
    for event in recorder.events[seen:]:
        phases.setdefault(event.phase, []).append(event.duration_ns / 1e6)
    start = time.perf_counter()
    for _ in range(6):
        prover.prove(witness)
    six = (time.perf_counter() - start) / 6 * 1e3
    whole = phases["prove"]
    return {
        "constraints": circuit.num_constraints,
        "variables": circuit.num_variables,
        "setup_s": setup_s,
        "key_load_s": load_s,
        "prove_ms": {"median": statistics.median(whole), "min": min(whole), "max": max(whole), "repeats": repeats},
        "six_in_a_row_ms_each": six,
        "phases_ms": {name: statistics.median(times) for name, times in phases.items()},
        "device_bytes": _device_bytes(device),
        "host_peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def _device_bytes(device: Device) -> int:
    """Memory that the device's pool holds: arrays and what it keeps for the next ones."""
    if device.kind != "cuda":
        return 0
    import cupy

    return int(cupy.get_default_memory_pool().total_bytes())


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", default="20,22")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    device = get_device(options.device)
    device.load("bls12_381")
    report: dict[str, Any] = {"device": device.name, "build": device.build_key, "dense": options.dense, "proofs": {}}
    for log_domain in map(int, options.logs.split(",")):
        row = report["proofs"][str(log_domain)] = prove_many(device, log_domain, options.repeats, options.dense)
        spread = f"{row['prove_ms']['min']:.1f} to {row['prove_ms']['max']:.1f}"
        six = row["six_in_a_row_ms_each"]
        print(f"2^{log_domain}: {row['prove_ms']['median']:.1f} ms ({spread}), six in a row {six:.1f} ms each")
        on_device = row["device_bytes"] >> 20
        print(f"   setup {row['setup_s']:.1f} s, key load {row['key_load_s']:.2f} s, {on_device} MiB on the device")
        for name, took in row["phases_ms"].items():
            print(f"   {name:16} {took:9.2f} ms", flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
