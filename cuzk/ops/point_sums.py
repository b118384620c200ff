"""Sums of points by segment, and linear combinations of a basis of points by the columns of a sparse matrix.

Used once per key, where only the points of a ceremony are at hand and not their exponents.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError
from cuzk.limbs import U64Array, fr_to_ints
from cuzk.ops.plan_msm import sum_shape
from cuzk.ops.points import alloc_xyzz, normalize, scalar_mul

__all__ = ["column_terms", "segment_sums"]

# Opcodes of the kernel point_op (cuzk/kernels/point_ops.cuh).
_MIXED_ADD, _NEGATE, _FROM_AFFINE = 1, 4, 6
_CHUNK = 1 << 18  # terms multiplied at a time


def _point_op(device: Device, group: GroupSpec, op: int, xyzz: Array, affine: Array) -> Array:
    n = int(xyzz.shape[0])
    grid, block = sum_shape(n, group, device.limits)
    result = alloc_xyzz(device, group, n)
    device.launch(
        f"point_op_{group.full_name}",
        grid=grid,
        block=block,
        a=xyzz,
        b=xyzz,
        q=affine,
        dst=result,
        op=op,
        n=n,
    )
    return result


def _from_affine(device: Device, group: GroupSpec, affine: Array) -> Array:
    blank = device.alloc((int(affine.shape[0]), group.xyzz_bytes // 8), np.uint64, zero=True)
    return _point_op(device, group, _FROM_AFFINE, blank, affine)


def _add(device: Device, group: GroupSpec, a: U64Array, b: U64Array) -> U64Array:
    """Sums of pairs; host arrays."""
    left, right = _from_affine(device, group, device.upload(a)), device.upload(b)
    return np.asarray(
        device.download(normalize(device, group, _point_op(device, group, _MIXED_ADD, left, right)))
    )


def _negated(device: Device, group: GroupSpec, points: U64Array) -> U64Array:
    """The opposite points; host arrays."""
    affine = device.upload(points)
    xyzz = _point_op(device, group, _NEGATE, _from_affine(device, group, affine), affine)
    return np.asarray(device.download(normalize(device, group, xyzz)))


def segment_sums(
    device: Device, group: GroupSpec, points: U64Array, segments: IntArray, num_segments: int
) -> U64Array:
    """For each segment the sum of its points.

    Args:
        device: Where to compute.
        group: The points' group.
        points: On the host. Shape (n, *affine_shape) uint64. Form: affine, Montgomery, < p.
        segments: Shape (n,): segment of each point, rising, < num_segments.
        num_segments: Segments; those without points sum up to infinity.

    Returns:
        Shape (num_segments, *affine_shape) uint64. Form as points.

    Raises:
        ShapeError: segments does not rise or has another length.

    Cost: fewer than n additions, in log2(longest segment) rounds of one transfer each way.
    Checked by: tests/kernels/test_point_sums.py.
    """
    if len(segments) != len(points) or (np.diff(segments) < 0).any():
        raise ShapeError(
            f"{len(segments)} segments for {len(points)} points", limit="rising, one for each point"
        )
    while True:
        starts = np.searchsorted(segments, segments)
        even = (np.arange(len(points)) - starts) % 2 == 0
        first = np.flatnonzero(even[:-1] & (segments[:-1] == segments[1:]))
        if len(first) == 0:
            break
        sums = _add(
            device, group, np.ascontiguousarray(points[first]), np.ascontiguousarray(points[first + 1])
        )
        points = np.array(points)
        points[first] = sums
        points, segments = points[even], segments[even]
    result = np.zeros((num_segments, *group.affine_shape), np.uint64)
    result[segments] = points
    return result


def column_terms(
    device: Device,
    group: GroupSpec,
    basis: U64Array,
    matrix: CsrMatrix,
    on_share: Callable[[float], object] = lambda _: None,
) -> tuple[U64Array, IntArray]:
    """The terms M[row, column] * basis[row], for segment_sums to add up by column.

    Args:
        device: Where to compute.
        group: The basis's group.
        basis: One point per row. Shape (at least num_rows, *affine_shape) uint64.
            Form: affine, Montgomery, < p.
        matrix: M.
        on_share: Called with the share of the scalar multiplications that are done.

    Returns:
        The terms, ordered by column, Shape (nnz, *affine_shape), and the column of each, Shape (nnz,) int64.

    Cost: one scalar multiplication for each entry that is neither 1 nor -1.
    Checked by: tests/kernels/test_point_sums.py.
    """
    by_column = matrix.transpose()
    rows, columns = by_column.col.astype(np.int64), by_column.rows_of().astype(np.int64)
    terms = basis[rows]
    values = fr_to_ints(matrix.curve, matrix.dictionary)
    minus = np.array([value == matrix.curve.r - 1 for value in values], dtype=bool)
    other = np.array([value not in (1, matrix.curve.r - 1) for value in values], dtype=bool)
    if len(values) and minus.any():
        chosen = minus[by_column.coeff]
        terms[chosen] = _negated(device, group, np.ascontiguousarray(basis[: matrix.num_rows]))[rows[chosen]]
    places = np.flatnonzero(other[by_column.coeff]) if len(values) else np.zeros(0, np.int64)
    for start in range(0, len(places), _CHUNK):
        part = places[start : start + _CHUNK]
        scalars = device.upload(np.ascontiguousarray(matrix.dictionary[by_column.coeff[part]]))
        scaled = scalar_mul(device, group, device.upload(np.ascontiguousarray(terms[part])), scalars)
        terms[part] = device.download(scaled)
        on_share((start + len(part)) / len(places))
    return terms, columns
