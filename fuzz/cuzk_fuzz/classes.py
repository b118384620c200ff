"""Which edge classes a value, a scalar, a size or a matrix row belongs to, decided by looking at it."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from cuzk_oracles import edge_values

from cuzk.curves import Curve, FieldSpec

T = TypeVar("T")


def by_class(cases: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Values grouped under their ids, for ``Choices.pick_class``."""
    groups: dict[str, list[T]] = defaultdict(list)
    for edge_id, value in cases:
        groups[edge_id].append(value)
    return dict(groups)


def tally(found: Iterable[tuple[str, ...] | None]) -> Counter[str]:
    """Hits per id from the ids of many values."""
    hits: Counter[str] = Counter()
    for ids, count in Counter(found).items():
        for edge_id in ids or ():
            hits[edge_id] += count
    return hits


class FieldClasses:
    """Class F of one field, for numbers as they lie in memory (Montgomery form).

    Attributes:
        values: Ids of a number.
        pairs: Ids of a pair of numbers.
        groups: Numbers in memory by id.
        pair_groups: The same for pairs.
    """

    def __init__(self, spec: FieldSpec) -> None:
        p, limbs = spec.modulus, spec.limbs
        mont = spec.to_mont
        if spec.word_bits == 64:
            singles = [(name, mont(v)) for name, v in edge_values.field_values(p, limbs)]
            couples = [(n, (mont(x), mont(y))) for n, (x, y) in edge_values.field_pairs(p, limbs)]
        else:  # the ids are named for 64-bit limbs; every value of a tiny field is near an edge of its own
            near = {*range(4), *range(p - 4, p), *(v % p for k in range(17) for v in (1 << k, p - (1 << k)))}
            singles = [("tiny.edge", v) for v in sorted(near)]
            couples = [("tiny.equal", (v, v)) for v in sorted(near)]
            couples += [("tiny.opposite", (v, -v % p)) for v in sorted(near)]
        self.groups: dict[str, list[int]] = by_class(singles)
        self.pair_groups: dict[str, list[tuple[int, int]]] = by_class(couples)
        self.values = _inverted(self.groups)
        self.pairs = _inverted(self.pair_groups)


def _inverted(groups: Mapping[str, Sequence[T]]) -> dict[T, tuple[str, ...]]:
    found: dict[T, list[str]] = defaultdict(list)
    for edge_id, values in groups.items():
        for value in dict.fromkeys(values):
            found[value].append(edge_id)
    return {value: tuple(ids) for value, ids in found.items()}


@functools.cache
def field_classes(spec: FieldSpec) -> FieldClasses:
    """Class F of a field."""
    return FieldClasses(spec)


@functools.cache
def scalar_groups(r: int, window_bits: int, scalar_bits: int | None = None) -> dict[str, list[int]]:
    """Class K of single scalars, by id."""
    return by_class(edge_values.scalars(r, window_bits, scalar_bits))


@functools.cache
def _scalar_ids(r: int, window_bits: int, scalar_bits: int | None) -> dict[int, tuple[str, ...]]:
    return _inverted(scalar_groups(r, window_bits, scalar_bits))


def single_hits(scalars: Iterable[int], r: int, window_bits: int) -> Counter[str]:
    """Class K of scalars that make no vector together."""
    return tally(map(_scalar_ids(r, window_bits, None).get, scalars))


def scalar_hits(
    scalars: Sequence[int], r: int, window_bits: int, scalar_bits: int | None = None
) -> Counter[str]:
    """Class K among the scalars of one vector: of each alone, and of the vector as a whole."""
    known = _scalar_ids(r, window_bits, scalar_bits)
    hits = tally(map(known.get, scalars))
    n = len(scalars)
    if not n:
        return hits
    distinct = set(scalars)
    mask = (1 << window_bits) - 1
    low = {value & mask for value in scalars}
    whole = {
        "K.all_equal": len(distinct) == 1,
        "K.one_bucket": n > 1 and len(low) == 1 and 0 not in low and len(distinct) > 1,
        "K.small": max(scalars) < 1 << 16,
        "K.uniform": n > 1 and len(distinct & set(known)) == 0 and len(distinct) > n // 2,
        "K.edges": n > 1 and len(distinct) > 1 and distinct <= set(known),
    }
    if distinct <= {0, 1}:
        zeros = scalars.count(0) / n
        whole |= {
            "K.bits_50": 0.2 < zeros < 0.8,
            "K.bits_90": 0.8 <= zeros < 0.97,
            "K.bits_999": zeros >= 0.97,
        }
    for edge_id, holds in whole.items():
        hits[edge_id] += holds
    return hits


@functools.cache
def sizes(block: int, grid: int, largest: int) -> dict[str, list[int]]:
    """Class S up to a largest size, by id."""
    return by_class(edge_values.sizes(block, grid, largest))


@functools.cache
def size_ids(n: int, block: int, grid: int) -> tuple[str, ...]:
    """Ids of class S that a size has in a launch of `grid` blocks of `block` threads."""
    return tuple(edge_id for edge_id, values in sizes(block, grid, 4 * n + 8).items() if n in values)


def row_ids(row: Sequence[tuple[int, int]], num_columns: int, r: int) -> tuple[str, ...]:
    """Ids of class M that a matrix row has."""
    columns = [column for column, _ in row]
    sums: dict[int, int] = defaultdict(int)
    for column, coefficient in row:
        sums[column] = (sums[column] + coefficient) % r
    repeated = len(set(columns)) < len(columns)
    nonzero = any(coefficient for _, coefficient in row)
    named = {
        "M.empty": not row,
        "M.zero_coefficient": any(coefficient == 0 for _, coefficient in row),
        "M.repeated": repeated,
        "M.cancelling": repeated and nonzero and not any(sums.values()),
        "M.dense": len(set(columns)) == num_columns,
        "M.single": len(row) == 1 and row[0][1] == 1,
        "M.minus_one": any(coefficient == r - 1 for _, coefficient in row),
    }
    return tuple(edge_id for edge_id, holds in named.items() if holds)


@functools.cache
def rejected_groups(curve: Curve) -> dict[str, list[int]]:
    """Numbers that no operation may take for a scalar, by id."""
    return by_class(edge_values.rejected_scalars(curve.r, curve.fr.limbs))
