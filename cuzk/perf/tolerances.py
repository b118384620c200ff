"""The limits of the gate: how far a figure may rise before it fails, and what else counts as a change."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cuzk.errors import FormatError, InputError

__all__ = ["Tolerance", "Tolerances", "read_tolerances"]


@dataclass(frozen=True)
class Tolerance:
    """One limit.

    Args:
        rise: Share by which a figure may rise, 0 for not at all.
        fall: Share by which it may fall before the baseline has to move too (the ledger ratchets).
        steps: Rounding that matters, such as 8 registers: a rise within one step is none.  0 for exact.
        reason: Why this limit.
    """

    rise: float
    fall: float
    steps: int
    reason: str


@dataclass(frozen=True)
class Tolerances:
    """Limits by tier and metric; "*" stands for every other metric of a tier."""

    limits: Mapping[tuple[str, str], Tolerance]

    def of(self, tier: str, metric: str) -> Tolerance:
        """The limit for a metric.

        Raises:
            InputError: None is written down; nothing passes without a limit.
        """
        found = self.limits.get((tier, metric)) or self.limits.get((tier, "*"))
        if found is None:
            raise InputError(
                f"tolerances.toml has no limit for {metric} in {tier}", remedy=f'add [{tier}."*"]'
            )
        return found


def read_tolerances(path: Path) -> Tolerances:
    """Read tolerances.toml.

    Raises:
        InputError: No such file.
        FormatError: Not TOML, an unknown key, a limit without reason or below zero.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"there is no {path}", remedy="run in the project's folder, or give --baselines"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"not TOML: {error}", path=path) from error
    limits = {}
    for tier, metrics in raw.items():
        for metric, row in metrics.items():
            where = f"{tier}.{metric}"
            unknown = set(row) - {"rise", "fall", "steps", "reason"}
            if unknown:
                raise FormatError(f"unknown keys {sorted(unknown)}", path=path, section=where)
            if not row.get("reason"):
                raise FormatError("a limit needs a reason", path=path, section=where)
            limit = Tolerance(
                rise=float(row.get("rise", 0)), fall=float(row.get("fall", 0)),
                steps=int(row.get("steps", 0)), reason=str(row["reason"]),
            )  # fmt: skip
            if limit.rise < 0 or limit.fall < 0 or limit.steps < 0:
                raise FormatError("a limit is below zero", path=path, section=where)
            limits[tier, metric] = limit
    return Tolerances(limits)
