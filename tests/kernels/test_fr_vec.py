"""Elementwise kernels of fr_vec.cuh against plain ints: values, sizes, aliasing, refusals.

Would catch: a wrong operand order or constant, an element skipped or done twice at a block or grid edge, an
in-place launch that reads what it has written, an unreduced input that passes, a mismatch that is not the
first.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import edge_values

from cuzk.curves import Curve, get_curve
from cuzk.device import Array
from cuzk.errors import KernelFault, RangeError, ShapeError
from cuzk.limbs import ints_to_limbs, limbs_to_ints
from cuzk.ops import fr_vec
from cuzk.ops.fr_common import check_overlap
from tests.kernels.fr_support import (
    SCHEDULES,
    curve_device_pairs,
    edge_scalars,
    get,
    launch_sizes,
    mixed_scalars,
    open_device,
    pair_id,
    put,
)

BINARY: dict[str, tuple[Callable[..., Array], Callable[[int, int], int]]] = {
    "mul": (fr_vec.fr_mul, lambda x, y: x * y),
    "add": (fr_vec.fr_add, lambda x, y: x + y),
    "sub": (fr_vec.fr_sub, lambda x, y: x - y),
}
everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
BN254 = get_curve("bn254")


def value_pairs(curve: Curve) -> tuple[list[int], list[int]]:
    """Pairs that meet every edge value on both sides, and the pairs whose sums lie near the modulus."""
    edges = edge_scalars(curve)
    shifted = [edges[(7 * i + 3) % len(edges)] for i in range(len(edges))]
    special = [pair for _, pair in edge_values.field_pairs(curve.r, curve.fr.limbs)]
    pairs = [*zip(edges, shifted, strict=True), *zip(shifted, edges, strict=True), *special]
    pairs += [(x, x) for x in edges]
    return [x for x, _ in pairs], [y for _, y in pairs]


@everywhere
@pytest.mark.parametrize("op", BINARY)
def test_binary_values(curve: Curve, device_name: str, op: str) -> None:
    device = open_device(device_name)
    kernel, reference = BINARY[op]
    a, b = value_pairs(curve)
    result = kernel(device, curve, put(device, curve, a), put(device, curve, b))
    assert get(device, curve, result) == [reference(x, y) % curve.r for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("n", launch_sizes(9000))
def test_sizes(device_name: str, n: int, rng: random.Random) -> None:
    """Every element exactly once, also where the grid strides (over 4096 on emu), and nothing beyond n."""
    device = open_device(device_name)
    values = [rng.randrange(BN254.r) for _ in range(n)]
    buffer = device.alloc((n + 1, 4), np.uint64, zero=True)
    fr_vec.fr_add(device, BN254, put(device, BN254, values), put(device, BN254, values), out=buffer[:n])
    assert get(device, BN254, buffer) == [2 * x % BN254.r for x in values] + [0]


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("n", [1, 257])
def test_aliasing(device_name: str, op: str, n: int, rng: random.Random) -> None:
    """Exact overlap is allowed and right; overlap in part is refused before anything is written."""
    device = open_device(device_name)
    kernel, reference = BINARY[op]
    values = mixed_scalars(BN254, 3 * n + 1, rng)
    for name, at in edge_values.aliasing(n):
        buffer = put(device, BN254, values)
        a, b, out = (buffer[start : start + n] for start in (at.a, at.b, at.out))
        # A shift by one is apart from its operand where n is 1: then there is nothing to refuse.
        if "overlap" in name and n > 1:
            with pytest.raises(ShapeError, match="overlaps"):
                kernel(device, BN254, a, b, out=out)
            assert get(device, BN254, buffer) == values
        else:
            expected = values.copy()
            for i in range(n):
                expected[at.out + i] = reference(values[at.a + i], values[at.b + i]) % BN254.r
            assert kernel(device, BN254, a, b, out=out) is out
            assert get(device, BN254, buffer) == expected, name


@everywhere
def test_mul_sub_and_scale(curve: Curve, device_name: str, rng: random.Random) -> None:
    device = open_device(device_name)
    a, b = value_pairs(curve)
    c = mixed_scalars(curve, len(a), rng)
    arrays = [put(device, curve, v) for v in (a, b, c)]
    triples = list(zip(a, b, c, strict=True))
    for factor in (None, 0, 1, 2, curve.r - 1, rng.randrange(curve.r)):
        k = 1 if factor is None else factor
        result = fr_vec.fr_mul_sub(device, curve, *arrays, factor=factor)
        assert get(device, curve, result) == [(x * y - z) * k % curve.r for x, y, z in triples]
        scaled = fr_vec.fr_scale(device, curve, arrays[0], k)
        assert get(device, curve, scaled) == [x * k % curve.r for x in a]
    in_place = fr_vec.fr_mul_sub(device, curve, *arrays, factor=3, out=arrays[2])
    assert get(device, curve, in_place) == [(x * y - z) * 3 % curve.r for x, y, z in triples]


@everywhere
def test_forms(curve: Curve, device_name: str) -> None:
    """Standard form in, Montgomery form out, and back: raw limbs compared."""
    device = open_device(device_name)
    values = edge_scalars(curve)
    raw = device.upload(ints_to_limbs(values, curve.fr.limbs))
    mont = fr_vec.to_mont(device, curve, raw)
    assert limbs_to_ints(device.download(mont)) == [curve.fr.to_mont(v) for v in values]
    assert limbs_to_ints(device.download(fr_vec.from_mont(device, curve, mont))) == values
    assert limbs_to_ints(device.download(fr_vec.from_mont(device, curve, mont, out=mont))) == values


@everywhere
@pytest.mark.parametrize("convert", [fr_vec.to_mont, fr_vec.from_mont])
@pytest.mark.parametrize("at", [0, 500, 999])
def test_unreduced_is_refused(curve: Curve, device_name: str, convert: Any, at: int) -> None:
    device = open_device(device_name)
    for _, bad in edge_values.rejected_scalars(curve.r, curve.fr.limbs):
        values = [curve.r - 1] * 1000
        values[at] = bad
        raw = device.upload(ints_to_limbs(values, curve.fr.limbs))
        with pytest.raises(KernelFault, match="not reduced") as caught:
            device.download(convert(device, curve, raw))
        assert (caught.value.code, caught.value.index) == (1, at)


@pytest.mark.parametrize("device_name", ["cpu", *SCHEDULES])
@pytest.mark.parametrize("n", [1, 2, 300, 5000])
def test_first_mismatch(device_name: str, n: int, rng: random.Random) -> None:
    """The least index wins, wherever the others are and in whatever order threads report them."""
    device = open_device(device_name)
    a, b = ([rng.randrange(BN254.r) for _ in range(n)] for _ in range(2))
    c = [u * v % BN254.r for u, v in zip(a, b, strict=True)]
    x, y = put(device, BN254, a), put(device, BN254, b)
    assert fr_vec.first_mismatch(device, BN254, x, y, put(device, BN254, c)) is None
    # One thread may meet several: neighbours on cpu, elements a grid (16 blocks of 256) apart on emu.
    far = {n - 1, (n - 1) % 4096}
    for wrong in ({0}, {n - 1}, far, {n // 2, n - 1}, {max(n - 2, 0), n - 1}, {n // 3, n // 2, n - 1}):
        bad = [(v + 1) % BN254.r if i in wrong else v for i, v in enumerate(c)]
        assert fr_vec.first_mismatch(device, BN254, x, y, put(device, BN254, bad)) == min(wrong)


@everywhere
@pytest.mark.parametrize("n", [0, 1, 5, 300, 5000])
def test_gather(curve: Curve, device_name: str, n: int, rng: random.Random) -> None:
    """Elements by place, in any order, repeated or left out; a place beyond the end is a fault."""
    device = open_device(device_name)
    values = mixed_scalars(curve, 700, rng)
    x = put(device, curve, values)
    places = [rng.choice([0, 699, rng.randrange(700)]) for _ in range(n)]
    got = fr_vec.gather(device, curve, x, device.upload(np.array(places, np.uint32)))
    assert get(device, curve, got) == [values[place] for place in places]
    if n:
        places[n // 2] = 700
        with pytest.raises(KernelFault, match="outside its array") as fault:
            device.download(fr_vec.gather(device, curve, x, device.upload(np.array(places, np.uint32))))
        assert fault.value.index == n // 2
    for wrong in (np.zeros(2, np.int32), np.zeros((2, 1), np.uint32)):
        with pytest.raises(ShapeError, match="indices"):
            fr_vec.gather(device, curve, x, wrong)


def test_nothing_to_compare() -> None:
    device = open_device("emu")
    empty = device.alloc((0, 4), np.uint64)
    assert fr_vec.first_mismatch(device, BN254, empty, empty, empty) is None


def test_shapes_are_checked() -> None:
    device = open_device("cpu")
    x, longer = (device.alloc((n, 4), np.uint64, zero=True) for n in (3, 4))
    for bad in (longer, np.zeros((3, 4), np.int64), np.zeros((3, 5), np.uint64), np.zeros(3, np.uint64)):
        with pytest.raises(ShapeError):
            fr_vec.fr_mul(device, BN254, x, bad)
        with pytest.raises(ShapeError):
            fr_vec.fr_mul_sub(device, BN254, x, x, bad)
        with pytest.raises(ShapeError):
            fr_vec.fr_mul(device, BN254, x, x, out=bad)
        for place in range(1, 3):
            with pytest.raises(ShapeError):
                fr_vec.first_mismatch(device, BN254, *(bad if i == place else x for i in range(3)))
        with pytest.raises(ShapeError):
            fr_vec.fr_mul_sub(device, BN254, x, bad, x)
    with pytest.raises(ShapeError, match="not contiguous"):
        fr_vec.fr_mul(device, BN254, x, np.zeros((6, 4), np.uint64)[::2])
    with pytest.raises(ShapeError, match="power of two"):
        fr_vec.bit_reverse(device, BN254, x)
    with pytest.raises(RangeError):
        fr_vec.powers(device, BN254, 5, -1)


def test_the_remedy_against_overlap_says_what_is_allowed() -> None:
    x = np.zeros((4, 1), np.uint64)
    with pytest.raises(ShapeError, match=r"overlaps x.*separate array, or the same one"):
        check_overlap("x", x[1:], x)
    with pytest.raises(ShapeError, match=r"overlaps x.*separate array$"):
        check_overlap("x", x, x, exact_allowed=False)
    check_overlap("x", x, x)
    for out, other in ((x[2:], x[:2]), (x[:2], x[2:])):
        check_overlap("x", out, other, exact_allowed=False)
