"""Groth16 on plain ints: set-up from known toxic waste, and a prover with given blinding.

Source: Groth 2016, https://eprint.iacr.org/2016/260, section 3.2. Variables 0..num_public are the statement.

A key element is an exponent e that stands for [e]G. With u_j, v_j, w_j the polynomials of variable j in A, B,
C and l_i the Lagrange basis of the domain:  a_j = u_j(tau);  b_j = v_j(tau);
ic_j or l_j = (beta u_j + alpha v_j + w_j)(tau) divided by gamma (statement) or delta (the rest).
H forms, both divided by delta:
    "monomial" (bellperson): h_i = tau^i (tau^n - 1), i < n - 1, for the coefficients of the quotient;
    "odd_lagrange" (snarkjs): h_i = L_(2i+1)(tau), i < n, L the Lagrange basis of size 2n, for the values of
    a b - c at the odd 2n-th roots.
Roots: "snarkjs" or "bellman", see `params.root_of_unity`. snarkjs fixes gamma = 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk_oracles import curve, msm, ntt, qap
from cuzk_oracles.curve import C, Group
from cuzk_oracles.params import Params, root_of_unity
from cuzk_oracles.qap import R1CS
from cuzk_oracles.spmv import transpose_spmv

G1Point = tuple[int, int] | None
G2Point = tuple[tuple[int, int], tuple[int, int]] | None

H_FORMS = ("monomial", "odd_lagrange")


@dataclass(frozen=True)
class Toxic:
    """The secrets of a set-up, all in Fr and non-zero."""

    tau: int
    alpha: int
    beta: int
    delta: int
    gamma: int = 1


@dataclass(frozen=True)
class KeyForm:
    """Which roots order the domain and which basis H is in."""

    roots: str = "snarkjs"
    h: str = "odd_lagrange"


@dataclass(frozen=True)
class KeyExponents:
    """Every element of a proving key as its discrete logarithm; `b` serves B in G1 and in G2."""

    form: KeyForm
    log_n: int
    num_public: int
    toxic: Toxic
    ic: list[int]
    a: list[int]
    b: list[int]
    h: list[int]
    l: list[int]  # noqa: E741  the literature's name of the query


@dataclass(frozen=True)
class VerifyingKey:
    """What a verifier needs."""

    alpha_g1: G1Point
    beta_g2: G2Point
    gamma_g2: G2Point
    delta_g2: G2Point
    ic: list[G1Point]


@dataclass(frozen=True)
class ProvingKey:
    """A key as points."""

    form: KeyForm
    log_n: int
    num_public: int
    alpha_g1: G1Point
    beta_g1: G1Point
    beta_g2: G2Point
    gamma_g2: G2Point
    delta_g1: G1Point
    delta_g2: G2Point
    ic: list[G1Point]
    a_query: list[G1Point]
    b_g1_query: list[G1Point]
    b_g2_query: list[G2Point]
    h_query: list[G1Point]
    l_query: list[G1Point]

    @property
    def vk(self) -> VerifyingKey:
        """The verifier's part."""
        return VerifyingKey(self.alpha_g1, self.beta_g2, self.gamma_g2, self.delta_g2, self.ic)


@dataclass(frozen=True)
class Proof:
    """A in G1, B in G2, C in G1."""

    a: G1Point
    b: G2Point
    c: G1Point


def h_exponents(
    params: Params, log_n: int, toxic: Toxic, form: KeyForm, *, top_power: bool = True
) -> list[int]:
    """The exponents of the H query.

    Args:
        params: The curve.
        log_n: The domain has n = 2^log_n points.
        toxic: tau and delta count.
        form: Roots and H form.
        top_power: False imitates a snarkjs key from a powers-of-tau file of exactly this size: tau^(2n-1) is
        not in
            that file and counts as zero in every L_(2i+1). Such a key proves the same statements with the
            same bytes, because the degree of a b - c is below 2n - 1.
    """
    r, n, tau = params.r, 1 << log_n, toxic.tau
    delta_inv = pow(toxic.delta, -1, r)
    if form.h == "monomial":
        return ntt.powers(tau, n - 1, r, first=(pow(tau, n, r) - 1) * delta_inv)
    if form.h != "odd_lagrange":
        raise ValueError(f"unknown H form {form.h!r}; one of {H_FORMS}")
    omega_2n = root_of_unity(params, log_n + 1, form.roots)
    basis = ntt.lagrange_at(omega_2n, 2 * n, tau, r)[1::2]
    if not top_power:
        # L_j(x) = 1/2n sum_k omega_2n^(-jk) x^k; for k = 2n - 1 the root is omega_2n^j.
        top = pow(tau, 2 * n - 1, r) * pow(2 * n, -1, r) % r
        basis = [(value - top * pow(omega_2n, 2 * i + 1, r)) % r for i, value in enumerate(basis)]
    return [value * delta_inv % r for value in basis]


def setup_exponents(
    params: Params, r1cs: R1CS, toxic: Toxic, form: KeyForm | None = None, *, top_power: bool = True
) -> KeyExponents:
    """Every key element as an exponent, in O(non-zero coefficients + n).

    Raises:
        ValueError: a secret is 0 mod r, or tau lies in the domain (every key would be degenerate).
    """
    form = form or KeyForm()
    r, log_n, num_public = params.r, qap.log_domain_size(r1cs), r1cs.num_public
    if 0 in (secret % r for secret in (toxic.tau, toxic.alpha, toxic.beta, toxic.gamma, toxic.delta)):
        raise ValueError("a secret of the set-up is zero")
    if pow(toxic.tau, 1 << log_n, r) == 1:
        raise ValueError("tau lies in the domain")
    lagrange = ntt.lagrange_at(root_of_unity(params, log_n, form.roots), 1 << log_n, toxic.tau, r)
    u, v, w = (
        transpose_spmv(rows, lagrange[: len(rows)], r1cs.num_variables, r)
        for rows in qap.with_input_rows(r1cs)
    )
    combined = [
        (toxic.beta * u_j + toxic.alpha * v_j + w_j) % r for u_j, v_j, w_j in zip(u, v, w, strict=True)
    ]
    gamma_inv, delta_inv = pow(toxic.gamma, -1, r), pow(toxic.delta, -1, r)
    return KeyExponents(
        form=form,
        log_n=log_n,
        num_public=num_public,
        toxic=toxic,
        ic=[k * gamma_inv % r for k in combined[: num_public + 1]],
        a=u,
        b=v,
        h=h_exponents(params, log_n, toxic, form, top_power=top_power),
        l=[k * delta_inv % r for k in combined[num_public + 1 :]],
    )


def key_points(params: Params, key: KeyExponents) -> ProvingKey:
    """The same key as points; zero exponents become infinity."""
    bits = params.r.bit_length()
    g1 = msm.FixedBase(params.g1, params.g1.generator, bits).mul
    g2 = msm.FixedBase(params.g2, params.g2.generator, bits).mul
    t = key.toxic
    return ProvingKey(
        form=key.form,
        log_n=key.log_n,
        num_public=key.num_public,
        alpha_g1=g1(t.alpha),
        beta_g1=g1(t.beta),
        beta_g2=g2(t.beta),
        gamma_g2=g2(t.gamma),
        delta_g1=g1(t.delta),
        delta_g2=g2(t.delta),
        ic=[g1(e) for e in key.ic],
        a_query=[g1(e) for e in key.a],
        b_g1_query=[g1(e) for e in key.b],
        b_g2_query=[g2(e) for e in key.b],
        h_query=[g1(e) for e in key.h],
        l_query=[g1(e) for e in key.l],
    )


def setup(
    params: Params, r1cs: R1CS, toxic: Toxic, form: KeyForm | None = None, *, top_power: bool = True
) -> ProvingKey:
    """A proving key as points from known secrets."""
    return key_points(params, setup_exponents(params, r1cs, toxic, form, top_power=top_power))


def h_scalars(
    params: Params, form: KeyForm, log_n: int, a: Sequence[int], b: Sequence[int], c: Sequence[int]
) -> list[int]:
    """The scalars that belong to the H query of this form, from a, b, c in domain order."""
    omega = root_of_unity(params, log_n, form.roots)
    if form.h == "monomial":
        return qap.h_by_coset(a, b, c, omega, params.multiplicative_generator, params.r)
    return qap.odd_coset_values(a, b, c, omega, root_of_unity(params, log_n + 1, form.roots), params.r)


def _blinded(
    group: Group[C],
    constant: tuple[C, C] | None,
    query: Sequence[tuple[C, C] | None],
    w: Sequence[int],
    blind: int,
    delta: tuple[C, C] | None,
) -> tuple[C, C] | None:
    """Compute constant + sum_j [w_j]query_j + [blind]delta."""
    terms = [constant, msm.msm_buckets(group, query, w), curve.mul(group, blind, delta)]
    return curve.total(group, terms)


def prove_from_abc(
    params: Params,
    key: ProvingKey,
    abc: tuple[Sequence[int], Sequence[int], Sequence[int]],
    w: Sequence[int],
    r_blind: int,
    s_blind: int,
) -> Proof:
    """A proof from a, b, c in domain order and the whole witness, w[0] = 1.

    A = alpha + sum w_j a_j + r delta;  B = beta + sum w_j b_j + s delta;
    C = sum over the rest w_j l_j + sum h_i H_i + s A + r B - r s delta.
    """
    g1, g2 = params.g1, params.g2
    proof_a = _blinded(g1, key.alpha_g1, key.a_query, w, r_blind, key.delta_g1)
    b_g1 = _blinded(g1, key.beta_g1, key.b_g1_query, w, s_blind, key.delta_g1)
    proof_b = _blinded(g2, key.beta_g2, key.b_g2_query, w, s_blind, key.delta_g2)
    h = h_scalars(params, key.form, key.log_n, *abc)
    terms = [
        msm.msm_buckets(g1, key.l_query, w[key.num_public + 1 :]),
        msm.msm_buckets(g1, key.h_query, h),
        curve.mul(g1, s_blind, proof_a),
        curve.mul(g1, r_blind, b_g1),
        curve.mul(g1, -r_blind * s_blind % params.r, key.delta_g1),
    ]
    proof_c = curve.total(g1, terms)
    return Proof(proof_a, proof_b, proof_c)


def prove(params: Params, key: ProvingKey, r1cs: R1CS, w: Sequence[int], r_blind: int, s_blind: int) -> Proof:
    """A proof with the given blinding; refuses a witness that breaks a constraint."""
    broken = qap.first_unsatisfied(r1cs, w, params.r)
    if broken is not None:
        raise ValueError(f"the witness does not satisfy constraint {broken}")
    return prove_from_abc(params, key, qap.evaluate(r1cs, w, params.r), w, r_blind, s_blind)
