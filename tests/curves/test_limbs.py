"""Conversions between ints and limbs.

Would catch: wrong limb order, a missing reduction, infinity lost, an off-by-one in the comparison with the
modulus.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles.params import get_params, mont_fp, mont_fr

from cuzk.curves import CURVES, FIELDS, Curve, FieldSpec, get_curve
from cuzk.errors import RangeError, ShapeError
from cuzk.limbs import (
    first_not_below,
    fr_from_ints,
    fr_to_ints,
    ints_to_limbs,
    limbs_to_ints,
    points_from_ints,
    points_to_ints,
    reduced,
)

each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
each_field = pytest.mark.parametrize("spec", FIELDS.values(), ids=FIELDS.keys())


def test_limb_order() -> None:
    array = ints_to_limbs([1 + (2 << 64) + (3 << 128)], 4)
    assert array.tolist() == [[1, 2, 3, 0]]
    assert array.dtype == np.uint64
    assert limbs_to_ints(array) == [1 + (2 << 64) + (3 << 128)]
    assert ints_to_limbs([], 4).shape == (0, 4)
    assert limbs_to_ints(np.zeros((0, 4), np.uint64)) == []
    assert limbs_to_ints(array[0]) == limbs_to_ints(array)


@pytest.mark.parametrize("value", [-1, 1 << 128, 0.5])
def test_what_does_not_fit(value: Any) -> None:
    with pytest.raises(RangeError, match="index 1"):
        ints_to_limbs(iter([0, value]), 2)


@each_curve
def test_montgomery_form(curve: Curve, rng: random.Random) -> None:
    oracle = get_params(curve.name)
    values = [0, 1, curve.r - 1, *(rng.randrange(curve.r) for _ in range(20))]
    array = fr_from_ints(curve, values)
    assert limbs_to_ints(array) == [mont_fr(oracle, value) for value in values]
    assert fr_to_ints(curve, array) == values
    assert fr_to_ints(curve, fr_from_ints(curve, [-1, curve.r])) == [curve.r - 1, 0]


@each_curve
def test_points(curve: Curve) -> None:
    oracle = get_params(curve.name)
    (x, y), (u, v) = curve.g1.generator, curve.g2.generator
    g1 = points_from_ints(curve.g1, [(x, y), None])
    assert g1.shape == (2, *curve.g1.affine_shape)
    assert limbs_to_ints(g1[0]) == [mont_fp(oracle, x), mont_fp(oracle, y)]
    assert not g1[1].any()
    g2 = points_from_ints(curve.g2, iter([None, (u, v)]))
    assert g2.shape == (2, *curve.g2.affine_shape)
    assert limbs_to_ints(g2[1].reshape(4, -1)) == [mont_fp(oracle, c) for c in (*u, *v)]
    assert points_to_ints(curve.g1, g1) == [(x, y), None]
    assert points_to_ints(curve.g2, g2) == [None, (u, v)]
    assert points_to_ints(curve.g1, g1[0]) == [(x, y)]
    assert points_from_ints(curve.g1, []).shape == (0, *curve.g1.affine_shape)
    with pytest.raises(ShapeError, match="holds no points"):
        points_to_ints(curve.g2, points_from_ints(curve.g1, [None] * 3))


def test_zero_coordinate_is_not_infinity() -> None:
    curve = get_curve("toy")
    assert points_to_ints(curve.g1, points_from_ints(curve.g1, [(0, 5), (5, 0)])) == [(0, 5), (5, 0)]


@each_field
def test_first_not_below(spec: FieldSpec, rng: random.Random) -> None:
    m, top = spec.modulus, 1 << 64 * spec.limbs
    below = [0, 1, m - 1, m - 2, m >> 1, *(rng.randrange(m) for _ in range(50))]
    assert reduced(ints_to_limbs(below, spec.limbs), m)
    for value in {m, min(m + 1, top - 1), top - 1, (m + 2**64) % top}:
        if value < m:
            continue
        for count in (0, 3, 55):
            array = ints_to_limbs([*below[:count], value, *below[count:], m], spec.limbs)
            assert first_not_below(array, m) == count
    # Many elements share the top limb of the modulus without reaching it.
    assert first_not_below(ints_to_limbs([m - 1] * 200, spec.limbs), m) is None
    assert first_not_below(ints_to_limbs([m - 1] * 200 + [m], spec.limbs), m) == 200
    assert first_not_below(np.zeros((0, spec.limbs), np.uint64), m) is None


@pytest.mark.parametrize("at", range(4))
def test_many_elements_near_the_modulus_are_compared_limb_by_limb(at: int) -> None:
    """All share the top limb but one that is above it, with lower limbs below, or above in another limb alone."""
    modulus = get_curve("bn254").fr.modulus
    limbs = [modulus >> (64 * i) & (2**64 - 1) for i in range(4)]
    array = np.tile(np.array([*limbs[:3], limbs[3]], np.uint64), (100, 1))
    array[:, 0] -= np.uint64(1)  # just below
    assert first_not_below(array, modulus) is None
    array[70] = [*[0] * at, limbs[at] + 1, *limbs[at + 1 :]]
    assert first_not_below(array, modulus) == 70
    array[70] = limbs
    assert first_not_below(array, modulus) == 70
