"""Booleans, words and packing: each gadget over all forms of its operands.

Would catch: a wrong truth table or folding of a constant, a row that leaves its result free, an equation packed so
that it can mix with another, a packing in another bit order.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest

from cuzk.circuits.boolean import (
    FALSE,
    TRUE,
    Bit,
    alloc_bit,
    alloc_bits,
    bit_and,
    bit_not,
    bit_value,
    bit_xor,
    bits_lc,
    bytes_to_bits,
    enforce_bit,
    is_constant,
    sha256_ch,
    sha256_maj,
)  # fmt: skip
from cuzk.circuits.multipack import capacity, pack_bits, pack_into_inputs, packed_values
from cuzk.circuits.uint32 import MultiEq, constant_word, word_from_bits_be, word_sum, word_to_bits_be
from cuzk.curves import get_curve
from cuzk.errors import RangeError, ShapeError
from cuzk.synthesis import ONE, ConstraintSystem
from cuzk.witness import Witness

TOY, BLS = get_curve("toy"), get_curve("bls12_381")
FORMS = ("false", "true", "plain", "negated")

#: Gadget, its truth table, number of operands.
GADGETS: dict[str, tuple[Callable[..., Bit], Callable[..., int], int]] = {
    "xor": (bit_xor, lambda a, b: a ^ b, 2),
    "and": (bit_and, lambda a, b: a & b, 2),
    "ch": (sha256_ch, lambda a, b, c: b if a else c, 3),
    "maj": (sha256_maj, lambda a, b, c: int(a + b + c >= 2), 3),
}
#: New rows where every operand is a variable.
ROWS = {"xor": 1, "and": 1, "ch": 1, "maj": 2}


def operand(cs: ConstraintSystem, form: str, value: int) -> Bit:
    """A boolean of this value in this form; a constant has its own."""
    if form in ("false", "true"):
        return TRUE if form == "true" else FALSE
    return alloc_bit(cs, value) if form == "plain" else bit_not(alloc_bit(cs, 1 - value))


def is_satisfied(cs: ConstraintSystem, changed: int | None = None) -> bool:
    """Whether all rows hold; ``changed`` is an auxiliary variable to flip before."""
    values = cs.witness().to_ints()
    if changed is not None:
        values[cs.num_inputs + changed] ^= 1
    return cs.r1cs().first_unsatisfied(Witness.from_ints(cs.curve, values)) is None


@pytest.mark.parametrize("name", GADGETS)
def test_truth_tables(name: str) -> None:
    gadget, table, count = GADGETS[name]
    for forms in itertools.product(FORMS, repeat=count):
        for values in itertools.product([0, 1], repeat=count):
            cs = ConstraintSystem(TOY, with_values=True)
            bits = [operand(cs, form, value) for form, value in zip(forms, values, strict=True)]
            before = cs.num_aux
            result = gadget(cs, *bits)
            assert bit_value(cs, result) == table(*(bit_value(cs, bit) for bit in bits)), (forms, values)
            assert is_satisfied(cs)
            # Every variable that the gadget made is determined by its operands.
            assert not any(is_satisfied(cs, new) for new in range(before, cs.num_aux)), (forms, values)


@pytest.mark.parametrize("name", GADGETS)
def test_rows_depend_on_forms_alone(name: str) -> None:
    gadget, _, count = GADGETS[name]
    for forms in itertools.product(FORMS, repeat=count):
        cs = ConstraintSystem(TOY)
        bits = [operand(cs, form, 0) for form in forms]
        before = cs.num_constraints
        result = gadget(cs, *bits)
        new = cs.num_constraints - before
        if all(is_constant(bit) for bit in bits):
            assert new == 0
            assert is_constant(result)
        elif not any(is_constant(bit) for bit in bits):
            assert new == ROWS[name]
            assert bit_value(cs, result) is None


def test_an_operand_twice() -> None:
    for value in (0, 1):
        cs = ConstraintSystem(TOY, with_values=True)
        bit = alloc_bit(cs, value)
        assert bit_value(cs, bit_xor(cs, bit, bit)) == 0
        assert bit_value(cs, bit_xor(cs, bit, bit_not(bit))) == 1
        assert bit_value(cs, bit_and(cs, bit, bit)) == value
        assert is_satisfied(cs)


def test_a_bit_is_zero_or_one() -> None:
    cs = ConstraintSystem(TOY, with_values=True)
    alloc_bit(cs, 2)
    assert not is_satisfied(cs)


def test_an_input_is_no_boolean() -> None:
    """Its number would be that of a constant, and what is made of it would bind nothing."""
    cs = ConstraintSystem(TOY)
    for variable in (ONE, cs.alloc_input()):
        with pytest.raises(ShapeError, match="auxiliary variable"):
            enforce_bit(cs, variable)
    assert cs.num_constraints == 0


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_sums_of_words(count: int) -> None:
    """All ones overflow most; constants and negated bits take part; carries are bound."""
    rng = random.Random(count)
    for values in ([0xFFFFFFFF] * count, [0] * count, [rng.getrandbits(32) for _ in range(count)]):
        cs = ConstraintSystem(BLS, with_values=True)
        words = [alloc_bits(cs, 32, [value >> i & 1 for i in range(32)]) for value in values[1:]]
        words[0] = [bit_not(bit) for bit in words[0]]
        total = sum(values) - values[1] + (values[1] ^ 0xFFFFFFFF)
        before = cs.num_aux
        with MultiEq(cs) as equations:
            result = word_sum(equations, [constant_word(values[0]), *words])
        assert sum((bit_value(cs, bit) or 0) << i for i, bit in enumerate(result)) == total & 0xFFFFFFFF
        assert cs.num_aux - before == (count * 0xFFFFFFFF).bit_length()
        assert is_satisfied(cs)
        assert not any(is_satisfied(cs, new) for new in range(before, cs.num_aux))


def test_constant_sums_need_no_rows() -> None:
    cs = ConstraintSystem(BLS)
    with MultiEq(cs) as equations:
        assert word_sum(equations, [constant_word(0xFFFFFFFF), constant_word(5)]) == constant_word(4)
    assert (cs.num_constraints, cs.num_aux) == (0, 0)


def test_equations_share_rows_until_the_field_is_full() -> None:
    """254 bits fit BLS12-381, but a row is written before that many would be used: 7 sums of 35 bits, not 8."""
    cs = ConstraintSystem(BLS)
    words = [alloc_bits(cs, 32) for _ in range(5)]
    rows = []
    with MultiEq(cs) as equations:
        for _ in range(15):
            before = cs.num_constraints
            word_sum(equations, words)
            rows.append(cs.num_constraints - before - 35)
    assert rows == [0] * 7 + [1] + [0] * 6 + [1]
    assert cs.num_constraints == 5 * 32 + 15 * 35 + 3


def test_two_errors_of_one_row_do_not_cancel() -> None:
    cs = ConstraintSystem(BLS, with_values=True)
    with MultiEq(cs) as equations:
        sums = [word_sum(equations, [alloc_bits(cs, 32, [1] * 32), constant_word(i)]) for i in range(2)]
    values = cs.witness().to_ints()
    for word in sums:
        values[cs.num_inputs + (word[0] >> 1) - 1] ^= 1
    assert cs.r1cs().first_unsatisfied(Witness.from_ints(BLS, values)) == cs.num_constraints - 1


def test_a_field_too_small_for_a_sum_is_refused() -> None:
    cs = ConstraintSystem(TOY)
    equations = MultiEq(cs)
    with pytest.raises(RangeError, match="33 bits does not fit the scalar field of toy"):
        word_sum(equations, [alloc_bits(cs, 32), constant_word(1)])


def test_an_error_writes_no_last_row() -> None:
    cs = ConstraintSystem(BLS)
    bits = alloc_bits(cs, 32)
    equations = MultiEq(cs)
    word_sum(equations, [bits, bits])
    equations.__exit__(ValueError())
    assert cs.num_constraints == 32 + 33
    equations.__exit__(None)
    assert cs.num_constraints == 32 + 33 + 1


def test_bit_orders() -> None:
    assert bytes_to_bits(b"\x80\x01") == [1] + [0] * 14 + [1]
    word = word_from_bits_be(bytes_to_bits(b"\x80\x00\x00\x01"))
    assert word == constant_word(0x80000001)
    assert word_to_bits_be(constant_word(0x80000000)) == [1] + [0] * 31
    assert bits_lc(constant_word(6)) == {-1: 6}


@pytest.mark.parametrize("curve", ["toy", "bls12_381", "bn254"])
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_packing(curve: str, extra: int) -> None:
    spec = get_curve(curve)
    bits = [random.Random(extra).getrandbits(1) for _ in range(2 * capacity(spec) + extra)]
    cs = ConstraintSystem(spec, with_values=True)
    variables = [bit_not(alloc_bit(cs, 1 - bit)) for bit in bits]
    inputs = pack_into_inputs(cs, variables)
    assert cs.witness().public(len(inputs)) == packed_values(spec, bits)
    assert len(inputs) == 2 + (extra > 0)
    packed = pack_bits(cs, variables[: capacity(spec)])
    assert cs.value({packed: 1}) == packed_values(spec, bits)[0]
    assert is_satisfied(cs)
    assert not is_satisfied(cs, packed)
    with pytest.raises(ShapeError, match="do not fit"):
        pack_bits(cs, variables[: capacity(spec) + 1])
