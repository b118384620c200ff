"""Poseidon as a circuit: neptune's counts, hashes of random elements, witnesses, damaged rows, a proof.

Would catch: a row more or less, a key or matrix at the wrong round, a sum cut short or carried too long (terms of A),
a template that mixes operands up, a row that states nothing.
"""

from __future__ import annotations

import random

import pytest

from cuzk.circuits.catalogue import build_circuit
from cuzk.circuits.number import expose
from cuzk.circuits.poseidon import CIRCUIT_ARITIES, poseidon_circuit, poseidon_hash
from cuzk.circuits.vanilla.poseidon import poseidon, poseidon_plain
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import CurveMismatchError, RangeError
from cuzk.groth16 import Prover, setup, verify
from cuzk.synthesis import ConstraintSystem, circuit_hash, circuit_sizes
from tests.circuits.damage import survivors

BLS = get_curve("bls12_381")
#: Arity -> rows, as neptune's test asserts them.
ROWS = {2: 311, 4: 377, 8: 505, 11: 598, 16: 761, 24: 1_009, 36: 1_385}
#: Arity -> terms of A, B, C, by an independent model; without the row of the input ONE.
TERMS = {2: (2_119, 313, 386), 4: (2_573, 381, 467), 8: (3_598, 513, 624), 11: (4_462, 609, 738)}
#: Arity -> hash of all rows, recorded when counts, terms and digests were right.
HASHES = {
    2: "658f013f99360e164ad8e7f96290944601cc064f93c153d9ea7ac1275927175f",
    4: "2360602a7c4555d454b46891236273f4ae308090bc916fdcef1fb81d00ebbe70",
    8: "ab50aeda63344f7125999ef5c4af7777380b9015ec82ad48bac2213e9353b163",
    11: "e94a28106cbb9a718e525f0f2593ce3b138350047854ebcc3c83472ed482a6f6",
}


def elements(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(BLS.r) for _ in range(count)]


@pytest.mark.parametrize("arity", [*CIRCUIT_ARITIES, 16, 24])
def test_rows_of_neptune(arity: int) -> None:
    cs = ConstraintSystem(BLS)
    poseidon_circuit(cs, arity=arity)
    assert (cs.num_constraints, cs.num_aux, cs.num_inputs) == (ROWS[arity], ROWS[arity] + arity, 1)


@pytest.mark.long
def test_two_blocks_of_arity_36() -> None:
    """The largest instance, and test_hash_md_circuit: 71 elements in two hashes, 2,770 rows."""
    cs = ConstraintSystem(BLS)
    variables = [cs.alloc() for _ in range(71)]
    first = poseidon_hash(cs, variables[:36])
    poseidon_hash(cs, [first, *variables[36:]])
    assert cs.num_constraints == 2 * ROWS[36] == 2_770


@pytest.mark.parametrize("arity", CIRCUIT_ARITIES)
def test_terms_and_hash_of_the_named_circuits(arity: int) -> None:
    r1cs = build_circuit(f"poseidon:{arity}")
    sizes = circuit_sizes(r1cs)
    assert (sizes["nnz_a"] - 1, sizes["nnz_b"], sizes["nnz_c"]) == TERMS[arity]
    assert circuit_hash(r1cs) == HASHES[arity]


@pytest.mark.parametrize("arity", CIRCUIT_ARITIES)
def test_digests_and_witnesses(arity: int) -> None:
    """Random elements and the ends of the field: the hash outside the circuit, the same rows, all satisfied."""
    for preimage in (elements(arity, arity), elements(99, arity), [0] * arity, [BLS.r - 1] * arity):
        cs = ConstraintSystem(BLS, hints=preimage)
        digest = cs.value({poseidon_circuit(cs, arity=arity): 1})
        assert digest == poseidon(preimage) == poseidon_plain(preimage)
        r1cs = cs.r1cs()
        assert r1cs.first_unsatisfied(cs.witness()) is None
        assert circuit_hash(r1cs) == HASHES[arity]


def test_another_digest_breaks_the_last_row() -> None:
    cs = ConstraintSystem(BLS, hints=elements(5, 4))
    digest = poseidon_circuit(cs, arity=4)
    assert cs.aux is not None
    cs.aux[digest] = (cs.aux[digest] + 1) % BLS.r
    assert cs.r1cs().first_unsatisfied(cs.witness()) == cs.num_constraints - 1


def chained(cs: ConstraintSystem) -> None:
    """Hashes of other hashes, with operands that repeat, in several orders, and with an input among them."""
    values = elements(8, 3)
    public = cs.alloc_input(values[0])
    a, b = cs.alloc(values[1]), cs.alloc(values[2])
    first = poseidon_hash(cs, [a, b])
    second = poseidon_hash(cs, [b, a])
    same = poseidon_hash(cs, [first, first])
    with_input = poseidon_hash(cs, [public, second])
    poseidon_hash(cs, [same, with_input, a, a])
    poseidon_hash(cs, [with_input, b, same, b])
    expose(cs, poseidon_hash(cs, [second, with_input]))


def test_templates_write_the_same_rows() -> None:
    plain, copied = ConstraintSystem(BLS, with_templates=False), ConstraintSystem(BLS)
    with_values = ConstraintSystem(BLS, with_values=True)
    systems = (plain, copied, with_values)
    for cs in systems:
        chained(cs)
    assert with_values.r1cs().first_unsatisfied(with_values.witness()) is None
    assert len({circuit_hash(cs.r1cs()) for cs in systems}) == 1
    assert len(copied.templates or {}) == 4  # forms ab, aa, abcc and abcb


def test_damaged_rows_are_caught() -> None:
    witnesses = []
    for seed in range(3):
        cs = ConstraintSystem(BLS, hints=elements(seed, 8))
        poseidon_circuit(cs, arity=8)
        witnesses.append(cs.witness().to_ints())
    assert survivors(build_circuit("poseidon:8"), witnesses, 60, seed=3) == []


def test_what_is_refused() -> None:
    with pytest.raises(CurveMismatchError, match="no Poseidon over the scalars of bn254"):
        poseidon_circuit(ConstraintSystem(get_curve("bn254")), arity=2)
    with pytest.raises(RangeError, match="no Poseidon of arity 3"):
        poseidon_circuit(ConstraintSystem(BLS), arity=3)


def test_a_proof() -> None:
    """Knowledge of two elements with a public hash, on the cpu; another hash is refused."""
    preimage = elements(6, 2)
    cs = ConstraintSystem(BLS, hints=preimage)
    expose(cs, poseidon_circuit(cs, arity=2))
    r1cs, device = cs.r1cs(), get_device("cpu")
    key = setup(r1cs, device)
    proof = Prover(key, device).prove(cs.witness())
    assert verify(key.verifying_key(), [poseidon(preimage)], proof)
    assert not verify(key.verifying_key(), [poseidon(preimage[::-1])], proof)
