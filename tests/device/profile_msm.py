"""Where a multi-scalar multiplication spends its time: milliseconds per kernel, for one or several plans.

python -m tests.device.profile_msm [--group g1] [--logs 20,22,24,26] [--windows auto,20] [--rounds auto,0] [--chunk 64]

Every launch stands between two events, so launches that would overlap with Python's work are measured without it;
"whole" is a run without them. Every plan's sum is compared with the first one's.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.curves import GroupSpec, get_curve
from cuzk.device.base import Array, Device
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import launch_msm, msm
from cuzk.ops.plan_msm import MsmPlan, plan_msm
from tests.device import gpu

#: Distinct bases; larger sums repeat them.
_DISTINCT_LOG = 24


def kernel_times(device: Any, run: Any) -> dict[str, float]:
    """Milliseconds per kernel of one run."""
    import cupy

    spans: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    launch = type(device)._run

    def timed(self: Any, spec: Any, *arguments: Any) -> None:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(gpu.stream_of(self))
        launch(self, spec, *arguments)
        end.record(gpu.stream_of(self))
        spans[spec.name.rsplit("_bls12_381")[0].rsplit("_bn254")[0]].append((begin, end))

    type(device)._run = timed
    try:
        run()
        device.synchronize()
    finally:
        type(device)._run = launch
    return {
        name: round(sum(cupy.cuda.get_elapsed_time(*pair) for pair in pairs), 3)
        for name, pairs in spans.items()
    }


def inputs(device: Device, group: GroupSpec, log_n: int) -> tuple[Array, Array]:
    """Bases (repeated beyond 2^24) and uniform scalars."""
    import cupy

    few = 1 << min(log_n, _DISTINCT_LOG - (group.degree - 1) * 2)
    bases = fixed_base_mul(device, group, gpu.random_fr(device, group.curve, few, 1))
    times = (1 << log_n) // few
    if times > 1:
        with device._device, gpu.stream_of(device):  # type: ignore[attr-defined]
            bases = cupy.concatenate([bases] * times)
    return bases, gpu.random_fr(device, group.curve, 1 << log_n, 2)


def plans(options: argparse.Namespace, group: GroupSpec, device: Device, n: int) -> list[MsmPlan]:
    """The combinations asked for."""
    result = []
    for bits, rounds, chunk in itertools.product(
        options.windows.split(","), options.rounds.split(","), options.chunk.split(",")
    ):
        result.append(
            plan_msm(
                n, group, device.limits,
                window_bits=None if bits == "auto" else int(bits),
                rounds=None if rounds == "auto" else int(rounds),
                chunk=None if chunk == "auto" else int(chunk), memory_bytes=options.memory << 30,
            )
        )  # fmt: skip
    return result


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curve", default="bls12_381")
    parser.add_argument("--group", default="g1")
    parser.add_argument("--logs", default="20,22,24")
    parser.add_argument("--windows", default="auto")
    parser.add_argument("--rounds", default="auto")
    parser.add_argument("--chunk", default="auto")
    parser.add_argument("--memory", type=int, default=16, help="GiB of buckets and lists")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if reason := gpu.why_none():
        print(f"skipped: {reason}")
        return 0
    device = gpu.gpu()
    group = getattr(get_curve(options.curve), options.group)
    report: list[dict[str, Any]] = []
    for log_n in map(int, options.logs.split(",")):
        bases, scalars = inputs(device, group, log_n)
        expected = None
        for plan in plans(options, group, device, 1 << log_n):
            result = msm(device, group, bases, scalars, plan=plan)
            expected = result if expected is None else expected
            if not np.array_equal(expected, result):
                raise SystemExit(f"2^{log_n}: {plan} gives another point")
            run = partial(launch_msm, device, group, bases, scalars, plan=plan)
            whole = gpu.measure(device, run, 7 if log_n < 24 else 3)["median_ms"]
            kernels = kernel_times(device, run)
            row: dict[str, Any] = {"log_n": log_n, "window_bits": plan.window_bits}
            row |= {"per_pass": plan.windows_per_pass, "chunk": plan.buckets.chunk}
            row |= {"rounds": [plan.buckets.rounds, plan.lines.rounds], "whole": whole, "kernels": kernels}
            report.append(row)
            print(json.dumps(report[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
