"""Transforms against the definition, the plain-int FFT and a random point: every size, order and coset.

Would catch: a wrong or shifted root, a missing 1/n, a coset factor
in the wrong order, one stale, skipped or truncated element, rows and columns exchanged, a batch whose
vectors mix.
"""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from cuzk_oracles import ntt as oracle

from cuzk.curves import ROOT_CONVENTIONS, Curve, get_curve
from cuzk.device import Array, Device
from cuzk.errors import RangeError, ShapeError
from cuzk.ops.ntt import Domain, Order, ntt
from tests.kernels.fr_support import (
    CURVE_NAMES,
    curve_device_pairs,
    edge_scalars,
    get,
    mixed_scalars,
    open_device,
    pair_id,
    put,
)

ORDERS: tuple[Order, ...] = ("nat", "rev")
everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
BN254, BLS = get_curve("bn254"), get_curve("bls12_381")


@functools.cache
def domain_of(curve: Curve, log_n: int, convention: str) -> Domain:
    """Domains are shared by tests, as a key's is shared by proofs."""
    return Domain(curve, log_n, convention)  # type: ignore[arg-type]


@functools.cache
def example(curve: Curve, log_n: int) -> list[int]:
    """Coefficients: edge values and uniform ones."""
    return mixed_scalars(curve, 1 << log_n, random.Random(1000 + log_n))


@functools.cache
def values_of(curve: Curve, log_n: int, convention: str, shift: int | None) -> list[int]:
    """The oracle's transform of the example: by definition up to 2^6, else by the oracle's FFT."""
    coeffs, omega = example(curve, log_n), curve.root_of_unity(log_n, convention)  # type: ignore[arg-type]
    if log_n <= 6:
        return oracle.coset_ntt_definition(coeffs, omega, 1 if shift is None else shift, curve.r)
    return oracle.coset_ntt(coeffs, omega, 1 if shift is None else shift, curve.r)


def arranged(values: list[int], order: Order) -> list[int]:
    """Natural order, or the bit-reversed one."""
    return values if order == "nat" else oracle.bit_reverse(values)


def check_all_orders(device: Device, curve: Curve, log_n: int, convention: str, shift: int | None) -> None:
    """Forward and inverse, in all four pairs of orders, against the oracle's values."""
    domain = domain_of(curve, log_n, convention)
    coeffs, values = example(curve, log_n), values_of(curve, log_n, convention, shift)
    for order_in, order_out in itertools.product(ORDERS, ORDERS):
        for inverse, source, target in ((False, coeffs, values), (True, values, coeffs)):
            x = put(device, curve, arranged(source, order_in))
            result = ntt(
                device, domain, x, inverse=inverse, coset=shift, order_in=order_in, order_out=order_out
            )
            assert get(device, curve, result) == arranged(target, order_out), (order_in, order_out, inverse)
            assert get(device, curve, x) == arranged(source, order_in), "the input was changed"


def sizes(most: int) -> Iterator[tuple[Curve, str, int]]:
    """Every curve, device and log_n up to `most`, as far as the curve has roots."""
    for curve, device_name in curve_device_pairs():
        for log_n in range(min(most, curve.two_adicity) + 1):
            yield curve, device_name, log_n


@pytest.mark.parametrize(("curve", "device_name", "log_n"), list(sizes(11)), ids=pair_id)
@pytest.mark.parametrize("convention", ROOT_CONVENTIONS)
def test_every_order(curve: Curve, device_name: str, log_n: int, convention: str) -> None:
    check_all_orders(open_device(device_name), curve, log_n, convention, None)


@pytest.mark.parametrize("curve_name", CURVE_NAMES)
@pytest.mark.parametrize("log_n", [7, 8])
def test_definition(curve_name: str, log_n: int) -> None:
    """The O(n^2) definition, and its inverse, at the largest sizes where it is affordable."""
    curve, device = get_curve(curve_name), open_device("cpu")
    domain, coeffs = domain_of(curve, log_n, "bellman"), example(curve, log_n)
    values = oracle.coset_ntt_definition(coeffs, domain.omega, 1, curve.r)
    assert get(device, curve, ntt(device, domain, put(device, curve, coeffs))) == values
    assert get(device, curve, ntt(device, domain, put(device, curve, values), inverse=True)) == coeffs


def shifts(curve: Curve, log_n: int) -> list[int]:
    """Cosets: the trivial ones, -1 (the whole domain again), both conventions', a large one."""
    found = [1, curve.r - 1, curve.coset_shift("bellman"), curve.coset_shift("snarkjs", log_n)]
    return [*found, edge_scalars(curve)[-1] or 2]


@pytest.mark.parametrize(
    ("curve", "device_name", "log_n"), [c for c in sizes(9) if c[2] in (0, 1, 2, 3, 5, 9)], ids=pair_id
)
def test_cosets(curve: Curve, device_name: str, log_n: int) -> None:
    for shift in shifts(curve, log_n):
        check_all_orders(open_device(device_name), curve, log_n, "snarkjs", shift)


def random_point(curve: Curve, domain: Domain, coeffs: list[int], values: list[int], shift: int = 1) -> bool:
    """Whether values and coefficients agree at one random point: sees any single wrong output."""
    z = random.Random(domain.log_n).randrange(curve.r)
    return oracle.is_transform(coeffs, values, domain.omega, z, curve.r, shift)


@pytest.mark.parametrize("curve", [BLS, BN254], ids=pair_id)
@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("log_n", [10, 11, 12, 13, 14])
def test_random_point(curve: Curve, device_name: str, log_n: int) -> None:
    """Forward, inverse and round trip at sizes with several passes, in the orders of the prover."""
    device, domain = open_device(device_name), domain_of(curve, log_n, "snarkjs")
    coeffs = example(curve, log_n)
    shift = curve.coset_shift("snarkjs", log_n)
    x = put(device, curve, coeffs)
    forward = get(device, curve, ntt(device, domain, x))
    assert random_point(curve, domain, coeffs, forward)
    back = ntt(device, domain, put(device, curve, forward), inverse=True, order_out="rev")
    assert get(device, curve, back) == oracle.bit_reverse(coeffs)
    odd = ntt(device, domain, back, coset=shift, order_in="rev", out=back)
    assert random_point(curve, domain, coeffs, get(device, curve, odd), shift)


@pytest.mark.parametrize("curve", [BLS, BN254], ids=pair_id)
@pytest.mark.parametrize("log_n", [15, 16, 17])
def test_larger_sizes_on_cpu(curve: Curve, log_n: int, rng: random.Random) -> None:
    device, domain = open_device("cpu"), domain_of(curve, log_n, "bellman")
    coeffs = [rng.randrange(curve.r) for _ in range(1 << log_n)]
    x = put(device, curve, coeffs)
    values = ntt(device, domain, x)
    assert random_point(curve, domain, coeffs, get(device, curve, values))
    restored = ntt(device, domain, values, inverse=True, out=values)
    assert np.array_equal(device.download(restored), device.download(x))


@everywhere
def test_delta_and_shift(curve: Curve, device_name: str) -> None:
    """delta_0 -> all ones; delta_1 -> the powers of omega; a rotated input multiplies output k by omega^k."""
    device, domain = open_device(device_name), domain_of(curve, 9, "snarkjs")
    n, r = domain.size, curve.r
    powers = oracle.powers(domain.omega, n, r)
    for at, expected in ((0, [1] * n), (1, powers)):
        delta = [int(i == at) for i in range(n)]
        assert get(device, curve, ntt(device, domain, put(device, curve, delta))) == expected
    coeffs = example(curve, 9)
    values = get(device, curve, ntt(device, domain, put(device, curve, coeffs)))
    rotated = get(device, curve, ntt(device, domain, put(device, curve, coeffs[-1:] + coeffs[:-1])))
    assert rotated == [v * w % r for v, w in zip(values, powers, strict=True)]


def stacked(device: Device, curve: Curve, vectors: list[list[int]]) -> Array:
    """A batch as one array."""
    flat = put(device, curve, [v for vector in vectors for v in vector])
    return flat.reshape(len(vectors), -1, curve.fr.limbs)


@everywhere
@pytest.mark.parametrize("log_n", [0, 1, 2, 3, 6, 10])
@pytest.mark.parametrize("batch", [1, 2, 3, 5])
def test_batches(curve: Curve, device_name: str, log_n: int, batch: int, rng: random.Random) -> None:
    """A batch equals its vectors one by one, bit for bit, in place and with cosets."""
    device, domain = open_device(device_name), domain_of(curve, log_n, "bellman")
    vectors = [mixed_scalars(curve, 1 << log_n, rng) for _ in range(batch)]
    for inverse, order_in, order_out in ((False, "nat", "nat"), (True, "nat", "rev"), (False, "rev", "nat")):
        options = {"inverse": inverse, "coset": 7, "order_in": order_in, "order_out": order_out}
        single = [device.download(ntt(device, domain, put(device, curve, v), **options)) for v in vectors]  # type: ignore[arg-type]
        x = stacked(device, curve, vectors)
        assert ntt(device, domain, x, out=x, **options) is x  # type: ignore[arg-type]
        assert np.array_equal(device.download(x), np.stack(single))


def test_empty_batch() -> None:
    device = open_device("emu")
    x = device.alloc((0, 8, 4), np.uint64)
    assert ntt(device, domain_of(BN254, 3, "snarkjs"), x).shape == (0, 8, 4)


def test_bad_input_is_refused() -> None:
    device, domain = open_device("cpu"), domain_of(BN254, 3, "snarkjs")
    x = put(device, BN254, list(range(24)))
    for bad in (x[:7], x[:4], x[:16], x.reshape(2, 3, 4, 4), x.astype(np.int64)[:8]):
        with pytest.raises(ShapeError):
            ntt(device, domain, bad)
    with pytest.raises(ShapeError, match="overlaps"):
        ntt(device, domain, x[:8], out=x[1:9])
    with pytest.raises(RangeError, match="coset shift"):
        ntt(device, domain, x[:8], coset=BN254.r)
    with pytest.raises(RangeError, match="order"):
        ntt(device, domain, x[:8], order_in="natural")  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="root of unity"):
        Domain(BN254, 29)
