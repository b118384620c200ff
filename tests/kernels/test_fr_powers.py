"""Geometric sequences, scaling by them, bit reversal and batch inversion against plain ints.

Would catch: tables split at the wrong bit, an outer table that forgets its factor, a reversed table read in
natural order, a tile of the bit reversal that lands on its twin's place, a zero that spoils its neighbours'
inverses.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from cuzk_oracles import fields
from cuzk_oracles import ntt as oracle

from cuzk.curves import Curve, get_curve
from cuzk.errors import ShapeError
from cuzk.ops import fr_vec
from cuzk.ops.power_tables import power_tables
from tests.kernels.fr_support import (
    SCHEDULES,
    curve_device_pairs,
    get,
    mixed_scalars,
    open_device,
    pair_id,
    put,
)

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
BN254 = get_curve("bn254")


@everywhere
@pytest.mark.parametrize("n", [0, 1, 2, 3, 255, 257, 5000])
def test_powers(curve: Curve, device_name: str, n: int) -> None:
    device = open_device(device_name)
    for base, first in ((0, 1), (1, 5), (curve.r - 1, 1), (3, curve.r - 2)):
        expected = oracle.powers(base, n, curve.r, first)
        assert get(device, curve, fr_vec.powers(device, curve, base, n, first=first)) == expected


@pytest.mark.parametrize("log_n", [0, 1, 2, 5, 8, 12])  # of 12, long tables are made on the device
def test_power_tables_at_every_split(log_n: int, rng: random.Random) -> None:
    """outer[i >> bits] * inner[i mod 2^bits] is the power, for each order and each place to split."""
    device, r = open_device("cpu"), BN254.r
    base, first = rng.randrange(r), rng.randrange(r)
    natural = oracle.powers(base, 1 << log_n, r, first)
    for order, expected in (("nat", natural), ("rev", oracle.bit_reverse(natural))):
        for bits in range(log_n + 2):
            tables = power_tables(device, BN254, base, log_n, first=first, order=order, bits=bits)  # type: ignore[arg-type]
            outer, inner = (get(device, BN254, t) for t in (tables.outer, tables.inner))
            assert len(inner) == 1 << tables.bits
            assert len(outer) << tables.bits == 1 << log_n
            mask = (1 << tables.bits) - 1
            assert [outer[i >> tables.bits] * inner[i & mask] % r for i in range(1 << log_n)] == expected


@everywhere
@pytest.mark.parametrize("log_n", [0, 1, 3, 8])
def test_scale_powers(curve: Curve, device_name: str, log_n: int, rng: random.Random) -> None:
    device, r, n = open_device(device_name), curve.r, 1 << log_n
    base, first = rng.randrange(1, r), rng.randrange(1, r)
    batch = [mixed_scalars(curve, n, rng) for _ in range(3)]
    factors = oracle.powers(base, n, r, first)
    x = put(device, curve, [v for vector in batch for v in vector]).reshape(3, n, curve.fr.limbs)
    for order, by_place in (("nat", factors), ("rev", oracle.bit_reverse(factors))):
        result = fr_vec.fr_scale_powers(device, curve, x, base, first=first, order=order)  # type: ignore[arg-type]
        assert result.shape == x.shape
        expected = [v * f % r for vector in batch for v, f in zip(vector, by_place, strict=True)]
        assert get(device, curve, result.reshape(-1, curve.fr.limbs)) == expected


@everywhere
@pytest.mark.parametrize("log_n", range(13))
def test_bit_reverse(curve: Curve, device_name: str, log_n: int) -> None:
    """A permutation, so labels do for values; out of place, in place and in a batch."""
    device, n = open_device(device_name), 1 << log_n
    labels = np.arange(3 * n * curve.fr.limbs, dtype=np.uint64).reshape(3, n, curve.fr.limbs)
    order = oracle.bit_reverse(list(range(n)))
    x = device.upload(labels.copy())
    assert np.array_equal(device.download(fr_vec.bit_reverse(device, curve, x)), labels[:, order])
    assert np.array_equal(device.download(x), labels)
    assert fr_vec.bit_reverse(device, curve, x, out=x) is x
    assert np.array_equal(device.download(x), labels[:, order])


@pytest.mark.parametrize("device_name", SCHEDULES)
@pytest.mark.parametrize("log_n", [4, 7, 9, 13])
def test_bit_reverse_in_place_under_schedules(device_name: str, log_n: int) -> None:
    device, n = open_device(device_name), 1 << log_n
    labels = np.arange(4 * n, dtype=np.uint64).reshape(n, 4)
    x = device.upload(labels)
    fr_vec.bit_reverse(device, BN254, x, out=x)
    assert np.array_equal(device.download(x), labels[oracle.bit_reverse(list(range(n)))])


@everywhere
@pytest.mark.parametrize("n", [0, 1, 2, 3, 33, 257, 1000])
def test_batch_inverse(curve: Curve, device_name: str, n: int, rng: random.Random) -> None:
    device, r = open_device(device_name), curve.r
    values = mixed_scalars(curve, n, rng)
    for i in range(0, n, 5):
        values[i] = 0
    expected = [pow(v, -1, r) if v else 0 for v in values]
    x = put(device, curve, values)
    assert get(device, curve, fr_vec.batch_inverse(device, curve, x)) == expected
    out = device.alloc(x.shape, np.uint64)
    assert fr_vec.batch_inverse(device, curve, x, out=out) is out
    assert get(device, curve, out) == expected
    if n:
        with pytest.raises(ShapeError, match="overlaps"):
            fr_vec.batch_inverse(device, curve, x, out=x)


@pytest.mark.parametrize("at", range(70))
def test_batch_inverse_with_one_zero(at: int) -> None:
    """A zero gives zero and leaves every other inverse right, wherever it stands."""
    device = open_device("emu")
    values = [(i * i + 2) % BN254.r for i in range(70)]
    expected = fields.batch_inv(values, BN254.r)
    values[at] = expected[at] = 0
    assert get(device, BN254, fr_vec.batch_inverse(device, BN254, put(device, BN254, values))) == expected
