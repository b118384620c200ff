"""Neighbours of a bucket added in affine coordinates, as the cpu device does in blocks: against the exponents.

Would catch: a pair across two buckets or two blocks, an odd one out that is lost or counted twice, an inverse used for
another pair, equal, opposite and infinite neighbours mishandled, a run that fills several blocks.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.limbs import fr_from_ints
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import msm
from cuzk.ops.plan_msm import plan_msm


@pytest.mark.parametrize("curve_name", ["toy", "bn254", "bls12_381"])
@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize(
    ("n", "scalars"),
    [
        (47, "one"), (48, "one"), (49, "one"), (512, "one"), (513, "one"), (1500, "one"), (1500, "few"), (1500, "any"),
    ],
)  # fmt: skip
def test_sums_of_runs(curve_name: str, group_name: str, n: int, scalars: str, rng: random.Random) -> None:
    """One bucket, a few, many; one piece and several. Half of the neighbours are equal, opposite or infinity."""
    curve, cpu = get_curve(curve_name), get_device("cpu")
    group = getattr(curve, group_name)
    some = [0, 1, 1, curve.r - 1, 2]
    exponents = [rng.choice(some) if rng.random() < 0.5 else rng.randrange(curve.r) for _ in range(n)]
    most = {"one": 2, "few": 5, "any": curve.r}[scalars]
    factors = [rng.randrange(1, most) for _ in range(n)]
    bases = cpu.upload(np.asarray(cpu.download(fixed_base_mul(cpu, group, fr_from_ints(curve, exponents)))))
    total = sum(e * f for e, f in zip(exponents, factors, strict=True)) % curve.r
    expected = cpu.download(fixed_base_mul(cpu, group, fr_from_ints(curve, [total])))[0]
    for pieces in (1, 2, 7):
        for window_bits in (3, 8):
            plan = plan_msm(n, group, cpu.limits, window_bits=window_bits, num_segments=pieces, min_segment=1)
            found = msm(cpu, group, bases, fr_from_ints(curve, factors), plan=plan)
            assert (found == expected).all()
