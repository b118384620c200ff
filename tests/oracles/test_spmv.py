"""Sparse products against dense ones and against the transpose.

Would catch: repeated entries that overwrite, empty rows that shift the result, a column and a row exchanged,
a CSR pointer off by one.
"""

import pytest
from cuzk_oracles import edge_values, samples, spmv
from cuzk_oracles.params import BLS12_381, TOY
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import values


@pytest.mark.parametrize("r", [BLS12_381.r, TOY.r], ids=["bls12_381", "toy"])
@given(data=st.data())
def test_sparse_is_dense(r: int, data: st.DataObject) -> None:
    num_columns = data.draw(st.integers(2, 6))
    rows = data.draw(st.lists(values.matrix_rows(num_columns, r), max_size=6))
    vector = st.lists(values.field_elements(r), min_size=num_columns, max_size=num_columns)
    w = data.draw(st.one_of(vector, st.sampled_from([0, 1, r - 1]).map(lambda v: [v] * num_columns)))
    product = spmv.spmv(rows, w, r)
    assert len(product) == len(rows)
    assert product == spmv.spmv_dense(rows, w, r)
    # <x, M w> = <M^T x, w>
    x = data.draw(st.lists(values.field_elements(r), min_size=len(rows), max_size=len(rows)))
    left = sum(a * b for a, b in zip(x, product, strict=True))
    transposed = spmv.transpose_spmv(rows, x, num_columns, r)
    assert (left - sum(a * b for a, b in zip(transposed, w, strict=True))) % r == 0


@given(data=st.data())
def test_csr_round_trip(data: st.DataObject) -> None:
    rows = data.draw(st.lists(values.matrix_rows(4, TOY.r), max_size=6))
    row_ptr, columns, coefficients, dictionary = spmv.csr_from_rows(rows)
    assert row_ptr[0] == 0
    assert row_ptr[-1] == len(columns) == len(coefficients)
    assert len(set(dictionary)) == len(dictionary)
    assert spmv.rows_from_csr(row_ptr, columns, coefficients, dictionary) == rows


def test_edge_rows_by_hand() -> None:
    r = 97
    rows = [[], [(1, 0)], [(1, 5), (1, 6)], [(0, 3), (0, 94)], [(2, 96)]]
    assert spmv.spmv(rows, [1, 2, 3], r) == [0, 0, 22, 0, 94]
    named = dict(edge_values.matrix_rows(3, r))
    assert spmv.spmv([named["M.cancelling"], named["M.empty"]], [1, 50, 96], r) == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_samples_are_satisfied(seed: int) -> None:
    for r in (TOY.r, BLS12_381.r):
        r1cs, w = samples.random_r1cs(seed, r, 20, 3, 26)
        assert (r1cs.num_constraints, r1cs.num_variables, len(w), w[0]) == (20, 30, 30, 1)
        a, b, c = (spmv.spmv_dense(rows, w, r) for rows in (r1cs.a, r1cs.b, r1cs.c))
        assert [x * y % r for x, y in zip(a, b, strict=True)] == c
        assert samples.random_r1cs(seed, r, 20, 3, 26) == (r1cs, w)
        assert any(value > 1 for value in c)
        entries = [k for rows in (r1cs.a, r1cs.b, r1cs.c) for row in rows for _, k in row]
        assert all(0 <= k < r for k in entries)
        assert {0, 1, r - 1} <= set(entries)
        assert min(w.count(0), w.count(1), sum(value > 1 for value in w)) >= 2
