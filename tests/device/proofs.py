"""Whole proofs on a device: from a witness in page-locked host memory to checked proof bytes, phase by phase.

python -m tests.device.proofs [--logs 20,22,24] [--curve bn254] [--dense] [--repeats 7] [--json RESULT.json]

The circuit has the shape of a PoRep partition (tests/workloads/porep_shape.py), or with --dense of a PoSt: most values
are full-width.  Set-up, upload and a warm-up come first; then proofs one at a time, then six in a row.  Self-check on.
The JSON is written after every size; sizes for which no time is left say so.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.device import get_device
from cuzk.groth16 import Prover, ToxicWaste
from cuzk.groth16.setup import setup
from cuzk.telemetry import Recorder
from cuzk.witness import Witness
from tests.device import gpu
from tests.device.results import Results, tree_digest
from tests.workloads.porep_shape import porep_shape

#: Milliseconds on one H200 for PoRep-shaped BLS12-381 that we want to reach: one proof, and each of six in a row.
TARGETS = {22: (80.0, 75.0), 24: (230.0, 215.0), 25: (420.0, 400.0)}
#: Those of supraseal-c2 there, alone and with two workers.
PEERS = {20: (70.0, 66.0), 22: (220.0, 155.0), 24: (894.0, 598.0), 25: (1618.0, 1013.0)}
#: Rough seconds on an H200 with 16 cores for all of a size, by which a size is left out rather than cut short.
_SECONDS = {20: 10, 22: 25, 24: 60, 25: 130}


def prove_many(device: Any, curve: str, log_domain: int, repeats: int, dense: bool) -> dict[str, Any]:
    """Set up, load, prove; medians over the proofs after one warm-up."""
    row: dict[str, Any] = {"log_domain": log_domain, "curve": curve, "dense": dense}
    circuit, plain = _timed(row, "workload_s", partial(porep_shape, log_domain, curve=curve, dense=dense))
    row |= {"constraints": circuit.num_constraints, "variables": circuit.num_variables}
    values = device.pinned(plain.values.shape)
    values[...] = plain.values
    witness = Witness(plain.curve, values)
    waste = ToxicWaste.from_seed(circuit.curve, 1)
    key = _timed(row, "setup_s", partial(setup, circuit, device, toxic_waste=waste))
    del circuit, plain
    recorder = Recorder()
    prover = _timed(row, "key_load_s", partial(Prover, key, device, recorder=recorder))
    _timed(row, "first_proof_s", partial(prover.prove, witness))
    device.reset_memory_peak()
    gpu.reset_host_peak()
    seen = len(recorder.events)
    for _ in range(repeats):
        prover.prove(witness)
    phases: dict[str, list[float]] = {}
    for event in recorder.events[seen:]:
        phases.setdefault(event.phase, []).append(event.duration_ns / 1e6)
        for tag, value in event.tags.items():  # parts that the device timed, such as query_l_ms
            if tag.endswith("_ms") and isinstance(value, float):
                phases.setdefault(f"{event.phase}.{tag[:-3]}", []).append(value)
    row |= gpu.spread(phases.pop("prove"))
    start = time.perf_counter()
    for _ in range(6):
        prover.prove(witness)
    row["six_in_a_row_ms_each"] = (time.perf_counter() - start) / 6 * 1e3
    row["phases"] = {name: gpu.spread(times) for name, times in phases.items()}
    return row | {"device_bytes": device.memory().peak, "host_peak_bytes": gpu.host_peak_bytes()}


def _timed(row: dict[str, Any], name: str, run: Callable[[], Any]) -> Any:
    """run(), with its seconds put down."""
    start = time.perf_counter()
    result = run()
    row[name] = time.perf_counter() - start
    return result


def judge(row: dict[str, Any]) -> None:
    """Targets and other programs' figures beside ours, for the workload that they are of."""
    if row["dense"] or row["curve"] != "bls12_381":
        return
    single, six = TARGETS.get(row["log_domain"], (None, None))
    row["target_ms"], row["six_target_ms"] = single, six
    row["peer_ms"], row["six_peer_ms"] = PEERS.get(row["log_domain"], (None, None))
    if single is not None and six is not None:
        row["pass"] = row["median_ms"] <= single and row["six_in_a_row_ms_each"] <= six


def show(row: dict[str, Any]) -> None:
    """Print a size."""
    name = f"2^{row['log_domain']} {row['curve']}{' dense' if row['dense'] else ''}"
    if "median_ms" not in row:
        print(f"{name}: {row.get('skipped') or row.get('error')}", flush=True)
        return
    verdict = "" if "pass" not in row else f", targets {'met' if row['pass'] else 'MISSED'}"
    print(
        f"{name}: {row['median_ms']:.1f} ms ({row['min_ms']:.1f} to {row['max_ms']:.1f}), six in a row "
        f"{row['six_in_a_row_ms_each']:.1f} ms each{verdict}"
    )
    print(
        f"   workload {row['workload_s']:.1f} s, setup {row['setup_s']:.1f} s, key load {row['key_load_s']:.2f} s, "
        f"first proof {row['first_proof_s']:.2f} s, peak {row['device_bytes'] / 2**30:.2f} GiB on the device, "
        f"{row['host_peak_bytes'] / 2**30:.2f} GiB on the host"
    )
    for phase, took in row["phases"].items():
        print(
            f"   {phase:22} {took['median_ms']:9.2f} ms ({took['min_ms']:.2f} to {took['max_ms']:.2f})",
            flush=True,
        )


def main() -> int:
    """Entry point; returns the exit code: 1 if a size failed or missed its target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logs", "--log", default="20,22", help="log2 of the domains, by comma")
    parser.add_argument("--curve", default="bls12_381")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--dense", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--budget-s", type=float, default=500)
    options = parser.parse_args()
    reason = gpu.why_none() if options.device.startswith("cuda") else ""
    if reason:
        print(f"proofs skipped: {reason}")
        return 0
    clock = gpu.Clock(options.budget_s)
    device = get_device(options.device)
    device.load(options.curve)
    results = Results(options.json, {"device": device.name, "build": device.build_key, "tree": tree_digest()})
    for log_domain in map(int, options.logs.split(",")):
        row: dict[str, Any] = {"log_domain": log_domain, "curve": options.curve, "dense": options.dense}
        if not clock.has(_SECONDS.get(log_domain, 10)):
            row["skipped"] = f"{clock.left_s:.0f} s are left"
        else:
            try:
                row = prove_many(device, options.curve, log_domain, options.repeats, options.dense)
                judge(row)
            except Exception as error:  # noqa: BLE001 - the other sizes are wanted even so
                row["error"] = f"{type(error).__name__}: {error}"
        results.add(row)
        show(row)
    results.finish()
    return int(any(row.get("pass") is False or "error" in row for row in results.data["rows"]))


if __name__ == "__main__":
    raise SystemExit(main())
