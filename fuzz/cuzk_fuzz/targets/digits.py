"""Signed digits, bucket counts and the counting sort: the first half of a multi-scalar multiplication."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from cuzk_oracles import edge_values, msm

from cuzk.curves import Curve, get_curve
from cuzk.device import Device
from cuzk.errors import KernelFault
from cuzk.limbs import fr_from_ints, ints_to_limbs
from cuzk.ops.plan_msm import wide_shape
from cuzk.ops.scan import exclusive_scan
from cuzk_fuzz.batch import REJECTED, Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import by_class, scalar_hits, size_ids, sizes
from cuzk_fuzz.subjects import CURVES
from cuzk_fuzz.targets.msm import draw_scalars

_BLOCK, _GRID = 256, 8
_SIGN = np.uint32(1 << 31)


@dataclass(frozen=True, eq=False)
class DigitsBatch(Batch):
    """One vector of scalars; a row of answers is a scalar's digits and the bucket order's verdict.

    Attributes:
        subject: The curve.
        scalars: Standard form.
        window_bits, scalar_bits: As for msm.
        windows: First window, and how many: a pass may hold only some of them.
        raw: A number that must be refused as the last scalar in memory, or None.
        excess: A last scalar below r with more than scalar_bits bits, which must be refused, or None.
        bad_index: Scalars are named by a list whose last entry is one too large: to be refused, too.
    """

    target: ClassVar[str] = "digits"
    subject: str
    scalars: tuple[int, ...]
    window_bits: int
    scalar_bits: int
    windows: tuple[int, int]
    raw: int | None = None
    excess: int | None = None
    bad_index: bool = False
    op: str = "digits"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Any window from 2 to 24 bits; buckets are counted, not summed, so even those are cheap enough."""
        curve = get_curve(choices.pick([n for n in CURVES if f"msm_digits_{n}_fr" in scope.kernels]))
        largest = 16 if scope.small else 24
        c = choices.between(2, largest) if choices.one_in(12) else choices.between(2, 10)
        bits = curve.r.bit_length()
        scalar_bits = bits if choices.one_in(2) else choices.between(1, bits)
        count = msm.num_signed_windows(scalar_bits, c)
        first = choices.below(count) if choices.one_in(3) else 0
        most = max(1, (1 << (15 if scope.small else 18)) >> c)  # buckets in memory
        number = min(count - first, most)
        n = choices.pick_class(sizes(_BLOCK, _GRID, 2100))
        raw = None
        if n and choices.one_in(8):
            raw = choices.pick_class(by_class(edge_values.rejected_scalars(curve.r, curve.fr.limbs)))
        excess = None
        if (
            n and raw is None and scalar_bits < bits and choices.one_in(3)
        ):  # one bit too many: the first, or any
            place = scalar_bits if choices.one_in(2) else choices.between(scalar_bits, bits - 1)
            excess = 1 << place | (choices.below(1 << place) if place < bits - 1 else 0)
        bad_index = n > 0 and raw is None and excess is None and choices.one_in(12)
        scalars = tuple(draw_scalars(choices, curve.r, n, c, scalar_bits))
        return cls(curve.name, scalars, c, scalar_bits, (first, number), raw, excess, bad_index)

    @property
    def refused(self) -> bool:
        """Whether a kernel has to refuse it."""
        return self.raw is not None or self.excess is not None or self.bad_index

    @property
    def curve(self) -> Curve:
        """The curve."""
        return get_curve(self.subject)

    @property
    def num_cases(self) -> int:
        """Scalars."""
        return len(self.scalars)

    def answers(self, device: Device) -> Rows:
        """Digits from one launch; counts, their prefix sums and the sorted list from three more."""
        n, c, (first, number) = self.num_cases, self.window_bits, self.windows
        if n == 0:
            return np.zeros((0, number + 1), np.uint64)
        keys = number << (c - 1)
        digits, offsets = (
            device.alloc((number * n,), np.uint32),
            device.alloc((keys + 1,), np.uint32, zero=True),
        )
        entries = device.alloc((number * n,), np.uint32)
        last = () if self.excess is None else (self.excess,)
        scalars = fr_from_ints(self.curve, (*self.scalars[: n - len(last)], *last))
        indices: Any = 0
        if self.bad_index:
            indices = device.upload(np.append(np.arange(n - 1, dtype=np.uint32), np.uint32(n)))
        if self.raw is not None:
            scalars[-1] = ints_to_limbs([self.raw], self.curve.fr.limbs)[0]
        grid, block = wide_shape(n, device.limits)
        try:
            device.launch(
                f"msm_digits_{self.subject}_fr", grid=grid, block=block, scalars=device.upload(scalars),
                indices=indices, digits=digits, offsets=offsets, n=n, num_scalars=n,
                scalar_bits=self.scalar_bits, window_bits=c, first_window=first, num_windows=number,
            )  # fmt: skip
            found = device.download(digits).reshape(number, n)
        except KernelFault:
            sound = not self.bad_index or self._refuses_inside(device)
            return np.full((n, number + 1), REJECTED if sound else 0, np.uint64)
        exclusive_scan(device, self.curve, offsets[1:])
        device.launch(
            f"msm_scatter_{self.subject}_fr", grid=grid, block=block, digits=digits, indices=0, offsets=offsets,
            entries=entries, n=n, num_bases=n, window_bits=c, num_windows=number,
        )  # fmt: skip
        total = int(device.download(offsets[keys:])[0])
        verdict = self._sorted_right(found, device.download(offsets), device.download(entries)[:total])
        return np.column_stack([found.T.astype(np.uint64), verdict])

    def _refuses_inside(self, device: Device) -> bool:
        """Whether the sort and the list of pairs refuse a bad index, and name only bases that there are after that.

        What is launched before the fault is looked at follows those names.
        """
        n, grid_block = self.num_cases, wide_shape(self.num_cases, device.limits)
        entries, pairs = (device.alloc((n,), kind, zero=True) for kind in (np.uint32, np.uint64))
        offsets = device.upload(np.array([0, 0, n], np.uint32))
        bad = device.upload(np.full(n, n, np.uint32))
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("msm_scatter", {
                "digits": device.upload(np.ones(n, np.uint32)), "indices": bad, "offsets": offsets,
                "entries": entries, "n": n, "num_bases": n, "window_bits": 2, "num_windows": 1,
            }),
            ("msm_pair_list", {
                "entries": bad, "offsets": device.upload(np.array([0, 1], np.uint32)),
                "next_offsets": device.upload(np.array([0, 1], np.uint32)), "pairs": pairs, "num_keys": 1,
                "num_points": 1, "sign_mask": int(_SIGN),
            }),
        )  # fmt: skip
        refused = 0
        for kernel, arguments in calls:
            try:
                device.launch(
                    f"{kernel}_{self.subject}_fr", grid=grid_block[0], block=grid_block[1], **arguments
                )
                device.synchronize()
            except KernelFault:
                refused += 1
        named = device.download(entries).max(initial=0), int(device.download(pairs)[0]) & 0x7FFFFFFF
        return refused == len(calls) and named[0] < n and named[1] < 1

    def _sorted_right(
        self, digits: npt.NDArray[np.uint32], offsets: npt.NDArray[np.uint32], entries: npt.NDArray[np.uint32]
    ) -> Rows:
        """1 for every scalar all of whose entries lie in the bucket of their digit, with its sign; else 0."""
        n = digits.shape[1]
        bucket = (digits & ~_SIGN).astype(np.int64) - 1
        window, index = np.nonzero(bucket >= 0)
        keys = (window << (self.window_bits - 1)) + bucket[window, index]
        wanted = keys << 32 | index | (digits[window, index] & _SIGN).astype(np.int64)
        placed = np.searchsorted(offsets, np.arange(len(entries)), side="right") - 1
        got = placed << 32 | entries.astype(np.int64)
        a, b = Counter(wanted.tolist()), Counter(got.tolist())
        wrong = (a - b) + (b - a)
        verdict = np.ones(n, np.uint64)
        for both in wrong:
            verdict[min(both & 0x7FFFFFFF, n - 1)] = 0  # an entry that names no base is anybody's fault
        return verdict

    def expected(self) -> Rows:
        """Digit by digit on ints; every entry in its place."""
        first, number = self.windows
        if self.refused and self.num_cases:
            return np.full((self.num_cases, number + 1), REJECTED)
        count = msm.num_signed_windows(self.scalar_bits, self.window_bits)
        rows = np.ones((self.num_cases, number + 1), np.uint64)
        for i, scalar in enumerate(self.scalars):
            digits = msm.signed_digits(scalar, self.window_bits, count)[first : first + number]
            rows[i, :-1] = [d if d >= 0 else -d | 1 << 31 for d in digits]
        return rows

    def classes(self) -> Counter[str]:
        """Ids of scalars and of their number."""
        r, limbs = self.curve.r, self.curve.fr.limbs
        hits = scalar_hits(self.scalars, r, self.window_bits, self.scalar_bits)
        hits.update(size_ids(self.num_cases, _BLOCK, _GRID))
        hits.update(name for name, value in edge_values.rejected_scalars(r, limbs) if value == self.raw)
        return +hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some scalars."""
        return replace(self, scalars=tuple(self.scalars[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Scalars, their bits, the window."""
        return len(self.scalars), sum(v.bit_count() for v in self.scalars), self.window_bits

    def smaller(self) -> Iterator[Self]:
        """Scalars with fewer bits."""
        for i, value in enumerate(self.scalars):
            for other in (0, 1, value >> 1, value & (value - 1) if value else 0):
                yield replace(self, scalars=(*self.scalars[:i], other, *self.scalars[i + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """Scalars in standard form."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "form": "standard",
            "window_bits": self.window_bits, "scalar_bits": self.scalar_bits, "windows": list(self.windows),
            "raw": None if self.raw is None else hex(self.raw),
            "excess": None if self.excess is None else hex(self.excess), "bad_index": self.bad_index,
            "inputs": {"scalars": ints_as_hex(list(self.scalars))},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        raw, excess = data["raw"], data.get("excess")
        return cls(
            data["subject"], tuple(ints_from_hex(data["inputs"]["scalars"])), data["window_bits"],
            data["scalar_bits"], (data["windows"][0], data["windows"][1]), None if raw is None else int(raw, 16),
            None if excess is None else int(excess, 16), data.get("bad_index", False),
        )  # fmt: skip
