"""Sums by segment and sparse combinations of points, against the same of their exponents.

Would catch: a segment that takes a neighbour's point, an odd point lost, a coefficient's sign, an empty segment.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import ShapeError
from cuzk.ops.point_sums import column_terms, segment_sums
from cuzk.relation import matrix_from_rows
from tests.kernels.test_point_ntt import multiples

TOY = get_curve("toy")


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("lengths", [[0], [1], [2], [3], [0, 1, 0, 5, 2, 0], [17, 1, 16], [0, 0]])
def test_segment_sums(lengths: list[int], spec: str, rng: random.Random) -> None:
    """Exponents repeat and cancel, so that doubling and infinity occur on the way."""
    parts = [[rng.choice([0, 1, TOY.r - 1, 5]) for _ in range(length)] for length in lengths]
    flat = [exponent for part in parts for exponent in part]
    segments = np.repeat(np.arange(len(lengths)), lengths)
    points = multiples("toy", "g1", flat)
    before = points.copy()
    found = segment_sums(get_device(spec), TOY.g1, points, segments, len(lengths))
    assert (found == multiples("toy", "g1", [sum(part) % TOY.r for part in parts])).all()
    assert (points == before).all()


@pytest.mark.parametrize(
    ("curve", "group"), [("toy", "g1"), ("toy", "g2"), ("bn254", "g1"), ("bls12_381", "g2")]
)
def test_columns_of_a_matrix(curve: str, group: str, rng: random.Random) -> None:
    r = get_curve(curve).r
    rows = [
        {rng.randrange(6): rng.choice([1, -1, 2, rng.randrange(r)]) for _ in range(rng.randrange(4))}
        for _ in range(12)
    ]
    matrix = matrix_from_rows(get_curve(curve), 6, rows)
    basis = [rng.randrange(r) for _ in rows]
    cpu, where = get_device("cpu"), getattr(get_curve(curve), group)
    terms, columns = column_terms(cpu, where, multiples(curve, group, basis), matrix)
    found = segment_sums(cpu, where, terms, columns, 6)
    expected = [sum(row.get(j, 0) * e for row, e in zip(rows, basis, strict=True)) % r for j in range(6)]
    assert (found == multiples(curve, group, expected)).all()


def test_segments_must_rise() -> None:
    points = multiples("toy", "g1", [1, 2, 3])
    for wrong in ([0, 1], [1, 0, 1]):
        with pytest.raises(ShapeError, match="rising"):
            segment_sums(get_device("cpu"), TOY.g1, points, np.array(wrong), 2)


def test_a_matrix_without_entries_has_no_terms() -> None:
    toy = get_curve("toy")
    basis = multiples("toy", "g1", [1, 2])
    terms, columns = column_terms(get_device("cpu"), toy.g1, basis, matrix_from_rows(toy, 3, [{}, {}]))
    assert (len(terms), len(columns)) == (0, 0)
