"""A short soak with all that the long one does, and the parts that judge it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engine.soak import Soak, flatness
from tests.engine.soak_critical import overtaken


@pytest.mark.timeout(900)
def test_sixty_jobs_survive_everything(tmp_path: Path) -> None:
    report = Soak(60, 3, tmp_path, real_share=0.1, daemon_kills=1).run()
    assert sum(report.ends.values()) == report.accepted == 60
    assert (
        report.ends["completed"] >= 44
    )  # all that neither fails nor may have been cancelled; what is done is drawn
    assert report.real > 0
    assert report.critical > 0
    assert report.most_waited_for <= 1
    assert report.daemon_kills == 1
    assert report.malformed > 0
    assert report.left > 0


def _log(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _at(job: str, stage: str, worker: int = 0) -> dict[str, object]:
    return {"do": "stage", "worker": worker, "task": [0, 0, job], "stage": stage}


def _add(job: str, priority: int) -> dict[str, object]:
    return {"do": "add", "tasks": [[0, 0, job]], "priority": priority}


def test_what_a_critical_partition_waited_for_is_counted(tmp_path: Path) -> None:
    begin = [_add("low", 1), _add("late", 1), _add("urgent", 4), _at("low", "gpu"), _at("urgent", "ready")]
    one = _log(tmp_path / "one", *begin, _at("low", "ready"), _at("urgent", "gpu"))
    assert overtaken([one]) == (1, 1)
    two = _log(
        tmp_path / "two", *begin, _at("late", "ready"), _at("low", "ready"), _at("late", "gpu"),
        _at("late", "ready"), _at("urgent", "gpu"),
    )  # fmt: skip
    assert overtaken([two]) == (1, 2)
    elsewhere = _log(tmp_path / "other", *begin, _at("late", "gpu", worker=1), _at("urgent", "gpu"))
    assert overtaken([elsewhere]) == (1, 1)


def test_growth_is_seen() -> None:
    assert flatness([50.0, 60, 61, 60, 61, 60, 61, 60, 61]) <= 1
    assert flatness([50.0 + 10 * i for i in range(9)]) == 30


def test_a_killed_worker_ends_a_wait(tmp_path: Path) -> None:
    """What the partition waits for on its next worker is counted from there."""
    log = _log(
        tmp_path / "log", _add("low", 1), _add("urgent", 4), _at("low", "gpu"), _at("urgent", "ready"),
        _at("low", "over"), _at("urgent", "over"), _at("low", "gpu"), _at("urgent", "ready"), _at("urgent", "gpu"),
    )  # fmt: skip
    assert overtaken([log]) == (1, 1)
