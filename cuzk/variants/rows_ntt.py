"""Variants of the transforms and of the quotient."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

ROWS = (
    Variant(
        id="N1",
        name="largest radix of an NTT pass",
        phase=("ntt_h",),
        values=("auto", "2^1", "2^2", "2^4", "2^6", "2^8"),
        default="auto",
        promise="The same values; a transform is cut into more passes through memory, each with tables of its own. "
        "Coset factors and 1/n ride on the first or last pass in every case.",
        forecast="auto (radices up to 2^10) is the fastest from 2^12 on; 2^6 costs 7% at 2^20, 2^1 costs 5 times "
        "as much.",
        trace="N1",
    ),
    Variant(
        id="Q1",
        name="quotient",
        phase=("ntt_h",),
        values=("auto", "seven_ntt", "six_ntt", "four_ntt"),
        default="auto",
        promise="The same sum over H and L together; monomial H bases take seven transforms, odd Lagrange ones six, or "
        "four where matrix C is folded into the L bases when the key is loaded (a conversion of every H point; it "
        "needs matrix C, by which rows are checked before). What a key's H bases do not allow is refused.",
        forecast="six saves 14% of ntt_h against seven, four 33% against six, for 1% more of tail_msm; folding takes "
        "as long as 50 proofs.",
        trace="Q1",
    ),
)
