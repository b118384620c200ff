"""What ``cuzk bench synth`` runs, in which order, and what it makes of the samples."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.closures import Setting, Steps, Tape, written_steps
from cuzk.device.host import CpuDevice
from cuzk.device.machine import has_bmi2_adx
from cuzk.limbs import U64Array, fr_from_ints
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.relation import R1CS
from cuzk.telemetry.perf_counters import PerfCounters

__all__ = ["SynthCase", "interval", "measure", "prepare", "setting_name"]

_SEED = 20_240_301
_HARDWARE = ("instructions", "branches", "cache_misses")
#: Error rate of the interval of a median.
_ALPHA = 0.05
#: Processor time of a sample, at least about.
_LEAST_NS = 20_000_000
_OPENING = 2  # kinds of steps from here on are marks of groups, not terms


@dataclass(frozen=True, eq=False)
class SynthCase:
    """A circuit ready to be synthesised.

    Args:
        r1cs: Its rows.
        steps: The steps by which its code built them.
        tape: The same, compiled.
        w: Values of all variables: random bits, since no branch depends on them. Form: Montgomery.
    """

    r1cs: R1CS
    steps: Steps
    tape: Tape
    w: U64Array

    @property
    def num_terms(self) -> int:
        """Terms as written."""
        return int(np.count_nonzero(self.steps.codes & 3 < _OPENING))


def prepare(r1cs: R1CS) -> SynthCase:
    """Read a circuit's steps back from its rows and draw values."""
    steps = written_steps(r1cs.curve, (r1cs.a, r1cs.b, r1cs.c), r1cs.num_public + 1)
    bits = np.random.default_rng(_SEED).integers(0, 2, r1cs.num_variables)
    bits[0] = 1
    w = np.ascontiguousarray(fr_from_ints(r1cs.curve, [0, 1])[bits])
    return SynthCase(r1cs, steps, Tape(steps, fast=has_bmi2_adx()), w)


def setting_name(setting: Setting) -> str:
    """Its values, as on the command line."""
    return " ".join(f"{name}={value}" for name, value in setting.variants().items())


class _Sampled:
    """One thing to run, and its samples."""

    def __init__(self, name: str, variants: Mapping[str, str], run: Callable[[], Mapping[str, int]]) -> None:
        self.name, self.variants, self.run = name, variants, run
        self.ms: list[float] = []
        self.counters: dict[str, list[float]] = {}
        self.counts: dict[str, int] = {}

    def sample(self, counters: PerfCounters, loops: int) -> None:
        before, start = counters.read(), time.process_time_ns()
        for _ in range(loops):
            self.counts = dict(self.run())
        end, after = time.process_time_ns(), counters.read()
        self.ms.append((end - start) / 1e6 / loops)
        for name in after:
            self.counters.setdefault(name, []).append((after[name] - before[name]) / loops)


def measure(
    case: SynthCase, settings: Sequence[Setting], repeats: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Run every setting and the sparse product by turns.

    Args:
        case: The circuit.
        settings: The first is what the others are compared with.
        repeats: Rounds. In each, everything runs in order and then in the opposite order, so that a drift of the
            machine hits all alike; a warm-up comes before.
        tell: Gets a line a round.

    Returns:
        samples (of each), runs_a_sample (so many that it is not too short for the clock), missing (counters that the
        machine lacks, with the reason), results: for each its name, variants, median, extremes, spread, ratio to the
        first with interval, counters and counts.
    """

    def classic(setting: Setting) -> Callable[[], Mapping[str, int]]:
        return lambda: case.tape.run(case.w, setting).counts

    device = CpuDevice(threads=1)
    matrices = [DeviceMatrix.upload(device, matrix) for matrix in case.r1cs.matrices.values()]

    def product() -> Mapping[str, int]:
        for matrix in matrices:
            spmv(device, case.r1cs.curve, matrix, case.w, case.r1cs.num_constraints)
        return {}

    things = [_Sampled(setting_name(s), s.variants() | {"P5": "closures"}, classic(s)) for s in settings]
    things.append(_Sampled("P5=pce (sparse product, one thread)", {"P5": "pce"}, product))
    start = time.process_time_ns()
    for thing in things:
        thing.run()
    loops = max(1, math.ceil(_LEAST_NS * len(things) / max(time.process_time_ns() - start, 1)))
    with PerfCounters() as counters:
        for i in range(repeats):
            for thing in (*things, *reversed(things)):
                thing.sample(counters, loops)
            tell(f"round {i + 1} of {repeats}")
        missing = {name: counters.missing[name] for name in _HARDWARE if name in counters.missing}
    return {
        "samples": 2 * repeats,
        "runs_a_sample": loops,
        "missing": missing,
        "results": [_summary(thing, things[0]) for thing in things],
    }


def _summary(thing: _Sampled, first: _Sampled) -> dict[str, Any]:
    median = statistics.median(thing.ms)
    quartiles = statistics.quantiles(thing.ms, n=4, method="inclusive")
    ratios = [one / other for one, other in zip(thing.ms, first.ms, strict=True)]
    low, high = interval(ratios)
    return {
        "name": thing.name,
        "variants": dict(thing.variants),
        "median_ms": round(median, 4),
        "min_ms": round(min(thing.ms), 4),
        "max_ms": round(max(thing.ms), 4),
        "spread": round((quartiles[2] - quartiles[0]) / median, 4),
        "ratio": round(statistics.median(ratios), 5),
        "ratio_low": round(low, 5),
        "ratio_high": round(high, 5),
        "samples_ms": [round(ms, 4) for ms in thing.ms],
        "counters": {name: statistics.median(values) for name, values in thing.counters.items()},
        "counts": thing.counts,
    }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Bounds of the median that hold whatever the distribution, with 95%: two of the values, by the sign test.

    For fewer than 6 values there are no such bounds; then the least and the largest are given.

    >>> interval([5.0, 1.0, 2.0, 4.0, 3.0, 6.0, 7.0, 8.0])
    (1.0, 8.0)
    >>> interval([float(i) for i in range(1, 21)])
    (6.0, 15.0)
    """
    ordered, n = sorted(values), len(values)
    skipped, chance = 0, 1.0
    while 2 * chance <= _ALPHA * 2**n:
        skipped += 1
        chance += math.comb(n, skipped)
    least = max(skipped - 1, 0)
    return ordered[least], ordered[n - 1 - least]
