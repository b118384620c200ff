"""The trapdoor oracle: what a proof must be, straight from the secrets of the set-up.

With tau, alpha, beta, delta known, the exponents of A, B and C follow from the witness in O(non-zero
coefficients + n) without any key, transform or multi-scalar multiplication; three multiplications give the
points. Exact at any size: a proof that verifies can still hide a bug, one that differs from this cannot be
right.

    A = alpha + a(tau) + r delta,   B = beta + b(tau) + s delta,
    C delta = sum over the rest w_j (beta u_j + alpha v_j + w_j)(tau) + (a b - c)(tau) + delta (s A + r B - r
    s delta)

where a(tau) = sum_j w_j u_j(tau) = sum_i (A w)_i l_i(tau), and the first sum is the same expression for the
witness whose statement variables are zeroed. gamma plays no part in a proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk_oracles import curve, ntt, qap
from cuzk_oracles.groth16 import Proof, Toxic
from cuzk_oracles.params import Params, root_of_unity
from cuzk_oracles.qap import R1CS


@dataclass(frozen=True)
class ProofExponents:
    """Discrete logarithms of the three proof elements."""

    a: int
    b: int
    c: int


def _at_tau(r1cs: R1CS, w: Sequence[int], lagrange: Sequence[int], r: int) -> tuple[int, int, int]:
    """a(tau), b(tau), c(tau) for a witness: A w, B w, C w, each times the Lagrange basis at tau."""
    a, b, c = (
        sum(value * weight for value, weight in zip(values, lagrange, strict=True)) % r
        for values in qap.evaluate(r1cs, w, r)
    )
    return a, b, c


def proof_exponents(
    params: Params,
    r1cs: R1CS,
    toxic: Toxic,
    w: Sequence[int],
    r_blind: int,
    s_blind: int,
    roots: str = "snarkjs",
) -> ProofExponents:
    """The exponents of A, B and C for a satisfying witness.

    Raises:
        ValueError: the witness breaks a constraint; then different provers give different proofs.
    """
    r, log_n = params.r, qap.log_domain_size(r1cs)
    broken = qap.first_unsatisfied(r1cs, w, r)
    if broken is not None:
        raise ValueError(f"the witness does not satisfy constraint {broken}")
    alpha, beta, delta = toxic.alpha, toxic.beta, toxic.delta
    lagrange = ntt.lagrange_at(root_of_unity(params, log_n, roots), 1 << log_n, toxic.tau, r)
    a_tau, b_tau, c_tau = _at_tau(r1cs, w, lagrange, r)
    without_statement = [0] * (r1cs.num_public + 1) + list(w[r1cs.num_public + 1 :])
    a_rest, b_rest, c_rest = _at_tau(r1cs, without_statement, lagrange, r)
    unblinded = beta * a_rest + alpha * b_rest + c_rest + a_tau * b_tau - c_tau
    a = (alpha + a_tau + r_blind * delta) % r
    b = (beta + b_tau + s_blind * delta) % r
    blinding = s_blind * a + r_blind * b - r_blind * s_blind * delta
    c = (unblinded * pow(delta, -1, r) + blinding) % r
    return ProofExponents(a, b, c)


def expected_proof(
    params: Params,
    r1cs: R1CS,
    toxic: Toxic,
    w: Sequence[int],
    r_blind: int,
    s_blind: int,
    roots: str = "snarkjs",
) -> Proof:
    """The proof itself: the exponents times the generators."""
    e = proof_exponents(params, r1cs, toxic, w, r_blind, s_blind, roots)
    g1, g2 = params.g1, params.g2
    return Proof(
        curve.mul(g1, e.a, g1.generator), curve.mul(g2, e.b, g2.generator), curve.mul(g1, e.c, g1.generator)
    )


def verification_equation_holds(e: ProofExponents, ic_at_statement: int, toxic: Toxic, r: int) -> bool:
    """A B = alpha beta + IC gamma + C delta in the exponent, IC the log of the statement's point."""
    right = toxic.alpha * toxic.beta + ic_at_statement * toxic.gamma + e.c * toxic.delta
    return (e.a * e.b - right) % r == 0
