"""Steps that are read back from a circuit's rows, and damaged tapes.

Would catch: terms of a packed row in the wrong group or with the wrong scale, a row misread so that its sum changes,
and a tape whose indices leave its arrays.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from cuzk.closures import Steps, Tape, written_steps
from cuzk.curves import Curve, get_curve
from cuzk.limbs import fr_to_ints
from cuzk.relation import R1CS
from tests.closures.support import BIT, CLOSE, OPEN, TERM, Row, Step, assemble, merged
from tests.workloads import bit_circuit, mimc_merkle, random_r1cs

BLS = get_curve("bls12_381")


def rows_of(steps: Steps) -> list[Row]:
    """Plain rows of steps."""
    values = fr_to_ints(steps.curve, steps.dictionary)
    plain = [
        (code & 3, variable, 0 if code & 3 == OPEN else values[code >> 2])
        for code, variable in zip(steps.codes.tolist(), steps.variables.tolist(), strict=True)
    ]
    bounds = steps.sides.tolist()
    sides = [plain[lo:hi] for lo, hi in itertools.pairwise(bounds)]
    return [(sides[i], sides[i + 1], sides[i + 2]) for i in range(0, len(sides), 3)]


def steps_of(circuit: R1CS) -> Steps:
    return written_steps(circuit.curve, (circuit.a, circuit.b, circuit.c), circuit.num_public + 1)


def check_sums(circuit: R1CS) -> list[Row]:
    """Each side of each row, merged, is what the matrix holds."""
    rows = rows_of(steps_of(circuit))
    assert len(rows) == circuit.num_constraints
    for i, row in enumerate(rows):
        for side, matrix in zip(row, circuit.matrices.values(), strict=True):
            assert merged(side, circuit.curve.r) == dict(matrix.row(i)), (i, side)
    return rows


@pytest.mark.parametrize("curve_name", ["bls12_381", "bn254", "toy"])
def test_steps_sum_up_to_the_rows(curve_name: str) -> None:
    check_sums(random_r1cs(curve_name, 100, num_public=3, seed=3).r1cs)
    check_sums(bit_circuit(curve_name, 60, num_public=1).r1cs)
    check_sums(mimc_merkle(curve_name, max_constraints=200).r1cs)


def test_a_circuit_without_rows_or_entries() -> None:
    assert rows_of(steps_of(R1CS.from_rows(BLS, 3, 1, []))) == []
    assert rows_of(steps_of(R1CS.from_rows(BLS, 3, 1, [({}, {}, {})]))) == [([], [], [])]


def test_gadgets_of_bits_are_read_back() -> None:
    circuit = R1CS.from_rows(
        BLS, 9, 0,
        [
            ({0: 1, 1: -1}, {1: 1}, {}),  # a bit
            ({1: 2}, {2: 1}, {1: 1, 2: 1, 3: -1}),  # exclusive or
            ({2: 1, 3: -1}, {1: 1}, {4: 1, 3: -1}),  # choice
            ({5: 2, 2: -1, 3: -1}, {1: 1}, {5: 1, 6: -1}),  # majority
            ({7: 1}, {0: 1}, {8: 1}),  # equality
        ],
    )  # fmt: skip
    bit, xor, choice, majority, equality = check_sums(circuit)
    r = BLS.r
    assert bit == ([(TERM, 0, 1), (TERM, 1, r - 1)], [(TERM, 1, 1)], [])
    assert xor == (
        [(TERM, 1, 1), (TERM, 1, 1)], [(TERM, 2, 1)], [(TERM, 1, 1), (TERM, 2, 1), (TERM, 3, r - 1)]
    )  # fmt: skip
    assert choice == ([(BIT, 2, 1), (BIT, 3, r - 1)], [(BIT, 1, 1)], [(BIT, 3, r - 1), (BIT, 4, 1)])
    assert majority[0] == [(BIT, 2, r - 1), (BIT, 3, r - 1), (BIT, 5, 1), (BIT, 5, 1)]
    assert equality == ([(TERM, 7, 1)], [(TERM, 0, 1)], [(TERM, 8, 1)])


def packed_circuit() -> R1CS:
    """Two sums of two 4-bit words in one row, the second scaled by 2^5; the word 1..4 is in both."""
    a = {1 + i: (1 << i) + (1 << (5 + i)) for i in range(4)}
    a |= {5 + i: 1 << i for i in range(4)} | {9 + i: -(1 << (5 + i)) for i in range(4)} | {0: 12345}
    c = {13 + i: 1 << i for i in range(10)}
    return R1CS.from_rows(BLS, 23, 0, [(a, {0: 1}, c)])


def test_packed_sums_are_read_back() -> None:
    circuit = packed_circuit()
    ((a, b, c),) = check_sums(circuit)
    r = BLS.r

    def group(terms: list[Step], factor: int) -> list[Step]:
        return [(OPEN, terms[0][1], 0), *terms, (CLOSE, terms[0][1], factor)]

    first = [(BIT, v, 1 << (v - 1) % 4) for v in range(1, 9)]
    second = [(BIT, v, 1 << (v - 1)) for v in range(1, 5)] + [
        (BIT, v, r - (1 << (v - 9))) for v in range(9, 13)
    ]
    assert a == [*group(first, 1), *group(second, 1 << 5), (TERM, 0, 12345)]
    assert b == [(TERM, 0, 1)]
    assert c == [
        *group([(TERM, 13 + i, 1 << i) for i in range(5)], 1),
        *group([(TERM, 18 + i, 1 << i) for i in range(5)], 1 << 5),
    ]


def damaged(steps: Steps, **arrays: Any) -> Steps:
    return dataclasses.replace(steps, **arrays)


def edited(array: np.ndarray, place: int, value: int) -> np.ndarray:
    result = array.copy()
    result[place] = value
    return result


def test_damaged_tapes_are_refused() -> None:
    rows: list[Row] = [([(TERM, 1, 1)], [(OPEN, 0, 0), (BIT, 2, 3), (CLOSE, 0, 2)], [(TERM, 0, 1)])] * 2
    steps = assemble(BLS, 1, 4, rows)
    Tape(steps)
    d = len(steps.dictionary)
    cases: list[tuple[Steps, str]] = [
        (damaged(steps, variables=edited(steps.variables, 2, 3)), "not allocated yet at step 2"),
        (damaged(steps, variables=edited(steps.variables, 0, 1 << 31)), "not allocated yet at step 0"),
        (damaged(steps, codes=edited(steps.codes, 0, d << 2)), "beyond the dictionary at step 0"),
        (damaged(steps, codes=edited(steps.codes, 3, d << 2 | CLOSE)), "beyond the dictionary at step 3"),
        (damaged(steps, codes=edited(steps.codes, 2, OPEN)), "nested or never opened at step 2"),
        (damaged(steps, codes=edited(steps.codes, 1, TERM)), "nested or never opened at step 3"),
        (damaged(steps, codes=edited(steps.codes, 3, TERM)), "not closed in side 1"),
        (damaged(steps, sides=edited(steps.sides, 0, 1)), "do not end at"),
        (damaged(steps, sides=edited(steps.sides, 6, 9)), "do not end at"),
        (damaged(steps, sides=edited(steps.sides, 2, 99)), "decrease at side 2"),
        (damaged(steps, sides=steps.sides[:-1]), "three sides a row"),
        (damaged(steps, codes=steps.codes[:-1]), "as many codes as variables"),
        (damaged(steps, aux_so_far=edited(steps.aux_so_far, 0, 3)), "decrease or are too many at row 1"),
        (damaged(steps, aux_so_far=edited(steps.aux_so_far, 1, 4)), "decrease or are too many at row 1"),
        (damaged(steps, dictionary=np.full_like(steps.dictionary, 2**64 - 1)), "not reduced: coefficient 0"),
        (
            damaged(steps, dictionary=np.ascontiguousarray(steps.dictionary[:, :3])),
            "limbs of a coefficient: 3",
        ),
        (damaged(steps, num_inputs=0), "number of inputs 0"),
        (damaged(steps, num_inputs=5), "number of inputs 5"),
        (damaged(steps, curve=_renamed(BLS)), "no tapes over the curve other"),
    ]
    for spoiled, message in cases:
        with pytest.raises(ValueError, match=message):
            Tape(spoiled)


def _renamed(curve: Curve) -> Curve:
    return dataclasses.replace(curve, params=dataclasses.replace(curve.params, name="other"))
