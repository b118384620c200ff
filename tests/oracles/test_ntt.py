"""Transforms: the definition, the plain FFT, FLINT's polynomial evaluation and arkworks's FFT must agree.

Would catch: a wrong root or its inverse, a missing 1/n, outputs in another order, a coset shift applied to
values instead of coefficients, and a random-point check that accepts a wrong output.
"""

import random

import pytest
from cuzk_oracles import ntt, third_party
from cuzk_oracles.params import BLS12_381, BN254, TOY, Params, root_of_unity
from cuzk_oracles.third_party.flint import Flint
from cuzk_oracles.third_party.gmp import Gmp
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import values

CURVES = [BLS12_381, BN254, TOY]
each_curve = pytest.mark.parametrize("c", CURVES, ids=[c.name for c in CURVES])
each_convention = pytest.mark.parametrize("convention", ["snarkjs", "bellman"])


def _coeffs(c: Params, log_n: int) -> st.SearchStrategy[list[int]]:
    return st.lists(values.field_elements(c.r), min_size=1 << log_n, max_size=1 << log_n)


@each_curve
@each_convention
@pytest.mark.parametrize("log_n", range(6))
@settings(max_examples=6)
@given(data=st.data())
def test_fft_is_the_definition(c: Params, convention: str, log_n: int, data: st.DataObject) -> None:
    coeffs, omega = data.draw(_coeffs(c, log_n)), root_of_unity(c, log_n, convention)
    by_definition = ntt.ntt_definition(coeffs, omega, c.r)
    assert ntt.fft(coeffs, omega, c.r) == by_definition
    assert third_party.get("flint").ntt(c, coeffs, omega) == by_definition
    assert ntt.intt_definition(by_definition, omega, c.r) == coeffs
    assert ntt.ifft(by_definition, omega, c.r) == coeffs
    shift = data.draw(st.integers(2, c.r - 1))
    on_coset = ntt.coset_ntt_definition(coeffs, omega, shift, c.r)
    assert ntt.coset_ntt(coeffs, omega, shift, c.r) == on_coset
    assert ntt.coset_intt(on_coset, omega, shift, c.r) == coeffs


@pytest.mark.parametrize("c", [BLS12_381, BN254], ids=lambda c: c.name)
@each_convention
@pytest.mark.parametrize("log_n", [0, 1, 4, 8, 10])
def test_fft_against_arkworks(c: Params, convention: str, log_n: int, rng: random.Random) -> None:
    coeffs, omega = [rng.randrange(c.r) for _ in range(1 << log_n)], root_of_unity(c, log_n, convention)
    assert third_party.get("zksnake").ntt(c, coeffs, omega) == ntt.fft(coeffs, omega, c.r)


@each_curve
def test_definition_at_256(c: Params, rng: random.Random) -> None:
    coeffs, omega = [rng.randrange(c.r) for _ in range(256)], root_of_unity(c, 8, "bellman")
    assert ntt.fft(coeffs, omega, c.r) == third_party.get("flint").ntt(c, coeffs, omega)


@each_curve
def test_known_transforms(c: Params) -> None:
    """Delta -> all ones, x -> the powers of omega, constant -> n times the delta."""
    n, omega = 16, root_of_unity(c, 4, "snarkjs")
    delta, shifted = [1] + [0] * (n - 1), [0, 1] + [0] * (n - 2)
    assert ntt.fft(delta, omega, c.r) == [1] * n
    assert ntt.fft(shifted, omega, c.r) == ntt.powers(omega, n, c.r)
    assert ntt.fft([1] * n, omega, c.r) == [n] + [0] * (n - 1)


@each_curve
@settings(max_examples=10)
@given(data=st.data())
def test_shift_theorem_and_parseval(c: Params, data: st.DataObject) -> None:
    omega, n = root_of_unity(c, 3, "bellman"), 8
    a, b = data.draw(_coeffs(c, 3)), data.draw(_coeffs(c, 3))
    fa, fb = ntt.fft(a, omega, c.r), ntt.fft(b, omega, c.r)
    rotated = ntt.fft(a[-1:] + a[:-1], omega, c.r)
    assert rotated == [x * w % c.r for x, w in zip(fa, ntt.powers(omega, n, c.r), strict=True)]
    reflected = [fb[-k % n] for k in range(n)]
    left = sum(x * y for x, y in zip(a, b, strict=True)) * n
    assert (left - sum(x * y for x, y in zip(fa, reflected, strict=True))) % c.r == 0


@each_curve
@settings(max_examples=20)
@given(data=st.data())
def test_random_point_check_sees_every_single_fault(c: Params, data: st.DataObject) -> None:
    """Accepts the transform, rejects it with one changed output, at every position."""
    log_n = data.draw(st.integers(0, 4))
    coeffs, omega = data.draw(_coeffs(c, log_n)), root_of_unity(c, log_n, "snarkjs")
    shift = data.draw(st.sampled_from([1, c.multiplicative_generator]))
    good = ntt.coset_ntt(coeffs, omega, shift, c.r)
    z = data.draw(
        st.integers(2, c.r - 1).filter(lambda x: pow(x, 1 << 12, c.r) not in (1, pow(shift, 1 << 12, c.r)))
    )
    assert ntt.is_transform(coeffs, good, omega, z, c.r, shift)
    for k in range(len(good)):
        bad = list(good)
        bad[k] = (bad[k] + data.draw(st.integers(1, c.r - 1))) % c.r
        assert not ntt.is_transform(coeffs, bad, omega, z, c.r, shift)


def test_random_point_check_sees_permuted_outputs(rng: random.Random) -> None:
    c = BN254
    coeffs, omega = [rng.randrange(c.r) for _ in range(32)], root_of_unity(c, 5, "bellman")
    good, z = ntt.fft(coeffs, omega, c.r), rng.randrange(c.r)
    assert ntt.is_transform(coeffs, good, omega, z, c.r)
    for bad in (ntt.bit_reverse(good), good[1:] + good[:1], ntt.fft(coeffs, pow(omega, -1, c.r), c.r)):
        assert not ntt.is_transform(coeffs, bad, omega, z, c.r)


@each_curve
@settings(max_examples=20)
@given(data=st.data())
def test_lagrange_basis(c: Params, data: st.DataObject) -> None:
    """Sums to one, is a unit vector on the domain, and interpolates."""
    log_n = data.draw(st.integers(0, 4))
    n, omega = 1 << log_n, root_of_unity(c, log_n, "bellman")
    z = data.draw(values.field_elements(c.r))
    basis = ntt.lagrange_at(omega, n, z, c.r)
    assert sum(basis) % c.r == 1
    coeffs = data.draw(_coeffs(c, log_n))
    assert ntt.barycentric(ntt.fft(coeffs, omega, c.r), omega, z, c.r) == ntt.horner(coeffs, z, c.r)
    k = data.draw(st.integers(0, n - 1))
    assert ntt.lagrange_at(omega, n, pow(omega, k, c.r), c.r) == [int(j == k) for j in range(n)]


@each_curve
@given(data=st.data())
def test_horner_against_gmp(c: Params, data: st.DataObject) -> None:
    coeffs = data.draw(st.lists(values.field_elements(c.r), max_size=9))
    z = data.draw(values.field_elements(c.r))
    expected = sum(coefficient * pow(z, i, c.r) for i, coefficient in enumerate(coeffs)) % c.r
    assert ntt.horner(coeffs, z, c.r) == expected
    assert Gmp().horner(coeffs, z, c.r) == expected


@given(log_n=st.integers(0, 10))
def test_bit_reversal_is_an_involution(log_n: int) -> None:
    n = 1 << log_n
    order = ntt.bit_reverse(range(n))
    assert sorted(order) == list(range(n))
    assert ntt.bit_reverse(order) == list(range(n))
    assert all(int(f"{i:0{log_n}b}"[::-1], 2) == order[i] for i in range(n) if log_n)


@each_curve
@given(data=st.data())
def test_poly_mul_against_flint(c: Params, data: st.DataObject) -> None:
    a = data.draw(st.lists(values.field_elements(c.r), min_size=1, max_size=9))
    b = data.draw(st.lists(values.field_elements(c.r), min_size=1, max_size=9))
    product = ntt.poly_mul(a, b, c.r)
    while product and product[-1] == 0:
        product.pop()
    assert product == Flint().poly_mul(a, b, c.r)
    assert ntt.poly_mul([], b, c.r) == [0] * (len(b) - 1)


@pytest.mark.parametrize("n", [0, 3, 6, 12])
def test_other_lengths_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="not a power of two"):
        ntt.fft([1] * n, 1, BN254.r)


def test_powers() -> None:
    assert ntt.powers(3, 5, 97, first=2) == [2 * 3**i % 97 for i in range(5)]
    assert ntt.powers(3, 0, 97) == []
