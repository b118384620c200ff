"""Poseidon outside the circuit: published values, the oracle, the optimised form against the plain one.

Would catch: a wrong tap, tag, round number, row order or matrix; a constant of the optimised form that is
misplaced or missing; an element that is reduced too late to be accepted or not refused when too large.
"""

from __future__ import annotations

import random

import cuzk_oracles.poseidon as oracle
import pytest

from cuzk.circuits.vanilla.poseidon import poseidon, poseidon_many, poseidon_plain
from cuzk.circuits.vanilla.poseidon_constants import ARITIES, MODULUS, instance, round_numbers
from cuzk.errors import RangeError
from tests.circuits import poseidon_values

#: The arities whose optimised constants are cheap enough to make in a test of merges.
_USED = (2, 4, 8, 11)


@pytest.mark.parametrize("arity", ARITIES)
def test_published_values(arity: int) -> None:
    assert poseidon_plain(range(arity)) == poseidon_values.COUNTING[arity]
    if arity in _USED:
        assert poseidon(range(arity)) == poseidon_values.COUNTING[arity]


def test_a_real_inner_node() -> None:
    children = [int.from_bytes(bytes.fromhex(text), "little") for text in poseidon_values.NODE_CHILDREN]
    assert poseidon(children).to_bytes(32, "little").hex() == poseidon_values.NODE


@pytest.mark.parametrize("arity", _USED)
def test_constants_are_the_oracles(arity: int) -> None:
    params = instance(arity)
    assert [list(row) for row in params.round_constants] == oracle.round_constants(arity)
    assert [list(row) for row in params.mds] == oracle.cauchy_matrix(arity + 1)
    assert (params.full_rounds, params.partial_rounds) == (oracle.FULL_ROUNDS, oracle.PARTIAL_ROUNDS[arity])
    assert params.mds == tuple(zip(*params.mds, strict=True)), "the products rely on the symmetry"


@pytest.mark.parametrize("arity", ARITIES)
def test_round_numbers_are_those_in_use(arity: int) -> None:
    assert round_numbers(arity + 1) == (8, oracle.PARTIAL_ROUNDS[arity])


@pytest.mark.parametrize("arity", _USED)
def test_optimised_plain_and_oracle_agree(arity: int, rng: random.Random) -> None:
    edges = [0, 1, MODULUS - 1]
    preimages = [[edge] * arity for edge in edges]
    preimages += [[rng.choice([*edges, rng.randrange(MODULUS)]) for _ in range(arity)] for _ in range(8)]
    hashes = poseidon_many(preimages)
    assert hashes == [poseidon_plain(preimage) for preimage in preimages]
    assert hashes[:4] == [oracle.poseidon(preimage) for preimage in preimages[:4]]
    assert all(0 <= value < MODULUS for value in hashes)


@pytest.mark.parametrize("arity", _USED)
def test_shape_of_the_optimised_constants(arity: int) -> None:
    params = instance(arity)
    optimised = params.optimised
    assert len(optimised.constants) == 8 * params.width + params.partial_rounds
    assert optimised.constants[: params.width] == params.round_constants[0]
    assert len(optimised.sparse) == params.partial_rounds
    assert {(len(matrix.w_hat), len(matrix.v)) for matrix in optimised.sparse} == {(params.width, arity)}
    # The last partial round multiplies by M'' of M itself, whose first row is M's.
    assert (optimised.sparse[-1].w_hat[0], *optimised.sparse[-1].v) == params.mds[0]


def test_what_is_no_preimage_is_refused() -> None:
    with pytest.raises(RangeError, match="no Poseidon of arity 3"):
        poseidon([1, 2, 3])
    for bad in (MODULUS, -1):
        with pytest.raises(RangeError, match="element 1"):
            poseidon([0, bad])
        with pytest.raises(RangeError, match="element 1"):
            poseidon_plain([0, bad])
