"""BLAKE2s as a circuit: bellperson's counts, digests, witnesses.

Would catch: a row more or less, a wrong rotation, order of words or counter, a last block that is none.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import pytest

from cuzk.circuits.blake2s import blake2s
from cuzk.circuits.boolean import alloc_bits, bit_value
from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.por import PorCircuit
from cuzk.circuits.vanilla.merkle import BLAKE2S, build_tree
from cuzk.curves import get_curve
from cuzk.errors import ShapeError
from cuzk.synthesis import ConstraintSystem
from cuzk.witness import Witness
from tests.circuits.witnesses import with_hints

BLS = get_curve("bls12_381")


def hashed(data: bytes) -> tuple[ConstraintSystem, bytes]:
    """A system with the hash of bytes, and the hash."""
    bits = [byte >> i & 1 for byte in data for i in range(8)]
    cs = ConstraintSystem(BLS, hints=bits)
    digest = [bit_value(cs, bit) or 0 for bit in blake2s(cs, alloc_bits(cs, len(bits)))]
    return cs, bytes(sum(digest[8 * i + j] << j for j in range(8)) for i in range(32))


@pytest.mark.parametrize("num_bytes", [0, 1, 63, 64, 65, 128])
def test_digests_and_witnesses(num_bytes: int) -> None:
    data = random.Random(num_bytes).randbytes(num_bytes)
    cs, digest = hashed(data)
    assert digest == hashlib.blake2s(data).digest()
    assert cs.r1cs().first_unsatisfied(cs.witness()) is None


def test_counts_of_bellperson() -> None:
    """Constants cost nothing, also before 512 bits that are variables; of these, their own rows are included."""
    assert hashed(b"")[0].num_constraints == 0
    for message in ([0] * 512, [1] * 512):
        cs = ConstraintSystem(BLS)
        blake2s(cs, message)
        assert (cs.num_constraints, cs.num_aux) == (0, 0)
    assert hashed(bytes(64))[0].num_constraints == 21_518
    cs = ConstraintSystem(BLS)
    blake2s(cs, [*[0, 1] * 256, *alloc_bits(cs, 512)])
    assert cs.num_constraints == 21_518


def test_a_changed_bit_breaks_a_row() -> None:
    cs, _ = hashed(bytes(range(64)))
    r1cs, values = cs.r1cs(), cs.witness().to_ints()
    for i in random.Random(6).sample(range(cs.num_aux), 20):
        wrong = list(values)
        wrong[1 + i] ^= 1
        assert r1cs.first_unsatisfied(Witness.from_ints(BLS, wrong)) is not None


@pytest.mark.parametrize(("tree", "rows"), [("2-0-0", 129_135), ("4-0-0", 130_296), ("8-0-0", 174_503)])
def test_inclusion_as_rust_fil_proofs_counts_it(tree: str, rows: int) -> None:
    cs = ConstraintSystem(BLS)
    find_circuit(f"por:blake2s:{tree}:64:public").record(cs)
    assert (cs.num_inputs, cs.num_constraints) == (3, rows)


def test_inclusion_in_a_tree() -> None:
    circuit = PorCircuit.parse("por:blake2s:2-0-0:4:public")
    rng = random.Random(7)
    tree = build_tree(BLAKE2S, circuit.shape, [rng.randrange(BLS.r) for _ in range(4)])
    first = tree.node(0, 0).to_bytes(32, "little") + tree.node(0, 1).to_bytes(32, "little")
    assert tree.node(1, 0) == int.from_bytes(hashlib.blake2s(first).digest(), "little") % 2**254
    proof = tree.prove(2)
    for leaf in (proof.leaf, proof.leaf ^ 1):
        inputs, r1cs, witness = with_hints(circuit.record, circuit.hints(replace(proof, leaf=leaf)))
        assert inputs == [2, tree.root]
        assert (r1cs.first_unsatisfied(witness) is None) == (leaf == proof.leaf)


def test_half_bytes_are_refused() -> None:
    with pytest.raises(ShapeError, match="a message of 12 bits"):
        blake2s(ConstraintSystem(BLS), [0] * 12)
