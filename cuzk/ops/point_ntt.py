"""The number-theoretic transform over points: sums of points with powers of a root of unity.

Used once per key, to change the basis of its H points. Stockham's form, decimation in frequency: a pass reads
the two halves of the array, writes every butterfly's pair to its place in natural order, and needs no bit
reversal. The places change on the host, which costs little beside n/2 scalar multiplications a pass.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError, ShapeError
from cuzk.limbs import U64Array
from cuzk.ops.halves import mul_by_factors
from cuzk.ops.plan_msm import sum_shape
from cuzk.ops.points import alloc_xyzz, normalize

__all__ = ["point_ntt", "scale_by_powers"]

# Opcodes of the kernel point_op (cuzk/kernels/point_ops.cuh).
_MIXED_ADD, _NEGATE, _FROM_AFFINE = 1, 4, 6
#: Points that scale_by_powers works on at a time: some ten seconds on one core.
_AT_A_TIME = 1 << 18


def point_ntt(
    device: Device,
    group: GroupSpec,
    points: U64Array,
    root: int,
    on_share: Callable[[float], object] = lambda _: None,
) -> U64Array:
    """B_k = sum over j of root^(j k) * points[j].

    Args:
        device: Where to compute.
        group: The points' group.
        points: On the host. Shape (n, *affine_shape) uint64, n a power of two. Order: natural.
            Form: affine, Montgomery, < p, of order r (see mul_by_factors); infinity is allowed.
        root: A primitive n-th root of unity in Fr, standard form.
        on_share: Called after each pass with the share of the passes that are done.

    Returns:
        Shape and form as points. Order: natural.

    Raises:
        ShapeError: n is no power of two.
        RangeError: root is not of order n.

    Cost: log_n - 1 passes of n/2 scalar multiplications, log_n of n additions; two transfers a pass.
    Source: Stockham 1966, doi:10.1145/1464182.1464209.
    Checked by: tests/kernels/test_point_ntt.py.
    """
    n, r = len(points), group.curve.r
    if n == 0 or n & (n - 1) or points.shape[1:] != group.affine_shape:
        raise ShapeError(f"points of shape {points.shape}", limit=f"(2^k, *{group.affine_shape})")
    if pow(root, n, r) != 1 or (n > 1 and pow(root, n // 2, r) != r - 1):
        raise RangeError(f"the root is not of order {n}", limit=f"a primitive {n}-th root of unity")
    x, step = points, 1
    while step < n:
        x = _pass(device, group, x, step, pow(root, step, r))
        step *= 2
        on_share((step.bit_length() - 1) / (n.bit_length() - 1))
    return x


def _pass(device: Device, group: GroupSpec, x: U64Array, step: int, omega: int) -> U64Array:
    """One pass: sub-transforms of length n/step with root omega become ones of half that length."""
    half = len(x) // 2
    blocks = half // step
    low, high = device.upload(x[:half]), device.upload(x[half:])
    total, difference = _butterfly(device, group, low, high)
    y = np.empty((blocks, 2, step, *group.affine_shape), np.uint64)
    y[:, 0] = device.download(total).reshape(y[:, 0].shape)
    # The factors of the first block are 1.
    first = device.download(difference[:step])
    y[0, 1] = first
    if blocks > 1:
        factors = _powers(group, omega, blocks, 1)[1:]
        scaled = mul_by_factors(device, group, difference[step:], factors, share=step)
        y[1:, 1] = device.download(scaled).reshape(y[1:, 1].shape)
    return y.reshape(x.shape)


def _butterfly(device: Device, group: GroupSpec, a: Array, b: Array) -> tuple[Array, Array]:
    """The sums a + b and the differences a - b, affine."""
    n = int(a.shape[0])
    grid, block = sum_shape(n, group, device.limits)

    def run(op: int, src: Array, dst: Array, q: Array) -> None:
        device.launch(
            f"point_op_{group.full_name}", grid=grid, block=block, a=src, b=src, q=q, dst=dst, op=op, n=n
        )

    other = device.alloc((n, group.xyzz_bytes // 8), np.uint64, zero=True)
    result = alloc_xyzz(device, group, n)
    run(_FROM_AFFINE, other, other, b)
    run(_MIXED_ADD, other, result, a)
    total = normalize(device, group, result)
    run(_NEGATE, other, other, b)
    run(_MIXED_ADD, other, result, a)
    return total, normalize(device, group, result)


def scale_by_powers(
    device: Device,
    group: GroupSpec,
    points: U64Array,
    base: int,
    first: int,
    on_share: Callable[[float], object] = lambda _: None,
) -> U64Array:
    """Multiply point i by first * base^i.

    Args:
        device: Where to compute.
        group: The points' group.
        points: On the host. Shape (n, *affine_shape) uint64. Form: affine, Montgomery, < p, of order r.
        base: Ratio of the factors, taken mod r.
        first: Factor of points[0], taken mod r.
        on_share: Called with the share of the points that are done.

    Returns:
        Shape and form as points.

    Cost: n scalar multiplications.
    Checked by: tests/kernels/test_point_ntt.py.
    """
    out = np.empty_like(points)
    for start in range(0, len(points), _AT_A_TIME):
        part = points[start : start + _AT_A_TIME]
        factors = _powers(group, base, len(part), first * pow(base, start, group.curve.r))
        scaled = mul_by_factors(device, group, device.upload(part), factors)
        out[start : start + len(part)] = device.download(scaled)
        on_share((start + len(part)) / len(points))
    return out


def _powers(group: GroupSpec, base: int, count: int, first: int) -> list[int]:
    """The scalars first * base^i mod r, i < count."""
    r = group.curve.r
    return list(itertools.accumulate(range(count - 1), lambda power, _: power * base % r, initial=first % r))
