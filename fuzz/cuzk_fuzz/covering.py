"""Pairwise covering arrays: few settings in which every two values of two variants meet.

A row is one value of every factor.  Rows are built greedily: each starts with a pair that no row has yet, and takes for
one factor after the other the value that meets the most such pairs.  A factor may have a condition (another factor and
the value without which it does nothing): in rows where that is not met it stands at its default and covers nothing.

Source: Cohen, Dalal, Fredman, Patton 1997, doi:10.1109/32.605761 (the greedy row, without its random trials).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Factor", "Pair", "covering_array", "pairs_of", "required_pairs"]

#: (factor, value) and (factor, value), in the order of the factors.
Pair = tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True)
class Factor:
    """One thing that varies.

    Args:
        name: Unique.
        values: At least one.
        default: Its value where the condition is not met; one of them.
        only_with: Another factor, which has no condition, and the value without which this one does nothing.
    """

    name: str
    values: tuple[str, ...]
    default: str
    only_with: tuple[str, str] | None = None


def _can_meet(a: Factor, x: str, b: Factor, y: str) -> bool:
    """Whether a row can have two values that both do something."""
    wanted = [one.only_with for one in (a, b) if one.only_with is not None]
    if len(set(wanted)) == 2:
        return wanted[0][0] != wanted[1][0]
    return all((one.name, value) in wanted or one.name not in dict(wanted) for one, value in ((a, x), (b, y)))


def required_pairs(factors: Sequence[Factor]) -> list[Pair]:
    """Every pair of values of two factors that a row can have with both of them acting."""
    return [
        ((a.name, x), (b.name, y))
        for a, b in itertools.combinations(factors, 2)
        for x, y in itertools.product(a.values, b.values)
        if _can_meet(a, x, b, y)
    ]


def pairs_of(factors: Sequence[Factor], row: Mapping[str, str]) -> set[Pair]:
    """The pairs that a row covers: those of the factors that act in it."""
    acting = [factor.name for factor in factors if _acts(factor, row)]
    return {((a, row[a]), (b, row[b])) for a, b in itertools.combinations(acting, 2)}


def _acts(factor: Factor, row: Mapping[str, str]) -> bool:
    return factor.only_with is None or row.get(factor.only_with[0]) == factor.only_with[1]


def covering_array(factors: Sequence[Factor]) -> list[dict[str, str]]:
    """Rows that together cover every required pair; of a single factor, every value.

    Args:
        factors: Unconditional ones that others depend on before those.

    Returns:
        Rows, each a value by factor's name. The same for the same factors.
    """
    if len(factors) == 1:
        return [{factors[0].name: value} for value in factors[0].values]
    missing = dict.fromkeys(required_pairs(factors))
    rows = []
    while missing:
        row = _row(factors, missing)
        for pair in pairs_of(factors, row):
            missing.pop(pair, None)
        rows.append(row)
    return rows


def _row(factors: Sequence[Factor], missing: Mapping[Pair, None]) -> dict[str, str]:
    """The next row, around the first pair that is missing."""
    by_name = {factor.name: factor for factor in factors}
    fixed = dict(next(iter(missing)))
    for name in list(fixed):
        condition = by_name[name].only_with
        if condition is not None:
            fixed[condition[0]] = condition[1]
    row: dict[str, str] = dict(fixed)
    gains = _Gains(missing)
    for factor in factors:
        if factor.name in row:
            continue
        if not _acts(factor, row):
            row[factor.name] = factor.default
            continue
        acting = {name: value for name, value in row.items() if _acts(by_name[name], row)}
        row[factor.name] = max(
            factor.values, key=lambda value: gains.of((factor.name, value), acting.items())
        )
    return {factor.name: row[factor.name] for factor in factors}


class _Gains:
    """How many missing pairs a value would meet."""

    def __init__(self, missing: Mapping[Pair, None]) -> None:
        self._partners: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for a, b in missing:
            self._partners.setdefault(a, set()).add(b)
            self._partners.setdefault(b, set()).add(a)

    def of(self, one: tuple[str, str], others: Iterable[tuple[str, str]]) -> tuple[int, int]:
        """Pairs with what is fixed; then, to break ties, all that it still misses."""
        partners = self._partners.get(one, set())
        return len(partners.intersection(others)), len(partners)
