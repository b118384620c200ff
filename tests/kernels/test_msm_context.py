"""Memory and tables that multi-scalar multiplications share.

Would catch: a list of lines that belongs to other windows, arrays that are too short for a later multiplication, what
the last one left read as if it were the next one's, memory that is made again although there is enough.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.limbs import fr_from_ints
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.msm import launch_msm
from cuzk.ops.msm_context import MsmContext
from cuzk.ops.plan_msm import plan_msm

#: (terms, window bits, rounds of affine additions), and whether the memory of those before is too small.
CALLS = (
    (60, 5, 0, True),
    (60, 5, 0, False),
    (20, 4, 0, False),
    (20, 3, 0, False),
    (60, 5, 2, True),
    (33, 5, 1, False),
    (60, 7, 0, True),
    (1, 7, 2, True),
)


@pytest.mark.parametrize("kind", ["cpu", "emu"])
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_calls_of_all_shapes_share_a_context(kind: str, group_name: str) -> None:
    """Each gives what it gives alone; several are on their way at once; memory grows only where it must."""
    curve, device = get_curve("toy"), get_device(kind)
    group = getattr(curve, group_name)
    source = random.Random(1)
    points = fixed_base_mul(
        device, group, device.upload(fr_from_ints(curve, [source.randrange(curve.r) for _ in range(60)]))
    )
    scalars = device.upload(fr_from_ints(curve, [source.randrange(curve.r) for _ in range(60)]))
    context, pending, alone, built = MsmContext(device, group), [], [], 0
    for n, bits, rounds, grows in CALLS:
        plan = plan_msm(n, group, device.limits, window_bits=bits, rounds=rounds)
        indices = device.upload(np.arange(60 - n, 60, dtype=np.uint32))
        pending.append(
            launch_msm(device, group, points, scalars, indices=indices, plan=plan, context=context)
        )
        alone.append(launch_msm(device, group, points, scalars, indices=indices, plan=plan).result())
        assert context.built == built + grows, (n, bits, rounds)
        built = context.built
    assert built < len(CALLS)
    for one, expected in zip(pending, alone, strict=True):
        assert np.array_equal(one.result(), expected)
    again = context.built
    context.release()
    context.prepare(plan_msm(1, group, device.limits, window_bits=2))
    assert context.built == again + 1
