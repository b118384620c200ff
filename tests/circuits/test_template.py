"""Templates: what is inserted is what the code would have written.

Would catch: a variable bound to another, a form taken for another (constants, negations, one variable twice), new
variables or inputs numbered out of order, a coefficient of another system, a template used where values are needed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from cuzk.circuits.boolean import Bit, alloc_bit, alloc_bits, bit_and, bit_not, bit_xor, sha256_ch, sha256_maj
from cuzk.circuits.hashes import hash_circuit
from cuzk.circuits.multipack import pack_bits, pack_into_inputs
from cuzk.circuits.template import call_template
from cuzk.curves import get_curve
from cuzk.errors import ShapeError
from cuzk.synthesis import ConstraintSystem, circuit_hash

BLS = get_curve("bls12_381")
NUM_OPERANDS = 4


def inner(cs: ConstraintSystem, bits: Sequence[Bit]) -> list[Bit]:
    """Rows that depend on the form of each operand; results that are new, bound, negated and constant."""
    a, b, c, d = bits
    chosen = sha256_ch(cs, a, b, c)
    voted = sha256_maj(cs, chosen, c, bit_not(d))
    pack_bits(cs, [a, b, voted, c, d])
    return [voted, bit_not(a), bit_xor(cs, b, d), bit_and(cs, chosen, d)]


def outer(cs: ConstraintSystem, bits: Sequence[Bit]) -> list[Bit]:
    """Uses the inner one twice, with operands in other orders, and makes inputs."""
    first = call_template(cs, inner, bits)
    pack_into_inputs(cs, [*first, alloc_bit(cs)])
    second = call_template(cs, inner, [first[3], bits[0], first[0], first[0]])
    pack_into_inputs(cs, second)
    return [*second[:2], *first[:2]]


def circuit(seed: int, *, with_templates: bool) -> tuple[ConstraintSystem, list[Bit]]:
    """Many uses with operands of all forms, from variables, results of other uses and constants."""
    rng = random.Random(seed)
    cs = ConstraintSystem(BLS, with_templates=with_templates)
    cs.alloc_input()
    known = [0, 1, *alloc_bits(cs, 3)]
    for _ in range(30):
        operands = [rng.choice(known) ^ rng.getrandbits(1) for _ in range(NUM_OPERANDS)]
        known += call_template(cs, rng.choice((inner, outer)), operands)
    return cs, known


@pytest.mark.parametrize("seed", range(20))
def test_the_rows_are_the_same(seed: int) -> None:
    plain, known = circuit(seed, with_templates=False)
    copied, results = circuit(seed, with_templates=True)
    assert results == known
    assert plain.templates is None
    assert copied.templates
    assert circuit_hash(copied.r1cs()) == circuit_hash(plain.r1cs())


def test_sha256_through_its_template() -> None:
    """Both blocks of the padded message have forms of their own; a second message needs no further recording."""
    plain, copied = (ConstraintSystem(BLS, with_templates=choice) for choice in (False, True))
    recorded = []
    for _ in range(2):
        assert hash_circuit(copied) == hash_circuit(plain)
        recorded.append(len(copied.templates or ()))
    assert recorded == [2, 2]
    assert circuit_hash(copied.r1cs()) == circuit_hash(plain.r1cs())


def test_a_body_is_run_once_per_form() -> None:
    runs = []

    def body(cs: ConstraintSystem, bits: Sequence[Bit]) -> list[Bit]:
        runs.append(tuple(bits))
        return [bit_xor(cs, *bits)]

    cs = ConstraintSystem(BLS)
    a, b, c = alloc_bits(cs, 3)
    for operands in ([a, b], [b, c], [c, a], [a, a], [c, c], [a, bit_not(b)], [0, b], [0, c], [1, c]):
        call_template(cs, body, operands)
    assert runs == [(2, 4), (2, 2), (2, 5), (0, 2), (1, 2)]


def test_values_are_computed_by_the_code() -> None:
    cs = ConstraintSystem(BLS, with_values=True, with_templates=True)
    call_template(cs, inner, alloc_bits(cs, NUM_OPERANDS, [1, 0, 1, 1]))
    assert cs.templates is None
    assert cs.r1cs().first_unsatisfied(cs.witness()) is None


def test_what_is_refused() -> None:
    block = ConstraintSystem(BLS).child(0).block()
    with pytest.raises(ShapeError, match="cannot be inserted"):
        ConstraintSystem(BLS, with_values=True).insert(block, [])
    with pytest.raises(ShapeError, match="0 operands"):
        ConstraintSystem(BLS).insert(block, [0])
    with pytest.raises(ShapeError, match="records no pieces"):
        ConstraintSystem(BLS, with_values=True).block()
