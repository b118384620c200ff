"""What ``cuzk bench`` times: inputs on the device, and the call on them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.curves import Curve, GroupSpec
from cuzk.device import Array, Device
from cuzk.errors import InputError
from cuzk.groth16.msm_choice import MsmChoice, check_windows, rounds_of
from cuzk.groth16.query_sums import add_shape
from cuzk.groth16.quotient import transform_plan
from cuzk.limbs import U64Array
from cuzk.ops.batch_add import batch_add
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.fr_vec import fr_mul
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt
from cuzk.ops.plan_msm import MsmPlan
from cuzk.relation import R1CS
from cuzk.variants import resolve
from cuzk.witness import Witness

__all__ = ["Case", "chain_circuit", "default_sizes", "make_case", "random_scalars"]

_SEED = 20_240_229
#: log2 of the sizes by kind and device, so that a run without --size ends within seconds.
_DEFAULT_LOGS: dict[str, dict[str, tuple[int, ...]]] = {
    "field": {"cpu": (16, 20), "emu": (8,), "cuda": (20, 24)},
    "ntt": {"cpu": (12, 14, 16), "emu": (8,), "cuda": (16, 20, 22)},
    "msm": {"cpu": (10, 12, 14), "emu": (5,), "cuda": (16, 18, 20)},
    "batch-add": {"cpu": (10, 12, 14), "emu": (6,), "cuda": (16, 18, 20)},
    "prove": {"cpu": (8, 10, 12), "emu": (4,), "cuda": (12, 14, 16)},
}


@dataclass(frozen=True)
class Case:
    """One thing to time.

    Args:
        title: What it is.
        curve: Name of the curve.
        run: Does it once; may return before the device is done.
        units: How many units of work one run does.
        unit: What they are.
    """

    title: str
    curve: str
    run: Callable[[], object]
    units: int
    unit: str


def default_sizes(kind: str, device_kind: str) -> list[int]:
    """Sizes to time where none is asked for."""
    return [1 << log for log in _DEFAULT_LOGS[kind][device_kind]]


def make_case(
    kind: str, device: Device, curve: Curve, group_name: str, n: int, variants: dict[str, str]
) -> Case:
    """Put the inputs on the device.

    Args:
        kind: "ntt", "msm", "field", "batch-add" or "prove".
        device: Where to compute.
        curve: Over which curve.
        group_name: "g1" or "g2", for msm and batch-add.
        n: Elements, points or constraints.
        variants: Chosen variants by id.

    Raises:
        InputError: A size that the operation does not have.
    """
    group: GroupSpec = getattr(curve, group_name)
    if kind == "field":
        a, b = (device.upload(random_scalars(curve, n, i)) for i in range(2))
        out = device.alloc((n, curve.fr.limbs))
        return Case("fr_mul", curve.name, lambda: fr_mul(device, curve, a, b, out=out), n, "products")
    if kind == "ntt":
        return _ntt_case(device, curve, n, resolve(variants, device.kind)["N1"])
    if kind == "prove":
        return _prove_case(device, curve, n, variants)
    in_force = resolve(variants, device.kind)
    bases = _random_points(device, group, n)
    if kind == "batch-add":
        shape, rounds = add_shape(device, in_force), rounds_of(in_force)

        def add() -> Any:
            return batch_add(device, group, bases, rounds=rounds, **shape)

        return Case(f"batch_add {group_name}", curve.name, add, n, "points")
    return _msm_case(device, group, n, bases, in_force)


def _msm_case(device: Device, group: GroupSpec, n: int, bases: Array, variants: dict[str, str]) -> Case:
    check_windows(variants, device.limits)
    scalars = device.upload(random_scalars(group.curve, n, 1))
    choice = MsmChoice(device, variants, n, {})

    def run_with(plan: MsmPlan) -> Any:
        return msm(device, group, bases, scalars, plan=plan)

    def time_of(plan: MsmPlan) -> float:
        start = time.perf_counter()
        run_with(plan)
        return time.perf_counter() - start

    if choice.wants_tuning(n, group):
        choice.tune(n, group, None, time_of)
    plan = choice.plan(n, group, None)
    return Case(f"msm {group.name}", group.curve.name, lambda: run_with(plan), n, "points")


def random_scalars(curve: Curve, n: int, stream: int) -> U64Array:
    """Scalars of full width, the same on every run.

    Args:
        curve: Whose Fr.
        n: How many.
        stream: Which of several independent vectors.

    Returns:
        Shape (n, limbs) uint64. Form: any; < r.
    """
    limbs = curve.fr.limbs
    rng = np.random.default_rng([_SEED, stream])
    values = rng.integers(0, 1 << 64, (n, limbs), np.uint64)
    # A top limb below that of r makes the whole value smaller than r.
    values[:, -1] %= np.uint64(curve.r >> (64 * (limbs - 1)))
    return values


def _random_points(device: Device, group: GroupSpec, n: int) -> Array:
    return fixed_base_mul(device, group, device.upload(random_scalars(group.curve, n, 2)))


def _ntt_case(device: Device, curve: Curve, n: int, radix: str) -> Case:
    if n & (n - 1):
        raise InputError(
            f"a transform of {n} elements",
            where="--size",
            limit="powers of two",
            remedy="write for example 2^16",
        )
    domain = Domain(curve, n.bit_length() - 1)
    x = device.upload(random_scalars(curve, n, 0))
    out = device.alloc((n, curve.fr.limbs))
    plan = transform_plan(curve, domain.log_n, 1, device.limits, radix)

    def run() -> Any:
        return ntt(device, domain, x, order_out="rev", out=out, plan=plan)

    return Case("ntt", curve.name, run, n, "elements")


def _prove_case(device: Device, curve: Curve, n: int, variants: dict[str, str]) -> Case:
    from cuzk.groth16 import Prover, setup

    circuit, witness = chain_circuit(curve, n)
    prover = Prover(setup(circuit, device), device, variants=variants)

    def run() -> Any:
        return prover.prove(witness, self_check=False)

    return Case("prove (without self-check)", curve.name, run, n, "constraints")


def chain_circuit(curve: Curve, n: int) -> tuple[R1CS, Witness]:
    """A circuit of n constraints, half of them bits, half a chain of products, and a witness for it.

    Args:
        curve: Over whose Fr.
        n: At least 1.
    """
    one, out = 0, 1
    num_bits = n // 2
    rng = np.random.default_rng([_SEED, 3])
    bits: list[int] = rng.integers(0, 2, num_bits).tolist()
    values = [1, 0, 3, *bits]
    rows: list[tuple[dict[int, int], dict[int, int], dict[int, int]]] = [
        ({3 + i: 1}, {3 + i: 1, one: -1}, {}) for i in range(num_bits)
    ]
    current = 2
    for i in range(n - num_bits):
        last = i == n - num_bits - 1
        bit = 3 + i % num_bits if num_bits else one
        factor = (values[current] + values[bit]) % curve.r
        product = values[current] * factor % curve.r
        target = out if last else len(values)
        rows.append(({current: 1}, {current: 1, bit: 1}, {target: 1}))
        if last:
            values[out] = product
        else:
            values.append(product)
            current = target
    return R1CS.from_rows(curve, len(values), 1, rows), Witness.from_ints(curve, values)
