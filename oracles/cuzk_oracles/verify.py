"""Groth16 verification through the pairing of an independent library.

e(A, B) = e(alpha, beta) e(IC(statement), gamma) e(C, delta), checked as one product of pairings that must be
one. A false statement or a bad proof point is False; a question that makes no sense is a ValueError.
"""

from collections.abc import Sequence

from cuzk_oracles import curve, msm, third_party
from cuzk_oracles.groth16 import Proof, VerifyingKey
from cuzk_oracles.params import Params


def reason_to_reject_points(params: Params, proof: Proof) -> str | None:
    """Why a proof fails before any pairing: identity, off the curve, outside the subgroup."""
    g1, g2 = params.g1, params.g2
    for name, point in (("A", proof.a), ("C", proof.c)):
        if point is None:
            return f"{name} is the identity"
        if not curve.is_on_curve(g1, point):
            return f"{name} is not on the curve"
        if not curve.in_subgroup(g1, point):
            return f"{name} is outside the subgroup"
    if proof.b is None:
        return "B is the identity"
    if not curve.is_on_curve(g2, proof.b):
        return "B is not on the curve"
    if not curve.in_subgroup(g2, proof.b):
        return "B is outside the subgroup"
    return None


def verify(
    params: Params, vk: VerifyingKey, public: Sequence[int], proof: Proof, library: str = "py_ecc"
) -> bool:
    """Whether the proof shows the statement.

    Args:
        params: The curve.
        vk: The verifying key.
        public: The statement, without the leading one; every value below r.
        proof: The proof.
        library: Whose pairing to use: "py_ecc", "pyblst", "pymcl", "zksnake" or "py_arkworks_bls12381".

    Raises:
        ValueError: wrong number of public inputs, or one that is not below r.
    """
    if len(public) + 1 != len(vk.ic):
        raise ValueError(f"{len(public)} public inputs but the key has {len(vk.ic) - 1}")
    for i, value in enumerate(public):
        if not 0 <= value < params.r:
            raise ValueError(f"public input {i} = {value} is not below r")
    if reason_to_reject_points(params, proof) is not None:
        return False
    statement = msm.msm_buckets(params.g1, vk.ic, [1, *public])
    pairs = [
        (proof.a, proof.b),
        (curve.neg(params.g1, vk.alpha_g1), vk.beta_g2),
        (curve.neg(params.g1, statement), vk.gamma_g2),
        (curve.neg(params.g1, proof.c), vk.delta_g2),
    ]
    return third_party.get(library).pairing_check(params, pairs)
