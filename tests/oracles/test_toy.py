"""The toy engine: tables of logarithms, exact key elements, and a verifier that is no pairing library.

Would catch: a key element that differs from its definition in any query, a proof that verifies by accident, a
log table that is not a homomorphism.
"""

import pytest
from cuzk_oracles import curve, groth16, qap, samples, toy, trapdoor
from cuzk_oracles.groth16 import H_FORMS, KeyForm, Proof, Toxic
from cuzk_oracles.params import TOY
from hypothesis import given, settings
from hypothesis import strategies as st

G1, G2 = TOY.g1, TOY.g2


@given(x=st.integers(0, TOY.r - 1), y=st.integers(0, TOY.r - 1))
def test_logarithms(x: int, y: int) -> None:
    p1, q1 = curve.mul(G1, x, G1.generator), curve.mul(G1, y, G1.generator)
    p2, q2 = curve.mul(G2, x, G2.generator), curve.mul(G2, y, G2.generator)
    assert (toy.log_g1(p1), toy.log_g2(p2)) == (x, x)
    assert toy.add_g1(p1, q1) == curve.add(G1, p1, q1)
    assert toy.add_g2(p2, q2) == curve.add(G2, p2, q2)
    assert toy.pairing(p1, q2) == x * y % TOY.r


def test_all_points_are_in_the_tables() -> None:
    assert set(toy.g1_points()) == set(curve.all_points(G1))
    assert toy.g1_points()[:2] == [None, G1.generator]
    assert len(set(toy.g2_points())) == TOY.r
    assert all(curve.is_on_curve(G2, point) for point in toy.g2_points())


def test_points_outside_have_no_logarithm() -> None:
    with pytest.raises(KeyError):
        toy.log_g1((1, 1))
    outside = curve.lift_x(G2, (0, 1)) or curve.lift_x(G2, (1, 1)) or curve.lift_x(G2, (2, 1))
    assert outside is not None
    assert not curve.in_subgroup(G2, outside)
    with pytest.raises(KeyError):
        toy.log_g2(outside)


@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize("h", H_FORMS)
@pytest.mark.parametrize("num_public", [0, 1, 5])
def test_every_key_element_is_exact(roots: str, h: str, num_public: int) -> None:
    r1cs, _ = samples.random_r1cs(num_public, TOY.r, 11, num_public, 9)
    toxic = Toxic(*samples.random_secret(3, TOY.r, 5))
    exponents = groth16.setup_exponents(TOY, r1cs, toxic, KeyForm(roots, h))
    logs = toy.key_logs(groth16.key_points(TOY, exponents))
    assert (logs.alpha_g1, logs.beta_g1, logs.beta_g2) == (toxic.alpha, toxic.beta, toxic.beta)
    assert (logs.gamma_g2, logs.delta_g1, logs.delta_g2) == (toxic.gamma, toxic.delta, toxic.delta)
    assert logs.ic == exponents.ic
    assert logs.a_query == exponents.a
    assert logs.b_g1_query == logs.b_g2_query == exponents.b
    assert logs.h_query == exponents.h
    assert logs.l_query == exponents.l
    assert len(logs.ic) + len(logs.l_query) == r1cs.num_variables


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), r_blind=st.integers(0, TOY.r - 1), s_blind=st.integers(0, TOY.r - 1))
def test_proofs_verify_and_wrong_ones_do_not(seed: int, r_blind: int, s_blind: int) -> None:
    r1cs, w = samples.random_r1cs(seed, TOY.r, 6, 2, 6)
    toxic = Toxic(*samples.random_secret(seed, TOY.r, 5))
    if pow(toxic.tau, 1 << qap.log_domain_size(r1cs), TOY.r) == 1:
        return
    key = groth16.setup(TOY, r1cs, toxic)
    proof = groth16.prove(TOY, key, r1cs, w, r_blind, s_blind)
    e = trapdoor.proof_exponents(TOY, r1cs, toxic, w, r_blind, s_blind)
    assert toy.proof_logs(proof) == (e.a, e.b, e.c)
    public = w[1:3]
    assert toy.verify(key.vk, public, proof)
    shifted = Proof(proof.a, proof.b, curve.add(G1, proof.c, G1.generator))
    assert not toy.verify(key.vk, public, shifted)
    statement_changes = toy.log_g1(key.ic[1]) != 0
    assert toy.verify(key.vk, [(public[0] + 1) % TOY.r, public[1]], proof) != statement_changes


def test_every_blinding_of_one_proof_verifies() -> None:
    """A grid over r and s: the same statement, all different proofs, all accepted."""
    r1cs, w = samples.random_r1cs(4, TOY.r, 6, 1, 6)
    toxic = Toxic(*samples.random_secret(5, TOY.r, 5))
    key = groth16.setup(TOY, r1cs, toxic)
    proofs = [groth16.prove(TOY, key, r1cs, w, r, s) for r in range(6) for s in range(6)]
    assert all(toy.verify(key.vk, w[1:2], proof) for proof in proofs)
    assert len(set(proofs)) == 36


def test_wrong_number_of_inputs() -> None:
    r1cs, w = samples.random_r1cs(4, TOY.r, 6, 1, 6)
    key = groth16.setup(TOY, r1cs, Toxic(2, 3, 4, 5))
    proof = groth16.prove(TOY, key, r1cs, w, 0, 0)
    with pytest.raises(ValueError, match="2 public inputs but the key has 1"):
        toy.verify(key.vk, [1, 2], proof)
