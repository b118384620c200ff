"""The engine with workers that rehearse: a job lost, doubled, mixed up or never ended shows here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.config import PipelineConfig, QueueConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobState, Priority
from cuzk.errors import BusyError, EngineError, InputError
from tests.engine.engines import ENDLESS, Gate, job, make_engine, run, script, until


def ordered(engine: Engine) -> list[tuple[str, int]]:
    return [task for decision in engine.placement.decisions for task in decision.tasks]


@pytest.mark.parametrize(
    "pipeline",
    [
        PipelineConfig(),
        PipelineConfig(overlap=False),
        PipelineConfig(split=False, lookahead=0),
        PipelineConfig(batch=3),
        PipelineConfig(by_partition=False),
        PipelineConfig(workers_per_device=3, lookahead=3),
    ],
    ids=["default", "no overlap", "no split", "batch", "whole jobs", "three threads"],
)
def test_proofs_come_back_in_order(tmp_path: Path, pipeline: PipelineConfig) -> None:
    """Four jobs of one to four partitions, in every shape of the pipeline: the same bytes."""

    async def scenario(engine: Engine) -> None:
        payloads = [script(gpu=1, synthesis=i) for i in range(1, 5)]
        jobs = [engine.submit(job(payload, i + 1))[0] for i, payload in enumerate(payloads)]
        for i, (one, payload) in enumerate(zip(jobs, payloads, strict=True)):
            ended = await engine.board.wait(one.id, None)
            assert ended is not None
            assert ended.state is JobState.DONE, ended.error
            assert ended.proof == b"".join(expected_proof(payload, part) for part in range(i + 1))
            assert {"queue_wait", "synthesis", "gpu", "finish"} <= set(ended.times_ms)
        assert engine.board.totals.proofs == 10
        assert engine.board.totals.done == 4
        assert len(engine.schedule) == 0

    run(scenario, lambda: make_engine(tmp_path, 2, pipeline=pipeline))


def test_one_request_is_one_job(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        first, _ = engine.submit(job(script(gpu=1), name="mine"))
        again, position = engine.submit(job(script(gpu=2), name="mine"))
        assert (again.id, position) == (first.id, 0)
        ended = await engine.board.wait("mine", None)
        assert ended is not None
        assert ended.proof == expected_proof(script(gpu=1), 0)
        after, _ = engine.submit(job(script(gpu=3), name="mine"))
        assert after.proof == ended.proof
        assert engine.board.totals.accepted == 1

    run(scenario, lambda: make_engine(tmp_path))


def test_a_wait_times_out_and_the_job_goes_on(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        gate = Gate(tmp_path / "gate")
        one, _ = engine.submit(job(gate.script()))
        early = await engine.board.wait(one.id, 0.01)
        assert early is not None
        assert not early.state.is_final
        gate.open()
        late = await engine.board.wait(one.id, None)
        assert late is not None
        assert late.state is JobState.DONE
        assert await engine.board.wait("nobody", 0.01) is None

    run(scenario, lambda: make_engine(tmp_path))


def test_cancel_stops_what_runs_and_what_waits(tmp_path: Path) -> None:
    """A job that never ends is cancelled while its first partition runs; the next job is proven."""

    async def scenario(engine: Engine) -> None:
        slow, _ = engine.submit(job(ENDLESS, 3))
        queued, _ = engine.submit(job(ENDLESS))
        await until(lambda: engine.workers[0].state.stages)
        assert engine.cancel(queued.id) is False
        assert engine.cancel(slow.id) is True
        assert engine.cancel(slow.id) is False
        with pytest.raises(InputError, match="no job"):
            engine.cancel("nobody")
        quick, _ = engine.submit(job(script(gpu=1)))
        ended = await engine.board.wait(quick.id, None)
        assert ended is not None
        assert ended.state is JobState.DONE
        for one in (slow, queued):
            found = engine.board.find(one.id)
            assert found is not None
            assert (found.state, found.error) == (JobState.CANCELLED, "cancelled by a client")
        assert engine.board.totals.cancelled == 2

    run(scenario, lambda: make_engine(tmp_path))


def test_what_is_cancelled_in_a_batch_leaves_the_rest(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        before, during = Gate(tmp_path / "before"), Gate(tmp_path / "during")
        await until(lambda: engine.workers[0].state.ready)
        for _ in range(2):  # all that the worker takes, so that the others wait together
            engine.submit(job(before.script()))
        jobs = [engine.submit(job(during.script(), name=f"j{i}"))[0] for i in range(5)]
        before.open()
        await until(lambda: engine.workers[0].state.stages.get(("j1", 0), ("", 0))[0] == "gpu")
        assert [len(decision.tasks) for decision in engine.placement.decisions][:3] == [1, 1, 4]
        engine.cancel("j1")
        during.open()
        for one in jobs:
            ended = await engine.board.wait(one.id, None)
            assert ended is not None
            assert ended.state is (JobState.CANCELLED if one.id == "j1" else JobState.DONE)

    run(scenario, lambda: make_engine(tmp_path, pipeline=PipelineConfig(batch=4)))


def test_draining_takes_nothing_new_and_ends(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        jobs = [engine.submit(job(script(gpu=5)))[0] for _ in range(3)]
        draining = asyncio.create_task(engine.drain())
        await asyncio.sleep(0)
        with pytest.raises(EngineError, match="stopping"):
            engine.submit(job(script()))
        await draining
        assert all(engine.board.find(one.id).state is JobState.DONE for one in jobs)  # type: ignore[union-attr]

    run(scenario, lambda: make_engine(tmp_path))


def test_a_full_queue_accepts_nothing(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        for _ in range(2):
            engine.submit(job(ENDLESS))
        with pytest.raises(BusyError, match="2 jobs"):
            engine.submit(job(ENDLESS, name="refused"))
        assert engine.board.find("refused") is None
        assert engine.board.totals.refused == 1
        for one in engine.board.open_jobs():
            engine.cancel(one.id)

    run(scenario, lambda: make_engine(tmp_path, queue=QueueConfig(max_jobs=2)))


def test_a_job_that_takes_too_long_fails_with_the_limit(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        one, _ = engine.submit(job(ENDLESS))
        ended = await engine.board.wait(one.id, None)
        assert ended is not None
        assert ended.error == "not finished within 0.5 s (request_timeout_s)"

    run(scenario, lambda: make_engine(tmp_path, request_timeout_s=0.5))


def test_critical_overtakes_all_but_the_running(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        gate = Gate(tmp_path / "gate")
        for i in range(4):
            engine.submit(job(gate.script(), 3, name=f"low{i}", priority=Priority.LOW))
        await until(lambda: any(stage == "gpu" for stage, _ in engine.workers[0].state.stages.values()))
        given = len(ordered(engine))
        engine.submit(job(script(gpu=1), name="urgent", priority=Priority.CRITICAL))
        assert ordered(engine)[given:] == [("urgent", 0)], "it is given out at once"
        gate.open()
        await engine.board.wait("urgent", None)
        await engine.board.all_ended()
        # Before it were the one on the device, and the one that was ready for it.
        assert [record.job for record in engine.board.proven].index("urgent") <= 2

    run(scenario, lambda: make_engine(tmp_path))


def test_partitions_go_where_the_key_is(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        await until(lambda: all(worker.state.ready for worker in engine.workers))
        gate = Gate(tmp_path / "gate")
        for circuit in "ab":  # the second goes to the other worker, which has less to do
            engine.submit(job(gate.script(), circuit=circuit))
        gate.open()
        await engine.board.all_ended()
        await until(
            lambda: all(w.state.has_key(circuit) for w, circuit in zip(engine.workers, "ab", strict=True))
        )
        for circuit in "ba":
            engine.submit(job(script(gpu=1), circuit=circuit))
            await engine.board.all_ended()
        placed = [
            (decision.circuit, decision.worker, decision.reason) for decision in engine.placement.decisions
        ]
        assert placed == [
            ("a", 0, "least to do"), ("b", 1, "least to do"), ("b", 1, "key loaded"), ("a", 0, "key loaded"),
        ]  # fmt: skip

    run(scenario, lambda: make_engine(tmp_path, 2))


def test_keys_come_and_go(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        never_started = make_engine(tmp_path / "other")
        with pytest.raises(EngineError, match="no worker is ready"):
            await never_started.keys.preload("a")
        await never_started.stop()
        await until(lambda: engine.workers[0].state.ready)
        assert [answer.was_loaded for answer in await engine.keys.preload("a")] == [False]
        assert [answer.was_loaded for answer in await engine.keys.preload("a")] == [True]
        (answer,) = await engine.keys.preload("unknown")
        assert "no key of unknown" in answer.error
        (answer,) = await engine.keys.preload("whale")
        assert "budget of 1000" in answer.error
        assert [answer.freed for answer in await engine.keys.evict("a")] == [200]
        (answer,) = await engine.keys.evict("a")
        assert (answer.was_loaded, answer.freed) == (False, 0)

    run(scenario, lambda: make_engine(tmp_path, key_sizes={"whale": 2000}))
