"""A prime field with its Montgomery constants, derived from the modulus and checked as it is built."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from cuzk.errors import InternalError


def require(condition: bool, what: str) -> None:
    """Raise InternalError where constants contradict each other."""
    if not condition:
        raise InternalError(f"curve constants are inconsistent: {what}")


@dataclass(frozen=True)
class FieldSpec:
    """A prime field and its Montgomery constants.

    Args:
        name: Also the name of the generated C++ struct.
        modulus: An odd prime.
        word_bits: Bits of a limb: 64, or 8 for the tiny fields.
        words: Limbs of word_bits bits in one element; R = 2^(word_bits*words).
    """

    name: str
    modulus: int
    word_bits: int
    words: int

    @property
    def bits(self) -> int:
        """Bit length of the modulus."""
        return self.modulus.bit_length()

    @property
    def limbs(self) -> int:
        """64-bit limbs of one element in memory."""
        return -(-self.word_bits * self.words // 64)

    @property
    def nbytes(self) -> int:
        """Bytes of one element in memory and in snarkjs files."""
        return 8 * self.limbs

    @property
    def mont_bits(self) -> int:
        """log2 of the Montgomery radix R."""
        return self.word_bits * self.words

    @property
    def spare_bits(self) -> int:
        """Unused top bits of an element: 0 means that a sum of two elements can carry out."""
        return self.mont_bits - self.bits

    @cached_property
    def mont_r(self) -> int:
        """R mod m, the Montgomery form of 1."""
        return (1 << self.mont_bits) % self.modulus

    @cached_property
    def mont_r2(self) -> int:
        """R^2 mod m."""
        return self.mont_r * self.mont_r % self.modulus

    @cached_property
    def mont_r_inv(self) -> int:
        """R^-1 mod m."""
        return pow(self.mont_r, -1, self.modulus)

    @property
    def ninv64(self) -> int:
        """-m^-1 mod 2^64; its low 32 or 8 bits serve the narrower limbs."""
        return -pow(self.modulus, -1, 1 << 64) % (1 << 64)

    def to_mont(self, value: int) -> int:
        """Return value * R mod m."""
        return value * self.mont_r % self.modulus

    def from_mont(self, value: int) -> int:
        """Return value / R mod m."""
        return value * self.mont_r_inv % self.modulus

    def check(self) -> None:
        """Self-check of the Montgomery constants.

        Raises:
            InternalError: A constant contradicts the modulus.
        """
        m = self.modulus
        require(m > 2 and m % 2 == 1, f"{self.name}: the modulus is not odd")
        require(self.bits <= self.mont_bits, f"{self.name}: the modulus does not fit its limbs")
        require((m * self.ninv64 + 1) % (1 << 64) == 0, f"{self.name}: ninv64")
        require(pow(2, m - 1, m) == 1 and pow(3, m - 1, m) == 1, f"{self.name}: the modulus is not prime")
        require(self.from_mont(self.to_mont(m - 1)) == m - 1, f"{self.name}: Montgomery round trip")
        require(self.mont_r2 == pow(2, 2 * self.mont_bits, m), f"{self.name}: R^2")


def make_field(name: str, modulus: int, *, word_bits: int = 64, words: int | None = None) -> FieldSpec:
    """Build and check a field; by default with as many 64-bit limbs as the modulus needs."""
    spec = FieldSpec(name, modulus, word_bits, words or -(-modulus.bit_length() // word_bits))
    spec.check()
    return spec
