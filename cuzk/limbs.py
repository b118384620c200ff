"""Conversions between Python ints and limb arrays: the one place where they happen.

Arrays are uint64, little-endian limbs along the last axis, fully reduced. Field vectors and points are in
Montgomery form. A point at infinity is None among ints and all zero in arrays; G2 coordinates are
(c0, c1) tuples.

>>> from cuzk.curves import get_curve
>>> curve = get_curve("toy")
>>> fr_to_ints(curve, fr_from_ints(curve, [0, 1, 61440]))
[0, 1, 61440]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index as as_int
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import Curve, FieldSpec, GroupSpec
from cuzk.errors import RangeError, ShapeError

U64Array = NDArray[np.uint64]
AffinePoint = tuple[Any, Any] | None

_BLOCK = 1 << 12  # values that are Python ints at one time, where arrays are converted


def ints_to_limbs(values: Iterable[int], limbs: int) -> U64Array:
    """Split ints into limbs.

    Args:
        values: Each 0 <= value < 2^(64*limbs).
        limbs: 64-bit limbs per value.

    Returns:
        Shape (n, limbs) uint64, little-endian limbs.

    Raises:
        RangeError: A value is negative, does not fit, or is no integer.
    """
    nbytes = 8 * limbs
    sequence = values if isinstance(values, Sequence) else list(values)
    try:
        joined = b"".join([as_int(value).to_bytes(nbytes, "little") for value in sequence])
    except TypeError:
        place = next(i for i, value in enumerate(sequence) if not hasattr(value, "__index__"))
        raise RangeError(
            f"the value at index {place} is no integer but {sequence[place]!r:.40}",
            limit="Python or numpy integers",
        ) from None
    except OverflowError:
        place = next(i for i, value in enumerate(sequence) if not 0 <= value < 1 << 64 * limbs)
        raise RangeError(
            f"the value at index {place} does not fit {limbs} limbs", limit=f"0 <= value < 2^{64 * limbs}"
        ) from None
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64).reshape(len(sequence), limbs)


def limbs_to_ints(array: NDArray[Any]) -> list[int]:
    """Join limbs into ints.

    Args:
        array: Shape (n, limbs) or (limbs,) uint64, little-endian limbs.

    Returns:
        n ints (one, for a single element).
    """
    if array.ndim == 0:
        raise ShapeError("a single number is no array of limbs", limit="at least one axis")
    nbytes = 8 * array.shape[-1]
    raw = np.ascontiguousarray(array, dtype="<u8").tobytes()
    return (
        [int.from_bytes(raw[i : i + nbytes], "little") for i in range(0, len(raw), nbytes)] if nbytes else []
    )


def field_from_ints(spec: FieldSpec, values: Iterable[int]) -> U64Array:
    """Ints (taken mod m) to Montgomery limbs. Shape (n, limbs) uint64. Form: Montgomery, < m."""
    m, mont_r = spec.modulus, spec.mont_r
    return ints_to_limbs([value * mont_r % m for value in values], spec.limbs)


def field_from_limbs(spec: FieldSpec, array: NDArray[Any], factor: int = 1) -> U64Array:
    """Limbs in standard form, times a factor, to Montgomery limbs, with little memory besides the result.

    Args:
        spec: The field.
        array: Shape (n, limbs) uint64, each value < m.
        factor: Multiplied with every value.

    Returns:
        Shape (n, limbs) uint64. Form: Montgomery, < m.
    """
    out = np.empty((len(array), spec.limbs), np.uint64)
    for first in range(0, len(array), _BLOCK):
        values = limbs_to_ints(array[first : first + _BLOCK])
        out[first : first + _BLOCK] = field_from_ints(spec, [value * factor for value in values])
    return out


def field_to_ints(spec: FieldSpec, array: NDArray[Any]) -> list[int]:
    """Montgomery limbs to ints in standard form. array: Shape (..., limbs) uint64, Form: Montgomery."""
    m, inverse = spec.modulus, spec.mont_r_inv
    return [value * inverse % m for value in limbs_to_ints(array)]


def fr_from_ints(curve: Curve, values: Iterable[int]) -> U64Array:
    """Scalars (taken mod r) to Montgomery limbs. Shape (n, limbs) uint64. Form: Montgomery, < r."""
    return field_from_ints(curve.fr, values)


def fr_to_ints(curve: Curve, array: NDArray[Any]) -> list[int]:
    """Montgomery limbs to scalars in standard form. array: Shape (n, limbs) uint64. Form: Montgomery."""
    return field_to_ints(curve.fr, array)


def points_from_ints(group: GroupSpec, points: Iterable[AffinePoint]) -> U64Array:
    """Affine int points to Montgomery limbs.

    Args:
        group: Whose points they are.
        points: (x, y) with ints for G1 and (c0, c1) tuples for G2; None is infinity.

    Returns:
        Shape (n, *affine_shape) uint64. Form: Montgomery, < p. Infinity is all zero.

    Raises:
        RangeError: A coordinate is negative or >= p.
    """
    coords: list[int] = []
    count = 0
    for point in points:
        count += 1
        if point is None:
            coords.extend([0] * (2 * group.degree))
        elif group.degree == 1:
            coords.extend(point)
        else:
            coords.extend((*point[0], *point[1]))
    for place, value in enumerate(coords):
        if not 0 <= value < group.fp.modulus:  # x and x + p must not become one point
            raise RangeError(
                f"a coordinate of point {place // (2 * group.degree)} is {value}",
                limit=f"0 <= coordinate < p = {group.fp.modulus}",
            )
    return field_from_ints(group.fp, coords).reshape(count, *group.affine_shape)


def points_to_ints(group: GroupSpec, array: NDArray[Any]) -> list[AffinePoint]:
    """Montgomery affine points to ints; the inverse of points_from_ints.

    Args:
        group: Whose points they are.
        array: Shape (n, *affine_shape), or affine_shape for one point, uint64. Form: Montgomery.

    Returns:
        One entry per point, None for infinity (all zero).

    Raises:
        ShapeError: The shape is not that of points of this group.
    """
    if array.shape[-len(group.affine_shape) :] != group.affine_shape:
        raise ShapeError(
            f"array of shape {array.shape} holds no points of {group.full_name}",
            limit=f"last axes must be {group.affine_shape}",
        )
    flat = field_to_ints(group.fp, array.reshape(-1, group.fp.limbs))
    if group.degree == 1:
        return [(x, y) if x or y else None for x, y in zip(flat[::2], flat[1::2], strict=True)]
    quads = zip(flat[::4], flat[1::4], flat[2::4], flat[3::4], strict=True)
    return [((x0, x1), (y0, y1)) if x0 or x1 or y0 or y1 else None for x0, x1, y0, y1 in quads]


def first_not_below(array: NDArray[Any], modulus: int) -> int | None:
    """Index of the first element that is >= modulus, or None.

    Args:
        array: Shape (n, limbs) uint64, little-endian limbs.
        modulus: 0 < modulus < 2^(64*limbs).
    Cost: one pass over the top limbs; the lower limbs are read only where those above are equal.
    """
    limbs = array.shape[1]
    m = [modulus >> (64 * i) & (2**64 - 1) for i in range(limbs)]
    top = array[:, limbs - 1]
    suspects = np.flatnonzero(top >= np.uint64(m[-1]))
    for index in suspects.tolist() if len(suspects) < 64 else _equal_top(array, suspects, m):
        if sum(int(limb) << (64 * i) for i, limb in enumerate(array[index])) >= modulus:
            return int(index)
    return None


def _equal_top(array: NDArray[Any], suspects: NDArray[Any], m: list[int]) -> list[int]:
    """The first of many suspects that is >= the modulus, as a list of at most one index."""
    rows = array[suspects]
    above = np.zeros(len(rows), dtype=bool)
    equal = np.ones(len(rows), dtype=bool)
    for i in range(len(m) - 1, -1, -1):
        limb = np.uint64(m[i])
        above |= equal & (rows[:, i] > limb)
        equal &= rows[:, i] == limb
    bad = np.flatnonzero(above | equal)
    return [int(suspects[bad[0]])] if len(bad) else []


def reduced(array: NDArray[Any], modulus: int) -> bool:
    """Whether every element of a limb array (Shape (n, limbs)) is < modulus."""
    return first_not_below(array, modulus) is None
