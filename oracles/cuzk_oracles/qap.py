"""From a rank-1 constraint system to the quotient polynomial.

(A w)_i (B w)_i = (C w)_i for every row i. With a(x) the polynomial of degree < n that has the values (A w)_i
at the n-th roots omega^i, and b, c likewise, a b - c vanishes on the domain: a b - c = h (x^n - 1), deg h <=
n - 2.

Rows after the constraints bind the inputs, as snarkjs and bellman have them: row num_constraints + j has the
A entry (j, 1) for j = 0 (the constant ONE) to num_public, and no B or C entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from cuzk_oracles import ntt
from cuzk_oracles.spmv import Row, spmv


@dataclass(frozen=True)
class R1CS:
    """Constraints over variables: 0 = ONE, 1..num_public = public, then the rest."""

    num_variables: int
    num_public: int
    a: list[Row]
    b: list[Row]
    c: list[Row]

    @property
    def num_constraints(self) -> int:
        """Rows without the input-binding ones."""
        return len(self.a)


def log_domain_size(r1cs: R1CS) -> int:
    """log2 of the smallest power of two with a place for every constraint and every input, ONE included."""
    return (r1cs.num_constraints + r1cs.num_public).bit_length()


def with_input_rows(r1cs: R1CS) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows of A, B and C with the input-binding rows appended."""
    binding: list[Row] = [[(j, 1)] for j in range(r1cs.num_public + 1)]
    empty: list[Row] = [[] for _ in binding]
    return r1cs.a + binding, r1cs.b + empty, r1cs.c + empty


def evaluate(r1cs: R1CS, w: Sequence[int], r: int) -> tuple[list[int], list[int], list[int]]:
    """The vectors A w, B w, C w in domain order, zeros up to the domain size."""
    padding = [0] * (1 << log_domain_size(r1cs))
    a, b, c = ((spmv(rows, w, r) + padding)[: len(padding)] for rows in with_input_rows(r1cs))
    return a, b, c


def first_unsatisfied(r1cs: R1CS, w: Sequence[int], r: int) -> int | None:
    """The first constraint that w breaks, or None; -1 if w[0] is not one."""
    if w[0] != 1:
        return -1
    a, b, c = spmv(r1cs.a, w, r), spmv(r1cs.b, w, r), spmv(r1cs.c, w, r)
    return next((i for i in range(len(a)) if (a[i] * b[i] - c[i]) % r), None)


def divide_by_vanishing(poly: Sequence[int], n: int, r: int) -> tuple[list[int], list[int]]:
    """Quotient and remainder of a polynomial by x^n - 1: schoolbook long division."""
    rest = list(poly)
    quotient = [0] * max(len(rest) - n, 0)
    for i in reversed(range(len(quotient))):
        quotient[i] = rest[i + n]
        rest[i] = (rest[i] + rest[i + n]) % r
        rest[i + n] = 0
    return quotient, rest[:n]


def h_by_division(a: Sequence[int], b: Sequence[int], c: Sequence[int], omega: int, r: int) -> list[int]:
    """The n - 1 coefficients of h, by interpolating, multiplying and dividing polynomials: O(n^2).

    Args:
        a: Values of A w in domain order.
        b: The same of B w.
        c: The same of C w.
        omega: The primitive n-th root that orders the domain.
        r: The modulus.

    Raises:
        ValueError: a*b - c does not vanish on the domain (the witness breaks a constraint).
    """
    n = len(a)
    a_coeffs, b_coeffs, c_coeffs = (ntt.ifft(values, omega, r) for values in (a, b, c))
    numerator = ntt.poly_mul(a_coeffs, b_coeffs, r)
    for i, coefficient in enumerate(c_coeffs):
        numerator[i] = (numerator[i] - coefficient) % r
    quotient, remainder = divide_by_vanishing(numerator, n, r)
    if any(remainder):
        raise ValueError(
            "a*b - c does not vanish on the domain: the witness does not satisfy the constraints"
        )
    return quotient


def h_by_coset(
    a: Sequence[int], b: Sequence[int], c: Sequence[int], omega: int, shift: int, r: int
) -> list[int]:
    """The same h as bellman computes it: (a b - c)/(shift^n - 1) on the coset, then back; O(n log n).

    The coefficient n - 1 must vanish and is dropped. An unsatisfied witness is not detected here.
    """
    n = len(a)
    on_coset = [ntt.coset_ntt(ntt.ifft(values, omega, r), omega, shift, r) for values in (a, b, c)]
    z_inv = pow(pow(shift, n, r) - 1, -1, r)
    values = [(x * y - z) * z_inv % r for x, y, z in zip(*on_coset, strict=True)]
    return ntt.coset_intt(values, omega, shift, r)[: n - 1]


def odd_coset_values(
    a: Sequence[int], b: Sequence[int], c: Sequence[int], omega: int, omega_2n: int, r: int
) -> list[int]:
    """Compute a b - c at the odd 2n-th roots omega_2n^(2i+1), the scalars of snarkjs's H query.

    Args:
        a: Values of A w in domain order.
        b: The same of B w.
        c: The same of C w.
        omega: The primitive n-th root that orders the domain.
        omega_2n: A square root of omega.
        r: The modulus.
    """
    if omega_2n * omega_2n % r != omega:
        raise ValueError("omega_2n is not a square root of omega")
    on_coset = [ntt.coset_ntt(ntt.ifft(values, omega, r), omega, omega_2n, r) for values in (a, b, c)]
    return [(x * y - z) % r for x, y, z in zip(*on_coset, strict=True)]


def quotient_identity_holds(
    a: Sequence[int], b: Sequence[int], c: Sequence[int], h: Sequence[int], omega: int, z: int, r: int
) -> bool:
    """Whether a(z) b(z) - c(z) = h(z) (z^n - 1); a, b, c as domain values, h as coefficients, z random."""
    a_z, b_z, c_z = (ntt.barycentric(values, omega, z, r) for values in (a, b, c))
    return (a_z * b_z - c_z - ntt.horner(h, z, r) * (pow(z, len(a), r) - 1)) % r == 0


def odd_values_match_h(odd_values: Sequence[int], h: Sequence[int], omega_2n: int, r: int) -> bool:
    """Whether the two H forms agree: x^n - 1 is -2 at odd 2n-th roots, so odd_i = -2 h(omega_2n^(2i+1))."""
    omega = omega_2n * omega_2n % r
    padded = [*h, *[0] * (len(odd_values) - len(h))]
    return [-2 * value % r for value in ntt.coset_ntt(padded, omega, omega_2n, r)] == list(odd_values)
