"""A key with matrices beside a compiled circuit of the same sizes: another circuit is refused before any proof.

Would catch: a proof that takes minutes and then fails its own check, without a word of the reason.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from cuzk.circuits.catalogue import compiled_circuit
from cuzk.csr import CsrMatrix
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import ShapeError
from cuzk.groth16 import Prover, ToxicWaste, setup
from cuzk.groth16.same_rows import _first_difference
from cuzk.keys import ProvingKey
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS, matrix_from_rows
from cuzk.synthesis.expand import expand

NAME = "poseidon:2"


@cache
def circuit() -> CompiledCircuit:
    return compiled_circuit(NAME)


@cache
def made(roots: str = "snarkjs") -> ProvingKey:
    return key_of(expand(circuit()), roots)


def key_of(r1cs: R1CS, roots: str = "snarkjs") -> ProvingKey:
    waste = ToxicWaste.from_seed(r1cs.curve, 1)
    return setup(r1cs, get_device("cpu"), toxic_waste=waste, root_convention=roots)  # type: ignore[arg-type]


def changed(matrix: CsrMatrix, entry: int, what: str) -> CsrMatrix:
    """A matrix with one other coefficient, or one other variable."""
    if what == "coefficient":
        coeff = matrix.coeff.copy()
        coeff[entry] = (int(coeff[entry]) + 1) % len(matrix.dictionary)
        return replace(matrix, coeff=coeff)
    col = matrix.col.copy()
    row = int(np.searchsorted(matrix.row_ptr, entry, side="right")) - 1
    used = set(col[matrix.row_ptr[row] : matrix.row_ptr[row + 1]].tolist())
    after = int(col[entry]) + 1
    assert after not in used
    col[entry] = after
    return replace(matrix, col=col)


@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
def test_the_same_circuit_is_taken(roots: str) -> None:
    assert Prover(made(roots), get_device("cpu"), circuit=circuit()).key is made(roots)
    Prover(replace(made(roots), c=None), get_device("cpu"), circuit=circuit())


@pytest.mark.parametrize("letter", ["a", "b", "c"])
@pytest.mark.parametrize("what", ["coefficient", "variable"])
def test_another_of_the_same_sizes_is_refused_with_its_first_row(letter: str, what: str) -> None:
    """One entry of the last row that has some: neither sizes nor counts of entries differ."""
    key = made()
    matrix: CsrMatrix = getattr(key, letter)
    entry = int(matrix.row_ptr[key.num_constraints]) - 1
    row = int(np.searchsorted(matrix.row_ptr, entry, side="right")) - 1
    other: ProvingKey = replace(key, **dict[str, Any]({letter: changed(matrix, entry, what)}))
    with pytest.raises(ShapeError, match=rf"other constraints.*row {row} of matrix {letter.upper()}"):
        Prover(other, get_device("cpu"), circuit=circuit())


def test_a_key_of_reordered_rows_is_of_another_circuit() -> None:
    whole = expand(circuit())
    order = np.arange(whole.num_constraints)[::-1]

    def reordered(matrix: CsrMatrix) -> CsrMatrix:
        lengths = np.diff(matrix.row_ptr)[order]
        places = np.concatenate([np.arange(matrix.row_ptr[i], matrix.row_ptr[i + 1]) for i in order])
        row_ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return replace(matrix, row_ptr=row_ptr, col=matrix.col[places], coeff=matrix.coeff[places])

    a, b, c = (reordered(matrix) for matrix in whole.matrices.values())
    other = R1CS(whole.curve, whole.num_variables, whole.num_public, a, b, c)
    with pytest.raises(ShapeError, match=r"row 0 of matrix"):
        Prover(key_of(other), get_device("cpu"), circuit=circuit())


def test_the_first_row_of_another_length_is_named() -> None:
    """The same terms one after the other, cut into other rows: the first that differs, not the last."""
    toy = get_curve("toy")
    own = matrix_from_rows(toy, 5, [{0: 1, 1: 1}, {2: 1}, {3: 1}])
    its = matrix_from_rows(toy, 5, [{0: 1}, {1: 1}, {2: 1, 3: 1}])
    codes = np.zeros(1, np.uint32)
    assert _first_difference(own, its, 0, codes, codes) == 0
    assert _first_difference(own, own, 0, codes, codes) is None


def test_rows_that_begin_in_the_middle_are_compared() -> None:
    """Long circuits come in chunks, each with the row of the matrix that it begins at."""
    toy = get_curve("toy")
    own = matrix_from_rows(toy, 5, [{0: 1, 1: 1}, {2: 1}, {3: 1}])
    same, other = (matrix_from_rows(toy, 5, [{2: 1}, {last: 1}]) for last in (3, 4))
    codes = np.zeros(1, np.uint32)
    assert _first_difference(own, same, 1, codes, codes) is None
    assert _first_difference(own, other, 1, codes, codes) == 2
