"""Multiples of many points by scalars that are split into halves by the curve's endomorphism (endomorphism.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import InternalError, ShapeError
from cuzk.ops.endomorphism import DIGIT_BITS, endomorphism_of
from cuzk.ops.plan_msm import sum_shape
from cuzk.ops.points import alloc_points, check_points_shape

__all__ = ["mul_by_factors", "signed_digits"]

#: Entries of a point's table (cuzk/kernels/points_halves.cuh): its multiples by every digit's size.
_MULTIPLES = 1 << (DIGIT_BITS - 1)
#: Points that a thread takes through each step together, on a host and on a GPU: the more, the less an inversion costs.
_HOST_CHUNK, _GPU_CHUNK = 256, 16


def signed_digits(values: Sequence[int], num_digits: int) -> NDArray[np.uint8]:
    """Digits of base 16 between -8 and 8, as bytes of two's complement.

    Args:
        values: Integers of any sign, at most 88..8 (base 16) in size.
        num_digits: Digits of each.

    Returns:
        Shape (len(values), num_digits) uint8, the lowest digit first.

    Raises:
        InternalError: A value is too large.
    """
    limit = 8 * (16**num_digits - 1) // 15
    if any(abs(value) > limit for value in values):
        raise InternalError(f"a scalar's half has more than {num_digits} digits of base 16")
    width = num_digits // 2 + 1
    raw = b"".join(abs(value).to_bytes(width, "little") for value in values)
    octets = np.frombuffer(raw, np.uint8).reshape(len(values), width)
    nibbles = np.stack([octets & 15, octets >> 4], axis=-1).reshape(len(values), -1).astype(np.int8)
    sign = np.array([-1 if value < 0 else 1 for value in values], np.int8)
    carry = np.zeros(len(values), np.int8)
    digits = np.empty((len(values), num_digits), np.int8)
    for w in range(num_digits):
        digit = nibbles[:, w] + carry
        carry = (digit > 8).astype(np.int8)
        digits[:, w] = (digit - 16 * carry) * sign
    return digits.view(np.uint8)


def mul_by_factors(
    device: Device, group: GroupSpec, points: Array, factors: Sequence[int], *, share: int = 1
) -> Array:
    """factors[i // share] * points[i] for every i.

    Args:
        device: Where points live.
        group: The points' group.
        points: Shape (n, *affine_shape) uint64. Form: affine, Montgomery, < p. In the subgroup of order r
            (elsewhere phi is no multiplication, and the result is some other point); infinity is allowed.
        factors: Standard form, 0 <= factor < r, on the host.
        share: Neighbouring points that have a factor in common.

    Returns:
        Shape (n, *affine_shape) uint64, on the device. Form: affine, Montgomery, < p.

    Raises:
        ShapeError: n is not len(factors) * share.

    Cost: a point, for scalars of 255 bits: 128 doublings of 7 multiplications, 72 additions of 6 and its share of
        about 200 inversions; of a factor, its halves on the host.
    Source: see the module, and cuzk/kernels/points_halves.cuh.
    Checked by: tests/kernels/test_endomorphism.py.
    """
    n = check_points_shape(group, points)
    if n != len(factors) * share:
        raise ShapeError(f"{n} points for {len(factors)} factors", limit=f"{share} points a factor")
    result = alloc_points(device, group, n)
    if n == 0:
        return result
    phi = endomorphism_of(group)
    halves = [half for factor in factors for half in phi.halves(factor)]
    digits = device.upload(signed_digits(halves, phi.num_digits))
    chunk = min(n, _GPU_CHUNK if device.limits.gpu_like else _HOST_CHUNK)
    grid, block = sum_shape(-(-n // chunk), group, device.limits)
    if not device.limits.gpu_like:
        grid = min(-(-n // chunk), 4 * device.limits.num_sms)
    lanes = grid * block
    device.launch(
        f"points_halves_{group.full_name}", grid=grid, block=block, points=points, dst=result, digits=digits,
        beta=device.upload(phi.beta_coordinate), n=n, share=share, num_digits=phi.num_digits, chunk=chunk,
        scratch=alloc_points(device, group, lanes * (_MULTIPLES + 1) * chunk),
        products=device.alloc((lanes * chunk, group.degree * group.fp.limbs)),
    )  # fmt: skip
    return result
