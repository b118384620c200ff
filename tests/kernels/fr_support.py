"""What the tests of the scalar-field kernels share: devices by name, conversions, edge values."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import Any

from cuzk_oracles import edge_values

from cuzk.curves import Curve, get_curve
from cuzk.device import Array, Device, get_device
from cuzk.limbs import fr_from_ints, fr_to_ints, limbs_to_ints

CURVE_NAMES = ("bls12_381", "bn254", "toy")
DEVICE_NAMES = ("cpu", "emu")

#: Orders in which an emulated launch runs its threads and blocks, each blind to other faults.
SCHEDULES = (
    "emu:ascending:0",
    "emu:descending:0",
    "emu:last_block_first:0",
    "emu:random_thread:1",
    "emu:random_thread:2",
    "emu:random_thread:3",
    "emu:random_warp:4",
    "emu:random_warp:5",
)


@functools.cache
def open_device(name: str) -> Device:
    """A device by name; "emu:SCHEDULE:SEED" is an emulator with three interleaving blocks."""
    kind, _, rest = name.partition(":")
    if not rest:
        return get_device(kind)
    schedule, seed = rest.split(":")
    return get_device(kind, schedule=schedule, seed=int(seed), resident=3)


def put(device: Device, curve: Curve, values: Sequence[int]) -> Array:
    """Upload scalars, converted to Montgomery form; a copy that the test owns."""
    return device.upload(fr_from_ints(curve, values).copy())


def get(device: Device, curve: Curve, array: Array) -> list[int]:
    """Download scalars and check that every element is fully reduced."""
    host: Any = device.download(array)
    assert all(value < curve.r for value in limbs_to_ints(host)), "a result is not reduced"
    return fr_to_ints(curve, host)


def edge_scalars(curve: Curve) -> list[int]:
    """Class F for the curve's Fr, without repetitions."""
    return list(dict.fromkeys(value for _, value in edge_values.field_values(curve.r, curve.fr.limbs)))


def mixed_scalars(curve: Curve, n: int, rng: random.Random) -> list[int]:
    """N scalars, half of them edge values, the rest uniform."""
    edges = edge_scalars(curve)
    return [rng.choice(edges) if rng.random() < 0.5 else rng.randrange(curve.r) for _ in range(n)]


def launch_sizes(max_size: int) -> list[int]:
    """Class S for blocks of 256 threads on a grid of 16 (what plans give on emu)."""
    return sorted({n for _, n in edge_values.sizes(256, 16, max_size)})


def curve_device_pairs() -> list[tuple[Curve, str]]:
    """Every curve on every host device."""
    return [(get_curve(curve), device) for curve in CURVE_NAMES for device in DEVICE_NAMES]


def pair_id(value: Any) -> str:
    """A readable test id for a curve, a device name or anything else."""
    return value.name if isinstance(value, Curve) else str(value)
