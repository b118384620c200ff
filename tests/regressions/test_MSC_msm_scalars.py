"""Regressions of scalars in multi-scalar multiplication: reports MSC-01 to MSC-13, each checked as a kind of fault.

Would catch: a window width that loses the top bits or the last carry; a digit outside its buckets; a scalar that is not
reduced and silently taken; two equal points that meet in one addition; a digit that is dropped while sorting; an empty
launch; a plan that changes the sum.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle
from cuzk_oracles import msm as oracle_msm

from cuzk.curves import get_curve
from cuzk.errors import KernelFault, RangeError
from cuzk.limbs import fr_from_ints, ints_to_limbs, points_to_ints
from cuzk.ops import points as ops
from cuzk.ops.msm import msm
from cuzk.ops.plan_msm import num_signed_windows, plan_msm
from tests.kernels.fr_support import open_device
from tests.kernels.msm_support import ALL_GROUPS, Subject, bases, run_msm, subject

DEVICES = ("cpu", "emu")
every_group = pytest.mark.parametrize(("curve_name", "group_name"), ALL_GROUPS)
every_device = pytest.mark.parametrize("device_name", DEVICES)


def widths(device_name: str, curve_name: str, all_widths: tuple[int, ...]) -> tuple[int, ...]:
    """Window widths that a device tries: the emulator takes the narrow ones only, where buckets are few."""
    return (
        all_widths if device_name == "cpu" or curve_name == "toy" else tuple(c for c in all_widths if c < 10)
    )


@every_device
@every_group
def test_msc_01_widths_that_divide_the_bits_of_a_scalar(
    curve_name: str, group_name: str, device_name: str
) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    bits = s.curve.fr.bits  # 255, 254 and 16
    dividing = tuple(c for c in range(2, 18) if bits % c == 0 or (bits + 1) % c == 0)
    scalars = [s.r - 1, s.r - 2, (1 << (bits - 1)) + 1]
    logs, limbs = bases(s, 3, seed=1)
    wanted = s.expected(logs, scalars)
    for c in widths(device_name, curve_name, dividing):
        assert run_msm(device, s, limbs, scalars, window_bits=c) == wanted, c
    if bits > 128:  # promised half-width scalars: the top bit of the promise is set
        halves = [(1 << 128) - 1, 1 << 127, (1 << 128) - 2]
        wanted = s.expected(logs, halves)
        for c in widths(device_name, curve_name, (2, 4, 8, 16)):
            assert run_msm(device, s, limbs, halves, window_bits=c, scalar_bits=128) == wanted, c


@every_device
@pytest.mark.parametrize("curve_name", ["toy", "bn254", "bls12_381"])
def test_msc_03_digits_rebuild_the_scalar(curve_name: str, device_name: str) -> None:
    curve, device = get_curve(curve_name), open_device(device_name)
    bits, r = curve.fr.bits, curve.r
    values = sorted(
        {0, 1, 0xFF, r - 1, r - 2, r // 2, *((1 << k) - 1 for k in range(1, bits)), 1 << (bits - 1)}
    )
    values = [value for value in values if value < r]
    scalars = device.upload(fr_from_ints(curve, values))
    for c in range(2, 25 if device_name == "cpu" else 17):
        windows = num_signed_windows(bits, c)
        digits = device.alloc((windows * len(values),), np.uint32)
        offsets = device.alloc((windows * (1 << (c - 1)) + 1,), np.uint32, zero=True)
        shape = {"grid": 2, "block": min(32, device.limits.max_threads)}
        device.launch(
            f"msm_digits_{curve_name}_fr", **shape, scalars=scalars, indices=0, digits=digits, offsets=offsets,
            n=len(values), num_scalars=len(values), scalar_bits=bits, window_bits=c, first_window=0,
            num_windows=windows,
        )  # fmt: skip
        table = device.download(digits).reshape(windows, len(values)).T.tolist()
        for value, row in zip(values, table, strict=True):
            found = [_signed(word) for word in row]
            assert oracle_msm.recompose(found, c) == value, c
            assert all(abs(digit) <= 1 << (c - 1) for digit in found), (value, c)


def _signed(word: int) -> int:
    """A digit as the kernel stores it: its size, and the sign in the top bit."""
    size = word & 0x7FFFFFFF
    return -size if word >> 31 else size


@every_device
@every_group
def test_msc_04_a_scalar_that_is_not_reduced_is_refused(
    curve_name: str, group_name: str, device_name: str
) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    limbs, top = s.curve.fr.limbs, 1 << 64 * s.curve.fr.limbs
    base = device.upload(s.limbs([s.oracle.generator] * 3))
    for value in (s.r, s.r + 1, 2 * s.r - 1, 5 * s.r, top - 1):
        if value >= top:
            continue
        scalars = device.upload(ints_to_limbs([0, value, 1], limbs))
        with pytest.raises(KernelFault) as caught:
            msm(device, s.spec, base, scalars)
        assert caught.value.index == 1
    for value in (s.r, s.r + 1, 2 * s.r - 1, 5 * s.r):  # the named conversion takes its values mod r
        found = msm(device, s.spec, base[:1], device.upload(fr_from_ints(s.curve, [value])))
        assert s.point(found) == oracle.mul(s.oracle, value % s.r, s.oracle.generator)


@every_device
@pytest.mark.parametrize("curve_name", ["toy", "bn254", "bls12_381"])
def test_msc_05_the_same_policy_on_g2_and_for_single_multiples(curve_name: str, device_name: str) -> None:
    s, device = subject(curve_name, "g2"), open_device(device_name)
    base = device.upload(s.limbs([s.oracle.generator]))
    for value in (s.r, 2 * s.r, s.r + 5):
        if value >= 1 << 64 * s.curve.fr.limbs:
            continue
        raw = device.upload(ints_to_limbs([value], s.curve.fr.limbs))
        with pytest.raises(KernelFault):
            msm(device, s.spec, base, raw)
        with pytest.raises(KernelFault):
            ops.scalar_mul(device, s.spec, base, raw)
        found = msm(device, s.spec, base, device.upload(fr_from_ints(s.curve, [value])))
        assert s.point(found) == oracle.mul(s.oracle, value % s.r, s.oracle.generator)


def cube_root_of_one(r: int) -> int:
    """A primitive cube root of one mod r, the eigenvalue of the curve's fast endomorphism."""
    return next(root for g in range(2, 50) if (root := pow(g, (r - 1) // 3, r)) != 1)


@pytest.mark.parametrize("group_name", ["g1", "g2"])
@pytest.mark.parametrize("curve_name", ["bn254", "bls12_381"])
def test_msc_06_scalars_at_the_edges_of_an_endomorphism(curve_name: str, group_name: str) -> None:
    s = subject(curve_name, group_name)
    r, eigenvalue = s.r, cube_root_of_one(s.r)
    others = (eigenvalue, eigenvalue * eigenvalue % r)
    edges = {v for x in others for v in (x, x - 1, x + 1, r - x)}
    edges |= {v for k in (1, 63, 64, 65, 127, 128, 129, 253) for v in (1 << k, (1 << k) - 1, (1 << k) + 1)}
    scalars = sorted(value for value in edges if value < r)
    wanted = [oracle.mul(s.oracle, k, s.oracle.generator) for k in scalars]
    for name in DEVICES:
        device = open_device(name)
        some = slice(None) if name == "cpu" else slice(None, None, 9)
        base = device.upload(s.limbs([s.oracle.generator]))
        found = ops.scalar_mul(device, s.spec, base, device.upload(s.scalars(scalars[some])))
        assert points_to_ints(s.spec, device.download(found)) == wanted[some]
        for k, point in list(zip(scalars, wanted, strict=True))[:: 6 if name == "cpu" else 20]:
            assert run_msm(device, s, s.limbs([s.oracle.generator]), [k]) == point


@every_device
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_msc_07_few_terms_with_small_distinct_scalars(group_name: str, device_name: str) -> None:
    for curve_name in ("toy", "bn254"):
        s, device = subject(curve_name, group_name), open_device(device_name)
        for bits in range(1, 17):
            for n in range(1, 5) if curve_name == "toy" else (1 + bits % 4,):
                scalars = [(1 << bits) - 1 - i for i in range(n) if (1 << bits) - 1 - i > 0]
                scalars = [value for value in scalars if value < s.r]
                logs, limbs = bases(s, len(scalars), seed=bits)
                promised = min(bits, s.curve.fr.bits)
                found = run_msm(device, s, limbs, scalars, scalar_bits=promised)
                assert found == s.expected(logs, scalars), (bits, n)


def test_msc_07_no_plan_has_an_empty_launch() -> None:
    for curve_name, group_name in ALL_GROUPS:
        s = subject(curve_name, group_name)
        for name in DEVICES:
            limits = open_device(name).limits
            for n in range(1, 5):
                for bits in range(1, 17):
                    plan = plan_msm(n, s.spec, limits, scalar_bits=bits)
                    counts = [plan.wide_grid, plan.num_windows, plan.bit_block]
                    counts += [plan.buckets.num_segments, plan.buckets.pair_grid, plan.lines.num_segments]
                    assert min(counts) >= 1, (plan, name)


@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_msc_09_sizes_around_powers_of_two(group_name: str) -> None:
    s = subject("toy", group_name)
    rng = random.Random(9)
    for name, most in (("cpu", 14), ("emu", 8)):
        device = open_device(name)
        for k in range(most + 1):
            for n in {(1 << k) - 1, 1 << k, (1 << k) + 1}:
                logs, limbs = bases(s, n, seed=k, infinity_every=17)
                scalars = [rng.randrange(s.r) for _ in range(n)]
                wanted = s.expected(logs, scalars)
                assert run_msm(device, s, limbs, scalars) == wanted, n
                assert run_msm(device, s, limbs, scalars, window_bits=5) == wanted, n


@every_device
@every_group
def test_msc_12_equal_points_in_one_bucket(curve_name: str, group_name: str, device_name: str) -> None:
    s, device = subject(curve_name, group_name), open_device(device_name)
    p, q = (oracle.mul(s.oracle, k, s.oracle.generator) for k in (5, 9))
    minus = oracle.neg(s.oracle, p)
    for points in ([p, p, minus, q], [p, minus, p, minus], [p] * 4, [q, p, p, q], [None, p, p, None]):
        for filler in (0, 70):  # with the bucket's other entries, and without
            terms: list[Any] = points + [q, p] * (filler // 2)
            total = oracle.total(s.oracle, terms)
            for k in (1, 6, s.r - 1):
                wanted = oracle.mul(s.oracle, k, total)
                assert run_msm(device, s, s.limbs(terms), [k] * len(terms), window_bits=4) == wanted


def skewed(s: Subject, c: int, n: int) -> list[int]:
    """Digits mostly zero, one block at the top bucket, ten at bucket one, in the lowest two windows."""
    top = 1 << (c - 1)
    lowest = [0] * n
    lowest[n // 3 : n // 3 + 40] = [top] * 40
    lowest[-10:] = [1] * 10
    return [(value | value << c) % s.r for value in lowest]


@pytest.mark.parametrize("c", [16, 17])
@pytest.mark.parametrize("curve_name", ["toy", "bn254", "bls12_381"])
def test_msc_13_nothing_is_dropped_from_skewed_digits(curve_name: str, c: int) -> None:
    s, device = subject(curve_name, "g1"), open_device("cpu")
    n = 3_000
    logs, limbs = bases(s, n, seed=13)
    scalars = skewed(s, c, n)
    wanted = s.expected(logs, scalars)
    assert run_msm(device, s, limbs, scalars, window_bits=c) == wanted
    halves = [run_msm(device, s, limbs[i::2], scalars[i::2], window_bits=c) for i in (0, 1)]
    assert oracle.total(s.oracle, halves) == wanted
    # The same with so little memory that windows are summed one pass after another.
    little = plan_msm(n, s.spec, device.limits, window_bits=c, memory_bytes=32 << 20)
    assert run_msm(device, s, limbs, scalars, plan=little) == wanted


def test_msc_13_on_the_emulator() -> None:
    s = subject("toy", "g1")
    logs, limbs = bases(s, 300, seed=13)
    scalars = skewed(s, 16, 300)
    found = run_msm(open_device("emu"), s, limbs, scalars, window_bits=16)
    assert found == s.expected(logs, scalars)


def test_msc_13_a_width_without_room_is_refused() -> None:
    s, device = subject("bn254", "g1"), open_device("cpu")
    for c in (-1, 1, 25, 256):
        with pytest.raises(RangeError):
            plan_msm(10, s.spec, device.limits, window_bits=c)
