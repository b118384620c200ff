"""The endomorphism phi(x, y) = (beta x, y) of curves with a = 0, phi^2 + phi + 1 = 0.

On the subgroup of order r, phi(P) = lambda P. A scalar k is k1 + k2 lambda mod r with k1 and k2 of half its bits
(Gallant, Lambert, Vanstone 2001, doi:10.1007/3-540-44647-8_11), so half the doublings do. And a + b phi has degree
a^2 - a b + b^2; where that is r and a + b lambda = 0 mod r, its kernel has r points and holds the subgroup: it is the
subgroup. beta and lambda are derived from the curve and checked on its generator.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import isqrt

from cuzk.curves import GroupSpec
from cuzk.errors import InternalError
from cuzk.limbs import U64Array, field_from_ints

__all__ = ["DIGIT_BITS", "Endomorphism", "endomorphism_of"]

#: Bits of a digit of a scalar's half (cuzk/kernels/points_halves.cuh).
DIGIT_BITS = 4


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

    @functools.cached_property
    def relation(self) -> tuple[int, int]:
        """(a, b) with a + b phi = 0 on the subgroup of order r and, on this curve, nowhere else.

        Of the six associates the one with the fewest bits set.

        Raises:
            InternalError: No vector of the basis has degree r.
        """
        r = self.group.curve.r
        found = [(a, b) for a, b in self.basis if a * a - a * b + b * b == r]
        if not found:
            raise InternalError(f"{self.group.full_name}: no endomorphism of degree r in the basis")
        a, b = found[0]
        # Times phi: (a + b phi) phi = -b + (a - b) phi.
        associates = [(a, b), (-b, a - b), (b - a, -a)]
        return min(associates, key=lambda pair: sum(abs(part).bit_count() for part in pair))

    @functools.cached_property
    def beta_coordinate(self) -> U64Array:
        """The factor beta as a coordinate of the group. Shape (1, degree * limbs) uint64. Form: Montgomery."""
        return field_from_ints(self.group.fp, [self.beta, *[0] * (self.group.degree - 1)]).reshape(1, -1)


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
    num_digits = -(-bound.bit_length() // DIGIT_BITS)
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
