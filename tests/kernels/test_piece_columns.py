"""Weighted column sums of compiled circuits against the expanded matrices, term by term.

Would catch: an own variable's sum in another's place, the margin of one instance added to its neighbour's column, ONE
or an input left out, a binding that two instances share counted once, a sum that begins with what was in memory.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cuzk.curves import Curve
from cuzk.errors import RangeError, ShapeError
from cuzk.ops.piece_columns import piece_columns
from tests.kernels.fr_support import SCHEDULES, curve_device_pairs, get, open_device, pair_id, put
from tests.kernels.piece_support import Case, case, chain


def check(sample: Case, device_name: str) -> None:
    """All three matrices, with weights that are 0, 1, -1 and uniform."""
    device, curve, r = open_device(device_name), sample.curve, sample.curve.r
    rng = Random(5)
    weights = [rng.choice([0, 1, r - 1, rng.randrange(r)]) for _ in range(sample.plain.num_rows)]
    made = piece_columns(device, sample.circuit, put(device, curve, weights))
    for side in range(3):
        expected = [0] * len(sample.w)
        for row, weight in zip(sample.plain.expanded(side), weights, strict=True):
            for column, coefficient in row:
                expected[column] = (expected[column] + coefficient * weight) % r
        assert get(device, curve, made[side]) == expected, side


@pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
@pytest.mark.parametrize("seed", range(4))
def test_random_circuits(curve: Curve, device_name: str, seed: int) -> None:
    check(case(curve.name, seed), device_name)


@pytest.mark.parametrize("device_name", SCHEDULES)
def test_no_schedule_changes_a_sum(device_name: str) -> None:
    check(case("toy", 12), device_name)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
def test_bindings_all_the_way(device_name: str) -> None:
    """Each instance of a chain takes its variables from the one before."""
    check(chain("toy", 40), device_name)


@pytest.mark.parametrize("step", [1, 3, 7])
def test_margins_are_added_some_columns_at_a_time(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[piece_columns.__module__], "COLUMNS_AT_A_TIME", step)
    check(case("toy", 3), "cpu")


def test_what_does_not_fit_is_refused() -> None:
    device, sample = open_device("cpu"), case("toy", 3)
    with pytest.raises(ShapeError, match="weights"):
        piece_columns(device, sample.circuit, put(device, sample.curve, [1]))
    weights = put(device, sample.curve, [1] * sample.plain.num_rows)
    damaged = replace(sample.circuit, dictionary=np.full_like(sample.circuit.dictionary, 2**64 - 1))
    with pytest.raises(RangeError, match="not below r"):
        piece_columns(device, damaged, weights)
