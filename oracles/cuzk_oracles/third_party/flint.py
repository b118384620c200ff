"""python-flint: FLINT's arithmetic modulo p and its polynomials, which know nothing of transforms."""

from collections.abc import Sequence

from cuzk_oracles import ntt
from cuzk_oracles.params import Params
from cuzk_oracles.third_party._base import Adapter


class Flint(Adapter):
    """Field operations, polynomial products, and values of a polynomial at many points."""

    module = "flint"

    def fp_mul(self, a: int, b: int, p: int) -> int:
        """See `Adapter`."""
        field = self.load().fmpz_mod_ctx(p)
        return int(field(a) * field(b))

    def fp_inv(self, a: int, p: int) -> int:
        """See `Adapter`."""
        return int(1 / self.load().fmpz_mod_ctx(p)(a))

    def poly_mul(self, a: Sequence[int], b: Sequence[int], p: int) -> list[int]:
        """Coefficients of the product, without leading zeros."""
        lib = self.load()
        ring = lib.fmpz_mod_poly_ctx(lib.fmpz_mod_ctx(p))
        return [int(c) for c in (ring(list(a)) * ring(list(b))).coeffs()]

    def poly_divmod(self, a: Sequence[int], b: Sequence[int], p: int) -> tuple[list[int], list[int]]:
        """Quotient and remainder, without leading zeros."""
        lib = self.load()
        ring = lib.fmpz_mod_poly_ctx(lib.fmpz_mod_ctx(p))
        quotient, remainder = divmod(ring(list(a)), ring(list(b)))
        return [int(c) for c in quotient.coeffs()], [int(c) for c in remainder.coeffs()]

    def evaluate(self, coeffs: Sequence[int], points: Sequence[int], p: int) -> list[int]:
        """Values of a polynomial at given points."""
        lib = self.load()
        field = lib.fmpz_mod_ctx(p)
        polynomial = lib.fmpz_mod_poly_ctx(field)(list(coeffs))
        return [int(v) for v in polynomial.multipoint_evaluate([field(x) for x in points])]

    def ntt(self, params: Params, coeffs: Sequence[int], omega: int) -> list[int]:
        """See `Adapter`."""
        return self.evaluate(coeffs, ntt.powers(omega, len(coeffs), params.r), params.r)
