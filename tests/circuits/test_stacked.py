"""The stacked PoRep as a circuit: counts of rust-fil-proofs, every sector size by template, public inputs, witnesses.

Would catch: a row more or less, a parent of another layer, labels hashed or opened in another order, an input missing
or out of place, a false vanilla proof that satisfies the rows.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from cuzk.circuits.catalogue import compiled_circuit, find_circuit
from cuzk.circuits.create_label import create_label_hints
from cuzk.circuits.hints import stacked_hints
from cuzk.circuits.porep import find_porep
from cuzk.circuits.stacked import INPUTS_PER_CHALLENGE, StackedCircuit
from cuzk.circuits.vanilla.graph import Graph
from cuzk.circuits.vanilla.labels import create_label
from cuzk.circuits.vanilla.merkle import InclusionProof, PathElement, TreeShape
from cuzk.circuits.vanilla.porep import (
    ColumnProof,
    StackedProof,
    non_interactive_challenges,
    porep_challenges,
    porep_public_inputs,
    prove_challenge,
)
from cuzk.circuits.vanilla.porep_files import CommitPhase1, write_commit1
from cuzk.circuits.vanilla.seal import SectorIdentity
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES, SectorShape, sector_shape
from cuzk.circuits.vanilla.synth_challenges import picked_challenges
from cuzk.circuits.vanilla.synthetic import synthetic_commit1
from cuzk.curves import get_curve
from cuzk.errors import InputError, ShapeError
from cuzk.limbs import fr_to_ints
from cuzk.synthesis import ConstraintSystem, circuit_sizes
from tests.circuits.row_check import first_broken
from tests.circuits.sectors import POREP_ID, PROVER_ID, SECTOR_NUMBER, SEED, TICKET, sealed
from tests.circuits.test_post import path_rows
from tests.circuits.witnesses import compiled_witness, with_hints

BLS = get_curve("bls12_381")
#: Name -> rows, as the tests of rust-fil-proofs assert them; 22 inputs.
ROWS = {
    "stacked:2-0-0:8n:2l:1c": 1_206_212,
    "stacked:8-0-0:8n:2l:1c": 1_199_620,
    "stacked:8-4-2:64n:2l:1c": 1_346_982,
}
SHARED_ROWS, DATA_LEVEL_ROWS, LABEL_ROWS, COLUMN_ROWS = 571, 45_382, 522_269, {2: 311, 11: 598}
IDENTITY = SectorIdentity(PROVER_ID, SECTOR_NUMBER, TICKET, POREP_ID)
#: The smallest circuit: one challenge of eight nodes.
TINY, TINY_NAME = SectorShape("8 nodes", 8 * 32, TreeShape(8), challenges=1), "stacked:8-0-0:8n:2l:1c"


def challenge_rows(circuit: StackedCircuit) -> int:
    """The closed form that holds for every count published."""
    path, layers = path_rows(circuit.tree_arities), circuit.layers
    column = COLUMN_ROWS[layers] + path
    labels = layers * LABEL_ROWS + 256 * (6 + 14 * (layers - 1))
    return len(circuit.data_arities) * DATA_LEVEL_ROWS + 2 + 14 * column + 65 + labels + 1 + path + column


def recorded(cs: ConstraintSystem, circuit: StackedCircuit) -> tuple[int, int]:
    """Inputs, ONE counted, and rows of a circuit that is written behind others, with which it shares templates."""
    inputs, rows = cs.num_inputs - 1, cs.num_constraints
    circuit.record(cs)
    return cs.num_inputs - inputs, cs.num_constraints - rows


def test_counts_of_rust_fil_proofs() -> None:
    cs = ConstraintSystem(BLS)
    for name, rows in ROWS.items():
        circuit = StackedCircuit.parse(name)
        assert circuit.name == name
        assert recorded(cs, circuit) == (22, rows), name
        assert SHARED_ROWS + challenge_rows(circuit) == rows


def test_rows_of_every_size() -> None:
    """All challenges of a partition, by template."""
    cs = ConstraintSystem(BLS)
    for size, shape in SECTOR_SHAPES.items():
        circuit = find_porep(f"porep:{size}")
        assert (circuit.num_nodes, circuit.layers) == (shape.num_nodes, shape.layers)
        assert circuit.challenges == shape.challenges
        rows = SHARED_ROWS + circuit.challenges * challenge_rows(circuit)
        assert recorded(cs, circuit) == (circuit.num_inputs, rows), size
        assert circuit.num_inputs == 4 + INPUTS_PER_CHALLENGE * circuit.challenges


def test_the_figures_of_a_partition_of_32_gib() -> None:
    """Of Curio's own engine, for a real sector: rows with the one per input, variables, terms, densities."""
    sizes = circuit_sizes(compiled_circuit("porep:32GiB"))
    assert sizes == {
        "num_inputs": 328,
        "num_aux": 130_169_893,
        "num_constraints": 130_278_869 - 328,
        "nnz_a": 309_405_051,
        "nnz_b": 130_327_340,
        "nnz_c": 282_656_500,
        "density_a_aux": 129_753_292,
        "density_b_aux": 33_112_281,
        "density_b_inputs": 1,
        "domain_log2": 27,
    }
    assert sum(sizes[name] for name in ("nnz_a", "nnz_b", "nnz_c")) == 722_388_891
    assert sizes["num_constraints"] == SHARED_ROWS + 18 * challenge_rows(find_porep("porep:32GiB"))


#: Size -> variables, terms of A, B and C, densities of A and B by an independent model.
MODELLED = {
    "2KiB": (2_685_673, 6_421_005, 2_689_006, 5_824_682, 2_674_908, 685_521),
    "8MiB": (3_842_449, 9_388_453, 3_847_886, 8_234_882, 3_814_996, 1_011_289),
}


@pytest.mark.parametrize("size", MODELLED)
def test_terms_and_densities_of_small_sizes(size: str) -> None:
    sizes = circuit_sizes(compiled_circuit(f"porep:{size}"))
    names = ("num_aux", "nnz_a", "nnz_b", "nnz_c", "density_a_aux", "density_b_aux")
    assert tuple(sizes[name] for name in names) == MODELLED[size]


@cache
def tiny_output() -> CommitPhase1:
    return synthetic_commit1(TINY, IDENTITY, SEED)


def test_a_witness_satisfies_every_row_and_has_the_verifiers_inputs() -> None:
    output, circuit = tiny_output(), find_circuit(TINY_NAME)
    inputs, broken, _ = compiled_witness(TINY_NAME, circuit.hints(write_commit1(output), None, 0))
    graph, challenges = Graph(8, POREP_ID), porep_challenges(output.replica_id, SEED, 8, 1)
    assert inputs == porep_public_inputs(
        graph, output.replica_id, challenges, comm_d=output.comm_d, comm_r=output.comm_r
    )
    assert broken is None


@pytest.mark.long
def test_programs_make_the_same_witness_as_plain_python() -> None:
    circuit = StackedCircuit.parse(TINY_NAME)
    _, r1cs, witness = with_hints(circuit.record, stacked_hints(circuit, tiny_output()))
    assert first_broken(r1cs, witness) is None
    _, _, compiled = compiled_witness(TINY_NAME, stacked_hints(circuit, tiny_output()))
    assert fr_to_ints(BLS, compiled) == witness.to_ints()


def test_labels_by_programs() -> None:
    rng = random.Random(10)
    replica, *parents = (rng.randrange(BLS.r) for _ in range(38))
    _, broken, witness = compiled_witness("create-label", create_label_hints(replica, parents))
    assert broken is None
    assert fr_to_ints(BLS, witness[-1:]) == [create_label(replica, 3, 22, parents)]


def wrong_path(proof: InclusionProof) -> InclusionProof:
    first, *rest = proof.base
    siblings = (first.siblings[0] ^ 1, *first.siblings[1:])
    return replace(proof, base=(PathElement(siblings, first.index), *rest))


def wrong_label(column: ColumnProof) -> ColumnProof:
    return replace(column, rows=(column.rows[0] ^ 1, *column.rows[1:]))


def wrong_inclusion(column: ColumnProof) -> ColumnProof:
    return replace(column, inclusion=wrong_path(column.inclusion))


def moved(proof: InclusionProof, *, index: int = 0, swap: tuple[int, int] | None = None) -> InclusionProof:
    """An opening whose lowest level is at another position, or has two siblings exchanged."""
    first, *rest = proof.base
    siblings = list(first.siblings)
    if swap is not None:
        siblings[swap[0]], siblings[swap[1]] = siblings[swap[1]], siblings[swap[0]]
    element = PathElement(tuple(siblings), (first.index + index) % (len(siblings) + 1))
    return replace(proof, base=(element, *rest))


def wrong_outputs() -> Iterator[tuple[str, CommitPhase1]]:
    """Vanilla proofs with one thing changed."""
    output = tiny_output()
    (proof,) = output.partitions[0]
    yield "replica id", replace(output, replica_id=output.replica_id ^ 1)
    yield "comm_d", replace(output, comm_d=output.comm_d ^ 1)
    yield "comm_r", replace(output, comm_r=output.comm_r ^ 1)
    data, node, own = proof.comm_d_proof, proof.comm_r_last_proof, proof.own_column
    drg, expander = proof.drg_parents, proof.expander_parents
    changed = {
        "data leaf": replace(proof, comm_d_proof=replace(data, leaf=data.leaf ^ 1)),
        "data path": replace(proof, comm_d_proof=wrong_path(data)),
        "comm_r_last": replace(proof, comm_r_last_proof=replace(node, root=node.root ^ 1)),
        "replica path": replace(proof, comm_r_last_proof=wrong_path(node)),
        "own column's path": replace(proof, own_column=replace(own, inclusion=wrong_path(own.inclusion))),
        "own column's position": replace(
            proof, own_column=replace(own, inclusion=moved(own.inclusion, index=1))
        ),
        "siblings of the replica exchanged": replace(proof, comm_r_last_proof=moved(node, swap=(2, 5))),
        "parents exchanged": replace(proof, drg_parents=drg[::-1]),
        "parents before exchanged": replace(proof, expander_parents=expander[::-1]),
        "a parent in the layer and one before exchanged": replace(
            proof, drg_parents=(*drg[:-1], expander[0]), expander_parents=(drg[-1], *expander[1:])
        ),
        "layers of a column exchanged": replace(
            proof, drg_parents=(replace(drg[0], rows=drg[0].rows[::-1]), *drg[1:])
        ),
        "label of a parent in the layer": replace(proof, drg_parents=(*drg[:-1], wrong_label(drg[-1]))),
        "path of a parent in the layer": replace(proof, drg_parents=(wrong_inclusion(drg[0]), *drg[1:])),
        "label of a parent before": replace(
            proof, expander_parents=(*expander[:-1], wrong_label(expander[-1]))
        ),
        "path of a parent before": replace(
            proof, expander_parents=(wrong_inclusion(expander[0]), *expander[1:])
        ),
    }
    for name, wrong in changed.items():
        yield name, replace(output, partitions=((wrong,),))


def test_false_vanilla_proofs_break_a_row() -> None:
    circuit = StackedCircuit.parse(TINY_NAME)
    names = []
    for name, output in wrong_outputs():
        _, broken, _ = compiled_witness(TINY_NAME, stacked_hints(circuit, output))
        assert broken is not None, name
        names.append(name)
    assert len(set(names)) == 18


def test_a_sealed_sector() -> None:
    """Challenges of all three kinds of PoRep, on what was really sealed."""
    sector, circuit = sealed("2KiB"), find_porep("porep:2KiB")
    nodes, count = sector.shape.num_nodes, sector.shape.challenges
    kinds = [
        porep_challenges(sector.replica_id, SEED, nodes, count),
        picked_challenges(sector.replica_id, sector.comm_r, SEED, nodes, count),
        non_interactive_challenges(sector.replica_id, sector.comm_r, nodes, count, partition=12),
    ]
    partitions = tuple(tuple(prove_challenge(sector, node) for node in challenges) for challenges in kinds)
    output = CommitPhase1(partitions, sector.comm_r, sector.comm_d, sector.replica_id, SEED, TICKET)
    for number, challenges in enumerate(kinds):
        inputs, broken, _ = compiled_witness("porep:2KiB", stacked_hints(circuit, output, number))
        assert inputs == porep_public_inputs(
            sector.graph, sector.replica_id, challenges, comm_d=sector.comm_d, comm_r=sector.comm_r
        )
        assert broken is None


@pytest.mark.long
def test_a_challenge_of_32_gib() -> None:
    """7,238,236 rows: eleven layers, their columns, and paths of ten levels."""
    circuit = replace(find_porep("porep:32GiB"), challenges=1)
    shape = replace(sector_shape("32GiB"), challenges=1)
    output = synthetic_commit1(shape, IDENTITY, SEED, partitions=1)
    inputs, broken, witness = compiled_witness(circuit.name, stacked_hints(circuit, output))
    challenges = porep_challenges(output.replica_id, SEED, shape.num_nodes, 1)
    graph = Graph(shape.num_nodes, POREP_ID)
    assert inputs == porep_public_inputs(
        graph, output.replica_id, challenges, comm_d=output.comm_d, comm_r=output.comm_r
    )
    assert (broken, len(witness)) == (None, 22 + 7_232_200)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stacked:8-0-0:8n:2l", "is no stacked PoRep"),
        ("stacked:8-0-0:8:2:1", "is no stacked PoRep"),
        ("stacked:8-0-0:-8n:2l:1c", "is no stacked PoRep"),
        ("stacked:8-0:8n:2l:1c", "is no tree shape"),
        ("stacked:3-0-0:9n:2l:1c", "a circuit of a tree 3-0-0"),
        ("stacked:8-0-0:9n:2l:1c", "9 leaves do not fill"),
        ("stacked:8-0-0:1n:2l:1c", "a sector of 1 nodes"),
        ("stacked:8-0-0:4294967296n:2l:1c", "a sector of 4294967296 nodes"),
        ("stacked:8-0-0:8n:3l:1c", "of 3 layers"),
        ("stacked:8-0-0:8n:2l:0c", "of 0 challenges"),
        ("stacked:8-0-0:8n:2l:1025c", "of 1025 challenges"),
        ("porep:3KiB", "unknown sector size '3KiB'"),
        ("porep:2KiB:1", "unknown sector size '2KiB:1'"),
        ("porep", "'porep' is no PoRep"),
        ("prep:2KiB", "did you mean porep:SIZE"),
    ],
)
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_circuit(name)


def test_proofs_of_another_shape_are_refused() -> None:
    circuit, output = StackedCircuit.parse("stacked:8-0-0:8n:2l:1c"), tiny_output()
    (proof,) = output.partitions[0]
    column, path = proof.own_column, proof.own_column.inclusion
    other = replace(proof, own_column=replace(column, inclusion=replace(path, root=path.root ^ 1)))
    few_rows = replace(proof.drg_parents[5], rows=proof.drg_parents[5].rows[:1])
    for wrong, message in (
        (replace(output, partitions=()), "no partition 0"),
        (replace(output, partitions=((),)), "0 challenges"),
        (replace(output, partitions=((proof, proof),)), "2 challenges"),
        (_with(output, replace(proof, drg_parents=proof.drg_parents[1:])), "5 parents in the layer"),
        (_with(output, replace(proof, expander_parents=())), "0 parents in the layer before"),
        (
            _with(output, replace(proof, drg_parents=(*proof.drg_parents[:5], few_rows))),
            "1 layers in a column",
        ),
        (_with(output, replace(proof, comm_d_proof=path)), "does not have the shape"),
        (_with(output, replace(proof, comm_r_last_proof=proof.comm_d_proof)), "does not have the shape"),
    ):
        with pytest.raises(ShapeError, match=message):
            list(stacked_hints(circuit, wrong))
    two = replace(circuit, challenges=2)
    with pytest.raises(ShapeError, match="have different roots"):
        list(stacked_hints(two, replace(output, partitions=((proof, other),))))
    with pytest.raises(ShapeError, match="no partition 1"):
        list(stacked_hints(circuit, output, 1))


def _with(output: CommitPhase1, proof: StackedProof) -> CommitPhase1:
    return replace(output, partitions=((proof,),))
