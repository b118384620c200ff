"""One baseline file: figures of one workload in one environment, with a schema version, validated when read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuzk.errors import FormatError, InputError

__all__ = ["SCHEMA", "TIERS", "Baseline", "read_baseline", "write_baseline"]

SCHEMA = 1
#: T0: static figures of compiled kernels.  T1: exact operation counts.
TIERS = ("T0", "T1")

_Figures = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Baseline:
    """Figures and what they are of.

    Args:
        tier: One of TIERS.
        workload: What was compiled or run, such as "sm_90" or "chain-64-bn254".
        environment: What the figures depend on; compared before any figure is.
        figures: Subject (kernel or phase) -> metric -> value.
        reason: Why the figures last moved.
    """

    tier: str
    workload: str
    environment: Mapping[str, str]
    figures: _Figures
    reason: str

    @property
    def file_name(self) -> str:
        """Where under the baselines folder it belongs."""
        return f"{self.tier}-{self.workload}.json"


def read_baseline(path: Path) -> Baseline:
    """Read and validate a file.

    Raises:
        InputError: No such file.
        FormatError: Not JSON, an unknown schema, a missing or wrong field, no figures.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"there is no baseline {path}", remedy="record one: cuzk perf record --reason WHY"
        ) from error
    except ValueError as error:
        raise FormatError(f"not JSON: {error}", path=path) from error
    if not isinstance(raw, dict) or raw.get("schema") != SCHEMA:
        found = raw.get("schema") if isinstance(raw, dict) else type(raw).__name__
        raise FormatError(
            f"baseline schema {found!r} is unknown", path=path, limit=f"schema {SCHEMA}",
            remedy="use the cuzk version that wrote it, or record it again",
        )  # fmt: skip
    checked = Baseline(
        tier=_text(raw, "tier", path),
        workload=_text(raw, "workload", path),
        environment=_environment(raw, path),
        figures=_figures(raw, path),
        reason=_text(raw, "reason", path),
    )
    if checked.tier not in TIERS:
        raise FormatError(f"tier {checked.tier!r}", path=path, limit=", ".join(TIERS))
    if path.name != checked.file_name:
        raise FormatError(f"the file is named {path.name} but holds {checked.file_name}", path=path)
    return checked


def _text(raw: dict[str, Any], name: str, path: Path) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value:
        raise FormatError(f"{name} is missing or no text", path=path)
    return value


def _environment(raw: dict[str, Any], path: Path) -> dict[str, str]:
    value = raw.get("environment")
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise FormatError("environment is missing or not a table of texts", path=path)
    return value


def _figures(raw: dict[str, Any], path: Path) -> _Figures:
    value = raw.get("figures")
    if not isinstance(value, dict) or not value:
        raise FormatError("there are no figures: an empty baseline would let everything pass", path=path)
    for subject, metrics in value.items():
        if not isinstance(metrics, dict) or not metrics:
            raise FormatError(f"figures of {subject} are missing", path=path)
        for metric, number in metrics.items():
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise FormatError(f"{subject} {metric} is {number!r}", path=path, limit="a whole number >= 0")
    return value


def write_baseline(folder: Path, baseline: Baseline) -> Path:
    """Write a file in one step.  It has one line a subject, so that changes read well in a diff."""
    from cuzk.formats.atomic import atomic_write  # here, since the gate itself needs no numpy

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / baseline.file_name
    head = {
        "schema": SCHEMA, "tier": baseline.tier, "workload": baseline.workload,
        "environment": dict(baseline.environment), "reason": baseline.reason,
    }  # fmt: skip
    lines = [
        f"  {json.dumps(subject)}: {json.dumps(dict(sorted(metrics.items())))}"
        for subject, metrics in sorted(baseline.figures.items())
    ]
    text = json.dumps(head, indent=1)[:-2] + ',\n "figures": {\n' + ",\n".join(lines) + "\n }\n}\n"
    with atomic_write(path) as file:
        file.write(text.encode())
    return path
