"""Fields, groups and curves, derived from the literals of params.py and checked as they are built.

A field with n 64-bit limbs uses Montgomery radix R = 2^(64n); the tiny test fields use 2^16.
Roots of unity come in two conventions, since provers disagree: ``snarkjs`` raises the smallest quadratic
non-residue to (r-1)/2^s, ``bellman`` the generator of Fr* that its curve crate names. On BN254 both are 5, on
BLS12-381 they are 5 and 7: the same set of roots, in another order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import isqrt
from typing import Any, Literal

from cuzk.curves.arith import PlainCurve, Point, fp2_inv, fp2_mul, fp2_pow
from cuzk.curves.field import FieldSpec, make_field, require
from cuzk.curves.params import CurveParams
from cuzk.errors import RangeError

RootConvention = Literal["snarkjs", "bellman"]
ROOT_CONVENTIONS: tuple[RootConvention, ...] = ("snarkjs", "bellman")


@dataclass(frozen=True, eq=False)
class GroupSpec:
    """G1 or G2 of a curve: y^2 = x^3 + b over F_p (degree 1) or Fp2 (degree 2).

    Args:
        name: "g1" or "g2".
        curve: The curve it belongs to.
        degree: Extension degree of the coordinates.
        b: The curve's constant, standard form: int, or (c0, c1).
        generator: Affine generator of the subgroup of order r, standard form.
        cofactor: Number of curve points over the coordinate field, divided by r.
    """

    name: Literal["g1", "g2"]
    curve: Curve = field(repr=False)
    degree: int
    b: Any
    generator: tuple[Any, Any]
    cofactor: int

    @property
    def fp(self) -> FieldSpec:
        """Base field of the coordinates."""
        return self.curve.fp

    @property
    def full_name(self) -> str:
        """Suffix of kernel names, such as "bn254_g1"."""
        return f"{self.curve.name}_{self.name}"

    @property
    def affine_shape(self) -> tuple[int, ...]:
        """(2, limbs) for G1, (2, 2, limbs) for G2: x then y, c0 then c1."""
        limbs = self.fp.limbs
        return (2, limbs) if self.degree == 1 else (2, 2, limbs)

    @property
    def affine_bytes(self) -> int:
        """Bytes of an affine point in memory."""
        return 2 * self.degree * self.fp.nbytes

    @property
    def xyzz_bytes(self) -> int:
        """Bytes of a point in XYZZ coordinates in memory."""
        return 2 * self.affine_bytes

    @cached_property
    def plain(self) -> PlainCurve:
        """The group law in plain ints, for single points."""
        return PlainCurve(self.fp.modulus, self.degree, self.b)

    def __reduce__(self) -> tuple[Any, ...]:
        return _group_of, (self.curve.name, self.name)


@dataclass(frozen=True, eq=False)
class Curve:
    """A pairing-friendly curve (or the toy one): two fields, two groups, roots of unity.

    Get one with ``cuzk.curves.get_curve``. Instances are singletons, compared by identity.
    """

    params: CurveParams
    fp: FieldSpec
    fr: FieldSpec
    two_adicity: int
    quadratic_nonresidue: int

    @property
    def name(self) -> str:
        """The curve's name in cuzk."""
        return self.params.name

    @property
    def snarkjs_name(self) -> str:
        """The curve's name in snarkjs JSON files."""
        return self.params.snarkjs_name

    @property
    def p(self) -> int:
        """Modulus of the base field."""
        return self.params.p

    @property
    def r(self) -> int:
        """Order of G1 and G2, modulus of the scalar field."""
        return self.params.r

    @cached_property
    def g1(self) -> GroupSpec:
        """The group over F_p."""
        cofactor, rest = divmod(self.p + 1 - trace(self.params), self.r)
        require(rest == 0, f"{self.name}: r does not divide the order of G1's curve")
        return GroupSpec("g1", self, 1, self.params.b, self.params.g1, cofactor)

    @cached_property
    def g2(self) -> GroupSpec:
        """The group over Fp2."""
        generator = self.params.g2 or _image_of_g1(self.params)
        return GroupSpec("g2", self, 2, twist_b(self.params), generator, _g2_cofactor(self.params))

    def root_of_unity(self, log_n: int, convention: RootConvention) -> int:
        """A primitive 2^log_n-th root of unity in Fr, standard form.

        Args:
            log_n: 0 <= log_n <= two_adicity.
            convention: Whose root: "snarkjs" or "bellman" (bellperson, arkworks, gnark).

        Raises:
            RangeError: log_n or the convention is not available.
        """
        if not 0 <= log_n <= self.two_adicity:
            raise RangeError(
                f"{self.name} has no primitive 2^{log_n}-th root of unity",
                limit=f"0 <= log_n <= {self.two_adicity}",
                remedy="use a circuit with fewer constraints",
            )
        return int(pow(self._root_base(convention), (self.r - 1) >> log_n, self.r))

    def coset_shift(self, convention: RootConvention, log_n: int | None = None) -> int:
        """The factor that moves the domain of size 2^log_n to the quotient's coset, standard form.

        Args:
            convention: "bellman": the generator of Fr*, for every size. "snarkjs": the primitive root of
                order 2^(log_n+1); where that does not exist (log_n = two_adicity) the squared non-residue.
            log_n: Needed for "snarkjs".

        Raises:
            RangeError: log_n or the convention is not available.
        """
        base = self._root_base(convention)
        if convention == "bellman":
            return base
        if log_n is None:
            raise RangeError(
                "the snarkjs coset shift depends on the domain",
                limit="log_n is required",
                remedy="pass log_n",
            )
        if log_n == self.two_adicity:
            return base * base % self.r
        return self.root_of_unity(log_n + 1, convention)

    def _root_base(self, convention: RootConvention) -> int:
        if convention == "snarkjs":
            return self.quadratic_nonresidue
        if convention == "bellman":
            return self.params.fr_generator
        raise RangeError(
            f"unknown root convention {convention!r}", limit=f"one of {', '.join(ROOT_CONVENTIONS)}",
            remedy="pass one of these",
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return _curve_of, (self.name,)


def _curve_of(name: str) -> Curve:
    from cuzk.curves import get_curve

    return get_curve(name)


def _group_of(curve_name: str, name: str) -> GroupSpec:
    curve = _curve_of(curve_name)
    return curve.g1 if name == "g1" else curve.g2


def trace(params: CurveParams) -> int:
    """Trace of Frobenius of G1's curve over F_p: its number of points is p + 1 - trace."""
    if params.family == "bls12":
        return params.seed + 1
    if params.family == "bn":
        return 6 * params.seed**2 + 1
    return params.p + 1 - params.r


def twist_b(params: CurveParams) -> tuple[int, int]:
    """The constant b of G2's curve."""
    p, b = params.p, (params.b, 0)
    if params.twist == "M":
        return fp2_mul(b, params.xi, p)
    if params.twist == "D":
        return fp2_mul(b, fp2_inv(params.xi, p), p)
    return fp2_mul(b, fp2_pow(params.xi, 6, p), p)


def _image_of_g1(params: CurveParams) -> tuple[Any, Any]:
    p = params.p
    return (
        fp2_mul((params.g1[0], 0), fp2_pow(params.xi, 2, p), p),
        fp2_mul((params.g1[1], 0), fp2_pow(params.xi, 3, p), p),
    )


def _g2_cofactor(params: CurveParams) -> int:
    """Order of G2's curve over Fp2, divided by r.

    Source: over Fp2 the trace is t2 = t^2 - 2p; with 4p^2 = t2^2 + 3f^2 the two sextic twists have traces
    (t2 +- 3f)/2 (Hess, Smart, Vercauteren 2006). Exactly one of them is divisible by r here.
    """
    p, r = params.p, params.r
    t2 = trace(params) ** 2 - 2 * p
    if params.twist == "image":
        orders = [p * p + 1 - t2]
    else:
        f = _exact_sqrt((4 * p * p - t2 * t2) // 3)
        orders = [p * p + 1 - (t2 + sign * 3 * f) // 2 for sign in (1, -1)]
    fitting = [order for order in orders if order % r == 0]
    require(len(fitting) == 1, f"{params.name}: the order of G2's curve is not determined")
    return fitting[0] // r


def _exact_sqrt(value: int) -> int:
    root = isqrt(value)
    require(root * root == value, "a twist order is not an integer")
    return root


def make_curve(params: CurveParams) -> Curve:
    """Derive everything about a curve and check it: seed, fields, roots, generators and their order.

    Raises:
        InternalError: A literal contradicts another one.
    """
    r = params.r
    two_adicity = ((r - 1) & -(r - 1)).bit_length() - 1
    nonresidue = next(a for a in range(2, r) if pow(a, (r - 1) // 2, r) != 1)
    curve = Curve(
        params,
        make_field(f"{params.name}_fp", params.p),
        make_field(f"{params.name}_fr", r),
        two_adicity,
        nonresidue,
    )
    _check_seed(params)
    require(params.p % 12 == 7 or params.p % 4 == 3, f"{params.name}: u^2 = -1 has a root in F_p")
    for convention in ROOT_CONVENTIONS:
        root = curve.root_of_unity(two_adicity, convention)
        require(pow(root, 1 << (two_adicity - 1), r) == r - 1, f"{params.name}: {convention} root of unity")
    for group in (curve.g1, curve.g2):
        _check_group(group, r)
    return curve


def _check_seed(params: CurveParams) -> None:
    x = params.seed
    if params.family == "bls12":
        r = x**4 - x**2 + 1
        require(params.r == r and params.p == (x - 1) ** 2 * r // 3 + x, f"{params.name}: seed")
    elif params.family == "bn":
        r = 36 * x**4 + 36 * x**3 + 18 * x**2 + 6 * x + 1
        require(params.r == r and params.p == r + 6 * x**2, f"{params.name}: seed")


def _check_group(group: GroupSpec, r: int) -> None:
    where, plain = group.full_name, group.plain
    generator: Point = group.generator
    require(group.b not in (0, (0, 0)), f"{where}: b is zero, so (0,0) cannot stand for infinity")
    require(plain.is_on_curve(generator), f"{where}: the generator is not on the curve")
    require(plain.mul(generator, r) is None, f"{where}: the generator does not have order r")
