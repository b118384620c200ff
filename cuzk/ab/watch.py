"""What a device's multi-scalar multiplications hold on their way: scalars, bucket sums, sums of bits.

Launches are looked at from outside, so every variant and every device is seen alike; nothing is asked of the code
under comparison.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cuzk.ab.runner import LocalRunner
from cuzk.device import Device
from cuzk.limbs import U64Array

__all__ = ["MsmRun", "watch_msms"]


@dataclass
class MsmRun:
    """One multi-scalar multiplication.

    Args:
        window_bits: Bits of a digit.
        scalars: Shape (n, limbs) uint64, on the host. Form: Montgomery.
        query: Whose bases it sums; None where that could not be seen.
        places: Which of the query's bases each term takes. Shape (n,); None where it takes them in order.
        buckets: (first window, windows, sums by window and bucket, XYZZ) of every pass.
        bits: Sums of bits, by window and bit, XYZZ; None before they are there.
    """

    window_bits: int
    scalars: U64Array
    query: str | None = None
    places: Any = None
    buckets: list[tuple[int, int, U64Array]] = field(default_factory=list)
    bits: U64Array | None = None


class _Thread:
    """The multiplication that one thread is launching."""

    def __init__(self) -> None:
        self.run: MsmRun | None = None
        self.window = (0, 0)
        self.waits_for_buckets = False
        self.buckets: Any = None


class _Watch:
    """Follows the launches of some devices.

    Args:
        bases: Address of a query's bases on any of the devices -> the query.
    """

    def __init__(self, bases: Mapping[int, str]) -> None:
        self.runs: list[MsmRun] = []
        self._bases = bases
        self._threads: dict[int, _Thread] = {}

    def before(self, device: Device, kernel: str) -> None:
        """Take the bucket sums before anything reuses their memory."""
        state = self._threads.setdefault(threading.get_ident(), _Thread())
        if state.buckets is not None and not kernel.startswith(("msm_accumulate", "msm_merge")):
            assert state.run is not None
            state.run.buckets.append((*state.window, device.download(state.buckets)))
            state.buckets = None

    def after(self, device: Device, kernel: str, args: Mapping[str, Any]) -> None:
        """Note what a launch says of the multiplication that it is part of."""
        state = self._threads[threading.get_ident()]
        if kernel.startswith("msm_digits"):
            self._digits(state, device, args)
        elif state.run is None:
            return
        elif kernel.startswith("msm_scatter"):
            if not isinstance(args["indices"], int):
                state.run.places = device.download(args["indices"])
        elif kernel.startswith("msm_accumulate") and state.waits_for_buckets:
            state.buckets, state.waits_for_buckets = args["buckets"], False
        elif kernel.startswith("msm_bit_sums"):
            state.run.bits = device.download(args["bits"])
        if state.run is not None and state.run.query is None:
            state.run.query = self._query(device, args)

    def _digits(self, state: _Thread, device: Device, args: Mapping[str, Any]) -> None:
        state.window = int(args["first_window"]), int(args["num_windows"])
        state.waits_for_buckets = True
        if state.window[0] == 0:
            scalars = device.download(args["scalars"])
            if not isinstance(args["indices"], int):
                scalars = scalars[device.download(args["indices"])]
            state.run = MsmRun(int(args["window_bits"]), np.array(scalars, copy=True))
            self.runs.append(state.run)

    def _query(self, device: Device, args: Mapping[str, Any]) -> str | None:
        for value in args.values():
            if not isinstance(value, int) and (name := self._bases.get(_address(device, value))):
                return name
        return None


def _address(device: Device, array: Any) -> int:
    if isinstance(array, np.ndarray):
        return int(array.ctypes.data)
    return device._pointer(array)


@contextmanager
def watch_msms(runner: LocalRunner) -> Iterator[list[MsmRun]]:
    """Follow the multiplications of a runner's proofs inside a ``with`` block; yields them as they start."""
    resident, key = runner.prover._resident, runner.workload.key
    bases = {_address(runner.device, getattr(key, f"{name}_query")): name for name in resident.queries}
    for name, query in resident.queries.items():
        if query.bases is not None:
            bases[_address(runner.device, query.bases)] = name
    watch = _Watch(bases)
    found = (runner.device, runner.device.reference, getattr(runner.device, "one_thread", None))
    devices = {id(device): device for device in found if device is not None}
    for device in devices.values():
        _follow(device, watch)
    try:
        yield watch.runs
    finally:
        for device in devices.values():
            del device.__dict__["launch"]


def _follow(device: Device, watch: _Watch) -> None:
    """Let a watch see every launch of a device until its attribute `launch` is deleted."""
    launch: Callable[..., None] = device.launch

    def seen(kernel: str, **arguments: Any) -> None:
        watch.before(device, kernel)
        launch(kernel, **arguments)
        watch.after(device, kernel, arguments)

    device.__dict__["launch"] = seen
