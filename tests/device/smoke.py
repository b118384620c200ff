"""Run every kernel on a device and on ``cpu``, at three sizes, and compare bit for bit.

python -m tests.device.smoke --device cuda [--json RESULT.json]

Exit code 1 if any byte differs, a kernel was never launched, or a launch failed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.curves import CURVES
from cuzk.device import Device, get_device
from cuzk.errors import CuzkError
from tests.device.cases import Case, all_cases

SIZES = (33, 257, 3000)
#: Kernels that exist on hosts alone: fields of 8-bit limbs and the primitives at 8 and 64 bits.
HOST_ONLY = ("_tiny_", "word_op_u8", "word_op_u64")


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


def compare(case: Case, device: Device, reference: Device, n: int) -> list[str]:
    """Names of the results that differ, with the first differing index."""
    bad = []
    for (name, got), (_, want) in zip(case(device, n), case(reference, n), strict=True):
        if got.shape != want.shape or not np.array_equal(got, want):
            where = (
                "shape" if got.shape != want.shape else f"index {int(np.argmax((got != want).reshape(-1)))}"
            )
            bad.append(f"{name} at {where}")
    return bad


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    reference = get_device("cpu")
    device = get_device(options.device)
    spy = Spy(device)
    report: dict[str, Any] = {"device": device.name, "sizes": SIZES, "cases": {}}
    failed = False
    for name, case in all_cases(dict(CURVES)).items():
        if options.only not in name:
            continue
        for n in SIZES:
            start = time.perf_counter()
            try:
                bad = compare(case, device, reference, n)
            except CuzkError as error:
                bad = [f"{type(error).__name__}: {error}"]
            report["cases"][f"{name}:{n}"] = bad
            failed |= bool(bad)
            took = time.perf_counter() - start
            print(f"{name:24} n={n:5} {took:7.2f} s  {'; '.join(bad) or 'same bytes'}", flush=True)
    wanted = {k for k in device.kernels if not any(part in k for part in HOST_ONLY)}
    never = sorted(wanted - spy.launched) if not options.only else []
    report |= {"kernels": len(wanted), "never_launched": never}
    print(f"{len(wanted)} kernels, never launched: {never or 'none'}")
    print(f"result: {'FAILED' if failed or never else 'every result has the same bytes as on the cpu'}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return int(failed or bool(never))


if __name__ == "__main__":
    raise SystemExit(main())
