"""Fp2 against py_ecc and against its own field laws.

Would catch: the wrong sign of u^2, a cross term taken twice or not at all, an inverse that forgets the
conjugate, a square root that is no root.
"""

import pytest
from cuzk_oracles import fp2, third_party
from cuzk_oracles.params import BLS12_381, BN254, TINY, TOY, Params
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import values

each_curve = pytest.mark.parametrize("params", [BLS12_381, BN254, TOY], ids=lambda c: c.name)


@pytest.mark.parametrize("params", [BLS12_381, BN254], ids=lambda c: c.name)
@given(data=st.data())
def test_against_py_ecc(params: Params, data: st.DataObject) -> None:
    a, b = data.draw(values.fp2_elements(params.p)), data.draw(values.fp2_elements(params.p))
    py_ecc = third_party.get("py_ecc")
    assert py_ecc.fp2_mul(params, a, b) == fp2.mul(a, b, params.p)
    if a != (0, 0):
        assert py_ecc.fp2_inv(params, a) == fp2.inv(a, params.p)


@each_curve
@given(data=st.data())
def test_field_laws(params: Params, data: st.DataObject) -> None:
    p = params.p
    a, b, c = (data.draw(values.fp2_elements(p)) for _ in range(3))
    assert fp2.mul(a, fp2.add(b, c, p), p) == fp2.add(fp2.mul(a, b, p), fp2.mul(a, c, p), p)
    assert fp2.mul(fp2.mul(a, b, p), c, p) == fp2.mul(a, fp2.mul(b, c, p), p)
    assert fp2.sub(fp2.add(a, b, p), b, p) == a
    assert fp2.add(a, fp2.neg(a, p), p) == (0, 0)
    assert fp2.dbl(a, p) == fp2.add(a, a, p)
    assert fp2.sqr(a, p) == fp2.mul(a, a, p)
    assert fp2.mul(a, fp2.conjugate(a, p), p) == (fp2.norm(a, p), 0)
    if a != (0, 0):
        assert fp2.mul(a, fp2.inv(a, p), p) == (1, 0)


@pytest.mark.parametrize("params", [BLS12_381, BN254], ids=lambda c: c.name)
@settings(max_examples=5)
@given(data=st.data())
def test_frobenius_and_order(params: Params, data: st.DataObject) -> None:
    """a^p is the conjugate and a^(p^2 - 1) = 1: holds for every element only if this is the field of p^2."""
    p = params.p
    a = data.draw(values.fp2_elements(p))
    assert fp2.pow_(a, p, p) == fp2.conjugate(a, p)
    if a != (0, 0):
        assert fp2.pow_(a, p * p - 1, p) == (1, 0)
        assert fp2.pow_(a, p * p - 2, p) == fp2.inv(a, p)


def test_zero_has_inverse_zero() -> None:
    assert fp2.inv((0, 0), TOY.p) == (0, 0)


@each_curve
@given(data=st.data())
def test_sqrt_of_squares(params: Params, data: st.DataObject) -> None:
    p = params.p
    a = data.draw(values.fp2_elements(p))
    root = fp2.sqrt(fp2.sqr(a, p), p)
    assert root in (a, fp2.neg(a, p))


def test_exhaustive_over_43() -> None:
    """Squares, roots and inverses of all 1849 elements, from the multiplication table alone."""
    p = TINY.p
    elements = [(c0, c1) for c0 in range(p) for c1 in range(p)]
    squares = {fp2.sqr(a, p) for a in elements}
    assert len(squares) == (p * p + 1) // 2
    for a in elements:
        root = fp2.sqrt(a, p)
        assert (root is not None) == (a in squares)
        if root is not None:
            assert fp2.sqr(root, p) == a
        if a != (0, 0):
            assert fp2.mul(a, fp2.inv(a, p), p) == (1, 0)
