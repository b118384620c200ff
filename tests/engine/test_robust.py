"""What a service meets in a year: hung workers, full disks, clients that wait or leave, keys held by nobody."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.config import DaemonConfig, KeysConfig, PipelineConfig, QueueConfig
from cuzk.engine.core import Engine
from cuzk.engine.decision_log import replay
from cuzk.engine.jobs import JobState, Priority
from cuzk.engine.journal import Journal
from cuzk.engine.key_files import KeyFiles
from cuzk.engine.metrics import health, status_tree
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import EngineError, FormatError, InputError
from tests.engine.engines import (
    ENDLESS,
    PATIENCE_S,
    Gate,
    hearing,
    job,
    make_engine,
    run,
    script,
    stages_of,
    until,
)


async def ended(engine: Engine, name: str) -> Any:
    found = await engine.board.wait(name, None)
    assert found is not None
    return found


def test_a_hung_worker_is_replaced_and_its_partition_tried_once_more(tmp_path: Path) -> None:
    """What hangs twice fails with the reason; what waited behind it is proven.

    No time passes for the watchdog but what is put back on its clock, when the worker has nothing more to say.
    """
    limit_s = 10 * PATIENCE_S

    async def scenario(engine: Engine) -> None:
        state = engine.workers[0].state
        await until(lambda: state.ready)
        pids = [engine.workers[0].pid]
        hung, _ = engine.submit(job(script(fault="hang"), name="hung"))
        engine.submit(job(script(gpu=1), name="behind"))
        silent = {("hung", 0): "gpu", ("behind", 0): "ready"}
        for _ in range(2):
            await until(lambda: {task: stage for task, (stage, _) in state.stages.items()} == silent)
            state.heard -= 2 * limit_s
            await until(lambda: engine.workers[0].pid not in (*pids, None))
            pids.append(engine.workers[0].pid)
        assert (await ended(engine, "hung")).state is JobState.FAILED
        assert f"stalled: no progress for {limit_s:g} s (pipeline.stall_s), for the second time" in hung.error
        assert (await ended(engine, "behind")).proof == expected_proof(script(gpu=1), 0)
        assert state.restarts == engine.board.totals.faults == 2

    run(scenario, lambda: make_engine(tmp_path, pipeline=PipelineConfig(stall_s=limit_s)))


def test_a_worker_with_nothing_to_do_is_left_alone(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        await until(lambda: engine.workers[0].state.ready)
        state = engine.workers[0].state
        assert state.stalled(time.monotonic() + 1e6, 1.0) == ""
        engine.submit(job(ENDLESS, name="slow"))
        await until(lambda: state.stages.get(("slow", 0), ("", 0))[0] == "gpu")
        assert "no progress" in state.stalled(time.monotonic() + 2, 1.0)
        assert state.culprit() == ("slow", 0)
        engine.cancel("slow")

    run(scenario, lambda: make_engine(tmp_path))


def test_a_key_is_let_go_where_a_partition_is_cancelled_between_stages(tmp_path: Path) -> None:
    """The second partition is through with the device and waits to be finished when its job is cancelled."""

    async def scenario(engine: Engine) -> None:
        gate, seen = Gate(tmp_path / "gate"), stages_of(engine)
        engine.submit(job(gate.script("finish"), name="first"))
        engine.submit(job(script(), name="second"))
        await until(lambda: seen.get("second") == ["synthesis", "ready", "gpu", "ready"])
        assert engine.workers[0].state.stages[("first", 0)][0] == "finish"
        assert engine.cancel("second")
        gate.open()
        await ended(engine, "first")
        await until(lambda: not engine.workers[0].state.orders)
        (answer,) = await engine.keys.evict("c")
        assert answer.freed, "a proof that nobody wants still holds the key"

    run(scenario, lambda: make_engine(tmp_path))


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the journal takes no writes health says so and nobody is told of a proof; then all is written."""
    full, refused = [False], []
    write = Journal._write

    def refuse(self: Journal, statement: str, values: tuple[object, ...]) -> Any:
        if full[0]:
            refused.append(statement.split()[0])
            raise EngineError("the journal cannot be written: database or disk is full")
        return write(self, statement, values)

    monkeypatch.setattr(Journal, "_write", refuse)

    async def scenario(engine: Engine) -> None:
        engine.submit(job(script(gpu=1), 2, name="one"))
        full[0] = True
        await until(lambda: engine.board.totals.proofs == 2)
        assert health(engine) == (False, engine.board.disk_error)
        assert "disk is full" in engine.board.disk_error
        early = await engine.board.wait("one", 0.05)
        assert early is not None
        assert not early.state.is_final
        await until(lambda: refused.count("DELETE") > 1)  # a sweep that meets the full disk goes on sweeping
        full[0] = False
        done = await ended(engine, "one")
        assert (done.state, len(done.proof)) == (JobState.DONE, 384)
        assert engine.board.journal.find("one") is not None
        assert health(engine) == (True, "ok")
        assert engine.board.totals.done == 1

    run(scenario, lambda: make_engine(tmp_path))


def test_whoever_waits_gets_the_result_though_none_are_kept(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        engine.submit(job(script(gpu=20), name="one"))
        waiting = asyncio.create_task(engine.board.wait("one", None))
        await until(lambda: not engine.board.open_jobs())
        engine.board.journal.prune(most=0, max_age_s=0.0)
        found = await waiting
        assert found is not None
        assert found.proof == expected_proof(script(gpu=20), 0)
        assert engine.board.find("one") is None

    run(scenario, lambda: make_engine(tmp_path, queue=QueueConfig(max_results=0)))


def test_a_large_payload_does_not_stop_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several at once whose writing blocks: the loop turns meanwhile, order is kept, one name is one job."""
    store = Journal.store
    begun, may_end = threading.Event(), threading.Event()

    def blocked(self: Journal, payload: bytes) -> str:
        begun.set()
        assert may_end.wait(PATIENCE_S / 4), "the loop does not turn while a payload is written"
        return store(self, payload)

    monkeypatch.setattr(Journal, "store", blocked)

    async def scenario(engine: Engine) -> None:
        names = ["a", "b", "a", "c"]
        submitted = [asyncio.create_task(engine.submit_large(job(script(n=n), name=n))) for n in names]
        left = asyncio.create_task(engine.submit_large(job(script(), name="left")))
        await until(begun.is_set)
        left.cancel()
        assert not any(one.done() for one in submitted)
        may_end.set()
        jobs = [(await one)[0] for one in submitted]
        assert [one.seq for one in jobs] == [1, 2, 1, 3]
        await until(lambda: engine.board.find("left"))  # accepted all the same: it was on its way
        assert engine.board.totals.accepted == 4

    run(scenario, lambda: make_engine(tmp_path))


def test_what_is_on_its_way_counts_against_the_limit(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        payload = b"{}" + b" " * 98
        found = await asyncio.gather(
            *(engine.submit_large(job(payload)) for _ in range(4)), return_exceptions=True
        )
        assert sum(isinstance(one, EngineError) for one in found) == 2

    run(scenario, lambda: make_engine(tmp_path, queue=QueueConfig(max_payload_bytes=250)))


def test_decisions_can_be_taken_again(tmp_path: Path) -> None:
    """The log of a run with retries, cancels and priorities gives the same order in a schedule of its own."""
    log = tmp_path / "decisions.jsonl"

    async def scenario(engine: Engine) -> None:
        for i in range(24):
            payload = script(gpu=i % 3, n=i, fault="device" if i == 5 else "", only_on="0")
            engine.submit(job(payload, 1 + i % 4, "xy"[i % 2], Priority(1 + i % 4), name=f"j{i}"))
            if i in (7, 13):
                engine.cancel(f"j{i - 1}")
            if i >= 12:  # the first twelve wait together, however fast the workers are
                await asyncio.sleep(0.003)
        await engine.board.all_ended()

    pipeline = PipelineConfig(batch=2, lookahead=1)
    run(scenario, lambda: make_engine(tmp_path, 2, pipeline=pipeline, decision_log=str(log)))
    lines = log.read_text().splitlines()
    decisions = replay(lines)
    assert len(decisions) > 20
    assert all(then == now for then, now in decisions)
    changed = [line.replace('"priority":4', '"priority":1') for line in lines]
    assert any(then != now for then, now in replay(changed)), "a replay that sees no difference shows nothing"
    with pytest.raises(FormatError, match="decision log"):
        replay([*lines, '{"do":"next"}'])


def test_a_key_that_cannot_be_preloaded_is_said(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        await until(lambda: engine.workers[0].state.last_error)
        shown = status_tree(engine)["workers"][0]
        assert (shown["ready"], "no key of unknown" in shown["last_error"]) == (True, True)

    with hearing() as heard:
        run(scenario, lambda: make_engine(tmp_path, keys=KeysConfig(preload=("unknown",))))
    assert heard.messages.count("preload failed") == 1


@pytest.mark.parametrize("name", ["a" * 300, "../secret", ".hidden", "a\0b"])
def test_strange_names_of_circuits_are_no_defect_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        KeyFiles(str(tmp_path), {}).find(name)


def test_a_folder_of_keys_that_is_not_there_is_refused(tmp_path: Path) -> None:
    KeyFiles("", {}).check_folder()
    KeyFiles(str(tmp_path), {}).check_folder()
    with pytest.raises(InputError, match="folder of keys cannot be read"):
        KeyFiles(str(tmp_path / "none"), {}).check_folder()


def test_a_worker_that_cannot_start_says_why(tmp_path: Path) -> None:
    def engine() -> Engine:
        config = DaemonConfig(keys=KeysConfig())
        return Engine(config, [WorkerConfig("nothing")], Journal(tmp_path))

    async def scenario(running: Engine) -> None:
        await until(lambda: running.workers[0].state.last_error)
        assert "nothing" in running.workers[0].state.last_error
        assert not running.workers[0].state.ready

    run(scenario, engine)


def test_a_device_fault_on_the_only_device_is_retried_on_its_processor(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        payload = script(fault="device", host="well")
        engine.submit(job(payload, name="one"))
        assert (await ended(engine, "one")).proof == expected_proof(payload, 0)
        assert [decision.reason for decision in engine.placement.decisions] == ["only one free", "retry"]

    run(scenario, lambda: make_engine(tmp_path))


def test_the_journal_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand jobs, ten results kept: files of ended jobs are gone, pages of the journal are used again.

    What waits for the disk waits for nothing here: the sizes are the same, and a busy disk takes minutes.
    """
    monkeypatch.setattr("cuzk.engine.journal.os.fsync", lambda _: None)
    journal = Journal(tmp_path)
    journal._db.execute("PRAGMA synchronous = OFF")
    sizes = []
    for i in range(1000):
        one, _ = journal.accept(job(script(n=i), name=f"j{i}"))
        journal.record_proof(one.id, 0, bytes(192))
        journal.finish(one, JobState.DONE)
        if i % 100 == 99:
            journal.prune(most=10, max_age_s=1e9)
            sizes.append(sum(path.stat().st_size for path in tmp_path.iterdir() if path.is_file()))
    assert not list((tmp_path / "payloads").iterdir())
    assert sizes[-1] <= sizes[1] * 1.5 + 65536
    journal.close()
