"""Edge class P: points, and pairs of points at which addition formulas have their special cases.

Ids are those of `edge_values.IDS["P"]`. Pairs come in XYZZ coordinates, (X, Y, ZZ, ZZZ) with x = X/ZZ and
y = Y/ZZZ; the expected result is `curve.add` of the affine forms, `curve.from_xyzz` of each operand.
"""

from functools import cache
from itertools import count
from typing import Any

from cuzk_oracles import curve
from cuzk_oracles.curve import C, Group


@cache
def _outside(group: Group[Any]) -> Any:
    candidates = (curve.lift_x(group, group.field.lift(x)) for x in count())
    return next(point for point in candidates if point and not curve.in_subgroup(group, point))


def outside_subgroup(group: Group[C]) -> tuple[C, C] | None:
    """The curve point outside the subgroup with the smallest x in Fp; None where the cofactor is 1.

    On G1 of BLS12-381 this is (0, 2), of order 3.
    """
    if group.cofactor == 1:
        return None
    point: tuple[C, C] = _outside(group)
    return point


def points(group: Group[C]) -> list[tuple[str, tuple[C, C] | None]]:
    """P: single affine points; infinity is None."""
    generator = group.generator
    cases: list[tuple[str, tuple[C, C] | None]] = [
        ("P.infinity", None),
        ("P.generator", generator),
        ("P.opposite", curve.neg(group, generator)),
        ("P.double_of", curve.double(group, generator)),
        ("P.opposite", curve.mul(group, group.r - 2, generator)),
    ]
    x_zero = curve.lift_x(group, group.field.lift(0))
    if x_zero is not None:
        cases.append(("P.x_zero", x_zero))
    outside = outside_subgroup(group)
    if outside is not None:
        cases.append(("P.outside_subgroup", outside))
    return cases


Xyzz = tuple[C, C, C, C]


def pairs(group: Group[C], k: int = 5, z: int = 3) -> list[tuple[str, Xyzz[C], Xyzz[C]]]:
    """P: pairs for the XYZZ addition, built around [k]G and a second Z; 1 < k < r/2, z not in {0, 1, p-1}."""
    f = group.field
    one, z1, z2, minus_one = f.lift(1), f.lift(z), f.lift(z + 1), f.lift(-1)
    base, other = curve.mul(group, k, group.generator), group.generator
    zero = f.lift(0)

    def xyzz(point: tuple[C, C] | None, z_value: C) -> Xyzz[C]:
        return curve.to_xyzz(group, point, z_value)

    infinity = xyzz(None, one)
    # An infinity whose X and Y were left behind by earlier arithmetic: only ZZ = ZZZ = 0 may decide.
    infinity_xy = (*xyzz(base, z1)[:2], zero, zero)
    opposite, double = curve.neg(group, base), curve.double(group, base)
    cases: list[tuple[str, Xyzz[C], Xyzz[C]]] = [
        ("P.infinity", infinity, infinity),
        ("P.infinity_left", infinity, xyzz(base, z1)),
        ("P.infinity_right", xyzz(base, z1), infinity),
        ("P.infinity_xy", infinity_xy, xyzz(other, z2)),
        ("P.infinity_xy", xyzz(other, z2), infinity_xy),
        ("P.generator", xyzz(base, z1), xyzz(other, one)),
        ("P.equal", xyzz(base, z1), xyzz(base, z1)),
        ("P.equal", xyzz(base, one), xyzz(base, one)),
        ("P.opposite", xyzz(base, z1), xyzz(opposite, z1)),
        ("P.opposite", xyzz(base, one), xyzz(opposite, one)),
        ("P.double_of", xyzz(base, z1), xyzz(double, z2)),
        ("P.double_of", xyzz(base, z1), xyzz(curve.neg(group, double), one)),
        ("P.z_differs", xyzz(base, z1), xyzz(base, z2)),
        ("P.z_differs", xyzz(base, z1), xyzz(opposite, z2)),
        ("P.z_one", xyzz(base, one), xyzz(other, z1)),
        ("P.z_minus_one", xyzz(base, minus_one), xyzz(base, one)),
        ("P.z_minus_one", xyzz(base, minus_one), xyzz(opposite, one)),
        ("P.z_minus_one", xyzz(other, minus_one), xyzz(base, minus_one)),
    ]
    for name, point in points(group):
        if name in ("P.x_zero", "P.outside_subgroup"):
            cases += [(name, xyzz(point, z1), xyzz(other, z2)), (name, xyzz(point, z1), xyzz(point, one))]
            cases.append((name, xyzz(point, z1), xyzz(curve.neg(group, point), one)))
            cases.append((name, xyzz(point, one), xyzz(curve.double(group, point), z1)))
    return cases


def mixed_pairs(group: Group[C], k: int = 5, z: int = 3) -> list[tuple[str, Xyzz[C], tuple[C, C] | None]]:
    """P: pairs for XYZZ + affine: those of `pairs` with the right operand made affine."""
    return [(name, left, curve.from_xyzz(group, right)) for name, left, right in pairs(group, k, z)]


def cancelling_terms(group: Group[C]) -> list[tuple[str, list[tuple[C, C] | None]]]:
    """P: terms of one bucket whose partial sums pass through infinity, equal and opposite points."""
    g = group.generator
    two, three = curve.mul(group, 2, g), curve.mul(group, 3, g)
    minus = [curve.neg(group, point) for point in (g, two, three)]
    return [
        ("P.cancels", [g, minus[0]]),
        ("P.cancels", [g, minus[0], g]),
        ("P.cancels", [two, minus[0], minus[0], three]),
        ("P.cancels", [g, two, minus[2], g, g, minus[1]]),
        ("P.cancels", [None, g, None, minus[0], None]),
        ("P.equal", [g, g, g]),
        ("P.double_of", [g, g, two, minus[1], minus[1]]),
    ]
