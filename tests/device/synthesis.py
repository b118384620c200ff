"""Witness and rows of compiled circuits on a GPU: the same bits as on the cpu device, and times beside their floors.

python -m tests.device.synthesis [--circuits porep:2KiB,porep:32GiB] [--repeats 5] [--json RESULT.json] [--budget-s 480]

Hints are random bits: every program runs on them, and most values are 0 or 1, as in a real witness. A circuit's row is
written when it is done; a later call with the same file and the same sources leaves it out. Floors: each value written
once and each witness read once a matrix, at the rate that kernels move bytes on an H200; what limits the witness is the
chain of groups of bundles that depend on each other, whose length is shown.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.circuits.catalogue import compiled_circuit, find_circuit
from cuzk.device import Array, Device, get_device
from cuzk.limbs import fr_from_ints
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.witness_program import run_witness
from cuzk.pieces import CompiledCircuit
from tests.device import gpu
from tests.device.results import Results, tree_digest

CIRCUITS = ("sha256:512", "porep:2KiB", "porep:32GiB")
#: Bytes a second that a kernel moves in device memory, and what a partition's synthesis should take, milliseconds.
MEMORY_RATE, TARGETS = 4.0e12, {"porep:32GiB": 100.0}
#: Elements compared at once.
_CHUNK = 1 << 22
_SIDES = ("a", "b", "c")


class Run:
    """One circuit on one device: hints, room for the witness and for a, b, c."""

    def __init__(self, device: Device, circuit: CompiledCircuit) -> None:
        self.device, self.circuit = device, circuit
        start = time.perf_counter()
        self.pieces = DevicePieces.upload(device, circuit)
        self.upload_s = time.perf_counter() - start
        limbs = circuit.curve.fr.limbs
        bits = np.random.default_rng(1).integers(0, 2, circuit.num_hints).astype(np.intp)
        values = fr_from_ints(circuit.curve, [0, 1])[bits]
        self.hints = device.upload(np.ascontiguousarray(values))
        self.given = device.alloc((circuit.num_inputs - 1, limbs), np.uint64, zero=True)
        self.w = device.alloc((circuit.num_variables, limbs), np.uint64)
        self.rows = [device.alloc((circuit.num_rows, limbs), np.uint64) for _ in _SIDES]

    def witness(self) -> Array:
        """Run the programs."""
        return run_witness(self.device, self.pieces, self.hints, self.given, out=self.w)

    def side(self, side: int) -> Array:
        """One matrix."""
        return piece_spmv(self.device, self.pieces, side, self.w, out=self.rows[side])

    def all(self) -> None:
        """From hints to a, b, c."""
        self.witness()
        for side in range(3):
            self.side(side)

    @property
    def chain(self) -> int:
        """Groups that must follow one another: the longest program of each level, one level after the other."""
        instances, pieces = (self.device.download(x) for x in (self.pieces.instances, self.pieces.pieces))
        groups = pieces[instances[self.device.download(self.pieces.ids), 0], 5]
        return sum(int(groups[first:end].max()) for first, end in pairwise(self.pieces.levels))


def differences(run: Run) -> list[str]:
    """Names of the vectors that the cpu device makes otherwise."""
    other = Run(get_device("cpu"), run.circuit)
    other.all()
    found = []
    for name, mine, theirs in zip(("w", *_SIDES), (run.w, *run.rows), (other.w, *other.rows), strict=True):
        parts = range(0, len(mine), _CHUNK)
        if not all(
            np.array_equal(run.device.download(mine[i : i + _CHUNK]), theirs[i : i + _CHUNK]) for i in parts
        ):
            found.append(name)
    return found


def floors(circuit: CompiledCircuit) -> dict[str, float]:
    """Milliseconds that the bytes alone take."""
    element = circuit.curve.fr.nbytes
    w, rows = circuit.num_variables * element, circuit.num_rows * element
    each = dict.fromkeys(_SIDES, w + rows)
    return {
        name: 1e3 * count / MEMORY_RATE
        for name, count in {"witness": w, **each, "all": 4 * w + 3 * rows}.items()
    }


def measure(device: Any, name: str, repeats: int) -> dict[str, Any]:
    """One circuit's row."""
    start = time.perf_counter()
    circuit = compiled_circuit(name)
    row: dict[str, Any] = {"circuit": name, "compile_s": time.perf_counter() - start}
    run = Run(device, circuit)
    peak = gpu.MemoryPeak(device)
    row |= {
        "rows": circuit.num_rows, "variables": circuit.num_variables, "levels": len(run.pieces.levels) - 1,
        "chain": run.chain, "upload_s": run.upload_s, "table_bytes": run.pieces.nbytes,
    }  # fmt: skip
    steps: dict[str, Any] = {"witness": run.witness}
    steps |= {side: partial(run.side, i) for i, side in enumerate(_SIDES)}
    for step, call in {**steps, "all": run.all}.items():
        row[step] = gpu.measure(device, call, repeats) | {"floor_ms": floors(circuit)[step]}
    row["all_in_a_graph"] = gpu.measure_graph(device, run.all, 1, repeats)
    row["device_bytes"] = peak.total_bytes
    row["differences"] = differences(run)
    if name in TARGETS and "H200" in device.name:
        row["target_ms"] = TARGETS[name]
        row["pass"] = row["all"]["median_ms"] <= TARGETS[name]
    return row


def done_before(path: Path | None, tree: str) -> list[dict[str, Any]]:
    """Rows of an earlier call with the same sources that ended without an error."""
    if path is None or not path.exists():
        return []
    data = json.loads(path.read_text(encoding="utf-8"))
    return [row for row in data["rows"] if "error" not in row] if data.get("tree") == tree else []


def main() -> int:
    """Entry point; returns the exit code: 1 where bits differ or a circuit failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--circuits", default=",".join(CIRCUITS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--budget-s", type=float, default=480)
    options = parser.parse_args()
    names = [find_circuit(name).name for name in options.circuits.split(",")]
    if reason := gpu.why_none():
        print(f"no GPU: {reason}")
        return 0
    clock, device, tree = gpu.Clock(options.budget_s), gpu.gpu(), tree_digest()
    before = {row["circuit"]: row for row in done_before(options.json, tree)}
    results = Results(options.json, {"tree": tree, "device": device.name})
    complete = True
    for name in names:
        if name in before:
            results.add(before[name])
        elif not clock.has(30):
            complete = False
            print(f"{name}: not begun, {clock.left_s:.0f} s are left", flush=True)
        else:
            try:
                results.add(measure(device, name, options.repeats))
            except Exception as error:  # noqa: BLE001 - the other circuits are wanted even so
                results.add({"circuit": name, "error": f"{type(error).__name__}: {error}"})
            print(json.dumps(results.data["rows"][-1]), flush=True)
    if complete:
        results.finish()
    return int(any("error" in row or row["differences"] for row in results.data["rows"]) or not complete)


if __name__ == "__main__":
    raise SystemExit(main())
