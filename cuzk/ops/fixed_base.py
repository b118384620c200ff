"""Many multiples of one point, as set-up needs them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzk.curves import GroupSpec
from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError
from cuzk.limbs import points_from_ints
from cuzk.ops.plan_msm import FixedBasePlan, plan_fixed_base, sum_shape
from cuzk.ops.points import alloc_points, alloc_xyzz, check_scalars_shape, normalize

__all__ = ["FixedBase", "fixed_base_mul"]


class FixedBase:
    """The table of one base's small multiples, kept on a device for any number of calls.

    Args:
        device: Where the table lives.
        group: The base's group.
        plan: Window and chunk sizes.
        base: Affine point on the host, Shape affine_shape, Form: Montgomery, < p; the generator where None.

    Cost: 2^(window_bits - 1) * num_windows additions and as many shares of an inversion.
    """

    def __init__(
        self,
        device: Device,
        group: GroupSpec,
        plan: FixedBasePlan,
        base: npt.NDArray[np.uint64] | None = None,
    ) -> None:
        if base is None:
            base = points_from_ints(group, [group.generator])[0]
        if base.shape != group.affine_shape or base.dtype != np.uint64:
            raise ShapeError(
                f"base has shape {base.shape} and type {base.dtype}", limit=f"{group.affine_shape} uint64"
            )
        self.device, self.group, self.plan = device, group, plan
        self._table = self._build(device.upload(np.ascontiguousarray(base)))

    def _build(self, base: Array) -> Array:
        device, group, plan = self.device, self.group, self.plan
        entries = 1 << (plan.window_bits - 1)
        windows = alloc_points(device, group, plan.num_windows)
        grid, block = sum_shape(plan.num_windows, group, device.limits)
        device.launch(
            f"fixed_base_windows_{group.full_name}", grid=grid, block=block,
            base=base, windows=windows, num_windows=plan.num_windows, window_bits=plan.window_bits,
        )  # fmt: skip
        table = alloc_xyzz(device, group, plan.num_windows * entries)
        grid, block = sum_shape(plan.num_windows * entries // plan.run, group, device.limits)
        device.launch(
            f"fixed_base_table_{group.full_name}", grid=grid, block=block,
            windows=windows, table=table, num_windows=plan.num_windows, entries=entries, run=plan.run,
        )  # fmt: skip
        return normalize(device, group, table)

    def mul(self, scalars: Array) -> Array:
        """scalars[i] * base for every i.

        Args:
            scalars: Shape (n, limbs) uint64, on the device. Form: Montgomery, < r.

        Returns:
            Shape (n, *affine_shape) uint64, on the device. Form: affine, Montgomery, < p.

        Raises:
            ShapeError: scalars has another shape.
            KernelFault: A scalar is >= r.

        Cost: num_windows mixed additions and 8 multiplications a scalar.
        Source: Brickell, Gordon, McCurley, Wilson 1992, doi:10.1007/3-540-47555-9_18, with signed digits.
        Checked by: tests/kernels/test_fixed_base.py.
        """
        device, group, plan = self.device, self.group, self.plan
        n = check_scalars_shape(group, scalars)
        result = alloc_points(device, group, n)
        sums = alloc_xyzz(device, group, min(n, plan.chunk))
        for first in range(0, n, plan.chunk):
            count = min(plan.chunk, n - first)
            grid, block = sum_shape(count, group, device.limits)
            device.launch(
                f"fixed_base_mul_{group.full_name}", grid=grid, block=block,
                scalars=scalars[first : first + count], table=self._table, dst=sums, n=count,
                num_windows=plan.num_windows, window_bits=plan.window_bits,
            )  # fmt: skip
            normalize(device, group, sums[:count], out=result[first : first + count])
        return result


def fixed_base_mul(
    device: Device,
    group: GroupSpec,
    scalars: Array,
    *,
    base: npt.NDArray[np.uint64] | None = None,
    window_bits: int | None = None,
) -> Array:
    """scalars[i] * base for every i, with a table made for this call.

    Args:
        device: Where scalars lives.
        group: Where the base lives.
        scalars: Shape (n, limbs) uint64. Form: Montgomery, < r.
        base: Affine point on the host, Shape affine_shape, Form: Montgomery, < p; the generator where None.
        window_bits: 2..16; by the cost model where None.

    Returns:
        Shape (n, *affine_shape) uint64, on the device. Form: affine, Montgomery, < p.

    Raises:
        ShapeError: A shape that does not fit.
        RangeError: window_bits out of range.
        KernelFault: A scalar is >= r.

    Cost: See FixedBase and FixedBase.mul.
    Checked by: tests/kernels/test_fixed_base.py.
    """
    n = check_scalars_shape(group, scalars)
    plan = plan_fixed_base(max(n, 1), group, device.limits, window_bits=window_bits)
    if n == 0:
        return alloc_points(device, group, 0)
    return FixedBase(device, group, plan, base).mul(scalars)
