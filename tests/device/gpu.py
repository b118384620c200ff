"""What the scripts and tests of this folder need of a GPU: whether there is one, and how time and memory are measured.

Nothing here is about cuzk's operations; whatever reaches into CuPy or into the device's stream does it here.
"""

from __future__ import annotations

import functools
import statistics
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.curves import Curve
from cuzk.device import Array, get_device

#: The oldest GPUs that cuzk supports.
MIN_CAPABILITY = (8, 0)
#: Rows of random data that are made at a time.
_CHUNK = 1 << 22


@functools.cache
def why_none() -> str:
    """Why nothing can run on a GPU here; empty where something can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install 'cuzk[cuda13]')"
    if not cupy.cuda.is_available():
        return "there is no NVIDIA GPU that CuPy can use"
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    capability = (int(properties["major"]), int(properties["minor"]))
    if capability < MIN_CAPABILITY:
        return f"GPU 0 has compute capability {capability[0]}.{capability[1]}; 8.0 or newer is needed"
    return ""


def num_gpus() -> int:
    """GPUs that can be used."""
    if why_none():
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def workers() -> int:
    """Processes that may run large tests on GPU 0 side by side: one for each 40 GiB of its memory, at most 4."""
    if why_none():
        return 0
    import cupy

    return max(1, min(4, int(cupy.cuda.runtime.getDeviceProperties(0)["totalGlobalMem"]) // (40 << 30)))


@functools.cache
def gpu(spec: str = "cuda") -> Any:
    """The device that the tests of one process share.

    Raises:
        unittest.SkipTest: There is no GPU; pytest shows the reason and goes on.
    """
    reason = why_none()
    if reason:
        raise unittest.SkipTest(reason)
    return get_device(spec)


def stream_of(device: Any) -> Any:
    """The CuPy stream that a device launches on."""
    return device._stream


def random_fr(device: Any, curve: Curve, n: int, seed: int) -> Array:
    """Uniform below 2^(bits - 1) < r, made on the device. Shape (n, limbs) uint64."""
    cp, out = device._cupy, device.alloc((n, curve.fr.limbs), np.uint64)
    low, high = (cp.random.default_rng(2 * seed + i) for i in range(2))
    with device._device, stream_of(device):
        for first in range(0, n, _CHUNK):
            part = out[first : first + _CHUNK]
            # A draw has 63 bits; a second one, shifted, fills the top bit.
            part[...] = low.integers(0, 2**63, part.shape, dtype=cp.uint64)
            part ^= high.integers(0, 2**63, part.shape, dtype=cp.uint64) << np.uint64(1)
            part[:, -1] &= np.uint64((1 << (curve.fr.bits - 1) % 64) - 1)
    drop_cached_memory(device)
    return out


def event_ms(device: Any, run: Callable[[], Any]) -> float:
    """Milliseconds of run() between two events on the device's stream."""
    cp, stream = device._cupy, stream_of(device)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record(stream)
    run()
    end.record(stream)
    end.synchronize()
    return float(cp.cuda.get_elapsed_time(start, end))


def measure(device: Any, run: Callable[[], Any], repeats: int = 7, inner: int = 1) -> dict[str, Any]:
    """Median and spread of run() / inner, milliseconds, after one warm-up."""
    run()
    device.synchronize()
    samples = [event_ms(device, run) / inner for _ in range(repeats)]
    device.synchronize()
    return spread(samples)


def measure_graph(device: Any, run: Callable[[], Any], inner: int, repeats: int = 7) -> dict[str, Any]:
    """As measure(), of a captured graph of `inner` runs: no launch waits for Python."""
    stream = stream_of(device)
    run()
    device.synchronize()
    with device._device, stream:
        stream.begin_capture()
        for _ in range(inner):
            run()
        graph = stream.end_capture()
        return measure(device, lambda: graph.launch(stream), repeats, inner)


def spread(samples: list[float]) -> dict[str, Any]:
    """Median, least and most of some milliseconds, and themselves."""
    return {
        "median_ms": statistics.median(samples),
        "min_ms": min(samples),
        "max_ms": max(samples),
        "repeats": len(samples),
        "samples_ms": samples,
    }


def drop_cached_memory(device: Any) -> None:
    """Give memory back that CuPy's own pool keeps for nobody."""
    device.synchronize()
    with device._device:
        device._cupy.get_default_memory_pool().free_all_blocks()


class MemoryPeak:
    """The most that arrays of a device held at once since this was made, beside what they held then.

    Args:
        device: The GPU.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        device.synchronize()
        device.reset_memory_peak()
        self._before = device.memory().used

    @property
    def total_bytes(self) -> int:
        """The peak, inputs included."""
        return int(self._device.memory().peak)

    @property
    def work_bytes(self) -> int:
        """The peak without what was held before: scratch memory and results."""
        return self.total_bytes - int(self._before)


def reset_host_peak() -> None:
    """Start the process's peak of resident memory again, where the kernel lets us."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def host_peak_bytes() -> int:
    """Peak of resident memory since the last reset, bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


class Clock:
    """A budget of seconds: scripts stop in time by themselves, with what they have.

    Args:
        budget_s: Seconds from now.
    """

    def __init__(self, budget_s: float) -> None:
        self.start = time.perf_counter()
        self.budget_s = budget_s

    @property
    def left_s(self) -> float:
        """Seconds left."""
        return self.budget_s - (time.perf_counter() - self.start)

    def has(self, seconds: float) -> bool:
        """Whether so many are left."""
        return self.left_s >= seconds
