"""Which windows a GPU likes: G1 and G2 MSM times for every window size around the plan's choice.

python -m tests.device.tune_msm [--group g1] [--logs 20,22,24] [--windows 14,15,16,17,18] [--json RESULT.json] [--toml]

--toml prints the rows of cuzk/ops/msm_windows.toml, from which plans on this model take their windows.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.curves import get_curve
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import launch_msm
from cuzk.ops.plan_msm import plan_msm
from tests.device import gpu


def window_row(model: str, group: str, log_n: int, ms: dict[str, float]) -> str:
    """A row of cuzk/ops/msm_windows.toml: the fastest window of those tried; its source is to be written in by hand."""
    best = min(ms, key=lambda bits: ms[bits])
    tried = ", ".join(f"{bits} = {value:.2f}" for bits, value in ms.items())
    lines = ("", "[[window]]", f'model = "{model}"', f'group = "{group}"', f"log_n = {log_n}",
             f"window_bits = {best}", f"ms = {{ {tried} }}", 'source = ""')  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", default="g1")
    parser.add_argument("--logs", default="20,22,24")
    parser.add_argument("--windows", default="14,15,16,17,18")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--toml", action="store_true", help="print rows for cuzk/ops/msm_windows.toml")
    options = parser.parse_args()
    if reason := gpu.why_none():
        print(f"skipped: {reason}")
        return 0
    device = gpu.gpu()
    curve = get_curve("bls12_381")
    group = getattr(curve, options.group)
    logs = [int(text) for text in options.logs.split(",")]
    bases = fixed_base_mul(device, group, gpu.random_fr(device, curve, 1 << max(logs), 1))
    scalars = gpu.random_fr(device, curve, 1 << max(logs), 2)
    report: dict[str, Any] = {
        "device": device.name,
        "build": device.build_key,
        "group": options.group,
        "ms": {},
    }
    for log_n in logs:
        n = 1 << log_n
        chosen = plan_msm(n, group, device.limits).window_bits
        row: dict[str, float] = {}
        for bits in map(int, options.windows.split(",")):
            run = partial(launch_msm, device, group, bases[:n], scalars[:n], window_bits=bits)
            row[str(bits)] = gpu.measure(device, run, 5)["median_ms"]
        report["ms"][str(log_n)] = {"chosen": chosen, "windows": row}
        print(
            f"2^{log_n} plan {chosen}: " + "  ".join(f"{bits}: {ms:.2f}" for bits, ms in row.items()),
            flush=True,
        )
        if options.toml:
            print(window_row(device.limits.model, group.full_name, log_n, row), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
