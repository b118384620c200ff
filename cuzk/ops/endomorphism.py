"""Multiples of many points by the endomorphism phi(x, y) = (beta x, y) of curves with a = 0.

On the subgroup of order r, phi(P) = lambda P. A scalar k is k1 + k2 lambda mod r with k1 and k2 of half its bits
(Gallant, Lambert, Vanstone 2001, doi:10.1007/3-540-44647-8_11), so half the doublings do. beta and lambda are
derived from the curve and checked on its generator.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import InternalError, ShapeError
from cuzk.limbs import U64Array, field_from_ints
from cuzk.ops.plan_msm import sum_shape
from cuzk.ops.points import alloc_points, check_points_shape

__all__ = ["Endomorphism", "endomorphism_of", "mul_by_factors", "signed_digits"]

#: Bits of a digit, and entries of a point's table (cuzk/kernels/points_halves.cuh).
_DIGIT_BITS, _MULTIPLES = 4, 8
#: Points that a thread takes through each step together, on a host and on a GPU: the more, the less an inversion costs.
_HOST_CHUNK, _GPU_CHUNK = 256, 16


@dataclass(frozen=True)
class Endomorphism:
    """phi of a group, and the lattice of (a, b) with a + b lambda = 0 mod r.

    Attributes:
        group: The group.
        beta: phi(x, y) = (beta x, y), standard form, in F_p.
        eigenvalue: lambda: phi(P) = lambda P for P of order r.
        basis: Two short vectors of the lattice.
        num_digits: Digits of base 16 that hold either half of any scalar, the last carry included.
    """

    group: GroupSpec
    beta: int
    eigenvalue: int
    basis: tuple[tuple[int, int], tuple[int, int]]
    num_digits: int

    def halves(self, scalar: int) -> tuple[int, int]:
        """(k1, k2) with k1 + k2 lambda = scalar mod r, each below 16^num_digits / 2 in size."""
        (a1, b1), (a2, b2) = self.basis
        r = self.group.curve.r
        # Babai: (scalar, 0) in the basis, rounded; the determinant of the basis is r or -r.
        sign = 1 if a1 * b2 - a2 * b1 > 0 else -1
        c1, c2 = (2 * sign * b2 * scalar + r) // (2 * r), (-2 * sign * b1 * scalar + r) // (2 * r)
        return scalar - c1 * a1 - c2 * a2, -c1 * b1 - c2 * b2


@functools.cache
def endomorphism_of(group: GroupSpec) -> Endomorphism:
    """The endomorphism of a group, derived and checked.

    Raises:
        InternalError: The group's curve has none (which a curve with a = 0 and p = r = 1 mod 3 cannot).
    """
    p, r = group.fp.modulus, group.curve.r
    eigenvalue = _cube_root_of_one(r)
    basis = _short_basis(r, eigenvalue)
    # A half is at most half the sum of the two vectors; digits up to 8 reach 8/15 of 16^num_digits.
    bound = max(abs(one) + abs(other) for one, other in zip(*basis, strict=True))
    num_digits = -(-bound.bit_length() // _DIGIT_BITS)
    x, y = group.generator
    image = group.plain.mul(group.generator, eigenvalue)
    for beta in (root := _cube_root_of_one(p), root * root % p):
        moved = beta * x % p if group.degree == 1 else (beta * x[0] % p, beta * x[1] % p)
        if image == (moved, y):
            return Endomorphism(group, beta, eigenvalue, basis, num_digits)
    raise InternalError(f"{group.full_name}: no cube root of one gives the endomorphism")


def _cube_root_of_one(modulus: int) -> int:
    """A primitive one; modulus = 1 mod 3 is prime."""
    candidates = (pow(g, (modulus - 1) // 3, modulus) for g in range(2, modulus))
    return next(root for root in candidates if root != 1)


def _short_basis(r: int, eigenvalue: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two short vectors (a, b), a + b * eigenvalue = 0 mod r: neighbours in Euclid's algorithm, around sqrt(r)."""
    previous, current = (r, 0), (eigenvalue, 1)
    rows = []
    while current[0] != 0:
        rows.append((current[0], -current[1]))
        quotient = previous[0] // current[0]
        previous, current = (
            current,
            (previous[0] - quotient * current[0], previous[1] - quotient * current[1]),
        )
    i = next(i for i, row in enumerate(rows) if row[0] <= isqrt(r))
    one = rows[i]
    others = [rows[j] for j in (i - 1, i + 1) if 0 <= j < len(rows)]
    return one, min(others, key=lambda row: row[0] ** 2 + row[1] ** 2)


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
        beta=device.upload(_coordinate(group, phi.beta)), n=n, share=share, num_digits=phi.num_digits, chunk=chunk,
        scratch=alloc_points(device, group, lanes * (_MULTIPLES + 1) * chunk),
        products=device.alloc((lanes * chunk, group.degree * group.fp.limbs)),
    )  # fmt: skip
    return result


def _coordinate(group: GroupSpec, value: int) -> U64Array:
    """An element of F_p as a coordinate. Shape (1, degree * limbs). Form: Montgomery."""
    return field_from_ints(group.fp, [value, *[0] * (group.degree - 1)]).reshape(1, -1)
