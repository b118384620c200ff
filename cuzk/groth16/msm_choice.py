"""Which plan a multi-scalar multiplication of a proof takes: what the variants D4 and M1 decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from cuzk.curves import GroupSpec
from cuzk.device.base import Device, DeviceLimits
from cuzk.errors import InputError, OutOfMemoryError
from cuzk.ops.msm_memory import plan_msm_within
from cuzk.ops.msm_windows import measured_models, nearest_window
from cuzk.ops.plan_msm import MAX_WINDOW_BITS, MIN_WINDOW_BITS, MsmPlan, plan_msm

__all__ = ["MsmChoice", "check_windows", "rounds_of"]

#: M1 -> rounds of affine additions before the rest is added up in XYZZ form; None: as many as pay.
_ROUNDS = {"auto": None, "xyzz": 0, "batched_affine": 2}
#: Windows that tuning tries, from the plan's own choice.
_TRIED = (-2, -1, 0, 1, 2)


def rounds_of(variants: Mapping[str, str]) -> int | None:
    """Rounds of affine additions that M1 asks for."""
    return _ROUNDS[variants["M1"]]


def check_windows(variants: Mapping[str, str], limits: DeviceLimits) -> None:
    """Refuse measured windows on a device whose model was not measured.

    Raises:
        InputError: D4=per_msm, and the table has nothing of this model.
    """
    if variants["D4"] == "per_msm" and limits.model not in measured_models():
        known = ", ".join(measured_models())
        raise InputError(
            f"variant D4=per_msm takes windows from the table of measured ones, which has none of "
            f"{limits.model or 'this device'}",
            limit=f"models in the table: {known}",
            remedy="leave D4 out, or measure with D4=autotuned",
        )


class MsmChoice:
    """Plans for the multiplications of one device and curve.

    Args:
        device: Where they run.
        variants: Every variant's value.
        longest: Terms of the longest multiplication: what D4=largest takes the window of.
        tuned: (group, log2 of terms) -> bits of the fastest window; filled by tune(), kept from proof to proof.
    """

    def __init__(
        self,
        device: Device,
        variants: Mapping[str, str],
        longest: int,
        tuned: dict[tuple[str, int], int],
    ) -> None:
        self.device, self.setting = device, variants["D4"]
        self.rounds = rounds_of(variants)
        self._longest, self._tuned = longest, tuned

    def plan(self, terms: int, group: GroupSpec, workspace: int | None) -> MsmPlan:
        """The plan for so many terms, >= 1.

        Args:
            terms: How many.
            group: The bases' group.
            workspace: Bytes that lists and buckets may take; None where there is plenty.

        Raises:
            OutOfMemoryError: A window that was asked for by its bits does not fit.
        """
        bits = self._window(terms, group)
        try:
            return self._cut(terms, group, workspace, bits)
        except OutOfMemoryError:
            if bits is None or self.setting.isdigit():
                raise
            return self._cut(terms, group, workspace, None)

    def _window(self, terms: int, group: GroupSpec) -> int | None:
        """Bits of the window, None for the plan's own choice."""
        if self.setting.isdigit():
            return int(self.setting)
        if self.setting == "largest":
            return plan_msm(max(self._longest, 1), group.curve.g1, self.device.limits).window_bits
        if self.setting == "per_msm":
            return nearest_window(self.device.limits.model, group.full_name, terms)
        return self._tuned.get(_key(terms, group)) if self.setting == "autotuned" else None

    def _cut(self, terms: int, group: GroupSpec, workspace: int | None, bits: int | None) -> MsmPlan:
        limits, rounds = self.device.limits, self.rounds
        if workspace is not None:
            return plan_msm_within(terms, group, limits, workspace, window_bits=bits, rounds=rounds)
        try:
            return plan_msm(terms, group, limits, window_bits=bits, rounds=rounds)
        except OutOfMemoryError:
            if not rounds:
                raise
            return plan_msm(terms, group, limits, window_bits=bits, rounds=0)

    def wants_tuning(self, terms: int, group: GroupSpec) -> bool:
        """Whether a multiplication of about this size is to be timed first."""
        return self.setting == "autotuned" and _key(terms, group) not in self._tuned

    def tune(
        self, terms: int, group: GroupSpec, workspace: int | None, time_of: Callable[[MsmPlan], float]
    ) -> dict[int, float]:
        """Time a multiplication with some windows around the plan's choice, and keep the fastest.

        Args:
            terms: As for plan().
            group: As for plan().
            workspace: As for plan().
            time_of: Runs the multiplication with a plan; returns its time, in any unit.

        Returns:
            Bits -> time, of every window that was tried.
        """
        own = self._cut(terms, group, workspace, None).window_bits
        times: dict[int, float] = {}
        for bits in sorted({min(max(own + step, MIN_WINDOW_BITS), MAX_WINDOW_BITS) for step in _TRIED}):
            try:
                plan = self._cut(terms, group, workspace, bits)
            except OutOfMemoryError:
                continue
            times[bits] = time_of(plan)
        self._tuned[_key(terms, group)] = min(times, key=lambda bits: times[bits])
        return times


def _key(terms: int, group: GroupSpec) -> tuple[str, int]:
    """Multiplications that are tuned together: of one group, and within a factor of the root of 2."""
    return group.full_name, round(math.log2(terms))
