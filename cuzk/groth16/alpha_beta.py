"""The pairing e(alpha, beta) as snarkjs's verification keys carry it (``vk_alphabeta_12``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.curves import Curve, get_curve
from cuzk.limbs import AffinePoint, field_to_ints, points_from_ints

__all__ = ["alpha_beta_of"]

_Value = list[list[list[int]]]


def alpha_beta_of(curve: Curve) -> Callable[[AffinePoint, AffinePoint], _Value] | None:
    """The function that ``formats.save_vkey`` takes as ``alphabeta``.

    Returns:
        For BN254, affine ints alpha (G1) and beta (G2) to 2 x 3 x 2 ints, standard form; for other curves None:
        the library that verifies on BLS12-381 does not give out the coordinates of a pairing. No verifier
        reads the value, so keys without it are complete.

    Checked by: tests/formats/test_round_trips.py (against snarkjs's own files).
    """
    return _on_bn254 if curve is get_curve("bn254") else None


def _on_bn254(alpha: AffinePoint, beta: AffinePoint) -> _Value:
    from cuzk import _pairing

    curve = get_curve("bn254")
    prepared = _pairing.prepare_g2(points_from_ints(curve.g2, [beta]))
    value: Any = _pairing.pairing_product(points_from_ints(curve.g1, [alpha]), [prepared])
    coordinates = np.array(field_to_ints(curve.fp, value), dtype=object).reshape(2, 3, 2)
    return list(coordinates.tolist())
