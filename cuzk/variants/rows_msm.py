"""Variants of the sums of points."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

ROWS = (
    Variant(
        id="D4",
        name="MSM window bits",
        phase=("msm_h", "tail_msm", "b_g2_msm"),
        values=("auto", *(str(bits) for bits in range(2, 25))),
        default="auto",
        promise="The same sums; time, bucket memory and the number of windows differ.",
        forecast="auto is within 10% of the best fixed width at every size from 2^10 to 2^24.",
        trace="D4",
    ),
    Variant(
        id="M2",
        name="MSM split by scalar class",
        phase=("batch_add", "tail_msm", "b_g2_msm"),
        values=("split", "none"),
        default="split",
        promise="The same sums; `split` adds up the bases of scalar one and leaves out those of scalar zero.",
        forecast="split saves 60 to 90% of tail_msm on circuits made of bits, and costs 2% on others.",
        trace="M2",
    ),
)
