"""Sparse products against dict-of-rows ints: entry classes, coefficient widths, long rows, padding, refusals.

Would catch: a zero, repeated or cancelling entry treated as one, +1 and -1 exchanged, a code read at the
wrong width, a row that both kernels or neither take, stale memory in empty or padding rows, a missing
barrier in the tree.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import edge_values
from cuzk_oracles import spmv as oracle
from hypothesis import given
from hypothesis import strategies as st

from cuzk.curves import Curve, get_curve
from cuzk.errors import CurveMismatchError, RangeError, ShapeError
from cuzk.limbs import fr_from_ints
from cuzk.ops.spmv import DeviceMatrix, spmv
from tests.kernels.fr_support import (
    SCHEDULES,
    curve_device_pairs,
    get,
    mixed_scalars,
    open_device,
    pair_id,
    put,
)

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
BN254, TOY = get_curve("bn254"), get_curve("toy")


@dataclass(frozen=True)
class HostMatrix:
    """A CSR matrix as upload() reads it, built by the oracle: entries as given, codes in order of use."""

    curve: Curve
    num_cols: int
    row_ptr: Any
    col: Any
    coeff: Any
    dictionary: Any


def host_matrix(
    curve: Curve, rows: list[oracle.Row], num_cols: int, dtype: Any = np.uint8, pad: int = 0
) -> HostMatrix:
    """CSR from rows; `pad` unused dictionary entries come first, so that codes need wider types."""
    row_ptr, cols, codes, dictionary = oracle.csr_from_rows(rows)
    return HostMatrix(
        curve,
        num_cols,
        np.array(row_ptr, np.int64),
        np.array(cols, np.uint32),
        (np.array(codes, np.int64) + pad).astype(dtype),
        fr_from_ints(curve, [5] * pad + dictionary),
    )


def random_rows(curve: Curve, num_rows: int, num_cols: int, rng: random.Random) -> list[oracle.Row]:
    """Rows of 0 to 5 entries, mostly with coefficients 1 and -1."""
    coefficients = [1, 1, curve.r - 1, 0, 2, *(rng.randrange(curve.r) for _ in range(5))]
    return [
        [(rng.randrange(num_cols), rng.choice(coefficients)) for _ in range(rng.randrange(6))]
        for _ in range(num_rows)
    ]


@everywhere
def test_entry_classes(curve: Curve, device_name: str, rng: random.Random) -> None:
    """Class M as rows of one matrix, in several orders, for w = 0, 1, r-1 and mixed values."""
    device, num_cols = open_device(device_name), 300
    for seed in range(4):
        rows = [row for _, row in edge_values.matrix_rows(num_cols, curve.r, seed)]
        rng.shuffle(rows)
        matrix = DeviceMatrix.upload(device, host_matrix(curve, rows, num_cols, np.uint16))
        for w in (
            [0] * num_cols,
            [1] * num_cols,
            [curve.r - 1] * num_cols,
            mixed_scalars(curve, num_cols, rng),
        ):
            expected = oracle.spmv(rows, w, curve.r)
            assert expected == oracle.spmv_dense(rows, w, curve.r)
            out = device.upload(np.full((len(rows) + 9, curve.fr.limbs), 2**64 - 1, np.uint64))
            result = spmv(device, curve, matrix, put(device, curve, w), len(rows) + 9, out=out)
            assert result is out
            assert get(device, curve, out) == expected + [0] * 9


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize(
    ("dtype", "pad"), [(np.uint8, 0), (np.uint8, 240), (np.uint16, 300), (np.uint32, 70_000)]
)
def test_coefficient_widths(device_name: str, dtype: Any, pad: int, rng: random.Random) -> None:
    device = open_device(device_name)
    rows = random_rows(TOY, 50, 20, rng)
    matrix = DeviceMatrix.upload(device, host_matrix(TOY, rows, 20, dtype, pad))
    w = mixed_scalars(TOY, 20, rng)
    assert get(device, TOY, spmv(device, TOY, matrix, put(device, TOY, w))) == oracle.spmv(rows, w, TOY.r)


@pytest.mark.parametrize("device_name", ["cpu", *SCHEDULES])
@pytest.mark.parametrize("long_row", [0, 1, 3, 100])
def test_long_rows(device_name: str, long_row: int, rng: random.Random) -> None:
    """Where the line between short and long rows lies changes nothing; lengths around the block width."""
    device, num_cols = open_device(device_name), 40
    rows = random_rows(BN254, 20, num_cols, rng)
    for length in (0, 1, 127, 128, 129, 300):
        rows.append([(rng.randrange(num_cols), rng.choice([1, BN254.r - 1, 7])) for _ in range(length)])
    matrix = DeviceMatrix.upload(device, host_matrix(BN254, rows, num_cols), long_row=long_row)
    assert len(matrix.long_rows) == sum(len(row) > long_row for row in rows)
    w = mixed_scalars(BN254, num_cols, rng)
    result = spmv(device, BN254, matrix, put(device, BN254, w))
    assert get(device, BN254, result) == oracle.spmv(rows, w, BN254.r)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("num_rows", [0, 1, 255, 257, 5000])
def test_sizes(device_name: str, num_rows: int, rng: random.Random) -> None:
    device = open_device(device_name)
    rows = random_rows(TOY, num_rows, 30, rng)
    matrix = DeviceMatrix.upload(device, host_matrix(TOY, rows, 30))
    w = mixed_scalars(TOY, 30, rng)
    result = spmv(device, TOY, matrix, put(device, TOY, w), num_rows + 3)
    assert get(device, TOY, result) == oracle.spmv(rows, w, TOY.r) + [0] * 3
    assert matrix.nnz == sum(map(len, rows))
    assert matrix.nbytes > 0


@given(st.data())
def test_linear_in_w(data: st.DataObject) -> None:
    """M (k u + v) = k M u + M v for any matrix, on cpu."""
    device, r, num_cols = open_device("cpu"), TOY.r, 6
    element = st.integers(0, r - 1)
    row = st.lists(st.tuples(st.integers(0, num_cols - 1), element), max_size=8)
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    u, v = (data.draw(st.lists(element, min_size=num_cols, max_size=num_cols)) for _ in range(2))
    k = data.draw(element)
    matrix = DeviceMatrix.upload(device, host_matrix(TOY, rows, num_cols, np.uint16))
    mixed = [(k * x + y) % r for x, y in zip(u, v, strict=True)]
    mu, mv, mm = (get(device, TOY, spmv(device, TOY, matrix, put(device, TOY, w))) for w in (u, v, mixed))
    assert mm == [(k * x + y) % r for x, y in zip(mu, mv, strict=True)]


def test_bad_matrices_are_refused() -> None:
    device = open_device("cpu")
    good = host_matrix(BN254, [[(0, 1), (1, 2)], [(1, 1)]], 2)
    bad_shapes: list[dict[str, Any]] = [
        {"row_ptr": np.array([0, 3, 2], np.int64)},
        {"row_ptr": np.array([1, 2, 3], np.int64)},
        {"row_ptr": np.array([0, 2, 4], np.int64)},
        {"row_ptr": np.array([0, 2, 3], np.int32)},
        {"row_ptr": np.zeros(0, np.int64)},
        {"col": good.col.astype(np.int64)},
        {"coeff": good.coeff[:2]},
        {"coeff": good.coeff.astype(np.float64)},
        {"dictionary": good.dictionary.astype(np.int64)},
    ]
    for change in bad_shapes:
        with pytest.raises(ShapeError):
            DeviceMatrix.upload(device, HostMatrix(**{**vars(good), **change}))
    out_of_range: list[dict[str, Any]] = [
        {"col": good.col + np.uint32(1)},
        {"coeff": good.coeff + np.uint8(1)},
    ]
    for change in out_of_range:
        with pytest.raises(RangeError):
            DeviceMatrix.upload(device, HostMatrix(**{**vars(good), **change}))


def test_bad_calls_are_refused() -> None:
    device = open_device("cpu")
    matrix = DeviceMatrix.upload(device, host_matrix(BN254, [[(0, 1)], [(1, 1)]], 2))
    w = put(device, BN254, [3, 4])
    with pytest.raises(CurveMismatchError):
        spmv(device, get_curve("bls12_381"), matrix, w)
    with pytest.raises(ShapeError):
        spmv(device, BN254, matrix, w[:1])
    with pytest.raises(ShapeError, match="at least"):
        spmv(device, BN254, matrix, w, 1)
    with pytest.raises(ShapeError, match="overlaps"):
        spmv(device, BN254, matrix, w, out=w)
