"""Damaged rows of SHA-256's compression function: each is caught by the hash, nearly each by witnesses.

Would catch: a row that no witness depends on (it would state nothing), a part of a row that the hash leaves out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from cuzk.circuits.hashes import compression_circuit, message_hints
from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import get_curve
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.relation import R1CS
from cuzk.synthesis import ConstraintSystem, circuit_hash

BLS = get_curve("bls12_381")
NUM_MUTANTS = 240
NUM_WITNESSES = 24
SIDES = ("a", "b", "c")
KINDS = ("coefficient", "negated", "variable", "dropped", "exchanged")


@pytest.fixture(scope="module")
def recorded() -> tuple[R1CS, list[list[int]]]:
    """The circuit and the values of several witnesses."""
    witnesses = []
    r1cs = None
    for seed in range(NUM_WITNESSES):
        cs = ConstraintSystem(BLS, hints=message_hints(random.Random(seed).randbytes(64)))
        compression_circuit(cs)
        witnesses.append(cs.witness().to_ints())
        r1cs = r1cs or cs.r1cs()
    assert r1cs is not None
    return r1cs, witnesses


def replaced(r1cs: R1CS, side: str, matrix: CsrMatrix) -> R1CS:
    a, b, c = (matrix if name == side else getattr(r1cs, name) for name in SIDES)
    return R1CS(r1cs.curve, r1cs.num_variables, r1cs.num_public, a, b, c)


def with_entry(matrix: CsrMatrix, entry: int, col: int, coefficient: int) -> CsrMatrix:
    """The matrix with another variable and coefficient in one entry."""
    cols, coeff = matrix.col.copy(), matrix.coeff.astype(np.uint32)
    cols[entry], coeff[entry] = col, len(matrix.dictionary)
    dictionary = np.concatenate([matrix.dictionary, fr_from_ints(BLS, [coefficient])])
    return CsrMatrix(matrix.curve, matrix.num_cols, matrix.row_ptr, cols, coeff, dictionary)


def without_entry(matrix: CsrMatrix, entry: int) -> CsrMatrix:
    row_ptr: IntArray = matrix.row_ptr - (matrix.row_ptr > entry)
    keep = np.arange(matrix.nnz) != entry
    return CsrMatrix(
        matrix.curve, matrix.num_cols, row_ptr, matrix.col[keep], matrix.coeff[keep], matrix.dictionary
    )


def mutant(r1cs: R1CS, kind: str, side: str, rng: random.Random) -> tuple[int, R1CS]:
    """A circuit with damage to an entry of one side, and the row it is in."""
    matrix: CsrMatrix = getattr(r1cs, side)
    entry = rng.randrange(matrix.nnz)
    row = int(np.searchsorted(matrix.row_ptr, entry, side="right")) - 1
    col = int(matrix.col[entry])
    value = fr_to_ints(BLS, matrix.dictionary[matrix.coeff[entry]][None])[0]
    if kind == "coefficient":
        return row, replaced(r1cs, side, with_entry(matrix, entry, col, value + 1))
    if kind == "negated":
        return row, replaced(r1cs, side, with_entry(matrix, entry, col, -value))
    if kind == "variable":
        return row, replaced(r1cs, side, with_entry(matrix, entry, (col + 1) % r1cs.num_variables, value))
    if kind == "dropped":
        return row, replaced(r1cs, side, without_entry(matrix, entry))
    # Sides A and C of this row change places.
    a, c = dict(r1cs.a.row(row)), dict(r1cs.c.row(row))
    return row, _exchange(r1cs, row, a, c)


def _exchange(r1cs: R1CS, row: int, a: dict[int, int], c: dict[int, int]) -> R1CS:
    return replaced(replaced(r1cs, "a", _with_row(r1cs.a, row, c)), "c", _with_row(r1cs.c, row, a))


def _with_row(matrix: CsrMatrix, row: int, terms: dict[int, int]) -> CsrMatrix:
    lo, hi = int(matrix.row_ptr[row]), int(matrix.row_ptr[row + 1])
    row_ptr = matrix.row_ptr.copy()
    row_ptr[row + 1 :] += len(terms) - (hi - lo)
    size = len(matrix.dictionary)
    new_cols = np.array(list(terms), dtype=np.uint32)
    new_coeff = np.arange(size, size + len(terms), dtype=np.uint32)
    coeff = matrix.coeff.astype(np.uint32)
    return CsrMatrix(
        matrix.curve,
        matrix.num_cols,
        row_ptr,
        np.concatenate([matrix.col[:lo], new_cols, matrix.col[hi:]]),
        np.concatenate([coeff[:lo], new_coeff, coeff[hi:]]),
        np.concatenate([matrix.dictionary, fr_from_ints(BLS, terms.values())]),
    )


def is_equivalent(r1cs: R1CS, row: int, kind: str, side: str) -> bool:
    """Whether damage leaves the statement alone: a factor of a product that is 0, or both sides of a * 1 = c."""
    if kind == "exchanged":
        return r1cs.b.row(row) == [(0, 1)]
    return kind in ("coefficient", "negated") and side == "b" and not r1cs.c.row(row)


def mutants(r1cs: R1CS) -> Iterator[tuple[str, int, R1CS]]:
    rng = random.Random(20)
    made = 0
    while made < NUM_MUTANTS:
        kind, side = KINDS[made % len(KINDS)], rng.choice(SIDES)
        row, damaged = mutant(r1cs, kind, side, rng)
        if not is_equivalent(r1cs, row, kind, side):
            made += 1
            yield kind, row, damaged


def breaks(r1cs: R1CS, row: int, witness: list[int]) -> bool:
    a, b, c = r1cs.row_values(row, witness)
    return (a * b - c) % BLS.r != 0


@pytest.mark.long
def test_every_damaged_row_is_caught(recorded: tuple[R1CS, list[list[int]]]) -> None:
    r1cs, witnesses = recorded
    right_hash = circuit_hash(r1cs)
    survivors = []
    for kind, row, damaged in mutants(r1cs):
        damaged.validate()
        assert not any(breaks(r1cs, row, witness) for witness in witnesses)
        assert circuit_hash(damaged) != right_hash, (kind, row)
        if not any(breaks(damaged, row, witness) for witness in witnesses):
            survivors.append((kind, row, [r1cs.a.row(row), r1cs.b.row(row), r1cs.c.row(row)]))
    print(f"{NUM_MUTANTS} damaged rows: the hash caught all, witnesses {NUM_MUTANTS - len(survivors)}")
    # What is left is a top carry that is 0 for nearly all words, or a row whose sides are rarely all nonzero.
    assert len(survivors) <= NUM_MUTANTS * 3 // 100, survivors
