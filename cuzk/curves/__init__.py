"""Curves and fields: BLS12-381, BN254, the toy curve, and fields that only tests use.

>>> curve = get_curve("bls12_381")
>>> curve.fr.bits, curve.two_adicity, curve.g2.affine_shape
(255, 32, (2, 2, 6))

One literal per curve lives in params.py, derive.py derives and checks everything else, and
``python -m cuzk.curves.emit`` writes the constants for the kernels. A curve is derived and checked when it is first
asked for, which takes some milliseconds. Standard library only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

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

_T = TypeVar("_T")


class _MadeOnce(Mapping[str, _T]):
    """A fixed set of names whose values are made when they are first read, once for all threads."""

    def __init__(self, makers: dict[str, Callable[[], _T]]) -> None:
        self._makers = makers
        self._made: dict[str, _T] = {}
        self._lock = threading.RLock()

    def __getitem__(self, name: str) -> _T:
        if name not in self._made:
            with self._lock:
                if name not in self._made:
                    self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _field_of(curve_name: str, field_name: str) -> FieldSpec:
    curve = CURVES[curve_name]
    return curve.fp if field_name == "fp" else curve.fr


CURVES: Mapping[str, Curve] = _MadeOnce({params.name: partial(make_curve, params) for params in CURVE_PARAMS})

FIELDS: Mapping[str, FieldSpec] = _MadeOnce(
    {
        **{f"{c.name}_{f}": partial(_field_of, c.name, f) for c in CURVE_PARAMS for f in ("fp", "fr")},
        "secp256k1_fp": partial(make_field, "secp256k1_fp", SECP256K1_P),
        **{f"tiny_{m}": partial(make_field, f"tiny_{m}", m, word_bits=8, words=2) for m in TINY_MODULI},
    }
)


def get_curve(name: str) -> Curve:
    """The curve with this name.

    Raises:
        CurveMismatchError: No such curve.
    """
    try:
        return CURVES[name]
    except KeyError:
        raise CurveMismatchError(
            f"unknown curve {name!r}", limit=f"one of {', '.join(CURVES)}", remedy="pass one of these"
        ) from None


def get_field(name: str) -> FieldSpec:
    """The field with this name, such as "bn254_fr" or "tiny_257".

    Raises:
        CurveMismatchError: No such field.
    """
    try:
        return FIELDS[name]
    except KeyError:
        raise CurveMismatchError(
            f"unknown field {name!r}", limit=f"one of {', '.join(FIELDS)}", remedy="pass one of these"
        ) from None


def curve_of_fr(modulus: int) -> Curve | None:
    """The curve whose scalar field has this modulus, or None."""
    return next((CURVES[params.name] for params in CURVE_PARAMS if params.r == modulus), None)
