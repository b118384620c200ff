"""Zcash's JoinSplit: the published hash over every row and coefficient, and a witness that satisfies them.

Would catch: any change of the constraint system, of booleans, words, SHA-256 or packing that moves a row, a variable
or a coefficient.
"""

from __future__ import annotations

import hashlib
import random

import pytest

from cuzk.circuits import sha256 as gadget
from cuzk.circuits.boolean import bit_value, bytes_to_bits
from cuzk.circuits.catalogue import build_circuit
from cuzk.circuits.multipack import packed_values
from cuzk.circuits.sprout import TREE_DEPTH, JoinSplit, OutputNote, SpentNote, joinsplit, joinsplit_hints
from cuzk.circuits.uint32 import word_to_bits_be
from cuzk.curves import get_curve
from cuzk.synthesis import ConstraintSystem, circuit_hash, circuit_sizes
from cuzk.witness import Witness
from tests.circuits.row_check import first_broken

BLS = get_curve("bls12_381")
#: From the test of librustzcash's circuit.
PUBLISHED_HASH = "1a228d3c6377130d1778c7885811dc8b8864049cb5af8aff7e6cd46c5bc4b84c"
PUBLISHED_ROWS = 1_989_085


def compress(block: bytes) -> bytes:
    """SHA-256's compression function alone, which hashlib does not offer: the gadget on constants, no rows."""
    cs = ConstraintSystem(BLS)
    words = gadget.sha256_compression(cs, bytes_to_bits(block), gadget.sha256_initial_state())
    bits = [bit_value(cs, bit) for word in words for bit in word_to_bits_be(word)]
    return int("".join(map(str, bits)), 2).to_bytes(32, "big")


def tagged(first: int, key: bytes, second: bytes) -> bytes:
    """What the pseudo-random functions hash: 4 bits before 252 of the key."""
    return bytes([first << 4 | key[0] & 15]) + key[1:] + second


def commitment(paying_key: bytes, value: int, rho: bytes, r: bytes) -> bytes:
    return hashlib.sha256(b"\xb0" + paying_key + value.to_bytes(8, "little") + rho + r).digest()


def example(seed: int, values: tuple[int, int]) -> tuple[JoinSplit, list[int]]:
    """A JoinSplit that spends one note of a tree and a dummy of value 0, with its public inputs."""
    rng = random.Random(seed)
    h_sig, phi, key, rho, r = (rng.randbytes(32) for _ in range(5))
    path = [(rng.randbytes(32), rng.random() < 0.5) for _ in range(TREE_DEPTH)]
    root = commitment(compress(tagged(0b1100, key, bytes(32))), values[0], rho, r)
    for sibling, is_right in path:
        root = compress(sibling + root if is_right else root + sibling)
    dummy = SpentNote(0, rng.randbytes(32), rng.randbytes(32), rng.randbytes(32), path)
    spent = (SpentNote(values[0], key, rho, r, path), dummy)
    made = (
        OutputNote(values[1], rng.randbytes(32), rng.randbytes(32)),
        OutputNote(5, rng.randbytes(32), rng.randbytes(32)),
    )
    value_in = 1 << 40
    value_out = value_in + values[0] - values[1] - 5
    public = root + h_sig
    for nonce, note in enumerate(spent):
        public += compress(tagged(0b1110, note.spending_key, note.rho))
        public += compress(tagged(nonce << 2, note.spending_key, h_sig))
    for nonce, out in enumerate(made):
        public += commitment(out.paying_key, out.value, compress(tagged(nonce << 2 | 2, phi, h_sig)), out.r)
    public += value_in.to_bytes(8, "little") + value_out.to_bytes(8, "little")
    data = JoinSplit(value_in, value_out, root, h_sig, phi, spent, made)
    return data, packed_values(BLS, bytes_to_bits(public))


def test_the_published_hash() -> None:
    r1cs = build_circuit("sprout")  # through templates; test_a_witness has the same rows without them
    sizes = circuit_sizes(r1cs)
    assert (sizes["num_constraints"], sizes["num_inputs"]) == (PUBLISHED_ROWS, 10)
    assert circuit_hash(r1cs) == PUBLISHED_HASH


@pytest.mark.long
def test_a_witness() -> None:
    """Public inputs are those computed outside the circuit; all rows hold; another nullifier breaks one."""
    data, public = example(1, (1 << 63, 12345))
    cs = ConstraintSystem(BLS, hints=joinsplit_hints(data))
    joinsplit(cs)
    r1cs, witness = cs.r1cs(), cs.witness()
    assert circuit_hash(r1cs) == PUBLISHED_HASH
    assert witness.public(r1cs.num_public) == public
    assert first_broken(r1cs, witness) is None
    values = witness.to_ints()
    values[4] ^= 1
    assert first_broken(r1cs, Witness.from_ints(BLS, values)) is not None
