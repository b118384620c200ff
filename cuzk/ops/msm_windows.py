"""Window sizes of multi-scalar multiplications that were measured on a GPU's model."""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType

__all__ = ["measured_models", "measured_window", "measured_windows", "nearest_window"]


@functools.cache
def measured_windows() -> Mapping[tuple[str, str], Mapping[int, int]]:
    """(model, group) -> log2 of the number of terms -> bits of the fastest window that was tried."""
    text = resources.files("cuzk.ops").joinpath("msm_windows.toml").read_text(encoding="utf-8")
    found: dict[tuple[str, str], dict[int, int]] = {}
    for row in tomllib.loads(text)["window"]:
        found.setdefault((row["model"], row["group"]), {})[row["log_n"]] = row["window_bits"]
    return MappingProxyType({key: MappingProxyType(windows) for key, windows in found.items()})


def measured_window(model: str, group: str, n: int) -> int | None:
    """Bits of a window for n terms, or None where no size within a factor of the root of 2 was measured.

    Args:
        model: Name of the GPU's model; empty elsewhere.
        group: Full name of the bases' group, such as "bls12_381_g1".
        n: Number of terms, >= 1.
    """
    if not model:
        return None
    log_n = round(math.log2(n))
    return measured_windows().get((model, group), {}).get(log_n)


def measured_models() -> tuple[str, ...]:
    """Models of which the table has windows."""
    return tuple(dict.fromkeys(model for model, _ in measured_windows()))


def nearest_window(model: str, group: str, n: int) -> int | None:
    """Bits of the window that was measured nearest to n terms, or None where nothing of this group was.

    Args:
        model: As for measured_window().
        group: As for measured_window().
        n: As for measured_window().
    """
    found = measured_windows().get((model, group))
    if not found:
        return None
    return found[min(found, key=lambda log_n: (abs(log_n - math.log2(n)), log_n))]
