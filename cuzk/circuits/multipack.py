"""Bits packed into field elements, as many as always fit: 254 on BLS12-381, 253 on BN254."""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits.boolean import Bit, bits_lc
from cuzk.curves import Curve
from cuzk.errors import ShapeError
from cuzk.synthesis import ONE, ConstraintSystem, Variable

__all__ = ["capacity", "pack_bits", "pack_into_inputs", "packed_values"]


def capacity(curve: Curve) -> int:
    """Bits that fit a scalar whatever they are."""
    return curve.r.bit_length() - 1


def pack_bits(cs: ConstraintSystem, bits: Sequence[Bit]) -> Variable:
    """A new auxiliary variable that holds bits, least significant first; one row, sum * 1 = v.

    Raises:
        ShapeError: More bits than fit.
    """
    if len(bits) > capacity(cs.curve):
        raise ShapeError(
            f"{len(bits)} bits do not fit a scalar of {cs.curve.name}",
            limit=f"{capacity(cs.curve)} bits",
            remedy="pack them into several variables",
        )
    return cs.define_product(bits_lc(bits), {ONE: 1})


def pack_into_inputs(cs: ConstraintSystem, bits: Sequence[Bit]) -> list[Variable]:
    """New inputs that hold bits, least significant first; one row each, sum * 1 = input."""
    size = capacity(cs.curve)
    return [
        cs.define_product(bits_lc(bits[first : first + size]), {ONE: 1}, is_input=True)
        for first in range(0, len(bits), size)
    ]


def packed_values(curve: Curve, bits: Sequence[int]) -> list[int]:
    """What pack_into_inputs makes of bits that are known: the public inputs for a verifier."""
    size = capacity(curve)
    return [
        sum(bit << i for i, bit in enumerate(bits[first : first + size]))
        for first in range(0, len(bits), size)
    ]
