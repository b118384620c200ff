"""Vectors of scalars on a device: elementwise arithmetic, powers, form conversion, bit reversal, search.

Every operation checks shapes at its edge, launches one kernel, and does not wait (the
search does). ``out`` may be one of the inputs; an output that overlaps an input in part is refused. Without
``out`` a new array is returned and inputs stay as they are.
"""

from __future__ import annotations

import numpy as np

from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError, ShapeError
from cuzk.ops.fr_common import (
    check_fr,
    check_overlap,
    check_power_of_two,
    constant,
    launch,
    output_like,
)
from cuzk.ops.plan_fr import plan_batch_inverse, plan_bit_reverse, plan_elementwise
from cuzk.ops.power_tables import Order, power_tables

_NO_INDEX = 2**64 - 1


# ---------------------------------------------------------------- elementwise


def _binary(device: Device, curve: Curve, op: str, a: Array, b: Array, out: Array | None) -> Array:
    n = check_fr(curve, "a", a)
    check_fr(curve, "b", b, tuple(a.shape))
    out = output_like(device, curve, a, out, a=a, b=b)
    launch(device, curve, op, plan_elementwise(n, device.limits), a=a, b=b, out=out, n=n)
    return out


def fr_mul(device: Device, curve: Curve, a: Array, b: Array, out: Array | None = None) -> Array:
    """Elementwise product.

    Args:
        device: Where the vectors lie.
        curve: Whose Fr.
        a: Shape (..., limbs) uint64. Form: Montgomery, < r.
        b: As a, of the same shape.
        out: Where to put the result; may be a or b.
    Returns:
        out, or a new array. Shape as a. Form: Montgomery, < r.
    Raises:
        ShapeError: Shapes differ, or out overlaps an input in part.
    Cost: n fr_mul; no host synchronisation.
    Checked by: tests/kernels/test_fr_vec.py.
    """
    return _binary(device, curve, "fr_mul", a, b, out)


def fr_add(device: Device, curve: Curve, a: Array, b: Array, out: Array | None = None) -> Array:
    """Elementwise sum. Shapes, form, aliasing and errors as fr_mul. Cost: n fr_add."""
    return _binary(device, curve, "fr_add", a, b, out)


def fr_sub(device: Device, curve: Curve, a: Array, b: Array, out: Array | None = None) -> Array:
    """Elementwise difference a - b. Shapes, form, aliasing and errors as fr_mul. Cost: n fr_add."""
    return _binary(device, curve, "fr_sub", a, b, out)


def fr_mul_sub(
    device: Device,
    curve: Curve,
    a: Array,
    b: Array,
    c: Array,
    *,
    factor: int | None = None,
    out: Array | None = None,
) -> Array:
    """Elementwise a * b - c, times one constant.

    Args:
        device: Where the vectors lie.
        curve: Whose Fr.
        a: Shape (..., limbs) uint64. Form: Montgomery, < r.
        b: As a.
        c: As a.
        factor: Standard form, taken mod r; None for 1.
        out: Where to put the result; may be an input.
    Returns:
        out, or a new array. Shape as a. Form: Montgomery, < r.
    Raises:
        ShapeError: Shapes differ, or out overlaps an input in part.
    Cost: n fr_mul (2n with a factor), n fr_add; no host synchronisation.
    Checked by: tests/kernels/test_fr_vec.py.
    """
    n = check_fr(curve, "a", a)
    check_fr(curve, "b", b, tuple(a.shape))
    check_fr(curve, "c", c, tuple(a.shape))
    out = output_like(device, curve, a, out, a=a, b=b, c=c)
    launch(
        device, curve, "fr_mul_sub", plan_elementwise(n, device.limits),
        a=a, b=b, c=c, out=out, n=n,
        factor=constant(device, curve, 1 if factor is None else factor), scaled=int(factor is not None),
    )  # fmt: skip
    return out


def fr_scale(device: Device, curve: Curve, x: Array, factor: int, out: Array | None = None) -> Array:
    """Multiply x by one constant.

    factor is in standard form, taken mod r. Shapes, aliasing and errors as fr_mul. Cost: n fr_mul.
    """
    n = check_fr(curve, "x", x)
    out = output_like(device, curve, x, out, x=x)
    shape = plan_elementwise(n, device.limits)
    launch(device, curve, "fr_scale", shape, x=x, factor=constant(device, curve, factor), out=out, n=n)
    return out


# ---------------------------------------------------------------- powers


def powers(device: Device, curve: Curve, base: int, n: int, *, first: int = 1) -> Array:
    """The geometric sequence first * base^i, 0 <= i < n.

    Args:
        device: Where the result is needed.
        curve: Whose Fr.
        base: Standard form.
        n: Number of terms, >= 0.
        first: Term 0, standard form.
    Returns:
        Shape (n, limbs) uint64. Form: Montgomery, < r. Order: natural.
    Raises:
        RangeError: n is negative.
    Cost: n fr_mul; no host synchronisation.
    Checked by: tests/kernels/test_fr_powers.py.
    """
    if n < 0:
        raise RangeError(f"a sequence of {n} terms", limit="n >= 0")
    out = device.alloc((n, curve.fr.limbs), np.uint64)
    tables = power_tables(device, curve, base, max(n - 1, 0).bit_length(), first=first)
    launch(device, curve, "fr_powers", plan_elementwise(n, device.limits), **tables.arguments(), out=out, n=n)
    return out


def fr_scale_powers(
    device: Device,
    curve: Curve,
    x: Array,
    base: int,
    *,
    first: int = 1,
    order: Order = "nat",
    out: Array | None = None,
) -> Array:
    """Multiply element i of every vector by first * base^i.

    Args:
        device: Where x lies.
        curve: Whose Fr.
        x: Shape (n, limbs) or (batch, n, limbs) uint64. Form: Montgomery, < r. n is a power of two.
        base: Standard form.
        first: Standard form.
        order: Order of x's elements: "rev" when element i lies at the bit reversal of i.
        out: Where to put the result; may be x.
    Returns:
        out, or a new array; shape and order as x. Form: Montgomery, < r.
    Raises:
        ShapeError: n is not a power of two, or out overlaps x in part.
    Cost: 2n fr_mul; no host synchronisation.
    Checked by: tests/kernels/test_fr_powers.py.
    """
    total = check_fr(curve, "x", x)
    log_n = check_power_of_two("x", x)
    out = output_like(device, curve, x, out, x=x)
    tables = power_tables(device, curve, base, log_n, first=first, order=order)
    launch(
        device, curve, "fr_scale_powers", plan_elementwise(total, device.limits),
        x=x, **tables.arguments(), period_mask=(1 << log_n) - 1, out=out, n=total,
    )  # fmt: skip
    return out


# ---------------------------------------------------------------- form, inverse, order, search


def _unary(device: Device, curve: Curve, op: str, x: Array, out: Array | None) -> Array:
    n = check_fr(curve, "x", x)
    out = output_like(device, curve, x, out, x=x)
    launch(device, curve, op, plan_elementwise(n, device.limits), x=x, out=out, n=n)
    return out


def to_mont(device: Device, curve: Curve, x: Array, out: Array | None = None) -> Array:
    """Standard to Montgomery form.

    Args:
        device: Where the vectors lie.
        curve: Whose Fr.
        x: Shape (..., limbs) uint64. Form: standard, < r.
        out: Where to put the result; may be x.
    Returns:
        out, or a new array. Shape as x. Form: Montgomery, < r.
    Raises:
        KernelFault: An element is >= r; its index is in the fault (on cuda at the next synchronisation).
    Cost: n fr_mul; no host synchronisation.
    Checked by: tests/kernels/test_fr_vec.py.
    """
    return _unary(device, curve, "fr_to_mont", x, out)


def from_mont(device: Device, curve: Curve, x: Array, out: Array | None = None) -> Array:
    """Montgomery to standard form; the inverse of to_mont, with the same checks and cost."""
    return _unary(device, curve, "fr_from_mont", x, out)


def batch_inverse(device: Device, curve: Curve, x: Array, out: Array | None = None) -> Array:
    """Elementwise inverse; the inverse of 0 is 0.

    Args:
        device: Where the vectors lie.
        curve: Whose Fr.
        x: Shape (..., limbs) uint64. Form: Montgomery, < r.
        out: Where to put the result; apart from x, since it holds products in between.
    Returns:
        out, or a new array. Shape as x. Form: Montgomery, < r.
    Raises:
        ShapeError: out overlaps x.
    Cost: 3n fr_mul and one inversion a thread; no host synchronisation.
    Source: Montgomery 1987, section 10.3.1 (one inversion for many).
    Checked by: tests/kernels/test_fr_powers.py.
    """
    n = check_fr(curve, "x", x)
    if out is not None:
        check_overlap("x", out, x, exact_allowed=False)
    out = output_like(device, curve, x, out)
    launch(device, curve, "batch_inverse", plan_batch_inverse(n, device.limits), src=x, dst=out, n=n)
    return out


def bit_reverse(device: Device, curve: Curve, x: Array, out: Array | None = None) -> Array:
    """Permute every vector by bit reversal of the index.

    Args:
        device: Where the vectors lie.
        curve: Whose Fr.
        x: Shape (n, limbs) or (batch, n, limbs) uint64, n a power of two. Any form.
        out: Where to put the result; may be x.
    Returns:
        out, or a new array; element i of each vector is x's element rev(i).
    Raises:
        ShapeError: n is not a power of two, or out overlaps x in part.
    Cost: one read and one write of x; no host synchronisation.
    Checked by: tests/kernels/test_fr_vec.py.
    """
    total = check_fr(curve, "x", x)
    log_n = check_power_of_two("x", x)
    out = output_like(device, curve, x, out, x=x)
    batch = total >> log_n
    shape, log_tile = plan_bit_reverse(log_n, batch, curve, device.limits)
    args = {"src": x, "dst": out, "log_n": log_n, "log_tile": log_tile, "batch": batch}
    launch(device, curve, "fr_bit_reverse", shape, **args)
    return out


def gather(device: Device, curve: Curve, x: Array, indices: Array) -> Array:
    """The elements of a vector at some places.

    Args:
        device: Where both lie.
        curve: Whose Fr.
        x: Shape (m, limbs) uint64. Any form.
        indices: Shape (n,) uint32, each < m.
    Returns:
        x[indices]: a new array. Shape (n, limbs) uint64. Form: as x.
    Raises:
        ShapeError: A shape or type does not fit.
        KernelFault: An index is >= m (on cuda at the next synchronisation).
    Cost: one read and one write of n elements; no host synchronisation.
    Checked by: tests/kernels/test_fr_vec.py.
    """
    num_src = check_fr(curve, "x", x)
    if indices.dtype != np.uint32 or indices.ndim != 1:
        raise ShapeError(
            f"indices has shape {tuple(indices.shape)} and type {indices.dtype}", limit="(n,) uint32"
        )
    n = int(indices.shape[0])
    out = device.alloc((n, curve.fr.limbs), np.uint64)
    launch(
        device, curve, "fr_gather", plan_elementwise(n, device.limits),
        src=x, indices=indices, dst=out, n=n, num_src=num_src,
    )  # fmt: skip
    return out


def first_mismatch(device: Device, curve: Curve, a: Array, b: Array, c: Array) -> int | None:
    """The least index where a * b != c, elementwise: the first constraint that does not hold.

    Args:
        device: Where the vectors lie.
        curve: Whose Fr.
        a: Shape (n, limbs) uint64. Form: Montgomery, < r.
        b: As a.
        c: As a.
    Returns:
        The index, or None if all products are right.
    Raises:
        ShapeError: Shapes differ.
    Cost: n fr_mul; waits for the device.
    Checked by: tests/kernels/test_fr_vec.py.
    """
    n = check_fr(curve, "a", a)
    check_fr(curve, "b", b, tuple(a.shape))
    check_fr(curve, "c", c, tuple(a.shape))
    first = device.upload(np.array([_NO_INDEX], np.uint64))
    launch(device, curve, "fr_mismatch", plan_elementwise(n, device.limits), a=a, b=b, c=c, first=first, n=n)
    index = int(device.download(first)[0])
    return None if index == _NO_INDEX else index
