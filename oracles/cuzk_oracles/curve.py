"""Short Weierstrass curves y^2 = x^3 + b over Fp or Fp2: the affine group law, complete, on plain ints.

Points are (x, y) or None for infinity; every function takes the group first. Parameters:
`cuzk_oracles.params`.

Group law (chord and tangent): slope = (y2 - y1)/(x2 - x1), or 3x^2/2y when doubling; x3 = slope^2 - x1 - x2;
y3 = slope (x1 - x3) - y1; P + (-P) = infinity.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from cuzk_oracles import fields, fp2

C = TypeVar("C")


class Field(Protocol[C]):
    """What the group law needs of a coordinate field."""

    @property
    def p(self) -> int:
        """The characteristic."""

    @property
    def degree(self) -> int:
        """Extension degree over Fp: 1 or 2."""

    def lift(self, value: int) -> C:
        """The image of an integer."""

    def add(self, a: C, b: C) -> C:
        """Compute a + b."""

    def sub(self, a: C, b: C) -> C:
        """Compute a - b."""

    def mul(self, a: C, b: C) -> C:
        """Compute a * b."""

    def inv(self, a: C) -> C:
        """1/a, with 1/0 = 0."""

    def sqrt(self, a: C) -> C | None:
        """A square root of a, or None."""


@dataclass(frozen=True)
class Fp:
    """The prime field; elements are ints."""

    p: int
    degree: int = 1

    def lift(self, value: int) -> int:
        """The image of an integer."""
        return value % self.p

    def add(self, a: int, b: int) -> int:
        """Compute a + b."""
        return fields.add(a, b, self.p)

    def sub(self, a: int, b: int) -> int:
        """Compute a - b."""
        return fields.sub(a, b, self.p)

    def mul(self, a: int, b: int) -> int:
        """Compute a * b."""
        return fields.mul(a, b, self.p)

    def inv(self, a: int) -> int:
        """1/a, with 1/0 = 0."""
        return fields.inv(a, self.p)

    def sqrt(self, a: int) -> int | None:
        """A square root of a, or None."""
        return fields.sqrt(a, self.p)


@dataclass(frozen=True)
class Fp2:
    """The quadratic extension by u^2 = -1; elements are tuples (c0, c1)."""

    p: int
    degree: int = 2

    def lift(self, value: int) -> tuple[int, int]:
        """The image of an integer."""
        return value % self.p, 0

    def add(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        """Compute a + b."""
        return fp2.add(a, b, self.p)

    def sub(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        """Compute a - b."""
        return fp2.sub(a, b, self.p)

    def mul(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        """Compute a * b."""
        return fp2.mul(a, b, self.p)

    def inv(self, a: tuple[int, int]) -> tuple[int, int]:
        """1/a, with 1/0 = 0."""
        return fp2.inv(a, self.p)

    def sqrt(self, a: tuple[int, int]) -> tuple[int, int] | None:
        """A square root of a, or None."""
        return fp2.sqrt(a, self.p)


@dataclass(frozen=True)
class Group(Generic[C]):
    """One curve group: y^2 = x^3 + b over `field`, the subgroup of prime order r and its generator."""

    name: str
    field: Field[C]
    r: int
    b: C
    generator: tuple[C, C]
    cofactor: int

    @property
    def p(self) -> int:
        """The characteristic."""
        return self.field.p


# An affine point of a Group[C] is `tuple[C, C] | None`, spelled out below because a generic alias reads no
# better.


def is_on_curve(group: Group[C], point: tuple[C, C] | None) -> bool:
    """Whether y^2 = x^3 + b; infinity is on the curve."""
    if point is None:
        return True
    f, (x, y) = group.field, point
    return f.mul(y, y) == f.add(f.mul(f.mul(x, x), x), group.b)


def neg(group: Group[C], point: tuple[C, C] | None) -> tuple[C, C] | None:
    """-P = (x, -y)."""
    if point is None:
        return None
    return point[0], group.field.sub(group.field.lift(0), point[1])


def add(group: Group[C], left: tuple[C, C] | None, right: tuple[C, C] | None) -> tuple[C, C] | None:
    """P + Q for any two points, also equal, opposite or infinity."""
    if left is None:
        return right
    if right is None:
        return left
    f = group.field
    (x1, y1), (x2, y2) = left, right
    if x1 == x2:
        if f.add(y1, y2) == f.lift(0):
            return None
        slope = f.mul(f.mul(f.lift(3), f.mul(x1, x1)), f.inv(f.add(y1, y1)))
    else:
        slope = f.mul(f.sub(y2, y1), f.inv(f.sub(x2, x1)))
    x3 = f.sub(f.sub(f.mul(slope, slope), x1), x2)
    return x3, f.sub(f.mul(slope, f.sub(x1, x3)), y1)


def double(group: Group[C], point: tuple[C, C] | None) -> tuple[C, C] | None:
    """2P."""
    return add(group, point, point)


def mul(group: Group[C], k: int, point: tuple[C, C] | None) -> tuple[C, C] | None:
    """[k]P by double and add, most significant bit first; k is any integer and is not reduced modulo r."""
    if k < 0:
        return mul(group, -k, neg(group, point))
    result: tuple[C, C] | None = None
    for bit in bin(k)[2:]:
        result = double(group, result)
        if bit == "1":
            result = add(group, result, point)
    return result


def in_subgroup(group: Group[C], point: tuple[C, C] | None) -> bool:
    """Whether P is on the curve and [r]P is infinity."""
    return is_on_curve(group, point) and mul(group, group.r, point) is None


def total(group: Group[C], points: Sequence[tuple[C, C] | None]) -> tuple[C, C] | None:
    """The sum of all points; infinity for none."""
    result: tuple[C, C] | None = None
    for point in points:
        result = add(group, result, point)
    return result


def multiples(group: Group[C], point: tuple[C, C] | None, count: int) -> list[tuple[C, C] | None]:
    """[P, 2P, ..., count * P] by repeated addition."""
    result: list[tuple[C, C] | None] = []
    running: tuple[C, C] | None = None
    for _ in range(count):
        running = add(group, running, point)
        result.append(running)
    return result


def lift_x(group: Group[C], x: C) -> tuple[C, C] | None:
    """The point with this x and the root that `sqrt` names, or None where x is no point's abscissa."""
    f = group.field
    y = f.sqrt(f.add(f.mul(f.mul(x, x), x), group.b))
    return None if y is None else (x, y)


def all_points(group: Group[int]) -> Iterator[tuple[int, int] | None]:
    """Every point of a small curve over Fp, infinity first, then by x and y."""
    yield None
    roots: dict[int, list[int]] = {}
    for y in range(group.p):
        roots.setdefault(y * y % group.p, []).append(y)
    for x in range(group.p):
        for y in roots.get((x**3 + group.b) % group.p, []):
            yield x, y


# --- extended coordinates: x = X/ZZ, y = Y/ZZZ, ZZ^3 = ZZZ^2 (XYZZ); x = X/Z^2, y = Y/Z^3 (Jacobian) ------


def to_xyzz(group: Group[C], point: tuple[C, C] | None, z: C) -> tuple[C, C, C, C]:
    """The XYZZ form of P with the given z != 0; infinity is four zeros."""
    f = group.field
    if point is None:
        return f.lift(0), f.lift(0), f.lift(0), f.lift(0)
    zz = f.mul(z, z)
    zzz = f.mul(zz, z)
    return f.mul(point[0], zz), f.mul(point[1], zzz), zz, zzz


def from_xyzz(group: Group[C], xyzz: tuple[C, C, C, C]) -> tuple[C, C] | None:
    """The affine point of an XYZZ form; ZZ = 0 is infinity."""
    f = group.field
    x, y, zz, zzz = xyzz
    if zz == f.lift(0):
        return None
    return f.mul(x, f.inv(zz)), f.mul(y, f.inv(zzz))


def to_jacobian(group: Group[C], point: tuple[C, C] | None, z: C) -> tuple[C, C, C]:
    """The Jacobian form of P with the given z != 0; infinity is three zeros."""
    x, y, zz, _ = to_xyzz(group, point, z)
    return x, y, z if zz != group.field.lift(0) else zz


def from_jacobian(group: Group[C], jacobian: tuple[C, C, C]) -> tuple[C, C] | None:
    """The affine point of a Jacobian form; Z = 0 is infinity."""
    f = group.field
    x, y, z = jacobian
    zz = f.mul(z, z)
    return from_xyzz(group, (x, y, zz, f.mul(zz, z)))
