"""Merkle inclusion, insertion, decomposition and labels as circuits: counts of rust-fil-proofs, values, witnesses.

Would catch: a row more or less, siblings or index bits in another order, bytes turned round, an input missing or out of
place, a false path that satisfies the rows.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import pytest

from cuzk.circuits.boolean import alloc_bits, bit_value
from cuzk.circuits.catalogue import build_circuit, find_circuit
from cuzk.circuits.create_label import create_label, create_label_circuit, create_label_hints
from cuzk.circuits.number import enforce_equal, expose, insert, number_to_bits, reversed_in_bytes
from cuzk.circuits.por import NODE_HASHERS, PorCircuit, enforce_inclusion, path_hints, path_root, sha256_node
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.vanilla import labels
from cuzk.circuits.vanilla.merkle import HASHERS, SHA256, InclusionProof, TreeShape, build_tree
from cuzk.curves import get_curve
from cuzk.errors import InputError, RangeError, ShapeError
from cuzk.relation import R1CS
from cuzk.synthesis import ConstraintSystem, circuit_hash, circuit_sizes
from tests.circuits.damage import survivors

BLS = get_curve("bls12_381")
#: Name -> rows, as the tests of rust-fil-proofs assert them: 64 leaves in each base tree.
ROWS = {
    "por:sha256:2-0-0:64:public": 272_295,
    "por:poseidon:2-0-0:64:public": 1_887,
    "por:poseidon:4-0-0:64:public": 1_164,
    "por:poseidon:8-0-0:64:public": 1_063,
    "por:poseidon:8-2-0:128:public": 1_377,
    "por:poseidon:8-4-2:512:public": 1_764,
    "por:poseidon:8-8-0:512:public": 1_593,
    "por:poseidon:2-0-0:64:private": 1_886,
    "por:poseidon:4-0-0:64:private": 1_163,
    "por:poseidon:8-0-0:64:private": 1_062,
}
SMALL = [
    "por:poseidon:2-0-0:8:public",
    "por:poseidon:4-0-0:16:private",
    "por:poseidon:8-4-2:64:public",
    "por:poseidon:8-2-4:64:public",
    "por:sha256:2-0-0:4:public",
    "por:sha256:4-0-0:4:private",
    "por:sha256:8-2-0:16:public",
]


@cache
def proof_of(name: str, leaf: int, seed: int = 1) -> InclusionProof:
    """The path of a leaf in a tree of random leaves."""
    rng = random.Random(seed)
    circuit = PorCircuit.parse(name)
    leaves = [rng.randrange(BLS.r) for _ in range(circuit.num_leaves)]
    return build_tree(HASHERS[circuit.hasher], circuit.shape, leaves).prove(leaf)


def recorded(name: str, proof: InclusionProof) -> tuple[ConstraintSystem, R1CS]:
    circuit = PorCircuit.parse(name)
    cs = ConstraintSystem(BLS, hints=circuit.hints(proof))
    circuit.record(cs)
    return cs, cs.r1cs()


@pytest.mark.parametrize("name", ROWS)
def test_counts_of_rust_fil_proofs(name: str) -> None:
    sizes = circuit_sizes(build_circuit(name))
    assert sizes["num_constraints"] == ROWS[name]
    assert sizes["num_inputs"] == (3 if name.endswith("public") else 2)


def test_one_level_of_eight() -> None:
    """Rows and terms of the published sums over a WindowPoSt of 2,349 sectors, divided by its levels."""
    small, large = (circuit_sizes(build_circuit(f"por:poseidon:8-0-0:{n}:public")) for n in (64, 512))
    more = {key: large[key] - small[key] for key in ("num_constraints", "nnz_a", "nnz_b", "nnz_c")}
    # Three terms of A pack the index.
    assert more == {"num_constraints": 530, "nnz_a": 3_647 + 3, "nnz_b": 539, "nnz_c": 666}


def test_a_sector_of_window_post() -> None:
    """Ten leaves of a 32 GiB replica: sizes of a partition of 2,349 sectors by an independent model, divided."""
    cs = ConstraintSystem(BLS)
    comm_r_last, comm_c, comm_r = (cs.alloc() for _ in range(3))
    expose(cs, comm_r)
    enforce_equal(cs, comm_r, poseidon_hash(cs, [comm_c, comm_r_last]))
    for _ in range(10):
        enforce_inclusion(cs, poseidon_hash, cs.alloc(), comm_r_last, (8,) * 10)
    assert list(circuit_sizes(cs.r1cs()).values())[:-1] == [
        *(12, 126_902_376 // 2_349, 125_279_217 // 2_349),
        *(862_416_559 // 2_349 + 1, 127_398_015 // 2_349, 157_401_792 // 2_349),  # A: and the row of ONE
        *(96_179_805 // 2_349, 91_925_766 // 2_349, 1),
    ]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if "8-2-0" in name else []) for name in SMALL]
)
def test_witnesses_and_public_inputs(name: str) -> None:
    circuit = PorCircuit.parse(name)
    rows = circuit_hash(build_circuit(name))
    last = circuit.num_leaves - 1
    for leaf in {0, last, *random.Random(2).choices(range(last), k=3)}:
        proof = proof_of(name, leaf)
        cs, r1cs = recorded(name, proof)
        assert cs.inputs == [1, leaf] + ([] if circuit.is_private else [proof.root])
        assert r1cs.first_unsatisfied(cs.witness()) is None
        assert circuit_hash(r1cs) == rows


@pytest.mark.parametrize("name", SMALL[:3])
def test_false_paths_break_a_row(name: str) -> None:
    proof = proof_of(name, 5)
    first = proof.base[0]
    false = [
        replace(proof, leaf=(proof.leaf + 1) % BLS.r),
        replace(proof, root=(proof.root + 1) % BLS.r),
        replace(proof, base=(replace(first, index=first.index ^ 1), *proof.base[1:])),
        replace(proof, base=(replace(first, siblings=(0, *first.siblings[1:])), *proof.base[1:])),
    ]
    for wrong in false:
        cs, r1cs = recorded(name, wrong)
        assert r1cs.first_unsatisfied(cs.witness()) is not None


def test_damaged_rows_are_caught() -> None:
    name = "por:poseidon:8-4-2:64:public"
    leaves = random.Random(4).sample(range(64), 32)
    witnesses = [recorded(name, proof_of(name, leaf))[0].witness().to_ints() for leaf in leaves]
    assert survivors(build_circuit(name), witnesses, 60, seed=4) == []


def test_damaged_choices_are_caught() -> None:
    """The same of insertion alone, in which a sample of whole paths has few rows."""
    systems = [ConstraintSystem(BLS, with_values=True) for _ in range(32)]
    for seed, cs in enumerate(systems):
        insertion(cs, 3, seed % 8, seed)
    witnesses = [cs.witness().to_ints() for cs in systems]
    assert survivors(systems[0].r1cs(), witnesses, 60, seed=5) == []


def insertion(cs: ConstraintSystem, num_bits: int, position: int, seed: int) -> tuple[list[int], list[int]]:
    """Insert at a position; what came out and what should."""
    rng = random.Random(seed)
    element, *others = (rng.randrange(BLS.r) for _ in range(1 << num_bits))
    bits = alloc_bits(cs, num_bits, [position >> i & 1 for i in range(num_bits)])
    variables = [cs.alloc(value) for value in (element, *others)]
    out = insert(cs, variables[0], bits, variables[1:])
    values = cs.witness().to_ints()
    return [values[variable + 1] for variable in out], [*others[:position], element, *others[position:]]


@pytest.mark.parametrize(("num_bits", "rows"), [(1, 2), (2, 8), (3, 22)])
def test_insertion(num_bits: int, rows: int) -> None:
    """Every position; rows as test_insert asserts them."""
    for position in range(1 << num_bits):
        cs = ConstraintSystem(BLS, with_values=True)
        got, expected = insertion(cs, num_bits, position, position)
        assert got == expected
        assert cs.num_constraints == rows + num_bits
        assert cs.r1cs().first_unsatisfied(cs.witness()) is None


def test_decomposition() -> None:
    for value in (0, 1, BLS.r - 1, random.Random(7).randrange(BLS.r)):
        cs = ConstraintSystem(BLS, with_values=True)
        bits = number_to_bits(cs, cs.alloc(value))
        assert [bit_value(cs, bit) for bit in bits] == [value >> i & 1 for i in range(255)]
        assert (cs.num_constraints, cs.num_aux) == (256, 256)
        assert cs.r1cs().first_unsatisfied(cs.witness()) is None
    assert reversed_in_bytes([2, 4, 6]) == [0, 0, 0, 0, 0, 6, 4, 2]


def test_a_node_of_sha256() -> None:
    """One level of comm_d is 45,382 rows: 3 of the position, the rest here."""
    cs = ConstraintSystem(BLS)
    sha256_node(cs, [cs.alloc(), cs.alloc()])
    assert cs.num_constraints == 45_382 - 3
    values = [random.Random(8).randrange(BLS.r) for _ in range(2)]
    cs = ConstraintSystem(BLS, with_values=True)
    node = sha256_node(cs, [cs.alloc(value) for value in values])
    assert cs.value({node: 1}) == SHA256.node(values)


def test_inclusion_with_a_root_at_hand() -> None:
    proof = proof_of("por:poseidon:8-4-2:64:public", 37)
    for root in (proof.root, proof.root ^ 1):
        cs = ConstraintSystem(BLS, hints=path_hints(proof.path, (8, 4, 2)))
        leaf, claimed = cs.alloc(proof.leaf), cs.alloc(root)
        enforce_inclusion(cs, NODE_HASHERS["poseidon"], leaf, claimed, (8, 4, 2))
        assert cs.r1cs().first_unsatisfied(cs.witness()) == (
            None if root == proof.root else cs.num_constraints - 1
        )


def test_rows_of_a_label() -> None:
    """test_create_label: 37 parents, layer 3, node 22."""
    cs = ConstraintSystem(BLS)
    create_label_circuit(cs)
    assert (cs.num_constraints, cs.num_inputs) == (532_025, 1)


@pytest.mark.long
def test_labels() -> None:
    r1cs = build_circuit("create-label")
    rng = random.Random(9)
    replica_id, *parents = (rng.randrange(BLS.r) for _ in range(38))
    cs = ConstraintSystem(BLS, hints=create_label_hints(replica_id, parents))
    label = create_label_circuit(cs)
    assert cs.value({label: 1}) == labels.create_label(replica_id, 3, 22, parents)
    assert cs.r1cs().first_unsatisfied(cs.witness()) is None
    assert circuit_hash(cs.r1cs()) == circuit_hash(r1cs)


def test_a_label_without_parents() -> None:
    constants = ConstraintSystem(BLS, with_values=True)
    label = create_label(constants, [0] * 256, 1, [0] * 64, [])
    assert constants.value({label: 1}) == labels.create_label(0, 1, 0, [])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("por:poseidon:8-0-0:64", "is no Merkle inclusion"),
        ("por:poseidon:8-0-0:64:secret", "is no Merkle inclusion"),
        ("por:blake:8-0-0:64:public", "unknown hasher 'blake'"),
        ("por:poseidon:8-0-0:x:public", "'x' is no number of leaves"),
        ("por:poseidon:8-0-0:99999999999:public", "is no number of leaves"),
        ("por:poseidon:8-0:64:public", "is no tree shape"),
        ("por:poseidon:16-0-0:16:public", "a circuit of a tree 16-0-0"),
        ("por:poseidon:8-0-0:65:public", "65 leaves do not fill"),
        ("poseidon:3", "no built-in circuit"),
    ],
)
def test_names_that_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_circuit(name)


def test_names_and_shapes() -> None:
    assert all(PorCircuit.parse(name).name == name == find_circuit(name).name for name in ROWS)
    assert PorCircuit.parse("por:sha256:2-0-0:64:private") == PorCircuit(
        "sha256", TreeShape(2), 64, is_private=True
    )
    cs = ConstraintSystem(BLS, with_values=True)
    with pytest.raises(ShapeError, match="a path does not have the shape"):
        list(PorCircuit.parse(SMALL[0]).hints(proof_of(SMALL[1], 3)))
    with pytest.raises(ShapeError, match="a tree with the arities"):
        path_root(cs, NODE_HASHERS["poseidon"], cs.alloc(1), [2, 16])
    with pytest.raises(ShapeError, match="insertion into 2 variables"):
        insert(cs, 0, [2], [0, 0])
    with pytest.raises(ShapeError, match="36 parents"):
        create_label_hints(1, [0] * 36)
    with pytest.raises(ShapeError, match="a label of 1 parents"):
        create_label(cs, [0] * 256, 1, [0] * 64, [[0] * 256])
    with pytest.raises(RangeError, match="no Poseidon of arity 5"):
        NODE_HASHERS["poseidon"](cs, [0] * 5)
