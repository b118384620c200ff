"""A measured figure: samples of one metric, with their median and an interval for it, in a stated unit."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cuzk.errors import RangeError
from cuzk.perf.signs import median_interval

__all__ = ["MIN_SAMPLES", "UNITS", "Measured"]

#: Units that a figure may have. A figure whose unit changed is never compared.
UNITS = ("ms", "s", "bytes", "instructions", "count")
#: Fewer samples than this say nothing about spread, and no verdict rests on them.
MIN_SAMPLES = 3


@dataclass(frozen=True)
class Measured:
    """Samples of a metric, or what is known of them.

    Args:
        median: Of the samples.
        low: Lower end of the interval for the median: 95% where samples are at hand, else the least sample.
        high: Upper end, likewise.
        count: Number of samples.
        unit: One of UNITS.
        samples: The samples in the order they were taken; empty where only a summary was kept.
        floor: The least that the hardware could need for it, same unit; None where nobody wrote one down.
    """

    median: float
    low: float
    high: float
    count: int
    unit: str
    samples: tuple[float, ...] = ()
    floor: float | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise RangeError(f"unit {self.unit!r}", limit=f"possible: {', '.join(UNITS)}")
        if self.count < 1 or (self.samples and len(self.samples) != self.count):
            raise RangeError(f"{self.count} samples", limit="at least 1, and as many as are listed")
        for name, value in (("median", self.median), ("low", self.low), ("high", self.high)):
            _check(name, value)
        for i, value in enumerate(self.samples):
            _check(f"sample {i}", value)
        if not self.low <= self.median <= self.high:
            raise RangeError(f"median {self.median} outside its interval", limit=f"{self.low} to {self.high}")
        if self.floor is not None:
            _check("floor", self.floor)

    @classmethod
    def from_samples(cls, samples: Sequence[float], unit: str, floor: float | None = None) -> Measured:
        """Summarise samples.

        Raises:
            RangeError: No samples, or one that is not finite, zero or below: a clock that stood still or went back.
        """
        if not samples:
            raise RangeError("there are no samples", remedy="measure at least three times")
        for i, value in enumerate(samples):
            _check(f"sample {i}", value)
        low, high = median_interval(samples)
        return cls(statistics.median(samples), low, high, len(samples), unit, tuple(samples), floor)

    @property
    def spread(self) -> float | None:
        """Half the interval's width over the median; None where too few samples say nothing."""
        return None if self.count < MIN_SAMPLES else (self.high - self.low) / (2 * self.median)

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        made: dict[str, Any] = {
            "median": self.median, "low": self.low, "high": self.high, "count": self.count, "unit": self.unit,
        }  # fmt: skip
        if self.samples:
            made["samples"] = list(self.samples)
        if self.floor is not None:
            made["floor"] = self.floor
        return made

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Measured:
        """Read what to_json() wrote.

        Raises:
            RangeError: A key is missing or unknown, or a value is none that a measurement can give.
        """
        needed = {"median", "low", "high", "count", "unit"}
        unknown = sorted(set(raw) - needed - {"samples", "floor"})
        if missing := sorted(needed - set(raw)):
            raise RangeError(f"{', '.join(missing)} missing", limit=", ".join(sorted(needed)))
        if unknown:
            raise RangeError(f"unknown keys {', '.join(unknown)}", limit=", ".join(sorted(needed)))
        if not isinstance(raw["count"], int) or isinstance(raw["count"], bool):
            raise RangeError(f"count {raw['count']!r}", limit="a whole number")
        samples = raw.get("samples", [])
        if not isinstance(samples, list):
            raise RangeError("samples are no list", limit="a list of numbers")
        return cls(
            raw["median"],
            raw["low"],
            raw["high"],
            raw["count"],
            str(raw["unit"]),
            tuple(samples),
            raw.get("floor"),
        )


def _check(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RangeError(f"{name} is {value!r}", limit="a finite number")
    if value <= 0:
        raise RangeError(
            f"{name} is {value!r}", limit="above zero",
            remedy="a clock stood still or went backwards: measure again, repeat short work in one sample",
        )  # fmt: skip
