"""Many multiples of one base: each by doubling and adding on the oracle's side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from cuzk.device import Device
from cuzk.errors import KernelFault
from cuzk.limbs import fr_from_ints, ints_to_limbs
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk_fuzz.batch import REJECTED, Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import rejected_groups, scalar_hits, size_ids, sizes
from cuzk_fuzz.subjects import GROUPS, subject
from cuzk_fuzz.targets.msm import draw_scalars

_BLOCK, _GRID, _WINDOW = 128, 2, 8


@dataclass(frozen=True, eq=False)
class FixedBaseBatch(Batch):
    """Multiples of the generator; a row of answers is one affine point.

    Attributes:
        subject: The group.
        scalars: Standard form.
        raw: A number that must be refused in the place of the last scalar, as it lies in memory; or None.
    """

    target: ClassVar[str] = "fixed_base"
    subject: str
    scalars: tuple[int, ...]
    raw: int | None = None
    op: str = "fixed_base"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Up to some hundred scalars; mostly over the toy curve, whose oracle is fast."""
        names = [name for name in GROUPS if f"fixed_base_mul_{name}" in scope.kernels]
        toy = [name for name in names if name.startswith("toy")]
        mostly_toy = toy and not choices.one_in(8 if scope.small else 3)
        s = subject(choices.pick(toy if mostly_toy else names))
        n = choices.pick_class(sizes(_BLOCK, _GRID, 140 if scope.small else 300))
        raw = choices.pick_class(rejected_groups(s.curve)) if n and choices.one_in(8) else None
        return cls(s.name, tuple(draw_scalars(choices, s.curve.r, n, _WINDOW, None)), raw)

    @property
    def num_cases(self) -> int:
        """Multiples."""
        return len(self.scalars)

    @property
    def words_per_element(self) -> int:
        """A base field element."""
        return subject(self.subject).spec.fp.limbs

    def answers(self, device: Device) -> Rows:
        """One call."""
        s = subject(self.subject)
        scalars = fr_from_ints(s.curve, self.scalars)
        if self.raw is not None:
            scalars[-1] = ints_to_limbs([self.raw], s.curve.fr.limbs)[0]
        words = s.spec.affine_bytes // 8
        try:
            points = device.download(fixed_base_mul(device, s.spec, device.upload(scalars)))
        except KernelFault:
            return np.full((self.num_cases, words), REJECTED)
        return np.asarray(points).reshape(self.num_cases, words)

    def expected(self) -> Rows:
        """One multiplication each."""
        s = subject(self.subject)
        if self.raw is not None:
            return np.full((self.num_cases, s.spec.affine_bytes // 8), REJECTED)
        rows = [s.row(s.times_generator(k)) for k in self.scalars]
        return np.array(rows, np.uint64).reshape(self.num_cases, s.spec.affine_bytes // 8)

    def classes(self) -> Counter[str]:
        """Ids of the scalars and of their number."""
        curve = subject(self.subject).curve
        hits = scalar_hits(self.scalars, curve.r, _WINDOW)
        hits.update(size_ids(self.num_cases, _BLOCK, _GRID))
        hits.update(name for name, values in rejected_groups(curve).items() if self.raw in values)
        return +hits

    def keep(self, indices: Sequence[int]) -> Self:
        """Some multiples."""
        return replace(self, scalars=tuple(self.scalars[i] for i in indices))

    @property
    def size(self) -> tuple[int, ...]:
        """Bits of the scalars, and those set."""
        return sum(k.bit_length() for k in self.scalars), sum(k.bit_count() for k in self.scalars)

    def smaller(self) -> Iterator[Self]:
        """Scalars with fewer bits."""
        for i, value in enumerate(self.scalars):
            for other in (0, 1, value >> 32, value >> 1, value & (value - 1) if value else 0):
                yield replace(self, scalars=(*self.scalars[:i], other, *self.scalars[i + 1 :]))

    def to_json(self) -> dict[str, Any]:
        """Scalars in standard form."""
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "form": "standard",
            "raw": None if self.raw is None else hex(self.raw), "inputs": {"scalars": ints_as_hex(list(self.scalars))},
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        raw = data["raw"]
        scalars = tuple(ints_from_hex(data["inputs"]["scalars"]))
        return cls(data["subject"], scalars, None if raw is None else int(raw, 16))
