"""Every setting of the classic synthesis gives the same bits: those of plain ints, and of the sparse product.

Would catch: a term lost or added twice where a combination outgrows its room, a stale place of the last insertion,
storage that is not cleared between rows, a density bit of a cancelled term, and an assignment read before it is there.
"""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest

from cuzk.closures import Evaluation, Setting, Steps, Tape
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.device.machine import has_bmi2_adx
from cuzk.errors import ShapeError
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.ops.spmv import DeviceMatrix, spmv
from tests.closures.support import (
    BIT,
    CLOSE,
    OPEN,
    SETTINGS,
    TERM,
    Row,
    assemble,
    expected,
    first_difference,
    random_rows,
    random_values,
)  # fmt: skip
from tests.workloads import bit_circuit, mimc_merkle, random_r1cs

CURVES = ["bls12_381", "bn254", "toy"]
COLUMNS = ("a", "b", "c", "a_aux", "b_inputs", "b_aux")


def same_bits(one: Evaluation, other: Evaluation) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in COLUMNS)


def check_all(steps: Steps, rows: list[Row], values: list[int]) -> None:
    """All settings, portable code and the fast one, against plain ints and each other."""
    wanted = expected(steps.curve, steps.num_inputs, rows, values)
    w = fr_from_ints(steps.curve, values)
    first = Tape(steps).run(w, Setting())
    assert first_difference(steps.curve, first, wanted) is None
    for fast in (False, True) if has_bmi2_adx() else (False,):
        tape = Tape(steps, fast=fast)
        for setting in SETTINGS:
            done = tape.run(w, setting)
            assert done.setting == setting
            assert same_bits(done, first), (fast, setting)


@pytest.mark.parametrize("curve_name", CURVES)
@pytest.mark.parametrize("seed", range(4))
def test_random_steps(curve_name: str, seed: int) -> None:
    curve = get_curve(curve_name)
    num_inputs, num_variables = (1, 90) if seed == 0 else (4, 300)
    rows = random_rows(seed, curve.r, num_inputs, num_variables, 60)
    check_all(
        assemble(curve, num_inputs, num_variables, rows), rows, random_values(seed, curve.r, num_variables)
    )


def test_edges() -> None:
    """Nothing, ONE alone, repeats, terms that cancel, orders that defeat the last place, rows past every room."""
    curve = get_curve("bls12_381")
    r = curve.r
    order = list(range(3, 400))
    random.Random(1).shuffle(order)
    sides = [
        [],
        [(TERM, 0, 1)],
        [(TERM, 0, 1), (TERM, 0, -1)],
        [(TERM, 5, 3), (BIT, 5, -3)],
        [(TERM, 5, 1), (TERM, 5, 1), (BIT, 5, r - 1)],
        [(TERM, 5, 0)],
        *([(TERM, v, v) for v in order[:size]] for size in (1, 2, 3, 4, 5, 8, 9, 397)),
        [(BIT, v, 1) for v in range(399, 2, -1)],
        [(TERM, v, 7) for v in range(3, 400)],
        [(TERM, 9, 1), (TERM, 7, 1), (TERM, 8, 1), (TERM, 9, 2), (TERM, 8, 5), (TERM, 7, 1)],
        [(OPEN, 0, 0), (CLOSE, 0, 5)],
        [(OPEN, 0, 0), (BIT, 4, 1), (TERM, 1, 2), (CLOSE, 0, r - 2), (TERM, 4, 2), (BIT, 1, 4)],
        [(TERM, 8, 1), (OPEN, 0, 0), (TERM, 8, 1), (CLOSE, 0, -1), (OPEN, 0, 0), (TERM, 8, 1), (CLOSE, 0, 3)],
    ]
    rows = [
        (sides[i], sides[(7 * i + 1) % len(sides)], sides[(5 * i + 2) % len(sides)])
        for i in range(len(sides))
    ]
    check_all(assemble(curve, 3, 401, rows), rows, random_values(3, r, 401))


def test_densities_cover_variables_that_no_row_uses() -> None:
    curve = get_curve("bls12_381")
    rows: list[Row] = [([(TERM, 70, 1)], [(TERM, 69, 1), (TERM, 70, 2)], [])]
    for num_variables in (71, 133, 134, 135, 400):
        steps = assemble(curve, 70, num_variables, rows)
        done = Tape(steps).run(fr_from_ints(curve, [1] * num_variables), Setting())
        words = (num_variables - 70 + 63) // 64
        assert done.a_aux.tolist() == done.b_aux.tolist() == [1] + [0] * (words - 1)
        assert done.b_inputs.tolist() == [0, 1 << (69 - 64)]


def test_no_rows_and_no_variables() -> None:
    curve = get_curve("bn254")
    for num_inputs, num_variables in ((1, 1), (3, 3), (1, 70)):
        check_all(
            assemble(curve, num_inputs, num_variables, []), [], random_values(1, curve.r, num_variables)
        )
    rows: list[Row] = [([], [], []), ([(TERM, 0, 9)], [], [(BIT, 0, 1)])]
    check_all(assemble(curve, 1, 1, rows), rows, [1])


def test_a_long_row() -> None:
    """Twenty thousand terms, ascending and descending by turns, each variable twice."""
    curve = get_curve("bls12_381")
    count = 10_000
    up, down = ([(TERM, v, v % 5 - 2) for v in order] for order in (range(1, count), range(count - 1, 0, -1)))
    rows: list[Row] = [(up + down, up, down)]
    steps = assemble(curve, 1, count, rows)
    values = random_values(9, curve.r, count)
    tape, w = Tape(steps), fr_from_ints(curve, values)
    wanted = expected(curve, 1, rows, values)
    for setting in (Setting(), Setting("small4", in_place=True), Setting("small1", True, False, True)):
        assert first_difference(curve, tape.run(w, setting), wanted) is None


@pytest.mark.parametrize("curve_name", CURVES)
@pytest.mark.parametrize("kind", ["random", "bits", "mimc"])
def test_circuits_give_what_the_sparse_product_gives(curve_name: str, kind: str) -> None:
    made = {
        "random": lambda: random_r1cs(curve_name, 120, num_public=3, seed=7),
        "bits": lambda: bit_circuit(curve_name, 90, num_public=2),
        "mimc": lambda: mimc_merkle(curve_name, max_constraints=300),
    }
    load = made[kind]()
    circuit, device = load.r1cs, get_device("cpu")
    w = fr_from_ints(circuit.curve, load.witness.to_ints())
    tape = Tape.from_r1cs(circuit)
    runs = [tape.run(w, setting) for setting in SETTINGS]
    for name, matrix in zip("abc", circuit.matrices.values(), strict=True):
        product = spmv(device, circuit.curve, DeviceMatrix.upload(device, matrix), w, matrix.num_rows)
        assert np.array_equal(device.download(product), getattr(runs[0], name))
    ints = load.witness.to_ints()
    columns = [fr_to_ints(circuit.curve, column) for column in (runs[0].a, runs[0].b, runs[0].c)]
    assert [tuple(row) for row in zip(*columns, strict=True)] == [
        circuit.row_values(row, ints) for row in range(circuit.num_constraints)
    ]
    used = {int(v) - load.r1cs.num_public - 1 for v in circuit.b.col if v > circuit.num_public}
    assert {i for i in range(64 * len(runs[0].b_aux)) if int(runs[0].b_aux[i // 64]) >> i % 64 & 1} == used
    assert all(same_bits(runs[0], run) for run in runs)


def test_a_planted_fault_is_named() -> None:
    """One coefficient, one variable, one kind of step: the comparison says in which matrix and row."""
    curve = get_curve("bls12_381")
    rows = random_rows(3, curve.r, 2, 50, 20)
    values = [1, *range(2, 51)]
    steps = assemble(curve, 2, 50, rows)
    wanted, w = expected(curve, 2, rows, values), fr_from_ints(curve, values)
    is_term = np.flatnonzero((steps.codes & 3) < OPEN)
    sides = np.searchsorted(steps.sides, is_term, side="right") - 1
    for place, side in zip(is_term[::17], sides[::17], strict=True):
        variables = steps.variables.copy()
        variables[place] = 0 if variables[place] else 1
        if not steps.dictionary[steps.codes[place] >> 2].any():
            continue
        spoiled = Tape(dataclasses.replace(steps, variables=variables))
        found = first_difference(curve, spoiled.run(w, Setting("small2", in_place=True)), wanted)
        inside = any(kind == OPEN for kind, _, _ in rows[side // 3][side % 3])
        assert found == f"{'abc'[side % 3]}, row {side // 3}" or inside


def test_values_of_another_circuit_are_refused() -> None:
    curve = get_curve("toy")
    tape = Tape(assemble(curve, 1, 3, [([(TERM, 2, 1)], [], [])]))
    for count in (2, 4):
        with pytest.raises(ShapeError, match="limit"):
            tape.run(fr_from_ints(curve, [1] * count), Setting())
