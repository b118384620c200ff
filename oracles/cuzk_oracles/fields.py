"""Prime-field and machine-word arithmetic on plain ints.

What it is for: the reference for `word.cuh` and `field.cuh` and for everything above them. It does no range
checks: callers pass reduced values. Montgomery form of x modulo p with `limbs` 64-bit limbs is x * R mod p, R
= 2^(64*limbs).

Word operations follow the PTX manual: `_cc` returns a carry (or borrow), a name with `c` takes one.
"""

from collections.abc import Iterable, Sequence


def add(a: int, b: int, p: int) -> int:
    """Compute a + b mod p."""
    return (a + b) % p


def sub(a: int, b: int, p: int) -> int:
    """Compute a - b mod p."""
    return (a - b) % p


def neg(a: int, p: int) -> int:
    """-a mod p."""
    return -a % p


def dbl(a: int, p: int) -> int:
    """2a mod p."""
    return 2 * a % p


def mul(a: int, b: int, p: int) -> int:
    """Compute a * b mod p."""
    return a * b % p


def sqr(a: int, p: int) -> int:
    """a^2 mod p."""
    return a * a % p


def inv(a: int, p: int) -> int:
    """1/a mod p; by convention of the kernels 1/0 = 0."""
    return pow(a, -1, p) if a % p else 0


def inv_fermat(a: int, p: int) -> int:
    """1/a as a^(p-2), a second way to the same value; also 0 for a = 0."""
    return pow(a, p - 2, p)


def batch_inv(values: Sequence[int], p: int) -> list[int]:
    """Invert every value with one inversion in total; zeros stay zero.

    Source: Montgomery 1987, "Speeding the Pollard and elliptic curve methods", section 10.3.1.
    """
    prefix, running = [], 1
    for v in values:
        prefix.append(running)
        running = running * (v or 1) % p
    inverse_of_rest = pow(running, -1, p)
    out = [0] * len(values)
    for i in range(len(values) - 1, -1, -1):
        if values[i]:
            out[i] = inverse_of_rest * prefix[i] % p
            inverse_of_rest = inverse_of_rest * values[i] % p
    return out


def sqrt(a: int, p: int) -> int | None:
    """The square root of a that is at most (p-1)/2, or None for a non-residue; p = 3 mod 4."""
    if p % 4 != 3:
        raise ValueError(f"sqrt needs p = 3 mod 4, got p = {p}")
    root = pow(a, (p + 1) // 4, p)
    if root * root % p != a % p:
        return None
    return min(root, p - root) if root else 0


# --- Montgomery form --------------------------------------------------------------------------------------


def num_limbs(p: int, limb_bits: int = 64) -> int:
    """Smallest number of limbs that hold p."""
    return -(-p.bit_length() // limb_bits)


def mont_r(p: int, limbs: int, limb_bits: int = 64) -> int:
    """R mod p, the Montgomery form of one."""
    return (1 << (limb_bits * limbs)) % p


def to_mont(a: int, p: int, limbs: int, limb_bits: int = 64) -> int:
    """Standard form -> Montgomery form."""
    return (a << (limb_bits * limbs)) % p


def from_mont(a_mont: int, p: int, limbs: int, limb_bits: int = 64) -> int:
    """Montgomery form -> standard form."""
    return a_mont * pow(2, -limb_bits * limbs, p) % p


def mont_mul(a_mont: int, b_mont: int, p: int, limbs: int, limb_bits: int = 64) -> int:
    """Montgomery product a*b/R mod p, by definition."""
    return a_mont * b_mont * pow(2, -limb_bits * limbs, p) % p


def mont_mul_by_words(a_mont: int, b_mont: int, p: int, limbs: int, limb_bits: int = 64) -> int:
    """Montgomery product by word-wise reduction: a second way to `mont_mul`, with the steps of the machine.

    Source: Montgomery 1985, doi:10.1090/S0025-5718-1985-0777282-X; the row order is the "CIOS" of
    Koc, Acar & Kaliski 1996, doi:10.1109/40.502403.
    """
    base = 1 << limb_bits
    p_inv_neg = -pow(p, -1, base) % base
    total = 0
    for word in to_limbs(b_mont, limbs, limb_bits):
        total += a_mont * word
        total += (total % base * p_inv_neg % base) * p  # makes the lowest word zero
        total //= base
    return total - p if total >= p else total


def to_limbs(x: int, limbs: int, limb_bits: int = 64) -> list[int]:
    """Little-endian limbs of 0 <= x < 2^(limb_bits*limbs)."""
    if not 0 <= x < 1 << (limb_bits * limbs):
        raise ValueError(f"{x} does not fit {limbs} limbs of {limb_bits} bits")
    return [(x >> (limb_bits * i)) % (1 << limb_bits) for i in range(limbs)]


def from_limbs(words: Iterable[int], limb_bits: int = 64) -> int:
    """The int that little-endian limbs denote."""
    return sum(word << (limb_bits * i) for i, word in enumerate(words))


# --- machine words ----------------------------------------------------------------------------------------


def word_add(a: int, b: int, carry: int = 0, bits: int = 32) -> tuple[int, int]:
    """add.cc / addc.cc: (low word, carry out) of a + b + carry."""
    total = a + b + carry
    return total % (1 << bits), total >> bits


def word_sub(a: int, b: int, borrow: int = 0, bits: int = 32) -> tuple[int, int]:
    """sub.cc / subc.cc: (low word, borrow out) of a - b - borrow."""
    total = a - b - borrow
    return total % (1 << bits), int(total < 0)


def word_mul_lo(a: int, b: int, bits: int = 32) -> int:
    """mul.lo: low word of a * b."""
    return a * b % (1 << bits)


def word_mul_hi(a: int, b: int, bits: int = 32) -> int:
    """mul.hi: high word of a * b."""
    return a * b >> bits


def word_mul_wide(a: int, b: int) -> int:
    """mul.wide: the whole product."""
    return a * b


def word_mad_lo(a: int, b: int, c: int, carry: int = 0, bits: int = 32) -> tuple[int, int]:
    """mad.lo.cc / madc.lo.cc: (low word, carry out) of lo(a*b) + c + carry."""
    return word_add(word_mul_lo(a, b, bits), c, carry, bits)


def word_mad_hi(a: int, b: int, c: int, carry: int = 0, bits: int = 32) -> tuple[int, int]:
    """mad.hi.cc / madc.hi.cc: (low word, carry out) of hi(a*b) + c + carry."""
    return word_add(word_mul_hi(a, b, bits), c, carry, bits)


def word_mad_wide(a: int, b: int, c: int, bits: int = 32) -> tuple[int, int]:
    """mad.wide: (double word, carry out) of a*b + c, c a double word."""
    total = a * b + c
    return total % (1 << (2 * bits)), total >> (2 * bits)
