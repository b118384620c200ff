"""One ledger file: figures of one workload in one environment, with a schema version, validated when read.

Exact figures (counts, registers, bytes) are whole numbers; measured ones are `Measured`.  Baselines and the records of
the history have the same form.  Figures that hold wherever the sources are the same lie in the folder itself, others in
a folder named after their environment.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuzk.errors import FormatError, InputError, RangeError
from cuzk.perf.measured import Measured

__all__ = [
    "PORTABLE_TIERS",
    "SCHEMA",
    "TIERS",
    "Baseline",
    "environment_id",
    "read_baseline",
    "write_baseline",
]

SCHEMA = 2
#: T0: static figures of compiled kernels.  T1: exact operation counts.  T1h: instructions of the host, phase by phase.
#: T2s: times and memory whose median is stored.
TIERS = ("T0", "T1", "T1h", "T2s")
#: Tiers whose figures depend on the sources and on what their environment says, on no machine.
PORTABLE_TIERS = ("T0", "T1")

_Figures = Mapping[str, Mapping[str, int]]
_MeasuredFigures = Mapping[str, Mapping[str, Measured]]
_COMMIT = re.compile(r"[0-9a-f]{7,40}\+?|tree-[0-9a-f]{16}")


@dataclass(frozen=True)
class Baseline:
    """Figures and what they are of.

    Args:
        tier: One of TIERS.
        workload: What was compiled or run, such as "sm_90" or "mixed-60-bn254".
        environment: What the figures depend on; compared before any figure is.
        figures: Subject (kernel or phase) -> metric -> exact value.
        reason: Why the figures last moved.
        measured: Subject -> metric -> samples, for what differs from run to run.
        commit: What was measured: a commit, with a plus if the tree had changes, or the digest of a tree.
        date: Day of the measurement, as 2026-11-30.
        sequence: Position in the history: the number of commits up to that one.
        load: Shape of the work, such as its log2 size.
        sources: Part of the workload -> digest of the text that its figures follow from, where they follow from it.
    """

    tier: str
    workload: str
    environment: Mapping[str, str]
    figures: _Figures
    reason: str
    measured: _MeasuredFigures = field(default_factory=dict)
    commit: str = "0000000"
    date: str = "2026-01-01"
    sequence: int = 0
    load: Mapping[str, str | int] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Folder under that of the baselines: empty for figures of no particular machine."""
        return "" if self.tier in PORTABLE_TIERS else environment_id(self.environment)

    @property
    def file_name(self) -> str:
        """Its path under the baselines folder."""
        name = f"{self.tier}-{self.workload}.json"
        return f"{self.folder}/{name}" if self.folder else name

    @property
    def subjects(self) -> list[str]:
        """Every kernel or phase that it has a figure of."""
        return sorted({*self.figures, *self.measured})


def environment_id(environment: Mapping[str, str]) -> str:
    """Short name of an environment: what it is for people, and a digest of the whole fingerprint."""
    name = environment.get("gpu") or environment.get("cpu") or "host"
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24].strip("-")
    digest = hashlib.sha256(json.dumps(dict(sorted(environment.items()))).encode()).hexdigest()[:8]
    return f"{slug}-{digest}"


def read_baseline(path: Path, *, is_record: bool = False) -> Baseline:
    """Read and validate a file.

    Args:
        path: The file.
        is_record: It belongs to the history or to nobody, so its name says nothing.

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
        environment=_texts(raw, "environment", path, needed=True),
        figures=_figures(raw, path),
        reason=_text(raw, "reason", path),
        measured=_measured(raw, path),
        commit=_text(raw, "commit", path),
        date=_text(raw, "date", path),
        sequence=_sequence(raw, path),
        load=_load(raw, path),
        sources=_texts(raw, "sources", path),
    )
    _check_origin(checked, path)
    if checked.tier not in TIERS:
        raise FormatError(f"tier {checked.tier!r}", path=path, limit=", ".join(TIERS))
    if not checked.subjects:
        raise FormatError("there are no figures: an empty baseline would let everything pass", path=path)
    if not is_record:
        _check_place(checked, path)
    return checked


def _check_place(checked: Baseline, path: Path) -> None:
    """A baseline lies where its contents say, so that one of elsewhere is never taken for one of here."""
    if path.name != Path(checked.file_name).name:
        raise FormatError(f"the file is named {path.name} but holds {checked.file_name}", path=path)
    if checked.folder and path.parent.name != checked.folder:
        raise FormatError(
            f"it lies in {path.parent.name} but is of the environment {checked.folder}", path=path
        )


def _check_origin(checked: Baseline, path: Path) -> None:
    if not _COMMIT.fullmatch(checked.commit):
        raise FormatError(f"commit {checked.commit!r}", path=path, limit="7 to 40 hexadecimal digits")
    try:
        datetime.date.fromisoformat(checked.date)
    except ValueError as error:
        raise FormatError(f"date {checked.date!r}", path=path, limit="as 2026-11-30") from error


def _text(raw: dict[str, Any], name: str, path: Path) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or not value:
        raise FormatError(f"{name} is missing or no text", path=path)
    return value


def _sequence(raw: dict[str, Any], path: Path) -> int:
    value = raw.get("sequence")
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise FormatError(f"sequence {value!r}", path=path, limit="a whole number >= 0")
    return value


def _texts(raw: dict[str, Any], name: str, path: Path, *, needed: bool = False) -> dict[str, str]:
    value = raw.get(name, None if needed else {})
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise FormatError(f"{name} is missing or not a table of texts", path=path)
    return value


def _load(raw: dict[str, Any], path: Path) -> dict[str, str | int]:
    value = raw.get("load", {})
    if not isinstance(value, dict) or not all(isinstance(v, str | int) for v in value.values()):
        raise FormatError("load is not a table of texts and whole numbers", path=path)
    return value


def _figures(raw: dict[str, Any], path: Path) -> _Figures:
    value = raw.get("figures")
    if not isinstance(value, dict):
        raise FormatError("there are no figures: an empty baseline would let everything pass", path=path)
    for subject, metrics in value.items():
        if not isinstance(metrics, dict) or not metrics:
            raise FormatError(f"figures of {subject} are missing", path=path)
        for metric, number in metrics.items():
            if not isinstance(number, int) or isinstance(number, bool) or number < 0:
                raise FormatError(f"{subject} {metric} is {number!r}", path=path, limit="a whole number >= 0")
    return value


def _measured(raw: dict[str, Any], path: Path) -> _MeasuredFigures:
    value = raw.get("measured", {})
    if not isinstance(value, dict):
        raise FormatError("measured figures are no table", path=path)
    made: dict[str, dict[str, Measured]] = {}
    for subject, metrics in value.items():
        if not isinstance(metrics, dict) or not metrics:
            raise FormatError(f"figures of {subject} are missing", path=path)
        for metric, stored in metrics.items():
            try:
                made.setdefault(subject, {})[metric] = Measured.from_json(stored)
            except (RangeError, AttributeError, TypeError) as error:
                raise FormatError(f"{subject} {metric}: {error}", path=path) from error
    return made


def write_baseline(folder: Path, baseline: Baseline, name: str | None = None) -> Path:
    """Write a file in one step.  It has one line a subject, so that changes read well in a diff.

    Args:
        folder: That of the baselines.
        baseline: What to store.
        name: Its path under the folder; by default where baselines belong.
    """
    from cuzk.formats.atomic import atomic_write  # here, since the gate itself needs no numpy

    path = folder / (name or baseline.file_name)
    path.parent.mkdir(parents=True, exist_ok=True)
    head = {
        "schema": SCHEMA, "tier": baseline.tier, "workload": baseline.workload,
        "environment": dict(baseline.environment), "reason": baseline.reason, "commit": baseline.commit,
        "date": baseline.date, "sequence": baseline.sequence, "load": dict(baseline.load),
    }  # fmt: skip
    if baseline.sources:
        head["sources"] = dict(sorted(baseline.sources.items()))
    exact = {s: dict(sorted(metrics.items())) for s, metrics in sorted(baseline.figures.items())}
    text = json.dumps(head, indent=1)[:-2] + ',\n "figures": ' + _lines(exact)
    if baseline.measured:
        samples = {
            s: {metric: value.to_json() for metric, value in sorted(metrics.items())}
            for s, metrics in sorted(baseline.measured.items())
        }
        text += ',\n "measured": ' + _lines(samples)
    with atomic_write(path) as file:
        file.write((text + "\n}\n").encode())
    return path


def _lines(table: Mapping[str, Mapping[str, Any]]) -> str:
    """A table as JSON with a line for each row."""
    if not table:
        return "{}"
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
    return "{\n" + rows + "\n }"
