"""SHA-256 as a circuit: counts that bellperson's tests assert, digests, witnesses, a proof.

Would catch: a row more or less, a wrong constant or rotation, an addition settled too early or too late, a witness
that breaks a row, a circuit that the prover cannot use.
"""

from __future__ import annotations

import hashlib
import random

import pytest

from cuzk.circuits import sha256 as gadget
from cuzk.circuits.boolean import FALSE, Bit, alloc_bits, bit_value, bytes_to_bits
from cuzk.circuits.catalogue import build_circuit
from cuzk.circuits.hashes import compression_circuit, hash_circuit, message_hints
from cuzk.circuits.multipack import pack_bits, pack_into_inputs
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import RangeError, ShapeError
from cuzk.groth16 import Prover, setup, verify
from cuzk.synthesis import ConstraintSystem, circuit_hash, circuit_sizes

BLS = get_curve("bls12_381")
#: Recorded when Sprout's published hash, which these gadgets make up, came out right.
HASHES = {
    "sha256:compression": "a91be46c89fe4cb18f85d99956bf9b1afe0a96d1b6c960a30d4e9dcafcf501ba",
    "sha256:512": "39b920088193af138e8d3494179b1d9a20442bb23e28e65028b068c6a9e48771",
}


def digest_of(cs: ConstraintSystem, bits: list[Bit]) -> bytes:
    """The bytes of booleans, most significant bit first."""
    number = int("".join(str(bit_value(cs, bit)) for bit in bits), 2)
    return number.to_bytes(len(bits) // 8, "big")


def message(seed: int, length: int = 64) -> bytes:
    return random.Random(seed).randbytes(length)


@pytest.mark.parametrize(("name", "rows"), [("sha256:compression", 25_840), ("sha256:512", 44_874)])
def test_counts_of_bellperson(name: str, rows: int) -> None:
    """Rows besides the 512 of the bits, as its tests assert them."""
    sizes = circuit_sizes(build_circuit(name))
    assert sizes["num_constraints"] == rows + 512
    assert sizes["num_inputs"] == 1
    assert sizes["density_b_inputs"] == 1


@pytest.mark.parametrize("name", HASHES)
def test_rows_do_not_change(name: str) -> None:
    assert circuit_hash(build_circuit(name)) == HASHES[name]


def test_constants_need_no_rows() -> None:
    cs = ConstraintSystem(BLS)
    digest = gadget.sha256(cs, bytes_to_bits(b"abc"))
    assert (cs.num_constraints, cs.num_aux) == (0, 0)
    assert digest_of(cs, digest) == hashlib.sha256(b"abc").digest()
    state = gadget.sha256_compression(cs, [FALSE] * 512, gadget.sha256_initial_state())
    assert cs.num_constraints == 0
    assert len(state) == 8


def test_a_tree_node_has_the_rows_of_rust_fil_proofs() -> None:
    """hash_leaf_bits_circuit: two leaves of 256 bits, hashed, and 254 bits of the digest packed."""
    cs = ConstraintSystem(BLS)
    pack_bits(cs, gadget.sha256(cs, alloc_bits(cs, 512))[:254])
    assert cs.num_constraints == 45_387


@pytest.mark.parametrize("length", [0, 1, 55, 56, 63, 64, 65, 119, 120])
def test_digests_of_every_padding(length: int) -> None:
    """Lengths around those that need another block; bits as variables; all rows hold."""
    data = message(length, length)
    cs = ConstraintSystem(BLS, with_values=True)
    digest = gadget.sha256(cs, alloc_bits(cs, 8 * length, bytes_to_bits(data)))
    assert digest_of(cs, digest) == hashlib.sha256(data).digest()
    assert cs.r1cs().first_unsatisfied(cs.witness()) is None


def test_a_smaller_field() -> None:
    """BN254 holds a bit less: other rows for sums, the same digest."""
    data = message(2)
    cs = ConstraintSystem(get_curve("bn254"), hints=message_hints(data))
    assert digest_of(cs, hash_circuit(cs)) == hashlib.sha256(data).digest()
    assert cs.r1cs().first_unsatisfied(cs.witness()) is None


@pytest.mark.parametrize("kind", ["zeros", "ones", "random"])
def test_witnesses_of_the_named_circuits(kind: str) -> None:
    """Values change no row, and the rows hold."""
    data = {"zeros": bytes(64), "ones": b"\xff" * 64, "random": message(1)}[kind]
    cs = ConstraintSystem(BLS, hints=message_hints(data))
    assert digest_of(cs, hash_circuit(cs)) == hashlib.sha256(data).digest()
    r1cs = cs.r1cs()
    assert circuit_hash(r1cs) == HASHES["sha256:512"]
    assert r1cs.first_unsatisfied(cs.witness()) is None


def test_constants_are_those_of_the_standard() -> None:
    assert (gadget.INITIAL_STATE[0], gadget.INITIAL_STATE[7]) == (0x6A09E667, 0x5BE0CD19)
    assert (gadget.ROUND_CONSTANTS[0], gadget.ROUND_CONSTANTS[63]) == (0x428A2F98, 0xC67178F2)


def _changes() -> list[tuple[str, object]]:
    """Every round constant and state word with one bit flipped, every rotation by one more, two exchanged."""
    changes: list[tuple[str, object]] = []
    for name in ("INITIAL_STATE", "ROUND_CONSTANTS"):
        values = getattr(gadget, name)
        for i, value in enumerate(values):
            changes.append((name, (*values[:i], value ^ 1 << i % 32, *values[i + 1 :])))
    for name in ("STATE_A", "STATE_E", "SCHEDULE_0", "SCHEDULE_1"):
        by = getattr(gadget, name)
        for i in range(3):
            changes.append((name, (*by[:i], by[i] + 1, *by[i + 1 :])))
        changes.append((name, (by[1], by[0], by[2])))
    return changes


def test_a_changed_constant_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the digest, or, where two rotations change places, by the rows; constants alone are quick to hash."""
    data = message(9)
    for name, changed in _changes():
        monkeypatch.setattr(gadget, name, changed)
        cs = ConstraintSystem(BLS)
        digest = digest_of(cs, gadget.sha256(cs, bytes_to_bits(data)))
        is_caught = digest != hashlib.sha256(data).digest()
        assert is_caught or circuit_hash(build_circuit("sha256:512")) != HASHES["sha256:512"], (name, changed)
        monkeypatch.undo()


def test_what_is_refused() -> None:
    cs = ConstraintSystem(BLS)
    with pytest.raises(ShapeError, match="a block of 511 bits"):
        gadget.sha256_compression(cs, [FALSE] * 511, gadget.sha256_initial_state())
    with pytest.raises(ShapeError, match="a message of 63 bytes"):
        message_hints(bytes(63))
    toy = ConstraintSystem(get_curve("toy"))
    with pytest.raises(RangeError, match="scalar field of toy"):
        gadget.sha256(toy, alloc_bits(toy, 8))


def test_a_proof() -> None:
    """Set-up, proof and verification of a preimage whose digest is public, on the cpu; another digest is refused."""
    data = message(3)
    cs = ConstraintSystem(BLS, hints=message_hints(data))
    pack_into_inputs(cs, compression_circuit(cs))
    r1cs, witness = cs.r1cs(), cs.witness()
    device = get_device("cpu")
    key = setup(r1cs, device)
    proof = Prover(key, device).prove(witness)
    public = witness.public(r1cs.num_public)
    assert verify(key.verifying_key(), public, proof)
    assert not verify(key.verifying_key(), [public[0] ^ 1, *public[1:]], proof)
