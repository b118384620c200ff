"""The stacked PoRep as a circuit: counts of rust-fil-proofs, every sector size by template, public inputs, witnesses.

Would catch: a row more or less, a parent of another layer, labels hashed or opened in another order, an input missing
or out of place, a false vanilla proof that satisfies the rows.
"""

from __future__ import annotations

from functools import cache

import pytest

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.porep import find_porep
from cuzk.circuits.stacked import INPUTS_PER_CHALLENGE, StackedCircuit
from cuzk.circuits.vanilla.graph import Graph
from cuzk.circuits.vanilla.merkle import TreeShape
from cuzk.circuits.vanilla.porep import porep_challenges, porep_public_inputs
from cuzk.circuits.vanilla.porep_files import CommitPhase1, write_commit1
from cuzk.circuits.vanilla.seal import SectorIdentity
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES, SectorShape, sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_commit1
from cuzk.curves import get_curve
from cuzk.synthesis import ConstraintSystem
from tests.circuits.row_check import first_broken
from tests.circuits.sectors import POREP_ID, PROVER_ID, SECTOR_NUMBER, SEED, TICKET
from tests.circuits.test_post import path_rows
from tests.circuits.witnesses import with_hints

BLS = get_curve("bls12_381")
#: Name -> rows, as the tests of rust-fil-proofs assert them; 22 inputs.
ROWS = {
    "stacked:2-0-0:8n:2l:1c": 1_206_212,
    "stacked:8-0-0:8n:2l:1c": 1_199_620,
    "stacked:8-4-2:64n:2l:1c": 1_346_982,
}
SHARED_ROWS, DATA_LEVEL_ROWS, LABEL_ROWS, COLUMN_ROWS = 571, 45_382, 522_269, {2: 311, 11: 598}
IDENTITY = SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, POREP_ID)
#: Of the smallest circuit: one challenge of eight nodes.
TINY = SectorShape("8 nodes", 8 * 32, TreeShape(8), challenges=1)


def challenge_rows(circuit: StackedCircuit) -> int:
    """The closed form that holds for every count published."""
    path, layers = path_rows(circuit.tree_arities), circuit.layers
    column = COLUMN_ROWS[layers] + path
    labels = layers * LABEL_ROWS + 256 * (6 + 14 * (layers - 1))
    return len(circuit.data_arities) * DATA_LEVEL_ROWS + 2 + 14 * column + 65 + labels + 1 + path + column


@pytest.mark.parametrize("name", ROWS)
def test_counts_of_rust_fil_proofs(name: str) -> None:
    cs = ConstraintSystem(BLS)
    find_circuit(name).record(cs)
    assert (cs.num_inputs, cs.num_constraints) == (22, ROWS[name])
    circuit = StackedCircuit.parse(name)
    assert SHARED_ROWS + challenge_rows(circuit) == ROWS[name]
    assert circuit.name == name


@pytest.mark.parametrize("size", SECTOR_SHAPES)
def test_rows_of_every_size(size: str) -> None:
    """Where a challenge is copied there is nothing to gain from recording more than it and the shared part."""
    shape, circuit = sector_shape(size), find_porep(f"porep:{size}")
    assert (circuit.num_nodes, circuit.layers, circuit.challenges) == (
        shape.num_nodes,
        shape.layers,
        shape.challenges,
    )
    cs = ConstraintSystem(BLS)
    circuit.record(cs)
    assert cs.num_constraints == SHARED_ROWS + circuit.challenges * challenge_rows(circuit)
    assert cs.num_inputs == circuit.num_inputs == 4 + INPUTS_PER_CHALLENGE * circuit.challenges


@cache
def tiny_output() -> CommitPhase1:
    return synthetic_commit1(TINY, IDENTITY, SEED)


def tiny_public_inputs() -> list[int]:
    output = tiny_output()
    challenges = porep_challenges(output.replica_id, SEED, TINY.num_nodes, 1)
    graph = Graph(TINY.num_nodes, POREP_ID)
    return porep_public_inputs(
        graph, output.replica_id, challenges, comm_d=output.comm_d, comm_r=output.comm_r
    )


def test_a_witness_satisfies_every_row_and_has_the_verifiers_inputs() -> None:
    circuit = find_circuit("stacked:8-0-0:8n:2l:1c")
    assert circuit.hints is not None
    hints = circuit.hints(write_commit1(tiny_output()), None, 0)
    inputs, r1cs, witness = with_hints(circuit.record, hints)
    assert inputs == tiny_public_inputs()
    assert first_broken(r1cs, witness) is None
