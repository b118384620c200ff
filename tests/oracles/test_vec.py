"""Element-wise operations, classification, and sums of selected points.

Would catch: an index off by one in a power, a scalar counted in two classes or none, a selected base missed
or taken twice.
"""

import random
from collections import Counter

import pytest
from cuzk_oracles import curve, edge_points, edge_values, msm, third_party, vec
from cuzk_oracles.params import BN254, TOY
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import values

R = BN254.r
_VECTOR = st.lists(values.field_elements(R), min_size=5, max_size=5)


@given(a=_VECTOR, b=_VECTOR, c=_VECTOR)
def test_element_wise(a: list[int], b: list[int], c: list[int]) -> None:
    gmp = third_party.get("gmpy2")
    product = [gmp.fp_mul(x, y, R) for x, y in zip(a, b, strict=True)]
    assert vec.vec_mul(a, b, R) == product
    assert vec.vec_sub(vec.vec_add(a, b, R), b, R) == a
    assert vec.vec_mul_sub(a, b, c, R) == vec.vec_sub(product, c, R)
    assert vec.vec_scale(a, c[0], R) == vec.vec_mul(a, [c[0]] * 5, R)
    scaled = vec.vec_powers_scale(a, c[0], R)
    assert scaled[0] == a[0]
    assert scaled[4] == gmp.fp_mul(a[4], pow(c[0], 4, R), R)


def test_lengths_must_match() -> None:
    for operation in (vec.vec_add, vec.vec_sub, vec.vec_mul):
        with pytest.raises(ValueError, match="argument 2 is longer"):
            operation([1], [1, 2], R)


@pytest.mark.parametrize("n", [0, 1, 33, 200])
def test_classify_edge_vectors(n: int) -> None:
    for _, scalars in edge_values.scalar_vectors(R, n, 8):
        classes = vec.classify(scalars)
        together = classes.zero + classes.one + classes.other
        assert sorted(together) == list(range(n))
        counts = Counter(scalars)
        assert (len(classes.zero), len(classes.one)) == (counts[0], counts[1])
        assert all(scalars[i] > 1 for i in classes.other)
        assert all(part == sorted(part) for part in (classes.zero, classes.one, classes.other))


@given(indices=st.lists(st.integers(0, 19), max_size=30))
def test_batch_add_by_exponents(indices: list[int]) -> None:
    """Bases [1]G..[20]G: the sum is the sum of the indices, plus one each."""
    _, bases = msm.small_log_bases(TOY.g1, 20)
    expected = curve.mul(TOY.g1, sum(i + 1 for i in indices), TOY.g1.generator)
    assert vec.batch_add(TOY.g1, bases, indices) == expected


def test_batch_add_against_library(rng: random.Random) -> None:
    """A sum with scalars 0 and 1 is a sum of selected bases; also with terms that cancel."""
    zksnake = third_party.get("zksnake")
    _, bases = msm.small_log_bases(BN254.g1, 64)
    bases += [curve.neg(BN254.g1, point) for point in bases[:8]]
    bases += [term for _, terms in edge_points.cancelling_terms(BN254.g1) for term in terms]
    selected = [i for i in range(len(bases)) if rng.random() < 0.5]
    scalars = [int(i in set(selected)) for i in range(len(bases))]
    assert vec.batch_add(BN254.g1, bases, selected) == zksnake.g1_msm(BN254, bases, scalars)
    assert vec.batch_add(BN254.g1, bases, []) is None
