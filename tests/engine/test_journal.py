"""What a daemon's disk holds: a job lost, proven twice or ended twice would show here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuzk.engine.jobs import Job, JobRequest, JobState, PayloadForm, Priority
from cuzk.engine.journal import Journal
from cuzk.errors import EngineError, FormatError


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No journal is left to whoever collects it: what that says would be said in another test."""
    made: list[Journal] = []
    opened = Journal._open

    def note(self: Journal) -> sqlite3.Connection:
        made.append(self)
        return opened(self)

    monkeypatch.setattr(Journal, "_open", note)
    yield
    for journal in made:
        if hasattr(journal, "_db"):
            journal.close()


def request(name: str = "", partitions: int = 2, payload: bytes = b"data") -> JobRequest:
    return JobRequest(
        "porep:2KiB", partitions, payload, PayloadForm.VANILLA, Priority.HIGH, name, tags=(("sector", "7"),)
    )


def accepted(journal: Journal, name: str = "", partitions: int = 2) -> Job:
    job, is_new = journal.accept(request(name, partitions))
    assert is_new
    return job


def test_a_job_is_there_after_the_daemon_is_gone(tmp_path: Path) -> None:
    journal = Journal(tmp_path, clock=lambda: 5.0)
    job = accepted(journal, "mine")
    assert journal.record_proof("mine", 1, b"p1")
    journal.close()
    (again,) = Journal(tmp_path).unfinished()
    assert (again.id, again.seq, again.priority, again.submitted) == ("mine", job.seq, Priority.HIGH, 5.0)
    assert again.proofs == {1: b"p1"}
    assert [task.partition for task in again.tasks] == [0]
    assert again.payload_path.read_bytes() == b"data"
    assert again.tags == (("sector", "7"),)


def test_one_name_is_one_job(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first = accepted(journal, "mine")
    again, is_new = journal.accept(request("mine", payload=b"other"))
    assert not is_new
    assert again.seq == first.seq
    assert again.payload_path.read_bytes() == b"data"
    assert len(list((tmp_path / "payloads").iterdir())) == 1


def test_names_are_made_where_none_is_given(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert len({accepted(journal).id for _ in range(5)}) == 5


def test_a_proof_counts_once_and_only_of_a_job_that_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    job = accepted(journal, "mine")
    assert journal.record_proof("mine", 0, b"a")
    assert not journal.record_proof("mine", 0, b"b")
    assert not journal.record_proof("nobody", 0, b"b")
    assert journal.finish(job, JobState.CANCELLED)
    assert not journal.record_proof("mine", 1, b"b")
    found = journal.find("mine")
    assert found is not None
    assert found.proofs == {0: b"a"}
    assert found.proof == b""


def test_a_job_ends_once_and_its_payload_goes(tmp_path: Path) -> None:
    journal = Journal(tmp_path, clock=lambda: 9.0)
    job = accepted(journal, "mine", 1)
    journal.record_proof("mine", 0, b"proof")
    job.add_time("gpu", 2.5)
    assert journal.finish(job, JobState.DONE)
    assert not journal.finish(job, JobState.FAILED, "too late")
    found = journal.find("mine")
    assert found is not None
    assert (found.state, found.error, found.finished, found.times_ms) == (
        JobState.DONE,
        "",
        9.0,
        {"gpu": 2.5},
    )
    assert found.proof == b"proof"
    assert not found.payload_path.exists()
    assert journal.unfinished() == []
    assert journal.totals() == {JobState.DONE: 1}


def test_results_are_bounded_in_number_and_age(tmp_path: Path) -> None:
    now = [0.0]
    journal = Journal(tmp_path, clock=lambda: now[0])
    for i in range(6):
        now[0] = float(i)
        journal.finish(accepted(journal, f"job{i}"), JobState.DONE)
    open_one = accepted(journal, "open")
    assert journal.prune(most=4, max_age_s=100) == 2
    assert journal.prune(most=4, max_age_s=2) == 1
    assert [name for name in ("job0", "job1", "job2", "job3", "job5") if journal.find(name)] == [
        "job3",
        "job5",
    ]
    assert journal.find(open_one.id) is not None
    assert journal.prune(most=0, max_age_s=100) == 3


def test_a_payload_without_a_job_is_removed(tmp_path: Path) -> None:
    """A kill between the payload's write and the row's leaves a file that nothing refers to."""
    journal = Journal(tmp_path)
    kept = accepted(journal, "mine")
    (tmp_path / "payloads" / "stray").write_bytes(b"x" * 1000)
    journal.close()
    Journal(tmp_path)
    assert list((tmp_path / "payloads").iterdir()) == [kept.payload_path]


def test_two_daemons_do_not_share_a_folder(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    with pytest.raises(EngineError, match="other daemon"):
        Journal(tmp_path)
    first.close()
    Journal(tmp_path).close()


def test_a_journal_that_cannot_be_used_keeps_its_folder_from_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is told why still has the error, and with it everything that was there when it was raised."""

    def fail(_: Journal) -> None:
        raise OSError("the folder cannot be read")

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "_remove_orphans", fail)
        with pytest.raises(OSError, match="cannot be read") as kept:
            Journal(tmp_path)
    Journal(tmp_path).close()
    assert kept.tb is not None


def test_another_version_is_named(tmp_path: Path) -> None:
    Journal(tmp_path).close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.execute("PRAGMA user_version = 9")
    db.close()
    with pytest.raises(FormatError, match="version 9"):
        Journal(tmp_path)


def test_a_damaged_journal_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"no database" * 1000)
    with pytest.raises(FormatError, match="damaged"):
        Journal(tmp_path)


def test_a_damaged_page_is_named_and_costs_no_payload(tmp_path: Path) -> None:
    """Whichever page it is: a journal that is not whole is not used, nor are files of its jobs taken for strays."""
    journal = Journal(tmp_path)
    names = {accepted(journal, f"job-{i:03}").payload_path.name for i in range(60)}
    journal.close()
    file = tmp_path / "journal.sqlite"
    whole = file.read_bytes()
    refused = []
    for page in range(0, len(whole), 4096):
        file.write_bytes(whole[:page] + b"\xa5" * 4096 + whole[page + 4096 :])
        try:
            again = Journal(tmp_path)
        except FormatError as error:
            refused.append(str(error))
        else:
            assert len(again.unfinished()) == 60
            again.close()
        assert {path.name for path in (tmp_path / "payloads").iterdir()} == names
    assert len(refused) > 3
    assert all("the journal is damaged" in reason for reason in refused)


@pytest.mark.parametrize(
    "change", ["priority = 99", "tags = '{'", "form = 'x'", "times_ms = ''", "state = 'x'"]
)
def test_a_row_that_says_nothing_is_named(tmp_path: Path, change: str) -> None:
    journal = Journal(tmp_path)
    accepted(journal, "mine")
    journal.close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.execute(f"UPDATE jobs SET {change}")
    db.close()
    with pytest.raises(FormatError, match=r"journal is damaged.*mine"):
        Journal(tmp_path).find("mine")


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").mkdir()
    with pytest.raises(EngineError, match=r"journal.sqlite: the journal cannot be opened.*--state"):
        Journal(tmp_path)


def test_a_full_disk_accepts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cuzk.engine.journal.os.fsync", full)
    with pytest.raises(EngineError, match="free disk space"):
        journal.accept(request("mine"))
    monkeypatch.undo()
    assert journal.find("mine") is None
    assert list((tmp_path / "payloads").iterdir()) == []
