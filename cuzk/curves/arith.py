"""Plain-int arithmetic in F_p, Fp2 = F_p[u]/(u^2+1) and on y^2 = x^3 + b.

Used to derive and check constants, and to decompress the three points of a proof. Slow: nothing here is for
bulk work. An Fp2 element is (c0, c1) meaning c0 + c1*u; a point is (x, y), infinity is
None. p = 3 mod 4 throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Fp2Int = tuple[int, int]
Coord = Any  # int for degree 1, (int, int) for degree 2: the functions below take one of the two throughout
Point = tuple[Any, Any] | None


def fp2_mul(a: Fp2Int, b: Fp2Int, p: int) -> Fp2Int:
    """Product in Fp2."""
    return (a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p


def fp2_inv(a: Fp2Int, p: int) -> Fp2Int:
    """Inverse in Fp2 of a != 0: the conjugate over the norm."""
    norm_inv = pow(a[0] * a[0] + a[1] * a[1], -1, p)
    return a[0] * norm_inv % p, -a[1] * norm_inv % p


def fp2_pow(a: Fp2Int, exponent: int, p: int) -> Fp2Int:
    """Power in Fp2, exponent >= 0."""
    out = (1, 0)
    for bit in bin(exponent)[2:]:
        out = fp2_mul(out, out, p)
        if bit == "1":
            out = fp2_mul(out, a, p)
    return out


def fp_sqrt(a: int, p: int) -> int | None:
    """A square root of a in F_p, or None. p = 3 mod 4, so a^((p+1)/4) is the only candidate up to sign."""
    root = pow(a, (p + 1) // 4, p)
    return root if root * root % p == a % p else None


def fp2_sqrt(a: Fp2Int, p: int) -> Fp2Int | None:
    """A square root of a in Fp2, or None.

    Source: the complex method. (x + y*u)^2 = a with x^2 = (a0 + |a|)/2 where |a| is a root of the norm;
    if that is no square, the other root of the norm is taken.
    """
    a0, a1 = a[0] % p, a[1] % p
    if a1 == 0:
        root = fp_sqrt(a0, p)
        if root is not None:
            return root, 0
        root = fp_sqrt(-a0 % p, p)
        return None if root is None else (0, root)
    norm_root = fp_sqrt((a0 * a0 + a1 * a1) % p, p)
    if norm_root is None:
        return None
    half = (p + 1) // 2
    for sign in (1, -1):
        x = fp_sqrt((a0 + sign * norm_root) * half % p, p)
        if x:
            y = a1 * pow(2 * x, -1, p) % p
            if fp2_mul((x, y), (x, y), p) == (a0, a1):
                return x, y
    return None


@dataclass(frozen=True)
class PlainCurve:
    """The group law, on affine points, of y^2 = x^3 + b over F_p (degree 1) or Fp2 (degree 2)."""

    p: int
    degree: int
    b: Coord

    def _ops(self) -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any], Callable[[Any, Any], Any]]:
        p = self.p
        if self.degree == 1:
            return (lambda a, b: a * b % p), (lambda a: pow(a, -1, p)), (lambda a, b: (a - b) % p)
        return (
            (lambda a, b: fp2_mul(a, b, p)),
            (lambda a: fp2_inv(a, p)),
            (lambda a, b: ((a[0] - b[0]) % p, (a[1] - b[1]) % p)),
        )

    def neg_coord(self, a: Coord) -> Coord:
        """Negative in the coordinate field."""
        return -a % self.p if self.degree == 1 else (-a[0] % self.p, -a[1] % self.p)

    def rhs(self, x: Coord) -> Coord:
        """The right side x^3 + b of the equation."""
        mul, _, sub = self._ops()
        return sub(mul(mul(x, x), x), self.neg_coord(self.b))

    def sqrt(self, a: Coord) -> Coord | None:
        """A square root in the coordinate field, or None."""
        return fp_sqrt(a, self.p) if self.degree == 1 else fp2_sqrt(a, self.p)

    def is_on_curve(self, point: Point) -> bool:
        """Whether the coordinates are reduced and satisfy the equation; infinity does."""
        if point is None:
            return True
        parts = point if self.degree == 1 else (*point[0], *point[1])
        if not all(0 <= part < self.p for part in parts):
            return False
        mul, _, _ = self._ops()
        return bool(mul(point[1], point[1]) == self.rhs(point[0]))

    def add(self, lhs: Point, rhs: Point) -> Point:
        """Sum of two points, complete."""
        if lhs is None:
            return rhs
        if rhs is None:
            return lhs
        mul, inv, sub = self._ops()
        (x1, y1), (x2, y2) = lhs, rhs
        if x1 == x2:
            if y1 != y2 or y1 == self.neg_coord(y1):
                return None
            xx = mul(x1, x1)
            three_xx = sub(xx, self.neg_coord(sub(xx, self.neg_coord(xx))))
            slope = mul(three_xx, inv(sub(y1, self.neg_coord(y1))))
        else:
            slope = mul(sub(y2, y1), inv(sub(x2, x1)))
        x3 = sub(sub(mul(slope, slope), x1), x2)
        return x3, sub(mul(slope, sub(x1, x3)), y1)

    def mul(self, point: Point, scalar: int) -> Point:
        """Multiple of a point, scalar >= 0: double and add in Jacobian coordinates, one inversion at the end.

        Source: hyperelliptic.org/EFD/g1p/auto-shortw-jacobian-0.html (dbl-2009-l, madd).
        """
        if point is None or scalar == 0:
            return None
        mul, inv, _ = self._ops()
        out = (*point, 1 if self.degree == 1 else (1, 0))
        for bit in bin(scalar)[3:]:
            out = self._double(out)
            if bit == "1":
                out = self._add_affine(out, point)
        x, y, z = out
        if z in (0, (0, 0)):
            return None
        z_inv = inv(z)
        zz_inv = mul(z_inv, z_inv)
        return mul(x, zz_inv), mul(y, mul(zz_inv, z_inv))

    def _double(self, point: tuple[Coord, Coord, Coord]) -> tuple[Coord, Coord, Coord]:
        """Double of (X, Y, Z) with x = X/Z^2 and y = Y/Z^3; Z = 0 is infinity, and stays so."""
        mul, _, sub = self._ops()

        def twice(a: Coord) -> Coord:
            return sub(a, self.neg_coord(a))

        x, y, z = point
        xx, yy = mul(x, x), mul(y, y)
        quad, slope = twice(twice(mul(x, yy))), sub(twice(xx), self.neg_coord(xx))
        x3 = sub(mul(slope, slope), twice(quad))
        y3 = sub(mul(slope, sub(quad, x3)), twice(twice(twice(mul(yy, yy)))))
        return x3, y3, twice(mul(y, z))

    def _add_affine(
        self, point: tuple[Coord, Coord, Coord], affine: tuple[Coord, Coord]
    ) -> tuple[Coord, Coord, Coord]:
        """Sum of a Jacobian and an affine point, complete."""
        mul, _, sub = self._ops()
        x, y, z = point
        zero = sub(z, z)
        if z == zero:
            return (*affine, 1 if self.degree == 1 else (1, 0))
        zz = mul(z, z)
        h, slope = sub(mul(affine[0], zz), x), sub(mul(affine[1], mul(zz, z)), y)
        if h == zero:
            return self._double(point) if slope == zero else (x, y, zero)
        hh = mul(h, h)
        hhh, v = mul(h, hh), mul(x, hh)
        x3 = sub(sub(sub(mul(slope, slope), hhh), v), v)
        return x3, sub(mul(slope, sub(v, x3)), mul(y, hhh)), mul(z, h)
