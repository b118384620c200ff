"""Variants of the sums of points."""

from __future__ import annotations

from cuzk.variants.model import Variant

__all__ = ["ROWS"]

_ONE_THREAD = "a block of the cpu device is one thread"
_BLOCKS = ("32x4", "64x4", "128x1", "128x4")
_CPU_BLOCKS = ("1x1", "1x4")

ROWS = (
    Variant(
        id="A4",
        name="B_G2 multi-scalar multiplication",
        phase=("b_g2_msm",),
        values=("pippenger", "par_map", "gpu"),
        default="pippenger",
        default_on={"emu": "gpu", "cuda": "gpu"},
        promise="The same sum; `gpu` makes it on the key's device, the others on the processor, bases of scalar one "
        "included and beside the device's other phases: one circuit after the other on all threads, or each circuit "
        "on a thread of its own.",
        forecast="On a GPU, gpu is faster than both from 2^16 rows on; pippenger is hidden behind the device's phases "
        "where 16 cores or more serve one GPU. par_map beats pippenger for 10 circuits on 2 cores by 5%, and loses "
        "by the number of cores for one circuit.",
        trace="A4",
        not_on={
            "cpu": {
                "gpu": "the key is on the cpu; there `pippenger` is the multiplication on the key's device"
            }
        },
    ),
    Variant(
        id="D2",
        name="batch_add threads a block x blocks a multiprocessor",
        phase=("batch_add",),
        values=("auto", *_BLOCKS, *_CPU_BLOCKS),
        default="auto",
        promise="The same sums; registers, occupancy and the number of partial sums differ.",
        forecast="auto is within 5% of the best; 128x1 loses 30% to 128x4 on a GPU. Nothing on a cpu.",
        trace="D2",
        not_on={
            "cpu": dict.fromkeys(_BLOCKS, _ONE_THREAD),
            "emu": dict.fromkeys(_CPU_BLOCKS, "a block is a warp at least"),
            "cuda": dict.fromkeys(_CPU_BLOCKS, "a block is a warp at least"),
        },
    ),
    Variant(
        id="D4",
        name="MSM window bits",
        phase=("msm_h", "tail_msm", "b_g2_msm"),
        values=("auto", *(str(bits) for bits in range(2, 25)), "largest", "per_msm", "autotuned"),
        default="auto",
        promise="The same sums; time, bucket memory and the number of windows differ. `auto`: for each "
        "multiplication what was measured near its size, else the cost model's choice; `largest`: for all what auto "
        "takes for the longest in G1; `per_msm`: the measured table, the nearest size; `autotuned`: five widths are "
        "timed in a prover's first proof.",
        forecast="auto is within 10% of the best fixed width at every size from 2^10 to 2^24; largest loses 5% of "
        "tail_msm and b_g2_msm; autotuned gains 3% from the second proof on.",
        trace="D4",
        not_on={kind: {"per_msm": "windows were measured on models of GPUs only"} for kind in ("cpu", "emu")},
    ),
    Variant(
        id="D5",
        name="MSM context",
        phase=("msm_h", "tail_msm", "b_g2_msm", "msm_init"),
        values=("shared", "per_query"),
        default="shared",
        promise="The same sums; memory and tables are made once for the multiplications of a phase, or again for "
        "every query, as a phase of their own (msm_init).",
        forecast="shared saves 1 ms a query on a GPU, less than 0.5% of a proof at 2^22.",
        trace="D5",
    ),
    Variant(
        id="M1",
        name="additions inside buckets",
        phase=("msm_h", "batch_add", "tail_msm", "b_g2_msm"),
        values=("auto", "xyzz", "batched_affine"),
        default="auto",
        promise="The same sums; points are added one by one in XYZZ form, or first in two rounds of affine pairs that "
        "share inversions; auto takes as many rounds as pay. Digits are signed in every case.",
        forecast="On a GPU affine rounds save 25% of msm_h from 2^20 terms on; on a cpu they cost 10%.",
        trace="M1",
    ),
    Variant(
        id="M2",
        name="MSM split by scalar class",
        phase=("prep_msm", "batch_add", "tail_msm", "b_g2_msm"),
        values=("index", "split", "none"),
        default="index",
        promise="The same sums; all but `none` add up the bases of scalar one apart and leave out those of scalar "
        "zero. The others are taken by lists of indices into bases and scalars (`index`), or their scalars are "
        "copied into vectors of their own first (`split`). No base is copied.",
        forecast="index saves 60 to 90% of tail_msm on circuits made of bits, and costs 2% on others; split is within "
        "2% of index.",
        trace="M2",
    ),
)
