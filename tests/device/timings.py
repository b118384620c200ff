"""Times of kernels on a GPU beside their floors and targets: CUDA events, warm-up, medians of 7, random data.

python -m tests.device.timings [--json RESULT.json] [--only ntt,msm_g1] [--logs 20,24] [--quick] [--budget-s 480]

Families: ntt (a replayed graph, and one call), msm_g1, msm_g2 (uniform scalars), sparse_g1, sparse_g2 (60% zeros, 30%
ones, 10% random, as the prover runs them: classify, sum of the ones, MSM of the rest), batch_add. Bases and scalars lie
on the device. A floor is a count of operations over the chip's measured rate, on one H200; elsewhere floors and targets
are left out. The JSON is written after every row; rows for which no time is left say so.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from cuzk.curves import Curve, GroupSpec, get_curve
from cuzk.device import Array
from cuzk.ops.batch_add import batch_add, launch_batch_add
from cuzk.ops.classify import classify
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import launch_msm, msm
from cuzk.ops.ntt import ntt
from cuzk.ops.plan_msm import plan_msm
from tests.device import gpu
from tests.device.results import Results, tree_digest

CURVE = get_curve("bls12_381")
#: Operations a second of one H200, measured: products in Fr, Fp and Fp2.
RATES = {"fr": 60.08e9, "g1": 27.35e9, "g2": 8.831e9}
#: Products of one addition with a shared inversion: the cheapest that is known.
PRODUCTS_PER_ADDITION = 6
#: Bytes a second that a kernel moves in device memory.
MEMORY_RATE = 4.0e12
#: Shares of zeros and ones in the sparse families; the rest is uniform.
ZEROS, ONES = 0.6, 0.3

#: log2 of the sizes of a full run, and of --quick.
LOGS = {
    "ntt": (16, 18, 20, 22, 24, 27),
    "msm_g1": (16, 18, 20, 22, 24, 26),
    "msm_g2": (16, 18, 20, 22),
    "sparse_g1": (20, 22, 24),
    "sparse_g2": (20, 22),
    "batch_add": (22,),
}
QUICK_LOGS = {family: logs[:1] for family, logs in LOGS.items()}
#: Milliseconds on one H200 that we want to reach, and those of sppark there.
TARGETS = {
    "ntt": {20: 0.23, 24: 3.9, 27: 36.0},
    "msm_g1": {16: 4.0, 20: 12.0, 22: 35.0, 24: 105.0, 26: 370.0},
    "msm_g2": {20: 32.0, 22: 95.0},
    "sparse_g1": {24: 22.0},
}
#: Runs that say what Python's launches add, and have no target: a transform's is for the device's own time.
UNJUDGED = ("one call",)
PEERS = {
    "ntt": {16: 0.020, 18: 0.063, 20: 0.258, 22: 1.046, 24: 4.430, 27: 42.351},
    "msm_g1": {16: 6.7, 18: 19.4, 20: 20.3, 22: 52.8, 24: 154.1, 26: 555.3},
    "msm_g2": {16: 10.0, 18: 28.6, 20: 48.0, 22: 138.9},
    "sparse_g1": {20: 14.1, 22: 16.9, 24: 45.9},
    "sparse_g2": {20: 22.9, 22: 41.2},
}


def ntt_floor(log_n: int) -> tuple[float, str]:
    """Milliseconds, and what was counted."""
    return 1e3 * (1 << log_n) / 2 * log_n / RATES["fr"], "radix-2 products"


def msm_floor(group: GroupSpec, n: int, limits: Any) -> tuple[float, str]:
    """Milliseconds for the additions of every window of the plan, and what was counted."""
    windows = plan_msm(n, group, limits).num_windows
    return _additions_ms(
        group, windows * n
    ), f"{windows} windows x {n} additions x {PRODUCTS_PER_ADDITION} products"


def sparse_floor(group: GroupSpec, n: int, limits: Any) -> tuple[float, str]:
    """As msm_floor, for the ones, the rest, and two readings of the scalars."""
    ones, rest = int(ONES * n), int((1 - ZEROS - ONES) * n)
    msm_ms, text = msm_floor(group, rest, limits)
    reading = 1e3 * 2 * group.curve.fr.nbytes * n / MEMORY_RATE
    return _additions_ms(group, ones) + msm_ms + reading, f"{ones} additions + {text} + 2 readings"


def _additions_ms(group: GroupSpec, count: int) -> float:
    return 1e3 * count * PRODUCTS_PER_ADDITION / RATES[group.name]


def sparse_scalars(device: Any, curve: Curve, n: int, seed: int) -> Array:
    """Scalars of which 60% are 0 and 30% are 1, in random places. Form: Montgomery."""
    cp = device._cupy
    x = gpu.random_fr(device, curve, n, seed)
    with device._device, gpu.stream_of(device):
        draw = cp.random.default_rng(seed + 2).random(n, dtype=cp.float32)[:, None]
        one = cp.broadcast_to(cp.asarray(_limbs_of_one(curve), dtype=cp.uint64), x.shape)
        cp.copyto(x, one, where=draw < ZEROS + ONES)
        cp.copyto(x, cp.zeros_like(x), where=draw < ZEROS)
    gpu.drop_cached_memory(device)
    return x


def _limbs_of_one(curve: Curve) -> list[int]:
    return [curve.fr.mont_r >> (64 * i) & (2**64 - 1) for i in range(curve.fr.limbs)]


class Timings:
    """One run over the families.

    Args:
        device: The GPU.
        results: Where rows go.
        clock: How long it may take.
        repeats: Samples of each row.
    """

    def __init__(self, device: Any, results: Results, clock: gpu.Clock, repeats: int) -> None:
        self.device, self.results, self.clock, self.repeats = device, results, clock, repeats
        self.on_h200 = "H200" in device.name
        self._bases: tuple[str, Array] | None = None

    def row(
        self,
        family: str,
        log_n: int,
        variant: str,
        floor: tuple[float, str],
        run: Callable[[], dict[str, float]],
    ) -> None:
        """Measure one row, unless the time is up; an error becomes a row too."""
        row: dict[str, Any] = {"family": family, "log_n": log_n, "variant": variant}
        if not self.clock.has(5):
            row["skipped"] = "no time left"
        else:
            peak = gpu.MemoryPeak(self.device)
            try:
                row |= run()
                row |= {"device_bytes": peak.total_bytes, "work_bytes": peak.work_bytes}
                self._judge(row, floor)
            except Exception as error:  # noqa: BLE001 - the other rows are wanted even so
                row["error"] = f"{type(error).__name__}: {error}"
        self.results.add(row)
        print(shown(row), flush=True)

    def _judge(self, row: dict[str, Any], floor: tuple[float, str]) -> None:
        if self.on_h200:
            row["floor_ms"], row["floor_of"] = floor
            family, log_n = row["family"], row["log_n"]
            row["peer_ms"] = PEERS.get(family, {}).get(log_n)
            row["target_ms"] = TARGETS.get(family, {}).get(log_n) if row["variant"] not in UNJUDGED else None
            if row["target_ms"] is not None:
                row["pass"] = row["median_ms"] <= row["target_ms"]

    def bases(self, group: GroupSpec, n: int) -> Array:
        """At least n random bases of a group, kept until another group or more of them are asked for."""
        if self._bases is None or self._bases[0] != group.name or len(self._bases[1]) < n:
            self._bases = None
            made = fixed_base_mul(self.device, group, gpu.random_fr(self.device, group.curve, n, 1))
            self._bases = (group.name, made)
        return self._bases[1]

    def ntt(self, log_n: int) -> None:
        """Forward, natural to bit-reversed, in place."""
        device, domain = self.device, Domain(CURVE, log_n)
        x = gpu.random_fr(device, CURVE, 1 << log_n, log_n)
        run = partial(ntt, device, domain, x, order_out="rev", out=x)
        inner = 10 if log_n < 24 else 2
        graph = partial(gpu.measure_graph, device, run, inner, self.repeats)
        self.row("ntt", log_n, "graph", ntt_floor(log_n), graph)
        self.row("ntt", log_n, "one call", ntt_floor(log_n), partial(gpu.measure, device, run, self.repeats))

    def msm(self, group: GroupSpec, log_n: int, largest: int) -> None:
        """Uniform scalars, up to the window sums, and up to the point on the host."""
        device, n = self.device, 1 << log_n
        family, floor = f"msm_{group.name}", msm_floor(group, n, device.limits)
        try:
            bases = self.bases(group, 1 << largest)[:n]
            scalars = gpu.random_fr(device, group.curve, n, 2)
        except Exception as error:  # noqa: BLE001 - without memory for these bases smaller sizes still count
            self.results.add({"family": family, "log_n": log_n, "error": f"{type(error).__name__}: {error}"})
            return
        sums = partial(launch_msm, device, group, bases, scalars)
        self.row(family, log_n, "window sums", floor, partial(gpu.measure, device, sums, self.repeats))
        point = partial(msm, device, group, bases, scalars)
        self.row(family, log_n, "point", floor, partial(gpu.measure, device, point, self.repeats))

    def sparse(self, group: GroupSpec, log_n: int, largest: int) -> None:
        """Classify, add up the ones, multiply the rest."""
        device, n, curve = self.device, 1 << log_n, group.curve
        bases = self.bases(group, 1 << largest)[:n]
        scalars = sparse_scalars(device, curve, n, 3)

        def run() -> None:
            classes = classify(device, curve, scalars)
            ones = launch_batch_add(device, group, bases, classes.ones)
            rest = launch_msm(device, group, bases, scalars, indices=classes.others)
            ones.result()
            rest.result()

        floor = sparse_floor(group, n, device.limits)
        family = f"sparse_{group.name}"
        self.row(family, log_n, "as proved", floor, partial(gpu.measure, device, run, self.repeats))

    def batch_add(self, log_n: int, largest: int) -> None:
        """The sum of all bases."""
        bases = self.bases(CURVE.g1, 1 << largest)[: 1 << log_n]
        run = partial(batch_add, self.device, CURVE.g1, bases)
        floor = _additions_ms(CURVE.g1, 1 << log_n), "additions of 6 products"
        self.row("batch_add", log_n, "g1", floor, partial(gpu.measure, self.device, run, self.repeats))

    def family(self, name: str, logs: tuple[int, ...], largest: int) -> None:
        """Every size of a family; `largest` is how many bases its group will want."""
        for log_n in logs:
            if name == "ntt":
                self.ntt(log_n)
            elif name == "batch_add":
                self.batch_add(log_n, largest)
            else:
                kind, _, group = name.partition("_")
                getattr(self, kind)(getattr(CURVE, group), log_n, largest)


def shown(row: dict[str, Any]) -> str:
    """One row of the printed table."""
    name = f"{row['family']:10} 2^{row['log_n']:<3} {row.get('variant', ''):12}"
    if "median_ms" not in row:
        return f"{name} {row.get('skipped') or row.get('error')}"
    text = f"{name} {row['median_ms']:10.3f} ms ({row['min_ms']:.3f} to {row['max_ms']:.3f})"
    text += f"  {row['work_bytes'] / 2**30:5.2f} GiB beside its inputs"
    if row.get("floor_ms") is not None:
        text += f"  floor {row['floor_ms']:9.3f} (x{row['median_ms'] / row['floor_ms']:.2f})"
    if row.get("peer_ms"):
        text += f"  sppark x{row['median_ms'] / row['peer_ms']:.2f}"
    if row.get("target_ms"):
        text += f"  target {row['target_ms']:g}: {'met' if row['pass'] else 'MISSED'}"
    return text


def largest_of(families: dict[str, tuple[int, ...]], name: str) -> int:
    """log2 of the most bases that families of one group want: they share them."""
    return max(
        max(logs) for f, logs in families.items() if f != "ntt" and f.endswith("g2") == name.endswith("g2")
    )


def main() -> int:
    """Entry point; returns the exit code: 1 if a row failed or missed its target."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default=",".join(LOGS), help="families, by comma")
    parser.add_argument("--logs", default="", help="only these log2 sizes")
    parser.add_argument("--quick", action="store_true", help="the smallest size of each family")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--budget-s", type=float, default=480)
    options = parser.parse_args()
    if reason := gpu.why_none():
        print(f"timings skipped: {reason}")
        return 0
    table = QUICK_LOGS if options.quick else LOGS
    wanted = {int(text) for text in options.logs.split(",") if text}
    families = {name: table[name] for name in options.only.split(",")}
    if wanted:
        families = {name: tuple(x for x in LOGS[name] if x in wanted) for name in families}
    families = {name: logs for name, logs in families.items() if logs}
    device = gpu.gpu()
    head = {"device": device.name, "build": device.build_key, "tree": tree_digest()}
    results = Results(options.json, head)
    run = Timings(device, results, gpu.Clock(options.budget_s), options.repeats)
    device.load(CURVE.name)
    for name, logs in families.items():
        run.family(name, logs, 0 if name == "ntt" else largest_of(families, name))
    results.finish()
    missed = [row for row in results.data["rows"] if row.get("pass") is False or "error" in row]
    print(f"result: {len(results.data['rows'])} rows, {len(missed)} failed or missed their target")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
