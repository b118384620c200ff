"""The order of partitions: a wrong one starves a job, lets a late one overtake, or proves one twice."""

from __future__ import annotations

import random

import pytest

from cuzk.engine.jobs import JobRequest, PayloadForm, Priority, Task, check_request_id
from cuzk.engine.schedule import Batch, Limits, Schedule
from cuzk.errors import BusyError, InputError, RangeError


def tasks(seq: int, count: int = 1) -> list[Task]:
    return [Task(seq, i, f"job{seq}") for i in range(count)]


def schedule(**options: float) -> Schedule:
    return Schedule(Limits(jobs=5, payload_bytes=100), ageing_s=options.get("ageing_s", 0.0))


def names(batch: Batch | None) -> list[tuple[int, int]]:
    assert batch is not None
    return [(task.seq, task.partition) for task in batch.tasks]


def test_urgent_then_oldest_then_lowest_partition() -> None:
    queue = schedule()
    for seq, priority in enumerate((Priority.LOW, Priority.NORMAL, Priority.CRITICAL, Priority.NORMAL)):
        queue.add(tasks(seq, 2), priority, "c", size=1, now=0)
    order = []
    while (batch := queue.next(now=0)) is not None:
        order += names(batch)
    assert order == [(2, 0), (2, 1), (1, 0), (1, 1), (3, 0), (3, 1), (0, 0), (0, 1)]


def test_waiting_raises_a_job_to_high_and_never_above() -> None:
    queue = schedule(ageing_s=10)
    queue.add(tasks(0), Priority.LOW, "c", size=1, now=0)
    queue.add(tasks(1), Priority.CRITICAL, "c", size=1, now=1000)
    queue.add(tasks(2), Priority.HIGH, "c", size=1, now=1000)
    assert [queue.rank("job0", now) for now in (0, 9.9, 10, 20, 1e6)] == [1, 1, 2, 3, 3]
    assert [names(queue.next(now=1000))[0][0] for _ in range(3)] == [1, 0, 2]


def test_a_clock_that_goes_back_lowers_nobody_below_the_own_priority() -> None:
    queue = schedule(ageing_s=10)
    queue.add(tasks(0), Priority.NORMAL, "c", size=1, now=100)
    assert queue.rank("job0", -1e9) == Priority.NORMAL
    batch = queue.next(now=-1e9)
    assert batch is not None
    assert batch.waited_s == 0


def test_a_batch_holds_one_circuit_and_overtakes_nobody() -> None:
    queue = schedule()
    queue.add(tasks(0, 2), Priority.NORMAL, "x", size=1, now=0)
    queue.add(tasks(1, 1), Priority.NORMAL, "y", size=1, now=0)
    queue.add(tasks(2, 3), Priority.NORMAL, "x", size=1, now=0)
    assert names(queue.next(now=0, most=4)) == [(0, 0), (0, 1)]
    assert names(queue.next(now=0, most=4)) == [(1, 0)]
    assert names(queue.next(now=0, most=2)) == [(2, 0), (2, 1)]
    assert names(queue.next(now=0, most=2)) == [(2, 2)]
    assert queue.next(now=0) is None


def test_a_whole_job_at_a_time() -> None:
    queue = Schedule(Limits(), by_partition=False)
    queue.add(tasks(0, 3), Priority.NORMAL, "x", size=1, now=0)
    queue.add(tasks(1, 2), Priority.NORMAL, "x", size=1, now=0)
    assert names(queue.next(now=0)) == [(0, 0), (0, 1), (0, 2)]
    assert names(queue.next(now=0)) == [(1, 0), (1, 1)]


def test_what_a_worker_cannot_take_stays_for_others() -> None:
    queue = schedule()
    queue.add(tasks(0), Priority.CRITICAL, "c", size=1, now=0)
    queue.add(tasks(1), Priority.LOW, "c", size=1, now=0)

    def skip(task: Task) -> bool:
        return task.seq == 0

    assert queue.head(now=0) == Task(0, 0, "job0")
    assert queue.head(now=0, skip=skip) == Task(1, 0, "job1")
    assert names(queue.next(now=0, skip=skip)) == [(1, 0)]
    assert queue.next(now=0, skip=skip) is None
    assert queue.head(now=0, skip=skip) is None
    assert names(queue.next(now=0)) == [(0, 0)]


def test_put_back_restores_the_place_and_done_counts_once() -> None:
    queue = schedule()
    queue.add(tasks(0, 3), Priority.NORMAL, "c", size=1, now=0)
    first, second = (queue.next(now=0).tasks[0] for _ in range(2))  # type: ignore[union-attr]
    queue.put_back(first)
    queue.put_back(first)
    assert names(queue.next(now=0)) == [(0, 0)]
    assert not queue.done(first)
    assert not queue.done(second)
    last = names(queue.next(now=0))
    assert last == [(0, 2)]
    assert queue.done(tasks(0, 3)[2])
    assert not queue.done(second)
    assert len(queue) == 0


def test_dropped_jobs_take_nothing_back() -> None:
    queue = schedule()
    queue.add(tasks(0, 2), Priority.NORMAL, "c", size=1, now=0)
    taken = queue.next(now=0)
    assert taken is not None
    assert queue.drop("job0")
    assert not queue.drop("job0")
    queue.put_back(taken.tasks[0])
    assert queue.next(now=0) is None
    queue.add(tasks(1), Priority.NORMAL, "c", size=1, now=0)
    assert not queue.drop("job1")


@pytest.mark.parametrize(("size", "jobs"), [(1, 5), (21, 4)])
def test_a_full_queue_is_refused_with_its_limit(size: int, jobs: int) -> None:
    queue = schedule()
    for seq in range(jobs):
        queue.check_room(20)
        queue.add(tasks(seq), Priority.NORMAL, "c", size=20, now=0)
    with pytest.raises(BusyError, match=r"limit: (5 jobs|100 bytes)"):
        queue.check_room(size)
    assert queue.payload_bytes == 20 * jobs


def test_position_counts_what_comes_before() -> None:
    queue = schedule()
    queue.add(tasks(0, 3), Priority.NORMAL, "c", size=1, now=0)
    queue.add(tasks(1, 3), Priority.NORMAL, "c", size=1, now=0)
    assert [queue.position(f"job{seq}", 0) for seq in (0, 1)] == [0, 3]
    queue.next(now=0)
    assert queue.position("job1", 0) == 2
    assert queue.by_circuit() == {"c": (5, 1)}
    assert queue.waiting() == 5


def test_every_partition_comes_out_exactly_once() -> None:
    """A thousand random steps: what is taken, put back, done and dropped adds up."""
    rng = random.Random(3)
    queue = Schedule(Limits(), ageing_s=5)
    proven: list[Task] = []
    dropped: set[str] = set()
    running: list[Task] = []
    added = 0
    for now in range(1000):
        kind = rng.randrange(10)
        if kind < 3:
            count = rng.randrange(1, 6)
            queue.add(tasks(added, count), Priority(rng.randrange(1, 5)), rng.choice("xyz"), size=1, now=now)
            added += 1
        elif kind < 7:
            batch = queue.next(now=now, most=rng.randrange(1, 4))
            running += batch.tasks if batch else ()
        elif running:
            task = running.pop(rng.randrange(len(running)))
            if kind == 7:
                queue.put_back(task)
            elif kind == 8:
                queue.drop(task.job_id)
                dropped.add(task.job_id)
                running = [other for other in running if other.job_id != task.job_id]
            else:
                queue.done(task)
                proven.append(task)
    while (batch := queue.next(now=2000)) is not None:
        running += batch.tasks
    for task in running:
        queue.done(task)
    proven += running
    assert len(queue) == 0
    assert len(set(proven)) == len(proven)
    kept = {task.job_id for task in proven} - dropped
    assert kept == {f"job{seq}" for seq in range(added)} - dropped


@pytest.mark.parametrize("text", ["", "a b", "x" * 129, "ä", "a\n", "a;b"])
def test_identifiers_that_a_log_could_not_hold(text: str) -> None:
    with pytest.raises(InputError):
        check_request_id(text)
    assert check_request_id("porep-9:f01000/7@x") == "porep-9:f01000/7@x"


def test_a_request_has_partitions() -> None:
    with pytest.raises(RangeError):
        JobRequest("c", 0, b"", PayloadForm.VANILLA)


def test_a_critical_partition_is_batched_with_critical_ones_alone() -> None:
    """Else it would wait until the others of its batch are proven too."""
    queue = schedule()
    queue.add(tasks(0, 3), Priority.LOW, "c", size=1, now=0)
    queue.add(tasks(1, 1), Priority.CRITICAL, "c", size=1, now=0)
    queue.add(tasks(2, 1), Priority.CRITICAL, "c", size=1, now=0)
    assert names(queue.next(now=0, most=4)) == [(1, 0), (2, 0)]
    assert names(queue.next(now=0, most=4)) == [(0, 0), (0, 1), (0, 2)]
