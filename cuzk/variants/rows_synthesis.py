"""Variants of the way from a witness to a, b and c."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

ROWS: tuple[Variant, ...] = ()
