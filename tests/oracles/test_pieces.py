"""The meaning of compiled circuits: programs in order against values on demand, pieces against expanded rows.

Would catch: a bundle that reads its own results, a binding or an input numbered wrongly, the result of a solved row
with the wrong sign, a sum without its constant, a sample without one of its classes.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from cuzk_oracles import edge_values, pieces, sample_pieces, spmv
from cuzk_oracles.params import BLS12_381, TOY


@pytest.mark.parametrize("r", [TOY.r, BLS12_381.r], ids=["toy", "bls12_381"])
@pytest.mark.parametrize("seed", range(8))
def test_two_ways_to_each_result(seed: int, r: int) -> None:
    rng = random.Random(seed)
    free_rows = seed % 2 == 0
    sample = sample_pieces.sample_circuit(seed, r, counts=(1, 3, 0), free_rows=free_rows)
    hints = sample.hints(lambda: rng.choice([0, 1, r - 1, rng.randrange(r)]))
    inputs = [rng.randrange(r) for _ in range(sample.num_given)]
    w = pieces.run(sample.circuit, hints, inputs)
    assert w[0] == 1
    assert w[1 : 1 + sample.num_given] == inputs
    assert w == pieces.run_on_demand(sample.circuit, hints, inputs)
    sides = []
    for side in range(3):
        sides.append(pieces.piece_rows(sample.circuit, side, w))
        rows = sample.circuit.expanded(side)
        assert sides[-1] == spmv.spmv(rows, w, r)
        some = rng.sample(range(len(rows)), min(len(rows), 10))
        assert [sides[-1][i] for i in some] == spmv.spmv_dense([rows[i] for i in some], w, r)
    if not free_rows:
        assert all(a * b % r == c for a, b, c in zip(*sides, strict=True))


def test_samples_hold_every_class() -> None:
    hits: Counter[str] = Counter()
    for seed in range(20):
        hits += sample_pieces.classes(sample_pieces.sample_circuit(seed, TOY.r, counts=(0, 1, 4)).circuit)
    assert set(hits) == set(edge_values.IDS["C"])


def by_hand() -> pieces.Circuit:
    """An input x, two instances that make the 4 low bits of their operand, of a sum 3 + b0 + (1 - b1) * 4, and x^2."""
    piece = pieces.Piece(
        num_bound=1, num_aux=11,
        row_ptr=([0, 1, 2], [0, 1, 2], [0, 1, 3]),
        terms=([(0, 0), (0, 0)], [(0, 0), (0, 0)], [(9, 0), (10, 1), (-1, 0)]),
        bundles=[(pieces.BITS, 4, 0, 0), (pieces.SUM, 4, 1, 4), (pieces.SOLVE, 1, 2, 8), (pieces.SOLVE, 1, 3, 9),
                 (pieces.LINEAR, 1, 4, 10)],
        operands=[(0, 0, 0, 0), (0, 2, 3, 0), (0, 1, 0, 0), (1, -1, 0, 0), (0, 2, 0, 0)],
        sum_terms=[(1, 0), (2, 2 | 256)], linear_terms=[(9, 0), (-1, 1)],
        instances=[pieces.Instance(0, 0, 2, 0, [-2], 0), pieces.Instance(2, 11, 2, 0, [8], 1)],
    )  # fmt: skip
    given = pieces.Piece(num_inputs=1, instances=[pieces.Instance(0, 0, 1, 0, [], 0)])
    return pieces.Circuit(97, 2, 22, 4, 0, [1, 96], [given, piece])


def test_a_circuit_by_hand() -> None:
    circuit = by_hand()
    w = pieces.run(circuit, [], [10])
    #            bits of 10     3 + 0 + 0         10^2  1 - 10^2    10^2 - 1
    first = [*(0, 1, 0, 1), *(1, 1, 0, 0), 100 % 97, (1 - 100) % 97, 100 % 97 - 1]
    #            bits of 3      3 + 1 + 0     9  1 - 9  9 - 1
    second = [*(1, 1, 0, 0), *(0, 0, 1, 0), 9, 97 - 8, 8]
    assert w == [1, 10, *first, *second]
    assert pieces.run_on_demand(circuit, [], [10]) == w
    assert pieces.piece_rows(circuit, 0, w) == [10, 10, 3, 3]
    assert pieces.piece_rows(circuit, 2, w) == [3, 3, 9, 9]


def test_an_unknown_operation_is_refused() -> None:
    circuit = by_hand()
    circuit.pieces[1].bundles[0] = (8, 1, 0, 0)
    with pytest.raises(ValueError, match="code 8"):
        pieces.run(circuit, [], [1])
