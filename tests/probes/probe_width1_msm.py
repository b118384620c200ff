"""Probe: do the MSM kernels at group width 1 fill buckets as fast as a plain loop?

Digits, counting sort, accumulation by segments and merging, against the textbook's loop over windows and
terms: one library, the flags of the cpu build, run in turn on one core, compared by the processor time of the
thread. The decision that rests on it: one kernel source serves `cpu` as long as the ratio stays below 1.3
(docs/decisions).

Run: python tests/probes/probe_width1_msm.py [--log-n 16] [--window-bits 13] [--rounds 5]
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cuzk
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.limbs import U64Array
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.plan_msm import num_signed_windows

FLAGS = ("-std=gnu++17", "-O3", "-march=x86-64-v3", "-madx", "-DCUZK_TARGET_CPU=1", "-shared", "-fPIC")
LIMIT = 1.3
SEGMENTS = 16
GROUP = get_curve("bls12_381").g1


def build(folder: Path) -> ctypes.CDLL:
    """Compile both ways into one library."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        sys.exit("the probe needs a C++ compiler")
    library = folder / "width1_msm.so"
    kernels = Path(cuzk.__file__).parent / "kernels"
    source = Path(__file__).with_name("width1_msm.cpp")
    subprocess.run([compiler, *FLAGS, f"-I{kernels}", str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def call(function: Callable[..., Any], *args: Any) -> None:
    """Call a C function with arrays as pointers and ints as u64."""
    function(
        *(ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else ctypes.c_uint64(a) for a in args)
    )


def inputs(n: int) -> tuple[U64Array, U64Array]:
    """Make n bases and n scalars, all different. Form: Montgomery."""
    rng = np.random.default_rng(1)
    logs, scalars = rng.integers(0, 2**62, (2, n, 4), dtype=np.uint64)  # the top limb stays below r's
    device = get_device("cpu")
    return device.download(fixed_base_mul(device, GROUP, logs)), scalars


def compare(log_n: int, c: int, rounds: int) -> list[tuple[float, float]]:
    """Seconds of processor time of (kernels, plain loop), taken in turn; their results are compared."""
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
    n, windows = 1 << log_n, num_signed_windows(GROUP.curve.fr.bits, c)
    bases, scalars = inputs(n)
    limbs, num_keys = GROUP.xyzz_bytes // 8, windows << (c - 1)
    digits, entries = np.empty((2, windows * n), np.uint32)
    ends, keys = np.empty((2 * SEGMENTS, limbs), np.uint64), np.empty(2 * SEGMENTS, np.uint32)

    def kernels(buckets: U64Array) -> None:
        offsets = np.zeros(num_keys + 1, np.uint32)
        call(library.kernel_buckets, bases, scalars, buckets, n, c, windows, digits, entries, offsets,
             ends, keys, SEGMENTS)  # fmt: skip

    def plain(buckets: U64Array) -> None:
        call(library.plain_buckets, bases, scalars, buckets, n, c, windows, digits)

    times = []
    for turn in range(rounds):
        taken, results = {}, {}
        # Who goes first alternates, so that neither profits from what the other left in the caches.
        for name, function in [("kernels", kernels), ("plain", plain)][:: 1 if turn % 2 else -1]:
            buckets = np.zeros((num_keys, limbs), np.uint64)
            buckets[:, 0] = 0  # the pages exist before the clock starts
            start = time.thread_time_ns()
            function(buckets)
            taken[name] = (time.thread_time_ns() - start) / 1e9
            results[name] = np.empty(GROUP.affine_shape, np.uint64)
            call(library.total, buckets, results[name], c, windows)
        if not np.array_equal(results["kernels"], results["plain"]):
            sys.exit("the two sums differ")
        times.append((taken["kernels"], taken["plain"]))
    return times


def main() -> None:
    """Print the times, the median ratio and whether it is within the limit; exit 1 if it is not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log-n", type=int, default=16, help="log2 of the number of terms")
    parser.add_argument("--window-bits", type=int, default=13, help="bits of a digit")
    parser.add_argument("--rounds", type=int, default=5, help="how often both run")
    options = parser.parse_args()
    times = compare(options.log_n, options.window_bits, options.rounds)
    kernels, plain = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratio = statistics.median(k / p for k, p in times)
    print(
        f"buckets of 2^{options.log_n} BLS12-381 G1 terms, windows of {options.window_bits} bits, one core,"
    )
    print(f"processor time, median of {options.rounds} rounds")
    print(f"kernels at width 1 {kernels:.4f} s")
    print(f"plain bucket loop  {plain:.4f} s")
    print(f"ratio              {ratio:.3f} (limit {LIMIT})")
    sys.exit(0 if ratio <= LIMIT else 1)


if __name__ == "__main__":
    main()
