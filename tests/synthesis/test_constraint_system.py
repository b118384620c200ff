"""The front end: numbering, merging, values, the R1CS that comes out, its sizes and its hash.

Would catch: variables in another order, a repeated variable counted twice, a zero coefficient that counts, a value
lost or not reduced, a term of the hash in another place.
"""

from __future__ import annotations

import hashlib
import random

import pytest

from cuzk.curves import get_curve
from cuzk.errors import RangeError, ShapeError
from cuzk.relation import R1CS
from cuzk.synthesis import ONE, Block, ConstraintSystem, LinearCombination, circuit_hash, circuit_sizes

TOY = get_curve("toy")


def plain_hash(num_inputs: int, num_aux: int, rows: list[tuple[dict[int, int], ...]], r: int) -> str:
    """The definition of circuit_hash, term by term; variables as in ConstraintSystem."""
    parts = [count.to_bytes(8, "big") for count in (num_inputs, num_aux, len(rows))]
    for row in rows:
        for side in row:
            terms = {variable: factor % r for variable, factor in side.items() if factor % r}
            parts.append(len(terms).to_bytes(8, "big"))
            for variable in sorted(terms, key=lambda v: (v >= 0, abs(v))):
                number = variable if variable >= 0 else -1 - variable
                parts.append((b"A" if variable >= 0 else b"I") + number.to_bytes(8, "big"))
                parts.append(terms[variable].to_bytes(32, "big"))
    return hashlib.blake2s(b"".join(parts)).hexdigest()


def random_rows(num_inputs: int, num_aux: int, count: int, seed: int) -> list[tuple[dict[int, int], ...]]:
    rng = random.Random(seed)
    variables = [*range(-num_inputs, num_aux)]
    factors = (1, -1, 0, 2, TOY.r, TOY.r - 1, 1 << 40)
    return [
        tuple({rng.choice(variables): rng.choice(factors) for _ in range(rng.randrange(4))} for _ in range(3))
        for _ in range(count)
    ]


@pytest.mark.parametrize("curve", ["toy", "bls12_381", "bn254"])
@pytest.mark.parametrize("count", [0, 1, 2, 300, (1 << 14) + 1])
def test_hash_is_its_definition(curve: str, count: int) -> None:
    """Also across the blocks in which rows are hashed, with empty sides, zeros and equal values written unequally."""
    spec = get_curve(curve)
    rows = random_rows(3, 5, count, count)
    cs = ConstraintSystem(spec)
    # Inputs and auxiliary variables are allocated by turns: their numbers do not depend on it.
    assert [cs.alloc(), cs.alloc_input(), cs.alloc(), cs.alloc_input(), *(cs.alloc() for _ in range(3))] == [
        0, -2, 1, -3, 2, 3, 4,
    ]  # fmt: skip
    for a, b, c in rows:
        cs.enforce(a, b, c)
    assert (cs.num_inputs, cs.num_aux, cs.num_constraints) == (3, 5, count)
    r1cs = cs.r1cs()
    r1cs.validate()
    shares: list[float] = []
    assert circuit_hash(r1cs, shares.append) == plain_hash(3, 5, rows, spec.r)
    assert shares[-1] == 1.0
    assert shares == sorted(shares)
    assert any(0 < share < 1 for share in shares) is (count > 1 << 14), "how far it is, block by block"


def test_recorded_rows_are_the_rows_written() -> None:
    rows = random_rows(3, 5, 200, 7)
    cs = ConstraintSystem(TOY)
    for _ in range(2):
        cs.alloc_input()
    for _ in range(5):
        cs.alloc()
    for a, b, c in rows:
        cs.enforce(a, b, c)
    as_columns = [
        tuple({v + 3 if v >= 0 else -1 - v: factor for v, factor in side.items()} for side in row)
        for row in rows
    ]
    expected = R1CS.from_rows(TOY, 8, 2, [(a, b, c) for a, b, c in as_columns])
    recorded = cs.r1cs()
    assert recorded.digest() == expected.digest()
    assert [recorded.c.row(i) for i in range(200)] == [expected.c.row(i) for i in range(200)]


def test_sizes() -> None:
    """Zero coefficients count nowhere; the rows per input count in nnz_a and not in num_constraints."""
    cs = ConstraintSystem(TOY)
    x = cs.alloc_input()
    y, z, unused = cs.alloc(), cs.alloc(), cs.alloc()
    cs.enforce({x: 1, y: 2}, {z: 1, unused: 0}, {ONE: 5})
    cs.enforce({y: 1}, {x: 1, y: TOY.r}, {x: 1, y: 1, z: 1})
    assert circuit_sizes(cs.r1cs()) == {
        "num_inputs": 2,
        "num_aux": 3,
        "num_constraints": 2,
        "nnz_a": 3 + 2,
        "nnz_b": 2,
        "nnz_c": 4,
        "density_a_aux": 1,
        "density_b_aux": 1,
        "density_b_inputs": 1,
        "domain_log2": 2,
    }


def test_linear_combinations_merge() -> None:
    total = LinearCombination({0: 2})
    total.add_term(0, 3)
    total.add_term(ONE)
    total.add_scaled({0: 1, 4: 7}, -2)
    assert total == {0: 3, ONE: 1, 4: -14}


def test_values_follow_the_variables() -> None:
    cs = ConstraintSystem(TOY, with_values=True)
    x, out = cs.alloc(TOY.r + 5), cs.alloc_input(-1)
    assert cs.value({x: 2, out: 3, ONE: 1}) == 8
    assert cs.witness().to_ints() == [1, TOY.r - 1, 5]
    assert ConstraintSystem(TOY).value({ONE: 1}) is None


def test_what_is_refused() -> None:
    valued, bare = ConstraintSystem(TOY, with_values=True), ConstraintSystem(TOY)
    with pytest.raises(ShapeError, match="auxiliary variable 0 has no value"):
        valued.alloc()
    with pytest.raises(ShapeError, match="input 1 has no value"):
        valued.alloc_input()
    with pytest.raises(ShapeError, match="without values"):
        bare.witness()
    for variable in (0, -2):
        cs = ConstraintSystem(TOY)
        cs.enforce({ONE: 1}, {variable: 1}, {})
        with pytest.raises(ShapeError, match="never allocated"):
            cs.r1cs()


def test_hints_are_the_values_of_what_is_allocated_without() -> None:
    cs = ConstraintSystem(TOY, hints=[TOY.r + 3, 4, 5])
    assert [cs.alloc(), cs.alloc_input(), cs.alloc(7)] == [0, -2, 1]
    with pytest.raises(ShapeError, match="more hints than variables"):
        cs.witness()
    cs = ConstraintSystem(TOY, hints=iter([3, 4]))
    cs.alloc(), cs.alloc_input()
    assert cs.witness().to_ints() == [1, 4, 3]
    with pytest.raises(ShapeError, match="auxiliary variable 1 has no value"):
        cs.alloc()


def test_a_circuit_that_outgrows_its_tables_is_refused_while_it_is_recorded() -> None:
    """Variables have 31 bits; twice as many would be others' numbers, and take minutes and all memory."""

    def doubled(cs: ConstraintSystem, depth: int) -> Block:
        child = cs.child(0)
        if depth:
            block = doubled(cs, depth - 1)
            for _ in range(2):
                child.insert(block, [])
        else:
            for _ in range(1 << 12):
                child.alloc()
        return child.block()

    cs = ConstraintSystem(TOY)
    block = doubled(cs, 4)
    for _ in range((1 << 15) - 1):
        cs.insert(block, [])
    assert cs.num_aux == (1 << 31) - (1 << 16)
    with pytest.raises(RangeError, match="more than 2147483647 auxiliary variables"):
        cs.insert(block, [])


def test_operations_on_bits_take_inputs_too() -> None:
    """As the programs do: of whatever kind a variable is, its value counts."""
    for value in (0, 1):
        cs = ConstraintSystem(TOY, hints=[1 - value, value])
        first, bit = cs.alloc(), cs.alloc_input()
        cs.define_logic(0b1000_1000, bit, bit)
        cs.define_logic(0b0110_0110, first, bit)
        low = cs.define_sum([bit, 0, bit, 1 | 1 << 8], 4, 3)
        assert cs.aux is not None
        assert cs.aux == [1 - value, value, 1, *(((value + 2 * (1 - value) + 4) >> i) & 1 for i in range(3))]
        assert low == 3
