"""The ledger as a folder: baselines, the history with one file per record, and what may be compared with what."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cuzk.errors import InputError
from cuzk.perf.baseline import PORTABLE_TIERS, Baseline, read_baseline, write_baseline
from cuzk.perf.gate import Row, Verdict, check_comparable, compare, floor_rows
from cuzk.perf.tolerances import Tolerances, read_tolerances

__all__ = ["Ledger", "Point"]

_HISTORY = "history"


@dataclass(frozen=True)
class Point:
    """One figure in the history.

    Args:
        sequence: Place of its commit.
        date: Day.
        commit: What was measured.
        value: The figure or the median.
        reason: What was written with it.
    """

    sequence: int
    date: str
    commit: str
    value: float
    reason: str


class Ledger:
    """Stored figures under a folder.

    Args:
        folder: Such as perf_baselines; it holds tolerances.toml.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tolerances: Tolerances = read_tolerances(folder / "tolerances.toml")

    def baselines(self) -> list[Baseline]:
        """Every baseline, those of every machine after the portable ones."""
        files = [*sorted(self.folder.glob("T*.json")), *sorted(self.folder.glob("[!h]*/T*.json"))]
        files += sorted(path for path in self.folder.glob("h*/T*.json") if path.parent.name != _HISTORY)
        return [read_baseline(path) for path in files]

    def find(self, now: Baseline) -> Baseline:
        """The baseline that figures are to be compared with.

        Raises:
            InputError: None is stored; or only ones of another environment, which are not comparable.
        """
        path = self.folder / now.file_name
        if path.exists() or now.tier in PORTABLE_TIERS:
            return read_baseline(path)
        name = path.name
        others = sorted(p.parent.name for p in self.folder.glob(f"*/{name}") if p.parent.name != _HISTORY)
        if others:
            raise InputError(
                f"there is no baseline {name} for this environment ({now.folder}); "
                f"those of {', '.join(others)} are not comparable",
                remedy="record one here: cuzk perf record --reason WHY",
            )
        return read_baseline(path)

    def store(self, baseline: Baseline) -> Path:
        """Write a baseline, and what moved to the history."""
        self.add_record(baseline)
        return write_baseline(self.folder, baseline)

    def add_record(self, record: Baseline) -> Path | None:
        """Write figures to the history: measured ones all, exact ones only where they differ from the last record.

        Returns:
            The new file, None where nothing moved.
        """
        last = {
            (subject, metric): points[-1].value
            for (subject, metric), points in self.series(record, exact_only=True).items()
        }
        moved = {
            subject: {m: v for m, v in metrics.items() if last.get((subject, m)) != v}
            for subject, metrics in record.figures.items()
        }
        moved = {subject: metrics for subject, metrics in moved.items() if metrics}
        if not moved and not record.measured:
            return None
        kept = dataclasses.replace(record, figures=moved)
        text = json.dumps(
            [moved, {s: {m: v.to_json() for m, v in ms.items()} for s, ms in record.measured.items()}]
        )
        digest = hashlib.sha256(text.encode()).hexdigest()[:6]
        name = f"{record.date}-{record.commit.removeprefix('tree-')[:8]}-{digest}.json"
        return write_baseline(self.folder, kept, f"{self._history_of(record)}/{name}")

    def _history_of(self, baseline: Baseline) -> str:
        return f"{_HISTORY}/{baseline.file_name.removesuffix('.json')}"

    def records(self, baseline: Baseline) -> list[Baseline]:
        """The history of a baseline, oldest first: by place of the commit, then by day."""
        files = sorted((self.folder / self._history_of(baseline)).glob("*.json"))
        found = [read_baseline(path, is_record=True) for path in files]
        return sorted(found, key=lambda record: (record.sequence, record.date))

    def series(self, baseline: Baseline, *, exact_only: bool = False) -> dict[tuple[str, str], list[Point]]:
        """(subject, metric) -> its points, oldest first."""
        made: dict[tuple[str, str], list[Point]] = {}
        for record in self.records(baseline):
            for subject, metric, value in _values(record, exact_only):
                point = Point(record.sequence, record.date, record.commit, value, record.reason)
                made.setdefault((subject, metric), []).append(point)
        return made

    def day_spread(self, baseline: Baseline) -> dict[tuple[str, str], float]:
        """Half the spread of medians of one and the same build on different days, as a share.

        Returns:
            (subject, metric) -> spread, for what was measured of one commit on two days at least.
        """
        by_build: dict[tuple[str, str, str], dict[str, float]] = {}
        for record in self.records(baseline):
            for subject, metrics in record.measured.items():
                for metric, value in metrics.items():
                    by_build.setdefault((record.commit, subject, metric), {})[record.date] = value.median
        spread: dict[tuple[str, str], float] = {}
        for (_, subject, metric), days in by_build.items():
            if len(days) > 1:
                half = math.log(max(days.values()) / min(days.values())) / 2
                spread[subject, metric] = max(spread.get((subject, metric), 0.0), half)
        return spread

    def check(self, now: Baseline) -> list[Row]:
        """Compare figures with their baseline, and times with their floors.

        Raises:
            InputError: No baseline, one from elsewhere, or one that is too old.
        """
        stored = self.find(now)
        check_comparable(stored, now)
        rows = compare(stored, now, self.tolerances, self.day_spread(stored))
        limit = self.tolerances.find("stale", "commits")
        if now.measured and limit is not None and now.sequence - stored.sequence > limit.most:
            age = f"the baseline is {now.sequence - stored.sequence} commits old"
            rows = [dataclasses.replace(row, verdict=Verdict.STALE, note=age) for row in rows]
        return rows + floor_rows(now, self.tolerances)


def _values(record: Baseline, exact_only: bool) -> Iterator[tuple[str, str, float]]:
    tables: list[Mapping[str, Mapping[str, float]]] = [record.figures]
    if not exact_only:
        tables.append({s: {m: v.median for m, v in ms.items()} for s, ms in record.measured.items()})
    for table in tables:
        for subject, metrics in table.items():
            for metric, value in metrics.items():
                yield subject, metric, value
