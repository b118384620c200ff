"""The stacked PoRep as a circuit: counts of rust-fil-proofs, every sector size by template, public inputs, witnesses.

Would catch: a row more or less, a parent of another layer, labels hashed or opened in another order, an input missing
or out of place, a false vanilla proof that satisfies the rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from cuzk.circuits.catalogue import compiled_circuit, find_circuit
from cuzk.circuits.hints import stacked_hints
from cuzk.circuits.porep import find_porep
from cuzk.circuits.stacked import INPUTS_PER_CHALLENGE, StackedCircuit
from cuzk.circuits.vanilla.graph import Graph
from cuzk.circuits.vanilla.merkle import TreeShape
from cuzk.circuits.vanilla.porep import StackedProof, porep_challenges, porep_public_inputs
from cuzk.circuits.vanilla.porep_files import CommitPhase1, write_commit1
from cuzk.circuits.vanilla.seal import SectorIdentity
from cuzk.circuits.vanilla.shapes import SECTOR_SHAPES, SectorShape, sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_commit1
from cuzk.curves import get_curve
from cuzk.errors import InputError, ShapeError
from cuzk.synthesis import ConstraintSystem, circuit_sizes
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


@pytest.mark.parametrize("size", [size for size in SECTOR_SHAPES if size != "32GiB"])
def test_rows_of_every_size(size: str) -> None:
    """Recorded as what it is, all challenges of a partition; of copies only the template's code runs."""
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
