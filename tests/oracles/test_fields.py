"""Field and word arithmetic against GMP, FLINT, and second algorithms.

Would catch: a wrong modulus or R, a Montgomery conversion in the wrong direction, a carry or borrow lost at
the word boundary, an inverse of zero that is not zero, a batch inverse that a zero spoils.
"""

import pytest
from cuzk_oracles import edge_values, fields, third_party
from cuzk_oracles.params import BLS12_381, BN254, TOY
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import values

SECP256K1_P = 2**256 - 2**32 - 977  # no spare bit: the carry out of the top word matters
MODULI = [BLS12_381.p, BLS12_381.r, BN254.p, BN254.r, TOY.p, TOY.r, SECP256K1_P]
IDS = ["bls12_381_p", "bls12_381_r", "bn254_p", "bn254_r", "toy_p", "toy_r", "secp256k1_p"]

each_modulus = pytest.mark.parametrize("p", MODULI, ids=IDS)


@each_modulus
@given(data=st.data())
def test_ring_operations(p: int, data: st.DataObject) -> None:
    a, b = data.draw(values.field_pairs(p))
    total = fields.add(a, b, p)
    assert 0 <= total < p
    assert total in (a + b, a + b - p)
    assert fields.sub(total, b, p) == a
    assert fields.add(a, fields.neg(a, p), p) == 0
    assert fields.neg(a, p) == (p - a if a else 0)
    assert fields.dbl(a, p) == fields.add(a, a, p)
    assert fields.sqr(a, p) == fields.mul(a, a, p)
    for library in ("gmpy2", "flint"):
        assert third_party.get(library).fp_mul(a, b, p) == fields.mul(a, b, p)


@each_modulus
@given(data=st.data())
def test_inverse(p: int, data: st.DataObject) -> None:
    a = data.draw(values.field_elements(p))
    assert fields.inv(a, p) == fields.inv_fermat(a, p)
    if a:
        assert fields.mul(a, fields.inv(a, p), p) == 1
        for library in ("gmpy2", "flint"):
            assert third_party.get(library).fp_inv(a, p) == fields.inv(a, p)


def test_inverse_of_zero_is_zero() -> None:
    assert fields.inv(0, 43) == 0
    assert fields.inv_fermat(0, 43) == 0


@each_modulus
@pytest.mark.parametrize("limb_bits", [32, 64])
@given(data=st.data())
def test_montgomery(p: int, limb_bits: int, data: st.DataObject) -> None:
    limbs = fields.num_limbs(p, limb_bits)
    a, b = data.draw(values.field_pairs(p))
    a_mont, b_mont = (fields.to_mont(x, p, limbs, limb_bits) for x in (a, b))
    assert fields.from_mont(a_mont, p, limbs, limb_bits) == a
    product = fields.mont_mul(a_mont, b_mont, p, limbs, limb_bits)
    assert product == fields.to_mont(fields.mul(a, b, p), p, limbs, limb_bits)
    assert product == fields.mont_mul_by_words(a_mont, b_mont, p, limbs, limb_bits)
    assert fields.mont_mul(a_mont, 1, p, limbs, limb_bits) == a
    assert fields.to_mont(1, p, limbs, limb_bits) == fields.mont_r(p, limbs, limb_bits)


def test_montgomery_exhaustive_small() -> None:
    """All pairs modulo 251 and 257, limbs of 8 bits: one limb without a spare bit, and two."""
    for p, limbs in ((251, 1), (257, 2)):
        for a in range(p):
            for b in range(p):
                expected = fields.mont_mul(a, b, p, limbs, 8)
                assert fields.mont_mul_by_words(a, b, p, limbs, 8) == expected


@each_modulus
@given(data=st.data())
def test_limbs_round_trip(p: int, data: st.DataObject) -> None:
    x = data.draw(values.field_elements(p))
    for bits in (32, 64):
        words = fields.to_limbs(x, fields.num_limbs(p, bits), bits)
        assert all(0 <= word < 1 << bits for word in words)
        assert fields.from_limbs(words, bits) == x
        assert b"".join(word.to_bytes(bits // 8, "little") for word in words) == x.to_bytes(
            len(words) * bits // 8, "little"
        )


@pytest.mark.parametrize("x", [-1, 1 << 64, 1 << 200])
def test_limbs_refuse_what_does_not_fit(x: int) -> None:
    with pytest.raises(ValueError, match="does not fit 1 limbs"):
        fields.to_limbs(x, 1)


@each_modulus
@given(data=st.data())
def test_batch_inverse(p: int, data: st.DataObject) -> None:
    vector = data.draw(st.lists(st.one_of(st.just(0), values.field_elements(p)), max_size=12))
    assert fields.batch_inv(vector, p) == [fields.inv_fermat(v, p) for v in vector]


@pytest.mark.parametrize("at", range(5))
def test_batch_inverse_zero_at_each_position(at: int) -> None:
    vector = [2, 3, 5, 7, 11]
    vector[at] = 0
    assert fields.batch_inv(vector, BN254.r) == [fields.inv(v, BN254.r) for v in vector]


@pytest.mark.parametrize("p", [p for p in MODULI if p % 4 == 3])
@given(data=st.data())
def test_sqrt(p: int, data: st.DataObject) -> None:
    x = data.draw(values.field_elements(p))
    root = fields.sqrt(x * x % p, p)
    assert root == min(x, -x % p)
    other = fields.sqrt(x, p)
    is_residue = x == 0 or pow(x, (p - 1) // 2, p) == 1
    assert (other is not None) == is_residue


def test_sqrt_refuses_other_primes() -> None:
    with pytest.raises(ValueError, match="p = 3 mod 4"):
        fields.sqrt(4, 13)


# --- words ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [8, 32, 64])
@given(data=st.data())
def test_words(bits: int, data: st.DataObject) -> None:
    """Each pair of results puts the whole value together again: nothing is lost in between."""
    base = 1 << bits
    a, b, c = (data.draw(values.words(bits)) for _ in range(3))
    carry = data.draw(st.integers(0, 1))
    low, out = fields.word_add(a, b, carry, bits)
    assert (low + out * base, out in (0, 1), low < base) == (a + b + carry, True, True)
    low, out = fields.word_sub(a, b, carry, bits)
    assert (low - out * base, out in (0, 1), 0 <= low < base) == (a - b - carry, True, True)
    assert fields.word_mul_lo(a, b, bits) + fields.word_mul_hi(a, b, bits) * base == a * b
    assert fields.word_mul_wide(a, b) == int(third_party.get("gmpy2").load().mpz(a) * b)
    low, out = fields.word_mad_lo(a, b, c, carry, bits)
    assert low + out * base == a * b % base + c + carry
    low, out = fields.word_mad_hi(a, b, c, carry, bits)
    assert low + out * base == a * b // base + c + carry
    wide = c * base + a
    low, out = fields.word_mad_wide(a, b, wide, bits)
    assert low + out * base**2 == a * b + wide
    assert low < base**2


def test_words_exhaustive_eight_bits() -> None:
    """A full adder per bit, all operands and carries: independent of Python's own addition."""
    for a in range(0, 256, 5):
        for b in range(256):
            for carry_in in (0, 1):
                total, carry = 0, carry_in
                for i in range(8):
                    x, y = (a >> i) & 1, (b >> i) & 1
                    total |= (x ^ y ^ carry) << i
                    carry = (x & y) | (carry & (x ^ y))
                assert fields.word_add(a, b, carry_in, 8) == (total, carry)


def test_madc_vector() -> None:
    """The operands of the miscompiled instruction, with the high word that the forum thread calls right."""
    a, b, c = edge_values.MADC_VECTOR
    low, carry = fields.word_mad_lo(a, b, c, bits=64)
    high, _ = fields.word_mad_hi(a, b, 0, carry, bits=64)
    assert (high << 64) + low == a * b + c
    assert carry == 1
