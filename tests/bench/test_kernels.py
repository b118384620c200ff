"""Micro-benchmarks: every kernel of both real curves by itself, and whole proofs with every value of every variant.

pytest tests/bench --benchmark-enable --benchmark-json OUT.json --benchmark-save-data, then cuzk perf record --from
OUT.json.  Times are processor time of one launch on one thread.  Without --benchmark-enable each runs once: would catch
a kernel or a value that nothing benchmarks, or that cannot be run by itself.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pytest

from cuzk.cli.perf_workloads import mixed_circuit
from cuzk.curves import get_curve
from cuzk.device.host import CpuDevice
from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
from cuzk.variants import VARIANTS
from tests.device.cases import fr_cases, group_cases, piece_cases

CURVES = ("bn254", "bls12_381")
#: Elements of a case: enough for several blocks of every plan.
SIZE = 257
#: Plans of a host never launch these: their tables cost a host more than they save.
GPU_ONLY = ("ntt_factors",)
#: Larger numbers as a variant's value, such as windows of 2^24 buckets, take minutes and say nothing new.
_MOST = 12
#: Kernels may address beyond the slice that they are given; a copy has room for that.
_SLACK = 1 << 16


def kernels() -> list[str]:
    """Every kernel of a real curve; those of single operations are test kernels."""
    names = CpuDevice(threads=1).kernels
    return sorted(n for n in names if any(f"_{curve}_{m}" in n for curve in CURVES for m in ("fr", "g1", "g2"))
                  and not n.startswith(("field_op", "fp2_op", "point_op", *GPU_ONLY)))  # fmt: skip


class Launch:
    """One launch, kept with copies of its arrays, that can be repeated from the same start.

    Args:
        device: Where.
        kernel: Which.
        given: Arguments of Device.launch.
    """

    def __init__(self, device: CpuDevice, kernel: str, given: dict[str, Any]) -> None:
        self.device, self.kernel = device, kernel
        self.scalars = {name: value for name, value in given.items() if not isinstance(value, np.ndarray)}
        self.arrays = {name: value.copy() for name, value in given.items() if isinstance(value, np.ndarray)}

    def fresh(self) -> dict[str, Any]:
        """Arguments as they were, in buffers with room behind them."""
        made = dict(self.scalars)
        for name, array in self.arrays.items():
            whole = np.zeros(array.nbytes + _SLACK, np.uint8)
            whole[: array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
            made[name] = whole[: array.nbytes].view(array.dtype).reshape(array.shape)
        return made


@functools.cache
def launches(curve_name: str) -> dict[str, Launch]:
    """The first launch of every kernel in the cases of a curve."""
    curve, device = get_curve(curve_name), CpuDevice(threads=1)
    found: dict[str, Launch] = {}
    original = device.launch

    def keep(kernel: str, **given: Any) -> None:
        if kernel not in found:
            found[kernel] = Launch(device, kernel, given)
        original(kernel, **given)

    device.launch = keep  # type: ignore[method-assign]
    results: list[Iterator[Any]] = [fr_cases(device, curve, SIZE), piece_cases(device, curve, SIZE)]
    results += [group_cases(device, group, SIZE) for group in (curve.g1, curve.g2)]
    for case in results:
        for _ in case:
            pass
    device.launch = original  # type: ignore[method-assign]
    return found


@pytest.mark.benchmark(timer=time.process_time, group="kernels")
@pytest.mark.parametrize("kernel", kernels())
def test_kernel(kernel: str, benchmark: Any) -> None:
    """A launch by itself, from the same inputs each time."""
    curve = next(curve for curve in CURVES if f"_{curve}_" in kernel)
    kept = launches(curve)
    assert kernel in kept, f"no case of tests/device/cases.py launches {kernel}"
    launch = kept[kernel]
    benchmark.extra_info["subject"] = kernel
    benchmark.extra_info["metric"] = "cpu_time"

    def run(**given: Any) -> None:
        launch.device.launch(kernel, **given)
        launch.device.synchronize()

    benchmark.pedantic(run, setup=lambda: ((), launch.fresh()), rounds=9, warmup_rounds=1)


@functools.cache
def small_proof(h_form: Literal["monomial", "odd_lagrange"]) -> tuple[Callable[..., Prover], Any]:
    """What makes a prover of a small circuit, and its witness; the transforms depend on the form of the H bases."""
    device, curve = CpuDevice(threads=1), get_curve("bn254")
    circuit, witness = mixed_circuit(curve, 24)
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(curve, 1), h_form=h_form)
    return functools.partial(Prover, key, device, circuit=circuit), witness


def settings() -> list[tuple[str, str]]:
    """Every value that a variant has on the cpu device, but for numbers beyond _MOST."""
    every = [(row.id, value) for row in VARIANTS.values() for value in row.possible("cpu")]
    return [(name, value) for name, value in every if not (value.isdecimal() and int(value) > _MOST)]


@pytest.mark.benchmark(timer=time.process_time, group="variants")
@pytest.mark.parametrize(("identifier", "value"), settings())
def test_variant(identifier: str, value: str, benchmark: Any) -> None:
    """A whole proof with one variant set; the bytes are those of the defaults."""
    make, witness = small_proof("monomial" if value == "seven_ntt" else "odd_lagrange")
    prover = make(variants={identifier: value})
    benchmark.extra_info["subject"] = f"prove_{identifier}={value}"
    benchmark.extra_info["metric"] = "cpu_time"
    proof = benchmark.pedantic(
        functools.partial(prover.prove, witness, blinding=Blinding(7, 11), self_check=False),
        rounds=9,
        warmup_rounds=1,
    )
    assert proof == make().prove(witness, blinding=Blinding(7, 11), self_check=False)
