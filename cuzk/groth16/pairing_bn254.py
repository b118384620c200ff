"""The verification equation on BN254, with the compiled pairing of this package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cuzk import _pairing
from cuzk.curves import GroupSpec
from cuzk.errors import NotInSubgroupError, NotOnCurveError
from cuzk.keys import VerifyingKey
from cuzk.limbs import U64Array, ints_to_limbs, points_from_ints, points_to_ints
from cuzk.proof import Proof

__all__ = ["Bn254Check"]


class Bn254Check:
    """One prepared key.

    Args:
        vk: A key on bn254, not degenerate.

    Raises:
        NotOnCurveError, NotInSubgroupError: A point of the key is none of its group.
    """

    def __init__(self, vk: VerifyingKey) -> None:
        g1, g2 = vk.curve.g1, vk.curve.g2
        self._limbs = vk.curve.fr.limbs
        for name, group, value in (
            ("alpha_g1", g1, vk.alpha_g1),
            ("beta_g2", g2, vk.beta_g2),
            ("gamma_g2", g2, vk.gamma_g2),
            ("delta_g2", g2, vk.delta_g2),
            *((f"ic[{i}]", g1, point) for i, point in enumerate(vk.ic)),
        ):
            reason = _reason_against_point(group, value) if value.any() else ""
            if reason:
                error = NotOnCurveError if "curve" in reason else NotInSubgroupError
                raise error(
                    f"{name} of the verifying key is {reason}", where=name, remedy="get the key again"
                )
        # e(A,B) e(-C,delta) e(-ic,gamma) = e(alpha,beta); moving the signs to G2 prepares them once.
        negated = [_negated(g2, vk.gamma_g2), _negated(g2, vk.delta_g2)]
        self._fixed = _pairing.prepare_g2(np.stack(negated))
        self._r, self._alpha = vk.curve.r, np.ascontiguousarray(vk.alpha_g1)
        self._minus_beta = _pairing.prepare_g2(_negated(g2, vk.beta_g2)[None])
        beta = _pairing.prepare_g2(np.ascontiguousarray(vk.beta_g2[None]))
        self._alpha_beta = _pairing.pairing_product(np.ascontiguousarray(vk.alpha_g1[None]), [beta])
        self._ic = np.ascontiguousarray(vk.ic)

    def inputs(self, public: Sequence[int]) -> U64Array:
        """The sum over ic that the public inputs choose. Shape (1, 2, limbs)."""
        return _pairing.g1_linear_combination(self._ic, ints_to_limbs(public, self._limbs))

    def reason_against(self, inputs: U64Array, proof: Proof) -> str:
        """Why a proof does not hold, or the empty string if it does."""
        reason = _reason_against_points(proof)
        if reason:
            return reason
        left = np.concatenate([proof.a[None], inputs, proof.c[None]])
        prepared = _pairing.prepare_g2(np.ascontiguousarray(proof.b[None]))
        holds = _pairing.pairing_product_equals(left, [prepared, self._fixed], self._alpha_beta)
        return "" if holds else "the pairing equation does not hold"

    def reason_against_batch(
        self, statements: Sequence[Sequence[int]], proofs: Sequence[Proof], weights: Sequence[int]
    ) -> str:
        """As reason_against, for the sum of the equations times the weights."""
        for i, proof in enumerate(proofs):
            reason = _reason_against_points(proof)
            if reason:
                return f"proof {i}: {reason}"
        columns = [[1] * len(weights), *zip(*statements, strict=True)]
        sums = [sum(w * x for w, x in zip(weights, column, strict=True)) % self._r for column in columns]
        left = [self._sum([proof.a], [weight]) for proof, weight in zip(proofs, weights, strict=True)]
        left += [self._sum([self._alpha], [sum(weights) % self._r])]
        left += [self._sum(list(self._ic), sums), self._sum([proof.c for proof in proofs], weights)]
        prepared = _pairing.prepare_g2(np.stack([proof.b for proof in proofs]))
        right = [prepared, self._minus_beta, self._fixed]
        holds = _pairing.pairing_product_is_one(np.concatenate(left), right)
        return "" if holds else "the pairing equation of the batch does not hold"

    def _sum(self, points: Sequence[U64Array], scalars: Sequence[int]) -> U64Array:
        """The sum of scalars[i] * points[i]. Shape (1, 2, limbs)."""
        terms = np.stack([np.zeros_like(points[0]), *points])
        return _pairing.g1_linear_combination(terms, ints_to_limbs(scalars, self._limbs))


def _reason_against_points(proof: Proof) -> str:
    """What is wrong with a point of a proof, or the empty string."""
    g1, g2 = proof.curve.g1, proof.curve.g2
    for name, group, value in (("A", g1, proof.a), ("B", g2, proof.b), ("C", g1, proof.c)):
        reason = _reason_against_point(group, value)
        if reason:
            return f"{name} is {reason}"
    return ""


def _reason_against_point(group: GroupSpec, value: U64Array) -> str:
    """What is wrong with a point; every point of the G1 curve is in the group."""
    if not value.any():
        return "the identity (point at infinity)"
    point = np.ascontiguousarray(value[None])
    try:
        if group.degree == 1:
            _pairing.g1_linear_combination(point, np.zeros((0, 4), np.uint64))
        elif not _pairing.g2_in_subgroup(point)[0]:
            return "outside the subgroup of order r"
    except ValueError:
        return "off the curve"
    return ""


def _negated(group: GroupSpec, value: U64Array) -> U64Array:
    """The opposite point, for a point of G2."""
    x, (y0, y1) = points_to_ints(group, value)[0]  # type: ignore[misc]
    opposite = (x, (-y0 % group.fp.modulus, -y1 % group.fp.modulus))
    return np.asarray(points_from_ints(group, [opposite])[0], np.uint64)
