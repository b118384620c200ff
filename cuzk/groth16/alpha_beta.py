"""The pairing e(alpha, beta) as snarkjs's verification keys carry it (``vk_alphabeta_12``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cuzk.curves import Curve, get_curve
from cuzk.errors import InternalError
from cuzk.limbs import AffinePoint, field_to_ints, points_from_ints

__all__ = ["alpha_beta_of"]

_Value = list[list[list[int]]]


def alpha_beta_of(curve: Curve) -> Callable[[AffinePoint, AffinePoint], _Value] | None:
    """The function that ``formats.save_vkey`` takes as ``alphabeta``.

    Returns:
        Affine ints alpha (G1) and beta (G2) to 2 x 3 x 2 ints, standard form; None for a curve without a
        pairing. Not a check of the points: a key that may be wrong is checked first.

    Checked by: tests/formats/test_round_trips.py (against snarkjs's own files).
    """
    return {"bn254": _on_bn254, "bls12_381": _on_bls12_381}.get(curve.name)


def _on_bn254(alpha: AffinePoint, beta: AffinePoint) -> _Value:
    from cuzk import _pairing

    curve = get_curve("bn254")
    prepared = _pairing.prepare_g2(points_from_ints(curve.g2, [beta]))
    value: Any = _pairing.pairing_product(points_from_ints(curve.g1, [alpha]), [prepared])
    return _nested(field_to_ints(curve.fp, value))


def _on_bls12_381(alpha: AffinePoint, beta: AffinePoint) -> _Value:
    import py_arkworks_bls12381 as arkworks

    from cuzk.groth16.pairing_bls12_381 import arkworks_point

    curve = get_curve("bls12_381")
    points = [arkworks_point(group, point) for group, point in ((curve.g1, alpha), (curve.g2, beta))]
    if _coordinates(arkworks.GT.one()) != [1] + [0] * 11:
        raise InternalError("the pairing library prints its values in a form that cuzk does not know")
    return _nested(_coordinates(arkworks.GT.pairing(*points)))


def _coordinates(value: Any) -> list[int]:
    """The twelve coordinates of a pairing's value: as text it is their bytes, each little-endian, in hexadecimal."""
    raw, width = bytes.fromhex(str(value)), get_curve("bls12_381").fp.nbytes
    return [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]


def _nested(coordinates: Sequence[int]) -> _Value:
    """Fp12 over Fp6 over Fp2 over Fp."""
    return list(np.array(coordinates, dtype=object).reshape(2, 3, 2).tolist())
