"""The verification equation on BLS12-381, with the pairing of py-arkworks-bls12381."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import py_arkworks_bls12381 as arkworks

from cuzk.curves import GroupSpec
from cuzk.errors import NotInSubgroupError, NotOnCurveError
from cuzk.keys import VerifyingKey
from cuzk.limbs import AffinePoint, U64Array, points_to_ints
from cuzk.proof import Proof

__all__ = ["Bls12381Check", "arkworks_point"]


class Bls12381Check:
    """One prepared key.

    Args:
        vk: A key on bls12_381, not degenerate.

    Raises:
        NotOnCurveError, NotInSubgroupError: A point of the key is none of its group.
    """

    def __init__(self, vk: VerifyingKey) -> None:
        g1, g2 = vk.curve.g1, vk.curve.g2
        self._g1, self._g2 = g1, g2
        # e(A,B) e(-ic,gamma) e(-C,delta) = e(alpha,beta): the right side is known beforehand.
        alpha, beta = _key_point(g1, vk.alpha_g1, "alpha_g1"), _key_point(g2, vk.beta_g2, "beta_g2")
        self._alpha_beta = arkworks.GT.pairing(alpha, beta)
        self._minus_gamma = -_key_point(g2, vk.gamma_g2, "gamma_g2")
        self._minus_delta = -_key_point(g2, vk.delta_g2, "delta_g2")
        self._alpha, self._minus_beta = alpha, -beta
        self._ic = [_key_point(g1, point, f"ic[{i}]") for i, point in enumerate(vk.ic)]

    def inputs(self, public: Sequence[int]) -> Any:
        """The sum over ic that the public inputs choose."""
        return _combination(self._ic, [1, *public])

    def reason_against(self, inputs: Any, proof: Proof) -> str:
        """Why a proof does not hold, or the empty string if it does."""
        points, reason = self._points(proof)
        if reason:
            return reason
        a, b, c = points
        left = arkworks.GT.multi_pairing([a, inputs, c], [b, self._minus_gamma, self._minus_delta])
        return "" if left == self._alpha_beta else "the pairing equation does not hold"

    def reason_against_batch(
        self, statements: Sequence[Sequence[int]], proofs: Sequence[Proof], weights: Sequence[int]
    ) -> str:
        """As reason_against, for the sum of the equations times the weights."""
        r = proofs[0].curve.r
        g1, g2, cs = [], [], []
        for i, (proof, weight) in enumerate(zip(proofs, weights, strict=True)):
            points, reason = self._points(proof)
            if reason:
                return f"proof {i}: {reason}"
            g1.append(points[0] * arkworks.Scalar(weight))
            g2.append(points[1])
            cs.append(points[2])
        columns = [[1] * len(weights), *zip(*statements, strict=True)]
        sums = [sum(w * x for w, x in zip(weights, column, strict=True)) % r for column in columns]
        g1 += [self._alpha * arkworks.Scalar(sum(weights) % r), _combination(self._ic, sums)]
        g1.append(_combination(cs, weights))
        g2 += [self._minus_beta, self._minus_gamma, self._minus_delta]
        holds = arkworks.GT.multi_pairing(g1, g2) == arkworks.GT.one()
        return "" if holds else "the pairing equation of the batch does not hold"

    def _points(self, proof: Proof) -> tuple[list[Any], str]:
        """The points of a proof, and what is wrong with one of them."""
        points = []
        for name, group, value in (
            ("A", self._g1, proof.a),
            ("B", self._g2, proof.b),
            ("C", self._g1, proof.c),
        ):
            point, reason = _parse(group, value)
            if reason:
                return [], f"{name} is {reason}"
            points.append(point)
        return points, ""


def _combination(points: Sequence[Any], scalars: Sequence[int]) -> Any:
    """The sum of scalars[i] * points[i]."""
    return arkworks.G1Point.multiexp_unchecked(list(points), [arkworks.Scalar(value) for value in scalars])


def arkworks_point(group: GroupSpec, point: AffinePoint) -> Any:
    """A point of arkworks from affine ints, on the curve; None is infinity.

    Raises:
        ValueError: It is off the curve.
    """
    kind = arkworks.G1Point if group.degree == 1 else arkworks.G2Point
    if point is None:
        return kind.identity()
    coordinates = point if group.degree == 1 else (*point[0], *point[1])
    return kind.from_xy_bytes_unchecked_le(
        b"".join(int(c).to_bytes(group.fp.nbytes, "little") for c in coordinates)
    )


def _parse(group: GroupSpec, value: U64Array) -> tuple[Any, str]:
    """An arkworks point, and what is wrong with it."""
    point = points_to_ints(group, value)[0]
    if point is None:
        return None, "the identity (point at infinity)"
    try:
        parsed = arkworks_point(group, point)
    except ValueError:
        return None, "off the curve"
    return parsed, "" if parsed.is_in_subgroup() else "outside the subgroup of order r"


def _key_point(group: GroupSpec, value: U64Array, name: str) -> Any:
    if not value.any():
        # Only ic[1:] may be infinity: a public variable that no constraint uses.
        return arkworks.G1Point.identity() if group.degree == 1 else arkworks.G2Point.identity()
    point, reason = _parse(group, value)
    if reason:
        error = NotOnCurveError if point is None else NotInSubgroupError
        raise error(f"{name} of the verifying key is {reason}", where=name, remedy="get the key again")
    return point
