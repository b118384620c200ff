"""Operations at full size against exact answers: known logarithms, values at points, the cpu's bytes.

Would catch: a digit, carry, bucket or index that goes wrong beyond 2^16 terms, a sum that depends on how bases repeat,
a transform with one stale element, an order or coset that only large plans get wrong.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import params

from cuzk.curves import get_curve
from cuzk.device import Device, get_device
from cuzk.limbs import fr_from_ints, limbs_to_ints, points_to_ints
from cuzk.ops.batch_add import batch_add
from cuzk.ops.domain import Domain
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt
from tests.device import exact, gpu

ON_GPU = pytest.mark.device


def open_device(name: str) -> Device:
    device: Device = gpu.gpu() if name == "cuda" else get_device(name)
    return device


def check_msm(device: Device, curve: str, group: str, log_n: int, bases: str, kinds: tuple[str, ...]) -> None:
    spec, n = getattr(get_curve(curve), group), 1 << log_n
    known = exact.KnownBases(device, spec, bases, n, log_n)
    for kind in kinds:
        scalars = exact.scalars_of(spec.curve, kind, n, log_n)
        got = points_to_ints(spec, msm(device, spec, known.points, device.upload(scalars)))[0]
        assert got == known.expected(scalars), kind


@pytest.mark.parametrize("bases", exact.BASES)
@pytest.mark.parametrize(("curve", "group"), [("toy", "g1"), ("bn254", "g2"), ("bls12_381", "g1")])
def test_msm_on_cpu(curve: str, group: str, bases: str) -> None:
    check_msm(open_device("cpu"), curve, group, 8, bases, exact.SCALARS)


@ON_GPU
@pytest.mark.parametrize("bases", exact.BASES)
@pytest.mark.parametrize("log_n", [10, 13, 16, 18, 20])
@pytest.mark.parametrize(
    ("curve", "group"), [(c, g) for c in ("bls12_381", "bn254", "toy") for g in ("g1", "g2")]
)
def test_msm(curve: str, group: str, log_n: int, bases: str) -> None:
    check_msm(open_device("cuda"), curve, group, log_n, bases, exact.SCALARS)


@ON_GPU
@pytest.mark.parametrize(
    ("curve", "group", "log_n"),
    [
        ("bls12_381", "g1", 22),
        ("bls12_381", "g1", 24),
        ("bn254", "g1", 24),
        ("bls12_381", "g2", 22),
        ("bn254", "g2", 21),
    ],
)
def test_large_msm(curve: str, group: str, log_n: int) -> None:
    check_msm(open_device("cuda"), curve, group, log_n, "unrelated", ("uniform", "sparse", "awkward"))


def check_batch_add(device: Device, curve: str, group: str, n: int, bases: str) -> None:
    """All bases, and a list with repeats."""
    spec = getattr(get_curve(curve), group)
    known = exact.KnownBases(device, spec, bases, n, 9)
    ones = np.broadcast_to(fr_from_ints(spec.curve, [1]), known.logs.shape)
    assert points_to_ints(spec, batch_add(device, spec, known.points))[0] == known.expected(ones)
    places = np.random.default_rng(n).integers(0, n, n // 2 + 1).astype(np.uint32)
    counts = np.zeros((n, spec.curve.fr.limbs), np.uint64)
    counts[:, 0] = np.bincount(places, minlength=n)
    want = exact.dot(counts, known.logs, spec.curve.r) * spec.curve.fr.mont_r_inv % spec.curve.r
    got = points_to_ints(spec, batch_add(device, spec, known.points, device.upload(places)))[0]
    assert got == exact.multiple(spec, want)


@pytest.mark.parametrize("bases", exact.BASES)
@pytest.mark.parametrize(("curve", "group"), [("toy", "g2"), ("bn254", "g1")])
def test_batch_add_on_cpu(curve: str, group: str, bases: str) -> None:
    check_batch_add(open_device("cpu"), curve, group, 700, bases)


@ON_GPU
@pytest.mark.parametrize("bases", exact.BASES)
@pytest.mark.parametrize(
    ("curve", "group", "log_n"),
    [
        ("bls12_381", "g1", 20),
        ("bls12_381", "g1", 24),
        ("bls12_381", "g2", 21),
        ("bn254", "g1", 22),
        ("toy", "g1", 18),
    ],
)
def test_batch_add(curve: str, group: str, log_n: int, bases: str) -> None:
    check_batch_add(open_device("cuda"), curve, group, (1 << log_n) + 1, bases)


def check_windows(device: Device, curve: str, group: str, log_n: int, windows: range) -> None:
    spec, n = getattr(get_curve(curve), group), 1 << log_n
    known = exact.KnownBases(device, spec, "unrelated", n, 5)
    scalars = exact.scalars_of(spec.curve, "awkward", n, 5)
    scalars[n // 2 :] = exact.random_scalars(spec.curve, n - n // 2, 6)
    on_device, want = device.upload(scalars), known.expected(scalars)
    for bits in windows:
        got = points_to_ints(spec, msm(device, spec, known.points, on_device, window_bits=bits))[0]
        assert got == want, f"windows of {bits} bits"


def test_windows_on_cpu() -> None:
    check_windows(open_device("cpu"), "toy", "g1", 8, range(2, 12))


@ON_GPU
@pytest.mark.parametrize(
    ("curve", "group"), [(c, g) for c in ("bls12_381", "bn254", "toy") for g in ("g1", "g2")]
)
def test_every_window(curve: str, group: str) -> None:
    check_windows(open_device("cuda"), curve, group, 14, range(2, 25))


def check_relations(device: Device, curve: str, group: str, n: int) -> None:
    """Thirds add up; an order, zeros and infinities change nothing; [-s](-P) is [s]P by the negated half."""
    spec = getattr(get_curve(curve), group)
    oracle: Any = getattr(params.get_params(curve), group)
    known = exact.KnownBases(device, spec, "unrelated", n, 8)
    scalars = exact.scalars_of(spec.curve, "uniform", n, 8)
    points = device.download(known.points)

    def total(bases: Any, factors: Any) -> Any:
        return points_to_ints(
            spec, msm(device, spec, device.upload(bases.copy()), device.upload(factors.copy()))
        )[0]

    whole = total(points, scalars)
    assert whole == known.expected(scalars)
    cuts = [0, n // 3, 2 * n // 3, n]
    parts = [total(points[a:b], scalars[a:b]) for a, b in itertools.pairwise(cuts)]
    assert oracle_curve.total(oracle, parts) == whole
    order = np.random.default_rng(1).permutation(n)
    assert total(points[order], scalars[order]) == whole
    padded = np.concatenate([points, np.zeros_like(points[: 777 % n]), points[: 99 % n]])
    factors = np.concatenate([scalars, scalars[: 777 % n], np.zeros_like(scalars[: 99 % n])])
    assert total(padded, factors) == whole
    doubled = total(np.concatenate([points, points]), np.concatenate([scalars, scalars]))
    assert doubled == oracle_curve.double(oracle, whole)


def test_relations_on_cpu() -> None:
    check_relations(open_device("cpu"), "bn254", "g1", 300)


@ON_GPU
@pytest.mark.parametrize(("curve", "group"), [("bls12_381", "g1"), ("bn254", "g1"), ("bls12_381", "g2")])
def test_relations(curve: str, group: str) -> None:
    check_relations(open_device("cuda"), curve, group, (1 << 20) + 1)


def check_ntt(device: Device, curve_name: str, log_n: int) -> None:
    """Values at random points of the domain and of a coset, all four order pairs, round trips, the cpu's bytes."""
    curve = get_curve(curve_name)
    n, r, rng = 1 << log_n, curve.r, random.Random(log_n)
    domain, shift = Domain(curve, log_n), 7
    host = exact.random_scalars(curve, n, log_n)
    x = device.upload(host)
    for coset in (None, shift):
        values = ntt(device, domain, x, coset=coset)
        natural = device.download(values)
        for k in {n - 1, rng.randrange(n), *((0, 1, rng.randrange(n)) if log_n <= 20 else ())}:
            z = pow(domain.omega, k, r) * (coset or 1) % r
            assert limbs_to_ints(natural[k])[0] == exact.evaluate(host, z, r), (coset, k)
        reversed_ = ntt(device, domain, x, coset=coset, order_out="rev")
        back = ntt(device, domain, reversed_, coset=coset, inverse=True, order_in="rev")
        assert np.array_equal(device.download(back), host), coset
        again = ntt(device, domain, values, coset=coset, inverse=True, order_out="rev")
        forward = ntt(device, domain, again, coset=coset, order_in="rev", out=again)
        assert np.array_equal(device.download(forward), natural), coset
        if device.kind == "cuda":
            expected = ntt(device.host, domain, host, coset=coset, order_out="rev")
            assert np.array_equal(device.download(reversed_), expected), coset
        assert np.array_equal(device.download(x), host), "the input was changed"


@pytest.mark.parametrize(("curve", "log_n"), [("bls12_381", 13), ("bn254", 10), ("toy", 9)])
def test_ntt_on_cpu(curve: str, log_n: int) -> None:
    check_ntt(open_device("cpu"), curve, log_n)


@ON_GPU
@pytest.mark.parametrize(
    ("curve", "log_n"),
    [
        *((c, log_n) for c in ("bls12_381", "bn254") for log_n in (*range(1, 21, 3), 20, 21, 22, 24)),
        ("toy", 10),
    ],
)
def test_ntt(curve: str, log_n: int) -> None:
    check_ntt(open_device("cuda"), curve, log_n)


def test_the_host_side_sums_are_right() -> None:
    """Against Python's own integers, at sizes with several chunks, and with the largest words there are."""
    rng, m = np.random.default_rng(1), get_curve("bls12_381").r
    for n in (1, 4096, 1 << 17):
        a, b = (rng.integers(0, 2**64, (n, 4), np.uint64) for _ in range(2))
        a[0] = b[0] = 2**64 - 1
        ints = limbs_to_ints(a), limbs_to_ints(b)
        assert exact.dot(a, b, m) == sum(x * y for x, y in zip(*ints, strict=True)) % m
        z, want = ints[1][n // 2] % m, 0
        for value in reversed(ints[0]):
            want = (want * z + value) % m
        assert exact.evaluate(a, z, m) == want
    most = np.full((exact._MOST_TERMS + 3, 1), 2**64 - 1, np.uint64)
    assert exact.dot(most, most, m) == len(most) * (2**64 - 1) ** 2 % m
