"""The Poseidon oracle against published values and against properties of its parts.

Would catch: a wrong tap or start of the generator, a wrong order of bits, a matrix that is no Cauchy matrix.
"""

from __future__ import annotations

import itertools

import pytest
from cuzk_oracles import poseidon
from cuzk_oracles.params import BLS12_381_R as R

from tests.circuits.poseidon_values import COUNTING, NODE, NODE_CHILDREN


@pytest.mark.parametrize("arity", [2, 4, 8, 11])
def test_published_values(arity: int) -> None:
    assert poseidon.poseidon(range(arity)) == COUNTING[arity]


def test_a_real_inner_node() -> None:
    children = [int.from_bytes(bytes.fromhex(text), "little") for text in NODE_CHILDREN]
    assert poseidon.poseidon(children) == int.from_bytes(bytes.fromhex(NODE), "little")


def test_the_register_starts_with_its_parameters_and_keeps_its_recurrence() -> None:
    start = poseidon.lfsr_start(9, 8, 57)
    assert len(start) == 80
    assert "".join(map(str, start)) == "01000100001111111100000000100100000010000000111001" + "1" * 30
    bits = start + list(itertools.islice(poseidon.lfsr_bits(start), 200))
    taps = (0, 13, 23, 38, 51, 62)
    assert all(bits[i + 80] == sum(bits[i + tap] for tap in taps) % 2 for i in range(200))


def test_the_matrix_has_the_entries_of_its_definition() -> None:
    matrix = poseidon.cauchy_matrix(3)
    assert all(matrix[i][j] * (i + 3 + j) % R == 1 for i in range(3) for j in range(3))
