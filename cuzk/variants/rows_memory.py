"""Variants of memory: where vectors lie, how they are let go, how many circuits are at work together."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

ROWS: tuple[Variant, ...] = ()
