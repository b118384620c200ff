"""The limits of the gate: how far a figure may rise before it fails, and what else counts as a change."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzk.errors import FormatError, InputError

__all__ = ["Tolerance", "Tolerances", "read_tolerances"]

_NUMBERS = {"rise", "fall", "steps", "least", "most"}


@dataclass(frozen=True)
class Tolerance:
    """One limit.

    Args:
        rise: Share by which a figure may rise, 0 for not at all.
        fall: Share by which it may fall before the baseline has to move too (the ledger ratchets).
        steps: Rounding that matters, such as 8 registers: a rise within one step is none.  0 for exact.
        reason: Why this limit.
        date: When it was set, as 2026-11-30.
        least: Changes of less than this in the figure's own unit are none.
        most: The most that the figure itself may be; 0 for no such limit.
    """

    rise: float
    fall: float
    steps: int
    reason: str
    date: str = ""
    least: float = 0.0
    most: float = 0.0


@dataclass(frozen=True)
class Tolerances:
    """Limits by tier and name.  A name is "subject.metric", a metric, or "*" for every other one of a tier."""

    limits: Mapping[tuple[str, str], Tolerance]

    def of(self, tier: str, metric: str, subject: str = "") -> Tolerance:
        """The limit for a metric: the most special one that is written down.

        Raises:
            InputError: None is; nothing passes without a limit.
        """
        found = self.find(tier, f"{subject}.{metric}", metric, "*")
        if found is None:
            raise InputError(
                f"tolerances.toml has no limit for {metric} in {tier}", remedy=f'add [{tier}."*"]'
            )
        return found

    def find(self, tier: str, *names: str) -> Tolerance | None:
        """The first of these that is written down."""
        return next((self.limits[tier, name] for name in names if (tier, name) in self.limits), None)


def read_tolerances(path: Path) -> Tolerances:
    """Read tolerances.toml.

    Raises:
        InputError: No such file.
        FormatError: Not TOML, an unknown key, a limit without reason or date or below zero.
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
            limits[tier, metric] = _limit(row, path, f"{tier}.{metric}")
    return Tolerances(limits)


def _limit(row: dict[str, Any], path: Path, where: str) -> Tolerance:
    if unknown := set(row) - _NUMBERS - {"reason", "date"}:
        raise FormatError(f"unknown keys {sorted(unknown)}", path=path, section=where)
    if not row.get("reason"):
        raise FormatError("a limit needs a reason", path=path, section=where)
    if not isinstance(row.get("date"), datetime.date):
        raise FormatError("a limit needs the date when it was set, as 2026-11-30", path=path, section=where)
    for name in _NUMBERS & set(row):
        if isinstance(row[name], bool) or not isinstance(row[name], int | float):
            raise FormatError(f"{name} is {row[name]!r}", path=path, section=where, limit="a number")
        if not row[name] >= 0:
            raise FormatError("a limit is below zero", path=path, section=where)
    return Tolerance(
        rise=float(row.get("rise", 0)), fall=float(row.get("fall", 0)), steps=int(row.get("steps", 0)),
        reason=str(row["reason"]), date=row["date"].isoformat(), least=float(row.get("least", 0)),
        most=float(row.get("most", 0)),
    )  # fmt: skip
