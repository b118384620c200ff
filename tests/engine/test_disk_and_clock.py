"""A full disk, a loss of power, a clock that is set: none of them takes jobs or results with it.

Would catch: a log that stops the jobs it tells of, a device moved aside like a file, results that vanish with a jump
of the clock.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.backend import ProverBackend
from cuzk.engine.core import Engine
from cuzk.engine.decision_log import DecisionFile
from cuzk.engine.jobs import JobState, PayloadForm
from cuzk.engine.journal import Journal
from cuzk.engine.messages import Payload, Prove
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import InputError
from tests.engine.engines import hearing, job, make_engine, run, script

# The disk


def test_cases_of_faults_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sick device fails on everything: the newest cases are kept, each with a copy of its payload."""
    monkeypatch.setattr("cuzk.engine.backend._CASES_KEPT", 3)
    backend = ProverBackend(WorkerConfig("cpu", settings={"cases_folder": str(tmp_path / "cases")}))
    (tmp_path / "payload").write_bytes(b"data")
    payload = Payload(tmp_path / "payload", PayloadForm.WITNESS, 0)
    written = []
    for number in range(8, 14):
        written.append(backend.record_fault(Prove(number, "c", (), (payload,), 2), ValueError("x")))
        if number < 13:  # a fast machine writes them all before the disk's clock has moved
            os.utime(written[-1], ns=(0, 0))
    assert sorted(map(str, (tmp_path / "cases").iterdir())) == sorted(written[-3:])
    assert (Path(written[-1]) / "payload-0").read_bytes() == b"data"


def test_a_payload_is_on_the_disk_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the folder's own entry a loss of power leaves a job that was accepted and has no data."""
    synced: list[Path] = []
    fsync = os.fsync

    def record(file: int) -> None:
        synced.append(Path(f"/proc/self/fd/{file}").readlink())
        fsync(file)

    journal = Journal(tmp_path)
    monkeypatch.setattr(os, "fsync", record)
    name = journal.store(b"data")
    assert synced == [tmp_path / "payloads" / name, tmp_path / "payloads"]
    journal.close()


# Logs and clocks


def test_a_decision_log_on_a_full_disk_stops_alone(tmp_path: Path) -> None:
    """Jobs are proven all the same, and the daemon says so once."""
    log = tmp_path / "decisions.jsonl"
    log.symlink_to("/dev/full")

    async def scenario(engine: Engine) -> None:
        for i in range(5):
            engine.submit(job(script(gpu=1, n=i), name=f"j{i}"))
        await engine.board.all_ended()
        found = engine.board.find("j4")
        assert found is not None
        assert found.proof == expected_proof(script(gpu=1, n=4), 0)

    with hearing() as heard:
        run(scenario, lambda: make_engine(tmp_path / "state", decision_log=str(log)))
    assert heard.messages.count("decision log") == 1


def test_a_decision_log_moves_files_aside_and_nothing_else(tmp_path: Path) -> None:
    """A device stays what it is; a folder, or one that is not there, is refused by name."""
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    DecisionFile(device).close()
    assert device.is_char_device()
    assert not (tmp_path / "null.old").exists()
    for wrong in (tmp_path, tmp_path / "none" / "log"):
        with pytest.raises(InputError, match="decision_log"):
            DecisionFile(wrong)
    assert tmp_path.is_dir()


def _done(journal: Journal, name: str) -> None:
    one, _ = journal.accept(job(b"{}", name=name))
    journal.finish(one, JobState.DONE)


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the machine's clocks say to the journal."""
    clocks = {"time": 0.0, "monotonic": 0.0}
    read = {name: (lambda name=name: clocks[name]) for name in clocks}
    monkeypatch.setattr("cuzk.engine.journal.time", SimpleNamespace(**read))
    return clocks


def test_results_do_not_vanish_with_the_clock(tmp_path: Path, clocks: dict[str, float]) -> None:
    """A machine that starts in 1970 and learns the date later: what ended before that is seconds old."""
    clocks["time"] = 10.0
    journal = Journal(tmp_path)
    _done(journal, "early")
    clocks.update(time=1.8e9, monotonic=5.0)
    assert journal.prune(most=10, max_age_s=60) == 0
    clocks["monotonic"] = 100.0
    assert journal.prune(most=10, max_age_s=60) == 1
    journal.close()


def test_the_newest_results_are_kept_though_the_clock_went_back(
    tmp_path: Path, clocks: dict[str, float]
) -> None:
    """In another life of the daemon, too, where what is there ended in the future."""
    clocks["time"] = 2e9
    journal = Journal(tmp_path)
    for name in ("a", "b"):
        _done(journal, name)
    journal.close()
    clocks["time"] = 1e9
    journal = Journal(tmp_path)
    _done(journal, "c")
    assert journal.prune(most=1, max_age_s=1e9) == 2
    assert journal.find("c") is not None
    journal.close()
