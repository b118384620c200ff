"""Transforms on a GPU: same bytes as on the cpu, then times of plans and of builds of the kernel, as JSON.

python -m tests.device.bench_ntt [--json RESULT.json] [--sweep] [--logs 16 18 20 22 24 27]

Every plan's result is compared with the default plan's, the default plan's with the cpu's up to 2^20, and a round trip
is made at every size. Times are CUDA events, random data, in place, forward to bit-reversed order: of one call of
ntt(), and of one transform within a captured graph of several, where no launch waits for Python.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.curves import get_curve
from cuzk.device import builder, get_device
from cuzk.ops import plan_fr
from cuzk.ops.domain import Domain
from cuzk.ops.ntt import ntt
from cuzk.ops.plan_fr import NttPlan, plan_ntt

CURVE = get_curve("bls12_381")
#: Products a second that one H200 does (Montgomery, this field): what floors are counted with.
FLOOR_PRODUCTS = 60.08e9
#: Radix splits tried by --sweep.
SPLITS: dict[int, list[tuple[int, ...]]] = {
    20: [(10, 10), (7, 7, 6), (8, 6, 6), (6, 7, 7)],
    24: [(8, 8, 8), (6, 9, 9), (9, 9, 6), (6, 6, 6, 6)],
    27: [(9, 9, 9), (10, 9, 8), (6, 6, 6, 9)],
}
#: Builds tried by --sweep: threads a block, blocks a multiprocessor, most levels a round.
BUILDS = [(128, 4, 3), (128, 3, 3), (256, 2, 3), (256, 3, 2), (256, 2, 2)]
_LEVELS = "return left == 4 || left == 2 ? 2 : (left < 3 ? left : 3);"
#: A module of the transform's kernels alone, which compiles in seconds.
_ENTRY = """#include "exec_cuda.cuh"
#include "curve.cuh"
#include "ntt.cuh"
using namespace cuzk;
using ModuleFr = Curve_bls12_381::Fr;
#define X(FN, ARGS, MAX, MIN)                                                                       \\
    extern "C" __global__ void __launch_bounds__(BOUND_THREADS, BOUND_BLOCKS)                       \\
        FN##_bls12_381_fr(const __grid_constant__ ARGS args, FaultWord* fault_word) {               \\
        CudaExec ex{fault_word};                                                                    \\
        FN(ex, args);                                                                               \\
    }
CUZK_NTT_KERNELS(X, ModuleFr)
"""


def random_fr(cupy: Any, n: int) -> Any:
    """Uniform below 2^(bits - 1) < r, made on the device."""
    x = cupy.random.default_rng(n).integers(0, 2**63, (n, CURVE.fr.limbs), dtype=cupy.uint64)
    x ^= cupy.random.default_rng(n + 1).integers(0, 2**63, x.shape, dtype=cupy.uint64) << np.uint64(1)
    x[:, -1] &= np.uint64((1 << (CURVE.fr.bits - 1) % 64) - 1)
    return x


def measure(device: Any, run: Callable[[], Any], inner: int, repeats: int) -> dict[str, float]:
    """Milliseconds of one run: each sample is a captured graph of `inner` runs, after one warm-up."""
    cupy, stream = device._cupy, device._stream
    run()
    device.synchronize()
    with device._device, stream:
        stream.begin_capture()
        for _ in range(inner):
            run()
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        return events(cupy, stream, lambda: graph.launch(stream), inner, repeats)


def events(cupy: Any, stream: Any, run: Callable[[], Any], inner: int, repeats: int) -> dict[str, float]:
    """Median, least and most of run() / inner, milliseconds."""
    samples = []
    for _ in range(repeats):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(stream)
        run()
        end.record(stream)
        end.synchronize()
        samples.append(cupy.cuda.get_elapsed_time(start, end) / inner)
    return {
        "median_ms": statistics.median(samples),
        "min_ms": min(samples),
        "max_ms": max(samples),
        "repeats": repeats,
    }


def with_block(plan: NttPlan, threads: int, levels: int) -> NttPlan:
    """The same plan with another number of threads a block, at most one item a thread."""
    tiles = [p.shape.shared_bytes // CURVE.fr.nbytes for p in plan.passes]
    blocks = [min(threads, max(32, tile >> levels)) for tile in tiles]
    passes = [
        replace(p, shape=replace(p.shape, block=block)) for p, block in zip(plan.passes, blocks, strict=True)
    ]
    return replace(plan, passes=tuple(passes))


def compile_variant(variant: tuple[int, int, int], arch: str) -> bytes:
    """The transform's kernels in another build; runs in a process of its own."""
    threads, blocks, levels = variant
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "kernels"
        shutil.copytree(builder.KERNEL_DIR, copy)
        text = _ENTRY.replace("BOUND_THREADS", str(threads)).replace("BOUND_BLOCKS", str(blocks))
        (copy / "entry.cu").write_text(text)
        tile = (copy / "ntt_tile.cuh").read_text()
        assert _LEVELS in tile, "the rule for the levels of a round has changed"
        if levels == 2:
            (copy / "ntt_tile.cuh").write_text(tile.replace(_LEVELS, "return left < 2 ? left : 2;"))
        builder.KERNEL_DIR = copy
        return builder.compile_module(CURVE.name, "fr", arch)[0]


def check(device: Any, log_n: int, x: Any) -> None:
    """Round trip, and up to 2^20 the cpu's bytes."""
    domain = Domain(CURVE, log_n)
    y = ntt(device, domain, x, order_out="rev")
    if log_n <= 20:
        expected = ntt(device.host, domain, device.download(x), order_out="rev")
        assert np.array_equal(device.download(y), expected), f"2^{log_n}: other bytes than on the cpu"
    z = ntt(device, domain, y, inverse=True, order_in="rev", out=y)
    device.synchronize()
    assert bool(device._cupy.array_equal(z, x)), f"2^{log_n}: round trip"


def time_size(device: Any, log_n: int, repeats: int) -> dict[str, Any]:
    """Checks and times of the default plan."""
    x = random_fr(device._cupy, 1 << log_n)
    device._cupy.cuda.Device().synchronize()
    check(device, log_n, x)
    domain = Domain(CURVE, log_n)
    run = partial(ntt, device, domain, x, order_out="rev", out=x)
    row: dict[str, Any] = measure(device, run, 10 if log_n < 24 else 2, repeats)
    with device._device, device._stream:
        row["call"] = events(device._cupy, device._stream, run, 1, repeats)
    row["floor_ms"] = 1e3 * (1 << log_n) / 2 * log_n / FLOOR_PRODUCTS
    return row


def sweep(device: Any, log_n: int, repeats: int) -> list[dict[str, Any]]:
    """Splits, and placed tables; each result has the default plan's bytes."""
    cupy, rows = device._cupy, []
    x = random_fr(cupy, 1 << log_n)
    cupy.cuda.Device().synchronize()
    expected = ntt(device, Domain(CURVE, log_n), x, order_out="rev")

    def one(name: str, domain: Domain, plan: NttPlan) -> None:
        out = ntt(device, domain, x, order_out="rev", plan=plan)
        device.synchronize()
        assert bool(cupy.array_equal(out, expected)), name
        row = measure(
            device, partial(ntt, device, domain, out, order_out="rev", out=out, plan=plan), 4, repeats
        )
        rows.append({"log_n": log_n, "variant": name, **row})
        spread = f"{row['min_ms']:.4f} to {row['max_ms']:.4f}"
        print(f"2^{log_n} {name:34} {row['median_ms']:9.4f} ms ({spread})", flush=True)

    usual = plan_fr.PLACED_MEMORY_SHARE
    for split in SPLITS[log_n]:
        one(f"{split}", Domain(CURVE, log_n), plan_ntt(log_n, 1, CURVE, device.limits, radices=split))
    for share in (8, 128, 2048, 1 << 40):
        plan_fr.PLACED_MEMORY_SHARE = share
        one(
            f"placed tables up to memory / {share}",
            Domain(CURVE, log_n),
            plan_ntt(log_n, 1, CURVE, device.limits),
        )
    plan_fr.PLACED_MEMORY_SHARE = usual
    return rows


def sweep_builds(device: Any, logs: list[int], repeats: int) -> list[dict[str, Any]]:
    """The default plans in other builds of the kernel."""
    rows: list[dict[str, Any]] = []
    name = f"ntt_dif_pass_{CURVE.name}_fr"
    function = device._function(name)
    with ProcessPoolExecutor(len(BUILDS)) as pool:
        cubins = list(pool.map(partial(compile_variant, arch=device.arch), BUILDS))
    spec = device._kernels[name]
    for variant, cubin in zip(BUILDS, cubins, strict=True):
        module = device._cupy.cuda.function.Module()
        module.load(cubin)
        device._functions[name] = module.get_function(name)
        device._kernels[name] = replace(spec, max_threads=variant[0])
        for log_n in logs:
            domain, x = Domain(CURVE, log_n), random_fr(device._cupy, 1 << log_n)
            device._cupy.cuda.Device().synchronize()
            plan = with_block(plan_ntt(log_n, 1, CURVE, device.limits), variant[0], variant[2])
            expected = ntt(device, domain, x, order_in="rev", inverse=True)
            expected = ntt(device, domain, expected, order_out="rev", plan=plan, out=expected)
            device.synchronize()
            assert bool(device._cupy.array_equal(expected, x)), variant
            run = partial(ntt, device, domain, x, order_out="rev", out=x, plan=plan)
            row = measure(device, run, 4, repeats)
            rows.append({"log_n": log_n, "variant": f"build {variant}", **row})
            print(f"2^{log_n} build {variant!s:28} {row['median_ms']:9.4f} ms", flush=True)
    device._functions[name], device._kernels[name] = function, spec
    return rows


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--logs", type=int, nargs="+", default=[16, 18, 20, 22, 24, 27])
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()
    device: Any = get_device("cuda")
    report: dict[str, Any] = {"device": device.name, "build": device.build_key, "ntt": {}, "sweep": []}
    for log_n in options.logs:
        row = report["ntt"][str(log_n)] = time_size(device, log_n, options.repeats)
        spread = f"{row['min_ms']:.4f} to {row['max_ms']:.4f}"
        print(
            f"2^{log_n} {row['median_ms']:9.4f} ms ({spread}), one call {row['call']['median_ms']:.4f} ms, "
            f"floor of radix-2 products {row['floor_ms']:.4f} ms",
            flush=True,
        )
    if options.sweep:
        for log_n in SPLITS:
            report["sweep"] += sweep(device, log_n, options.repeats)
        report["sweep"] += sweep_builds(device, list(SPLITS), options.repeats)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
