"""Probe: is the NTT kernel at group width 1 as fast as a plain loop?

The kernel passes and a textbook loop are compiled into one library with the flags of the cpu build, run in
turn on one core, and compared by the processor time of their thread. The decision that rests on it: one
kernel source serves `cpu` as long as the ratio stays below 1.3 (docs/decisions).

Run: python tests/probes/probe_width1_ntt.py [--log-n 20] [--rounds 7]
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import cuzk
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.limbs import U64Array
from cuzk.ops.fr_vec import powers
from cuzk.ops.ntt import Domain
from cuzk.ops.plan_fr import plan_ntt

FLAGS = ("-std=gnu++17", "-O3", "-march=x86-64-v3", "-madx", "-DCUZK_TARGET_CPU=1", "-shared", "-fPIC")
LIMIT = 1.3
CURVE = get_curve("bn254")


def build(folder: Path) -> ctypes.CDLL:
    """Compile both ways into one library."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        sys.exit("the probe needs a C++ compiler")
    library = folder / "width1_ntt.so"
    kernels = Path(cuzk.__file__).parent / "kernels"
    source = Path(__file__).with_name("width1_ntt.cpp")
    subprocess.run([compiler, *FLAGS, f"-I{kernels}", str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def full_roots(log_n: int) -> U64Array:
    """The heap of all roots that the plain loop reads. Shape (n, 4) uint64. Form: Montgomery."""
    device, levels = get_device("cpu"), [np.zeros((1, 4), np.uint64)]
    for level in range(1, log_n + 1):
        w = CURVE.root_of_unity(level, "snarkjs")
        levels.append(device.download(powers(device, CURVE, w, 1 << (level - 1))))
    return np.concatenate(levels)


def kernel_runner(library: ctypes.CDLL, log_n: int) -> Callable[[U64Array], None]:
    """A function that transforms its argument in place by the kernel's passes, cut as `cpu` plans them."""
    device, domain = get_device("cpu", threads=1), Domain(CURVE, log_n, "snarkjs")
    roots = domain.inner_roots(device, inverse=False)
    twist = domain.twist_tables(device, inverse=False, scaled=False)
    steps = plan_ntt(log_n, 1, CURVE, device.limits).passes
    scratch = np.zeros(max(step.shape.shared_bytes for step in steps), np.uint8)

    def run(x: U64Array) -> None:
        for step in steps:
            fields = (
                x.ctypes.data, x.ctypes.data, step.num_tiles, log_n, step.log_l, step.log_r, step.log_t,
                roots.ctypes.data, twist.outer.ctypes.data, twist.inner.ctypes.data, twist.bits,
                0, 0, 0, 0, 0,
            )  # fmt: skip
            library.width1_pass(struct.pack("<16Q", *fields), ctypes.c_void_p(scratch.ctypes.data))

    return run


def compare(log_n: int, rounds: int) -> list[tuple[float, float]]:
    """Seconds of processor time of (kernel, plain loop), taken in turn; results are compared bit for bit."""
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
    roots, kernel = full_roots(log_n), kernel_runner(library, log_n)
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2**61, (1 << log_n, 4), dtype=np.uint64)  # the top limb stays below the modulus's

    def plain(y: U64Array) -> None:
        library.plain_dif(
            ctypes.c_void_p(y.ctypes.data), ctypes.c_uint64(log_n), ctypes.c_void_p(roots.ctypes.data)
        )

    times = []
    for turn in range(rounds):
        taken, results = {}, {}
        # Who goes first alternates, so that neither profits from what the other left in the caches.
        for name, function in [("kernel", kernel), ("plain", plain)][:: 1 if turn % 2 else -1]:
            results[name] = x.copy()
            start = time.thread_time_ns()
            function(results[name])
            taken[name] = (time.thread_time_ns() - start) / 1e9
        if not np.array_equal(results["kernel"], results["plain"]):
            sys.exit("the two transforms differ")
        times.append((taken["kernel"], taken["plain"]))
    return times


def main() -> None:
    """Print the times, the median ratio and whether it is within the limit; exit 1 if it is not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log-n", type=int, default=20, help="log2 of the transform's length")
    parser.add_argument("--rounds", type=int, default=7, help="how often both run")
    options = parser.parse_args()
    times = compare(options.log_n, options.rounds)
    kernel, plain = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratio = statistics.median(k / p for k, p in times)
    print(
        f"NTT of 2^{options.log_n} BN254 scalars, one core, processor time, median of {options.rounds} rounds"
    )
    print(f"kernel at width 1  {kernel:.4f} s")
    print(f"plain radix-2 loop {plain:.4f} s")
    print(f"ratio              {ratio:.3f} (limit {LIMIT})")
    sys.exit(0 if ratio <= LIMIT else 1)


if __name__ == "__main__":
    main()
