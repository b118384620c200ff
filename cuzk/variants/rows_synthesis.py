"""Variants of the way from a witness to a, b and c."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

_CLOSURES = ("P5", "closures")

ROWS: tuple[Variant, ...] = (
    Variant(
        id="P5",
        name="synthesis",
        phase=("spmv", "closures"),
        values=("pce", "template", "closures"),
        default="pce",
        promise="The same a, b, c; `pce` multiplies recorded matrices, `template` the pieces of a compiled circuit "
        "where they occur (the default where the circuit is compiled; any other is one piece), `closures` rebuilds "
        "every linear combination on the host, in one thread.",
        forecast="template reads no matrix, 2 to 3 GB for each 100 million entries, and takes half the time of pce on "
        "a GPU at 2^27 rows; closures takes 3 to 10 times the processor time of pce on the cpu.",
        trace="P5",
    ),
    Variant(
        id="A1",
        name="linear-combination indexer",
        phase=("closures",),
        values=("vec", "small1", "small2", "small4"),
        default="vec",
        promise="The same terms; inline room for 1, 2 or 4 of them, or none.",
        forecast="Every inline room costs 9 to 10% of the synthesis.",
        trace="A1",
        only_with=_CLOSURES,
    ),
    Variant(
        id="A2",
        name="pre-sized vectors in synthesis",
        phase=("closures",),
        values=("off", "on"),
        default="off",
        promise="The same vectors, with their memory from the start or growing.",
        forecast="No difference: below 1%.",
        trace="A2",
        only_with=_CLOSURES,
    ),
    Variant(
        id="A3",
        name="in-place addition, recycled storage",
        phase=("closures",),
        values=("off", "on"),
        default="off",
        promise="The same terms, added where the combination is instead of by value, in memory that serves again.",
        forecast="on saves 8% of the synthesis, 15% of its instructions and 27% of its branches.",
        trace="A3",
        only_with=_CLOSURES,
    ),
    Variant(
        id="A5",
        name="prefetch in closure synthesis",
        phase=("closures",),
        values=("off", "on"),
        default="off",
        promise="The same sums; values are asked for before they are needed, or not.",
        forecast="on saves up to 3% where the assignment is larger than the cache, and costs 1% elsewhere.",
        trace="A5",
        only_with=_CLOSURES,
    ),
)
