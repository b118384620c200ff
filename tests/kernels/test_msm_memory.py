"""Plans within a workspace, measured: what a launch takes from the arena of a device that computes nothing.

Would catch: an array of the multiplication that the plan forgets, rounds of additions whose products fill the room.
"""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.errors import OutOfMemoryError
from cuzk.ops.batch_add import launch_batch_add
from cuzk.ops.msm import launch_msm
from cuzk.ops.msm_memory import border_bytes, pair_bytes, plan_msm_within, sum_bytes
from tests.prover.dry import POREP, DryDevice

CURVE = get_curve("bls12_381")


@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize("log_n", [4, 10, 17, 20, 22])
def test_a_launch_keeps_within(log_n: int, group_name: str) -> None:
    """From the least workspace that is taken to one in which everything fits at once; more lets more windows in."""
    group, n = getattr(CURVE, group_name), 1 << log_n
    device = DryDevice(64 << 30, POREP)
    bases, scalars = device.alloc((n, *group.affine_shape)), device.alloc((n, CURVE.fr.limbs))
    least = border_bytes(n * CURVE.fr.bits, group, device.limits) + 32 * n + (128 << 10)
    windows, rounds = [], []
    for workspace in (
        least,
        2 * least,
        5 * least,
        16 * least,
        2 * pair_bytes(group, device.limits) + 8 * least,
        30 << 30,
    ):
        before = device.memory().used
        device.reset_memory_peak()
        plan = plan_msm_within(n, group, device.limits, workspace)
        pending = launch_msm(device, group, bases, scalars, plan=plan)
        assert pending.sums is not None
        kept = int(pending.sums.nbytes) + (64 << 10)  # and what the blocks of the arena round up
        assert device.memory().peak - before <= workspace + kept, workspace
        windows.append(plan.windows_per_pass)
        rounds.append(plan.buckets.rounds)
        del pending
    assert max(windows) == plan_msm_within(n, group, device.limits, 30 << 30).num_windows
    assert windows[0] <= windows[-1]
    assert rounds[0] == 0
    assert log_n < 20 or rounds[-1] > 0


@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize("n", [1, 1000, 1 << 20, 5 << 20])
def test_a_sum_keeps_within(n: int, group_name: str) -> None:
    """With rounds no more than sum_bytes() says, and without them next to nothing."""
    group = getattr(CURVE, group_name)
    device = DryDevice(64 << 30, POREP)
    bases, ones = device.alloc((n, *group.affine_shape)), device.alloc((n,), np.uint32)
    for rounds, most in ((None, sum_bytes(n, group, device.limits)), (0, 0)):
        before = device.memory().used
        device.reset_memory_peak()
        pending = launch_batch_add(device, group, bases, ones, rounds=rounds)
        assert pending.sums is not None
        assert device.memory().peak - before <= most + int(pending.sums.nbytes) + (64 << 10)
        del pending


def test_nothing_fits() -> None:
    """Less than one window, and fixed windows with more buckets than there is room for."""
    limits = DryDevice(1 << 30, POREP).limits
    with pytest.raises(OutOfMemoryError):
        plan_msm_within(1 << 20, CURVE.g1, limits, 1 << 20)
    least = border_bytes(1 << 30, CURVE.g1, limits) + (33 << 20)
    assert plan_msm_within(1 << 20, CURVE.g1, limits, least).windows_per_pass >= 1
    with pytest.raises(OutOfMemoryError, match="smaller windows"):
        plan_msm_within(1 << 20, CURVE.g1, limits, least, window_bits=22)


def test_no_pairs_on_a_core() -> None:
    """A device without lanes has no products to keep, and few borders."""
    limits = DryDevice(1 << 30, POREP).reference.limits
    plan = plan_msm_within(1 << 16, CURVE.g1, limits, 1 << 24)
    assert plan.buckets.rounds == 0
    assert border_bytes(1 << 16, CURVE.g1, limits) < 1 << 16
    assert np.isscalar(pair_bytes(CURVE.g1, limits))
