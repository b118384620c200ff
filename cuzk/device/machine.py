"""What this machine is, as the kernel says it."""

from __future__ import annotations

import functools
from pathlib import Path

from cuzk.errors import DeviceError

__all__ = ["has_bmi2_adx", "memory_bytes"]


@functools.cache
def has_bmi2_adx() -> bool:
    """Whether this processor runs the faster build (x86-64-v3 and ADX)."""
    needed = {"bmi1", "bmi2", "adx", "avx2", "fma", "movbe", "f16c"}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                return needed <= set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return False


def memory_bytes(what: str) -> int:
    """A figure of /proc/meminfo; importing psutil, which reads it there too, takes longer than a small proof."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == what:
            return int(value.removesuffix("kB")) * 1024
    raise DeviceError(f"/proc/meminfo does not say {what}", remedy="run on Linux 3.14 or newer, with /proc")
