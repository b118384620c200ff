"""The quotient: long division, the coset method, both H forms, and FLINT's polynomial division.

Would catch: a quotient that is one coefficient short, a coset constant forgotten, a remainder ignored, input
rows in the wrong place, H forms that belong to different roots.
"""

import pytest
from cuzk_oracles import ntt, qap, samples
from cuzk_oracles.params import BLS12_381, BN254, TOY, Params, root_of_unity
from cuzk_oracles.qap import R1CS
from cuzk_oracles.third_party.flint import Flint
from hypothesis import given, settings
from hypothesis import strategies as st

CURVES = [BLS12_381, BN254, TOY]
each_curve = pytest.mark.parametrize("c", CURVES, ids=[c.name for c in CURVES])
each_convention = pytest.mark.parametrize("convention", ["snarkjs", "bellman"])
_SHAPES = st.tuples(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 3), st.integers(1, 9))


@each_curve
@each_convention
@settings(max_examples=12)
@given(shape=_SHAPES, z_seed=st.integers(0, 2**32))
def test_all_ways_to_h_agree(
    c: Params, convention: str, shape: tuple[int, int, int, int], z_seed: int
) -> None:
    seed, num_constraints, num_public, num_private = shape
    r1cs, w = samples.random_r1cs(seed, c.r, num_constraints, num_public, num_private)
    abc = qap.evaluate(r1cs, w, c.r)
    log_n = qap.log_domain_size(r1cs)
    omega, omega_2n = (root_of_unity(c, k, convention) for k in (log_n, log_n + 1))
    h = qap.h_by_division(*abc, omega, c.r)
    assert len(h) == (1 << log_n) - 1
    assert qap.h_by_coset(*abc, omega, c.multiplicative_generator, c.r) == h
    odd = qap.odd_coset_values(*abc, omega, omega_2n, c.r)
    assert qap.odd_values_match_h(odd, h, omega_2n, c.r)
    (z,) = samples.random_secret(z_seed, c.r, 1)
    assert qap.quotient_identity_holds(*abc, h, omega, z, c.r)


@each_curve
@settings(max_examples=12)
@given(shape=_SHAPES, data=st.data())
def test_identity_rejects_a_changed_h(
    c: Params, shape: tuple[int, int, int, int], data: st.DataObject
) -> None:
    r1cs, w = samples.random_r1cs(shape[0], c.r, *shape[1:])
    abc = qap.evaluate(r1cs, w, c.r)
    omega = root_of_unity(c, qap.log_domain_size(r1cs), "snarkjs")
    h = qap.h_by_division(*abc, omega, c.r)
    h[data.draw(st.integers(0, len(h) - 1))] += 1
    z = data.draw(st.integers(2, c.r - 1).filter(lambda x: pow(x, len(abc[0]), c.r) != 1))
    assert not qap.quotient_identity_holds(*abc, h, omega, z, c.r)


@each_curve
def test_division_against_flint(c: Params) -> None:
    flint = Flint()
    r1cs, w = samples.random_r1cs(3, c.r, 13, 2, 9)
    a, b, values_c = qap.evaluate(r1cs, w, c.r)
    n, omega = len(a), root_of_unity(c, qap.log_domain_size(r1cs), "bellman")
    a_coeffs, b_coeffs, c_coeffs = (ntt.ifft(v, omega, c.r) for v in (a, b, values_c))
    numerator = flint.poly_mul(a_coeffs, b_coeffs, c.r)
    numerator += [0] * (2 * n - len(numerator))
    for i, value in enumerate(c_coeffs):
        numerator[i] -= value
    vanishing = [-1] + [0] * (n - 1) + [1]
    quotient, remainder = flint.poly_divmod(numerator, vanishing, c.r)
    h = qap.h_by_division(a, b, values_c, omega, c.r)
    assert remainder == []
    assert quotient + [0] * (n - 1 - len(quotient)) == h


@given(poly=st.lists(st.integers(0, 96), max_size=14), n=st.integers(1, 5))
def test_long_division(poly: list[int], n: int) -> None:
    quotient, remainder = qap.divide_by_vanishing(poly, n, 97)
    assert len(remainder) <= n
    rebuilt = ntt.poly_mul(quotient, [-1] + [0] * (n - 1) + [1], 97) if quotient else []
    rebuilt += [0] * (max(len(poly), n) - len(rebuilt))
    for i, value in enumerate(remainder):
        rebuilt[i] = (rebuilt[i] + value) % 97
    assert rebuilt[: len(poly)] == poly
    assert not any(rebuilt[len(poly) :])


@each_curve
def test_unsatisfied_witness_does_not_pass(c: Params) -> None:
    r1cs, w = samples.random_r1cs(1, c.r, 7, 1, 6)
    changed = _break(r1cs, w, c.r)
    row = qap.first_unsatisfied(r1cs, changed, c.r)
    assert row is not None
    assert row >= 0
    abc = qap.evaluate(r1cs, changed, c.r)
    omega = root_of_unity(c, qap.log_domain_size(r1cs), "snarkjs")
    with pytest.raises(ValueError, match="does not vanish"):
        qap.h_by_division(*abc, omega, c.r)
    h = qap.h_by_coset(*abc, omega, c.multiplicative_generator, c.r)
    (z,) = samples.random_secret(5, c.r, 1)
    assert not qap.quotient_identity_holds(*abc, h, omega, z, c.r)


def _break(r1cs: R1CS, w: list[int], r: int) -> list[int]:
    """The first witness that differs in one value and breaks a constraint."""
    for j in range(1, len(w)):
        changed = [*w[:j], (w[j] + 1) % r, *w[j + 1 :]]
        if qap.first_unsatisfied(r1cs, changed, r) is not None:
            return changed
    raise AssertionError("no single change breaks the system")


def test_first_unsatisfied_names_the_row() -> None:
    r1cs = R1CS(3, 1, a=[[(1, 1)], [(2, 1)]], b=[[(1, 1)], [(0, 1)]], c=[[(2, 1)], [(2, 1)]])
    assert qap.first_unsatisfied(r1cs, [1, 3, 9], 97) is None
    assert qap.first_unsatisfied(r1cs, [1, 3, 10], 97) == 0
    assert qap.first_unsatisfied(r1cs, [2, 3, 9], 97) == -1


@pytest.mark.parametrize(
    ("num_constraints", "num_public", "log_n"),
    [
        (1, 1, 2),
        (138, 4, 8),
        (364, 1, 9),
        (517, 1, 10),
        (26500, 1, 15),
        (62528, 256, 16),
        (3, 0, 2),
        (0, 0, 0),
    ],
)
def test_domain_size(num_constraints: int, num_public: int, log_n: int) -> None:
    """The sizes that snarkjs chose for known circuits, and the smallest ones."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(num_constraints)]
    assert qap.log_domain_size(R1CS(num_public + 2, num_public, rows, rows, rows)) == log_n


def test_input_rows() -> None:
    r1cs = R1CS(4, 2, a=[[(3, 1)]], b=[[(0, 1)]], c=[[(3, 1)]])
    a, b, c = qap.evaluate(r1cs, [1, 10, 20, 30], 97)
    assert (a, b, c) == ([30, 1, 10, 20], [1, 0, 0, 0], [30, 0, 0, 0])
    rows_a, rows_b, rows_c = qap.with_input_rows(r1cs)
    assert (len(rows_a), len(rows_b), len(rows_c)) == (4, 4, 4)
    assert len(r1cs.a) == 1  # the system itself is left alone


def test_odd_values_need_the_matching_root() -> None:
    with pytest.raises(ValueError, match="not a square root"):
        qap.odd_coset_values([1], [1], [1], 1, 5, 97)


def test_degree_of_h_low_and_full() -> None:
    """Zero for linear rows, and the top coefficient n - 2 is reached: neither end may be cut."""
    linear = R1CS(3, 0, a=[[(1, 1)], [(2, 1)]], b=[[(0, 1)], [(0, 1)]], c=[[(1, 1)], [(2, 1)]])
    omega = root_of_unity(TOY, 2, "snarkjs")
    values = qap.evaluate(linear, [1, 5, 6], TOY.r)
    padded_b = [1, 1, 1, 1]  # a constant B makes the product's degree that of a
    assert qap.h_by_division(values[0], padded_b, values[0], omega, TOY.r) == [0, 0, 0]
    square = [(i * i + 1) % TOY.r for i in range(4)]
    h = qap.h_by_division(square, square, [v * v % TOY.r for v in square], omega, TOY.r)
    assert h[-1] != 0
