"""How a transform is cut changes no byte of it: radix splits, tiles, tables, schedules, other devices' plans.

Would catch: a twist factor off by a pass, a tile that reads another's columns, tables split where the
exponent is not, a missing barrier between rounds, a plan that leaves elements out or asks for more than the
device has.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from cuzk_oracles import ntt as oracle
from hypothesis import given
from hypothesis import strategies as st

from cuzk.curves import Curve, get_curve
from cuzk.device import Array, Device
from cuzk.device.base import DeviceLimits
from cuzk.errors import RangeError
from cuzk.ops import plan_fr
from cuzk.ops.ntt import Domain, ntt
from cuzk.ops.plan_fr import NttPlan, plan_ntt
from tests.kernels.fr_support import CURVE_NAMES, SCHEDULES, get, mixed_scalars, open_device, put

TOY, BN254, BLS = (get_curve(name) for name in ("toy", "bn254", "bls12_381"))


def compositions(total: int) -> Iterator[tuple[int, ...]]:
    """Every way to write total as a sum of positive parts, in every order; () for 0."""
    if total == 0:
        yield ()
    for first in range(1, total + 1):
        for rest in compositions(total - first):
            yield (first, *rest)


def transforms(
    device: Device, domain: Domain, x: Array, plan: NttPlan | None, bits: int | None
) -> list[bytes]:
    """DIF and DIT, forward and inverse, with and without coset, as bytes."""
    options: list[dict[str, object]] = [
        {"order_out": "rev"},
        {"order_out": "rev", "inverse": True},
        {"order_out": "rev", "inverse": True, "coset": 7},
        {"order_in": "rev", "coset": 7},
        {"order_in": "rev", "inverse": True},
    ]
    results = [ntt(device, domain, x, plan=plan, table_bits=bits, **o) for o in options]  # type: ignore[arg-type]
    return [device.download(result).tobytes() for result in results]


def reference(curve: Curve, log_n: int, values: list[int]) -> list[bytes]:
    """The same five transforms by the default plan on cpu, itself checked against the oracle here."""
    device, domain = open_device("cpu"), Domain(curve, log_n, "bellman")
    x = put(device, curve, values)
    expected = oracle.fft(values, domain.omega, curve.r)
    assert get(device, curve, ntt(device, domain, x)) == expected
    return transforms(device, domain, x, None, None)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize(
    ("curve", "log_n"), [(TOY, 7), (TOY, 5), (BN254, 5)], ids=["toy-7", "toy-5", "bn254-5"]
)
def test_every_radix_split(device_name: str, curve: Curve, log_n: int, rng: random.Random) -> None:
    device, domain = open_device(device_name), Domain(curve, log_n, "bellman")
    values = mixed_scalars(curve, 1 << log_n, rng)
    expected, x = reference(curve, log_n, values), put(device, curve, values)
    for radices in compositions(log_n):
        bits = rng.randrange(log_n + 1)
        plan = plan_ntt(log_n, 1, curve, device.limits, radices=radices)
        assert transforms(device, domain, x, plan, bits) == expected, (radices, bits)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("radices", [(3, 3), (2, 4), (5, 1), (6,)])
def test_every_tile_and_table(device_name: str, radices: tuple[int, ...], rng: random.Random) -> None:
    """Tiles from one column to all that fit, and every place to split the power tables."""
    device, domain = open_device(device_name), Domain(BN254, 6, "bellman")
    values = mixed_scalars(BN254, 64, rng)
    expected, x = reference(BN254, 6, values), put(device, BN254, values)
    for log_tile in range(max(radices), 10):
        plan = plan_ntt(6, 1, BN254, device.limits, radices=radices, log_tile=log_tile)
        assert transforms(device, domain, x, plan, 3) == expected, log_tile
    for bits in range(8):
        plan = plan_ntt(6, 1, BN254, device.limits, radices=radices)
        assert transforms(device, domain, x, plan, bits) == expected, bits


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("radices", [(10, 2), (4, 8), (6, 6), (3, 3, 6), (4, 4, 4), (2, 9, 1), (1, 1, 10)])
def test_large_radices(device_name: str, radices: tuple[int, ...], rng: random.Random) -> None:
    device, domain = open_device(device_name), Domain(BLS, 12, "bellman")
    values = mixed_scalars(BLS, 1 << 12, rng)
    plan = plan_ntt(12, 1, BLS, device.limits, radices=radices)
    x = put(device, BLS, values)
    assert transforms(device, domain, x, plan, 6) == reference(BLS, 12, values)


@pytest.mark.parametrize("device_name", SCHEDULES)
@pytest.mark.parametrize("radices", [(8,), (5, 3), (2, 2, 4)])
def test_schedules(device_name: str, radices: tuple[int, ...], rng: random.Random) -> None:
    """Barriers hold whatever order threads, warps and blocks run in; tiles small enough for many blocks."""
    device, domain = open_device(device_name), Domain(BN254, 8, "bellman")
    values = mixed_scalars(BN254, 256, rng)
    plan = plan_ntt(8, 1, BN254, device.limits, radices=radices, log_tile=8)
    # Narrow blocks leave each thread several groups a round, wide ones leave threads idle.
    for block in (32, 128):
        passes = tuple(replace(p, shape=replace(p.shape, block=block)) for p in plan.passes)
        result = transforms(device, domain, put(device, BN254, values), replace(plan, passes=passes), 4)
        assert result == reference(BN254, 8, values)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
def test_grid_strides_over_tiles(device_name: str, rng: random.Random) -> None:
    device, domain = open_device(device_name), Domain(TOY, 9, "bellman")
    values = mixed_scalars(TOY, 512, rng)
    plan = plan_ntt(9, 1, TOY, device.limits, radices=(3, 3, 3), log_tile=4)
    for grid in (1, 3, 5):
        passes = tuple(replace(p, shape=replace(p.shape, grid=grid)) for p in plan.passes)
        result = transforms(device, domain, put(device, TOY, values), replace(plan, passes=passes), None)
        assert result == reference(TOY, 9, values)


GPU = DeviceLimits(132, 1024, 32, 227 << 10, 1 << 37, gpu_like=True)
SMALL_GPU = DeviceLimits(20, 1024, 32, 48 << 10, 1 << 33, gpu_like=True)
HOST = DeviceLimits(64, 1, 1, 1 << 20, 1 << 37, gpu_like=False)


@given(
    st.integers(0, 32),
    st.integers(0, 9),
    st.sampled_from(CURVE_NAMES),
    st.sampled_from([GPU, SMALL_GPU, HOST]),
)
def test_plans_cover_the_transform(log_n: int, batch: int, curve_name: str, limits: DeviceLimits) -> None:
    """Pure, complete, within the device, and with as few passes as the largest radix allows."""
    curve = get_curve(curve_name)
    plan = plan_ntt(log_n, batch, curve, limits)
    assert plan == plan_ntt(log_n, batch, curve, limits)
    assert sum(p.log_r for p in plan.passes) == log_n
    assert len(plan.passes) == max(1, -(-log_n // 10))
    log_l = log_n
    for step in plan.passes:
        log_s = log_l - step.log_r
        assert step.log_l == log_l
        assert 0 <= step.log_t <= (log_s or log_n - step.log_r)
        assert step.num_tiles << (step.log_r + step.log_t) == batch << log_n
        assert step.shape.shared_bytes == curve.fr.nbytes << (step.log_r + step.log_t)
        assert step.shape.shared_bytes <= limits.shared_bytes
        assert 1 <= step.shape.block <= limits.max_threads
        assert step.shape.grid <= min(step.num_tiles, 2**31 - 1)
        log_l = log_s


@pytest.mark.parametrize("radices", [(), (3, 3), (9,), (0, 8), (11, -3)])
def test_impossible_radices(radices: tuple[int, ...]) -> None:
    with pytest.raises(RangeError, match="do not make"):
        plan_ntt(8, 1, BN254, HOST, radices=radices)


def test_impossible_tiles() -> None:
    with pytest.raises(RangeError, match="do not fit"):
        plan_ntt(12, 1, BN254, HOST, radices=(12,))
    with pytest.raises(RangeError, match="do not fit"):
        plan_ntt(8, 1, BN254, GPU, radices=(8,), log_tile=12)
    device = open_device("cpu")
    x = device.alloc((8, 4), np.uint64, zero=True)
    with pytest.raises(RangeError, match="a plan for"):
        ntt(device, Domain(BN254, 3), x, plan=plan_ntt(4, 1, BN254, device.limits))


@given(st.integers(0, 1 << 33), st.sampled_from([GPU, SMALL_GPU, HOST]))
def test_other_plans_are_possible(n: int, limits: DeviceLimits) -> None:
    shapes = [plan_fr.plan_elementwise(n, limits), plan_fr.plan_spmv_long(n, BLS, limits)]
    classify_shape, chunk = plan_fr.plan_classify(n, limits)
    assert classify_shape.grid * chunk >= n
    assert (classify_shape.grid - 1) * chunk < max(n, 1)
    shapes.append(classify_shape)
    reverse_shape, log_tile = plan_fr.plan_bit_reverse(n.bit_length(), 2, BLS, limits)
    assert 2 * log_tile <= n.bit_length()
    for shape in [*shapes, reverse_shape]:
        assert 0 <= shape.grid < 2**31
        assert shape.grid > 0 or n == 0
        assert 1 <= shape.block <= limits.max_threads
        assert shape.shared_bytes <= limits.shared_bytes
    for log_n in range(34):
        assert 0 <= plan_fr.table_bits(log_n) <= log_n
        assert log_n - plan_fr.table_bits(log_n) <= 17
