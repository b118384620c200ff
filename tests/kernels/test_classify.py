"""Classification of scalars into zeros, ones and others against plain Python, on every device and schedule.

Would catch: the integer 1 taken for the Montgomery one, an index lost or doubled at a chunk, block or warp
edge, lists out of order, counts of one chunk added to another, a mask that drops the wrong scalar.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from cuzk_oracles import edge_values

from cuzk.curves import Curve, get_curve
from cuzk.device import Device
from cuzk.errors import ShapeError
from cuzk.limbs import ints_to_limbs
from cuzk.ops.classify import classify, classify_parts
from tests.kernels.fr_support import SCHEDULES, curve_device_pairs, launch_sizes, open_device, pair_id, put

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)
BN254, TOY = get_curve("bn254"), get_curve("toy")


def check(device: Device, curve: Curve, values: Sequence[int], skip: Sequence[int] | None = None) -> None:
    """Both lists, in order, and the three counts."""
    mask = None if skip is None else device.upload(np.array(skip, np.uint8))
    found = classify(device, curve, put(device, curve, values), skip=mask)
    kept = [0 if skip is not None and skip[i] else v for i, v in enumerate(values)]
    ones = [i for i, v in enumerate(kept) if v == 1]
    others = [i for i, v in enumerate(kept) if v > 1]
    assert device.download(found.ones).tolist() == ones
    assert device.download(found.others).tolist() == others
    assert found.ones.dtype == found.others.dtype == np.uint32
    expected = (len(ones), len(others), len(values) - len(ones) - len(others))
    assert (found.num_ones, found.num_others, found.num_zeros) == expected


@everywhere
def test_distributions(curve: Curve, device_name: str) -> None:
    """Class K as whole vectors: all equal, 0/1 with 50, 90 and 99.9% zeros, small, uniform, edges."""
    for n in (100, 3000):
        for _, values in edge_values.scalar_vectors(curve.r, n, 4):
            check(open_device(device_name), curve, values)


@everywhere
def test_uniform_classes(curve: Curve, device_name: str) -> None:
    for value in (0, 1, 2, curve.r - 1):
        check(open_device(device_name), curve, [value] * 2500)


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("n", launch_sizes(9000))
def test_sizes(device_name: str, n: int, rng: random.Random) -> None:
    check(open_device(device_name), TOY, [rng.choice([0, 1, 2, 500]) for _ in range(n)])


@pytest.mark.parametrize("device_name", SCHEDULES)
def test_schedules(device_name: str, rng: random.Random) -> None:
    values = [rng.choice([0, 0, 1, 1, 7]) for _ in range(2600)]
    check(open_device(device_name), TOY, values)
    check(open_device(device_name), TOY, values, [rng.randrange(2) for _ in values])


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
@pytest.mark.parametrize("at", [0, 31, 32, 255, 256, 1023, 1024, 2499])
def test_one_of_a_kind(device_name: str, at: int) -> None:
    """A single one, and a single other, at the edges of warps, blocks and chunks."""
    for value in (1, 9):
        check(open_device(device_name), BN254, [value if i == at else 0 for i in range(2500)])


@everywhere
def test_one_means_the_field_element(curve: Curve, device_name: str) -> None:
    """The limbs of the integer 1 are R^-1 in Montgomery form: an other. The limbs of R mod r are one."""
    device = open_device(device_name)
    raw = device.upload(ints_to_limbs([1, curve.fr.mont_r, 0], curve.fr.limbs))
    found = classify(device, curve, raw)
    assert device.download(found.others).tolist() == [0]
    assert device.download(found.ones).tolist() == [1]


@pytest.mark.parametrize("device_name", ["cpu", "emu"])
def test_skip(device_name: str, rng: random.Random) -> None:
    values = [rng.choice([0, 1, 5]) for _ in range(2000)]
    for skip in ([0] * 2000, [1] * 2000, [255] * 2000, [rng.choice([0, 0, 128]) for _ in range(2000)]):
        check(open_device(device_name), TOY, values, skip)


@pytest.mark.parametrize("device_name", [*SCHEDULES, "cpu"])
def test_parts_of_a_vector(device_name: str, rng: random.Random) -> None:
    """Each part counts from its own start, whatever stands in the others; with one download for all."""
    device = open_device(device_name)
    values = [rng.choice([0, 1, 1, 6]) for _ in range(3000)]
    mask = [rng.choice([0, 0, 1]) for _ in values]
    scalars, skip = put(device, TOY, values), device.upload(np.array(mask, np.uint8))
    edges = [0, 1, 1, 900, 2924, 3000]
    parts = [(first, last, masked) for first, last in itertools.pairwise(edges) for masked in (False, True)]
    device.reset_counters()
    found = classify_parts(
        device,
        TOY,
        [(scalars[first:last], skip[first:last] if masked else None) for first, last, masked in parts],
    )
    downloads = device.counters()["bytes_down"]
    assert 0 < downloads <= 4 * sum(2 * (1 + (last - first) // 32) + 1 for first, last, _ in parts)
    for (first, last, masked), one in zip(parts, found, strict=True):
        kept = [0 if masked and mask[i] else values[i] for i in range(first, last)]
        assert device.download(one.ones).tolist() == [i for i, v in enumerate(kept) if v == 1]
        assert device.download(one.others).tolist() == [i for i, v in enumerate(kept) if v > 1]
        assert one.num_zeros == kept.count(0)
    assert classify_parts(device, TOY, []) == []


def test_bad_input_is_refused() -> None:
    device = open_device("cpu")
    x = put(device, BN254, [1, 2, 3])
    for skip in (np.zeros(2, np.uint8), np.zeros(3, bool), np.zeros((3, 1), np.uint8)):
        with pytest.raises(ShapeError):
            classify(device, BN254, x, skip=skip)
    with pytest.raises(ShapeError):
        classify(device, BN254, x.astype(np.int64))
