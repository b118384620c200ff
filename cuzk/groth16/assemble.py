"""Phase ``proof_assembly``: from the five sums and the blinding to the proof.

::

    A  = alpha + sum_a + r delta
    B  = beta  + sum_b + s delta                     (in G2; in G1 as B1)
    C  = sum_l + sum_h + s A + r B1 - r s delta
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cuzk.curves import GroupSpec
from cuzk.device.base import Device
from cuzk.groth16.blinding import Blinding
from cuzk.groth16.commitments import Commitments
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array, fr_from_ints
from cuzk.ops.points import add, scalar_mul
from cuzk.proof import Proof

__all__ = ["BlindingTerms", "assemble"]


@dataclass(frozen=True, eq=False)
class BlindingTerms:
    """Multiples of delta by the blinding: all of a proof's assembly that needs no sum. As secret as the blinding.

    Attributes:
        r_delta: In G1. Shape affine_shape uint64. Form: affine, Montgomery.
        s_delta: In G1.
        minus_rs_delta: In G1.
        s_delta_g2: In G2.
    """

    r_delta: U64Array
    s_delta: U64Array
    minus_rs_delta: U64Array
    s_delta_g2: U64Array

    @classmethod
    def of(cls, host: Device, key: ProvingKey, blinding: Blinding) -> BlindingTerms:
        """Compute them, on a device for few scalar multiplications."""
        r, s, order = blinding.r_blind, blinding.s_blind, key.curve.r
        by_r, by_s, by_rs = _scale(host, key.curve.g1, [key.delta_g1] * 3, [r, s, (-r * s) % order])
        (in_g2,) = _scale(host, key.curve.g2, [key.delta_g2], [s])
        return cls(by_r, by_s, by_rs, in_g2)


def assemble(
    host: Device,
    key: ProvingKey,
    sums: Commitments,
    sum_h: U64Array,
    blinding: Blinding,
    terms: BlindingTerms | None = None,
) -> Proof:
    """Put a proof together.

    Args:
        host: Device for the few scalar multiplications.
        key: The proving key.
        sums: The sums over the A, B and L queries.
        sum_h: The sum over the H query. Shape affine_shape of G1 uint64. Form: affine, Montgomery.
        blinding: r and s.
        terms: The blinding's multiples of delta, where they were computed before.

    Cost: five scalar multiplications in G1, one in G2; two in G1 with terms.
    Checked by: tests/prover/test_phases.py (against plain ints).
    """
    g1, g2 = key.curve.g1, key.curve.g2
    terms = terms or BlindingTerms.of(host, key, blinding)
    a = _sum(host, g1, [key.alpha_g1, sums["a"], terms.r_delta])
    b1 = _sum(host, g1, [key.beta_g1, sums["b_g1"], terms.s_delta])
    b = _sum(host, g2, [key.beta_g2, sums["b_g2"], terms.s_delta_g2])
    s_a, r_b1 = _scale(host, g1, [a, b1], [blinding.s_blind, blinding.r_blind])
    c = _sum(host, g1, [sums["l"], sum_h, s_a, r_b1, terms.minus_rs_delta])
    return Proof(key.curve, a, b, c)


def _scale(
    host: Device, group: GroupSpec, points: Sequence[U64Array], scalars: Sequence[int]
) -> list[U64Array]:
    up = host.upload(np.ascontiguousarray(np.stack(points)))
    by = host.upload(fr_from_ints(group.curve, scalars))
    return list(host.download(scalar_mul(host, group, up, by)))


def _sum(host: Device, group: GroupSpec, points: Sequence[U64Array]) -> U64Array:
    total = host.upload(np.ascontiguousarray(points[0][None]))
    for point in points[1:]:
        total = add(host, group, total, host.upload(np.ascontiguousarray(point[None])))
    return np.asarray(host.download(total)[0])
