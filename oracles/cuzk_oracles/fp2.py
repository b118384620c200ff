"""Fp2 = Fp[u]/(u^2 + 1) by the schoolbook: (a0 + a1 u)(b0 + b1 u) = (a0 b0 - a1 b1) + (a0 b1 + a1 b0) u.

All functions take reduced tuples (c0, c1) and the prime p = 3 mod 4 (so that -1 is no square and this is a
field).
"""

from cuzk_oracles import fields

Fp2Element = tuple[int, int]


def add(a: Fp2Element, b: Fp2Element, p: int) -> Fp2Element:
    """Compute a + b."""
    return (a[0] + b[0]) % p, (a[1] + b[1]) % p


def sub(a: Fp2Element, b: Fp2Element, p: int) -> Fp2Element:
    """Compute a - b."""
    return (a[0] - b[0]) % p, (a[1] - b[1]) % p


def neg(a: Fp2Element, p: int) -> Fp2Element:
    """-a."""
    return -a[0] % p, -a[1] % p


def dbl(a: Fp2Element, p: int) -> Fp2Element:
    """2a."""
    return 2 * a[0] % p, 2 * a[1] % p


def conjugate(a: Fp2Element, p: int) -> Fp2Element:
    """c0 - c1 u."""
    return a[0], -a[1] % p


def mul(a: Fp2Element, b: Fp2Element, p: int) -> Fp2Element:
    """Compute a * b, four products."""
    return (a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p


def sqr(a: Fp2Element, p: int) -> Fp2Element:
    """a^2."""
    return mul(a, a, p)


def norm(a: Fp2Element, p: int) -> int:
    """Compute a times its conjugate, an element of Fp."""
    return (a[0] * a[0] + a[1] * a[1]) % p


def inv(a: Fp2Element, p: int) -> Fp2Element:
    """1/a = conjugate(a) / norm(a); 1/0 = 0."""
    inverse_norm = fields.inv(norm(a, p), p)
    return a[0] * inverse_norm % p, -a[1] * inverse_norm % p


def pow_(a: Fp2Element, exponent: int, p: int) -> Fp2Element:
    """a^exponent for exponent >= 0, by square and multiply."""
    result = (1, 0)
    for bit in bin(exponent)[2:]:
        result = sqr(result, p)
        if bit == "1":
            result = mul(result, a, p)
    return result


def sqrt(a: Fp2Element, p: int) -> Fp2Element | None:
    """A square root of a, or None where there is none.

    With t^2 = norm(a): x0^2 = (c0 + t)/2 or (c0 - t)/2 and x1 = c1/(2 x0). The result is checked by squaring.
    """
    if a == (0, 0):
        return 0, 0
    t = fields.sqrt(norm(a, p), p)
    if t is None:
        return None
    half = (p + 1) // 2
    for candidate in ((a[0] + t) * half % p, (a[0] - t) * half % p):
        x0 = fields.sqrt(candidate, p)
        if x0 is None:
            continue
        if x0 == 0:  # a = -y^2: the root is y u
            y = fields.sqrt(-a[0] % p, p)
            root = (0, y or 0)
        else:
            root = (x0, a[1] * fields.inv(2 * x0 % p, p) % p)
        if sqr(root, p) == a:
            return root
    return None
