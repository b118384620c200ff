"""Rows of compiled circuits on every device against the expanded matrix, row by row.

Would catch: a tile that stops early or runs over, a row that both kernels or neither take, bindings of a neighbour,
an input taken for an auxiliary variable, coefficients +1 and -1 exchanged, stale memory behind the rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cuzk_oracles import spmv as oracle_spmv

from cuzk.curves import Curve
from cuzk.errors import ShapeError
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from tests.kernels.fr_support import SCHEDULES, curve_device_pairs, get, open_device, pair_id, put
from tests.kernels.piece_support import Case, case, chain

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)


def check(case: Case, device_name: str, long_row: int | None = None) -> DevicePieces:
    """All three sides, with rows that bind inputs and padding behind them."""
    device, curve, plain = open_device(device_name), case.curve, case.plain
    pieces = DevicePieces.upload(device, case.circuit, long_row=long_row)
    w = put(device, curve, case.w)
    for side in range(3):
        num_bound = plain.num_inputs if side == 0 else 0
        length = plain.num_rows + num_bound + 3
        out = device.upload(np.full((length, curve.fr.limbs), 2**64 - 1, np.uint64))
        assert piece_spmv(device, pieces, side, w, length, out=out, num_bound=num_bound) is out
        expected = oracle_spmv.spmv(plain.expanded(side), case.w, curve.r)
        assert get(device, curve, out) == [*expected, *case.w[:num_bound], 0, 0, 0]
    return pieces


@everywhere
@pytest.mark.parametrize("seed", range(4))
def test_random_circuits(curve: Curve, device_name: str, seed: int) -> None:
    check(case(curve.name, seed), device_name)


@pytest.mark.parametrize("device_name", SCHEDULES)
def test_no_schedule_changes_a_row(device_name: str) -> None:
    check(case("toy", 12), device_name)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("long_row", [0, 1, 5, 1000])
def test_where_long_rows_begin_changes_nothing(device_name: str, long_row: int) -> None:
    sample = case("toy", 3)
    pieces = check(sample, device_name, long_row)
    lengths = [len(row) for row in sample.plain.expanded(1)]
    assert len(pieces.long_rows[1]) == sum(n > long_row for n in lengths)
    assert pieces.nbytes > 0


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("rows", [1, 1023, 1024, 1025, 4097])
def test_borders_of_tiles(device_name: str, rows: int) -> None:
    """Pieces of one row, in as many places as fill a tile, one less and one more."""
    check(chain("toy", 1, rows), device_name)


def test_bad_calls_are_refused() -> None:
    device, sample = open_device("cpu"), chain("bn254", 2)
    pieces = DevicePieces.upload(device, sample.circuit)
    w = put(device, sample.curve, sample.w)
    with pytest.raises(ShapeError, match="w has shape"):
        piece_spmv(device, pieces, 0, w[1:])
    with pytest.raises(ShapeError, match="at least 2 rows"):
        piece_spmv(device, pieces, 0, w, 1)
    with pytest.raises(ShapeError, match="at least 3 rows"):
        piece_spmv(device, pieces, 0, w, 2, num_bound=1)
    with pytest.raises(ShapeError, match="matrix 3"):
        piece_spmv(device, pieces, 3, w)
    with pytest.raises(ShapeError, match="one for each variable"):
        piece_spmv(device, pieces, 0, w, 9, num_bound=5)
    assert len(piece_spmv(device, pieces, 0, w, num_bound=1)) == 3
    with pytest.raises(ShapeError, match="overlaps w"):
        piece_spmv(device, replace(pieces, num_rows=1), 0, w, 4, out=w)
