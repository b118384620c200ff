"""Plain-int arithmetic for single points, exhaustively on small fields and against the oracles.

Would catch: a square root that misses residues or returns a wrong one, a wrong case in the complete addition.
"""

from __future__ import annotations

import random

import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles.params import get_params

from cuzk.curves import CURVES, Curve, get_curve
from cuzk.curves.arith import PlainCurve, fp2_inv, fp2_mul, fp2_pow, fp2_sqrt, fp_sqrt

P = 31  # 3 mod 4, so u^2 = -1 has no root


def test_fp_sqrt_exhaustive() -> None:
    squares = {x * x % P for x in range(P)}
    for a in range(P):
        root = fp_sqrt(a, P)
        assert (root is not None) == (a in squares)
        assert root is None or root * root % P == a


def test_fp2_sqrt_exhaustive() -> None:
    elements = [(c0, c1) for c0 in range(P) for c1 in range(P)]
    squares = {fp2_mul(x, x, P) for x in elements}
    for a in elements:
        root = fp2_sqrt(a, P)
        assert (root is not None) == (a in squares), a
        assert root is None or fp2_mul(root, root, P) == a


def test_fp2_inverse_and_power() -> None:
    for a in [(c0, c1) for c0 in range(P) for c1 in range(P)][1:]:
        assert fp2_mul(a, fp2_inv(a, P), P) == (1, 0)
        assert fp2_pow(a, P * P - 1, P) == (1, 0)
        assert fp2_pow(a, 3, P) == fp2_mul(a, fp2_mul(a, a, P), P)


def test_group_law_on_all_pairs() -> None:
    """On a curve with points of order 2: closed, commutative, with opposites, and doubling equals P + P."""
    plain = PlainCurve(P, 1, 1)  # (-1, 0) has order 2
    points = [None] + [(x, y) for x in range(P) for y in range(P) if plain.is_on_curve((x, y))]
    assert (P - 1, 0) in points
    known = set(points)
    for lhs in points:
        assert plain.add(lhs, None) == lhs
        if lhs is not None:
            assert plain.add(lhs, (lhs[0], -lhs[1] % P)) is None
        for rhs in points:
            total = plain.add(lhs, rhs)
            assert total in known
            assert total == plain.add(rhs, lhs)
        assert plain.mul(lhs, len(points)) is None


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_multiples_against_the_oracle(curve: Curve, rng: random.Random) -> None:
    oracle = get_params(curve.name)
    for _ in range(4):
        k = rng.randrange(1, curve.r)
        assert curve.g1.plain.mul(curve.g1.generator, k) == oracle_curve.mul(
            oracle.g1, k, oracle.g1.generator
        )
        assert curve.g2.plain.mul(curve.g2.generator, k) == oracle_curve.mul(
            oracle.g2, k, oracle.g2.generator
        )


def test_cofactors_clear() -> None:
    """Cofactor * (any curve point) has order r, for a random point of each curve."""
    for name in ("bls12_381", "bn254", "toy"):
        group = get_curve(name).g2
        x = next((i, 1) for i in range(100) if group.plain.sqrt(group.plain.rhs((i, 1))) is not None)
        point = (x, group.plain.sqrt(group.plain.rhs(x)))
        assert group.plain.is_on_curve(point)
        assert group.plain.mul(group.plain.mul(point, group.cofactor), group.curve.r) is None
