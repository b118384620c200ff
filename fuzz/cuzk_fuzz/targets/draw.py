"""Pairs of field elements by the thousand: class ids first, decoded with array operations."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.curves import FieldSpec
from cuzk.limbs import ints_to_limbs
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import field_classes

U64 = npt.NDArray[np.uint64]

#: Bytes that decide one pair: how it is drawn, which pair, then class and value of each of the two.
PAIR_BYTES = 12
_HOW, _PAIR, _X, _Y = 0, 1, 2, 4
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True)
class _Table:
    """Values of all classes one after another, and where each class starts.

    Attributes:
        values: Shape (n, limbs), or (n, 2, limbs) for pairs.
        starts: Shape (classes,).
        counts: Shape (classes,).
    """

    values: U64
    starts: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, groups: dict[str, list[Any]], limbs: int, per_value: int) -> _Table:
        flat = [
            part for values in groups.values() for v in values for part in (v if per_value == 2 else (v,))
        ]
        counts = np.array([len(values) for values in groups.values()], np.int64)
        array = ints_to_limbs(flat, limbs)
        return cls(
            array.reshape(-1, 2, limbs) if per_value == 2 else array, np.cumsum(counts) - counts, counts
        )

    def pick(self, which: npt.NDArray[np.int64], index: npt.NDArray[np.int64]) -> U64:
        """Value number `index` of class number `which`, both wrapped around."""
        chosen = which % len(self.counts)
        found: U64 = self.values[self.starts[chosen] + index % self.counts[chosen]]
        return found


@functools.cache
def _tables(spec: FieldSpec) -> tuple[_Table, _Table]:
    classes = field_classes(spec)
    return _Table.of(classes.groups, spec.limbs, 1), _Table.of(classes.pair_groups, spec.limbs, 2)


def below_modulus(raw: U64, modulus: int, bits: int) -> U64:
    """Cut numbers to the modulus' bits, and clear the top one of those that are not below it. Shape (n, limbs)."""
    limbs = raw.shape[1]
    top = bits - 64 * (limbs - 1)
    out = raw.copy()
    out[:, -1] &= np.uint64((1 << top) - 1)
    above, equal = np.zeros(len(out), bool), np.ones(len(out), bool)
    for i in range(limbs - 1, -1, -1):
        limb = np.uint64(modulus >> (64 * i) & (2**64 - 1))
        above |= equal & (out[:, i] > limb)
        equal &= out[:, i] == limb
    out[above | equal, -1] &= np.uint64((1 << (top - 1)) - 1)
    return out


def uniform(words: npt.NDArray[np.uint64], limbs: int) -> U64:
    """Limbs that depend on every bit of a word each (the mixing steps of SplitMix64). Shape (n, limbs)."""
    z = words[:, None] + np.arange(1, limbs + 1, dtype=np.uint64) * np.uint64(_MIX[0])
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX[1])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX[2])
    mixed: U64 = z ^ (z >> np.uint64(31))
    return mixed


def _single(spec: FieldSpec, record: npt.NDArray[np.int64], at: int) -> U64:
    """One operand of every pair: half of them from an edge class, half uniform."""
    singles, _ = _tables(spec)
    which, index = record[:, at], record[:, at + 1]
    edges = singles.pick(which >> 1, index)
    words = (which << 32 | index << 16 | at).astype(np.uint64)
    other = below_modulus(uniform(words, spec.limbs), spec.modulus, spec.bits)
    drawn: U64 = np.where((which & 1 == 0)[:, None], edges, other)
    return drawn


def draw_pairs(choices: Choices, spec: FieldSpec, count: int) -> U64:
    """Pairs of numbers below the modulus, as they lie in memory.

    A quarter are pairs of class F, an eighth each have a zero on one side, the rest are two values of their own.

    Returns:
        Shape (count, 2, limbs) uint64.
    """
    raw = np.frombuffer(choices.take(count * PAIR_BYTES), "<u2").reshape(count, PAIR_BYTES // 2)
    record = raw.astype(np.int64)
    _, couples = _tables(spec)
    how = record[:, _HOW] % 8
    x, y = _single(spec, record, _X), _single(spec, record, _Y)
    x[how == 2] = 0
    y[how == 3] = 0
    pairs = couples.pick(record[:, _HOW] >> 3, record[:, _PAIR])
    drawn: U64 = np.where((how < 2)[:, None, None], pairs, np.stack([x, y], axis=1))
    return drawn
