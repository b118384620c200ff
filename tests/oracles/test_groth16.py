"""Set-up, plain prover and trapdoor oracle against each other and against pairings of other lineages.

Would catch: a term of C forgotten (r s delta, s A, r B), public and private variables divided by each other's
secret, an H basis of the wrong roots, a gamma that leaks into proofs, a key whose two B queries differ.
"""

import pytest
from cuzk_oracles import groth16, msm, ntt, qap, samples, third_party, trapdoor, verify
from cuzk_oracles.groth16 import H_FORMS, KeyForm, Proof, Toxic
from cuzk_oracles.params import BLS12_381, BN254, TOY, Params, root_of_unity
from hypothesis import given, settings
from hypothesis import strategies as st

CURVES = [BLS12_381, BN254, TOY]
FORMS = [KeyForm(roots, h) for roots in ("snarkjs", "bellman") for h in H_FORMS]
each_form = pytest.mark.parametrize("form", FORMS, ids=lambda f: f"{f.roots}-{f.h}")


def _toxic(seed: int, c: Params, *, gamma_is_one: bool = False) -> Toxic:
    tau, alpha, beta, delta, gamma = samples.random_secret(seed, c.r, 5)
    return Toxic(tau, alpha, beta, delta, 1 if gamma_is_one else gamma)


@each_form
@settings(max_examples=20)
@given(
    seed=st.integers(0, 2**32),
    num_constraints=st.integers(1, 9),
    num_public=st.sampled_from([0, 1, 4]),
    num_private=st.integers(1, 8),
    blinding=st.tuples(*[st.sampled_from([0, 1, 7, TOY.r - 1])] * 2),
)
def test_prover_equals_trapdoor_on_toy(
    form: KeyForm,
    seed: int,
    num_constraints: int,
    num_public: int,
    num_private: int,
    blinding: tuple[int, int],
) -> None:
    r1cs, w = samples.random_r1cs(seed, TOY.r, num_constraints, num_public, num_private)
    toxic = _toxic(seed, TOY)
    if pow(toxic.tau, 1 << qap.log_domain_size(r1cs), TOY.r) == 1:
        return  # tau in the domain is refused; that has a test of its own
    key = groth16.setup(TOY, r1cs, toxic, form)
    expected = trapdoor.expected_proof(TOY, r1cs, toxic, w, *blinding, form.roots)
    assert groth16.prove(TOY, key, r1cs, w, *blinding) == expected


@pytest.mark.parametrize("c", [BLS12_381, BN254], ids=lambda c: c.name)
def test_both_h_forms_and_trapdoor_give_one_proof(c: Params) -> None:
    r1cs, w = samples.random_r1cs(5, c.r, 9, 2, 8)
    toxic = _toxic(6, c)
    for roots, blinding in (("snarkjs", (7, 11)), ("bellman", (c.r - 1, 0))):
        expected = trapdoor.expected_proof(c, r1cs, toxic, w, *blinding, roots)
        for h in H_FORMS:
            key = groth16.setup(c, r1cs, toxic, KeyForm(roots, h))
            assert groth16.prove(c, key, r1cs, w, *blinding) == expected


LIBRARIES = [
    pytest.param(c, adapter.module, id=f"{c.name}-{adapter.module}")
    for c in (BLS12_381, BN254)
    for adapter in third_party.installed()
    if adapter.supports("pairing", c)
]


def _proof_of(c: Params) -> tuple[groth16.VerifyingKey, list[int], Proof]:
    """A key with random gamma, the statement, and the trapdoor oracle's proof for it."""
    r1cs, w = samples.random_r1cs(8, c.r, 6, 3, 5)
    w_public = w[1:4]
    assert w_public != [0, 0, 0]
    toxic = _toxic(9, c)
    key = groth16.setup_exponents(c, r1cs, toxic)
    without_queries = groth16.KeyExponents(
        key.form, key.log_n, key.num_public, toxic, ic=key.ic, a=[], b=[], h=[], l=[]
    )
    points = groth16.key_points(c, without_queries)
    return points.vk, w_public, trapdoor.expected_proof(c, r1cs, toxic, w, 3, 4)


@pytest.mark.parametrize(("c", "library"), LIBRARIES)
def test_pairings_accept_the_proof_and_nothing_else(c: Params, library: str) -> None:
    vk, public, proof = _proof_of(c)
    assert verify.verify(c, vk, public, proof, library)
    other = [(public[0] + 1) % c.r, *public[1:]]
    assert not verify.verify(c, vk, other, proof, library)
    g1 = c.g1.generator
    assert not verify.verify(c, vk, public, Proof(proof.a, proof.b, g1), library)
    assert not verify.verify(c, vk, public, Proof(g1, proof.b, proof.c), library)
    assert not verify.verify(c, vk, public, Proof(proof.a, c.g2.generator, proof.c), library)


@pytest.mark.parametrize("c", CURVES, ids=lambda c: c.name)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), r_blind=st.integers(0, 2**60), s_blind=st.integers(0, 2**60))
def test_verification_equation_in_the_exponent(c: Params, seed: int, r_blind: int, s_blind: int) -> None:
    """Holds for the trapdoor's exponents with the key's own IC, and breaks when C changes by one."""
    r1cs, w = samples.random_r1cs(seed, c.r, 6, 2, 6)
    toxic = _toxic(seed, c)
    key = groth16.setup_exponents(c, r1cs, toxic)
    e = trapdoor.proof_exponents(c, r1cs, toxic, w, r_blind, s_blind)
    statement = msm.msm_exponent(key.ic, w[:3], c.r)
    assert trapdoor.verification_equation_holds(e, statement, toxic, c.r)
    wrong = trapdoor.ProofExponents(e.a, e.b, (e.c + 1) % c.r)
    assert not trapdoor.verification_equation_holds(wrong, statement, toxic, c.r)


@pytest.mark.parametrize("c", CURVES, ids=lambda c: c.name)
def test_key_elements_by_their_definition(c: Params) -> None:
    """u_j(tau) by interpolating each column on its own, divided by hand."""
    r1cs, _ = samples.random_r1cs(11, c.r, 5, 2, 4)
    toxic = _toxic(12, c)
    key = groth16.setup_exponents(c, r1cs, toxic, KeyForm("bellman", "monomial"))
    n, r = 1 << key.log_n, c.r
    omega = root_of_unity(c, key.log_n, "bellman")
    columns = []
    for rows in qap.with_input_rows(r1cs):
        at_tau = []
        for j in range(r1cs.num_variables):
            values = [sum(k for column, k in row if column == j) % r for row in rows]
            values += [0] * (n - len(values))
            at_tau.append(ntt.horner(ntt.intt_definition(values, omega, r), toxic.tau, r))
        columns.append(at_tau)
    u, v, y = columns
    assert (key.a, key.b) == (u, v)
    for j in range(r1cs.num_variables):
        combined = (toxic.beta * u[j] + toxic.alpha * v[j] + y[j]) % r
        if j <= 2:
            assert key.ic[j] * toxic.gamma % r == combined
        else:
            assert key.l[j - 3] * toxic.delta % r == combined
    z_tau = pow(toxic.tau, n, r) - 1
    assert [h * toxic.delta % r for h in key.h] == [pow(toxic.tau, i, r) * z_tau % r for i in range(n - 1)]


@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
def test_h_forms_convert_into_each_other(roots: str) -> None:
    """H_monomial[i] = -2 v^i FFT(H_odd)[i], in the exponent: the rule by which keys are converted."""
    c, log_n = BLS12_381, 4
    toxic = _toxic(2, c)
    odd = groth16.h_exponents(c, log_n, toxic, KeyForm(roots, "odd_lagrange"))
    monomial = groth16.h_exponents(c, log_n, toxic, KeyForm(roots, "monomial"))
    omega, v = root_of_unity(c, log_n, roots), root_of_unity(c, log_n + 1, roots)
    converted = [-2 * pow(v, i, c.r) * x % c.r for i, x in enumerate(ntt.fft(odd, omega, c.r))]
    assert converted[:-1] == monomial
    assert len(monomial) == 15


@pytest.mark.parametrize("top_power", [True, False])
@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
def test_odd_h_by_definition(roots: str, top_power: bool) -> None:
    """L_j(tau) = 1/2n sum_k v^(-jk) tau^k over all 2n powers, or over all but the last."""
    c, log_n = BN254, 3
    toxic, size = _toxic(2, c), 16
    v = root_of_unity(c, log_n + 1, roots)
    last = size if top_power else size - 1
    expected = []
    for j in range(1, size, 2):
        total = sum(pow(v, -j * k, c.r) * pow(toxic.tau, k, c.r) for k in range(last))
        expected.append(total * pow(size * toxic.delta, -1, c.r) % c.r)
    form = KeyForm(roots, "odd_lagrange")
    assert groth16.h_exponents(c, log_n, toxic, form, top_power=top_power) == expected
    if top_power:
        assert groth16.h_exponents(c, log_n, toxic, form) == expected
        r1cs, _ = samples.random_r1cs(3, c.r, 5, 1, 4)
        assert groth16.setup_exponents(c, r1cs, toxic, form).h == expected


def test_default_key_is_that_of_snarkjs() -> None:
    r1cs, _ = samples.random_r1cs(3, TOY.r, 5, 1, 4)
    key = groth16.setup(TOY, r1cs, _toxic(2, TOY))
    assert key == groth16.setup(TOY, r1cs, _toxic(2, TOY), KeyForm("snarkjs", "odd_lagrange"), top_power=True)


def test_missing_top_power_changes_h_but_no_proof() -> None:
    r1cs, w = samples.random_r1cs(21, TOY.r, 12, 2, 9)
    toxic = _toxic(22, TOY)
    full, cut = (groth16.setup(TOY, r1cs, toxic, top_power=top) for top in (True, False))
    assert full.h_query != cut.h_query
    assert groth16.prove(TOY, full, r1cs, w, 5, 6) == groth16.prove(TOY, cut, r1cs, w, 5, 6)


def test_gamma_does_not_touch_proofs() -> None:
    r1cs, w = samples.random_r1cs(31, BN254.r, 4, 1, 4)
    one, other = _toxic(32, BN254, gamma_is_one=True), _toxic(32, BN254)
    assert trapdoor.proof_exponents(BN254, r1cs, one, w, 1, 2) == trapdoor.proof_exponents(
        BN254, r1cs, other, w, 1, 2
    )
    keys = [groth16.setup_exponents(BN254, r1cs, toxic) for toxic in (one, other)]
    assert keys[0].ic != keys[1].ic
    assert keys[0].l == keys[1].l


def test_broken_witness_is_refused() -> None:
    r1cs, w = samples.random_r1cs(1, TOY.r, 7, 1, 6)
    toxic = _toxic(2, TOY)
    key = groth16.setup(TOY, r1cs, toxic)
    bad = [0, *w[1:]]
    with pytest.raises(ValueError, match="does not satisfy"):
        groth16.prove(TOY, key, r1cs, bad, 0, 0)
    with pytest.raises(ValueError, match="does not satisfy"):
        trapdoor.expected_proof(TOY, r1cs, toxic, bad, 0, 0)


def test_degenerate_secrets_are_refused() -> None:
    r1cs, _ = samples.random_r1cs(1, TOY.r, 7, 1, 6)
    with pytest.raises(ValueError, match="secret of the set-up is zero"):
        groth16.setup_exponents(TOY, r1cs, Toxic(5, 6, 7, TOY.r))
    with pytest.raises(ValueError, match="tau lies in the domain"):
        groth16.setup_exponents(TOY, r1cs, Toxic(root_of_unity(TOY, 3, "snarkjs"), 6, 7, 8))
    with pytest.raises(ValueError, match="unknown H form"):
        groth16.setup_exponents(TOY, r1cs, Toxic(5, 6, 7, 8), KeyForm("snarkjs", "lagrange"))


def test_trapdoor_at_2_14() -> None:
    """The size at which the whole prover is held against it; public values of two systems differ."""
    r1cs, w = samples.random_r1cs(41, BN254.r, (1 << 14) - 100, 50, 5000)
    assert qap.log_domain_size(r1cs) == 14
    toxic = _toxic(42, BN254)
    e = trapdoor.proof_exponents(BN254, r1cs, toxic, w, 8, 9)
    key = groth16.setup_exponents(BN254, r1cs, toxic)
    statement = msm.msm_exponent(key.ic, w[:51], BN254.r)
    assert trapdoor.verification_equation_holds(e, statement, toxic, BN254.r)
