"""Millions of cases of the arithmetic on a GPU against the cpu: words, fields, points.

Would catch: a carry, a borrow or a last subtraction that goes wrong for one pair of operands in a million, a lane, warp
or block that differs from the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from cuzk.curves import FIELDS, FieldSpec, GroupSpec, get_curve
from cuzk.device import get_device
from cuzk.limbs import first_not_below, ints_to_limbs
from cuzk.ops.fixed_base import fixed_base_mul
from tests.device import exact, gpu
from tests.device.cases import point_op_cases, word_cases
from tests.device.smoke import compare
from tests.regressions.gpu_support import open_device

#: Device, and how many cases of each operation.
RUNS = [("emu", 300), pytest.param("cuda", 1 << 21, marks=pytest.mark.device)]
POINT_RUNS = [("emu", 60), pytest.param("cuda", 1 << 17, marks=pytest.mark.device)]
REAL_FIELDS = [name for name in FIELDS if not name.startswith("tiny_")]


def operands(field: FieldSpec, n: int, seed: int) -> np.ndarray:
    """Below the modulus: a third edges, a third with runs of equal bits, the rest uniform. Shape (n, limbs)."""
    m, rng = field.modulus, np.random.default_rng(seed)
    limbs = rng.integers(0, 2**64, (n, field.limbs), np.uint64, endpoint=False)
    limbs[:, -1] &= np.uint64((1 << (field.bits - 1) % 64) - 1)
    runs = rng.random((n, field.limbs)) < 0.5
    limbs[n // 3 : 2 * n // 3][runs[n // 3 : 2 * n // 3]] = 0
    edges = {
        0,
        1,
        2,
        m - 1,
        m - 2,
        (m - 1) // 2,
        (m + 1) // 2,
        field.mont_r % m,
        field.mont_r2 % m,
        m - field.mont_r % m,
    }
    edges |= {
        e % m
        for k in range(0, field.bits, 32)
        for e in ((1 << k) - 1, 1 << k, m - (1 << k), m + 1 - (1 << k))
    }
    table = ints_to_limbs(sorted(edges), field.limbs)
    limbs[: n // 3] = table[rng.integers(0, len(table), n // 3)]
    assert first_not_below(limbs, m) is None
    return rng.permutation(limbs)


def field_results(device: Any, n: int, kernel: str, host: list[Any], per: int) -> Iterator[tuple[str, Any]]:
    """Every opcode of a field (per = 1) or of its quadratic extension (per = 2)."""
    a, b, c, d = (device.upload(array[: per * n]) for array in host)
    block = 1 if device.limits.warp == 1 else 64
    for op in range(13):
        dst = device.alloc(a.shape)
        device.launch(kernel, grid=-(-n // block), block=block, a=a, b=b, c=c, d=d, dst=dst, op=op, n=n)
        yield f"{kernel} {op}", device.download(dst)


@pytest.mark.parametrize(("device_name", "n"), RUNS)
@pytest.mark.parametrize("name", REAL_FIELDS)
def test_fields(device_name: str, n: int, name: str) -> None:
    device, cpu = open_device(device_name), get_device("cpu")
    host = [operands(FIELDS[name], n, i) for i in range(4)]
    for kernel, per in ((f"field_op_{name}", 1), (f"fp2_op_{name}", 2)):
        if kernel in device.kernels:
            assert not compare(
                partial(field_results, kernel=kernel, host=host, per=per), device, cpu, n // per
            )


@pytest.mark.parametrize(("device_name", "n"), RUNS)
def test_words(device_name: str, n: int) -> None:
    assert not compare(word_cases, open_device(device_name), get_device("cpu"), n)


def point_results(device: Any, n: int, group: GroupSpec, points: Any) -> Iterator[tuple[str, Any]]:
    """Every opcode of the formulas on n points."""
    yield from point_op_cases(device, group, points[:n])


@pytest.mark.parametrize(("device_name", "n"), POINT_RUNS)
@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize("curve", ["bls12_381", "bn254", "toy"])
def test_points(device_name: str, n: int, curve: str, group_name: str) -> None:
    """Unrelated points, equal and opposite neighbours, infinity: results of all formulas, and their affine forms."""
    device, cpu, group = open_device(device_name), get_device("cpu"), getattr(get_curve(curve), group_name)
    logs = exact.scalars_of(group.curve, "awkward", n, 4)
    logs[::2] = exact.random_scalars(group.curve, len(logs[::2]), 5)
    maker = gpu.gpu() if device_name == "cuda" else cpu
    points = maker.download(fixed_base_mul(maker, group, maker.upload(logs)))
    assert not compare(partial(point_results, group=group, points=points), device, cpu, n)
