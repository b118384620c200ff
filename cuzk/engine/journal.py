"""What must survive a daemon: accepted jobs, the proofs made so far, and how each job ended.

An SQLite file beside a folder of payloads. A job is accepted once its payload and its row are on the disk; a proof
counts once its row is; a job ends by one update that no second one can repeat. So after a kill at any moment every
accepted job is there, and none of its proofs is made twice.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from cuzk.engine.jobs import Job, JobRequest, JobState, PayloadForm, Priority
from cuzk.errors import EngineError, FormatError

__all__ = ["SCHEMA_VERSION", "Journal", "steady_clock"]

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE jobs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    circuit TEXT NOT NULL,
    num_partitions INTEGER NOT NULL,
    first_partition INTEGER NOT NULL,
    form TEXT NOT NULL,
    priority INTEGER NOT NULL,
    payload TEXT NOT NULL,
    payload_bytes INTEGER NOT NULL,
    submitted REAL NOT NULL,
    tags TEXT NOT NULL,
    state TEXT NOT NULL,
    error TEXT NOT NULL DEFAULT '',
    finished REAL,
    times_ms TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX jobs_by_state ON jobs (state, finished);
CREATE TABLE proofs (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    partition INTEGER NOT NULL,
    proof BLOB NOT NULL,
    PRIMARY KEY (job, partition)
);
"""
_OPEN = (JobState.QUEUED.value, JobState.RUNNING.value)


def steady_clock(newest: float) -> Callable[[], float]:
    """Seconds since the epoch that never go back, nor jump when somebody sets the machine's clock.

    Args:
        newest: What an earlier one has said last; this one begins there, or later.
    """
    shift = max(time.time(), newest) - time.monotonic()
    return lambda: time.monotonic() + shift


def _sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


class Journal:
    """The jobs of one daemon on disk. One process at a time; calls from one thread.

    Args:
        folder: Where to keep them; made if it is not there.
        clock: Seconds since the epoch; by default as of steady_clock.

    Raises:
        EngineError: Another daemon uses the folder.
        FormatError: The journal was written by another version, or is damaged.
    """

    def __init__(self, folder: Path, *, clock: Callable[[], float] | None = None) -> None:
        self.folder = folder
        self._payloads = folder / "payloads"
        self._payloads.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = folder / "journal.sqlite"
        self._db = self._open()
        try:
            #: Seconds since the epoch, by which ages are taken.
            self.now = clock or steady_clock(self._newest())
            self._remove_orphans()
        except BaseException:
            self.close()  # or the folder would be in use until this is collected
            raise

    def _open(self) -> sqlite3.Connection:
        db = None
        try:
            db = sqlite3.connect(self._path, timeout=1.0, isolation_level=None, check_same_thread=False)
            self._prepare(db)
        except (sqlite3.Error, FormatError) as error:
            if db is not None:
                db.close()
            if isinstance(error, FormatError):
                raise
            is_operational = isinstance(error, sqlite3.OperationalError)
            raise (self._not_opened(error) if is_operational else self._damaged(error)) from error
        return db

    def _not_opened(self, error: sqlite3.Error) -> EngineError:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return EngineError(
                "another daemon uses the state folder",
                where=os.fspath(self.folder),
                remedy="stop the other daemon, or give this one another folder with --state",
            )
        return EngineError(
            f"the journal cannot be opened: {error}",
            where=os.fspath(self._path),
            remedy="choose another with --state",
        )

    def _prepare(self, db: sqlite3.Connection) -> None:
        """Lock the file, make what it lacks, and look whether it is whole: what is not would lose jobs unsaid."""
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("BEGIN IMMEDIATE")
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version == 0:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version != SCHEMA_VERSION:
            raise FormatError(
                f"the journal has version {version}",
                path=self._path,
                limit=f"version {SCHEMA_VERSION}",
                remedy="start the daemon that wrote it and let it drain, or move the journal away",
            )
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if found != "ok":
            raise self._damaged(ValueError(found))
        db.execute("COMMIT")

    def _damaged(self, error: Exception) -> FormatError:
        words = " ".join(str(error).split())
        return FormatError(
            f"the journal is damaged: {words}",
            path=self._path,
            remedy="move it away; jobs in it are lost, keys are not",
        )

    def _newest(self) -> float:
        """The last time in here."""
        (row,) = self._rows("SELECT MAX(MAX(submitted, COALESCE(finished, 0))) AS newest FROM jobs")
        return float(row["newest"] or 0.0)

    def _remove_orphans(self) -> None:
        """Delete payloads whose job was never accepted, or has ended."""
        rows = self._rows("SELECT payload FROM jobs WHERE state IN (?, ?)", *_OPEN)
        wanted = {row["payload"] for row in rows}
        for path in self._payloads.iterdir():
            if path.name not in wanted:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def accept(self, request: JobRequest) -> tuple[Job, bool]:
        """Take a job in.

        Args:
            request: What is asked for.

        Returns:
            The job, and whether it is new: a request identifier that is known gives the job it named before.

        Raises:
            EngineError: The disk is full or fails; nothing was accepted.
        """
        known = self.find(request.request_id) if request.request_id else None
        if known is not None:
            return known, False
        return self.accept_stored(request, self.store(request.payload)), True

    def store(self, payload: bytes) -> str:
        """Put a payload on the disk, and return the name of its file. May be called from any thread.

        Raises:
            EngineError: The disk is full or fails.
        """
        name = uuid.uuid4().hex
        path = self._payloads / name
        try:
            with path.open("xb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            _sync_folder(self._payloads)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise self._cannot_store(error) from error
        return name

    def _cannot_store(self, error: Exception) -> EngineError:
        return EngineError(
            f"the job cannot be stored: {error}", where=os.fspath(self.folder), remedy="free disk space"
        )

    def accept_stored(self, request: JobRequest, name: str) -> Job:
        """Take in a job that is not known yet, and whose payload store() has put away; errors as of accept."""
        job_id = request.request_id or uuid.uuid4().hex
        try:
            self._db.execute(
                "INSERT INTO jobs (id, circuit, num_partitions, first_partition, form, priority, payload, "
                "payload_bytes, submitted, tags, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    job_id, request.circuit, request.num_partitions, request.first_partition, request.form.value,
                    int(request.priority), name, len(request.payload), self.now(), json.dumps(request.tags),
                    JobState.QUEUED.value,
                ),
            )  # fmt: skip
        except sqlite3.Error as error:
            (self._payloads / name).unlink(missing_ok=True)
            raise self._cannot_store(error) from error
        job = self.find(job_id)
        assert job is not None
        return job

    def find(self, job_id: str) -> Job | None:
        """A job with its proofs, or None."""
        (row,) = self._rows("SELECT * FROM jobs WHERE id = ?", job_id) or (None,)
        return None if row is None else self._job(row)

    def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """Answers to a query.

        Raises:
            EngineError: The disk fails.   FormatError: The journal is damaged.
        """
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            raise EngineError(f"the journal cannot be read: {error}", where=os.fspath(self._path)) from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def unfinished(self) -> list[Job]:
        """Jobs that have not ended, oldest first."""
        rows = self._rows("SELECT * FROM jobs WHERE state IN (?, ?) ORDER BY seq", *_OPEN)
        return [self._job(row) for row in rows]

    def totals(self) -> dict[JobState, int]:
        """How many jobs are kept, by state."""
        rows = self._rows("SELECT state, COUNT(*) AS n FROM jobs GROUP BY state")
        return {JobState(row["state"]): int(row["n"]) for row in rows}

    def _job(self, row: sqlite3.Row) -> Job:
        try:
            return self._parsed(row)
        except (ValueError, TypeError) as error:
            raise self._damaged(ValueError(f"job {row['id']!r:.60}: {error}")) from error

    def _parsed(self, row: sqlite3.Row) -> Job:
        proofs = self._rows("SELECT partition, proof FROM proofs WHERE job = ?", row["id"])
        return Job(
            id=row["id"],
            seq=row["seq"],
            circuit=row["circuit"],
            num_partitions=row["num_partitions"],
            first_partition=row["first_partition"],
            form=PayloadForm(row["form"]),
            priority=Priority(row["priority"]),
            payload_path=self._payloads / row["payload"],
            payload_bytes=row["payload_bytes"],
            submitted=row["submitted"],
            tags=tuple((str(key), str(value)) for key, value in json.loads(row["tags"])),
            state=JobState(row["state"]),
            proofs={int(proof["partition"]): bytes(proof["proof"]) for proof in proofs},
            error=row["error"],
            finished=row["finished"],
            times_ms=json.loads(row["times_ms"]),
        )

    def record_proof(self, job_id: str, partition: int, proof: bytes) -> bool:
        """Keep a proof; False where the job has one of this partition, or has ended. Errors as of finish."""
        cursor = self._write(
            "INSERT OR IGNORE INTO proofs (job, partition, proof) "
            "SELECT id, ?, ? FROM jobs WHERE id = ? AND state IN (?, ?)",
            (partition, proof, job_id, *_OPEN),
        )
        return cursor.rowcount == 1

    def finish(self, job: Job, state: JobState, error: str = "") -> bool:
        """End a job, once; False where it had ended before. Its payload is deleted.

        Raises:
            EngineError: The disk is full or fails; nothing has changed, and the call can be made again.
        """
        finished = self.now()
        cursor = self._write(
            "UPDATE jobs SET state = ?, error = ?, finished = ?, times_ms = ? WHERE id = ? AND state IN (?, ?)",
            (state.value, error, finished, json.dumps(job.times_ms), job.id, *_OPEN),
        )
        if cursor.rowcount != 1:
            return False
        job.state, job.error, job.finished = state, error, finished
        job.payload_path.unlink(missing_ok=True)
        return True

    def _write(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.Error as error:
            raise EngineError(
                f"the journal cannot be written: {error}",
                where=os.fspath(self._path),
                remedy="free disk space; the daemon tries again by itself",
            ) from error

    def prune(self, *, most: int, max_age_s: float) -> int:
        """Forget ended jobs: the oldest beyond a number, and all that ended too long ago; how many.

        Errors as of finish.
        """
        cursor = self._write(
            "DELETE FROM jobs WHERE state NOT IN (?, ?) AND (finished < ? OR seq NOT IN "
            "(SELECT seq FROM jobs WHERE state NOT IN (?, ?) ORDER BY finished DESC, seq DESC LIMIT ?))",
            (*_OPEN, self.now() - max_age_s, *_OPEN, most),
        )
        return cursor.rowcount
