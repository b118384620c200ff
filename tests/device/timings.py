"""Times of the kernels and of whole proofs on a GPU: CUDA events, warm-up, medians, random data.

python -m tests.device.timings [--json RESULT.json] [--quick]
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.curves import Curve, GroupSpec, get_curve
from cuzk.device import get_device
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import launch_msm
from cuzk.ops.ntt import ntt


def measure(device: Any, run: Callable[[], Any], repeats: int = 7) -> dict[str, float]:
    """Median and spread of run(), milliseconds between two events on the device's stream, after one warm-up."""
    cupy = device._cupy
    run()
    device.synchronize()
    samples = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(device._stream)
        run()
        end.record(device._stream)
        end.synchronize()
        samples.append(cupy.cuda.get_elapsed_time(start, end))
    device.synchronize()
    return {
        "median_ms": statistics.median(samples),
        "min_ms": min(samples),
        "max_ms": max(samples),
        "repeats": repeats,
    }


def random_fr(curve: Curve, n: int, seed: int) -> np.ndarray:
    """Uniform limbs below 2^(bits-1) < r: random data without n slow reductions."""
    rng = np.random.default_rng(seed)
    limbs = rng.integers(0, 2**64, (n, curve.fr.limbs), np.uint64, endpoint=False)
    limbs[:, -1] &= np.uint64((1 << (curve.fr.bits - 1) % 64) - 1)
    return limbs


def ntt_times(device: Any, curve: Curve, logs: list[int]) -> dict[str, Any]:
    """Forward transforms to bit-reversed order, in place."""
    result = {}
    for log_n in logs:
        domain = Domain(curve, log_n)
        x = device.upload(random_fr(curve, 1 << log_n, log_n))
        result[str(log_n)] = measure(device, partial(ntt, device, domain, x, order_out="rev", out=x))
    return result


def msm_times(device: Any, group: GroupSpec, logs: list[int]) -> dict[str, Any]:
    """Uniform scalars and bases on the device, up to the window sums."""
    curve = group.curve
    n = 1 << max(logs)
    bases = fixed_base_mul(device, group, device.upload(random_fr(curve, n, 1)))
    scalars = device.upload(random_fr(curve, n, 2))
    result = {}
    for log_n in logs:
        m = 1 << log_n
        run = partial(launch_msm, device, group, bases[:m], scalars[:m])
        result[str(log_n)] = measure(device, run, 7 if log_n < 24 else 3)
    return result


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    device = get_device("cuda")
    curve = get_curve("bls12_381")
    report: dict[str, Any] = {"device": device.name, "build": device.build_key}
    report["ntt"] = ntt_times(device, curve, [16, 20] if options.quick else [16, 18, 20, 22, 24, 27])
    report["msm_g1"] = msm_times(device, curve.g1, [16] if options.quick else [16, 18, 20, 22, 24])
    report["msm_g2"] = msm_times(device, curve.g2, [16] if options.quick else [16, 18, 20, 22])
    for family, rows in report.items():
        if isinstance(rows, dict):
            for log_n, row in rows.items():
                spread = f"{row['min_ms']:.3f} to {row['max_ms']:.3f}"
                print(f"{family:8} 2^{log_n:3} {row['median_ms']:10.3f} ms  ({spread})")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
