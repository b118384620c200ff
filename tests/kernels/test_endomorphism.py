"""Multiples by halves of scalars, against the exponents; the split of scalars by itself.

Would catch: a wrong eigenvalue or cube root, a half with the wrong sign or one digit too short, a lost carry, a table
entry off by one, a factor used for its neighbour's points, infinity or equal points mishandled side by side.
"""

from __future__ import annotations

import random
from dataclasses import replace
from math import isqrt
from typing import Any

import numpy as np
import pytest

from cuzk.curves import GroupSpec, get_curve
from cuzk.device import get_device
from cuzk.errors import InternalError, KernelFault, ShapeError
from cuzk.limbs import U64Array, fr_from_ints, points_from_ints
from cuzk.ops import halves
from cuzk.ops.endomorphism import endomorphism_of
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.halves import mul_by_factors, signed_digits
from cuzk.ops.points import first_outside_subgroup

GROUPS = [f"{curve}/{group}" for curve in ("toy", "bn254", "bls12_381") for group in ("g1", "g2")]


def group_of(name: str) -> GroupSpec:
    curve, group = name.split("/")
    spec: GroupSpec = getattr(get_curve(curve), group)
    return spec


def multiples(group: GroupSpec, exponents: list[int]) -> U64Array:
    """These multiples of the generator."""
    cpu = get_device("cpu")
    scalars = cpu.upload(fr_from_ints(group.curve, exponents))
    return np.asarray(cpu.download(fixed_base_mul(cpu, group, scalars)))


def edge_scalars(group: GroupSpec) -> list[int]:
    """Where the split of a scalar may go wrong: around 0, r, lambda, the basis, and points midway in the lattice."""
    phi, r = endomorphism_of(group), group.curve.r
    (a1, b1), (a2, b2) = phi.basis
    centres = [0, r // 2, isqrt(r), phi.eigenvalue, r - phi.eigenvalue, a1, a2, b1, b2]
    centres += [(a1 + a2) // 2, (a1 + b1 * phi.eigenvalue) // 2, int("8" * 60, 16), int("7" * 60, 16)]
    return sorted({(centre + step) % r for centre in centres for step in (-1, 0, 1)})


@pytest.mark.parametrize("name", GROUPS)
def test_halves_are_short_and_add_up(name: str, rng: random.Random) -> None:
    group = group_of(name)
    phi, r = endomorphism_of(group), group.curve.r
    assert (phi.eigenvalue**2 + phi.eigenvalue + 1) % r == 0
    for a, b in phi.basis:
        assert (a + b * phi.eigenvalue) % r == 0
    # Half the bits, up to the rounding of whole digits.
    assert phi.num_digits * 4 <= (group.curve.fr.bits + 1) // 2 + 5
    every = range(r) if name.startswith("toy") else [rng.randrange(r) for _ in range(500)]
    for scalar in [*edge_scalars(group), *every]:
        k1, k2 = phi.halves(scalar)
        assert (k1 + k2 * phi.eigenvalue - scalar) % r == 0
        assert 2 * max(abs(k1), abs(k2)) <= 16**phi.num_digits


def test_digits_are_the_number(rng: random.Random) -> None:
    values = [
        0,
        1,
        -1,
        8,
        -8,
        9,
        15,
        16,
        -0x88,
        0x89,
        16**5 // 2,
        -(16**5) // 2,
        int("8" * 5, 16),
        int("7" * 5, 16),
    ]
    values += [rng.randrange(-(16**5) // 2, 16**5 // 2) for _ in range(200)]
    digits = signed_digits(values, 5).view(np.int8)
    assert digits.shape == (len(values), 5)
    assert int(np.abs(digits).max()) == 8
    assert [sum(int(d) << (4 * w) for w, d in enumerate(row)) for row in digits] == values
    for too_long in (int("8" * 5, 16) + 1, 16**5, 16**6):
        with pytest.raises(InternalError, match="more than 5 digits"):
            signed_digits([too_long], 5)


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("name", GROUPS)
def test_is_the_multiple(name: str, spec: str, rng: random.Random) -> None:
    """Infinity, generators and opposite points, each times scalars at the edges; some factors are shared."""
    group, r = group_of(name), group_of(name).curve.r
    few = spec == "emu" and not name.startswith("toy")
    factors = (
        rng.sample(edge_scalars(group), 6)
        if few
        else [*edge_scalars(group), *(rng.randrange(r) for _ in range(300))]
    )
    for share in (1, 3):
        exponents = [rng.choice([0, 1, r - 1, rng.randrange(r)]) for _ in range(share * len(factors))]
        points = multiples(group, exponents)
        device = get_device(spec)
        found = device.download(mul_by_factors(device, group, device.upload(points), factors, share=share))
        expected = [factors[i // share] * e % r for i, e in enumerate(exponents)]
        assert (found == multiples(group, expected)).all()


def test_every_scalar_of_the_toy_curve() -> None:
    group, cpu = group_of("toy/g1"), get_device("cpu")
    r = group.curve.r
    points = multiples(group, [7] * r)
    found = cpu.download(mul_by_factors(cpu, group, cpu.upload(points), range(r)))
    assert (found == multiples(group, [7 * k % r for k in range(r)])).all()


@pytest.mark.parametrize("n", [1, 2, 255, 256, 257, 5000])
def test_chunks(n: int, rng: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of points, cut into any chunks."""
    group, cpu = group_of("toy/g1"), get_device("cpu")
    r = group.curve.r
    exponents, factors = ([rng.randrange(r) for _ in range(n)] for _ in range(2))
    expected = multiples(group, [e * f % r for e, f in zip(exponents, factors, strict=True)])
    points = cpu.upload(multiples(group, exponents))
    for chunk in (1, 7, 256):
        monkeypatch.setattr(halves, "_HOST_CHUNK", chunk)
        assert (cpu.download(mul_by_factors(cpu, group, points, factors)) == expected).all()


def test_nothing_and_what_does_not_fit() -> None:
    group, cpu = group_of("bn254/g1"), get_device("cpu")
    none = multiples(group, [])
    assert len(mul_by_factors(cpu, group, none, [])) == 0
    for points, factors, share in ((none, [1], 1), (multiples(group, [1, 2, 3]), [1, 2], 2)):
        with pytest.raises(ShapeError, match="factors"):
            mul_by_factors(cpu, group, points, factors, share=share)


def test_a_digit_out_of_range_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    group, cpu = group_of("toy/g1"), get_device("cpu")
    digits = np.array([[1, 0, 0], [0, 9, 0]], np.uint8)
    monkeypatch.setattr(halves, "signed_digits", lambda values, num: np.resize(digits, (len(values), num)))
    with pytest.raises(KernelFault):
        mul_by_factors(cpu, group, cpu.upload(multiples(group, [1, 2])), [5, 6])


@pytest.mark.parametrize("name", GROUPS)
def test_the_relation_has_degree_r(name: str) -> None:
    phi, r = endomorphism_of(group_of(name)), group_of(name).curve.r
    a, b = phi.relation
    assert (a + b * phi.eigenvalue) % r == 0
    assert a * a - a * b + b * b == r
    assert max(abs(a), abs(b)) < 2**128


def small_prime_factors(number: int) -> list[int]:
    return [p for p in range(2, 20_000) if number % p == 0 and all(p % q for q in range(2, isqrt(p) + 1))]


@pytest.mark.parametrize("name", [name for name in GROUPS if group_of(name).cofactor > 1])
def test_points_of_small_order_are_outside(name: str, rng: random.Random) -> None:
    """For every small prime q that divides the cofactor: a point of order q, and its sum with one of order r.

    The check is another equation than r P = infinity: nothing that the cofactor lets through may satisfy it.
    """
    group, cpu = group_of(name), get_device("cpu")
    plain, r = group.plain, group.curve.r
    primes = small_prime_factors(group.cofactor)
    assert primes
    found: list[Any] = []
    while len(found) < 2 * len(primes):
        x = rng.randrange(group.fp.modulus)
        coordinate = x if group.degree == 1 else (x, rng.randrange(group.fp.modulus))
        y = plain.sqrt(plain.rhs(coordinate))
        if y is None:
            continue
        q = primes[len(found) // 2]
        point = plain.mul((coordinate, y), r)
        rest = group.cofactor
        while rest % q == 0:
            rest //= q
        point = plain.mul(point, rest)
        while point is not None and (above := plain.mul(point, q)) is not None:
            point = above
        if point is not None:
            assert plain.is_on_curve(point)
            found += [point, plain.add(point, plain.mul(group.generator, rng.randrange(1, r)))]
    inside = multiples(group, [1, 0, r - 1])
    for point in found:
        array = np.concatenate([inside, points_from_ints(group, [point])])
        assert first_outside_subgroup(cpu, group, cpu.upload(array)) == 3
    assert first_outside_subgroup(cpu, group, cpu.upload(inside)) is None


@pytest.mark.parametrize("name", ["bls12_381", "bn254", "toy"])
def test_a_basis_of_either_orientation_gives_halves(name: str) -> None:
    curve = get_curve(name)
    usual = endomorphism_of(curve.g1)
    turned = replace(usual, basis=(usual.basis[1], usual.basis[0]))
    for scalar in (0, 1, 2, curve.r // 2, curve.r // 3, curve.r - 2, curve.r - 1):
        for phi in (usual, turned):
            first, second = phi.halves(scalar)
            assert (first + second * phi.eigenvalue - scalar) % curve.r == 0
            assert max(abs(first), abs(second)) < 16**phi.num_digits // 2
