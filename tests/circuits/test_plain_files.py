"""Files of values for circuits that have no vanilla proofs: each makes a witness, and what does not fit is refused.

Would catch: bits or elements in another order than the circuit's, a file of another size that is taken.
"""

from __future__ import annotations

import hashlib

import pytest

from cuzk.circuits.boolean import bit_value
from cuzk.circuits.catalogue import CIRCUITS, find_circuit
from cuzk.circuits.hashes import hash_circuit
from cuzk.circuits.sprout_files import joinsplit_synthetic, read_joinsplit, write_joinsplit
from cuzk.circuits.vanilla.poseidon import poseidon
from cuzk.curves import get_curve
from cuzk.errors import FormatError, InputError
from cuzk.limbs import fr_to_ints
from cuzk.synthesis import ConstraintSystem
from tests.circuits.test_sprout import example
from tests.circuits.witnesses import compiled_witness

BLS = get_curve("bls12_381")


NAMES = [*CIRCUITS, "por:poseidon:8-4-0:32:public", "por:blake2s:2-0-0:8:private"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name == "sprout" else []) for name in NAMES]
)
def test_files_make_witnesses(name: str) -> None:
    circuit = find_circuit(name)
    data = circuit.synthetic(b"salt")
    assert data != circuit.synthetic(b"other")
    _, broken, witness = compiled_witness(name, circuit.hints(data, None, 0))
    assert broken is None
    if name.startswith("poseidon"):
        elements = [int.from_bytes(data[i : i + 32], "little") for i in range(0, len(data), 32)]
        assert fr_to_ints(BLS, witness[-1:]) == [poseidon(elements)]
    with pytest.raises(InputError, match="partition 1"):
        circuit.hints(data, None, 1)
    with pytest.raises(InputError):
        list(circuit.hints(data[:-1], None, 0))


def test_a_message_is_read_in_the_order_of_its_bytes() -> None:
    circuit = find_circuit("sha256:512")
    message = bytes(range(64))
    cs = ConstraintSystem(BLS, hints=circuit.hints(message, None, 0))
    bits = "".join(str(bit_value(cs, bit)) for bit in hash_circuit(cs))
    assert int(bits, 2).to_bytes(32, "big") == hashlib.sha256(message).digest()


def test_joinsplits_in_both_forms() -> None:
    data, _ = example(3, (77, 5))
    for as_json in (False, True):
        assert read_joinsplit(write_joinsplit(data, as_json=as_json)) == data
    made = read_joinsplit(joinsplit_synthetic(b"a"))
    assert sum(note.value for note in made.spent) == sum(note.value for note in made.made) > 0
    short = write_joinsplit(data).replace((29).to_bytes(8, "little"), (28).to_bytes(8, "little"), 1)
    with pytest.raises(FormatError):
        read_joinsplit(short)
    none = type(data)(0, 0, data.rt, data.h_sig, data.phi, (), data.made)  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="0 spent notes"):
        read_joinsplit(write_joinsplit(none))
