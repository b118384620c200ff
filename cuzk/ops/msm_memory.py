"""Plans of multi-scalar multiplications that keep within a number of bytes, scratch of the additions included."""

from __future__ import annotations

from cuzk.curves import GroupSpec
from cuzk.device.base import DeviceLimits
from cuzk.errors import OutOfMemoryError
from cuzk.ops.plan_msm import MsmPlan, plan_msm
from cuzk.ops.plan_sums import places_left, plan_sums

__all__ = ["border_bytes", "pair_bytes", "plan_msm_within", "scratch_bytes", "sum_bytes"]


def pair_bytes(group: GroupSpec, limits: DeviceLimits) -> int:
    """Bytes that rounds of affine additions take beside the points: products of all pairs that share inversions."""
    shape = plan_sums(1, 1, group, limits, rounds=1)
    return shape.pair_grid * shape.pair_block * shape.chunk * group.affine_bytes // 2


def border_bytes(n: int, group: GroupSpec, limits: DeviceLimits) -> int:
    """Most bytes of what is open at the borders of the pieces that n points are cut into."""
    return plan_sums(max(n, 1), 1, group, limits, rounds=0).num_segments * (2 * group.xyzz_bytes + 8)


def scratch_bytes(group: GroupSpec, limits: DeviceLimits) -> int:
    """Most bytes that a multiplication of any length takes beside lists and buckets."""
    return pair_bytes(group, limits) + border_bytes(2**40, group, limits)


def sum_bytes(n: int, group: GroupSpec, limits: DeviceLimits) -> int:
    """Most bytes that adding up n points in rounds takes (batch_add)."""
    halves = places_left(n, 1, 1) * (8 + group.affine_bytes) + places_left(n, 1, 2) * group.affine_bytes
    return pair_bytes(group, limits) + border_bytes(n, group, limits) + halves


def plan_msm_within(
    n: int,
    group: GroupSpec,
    limits: DeviceLimits,
    workspace: int,
    *,
    window_bits: int | None = None,
    rounds: int | None = None,
) -> MsmPlan:
    """Cut a multi-scalar multiplication so that all its arrays fit a workspace.

    Args:
        n: Number of terms, >= 1.
        group: Where the bases live.
        limits: The device.
        workspace: Bytes.
        window_bits: As for plan_msm().
        rounds: As for plan_msm(), as far as there is room for them.

    Returns:
        A plan with rounds of affine additions where half of the workspace is left beside their products, else
        without. Its window sums are not counted.

    Raises:
        OutOfMemoryError: Not even one window fits.

    Checked by: tests/kernels/test_msm_memory.py.
    """
    bits = group.curve.fr.bits + 1
    borders = border_bytes(bits * n, group, limits)
    pairs = pair_bytes(group, limits)
    if rounds != 0 and (limits.gpu_like or rounds) and workspace - borders >= 2 * pairs:
        memory = workspace - borders - pairs
        try:
            return plan_msm(n, group, limits, window_bits=window_bits, rounds=rounds, memory_bytes=memory)
        except OutOfMemoryError:  # with fixed windows: their buckets want all of it
            pass
    return plan_msm(
        n, group, limits, window_bits=window_bits, rounds=0, memory_bytes=max(1, workspace - borders)
    )
