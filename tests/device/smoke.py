"""Run every kernel on a device and on ``cpu`` and ``emu``, at several sizes, and compare bit for bit.

python -m tests.device.smoke --device cuda [--against cpu,emu] [--sizes 33,257] [--only g1_toy,word] [--json OUT.json]

Exit code 1 if any byte differs, a kernel was never launched, or a launch failed.  On ``emu`` only sizes up to 300 are
run: it is a hundred times slower.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.curves import CURVES
from cuzk.device import Device, get_device
from cuzk.device.cuda_modules import gpu_kernels
from cuzk.errors import CuzkError
from tests.device import gpu
from tests.device.cases import Case, all_cases
from tests.device.results import Results, tree_digest

#: The largest needs two levels in the scan, and more than one block in every kernel.
SIZES = (33, 257, 3000)
#: Largest size that is run on the emulator.
EMU_SIZE = 300


class Spy:
    """Notes which kernels a device launched."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.launched: set[str] = set()
        original = device.launch

        def launch(kernel: str, **rest: Any) -> None:
            self.launched.add(kernel)
            original(kernel, **rest)

        device.launch = launch  # type: ignore[method-assign]

    def never_launched(self) -> list[str]:
        """Kernels of a GPU that were not launched so far."""
        return sorted(gpu_kernels(self.device.kernels).keys() - self.launched)


def compare(case: Case, device: Device, reference: Device, n: int) -> list[str]:
    """Names of the results that differ, with the first differing index."""
    bad = []
    for (name, got), (_, want) in zip(case(device, n), case(reference, n), strict=True):
        if got.shape != want.shape:
            bad.append(f"{name}: shape {got.shape}, on {reference.kind} {want.shape}")
        elif not np.array_equal(got, want):
            bad.append(
                f"{name} at index {int(np.argmax((got != want).reshape(-1)))}, against {reference.kind}"
            )
    return bad


def run_case(name: str, case: Case, device: Device, references: list[Device], n: int) -> dict[str, Any]:
    """One case at one size against every reference."""
    start, bad = time.perf_counter(), []
    for reference in references:
        if reference.kind == "emu" and n > EMU_SIZE:
            continue
        try:
            bad += compare(case, device, reference, n)
        except CuzkError as error:
            bad.append(f"{type(error).__name__}: {error}")
    return {"case": name, "n": n, "bad": bad, "seconds": time.perf_counter() - start}


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--against", default="cpu", help="devices to compare with, by comma")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="names of cases, by comma")
    parser.add_argument("--separate", action="store_true", help="one allocation an array, for memcheck")
    options = parser.parse_args()
    reason = gpu.why_none() if options.device.startswith("cuda") else ""
    if reason:
        print(f"smoke skipped: {reason}")
        return 0
    references = [get_device(name) for name in options.against.split(",")]
    device = get_device(options.device, **({"separate_allocations": True} if options.separate else {}))
    spy, sizes = Spy(device), [int(size) for size in options.sizes.split(",")]
    results = Results(options.json, {"device": device.name, "sizes": sizes, "tree": tree_digest()})
    only = set(filter(None, options.only.split(",")))
    for name, case in all_cases(dict(CURVES)).items():
        for n in sizes if not only or name in only else ():
            row = run_case(name, case, device, references, n)
            results.add(row)
            verdict = "; ".join(row["bad"]) or "same bytes"
            print(f"{name:24} n={n:5} {row['seconds']:7.2f} s  {verdict}", flush=True)
    never = [] if only else spy.never_launched()
    failed = any(row["bad"] for row in results.data["rows"]) or bool(never)
    results.data |= {"kernels": len(spy.launched), "never_launched": never}
    results.finish()
    print(f"{len(spy.launched)} kernels launched, never launched: {never or 'none'}")
    print(f"result: {'FAILED' if failed else 'every result has the same bytes'}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
