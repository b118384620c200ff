"""Keys, sparse matrices and circuits: the checks on plain arrays.

Would catch: a shape that kernels would read past, a bad point reported at the wrong place, a transpose or
digest that depends on storage, binding rows at the wrong place.
"""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import numpy as np
import pytest

from cuzk import csr
from cuzk.csr import CsrMatrix, intern_values
from cuzk.curves import CURVES, Curve, GroupSpec, get_curve
from cuzk.errors import (
    CurveMismatchError,
    CuzkError,
    NotInSubgroupError,
    NotOnCurveError,
    RangeError,
    ShapeError,
)
from cuzk.formats import load_zkey
from cuzk.keys import ProvingKey, VerifyingKey
from cuzk.limbs import U64Array, fr_from_ints, ints_to_limbs, points_to_ints
from cuzk.relation import R1CS, domain_log2, matrix_from_rows
from cuzk.row_order import binds_public
from cuzk.witness import Witness
from tests.formats.builders import Save, zkey_bytes

TOY = get_curve("toy")


@pytest.fixture
def key(save: Save) -> ProvingKey:
    return load_zkey(save(zkey_bytes(TOY)))


def changed(key: ProvingKey, **parts: Any) -> ProvingKey:
    return dataclasses.replace(key, **parts)


def test_every_array_has_its_shape_checked(key: ProvingKey) -> None:
    for name, _, array in key.points():
        longer = np.concatenate([array, array])
        for wrong in (longer, array[:0], array.astype(np.int64), array.reshape(-1)):
            if wrong.shape == array.shape and wrong.dtype == array.dtype:
                continue
            with pytest.raises(ShapeError, match=name):
                changed(key, **{name: wrong})


def test_sizes(key: ProvingKey) -> None:
    with pytest.raises(ShapeError, match="h_query"):
        changed(key, h_form="monomial")
    with pytest.raises(ShapeError, match="rows"):
        changed(key, log_domain=1)
    with pytest.raises(RangeError, match="two-adicity"):
        changed(key, log_domain=13)
    with pytest.raises(ShapeError, match="matrix B"):
        changed(key, b=key.b.with_rows(2))
    with pytest.raises(ShapeError, match="matrix C"):
        changed(key, c=key.b.with_rows(2))
    with pytest.raises(CurveMismatchError, match="matrix B"):
        changed(key, b=dataclasses.replace(key.b, curve=get_curve("bn254")))
    with pytest.raises(RangeError, match="h_form"):
        changed(key, h_form="lagrange")
    with pytest.raises(RangeError, match="root convention"):
        changed(key, root_convention="gnark")
    with pytest.raises(ShapeError, match="4 public of 4"):
        changed(key, num_public=4)


def on_curve(group: GroupSpec, points: U64Array) -> int | None:
    """A slow checker in the form the fast ones have."""
    found = points_to_ints(group, points)
    return next((i for i, point in enumerate(found) if not group.plain.is_on_curve(point)), None)


def test_check_points_names_the_place(key: ProvingKey) -> None:
    key.check_points(on_curve)
    key.verifying_key().check_points(on_curve)
    for name, group, array in key.points():
        bad = array.copy()
        flat = bad.reshape(-1, *group.affine_shape)
        flat[-1].reshape(-1)[0] ^= np.uint64(1)
        with pytest.raises(NotOnCurveError) as caught:
            changed(key, **{name: bad}).check_points(on_curve)
        assert f"{name}[{len(flat) - 1}]" in str(caught.value)
        assert group.full_name in str(caught.value)
        with pytest.raises(NotInSubgroupError):
            changed(key, **{name: bad}).check_points(on_curve, NotInSubgroupError)


def test_verifying_key_shapes(key: ProvingKey) -> None:
    vk = key.verifying_key()
    assert vk.num_public == 1
    with pytest.raises(ShapeError, match="no ic"):
        dataclasses.replace(vk, ic=vk.ic[:0])
    with pytest.raises(ShapeError, match="beta_g2"):
        dataclasses.replace(vk, beta_g2=vk.alpha_g1)
    assert isinstance(vk, VerifyingKey)


def test_wrong_witness_for_the_key(key: ProvingKey) -> None:
    key.check_witness(Witness.from_ints(TOY, [1, 2, 3, 4]))
    with pytest.raises(ShapeError, match="3 values, the key 4"):
        key.check_witness(Witness.from_ints(TOY, [1, 2, 3]))
    with pytest.raises(CurveMismatchError, match="bn254, the key over toy"):
        key.check_witness(Witness.from_ints(get_curve("bn254"), [1, 2, 3, 4]))


def test_wrong_circuit_for_the_key(key: ProvingKey) -> None:
    row = ({2: -1}, {3: 1}, {1: -1})
    key.check_circuit(R1CS.from_rows(TOY, 4, 1, [row]))
    for circuit, message in (
        (R1CS.from_rows(TOY, 5, 1, [row]), "num_variables = 5"),
        (R1CS.from_rows(TOY, 4, 2, [row]), "num_public = 2"),
        (R1CS.from_rows(TOY, 4, 1, [row, row]), "num_constraints = 2"),
        (R1CS.from_rows(TOY, 4, 1, [({2: 1}, {3: 1}, {1: -1})]), "other constraints"),
    ):
        with pytest.raises(ShapeError, match=message):
            key.check_circuit(circuit)


def random_matrix(curve: Curve, rng: random.Random, num_rows: int, num_cols: int) -> list[dict[int, int]]:
    return [
        {
            var: rng.choice([1, -1, 0, rng.randrange(curve.r)])
            for var in rng.sample(range(num_cols), rng.randrange(num_cols))
        }
        for _ in range(num_rows)
    ]


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_matrix_holds_its_rows(curve: Curve, rng: random.Random) -> None:
    rows = random_matrix(curve, rng, 20, 7)
    matrix = matrix_from_rows(curve, 7, rows)
    matrix.validate()
    expected = [sorted((v, c % curve.r) for v, c in row.items() if c % curve.r) for row in rows]
    assert [matrix.row(i) for i in range(20)] == expected
    turned = matrix.transpose()
    turned.validate()
    assert (turned.num_rows, turned.num_cols) == (7, 20)
    assert [turned.row(j) for j in range(7)] == [
        [(i, c) for i, row in enumerate(expected) for v, c in row if v == j] for j in range(7)
    ]
    assert [turned.transpose().row(i) for i in range(20)] == expected


@pytest.mark.parametrize("num_cols", [1 << 16, (1 << 16) + 1, 1 << 20, (1 << 32) - 1])
def test_transposing_keeps_the_order_of_rows(rng: random.Random, num_cols: int) -> None:
    """Columns beyond 16 bits; columns that differ in the high or the low half alone."""
    near = [0, 1, 255, 65535, 65536, 65537, 131072, num_cols - 65536, num_cols - 2, num_cols - 1]
    cols = [var for var in near if 0 <= var < num_cols]
    rows = [dict.fromkeys(rng.sample(cols, 4), 1 + i) for i in range(60)]
    matrix = matrix_from_rows(TOY, num_cols, rows)
    order = csr._order_by(matrix.col)
    assert order.tolist() == sorted(range(matrix.nnz), key=lambda i: (int(matrix.col[i]), i))
    if num_cols <= 1 << 20:
        turned = matrix.transpose()
        turned.validate()
        for var in cols:
            assert turned.row(var) == [(i, 1 + i) for i, row in enumerate(rows) if var in row]


def test_empty_matrices() -> None:
    for num_rows in (0, 1, 3):
        matrix = matrix_from_rows(TOY, 5, [{}] * num_rows)
        matrix.validate()
        assert (matrix.num_rows, matrix.nnz, len(matrix.dictionary)) == (num_rows, 0, 0)
        assert matrix.transpose().num_rows == 5
        assert matrix.with_identity_rows(2).row(num_rows + 1) == [(1, 1)]


@pytest.mark.parametrize(("count", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65537, "u4")])
def test_smallest_index_type(count: int, dtype: str) -> None:
    curve = get_curve("bn254")
    matrix = matrix_from_rows(curve, count, [{i: i + 1 for i in range(count)}])
    assert matrix.coeff.dtype == np.dtype(dtype)
    assert len(matrix.dictionary) == count
    assert matrix.row(0)[-1] == (count - 1, count)
    assert csr.index_dtype(1 << 16) is np.uint16


def test_binding_rows(rng: random.Random) -> None:
    rows = random_matrix(TOY, rng, 6, 5)
    circuit = R1CS.from_rows(TOY, 5, 2, [(row, row, row) for row in rows])
    a, b, c = circuit.with_binding_rows()
    for matrix in (a, b, c):
        matrix.validate()
        assert matrix.num_rows == 6 + 3
        assert [matrix.row(i) for i in range(6)] == [circuit.a.row(i) for i in range(6)]
    assert [a.row(6 + i) for i in range(3)] == [[(i, 1)] for i in range(3)]
    assert b.nnz == c.nnz == circuit.b.nnz


def test_a_circuit_without_constraints_has_binding_rows_alone() -> None:
    a, b, c = R1CS.from_rows(TOY, 3, 1, []).with_binding_rows()
    matrices = {"A": a, "B": b, "C": c}
    assert [binds_public(matrices, num_public) for num_public in (0, 1, 2)] == [False, True, False]


@pytest.mark.parametrize(
    ("constraints", "public", "expected"),
    [
        (1, 0, 1),
        (1, 1, 2),
        (2, 1, 2),
        (3, 0, 2),
        (3, 1, 3),
        (1, 2, 2),
        (7, 0, 3),
        (7, 1, 4),
        (62528, 256, 16),
        (0, 0, 0),
    ],
)
def test_domain(constraints: int, public: int, expected: int) -> None:
    """Smallest power of two with room for the constraints, the public variables and ONE."""
    assert domain_log2(constraints, public) == expected
    needed = constraints + public + 1
    assert 1 << expected >= needed
    assert expected == 0 or 1 << (expected - 1) < needed


def test_digest_sees_content_not_storage(rng: random.Random) -> None:
    rows = random_matrix(TOY, rng, 5, 5)
    circuit = R1CS.from_rows(TOY, 5, 1, [(row, row, row) for row in rows])
    a = circuit.a
    wider = dataclasses.replace(a, coeff=a.coeff.astype(np.uint32))
    padded = dataclasses.replace(a, dictionary=np.concatenate([a.dictionary, fr_from_ints(TOY, [12345])]))
    for same in (wider, padded):
        assert dataclasses.replace(circuit, a=same).digest() == circuit.digest()
    for other in ({}, {0: 1, 1: 5}, {4: 2}):
        changed_rows = [other, *rows[1:]]
        if matrix_from_rows(TOY, 5, changed_rows).row(0) != a.row(0):
            assert R1CS.from_rows(TOY, 5, 1, [(r, r, r) for r in changed_rows]).digest() != circuit.digest()
    assert R1CS.from_rows(TOY, 5, 2, [(row, row, row) for row in rows]).digest() != circuit.digest()
    # Keys and caches keep it, so it must stay what it is.
    square = R1CS.from_rows(TOY, 3, 1, [({2: 1}, {2: 1}, {1: 1})])
    assert square.digest() == "ffdfc9e9ffde4d03e0d53db97fa5880459dfaaddea04d6259f3a20c1910feb52"


@pytest.mark.parametrize(
    ("part", "value", "error"),
    [
        ("row_ptr", [0, 2, 1, 3], ShapeError),
        ("row_ptr", [1, 1, 2, 3], ShapeError),
        ("row_ptr", [0, 1, 2, 2], ShapeError),
        ("row_ptr", [], ShapeError),
        ("col", [0, 1, 5], ShapeError),
        ("coeff", [0, 1, 2], ShapeError),
        ("coeff", [0, 1], ShapeError),
        ("dictionary", [[1], [TOY.r]], RangeError),
        ("dictionary", [[1, 0], [2, 0]], ShapeError),
    ],
)
def test_validate(part: str, value: list[Any], error: type[CuzkError]) -> None:
    good = CsrMatrix(
        TOY,
        5,
        np.array([0, 1, 2, 3]),
        np.array([0, 1, 4], np.uint32),
        np.array([0, 1, 0], np.uint8),
        np.array([[1], [2]], np.uint64),
    )
    good.validate()
    dtype = getattr(good, part).dtype
    parts: dict[str, Any] = {part: np.array(value, dtype=dtype)}
    with pytest.raises(error) as caught:
        dataclasses.replace(good, **parts).validate("M")
    if part == "col":
        assert "variable 5" in str(caught.value)
        assert "entry 2" in str(caught.value)


def test_rows_out_of_bounds() -> None:
    for var in (5, -1):
        with pytest.raises(ShapeError, match=f"variable {var}"):
            R1CS.from_rows(TOY, 5, 1, [({var: 1}, {}, {})])
    m = matrix_from_rows(TOY, 1, [])
    with pytest.raises(ShapeError, match="labels"):
        R1CS(TOY, 1, 0, m, m, m, labels=np.zeros(3, np.uint64))
    with pytest.raises(ShapeError, match="outputs"):
        R1CS(TOY, 1, 0, m, m, m, num_outputs=1)
    with pytest.raises(CurveMismatchError, match="toy"):
        R1CS(get_curve("bn254"), 1, 0, m, m, m)


def test_intern_values(rng: random.Random) -> None:
    pool = [rng.randrange(1 << 256) for _ in range(300)]
    values = [rng.choice(pool) for _ in range(20000)] + [rng.randrange(1 << 256) for _ in range(50)]
    array = ints_to_limbs(values, 4)
    distinct, index = intern_values(array)
    assert len(distinct) == len(set(values))
    assert np.array_equal(distinct[index], array)


def test_32_bit_numbers_are_ordered_whole(rng: random.Random) -> None:
    """The two halves are sorted one after the other; equal numbers keep their order."""
    pool = [0, 5, 0x7FFF, 0x8000, 0xFFFF, 1 << 16, 1 << 31, (1 << 31) + 5, (1 << 32) - 1]
    col = np.array([rng.choice(pool) for _ in range(60)], np.uint32)
    assert csr._order_by(col).tolist() == sorted(range(60), key=lambda i: int(col[i]))


@pytest.mark.parametrize("looked_at", [1, 2, 7])
def test_intern_values_that_no_sample_shows(
    looked_at: int, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most values are first met after the sample, with hashes below, between and above those of the sample."""
    monkeypatch.setattr(csr, "_SAMPLE", looked_at)
    array = fr_from_ints(get_curve("bn254"), [rng.randrange(40) for _ in range(99)])
    distinct, index = intern_values(array)
    assert (distinct[index] == array).all()
    assert len({row.tobytes() for row in distinct}) == len(distinct) == len({row.tobytes() for row in array})


def test_intern_values_with_equal_hashes() -> None:
    """Two values made to share the hash are still told apart."""
    m0, m1 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F
    a, delta = 5, 3
    # limb0 * m0 + limb1 * m1 is kept when limb1 grows by delta and limb0 shrinks by delta * m1 / m0.
    b = (a - delta * m1 * pow(m0, -1, 1 << 64)) % (1 << 64)
    array = np.array([[a, 0, 0, 0], [b, delta, 0, 0], [a, 0, 0, 0]], np.uint64)
    distinct, index = intern_values(array)
    assert len(distinct) == 2
    assert np.array_equal(distinct[index], array)
