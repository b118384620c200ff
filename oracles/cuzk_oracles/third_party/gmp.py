"""gmpy2: GMP integers."""

from collections.abc import Sequence

from cuzk_oracles.third_party._base import Adapter


class Gmp(Adapter):
    """Field operations and Horner's rule."""

    module = "gmpy2"

    def fp_mul(self, a: int, b: int, p: int) -> int:
        """See `Adapter`."""
        return int(self.load().mpz(a) * b % p)

    def fp_inv(self, a: int, p: int) -> int:
        """See `Adapter`."""
        return int(self.load().invert(a, p))

    def horner(self, coeffs: Sequence[int], z: int, p: int) -> int:
        """The value of a polynomial at z."""
        mpz = self.load().mpz
        value, z_mpz, p_mpz = mpz(0), mpz(z), mpz(p)
        for coefficient in reversed(coeffs):
            value = (value * z_mpz + coefficient) % p_mpz
        return int(value)
