"""Launches: their arguments are checked by name and kind, and checking costs next to nothing.

Would catch: an argument that lands in another's place, a name that is misspelt and passes, a launch that the host
takes ten times as long to make as the GPU to run.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import InternalError
from cuzk.limbs import fr_from_ints, fr_to_ints
from tests.devices.support import open_fake

CURVE = get_curve("bn254")
KERNEL = "fr_mul_bn254_fr"
#: Microseconds of the host per launch of four arguments: about 4 are measured, and 50 to 100 were taken once.
LIMIT_US = 25.0


@pytest.fixture(params=["cpu", "emu", "cuda"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One of each kind; the cuda device on fake CUDA."""
    return open_fake(monkeypatch)[0] if request.param == "cuda" else get_device(request.param)


def arguments(device: Any) -> dict[str, Any]:
    """Those of a multiplication of four elements."""
    x = device.upload(fr_from_ints(CURVE, [2, 3, 5, 7]))
    return {"a": x, "b": x, "out": device.alloc((4, CURVE.fr.limbs)), "n": 4}


def block(device: Any) -> int:
    return 1 if device.kind == "cpu" else 32


def test_arguments_arrive_in_their_places(device: Any) -> None:
    """Whatever order they are given in; integers of NumPy count as integers, and views start where they start."""
    args = arguments(device)
    out, x = args["out"], args["a"]
    device.launch(KERNEL, grid=1, block=block(device), n=np.int64(3), out=out, b=x[1:], a=x[:3])
    assert fr_to_ints(CURVE, device.download(out[:3])) == [6, 15, 35]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"n": None}, r"missing arguments \['n'\], unknown arguments \[\]"),
        ({"m": 4}, r"missing arguments \[\], unknown arguments \['m'\]"),
        ({"n": None, "N": 4, "a": None}, r"missing arguments \['a', 'n'\], unknown arguments \['N'\]"),
        ({"a": 4096}, "a is a pointer, not the integer 4096"),
        ({"n": "array"}, "n is an integer, not an array"),
        ({"a": "host"}, "is not a contiguous array of this device"),
        ({"a": "text"}, "is not a contiguous array of this device"),
    ],
)
def test_wrong_arguments(device: Any, change: dict[str, Any], expected: str) -> None:
    values = {"array": device.alloc((4,)), "host": np.ones((8, 4), np.uint64)[::2], "text": "x" * 32}
    args = arguments(device)
    for name, value in change.items():
        if value is None:
            del args[name]
        else:
            args[name] = values.get(value, value) if isinstance(value, str) else value
    with pytest.raises(InternalError, match=expected):
        device.launch(KERNEL, grid=1, block=block(device), **args)


def test_wrong_shapes(device: Any) -> None:
    args = arguments(device)
    for grid, threads in ((-1, 1), (2**31, 1), (1, 0), (1, 1025)):
        with pytest.raises(InternalError, match="cannot launch"):
            device.launch(KERNEL, grid=grid, block=threads, **args)
    with pytest.raises(InternalError, match="bytes of shared memory asked"):
        device.launch(KERNEL, grid=1, block=block(device), shared_bytes=1 << 30, **args)


def test_null_pointers_negative_numbers_and_empty_launches(device: Any) -> None:
    args = arguments(device)
    before = device.counters()["launches"]
    device.launch(KERNEL, grid=0, block=1, **args | {"a": 0, "b": 0, "n": -1})
    assert device.counters()["launches"] == before
    device.launch(KERNEL, grid=1, block=block(device), **args | {"a": 0, "b": 0, "n": 0})
    assert device.counters()["launches"] == before + 1
    assert device._words(device.kernels[KERNEL], args | {"n": -1})[-1] == 2**64 - 1


def test_a_launch_costs_the_host_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time of this thread, best of several: what the package adds to the driver's own cost."""
    device, _ = open_fake(monkeypatch)
    args = arguments(device)
    monkeypatch.setattr(device._launcher, "_driver", _Nothing())
    device.launch(KERNEL, grid=1, block=32, **args)
    best = float("inf")
    for _ in range(10):
        start = time.thread_time()
        for _ in range(500):
            device.launch(KERNEL, grid=1, block=32, **args)
        best = min(best, (time.thread_time() - start) / 500 * 1e6)
    assert best < LIMIT_US


class _Nothing:
    """A driver that launches nothing."""

    @staticmethod
    def launchKernel(*args: int) -> None:
        assert len(args) == 11
