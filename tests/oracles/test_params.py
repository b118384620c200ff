"""Curve parameters against the libraries' own and against what they must satisfy.

Would catch: a slip in a literal, a generator outside the subgroup, a wrong cofactor, a root of unity of the
wrong order or convention, toy parameters that are not the ones of the stated search.
"""

from typing import Any

import pytest
from cuzk_oracles import curve, fields, fp2, params, third_party
from cuzk_oracles.curve import Group
from cuzk_oracles.params import BLS12_381, BN254, TINY, TOY, Params

ALL = [BLS12_381, BN254, TOY, TINY]
each_curve = pytest.mark.parametrize("c", ALL, ids=[c.name for c in ALL])


@each_curve
def test_generators(c: Params) -> None:
    groups: tuple[Group[Any], ...] = (c.g1, c.g2)
    for group in groups:
        assert curve.in_subgroup(group, group.generator)
        assert group.r == c.r
        assert group.p == c.p


@pytest.mark.parametrize(("c", "module"), [(BLS12_381, "optimized_bls12_381"), (BN254, "optimized_bn128")])
def test_literals_against_py_ecc(c: Params, module: str) -> None:
    lib = third_party.get("py_ecc").load(module)
    assert (c.p, c.r) == (lib.field_modulus, lib.curve_order)
    assert c.g1.b == lib.b.n
    assert c.g2.b == tuple(int(x) for x in lib.b2.coeffs)
    assert c.g1.generator == tuple(x.n for x in lib.normalize(lib.G1))
    assert c.g2.generator == tuple(tuple(int(x) for x in y.coeffs) for y in lib.normalize(lib.G2))


@each_curve
def test_cofactors(c: Params) -> None:
    """The full order kills a curve point that lies outside the subgroup, and r alone does not."""
    groups: tuple[Group[Any], ...] = (c.g1, c.g2)
    for group in groups:
        if group.cofactor == 1:
            continue
        found = 0
        for x in range(40):
            point = curve.lift_x(group, group.field.lift(x))
            if point is None:
                continue
            found += 1
            assert curve.mul(group, group.cofactor * group.r, point) is None
            assert curve.in_subgroup(group, curve.mul(group, group.cofactor, point))
            if found == 3:
                break
        assert found == 3


@each_curve
def test_curve_orders_fit_hasse(c: Params) -> None:
    """The group orders are those of the twist and the curve: |#E - (q + 1)| <= 2 sqrt(q)."""
    for group, q in ((c.g1, c.p), (c.g2, c.p**2)):
        trace = q + 1 - group.cofactor * group.r
        assert trace * trace <= 4 * q


@pytest.mark.parametrize("c", [BLS12_381, BN254, TOY], ids=lambda c: c.name)
@pytest.mark.parametrize("convention", ["snarkjs", "bellman"])
def test_roots_of_unity(c: Params, convention: str) -> None:
    s = c.two_adicity
    assert (c.r - 1) % 2**s == 0
    assert ((c.r - 1) >> s) % 2 == 1
    assert params.root_of_unity(c, 0, convention) == 1
    assert params.root_of_unity(c, 1, convention) == c.r - 1
    for log_n in range(1, s + 1):
        root = params.root_of_unity(c, log_n, convention)
        assert pow(root, 1 << (log_n - 1), c.r) == c.r - 1  # so its order is exactly 2^log_n
        assert root * root % c.r == params.root_of_unity(c, log_n - 1, convention)


def test_roots_of_both_worlds_on_bls12_381() -> None:
    """The published full-order roots, and the power that turns one into the other."""
    snarkjs, bellman = (params.root_of_unity(BLS12_381, 32, world) for world in ("snarkjs", "bellman"))
    assert snarkjs == 937917089079007706106976984802249742464848817460758522850752807661925904159
    assert bellman == 10238227357739495823651030575849232062558860180284477541189508159991286009131
    assert pow(bellman, 0xE25F4955, BLS12_381.r) == snarkjs


def test_conventions_differ_on_toy_and_agree_on_bn254() -> None:
    roots = {
        c.name: {params.root_of_unity(c, 10, world) for world in ("snarkjs", "bellman")} for c in ALL[:3]
    }
    assert {name: len(found) for name, found in roots.items()} == {"bls12_381": 2, "bn254": 1, "toy": 2}


@pytest.mark.parametrize(("log_n", "convention"), [(-1, "snarkjs"), (13, "snarkjs"), (3, "gnark")])
def test_root_refuses(log_n: int, convention: str) -> None:
    with pytest.raises(ValueError, match=r"two-adicity|convention"):
        params.root_of_unity(TOY, log_n, convention)


def test_toy_search() -> None:
    """The toy field is what the documented search finds, and bellperson's 64513 admits none."""
    assert params.find_toy_base_field(TOY.r) == (TOY.p, TOY.g1.b)
    assert params.find_toy_base_field(64513) is None
    assert params.find_toy_base_field(TINY.r) == (TINY.p, TINY.g1.b)
    assert params.count_points(TINY.p, TINY.g1.b) == TINY.r


@pytest.mark.parametrize("c", [TOY, TINY], ids=lambda c: c.name)
def test_toy_generator_and_image(c: Params) -> None:
    points = curve.all_points(c.g1)
    next(points)
    assert next(points) == c.g1.generator  # smallest x, then smaller y
    k2, k3 = (0, 2), ((-2) % c.p, 2)  # (1 + u)^2 and (1 + u)^3
    x, y = c.g1.generator
    assert c.g2.generator == (fp2.mul((x, 0), k2, c.p), fp2.mul((y, 0), k3, c.p))
    assert c.p % 12 == 7
    assert c.g1.b != 0


def test_lookup() -> None:
    assert params.get_params("toy") is TOY
    with pytest.raises(ValueError, match="unknown curve 'pasta'"):
        params.get_params("pasta")


@pytest.mark.parametrize("c", [BLS12_381, BN254, TOY], ids=lambda c: c.name)
def test_montgomery_helpers(c: Params) -> None:
    assert params.mont_fr(c, 5) == 5 * 2 ** (64 * fields.num_limbs(c.r)) % c.r
    assert params.mont_fp(c, 5) == 5 * 2 ** (64 * fields.num_limbs(c.p)) % c.p
