"""Domains, their tables, and the Lagrange basis at a point.

Would catch: a root of the other convention, a heap of roots with levels exchanged, 1/n folded into a table
that the kernel does not read, a cache that hands out another coset's factors, a basis off by one point.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from cuzk_oracles import ntt as oracle

from cuzk.curves import ROOT_CONVENTIONS, Curve, get_curve
from cuzk.device import get_device
from cuzk.errors import RangeError
from cuzk.ops.lagrange import lagrange_at
from cuzk.ops.ntt import Domain, Order, ntt, prepare
from tests.kernels.fr_support import curve_device_pairs, get, open_device, pair_id, put

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
BN254 = get_curve("bn254")


@pytest.mark.parametrize("convention", ROOT_CONVENTIONS)
@pytest.mark.parametrize("log_n", [0, 1, 4, 11])
@pytest.mark.parametrize("inverse", [False, True])
def test_inner_roots(convention: str, log_n: int, inverse: bool) -> None:
    """Entry h + i is w_(2h)^i with w_(2h) = omega^(n / 2h)."""
    device, domain, r = open_device("cpu"), Domain(BN254, log_n, convention), BN254.r  # type: ignore[arg-type]
    roots = get(device, BN254, domain.inner_roots(device, inverse=inverse))
    omega = domain.root(inverse=inverse)
    assert pow(omega, domain.size, r) == 1
    assert log_n == 0 or pow(omega, domain.size // 2, r) == r - 1
    assert omega * (domain.root(inverse=not inverse)) % r == 1
    for level in range(1, min(log_n, 10) + 1):
        h = 1 << (level - 1)
        w = pow(omega, domain.size // (2 * h), r)
        assert roots[h : 2 * h] == oracle.powers(w, h, r)


@pytest.mark.parametrize("bits", [0, 3, 6, None])
@pytest.mark.parametrize("scaled", [False, True])
def test_twist_tables(bits: int | None, scaled: bool) -> None:
    """As the kernel reads them: the inner table alone where it has all powers, else the product."""
    device, domain, r = open_device("cpu"), Domain(BN254, 6), BN254.r
    tables = domain.twist_tables(device, inverse=True, scaled=scaled, bits=bits)
    outer, inner = get(device, BN254, tables.outer), get(device, BN254, tables.inner)
    expected = oracle.powers(domain.root(inverse=True), 64, r, domain.size_inv if scaled else 1)
    if tables.bits >= 6:
        assert inner == expected
    else:
        mask = (1 << tables.bits) - 1
        assert [outer[i >> tables.bits] * inner[i & mask] % r for i in range(64)] == expected


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("log_n", [0, 1, 5, 11])
@pytest.mark.parametrize("coset", [None, 7])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("order", ["nat", "rev"])
def test_prepared_transforms_allocate_nothing(
    device_name: str, log_n: int, coset: int | None, inverse: bool, order: Order
) -> None:
    """After prepare() a transform in place, of one vector or three, takes no memory; before it, it does."""
    device, domain = get_device(device_name, memory_limit=1 << 22), Domain(BN254, log_n)
    x = device.alloc((3, domain.size, BN254.fr.limbs), zero=True)
    before = device.memory().allocations
    prepare(device, domain, inverse=inverse, coset=coset, order_in=order)
    prepared = device.memory()
    assert prepared.allocations > before
    prepare(device, domain, inverse=inverse, coset=coset, order_in=order)
    out: Order = "rev" if order == "nat" else "nat"
    for vectors in (x[0], x):
        ntt(device, domain, vectors, inverse=inverse, coset=coset, order_in=order, order_out=out, out=vectors)
    after = device.memory()
    assert after.used == prepared.used
    assert after.allocations == prepared.allocations


def test_many_cosets_of_one_domain(rng: random.Random) -> None:
    """More shifts than the cache keeps, each used twice."""
    device, domain = open_device("cpu"), Domain(BN254, 4)
    coeffs = [rng.randrange(BN254.r) for _ in range(16)]
    x = put(device, BN254, coeffs)
    for shift in [*range(1, 14), *range(1, 14)]:
        values = oracle.coset_ntt(coeffs, domain.omega, shift, BN254.r)
        assert get(device, BN254, ntt(device, domain, x, coset=shift)) == values


def test_the_oldest_coset_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight shifts have their tables at hand, whichever came before; the twist tables never go."""
    device, domain = open_device("cpu"), Domain(BN254, 4)
    uploads: list[int] = []
    upload = device.upload

    def watched(array: Any) -> Any:
        uploads.append(len(array))
        return upload(array)

    monkeypatch.setattr(device, "upload", watched)

    def is_built(shift: int) -> bool:
        uploads.clear()
        domain.coset_tables(device, shift, inverse=False, order="nat")
        return bool(uploads)

    domain.twist_tables(device, inverse=False, scaled=False)
    assert all(is_built(shift) for shift in range(2, 11)), "nine, each for the first time"
    assert not any(is_built(shift) for shift in range(3, 11)), "the last eight are there"
    assert is_built(2), "the first has gone"
    assert not any(is_built(shift) for shift in range(4, 11)), "and took the place of the second"
    uploads.clear()
    domain.twist_tables(device, inverse=False, scaled=False)
    assert not uploads


def test_threads_share_a_domain(rng: random.Random) -> None:
    device, domain = open_device("cpu"), Domain(BN254, 8)
    coeffs = [rng.randrange(BN254.r) for _ in range(256)]
    results: list[list[int]] = []

    def work() -> None:
        results.append(get(device, BN254, ntt(device, domain, put(device, BN254, coeffs), coset=5)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [oracle.coset_ntt(coeffs, domain.omega, 5, BN254.r)] * 4


def test_conventions_differ_where_the_curves_do() -> None:
    bls = get_curve("bls12_381")
    assert Domain(bls, 8, "snarkjs").omega != Domain(bls, 8, "bellman").omega
    assert Domain(BN254, 8, "snarkjs").omega == Domain(BN254, 8, "bellman").omega
    assert repr(Domain(bls, 8, "bellman")) == "Domain(bls12_381, 2^8, bellman)"


@everywhere
@pytest.mark.parametrize("log_n", [0, 1, 2, 5, 8])
def test_lagrange(curve: Curve, device_name: str, log_n: int, rng: random.Random) -> None:
    device, domain, r = open_device(device_name), Domain(curve, log_n), curve.r
    for tau in (0, 3, rng.randrange(r), rng.randrange(r)):
        if pow(tau, domain.size, r) == 1:
            with pytest.raises(RangeError, match="domain"):
                lagrange_at(device, domain, tau)
            continue
        basis = get(device, curve, lagrange_at(device, domain, tau))
        assert basis == oracle.lagrange_at(domain.omega, domain.size, tau, r)
        assert sum(basis) % r == 1


def test_tau_in_the_domain_is_refused() -> None:
    domain = Domain(BN254, 3)
    for tau in (1, domain.omega, BN254.r - 1):
        with pytest.raises(RangeError, match="draw another tau"):
            lagrange_at(open_device("cpu"), domain, tau)
