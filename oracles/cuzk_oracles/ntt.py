"""Number-theoretic transforms over Fr on plain ints.

Definition: A_k = sum_j a_j omega^(jk), omega a primitive n-th root of unity: the values of the polynomial
a(x) = sum_j a_j x^j at the powers of omega. On the coset with shift g the points are g omega^k.
Orders are natural unless a function says otherwise. Roots of unity: `params.root_of_unity`.
"""

from collections.abc import Sequence

from cuzk_oracles import fields


def log2_exact(n: int) -> int:
    """The k with n = 2^k; ValueError where there is none."""
    if n < 1 or n & (n - 1):
        raise ValueError(f"length {n} is not a power of two")
    return n.bit_length() - 1


def bit_reverse_index(i: int, log_n: int) -> int:
    """The index whose log_n bits are those of i in reverse."""
    return int(bin(i)[2:].zfill(log_n)[::-1], 2) if log_n else 0


def bit_reverse(values: Sequence[int]) -> list[int]:
    """Natural order -> bit-reversed order, and back."""
    log_n = log2_exact(len(values))
    return [values[bit_reverse_index(i, log_n)] for i in range(len(values))]


def horner(coeffs: Sequence[int], z: int, r: int) -> int:
    """The value of the polynomial at z."""
    value = 0
    for coeff in reversed(coeffs):
        value = (value * z + coeff) % r
    return value


def ntt_definition(coeffs: Sequence[int], omega: int, r: int) -> list[int]:
    """The transform by its definition, one sum per output: O(n^2)."""
    n = len(coeffs)
    return [sum(coeffs[j] * pow(omega, j * k, r) for j in range(n)) % r for k in range(n)]


def intt_definition(values: Sequence[int], omega: int, r: int) -> list[int]:
    """The inverse by its definition: a_j = 1/n sum_k A_k omega^(-jk)."""
    n = len(values)
    n_inv = pow(n, -1, r)
    return [sum(values[k] * pow(omega, -j * k, r) for k in range(n)) * n_inv % r for j in range(n)]


def fft(coeffs: Sequence[int], omega: int, r: int) -> list[int]:
    """The same transform in O(n log n): a(x) = even(x^2) + x odd(x^2), recursively.

    Source: Cooley & Tukey 1965, doi:10.1090/S0025-5718-1965-0178586-1.
    """
    n = len(coeffs)
    log2_exact(n)
    if n == 1:
        return [coeffs[0] % r]
    even = fft(coeffs[0::2], omega * omega % r, r)
    odd = fft(coeffs[1::2], omega * omega % r, r)
    low, high = [], []
    point = 1
    for e, o in zip(even, odd, strict=True):
        term = point * o % r
        low.append((e + term) % r)
        high.append((e - term) % r)  # omega^(n/2) = -1
        point = point * omega % r
    return low + high


def ifft(values: Sequence[int], omega: int, r: int) -> list[int]:
    """Inverse of `fft`."""
    n_inv = pow(len(values), -1, r)
    return [v * n_inv % r for v in fft(values, pow(omega, -1, r), r)]


def powers(base: int, count: int, r: int, first: int = 1) -> list[int]:
    """[first, first*base, first*base^2, ...], `count` values."""
    result, value = [], first % r
    for _ in range(count):
        result.append(value)
        value = value * base % r
    return result


def coset_ntt_definition(coeffs: Sequence[int], omega: int, shift: int, r: int) -> list[int]:
    """Values at shift * omega^k, each by Horner."""
    return [horner(coeffs, shift * pow(omega, k, r) % r, r) for k in range(len(coeffs))]


def coset_ntt(coeffs: Sequence[int], omega: int, shift: int, r: int) -> list[int]:
    """Values at shift * omega^k: a(shift * x) has coefficients a_j shift^j."""
    scaled = [c * g % r for c, g in zip(coeffs, powers(shift, len(coeffs), r), strict=True)]
    return fft(scaled, omega, r)


def coset_intt(values: Sequence[int], omega: int, shift: int, r: int) -> list[int]:
    """Inverse of `coset_ntt`."""
    scaled = ifft(values, omega, r)
    return [c * g % r for c, g in zip(scaled, powers(pow(shift, -1, r), len(values), r), strict=True)]


def lagrange_at(omega: int, n: int, z: int, r: int) -> list[int]:
    """[l_0(z), ..., l_(n-1)(z)] with l_k(omega^j) = 1 if j = k else 0.

    l_k(z) = (z^n - 1)/n * omega^k/(z - omega^k); for z in the domain it is the unit vector.
    """
    points = powers(omega, n, r)
    if z % r in points:
        return [int(point == z % r) for point in points]
    factor = (pow(z, n, r) - 1) * pow(n, -1, r) % r
    inverses = fields.batch_inv([(z - point) % r for point in points], r)
    return [factor * point * inverse % r for point, inverse in zip(points, inverses, strict=True)]


def barycentric(values: Sequence[int], omega: int, z: int, r: int, shift: int = 1) -> int:
    """The value at z of the polynomial of degree < n that has `values` at shift * omega^k."""
    basis = lagrange_at(omega, len(values), z * pow(shift, -1, r) % r, r)
    return sum(v * weight for v, weight in zip(values, basis, strict=True)) % r


def is_transform(
    coeffs: Sequence[int], values: Sequence[int], omega: int, z: int, r: int, shift: int = 1
) -> bool:
    """Whether `values` is the (coset) transform of `coeffs`, judged at one random point z.

    Every wrong output changes the interpolated polynomial, so a fault passes with probability < n/r.
    """
    return barycentric(values, omega, z, r, shift) == horner(coeffs, z, r)


def poly_mul(a: Sequence[int], b: Sequence[int], r: int) -> list[int]:
    """The product of two polynomials by the schoolbook: O(len(a) * len(b))."""
    product = [0] * max(len(a) + len(b) - 1, 0)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] += x * y
    return [c % r for c in product]
