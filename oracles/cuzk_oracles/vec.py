"""Element-wise operations on Fr vectors, scalar classification, and sums of selected points."""

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk_oracles import curve
from cuzk_oracles.curve import C, Group


def vec_add(a: Sequence[int], b: Sequence[int], r: int) -> list[int]:
    """a_i + b_i."""
    return [(x + y) % r for x, y in zip(a, b, strict=True)]


def vec_sub(a: Sequence[int], b: Sequence[int], r: int) -> list[int]:
    """a_i - b_i."""
    return [(x - y) % r for x, y in zip(a, b, strict=True)]


def vec_mul(a: Sequence[int], b: Sequence[int], r: int) -> list[int]:
    """a_i * b_i."""
    return [x * y % r for x, y in zip(a, b, strict=True)]


def vec_scale(a: Sequence[int], factor: int, r: int) -> list[int]:
    """Compute factor * a_i."""
    return [x * factor % r for x in a]


def vec_mul_sub(a: Sequence[int], b: Sequence[int], c: Sequence[int], r: int) -> list[int]:
    """a_i * b_i - c_i."""
    return [(x * y - z) % r for x, y, z in zip(a, b, c, strict=True)]


def vec_powers_scale(a: Sequence[int], base: int, r: int) -> list[int]:
    """a_i * base^i, each power taken on its own."""
    return [x * pow(base, i, r) % r for i, x in enumerate(a)]


@dataclass(frozen=True)
class Classes:
    """Indices of the scalars that are zero, one, and neither, each list ascending."""

    zero: list[int]
    one: list[int]
    other: list[int]


def classify(scalars: Sequence[int]) -> Classes:
    """Split scalars (standard form) by value."""
    return Classes(
        zero=[i for i, s in enumerate(scalars) if s == 0],
        one=[i for i, s in enumerate(scalars) if s == 1],
        other=[i for i, s in enumerate(scalars) if s not in (0, 1)],
    )


def batch_add(
    group: Group[C], bases: Sequence[tuple[C, C] | None], indices: Sequence[int]
) -> tuple[C, C] | None:
    """The sum of the bases at `indices`; an index may be repeated."""
    return curve.total(group, [bases[i] for i in indices])
