"""Digits, prefix sums and the counting sort, each alone, against the oracle's definitions.

Would catch: a dropped or doubled carry, a digit beyond 2^(c-1), a window cut at a limb border, a lost top
window, a counter that two lanes share, a prefix that misses a tile, an entry in a neighbour's bucket.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import edge_values
from cuzk_oracles import msm as oracle_msm

from cuzk.curves import Curve, get_curve
from cuzk.device import Array, Device
from cuzk.errors import KernelFault
from cuzk.limbs import fr_from_ints, ints_to_limbs
from cuzk.ops.scan import exclusive_scan, scan_shape
from tests.kernels.fr_support import SCHEDULES, open_device

SIGN = 1 << 31
EVERY_DEVICE = ("cpu", "emu")
CURVES = ("toy", "bn254", "bls12_381")
U32 = np.ndarray[Any, np.dtype[np.uint32]]


def launch_digits(
    device: Device, curve: Curve, limbs: Any, c: int, bits: int, first: int, count: int,
    indices: Array | int = 0, n: int | None = None, grid: int = 3,
) -> tuple[U32, U32]:  # fmt: skip
    """The digits of `count` windows, shape (count, n), and the counters one place up."""
    n = len(limbs) if n is None else n
    digits = device.alloc((count * n,), np.uint32)
    offsets = device.alloc(((count << (c - 1)) + 1,), np.uint32, zero=True)
    device.launch(
        f"msm_digits_{curve.name}_fr", grid=grid, block=64 if device.limits.gpu_like else 1,
        scalars=device.upload(limbs), indices=indices, digits=digits, offsets=offsets, n=n,
        num_scalars=len(limbs), scalar_bits=bits, window_bits=c, first_window=first, num_windows=count,
    )  # fmt: skip
    return device.download(digits).reshape(count, n), device.download(offsets)


def signed(word: int) -> int:
    return -(word - SIGN) if word >= SIGN else word


def check_digits(device: Device, curve: Curve, scalars: Sequence[int], c: int, bits: int) -> None:
    windows = oracle_msm.num_signed_windows(bits, c)
    got, counters = launch_digits(device, curve, fr_from_ints(curve, scalars), c, bits, 0, windows)
    wanted = [oracle_msm.signed_digits(k, c, windows) for k in scalars]
    for i, k in enumerate(scalars):
        digits = [signed(int(got[w][i])) for w in range(windows)]
        assert oracle_msm.are_signed_digits(digits, k, c)
        assert digits == wanted[i]
    assert not np.any(got == SIGN), "zero has no sign"
    counts = Counter((w << (c - 1)) + abs(d[w]) for d in wanted for w in range(windows) if d[w])
    places = np.flatnonzero(counters)
    assert {int(place): int(counters[place]) for place in places} == counts


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("curve_name", CURVES)
@pytest.mark.parametrize("c", range(2, 17))
def test_digits_of_full_scalars(curve_name: str, c: int, device_name: str) -> None:
    curve = get_curve(curve_name)
    table = [k for _, k in edge_values.scalars(curve.r, c)]
    if device_name == "emu":
        table = table[:: max(1, len(table) // 150)]
    check_digits(open_device(device_name), curve, table, c, curve.fr.bits)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("c", range(2, 25))
@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_digits_of_short_scalars(c: int, extra: int, device_name: str) -> None:
    # bits mod c in {c - 1, 0, 1}: the carry out of the last full window needs one of its own, or does not.
    curve, bits = get_curve("bn254"), (2 if c < 20 else 1) * c + extra
    table = [k for _, k in edge_values.scalars(curve.r, c, bits)]
    check_digits(open_device(device_name), curve, table, c, bits)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_every_toy_scalar(device_name: str) -> None:
    curve = get_curve("toy")
    for c in (2, 3, 5, 16) if device_name == "cpu" else (5,):
        step = 1 if device_name == "cpu" else 13
        windows = oracle_msm.num_signed_windows(16, c)
        got, _ = launch_digits(
            open_device(device_name), curve, fr_from_ints(curve, range(0, curve.r, step)), c, 16, 0, windows
        )
        values = np.where(got >= SIGN, -(got.astype(np.int64) - SIGN), got.astype(np.int64))
        assert np.abs(values).max() <= 1 << (c - 1)
        weights = np.array([1 << (c * w) for w in range(windows)], dtype=np.int64)
        assert np.array_equal(weights @ values, np.arange(0, curve.r, step))


def test_a_pass_continues_the_carry_of_the_windows_before_it() -> None:
    curve, device, c = get_curve("bls12_381"), open_device("emu"), 5
    scalars = [k for _, k in edge_values.scalars(curve.r, c)][::9]
    limbs = fr_from_ints(curve, scalars)
    whole, _ = launch_digits(device, curve, limbs, c, 255, 0, 52)
    parts = [launch_digits(device, curve, limbs, c, 255, first, 13)[0] for first in range(0, 52, 13)]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
@pytest.mark.parametrize("curve_name", CURVES)
def test_bad_scalars_fault(curve_name: str, device_name: str) -> None:
    device, curve = open_device(device_name), get_curve(curve_name)
    good = fr_from_ints(curve, [1, 2, 3])
    for _, bad in edge_values.rejected_scalars(curve.r, curve.fr.limbs):
        limbs = np.concatenate([good, ints_to_limbs([bad], curve.fr.limbs)])
        with pytest.raises(KernelFault) as fault:
            launch_digits(device, curve, limbs, 4, curve.fr.bits, 0, 2)
        assert (fault.value.code, fault.value.index) == (1, 3)
    for bits in (1, 7, 8, 13):
        launch_digits(device, curve, fr_from_ints(curve, [(1 << bits) - 1]), 3, bits, 0, 1)
        with pytest.raises(KernelFault) as fault:
            launch_digits(device, curve, fr_from_ints(curve, [0, 1 << bits]), 3, bits, 0, 1)
        assert (fault.value.code, fault.value.index) == (2, 1)
    indices = device.upload(np.array([2, 0, 3], np.uint32))
    with pytest.raises(KernelFault) as fault:
        launch_digits(device, curve, good, 4, curve.fr.bits, 0, 2, indices, n=3)
    assert (fault.value.code, fault.value.index) == (5, 2)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_scan_sizes(device_name: str) -> None:
    device, curve = open_device(device_name), get_curve("toy")
    block, tile = scan_shape(1, device.limits)
    rng = np.random.default_rng(7)
    for n in sorted(
        {n for _, n in edge_values.sizes(block, 16, 9000)} | {tile - 1, tile, tile + 1, 2 * tile + 1}
    ):
        counts = rng.integers(0, 1 << 18, n, dtype=np.uint32)
        data = device.upload(counts.copy())
        exclusive_scan(device, curve, data)
        assert np.array_equal(device.download(data), np.cumsum(counts, dtype=np.uint32) - counts), n


@pytest.mark.parametrize("device_name", ["cpu", *SCHEDULES])
def test_scan_over_several_levels(device_name: str) -> None:
    device, curve = open_device(device_name), get_curve("toy")
    tile = 4 if device_name == "cpu" else 256
    counts = np.random.default_rng(3).integers(
        0, 1 << 32, 5000 if device_name == "cpu" else 3000, dtype=np.uint32
    )
    data = device.upload(counts.copy())
    exclusive_scan(device, curve, data, tile=tile)
    assert np.array_equal(device.download(data), np.cumsum(counts, dtype=np.uint32) - counts)


def sort(
    device: Device, curve: Curve, scalars: Sequence[int], c: int, bits: int
) -> tuple[Any, Any, list[int]]:
    """Sorted entries, offsets, and the digits of one window after another."""
    windows = oracle_msm.num_signed_windows(bits, c)
    digits, counters = launch_digits(device, curve, fr_from_ints(curve, scalars), c, bits, 0, windows)
    offsets, entries = device.upload(counters), device.alloc((digits.size,), np.uint32)
    exclusive_scan(device, curve, offsets[1:])
    device.launch(
        f"msm_scatter_{curve.name}_fr", grid=2, block=64 if device.limits.gpu_like else 1,
        digits=device.upload(digits.reshape(-1)), indices=0, offsets=offsets, entries=entries,
        n=len(scalars), num_bases=len(scalars), window_bits=c, num_windows=windows,
    )  # fmt: skip
    return device.download(entries), device.download(offsets), [signed(int(d)) for d in digits.reshape(-1)]


@pytest.mark.parametrize("device_name", ["cpu", *SCHEDULES])
@pytest.mark.parametrize("c", [2, 5, 9])
def test_sort_groups_by_bucket(c: int, device_name: str) -> None:
    device, curve, n, bits = open_device(device_name), get_curve("bn254"), 150, 20
    for name, scalars in edge_values.scalar_vectors(curve.r, n, c, seed=c, scalar_bits=bits):
        entries, offsets, digits = sort(device, curve, scalars, c, bits)
        assert offsets[0] == 0, name
        for w in range(len(digits) // n):
            row = digits[w * n : (w + 1) * n]
            first = w << (c - 1)
            for bucket in range(1, (1 << (c - 1)) + 1):
                low, high = offsets[first + bucket - 1], offsets[first + bucket]
                found = sorted(entries[low:high].tolist())
                wanted = sorted(i | (SIGN if d < 0 else 0) for i, d in enumerate(row) if abs(d) == bucket)
                assert found == wanted, (name, w, bucket)


@pytest.mark.parametrize("device_name", EVERY_DEVICE)
def test_scatter_refuses_an_index_beyond_the_bases(device_name: str) -> None:
    device = open_device(device_name)
    offsets, entries = device.alloc((9,), np.uint32, zero=True), device.alloc((2,), np.uint32)
    digits = device.upload(np.ones(2, np.uint32))

    def scatter() -> None:
        device.launch(
            "msm_scatter_toy_fr", grid=1, block=device.limits.warp, digits=digits,
            indices=device.upload(np.array([4, 5], np.uint32)), offsets=offsets, entries=entries,
            n=2, num_bases=5, window_bits=4, num_windows=1,
        )  # fmt: skip
        device.synchronize()

    with pytest.raises(KernelFault) as fault:
        scatter()
    assert (fault.value.code, fault.value.index) == (5, 1)


def test_shared_keys_are_counted_once_each() -> None:
    # 90% of a warp on two keys, the rest apart: the rounds of shared atomics and the plain ones both run.
    rng, curve = random.Random(5), get_curve("bn254")
    scalars = [rng.choice((3, 3, 3, 7, 7, rng.randrange(1 << 12))) for _ in range(700)]
    for device_name in ("cpu", *SCHEDULES):
        check_digits(open_device(device_name), curve, scalars, 7, 12)
