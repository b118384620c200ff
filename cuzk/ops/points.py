"""Arrays of points on a device: checks, sums of pairs, scalar multiplication, normalisation.

Every array of points has Shape (n, *group.affine_shape) uint64, Form: Montgomery, < p, infinity all zero, as
said in cuzk.limbs. Small calls (a handful of points, as a proof's assembly makes) are one launch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import NotInSubgroupError, NotOnCurveError, ShapeError
from cuzk.limbs import ints_to_limbs
from cuzk.ops.endomorphism import endomorphism_of
from cuzk.ops.plan_msm import sum_shape, wide_shape

__all__ = [
    "add",
    "alloc_points",
    "alloc_xyzz",
    "check_indices_shape",
    "check_on_curve",
    "check_points_shape",
    "check_scalars_shape",
    "check_subgroup",
    "first_off_curve",
    "first_outside_subgroup",
    "infinite_mask",
    "infinity",
    "normalize",
    "scalar_mul",
    "subgroup_arguments",
]


def infinity(group: GroupSpec) -> npt.NDArray[np.uint64]:
    """The point at infinity on the host. Shape affine_shape."""
    return np.zeros(group.affine_shape, np.uint64)


def alloc_points(device: Device, group: GroupSpec, n: int) -> Array:
    """Room for n affine points; content undefined."""
    return device.alloc((n, *group.affine_shape))


def alloc_xyzz(device: Device, group: GroupSpec, n: int) -> Array:
    """Room for n points in XYZZ form, Shape (n, 4 * coordinate limbs); content undefined."""
    return device.alloc((n, group.xyzz_bytes // 8))


def check_points_shape(group: GroupSpec, points: Array, what: str = "points") -> int:
    """Return the number of points of an array.

    Raises:
        ShapeError: It is not (n, *affine_shape) uint64.
    """
    shape: tuple[int, ...] = tuple(points.shape)
    if points.dtype != np.uint64 or len(shape) == 0 or shape[1:] != group.affine_shape:
        raise ShapeError(
            f"{what} has shape {shape} and type {points.dtype}",
            limit=f"(n, {', '.join(map(str, group.affine_shape))}) uint64 for {group.full_name}",
        )
    return shape[0]


def check_scalars_shape(group: GroupSpec, scalars: Array, what: str = "scalars") -> int:
    """Return the number of scalars of an array.

    Raises:
        ShapeError: It is not (n, limbs of fr) uint64.
    """
    shape: tuple[int, ...] = tuple(scalars.shape)
    limbs = group.curve.fr.limbs
    if scalars.dtype != np.uint64 or len(shape) != 2 or shape[1] != limbs:
        raise ShapeError(
            f"{what} has shape {shape} and type {scalars.dtype}",
            limit=f"(n, {limbs}) uint64 for {group.curve.name}",
        )
    return shape[0]


def check_indices_shape(indices: Array, what: str = "indices") -> int:
    """Return the number of indices of an array.

    Raises:
        ShapeError: It is not (n,) uint32.
    """
    shape: tuple[int, ...] = tuple(indices.shape)
    if indices.dtype != np.uint32 or len(shape) != 1:
        raise ShapeError(f"{what} has shape {shape} and type {indices.dtype}", limit="(n,) uint32")
    return shape[0]


def _first_bad(
    device: Device, group: GroupSpec, points: Array, kernel: str, **args: Array | int
) -> int | None:
    n = check_points_shape(group, points)
    if n == 0:
        return None
    found = device.upload(np.full(1, n, np.uint64))
    grid, block = sum_shape(n, group, device.limits)
    device.launch(
        f"{kernel}_{group.full_name}", grid=grid, block=block, points=points, first_bad=found, n=n, **args
    )
    index = int(device.download(found)[0])
    return index if index < n else None


def first_off_curve(device: Device, group: GroupSpec, points: Array) -> int | None:
    """Index of the first entry that is no point of the curve, or None.

    Args:
        device: Where points lives.
        group: Whose curve; the subgroup is not checked.
        points: Shape (n, *affine_shape) uint64. Any limbs: a coordinate >= p is such an entry.
            Infinity is a point.

    Cost: 3 multiplications a point.
    Checked by: tests/kernels/test_points.py.
    """
    return _first_bad(device, group, points, "points_on_curve")


def first_outside_subgroup(device: Device, group: GroupSpec, points: Array) -> int | None:
    """Index of the first point P with r * P != infinity, or None.

    Args:
        device: Where points lives.
        group: The group of order r.
        points: Shape (n, *affine_shape) uint64, on the curve (first_off_curve).

    Cost: nothing where the cofactor is 1, else 128 doublings a point and fewer additions.
    Source: cuzk/ops/endomorphism.py: a P + b phi(P) = infinity exactly in the subgroup.
    Checked by: tests/kernels/test_points.py, test_endomorphism.py.
    """
    if group.cofactor == 1:
        check_points_shape(group, points)
        return None
    return _first_bad(device, group, points, "points_in_subgroup", **subgroup_arguments(device, group))


def subgroup_arguments(device: Device, group: GroupSpec) -> dict[str, Array | int]:
    """What the kernel points_in_subgroup is told about the group, beside the points."""
    phi = endomorphism_of(group)
    a, b = phi.relation
    return {
        "beta": device.upload(phi.beta_coordinate), "sizes": device.upload(ints_to_limbs([abs(a), abs(b)], 2)),
        "negative_a": int(a < 0), "negative_b": int(b < 0),
    }  # fmt: skip


def check_on_curve(device: Device, group: GroupSpec, points: Array, what: str = "points") -> None:
    """Raise NotOnCurveError, naming the first bad entry of ``what``, unless all are points of the curve."""
    bad = first_off_curve(device, group, points)
    if bad is not None:
        raise NotOnCurveError(
            f"entry {bad} does not satisfy the equation of {group.full_name}, or has a coordinate >= p",
            where=f"{what}[{bad}]",
        )


def check_subgroup(device: Device, group: GroupSpec, points: Array, what: str = "points") -> None:
    """Raise NotInSubgroupError, naming the first bad entry of ``what``, unless r * P = infinity for all."""
    bad = first_outside_subgroup(device, group, points)
    if bad is not None:
        raise NotInSubgroupError(
            f"point {bad} is outside the subgroup of order r of {group.full_name}", where=f"{what}[{bad}]"
        )


def infinite_mask(device: Device, group: GroupSpec, points: Array, out: Array) -> Array:
    """Which points are infinity.

    Args:
        device: Where points and out live.
        group: The points' group.
        points: Shape (n, *affine_shape) uint64. Form: Montgomery, < p.
        out: Shape (n,) uint8.

    Returns:
        out: 1 where the point is infinity, else 0.

    Raises:
        ShapeError: A shape or type does not fit.

    Cost: one read of the points; no host synchronisation.
    Checked by: tests/kernels/test_points.py.
    """
    n = check_points_shape(group, points)
    if out.dtype != np.uint8 or tuple(out.shape) != (n,):
        raise ShapeError(f"out has shape {tuple(out.shape)} and type {out.dtype}", limit=f"({n},) uint8")
    if n:
        grid, block = wide_shape(n, device.limits)
        device.launch(
            f"points_infinite_{group.full_name}", grid=grid, block=block, points=points, mask=out, n=n
        )
    return out


def add(device: Device, group: GroupSpec, a: Array, b: Array) -> Array:
    """a[i] + b[i] for every i.

    Args:
        device: Where a and b live.
        group: Their group.
        a: Shape (n, *affine_shape) uint64. Form: Montgomery, < p.
        b: The same.

    Returns:
        A new array of the same shape and form.

    Raises:
        ShapeError: a and b differ in length, or have another group's shape.

    Cost: an addition and an inversion a point: meant for few points (batch_add sums many).
    Checked by: tests/kernels/test_points.py.
    """
    n, m = check_points_shape(group, a, "a"), check_points_shape(group, b, "b")
    if n != m:
        raise ShapeError(f"a has {n} points and b has {m}", limit="the same number")
    result = alloc_points(device, group, n)
    if n:
        grid, block = sum_shape(n, group, device.limits)
        device.launch(
            f"points_add_{group.full_name}", grid=_one_a_block(n, grid, device), block=block,
            a=a, b=b, dst=result, n=n,
        )  # fmt: skip
    return result


def scalar_mul(device: Device, group: GroupSpec, points: Array, scalars: Array) -> Array:
    """scalars[i] * points[i] for every i; either may be a single one that all share.

    Args:
        device: Where points and scalars live.
        group: The points' group; they may lie outside the subgroup.
        points: Shape (n, *affine_shape) or (1, *affine_shape) uint64. Form: Montgomery, < p.
        scalars: Shape (n, limbs) or (1, limbs) uint64. Form: Montgomery, < r.

    Returns:
        Shape (n, *affine_shape) uint64. Form: Montgomery, < p.

    Raises:
        ShapeError: The lengths differ, and neither is 1.
        KernelFault: A scalar is >= r.

    Cost: bits of r doublings, half as many additions and an inversion a point.
    Checked by: tests/kernels/test_points.py.
    """
    n, m = check_points_shape(group, points), check_scalars_shape(group, scalars)
    if n != m and n != 1 and m != 1:
        raise ShapeError(f"{n} points but {m} scalars", limit="the same number, or a single one of either")
    count = m if n == 1 else n
    result = alloc_points(device, group, count)
    if count:
        grid, block = sum_shape(count, group, device.limits)
        device.launch(
            f"points_scalar_mul_{group.full_name}", grid=_one_a_block(count, grid, device), block=block,
            points=points, scalars=scalars, dst=result, n=count,
            point_step=int(n == count), scalar_step=int(m == count),
        )  # fmt: skip
    return result


def _one_a_block(n: int, grid: int, device: Device) -> int:
    """Long work for few points: on a host every core gets its share from two points on."""
    return grid if device.limits.gpu_like else min(n, 4 * device.limits.num_sms)


def normalize(device: Device, group: GroupSpec, xyzz: Array, out: Array | None = None) -> Array:
    """Points in XYZZ form to affine form.

    Args:
        device: Where xyzz lives.
        group: The points' group.
        xyzz: Shape (n, 4 * coordinate limbs) uint64: X, Y, ZZ, ZZZ with x = X/ZZ, y = Y/ZZZ.
            Form: Montgomery, < p.
        out: Where to put the result; a new array where None. Must not share memory with xyzz.

    Returns:
        Shape (n, *affine_shape) uint64. Form: Montgomery, < p.

    Raises:
        ShapeError: A shape does not fit.

    Cost: 8 multiplications a point, and an inversion a thread.
    Source: Montgomery 1987, doi:10.1090/S0025-5718-1987-0866113-7, section 10.3.1 (shared inversion).
    Checked by: tests/kernels/test_points.py.
    """
    shape: tuple[Any, ...] = tuple(xyzz.shape)
    if len(shape) != 2 or shape[1] != group.xyzz_bytes // 8:
        raise ShapeError(
            f"xyzz has shape {shape}", limit=f"(n, {group.xyzz_bytes // 8}) for {group.full_name}"
        )
    n = int(shape[0])
    result = alloc_points(device, group, n) if out is None else out
    if check_points_shape(group, result, "out") != n:
        raise ShapeError(f"out has {result.shape[0]} points", limit=f"{n}")
    if n:
        # A thread's inversion should be shared by some tens of points.
        grid, block = sum_shape(-(-n // 32), group, device.limits)
        device.launch(
            f"points_normalize_{group.full_name}", grid=grid, block=block, src=xyzz, dst=result, n=n
        )
    return result
