"""Everything a schedule was told and answered, a JSON line each: enough to take every decision again.

A log starts with how the schedule was made. What a worker could not take at a moment is in the line of that decision,
so a replay needs neither workers nor a clock.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

from cuzk.engine.jobs import Priority, Task
from cuzk.engine.schedule import Batch, Limits, Schedule
from cuzk.errors import FormatError, InputError

__all__ = ["DecisionFile", "LoggedSchedule", "Write", "replay"]

_LOG = logging.getLogger("cuzk.engine")
#: Of one file; then it is moved aside once, and a new one begun.
_MOST_BYTES = 64 << 20

Write = Callable[[dict[str, Any]], None]


def _text(task: Task) -> list[Any]:
    return [task.seq, task.partition, task.job_id]


def _task(found: list[Any]) -> Task:
    return Task(int(found[0]), int(found[1]), str(found[2]))


class LoggedSchedule(Schedule):
    """A schedule that writes down what it does.

    Args:
        limits, ageing_s, by_partition: As of Schedule.
        write: Takes each line.
    """

    def __init__(self, limits: Limits, *, ageing_s: float, by_partition: bool, write: Write) -> None:
        super().__init__(limits, ageing_s=ageing_s, by_partition=by_partition)
        self._log = write
        write({"do": "begin", "ageing_s": ageing_s, "by_partition": by_partition})

    def add(self, tasks: Iterable[Task], priority: Priority, circuit: str, *, size: int, now: float) -> None:
        """As of Schedule."""
        listed = list(tasks)
        self._log(
            {"do": "add", "at": now, "tasks": [_text(task) for task in listed], "priority": int(priority),
             "circuit": circuit, "size": size}
        )  # fmt: skip
        super().add(listed, priority, circuit, size=size, now=now)

    def next(
        self, *, now: float, most: int = 1, skip: Callable[[Task], bool] = lambda _: False
    ) -> Batch | None:
        """As of Schedule."""
        skipped = [task for entry in self._entries.values() for task in entry.waiting if skip(task)]
        batch = super().next(now=now, most=most, skip=skip)
        if batch is not None:
            self._log(
                {"do": "next", "at": now, "most": most, "skipped": [_text(task) for task in skipped],
                 "taken": [_text(task) for task in batch.tasks], "rank": batch.rank}
            )  # fmt: skip
        return batch

    def entered(self, worker: int, task: Task, stage: str) -> None:
        """A partition is at a stage now; "over" is none. No decision depends on it."""
        self._log({"do": "stage", "worker": worker, "task": _text(task), "stage": stage})

    def put_back(self, task: Task) -> None:
        """As of Schedule."""
        self._log({"do": "put_back", "task": _text(task)})
        super().put_back(task)

    def done(self, task: Task) -> bool:
        """As of Schedule."""
        self._log({"do": "done", "task": _text(task)})
        return super().done(task)

    def drop(self, job_id: str) -> bool:
        """As of Schedule."""
        self._log({"do": "drop", "job": job_id})
        return super().drop(job_id)


class DecisionFile:
    """Lines in a file, each on the way to the disk as soon as it is written.

    Args:
        path: Which file; begun anew with each daemon, the one before is kept beside it as PATH.old.

    Raises:
        InputError: It cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = 0
        self._file = self._open()

    def _open(self) -> TextIO | None:
        try:
            if self._path.is_file():  # a device, or a pipe, is left where it is
                self._path.replace(self._path.with_name(self._path.name + ".old"))
            return self._path.open("w", encoding="utf-8", buffering=1)
        except OSError as error:
            raise InputError(
                f"the decision log cannot be written: {error.strerror}",
                where=os.fspath(self._path),
                remedy="set decision_log to another file, or to nothing",
            ) from error

    def __call__(self, line: dict[str, Any]) -> None:
        """Write one line; a file that has grown too large ends, since no replay could begin in its middle.

        So does one whose disk fails: what it tells of goes on.
        """
        if self._file is None or self._bytes >= _MOST_BYTES:
            return
        text = json.dumps(line, separators=(",", ":")) + "\n"
        try:
            self._file.write(text)
        except OSError as error:
            _LOG.error("decision log", extra={"facts": {"file": self._path, "reason": f"ends here: {error}"}})
            self.close()
        self._bytes += len(text)

    def close(self) -> None:
        """End it."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):  # the line that could not be written is tried once more
                file.close()


def replay(lines: Iterable[str]) -> list[tuple[list[Task], list[Task]]]:
    """Take the decisions of a log again.

    Args:
        lines: Of the log.

    Returns:
        For each decision what was taken then, and what is taken now from the same state.

    Raises:
        FormatError: It is no such log.
    """
    schedule: Schedule | None = None
    decisions: list[tuple[list[Task], list[Task]]] = []
    try:
        for line in lines:
            found = json.loads(line)
            if schedule is None:
                schedule = Schedule(Limits(), ageing_s=found["ageing_s"], by_partition=found["by_partition"])
            elif found["do"] == "next":
                skipped = {_task(one) for one in found["skipped"]}
                batch = schedule.next(now=found["at"], most=found["most"], skip=skipped.__contains__)
                taken = [] if batch is None else list(batch.tasks)
                decisions.append(([_task(one) for one in found["taken"]], taken))
            else:
                _feed(schedule, found)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise FormatError(f"a line of the decision log cannot be read: {error!r}") from error
    return decisions


def _feed(schedule: Schedule, found: dict[str, Any]) -> None:
    """Tell a schedule what another was told."""
    if found["do"] == "add":
        tasks, priority = [_task(one) for one in found["tasks"]], Priority(found["priority"])
        schedule.add(tasks, priority, found["circuit"], size=found["size"], now=found["at"])
    elif found["do"] == "put_back":
        schedule.put_back(_task(found["task"]))
    elif found["do"] == "done":
        schedule.done(_task(found["task"]))
    elif found["do"] == "drop":
        schedule.drop(found["job"])
