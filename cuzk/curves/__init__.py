"""Curves and fields: BLS12-381, BN254, the toy curve, and fields that only tests use.

>>> curve = get_curve("bls12_381")
>>> curve.fr.bits, curve.two_adicity, curve.g2.affine_shape
(255, 32, (2, 2, 6))

One literal per curve lives in params.py, derive.py derives and checks everything else, and
``python -m cuzk.curves.emit`` writes the constants for the kernels. Standard library only.
"""

from __future__ import annotations

from cuzk.curves.derive import (
    ROOT_CONVENTIONS,
    Curve,
    GroupSpec,
    RootConvention,
    make_curve,
)
from cuzk.curves.field import FieldSpec, make_field
from cuzk.curves.params import CURVE_PARAMS, SECP256K1_P, TINY_MODULI
from cuzk.errors import CurveMismatchError

__all__ = [
    "CURVES",
    "FIELDS",
    "ROOT_CONVENTIONS",
    "Curve",
    "FieldSpec",
    "GroupSpec",
    "RootConvention",
    "curve_of_fr",
    "get_curve",
    "get_field",
]

CURVES: dict[str, Curve] = {params.name: make_curve(params) for params in CURVE_PARAMS}

FIELDS: dict[str, FieldSpec] = {
    **{spec.name: spec for curve in CURVES.values() for spec in (curve.fp, curve.fr)},
    "secp256k1_fp": make_field("secp256k1_fp", SECP256K1_P),
    **{f"tiny_{m}": make_field(f"tiny_{m}", m, word_bits=8, words=2) for m in TINY_MODULI},
}


def get_curve(name: str) -> Curve:
    """The curve with this name.

    Raises:
        CurveMismatchError: No such curve.
    """
    try:
        return CURVES[name]
    except KeyError:
        raise CurveMismatchError(f"unknown curve {name!r}", limit=f"one of {', '.join(CURVES)}") from None


def get_field(name: str) -> FieldSpec:
    """The field with this name, such as "bn254_fr" or "tiny_257".

    Raises:
        CurveMismatchError: No such field.
    """
    try:
        return FIELDS[name]
    except KeyError:
        raise CurveMismatchError(f"unknown field {name!r}", limit=f"one of {', '.join(FIELDS)}") from None


def curve_of_fr(modulus: int) -> Curve | None:
    """The curve whose scalar field has this modulus, or None."""
    return next((curve for curve in CURVES.values() if curve.r == modulus), None)
