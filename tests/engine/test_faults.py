"""What fails: inputs, devices, workers, the daemon. A job that is lost, proven twice or without a reason shows here."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from functools import partial
from pathlib import Path

from cuzk_fuzz.rehearsal import PROOF_BYTES, expected_proof

from cuzk.engine.config import PipelineConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobState, Priority
from tests.engine.engines import ENDLESS, Gate, job, make_engine, run, script, until


def _is_replaced(engine: Engine, pid: int) -> bool:
    return engine.workers[0].pid not in (pid, None)


def test_bad_input_fails_its_job_at_once(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        bad = [engine.submit(job(payload, 2))[0] for payload in (script(fault="input"), b"no json")]
        reasons = []
        for one in bad:
            ended = await engine.board.wait(one.id, None)
            assert ended is not None
            assert ended.state is JobState.FAILED
            reasons.append(ended.error)
        assert "partition 0 of 2 failed: the witness breaks constraint 7" in reasons[0]
        assert "no JSON" in reasons[1]
        assert engine.board.totals.retried == 0
        assert engine.board.totals.faults == 0

    run(scenario, lambda: make_engine(tmp_path))


def test_a_device_fault_is_retried_elsewhere_once(tmp_path: Path) -> None:
    """One of two devices fails on it: the other proves it. Both fail: the job does, with the case's name."""

    async def scenario(engine: Engine) -> None:
        await until(lambda: all(worker.state.ready for worker in engine.workers))
        good, _ = engine.submit(job(script(fault="device", only_on="0")))
        ended = await engine.board.wait(good.id, None)
        assert ended is not None
        assert ended.state is JobState.DONE
        assert [decision.worker for decision in engine.placement.decisions] == [0, 1]
        assert engine.placement.decisions[1].reason == "retry"
        bad, _ = engine.submit(job(script(fault="device")))
        ended = await engine.board.wait(bad.id, None)
        assert ended is not None
        assert ended.state is JobState.FAILED
        assert "for the second time: kernel rehearsed reported fault 1" in ended.error
        assert "case-" in ended.error
        assert engine.board.totals.faults == 3

    run(scenario, lambda: make_engine(tmp_path, 2))


def test_a_defect_of_ours_is_not_retried(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        one, _ = engine.submit(job(script(fault="internal")))
        ended = await engine.board.wait(one.id, None)
        assert ended is not None
        assert "ZeroDivisionError: a defect of ours" in ended.error
        assert engine.board.totals.faults == 1

    run(scenario, lambda: make_engine(tmp_path))


def test_a_lost_device_never_serves_again(tmp_path: Path) -> None:
    """Its process is replaced, and what it had in hand is proven by the new one."""

    async def scenario(engine: Engine) -> None:
        worker = engine.workers[0]
        await until(lambda: worker.state.ready)
        lost: list[tuple[int | None, bool, bool]] = []
        replace = worker.replace

        def note(reason: str) -> None:
            replace(reason)
            lost.append((worker.pid, worker.state.healthy, worker.state.ready))

        worker.replace = note  # type: ignore[method-assign]
        before = worker.pid
        bad, _ = engine.submit(job(script(fault="lost", gpu=20)))
        good, _ = engine.submit(job(script(gpu=1)))
        ended = await engine.board.wait(good.id, None)
        assert ended is not None
        assert ended.state is JobState.DONE
        found = await engine.board.wait(bad.id, None)
        assert found is not None
        assert found.state is JobState.FAILED
        assert "context is gone" in found.error
        await until(lambda: worker.state.restarts == 2 and worker.state.ready)
        assert worker.state.healthy
        # It was tried twice, by two processes, neither of which is there any more, and neither took orders after it.
        assert [(healthy, ready) for _, healthy, ready in lost] == [(False, False)] * 2
        assert len({before, *(pid for pid, _, _ in lost), worker.pid}) == 3
        assert lost[0][0] == before

    run(scenario, lambda: make_engine(tmp_path))


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        gate = Gate(tmp_path / "gate")
        jobs = [engine.submit(job(gate.script(n=i), 2))[0] for i in range(4)]
        for _ in range(2):
            await until(lambda: any(stage == "gpu" for stage, _ in engine.workers[0].state.stages.values()))
            pid = engine.workers[0].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(partial(_is_replaced, engine, pid))
        gate.open()
        for i, one in enumerate(jobs):
            ended = await engine.board.wait(one.id, None)
            assert ended is not None
            assert ended.state is JobState.DONE, ended.error
            assert ended.proof[:PROOF_BYTES] == expected_proof(gate.script(n=i), 0)
        assert engine.board.totals.proofs == 8
        assert engine.workers[0].state.restarts == 2

    run(scenario, lambda: make_engine(tmp_path))


def test_a_job_that_kills_workers_fails_and_the_others_do_not(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        once, _ = engine.submit(job(script(fault="die", once=str(tmp_path / "died"))))
        killer, _ = engine.submit(job(script(fault="die")))
        ended = await engine.board.wait(once.id, None)
        assert ended is not None
        assert ended.state is JobState.DONE
        ended = await engine.board.wait(killer.id, None)
        assert ended is not None
        assert ended.state is JobState.FAILED
        assert "partition 0 of 1 failed: 3 workers died while they proved it" in ended.error

    run(scenario, lambda: make_engine(tmp_path / "state", pipeline=PipelineConfig(lookahead=0)))


def test_jobs_survive_the_daemon_and_are_not_proven_twice(tmp_path: Path) -> None:
    """Stopped without grace after the first of three partitions: the next daemon makes the other two."""
    gate = Gate(tmp_path / "gate")
    payload = gate.script(gated=[1, 2])

    async def first(engine: Engine) -> None:
        engine.submit(job(payload, 3, name="mine"))
        engine.submit(job(ENDLESS, name="endless"))
        await until(lambda: engine.board.totals.proofs)

    async def second(engine: Engine) -> None:
        gate.open()
        ended = await engine.board.wait("mine", None)
        assert ended is not None
        assert ended.proof == b"".join(expected_proof(payload, part) for part in range(3))
        assert engine.board.totals.proofs == 2
        assert engine.cancel("endless") is True

    run(first, lambda: make_engine(tmp_path), grace_s=0.0)
    run(second, lambda: make_engine(tmp_path))


def test_a_thousand_random_steps_end_every_job_once(tmp_path: Path) -> None:
    """Sixty jobs with faults, cancels and two killed workers: each ends once, with its own bytes or a reason."""

    async def scenario(engine: Engine) -> None:
        rng = random.Random(11)
        payloads: dict[str, tuple[bytes, int]] = {}
        for i in range(60):
            fault = rng.choice(["", "", "", "", "input", "internal"])
            payload = script(gpu=rng.randrange(4), synthesis=rng.randrange(3), n=i, fault=fault)
            count = rng.randrange(1, 4)
            priority = Priority(rng.randrange(1, 5))
            engine.submit(job(payload, count, rng.choice("xyz"), priority, name=f"j{i}"))
            payloads[f"j{i}"] = (payload, count)
            if rng.randrange(8) == 0:
                engine.cancel(f"j{rng.randrange(i + 1)}")
            if i in (20, 40) and (pid := engine.workers[i // 40].pid) is not None:
                os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.002)
        await engine.board.all_ended()
        for name, (payload, count) in payloads.items():
            ended = engine.board.find(name)
            assert ended is not None
            if ended.state is JobState.DONE:
                assert ended.proof == b"".join(expected_proof(payload, part) for part in range(count))
            else:
                assert ended.state in (JobState.FAILED, JobState.CANCELLED)
                assert ended.error
        totals = engine.board.totals
        assert totals.done + totals.failed + totals.cancelled == totals.accepted == 60
        assert totals.done > 20

    run(scenario, lambda: make_engine(tmp_path, 2))


def test_what_waits_beside_a_fault_is_not_blamed_for_it(tmp_path: Path) -> None:
    """Eight times a worker is replaced for its device's sake, while it had this partition in hand."""

    async def scenario(engine: Engine) -> None:
        await until(lambda: engine.workers[0].state.ready)
        for i in range(4):
            engine.submit(job(script(fault="lost", gpu=30, n=i), name=f"lost{i}", priority=Priority.HIGH))
        engine.submit(job(script(gpu=1), name="innocent", priority=Priority.LOW))
        ended = await engine.board.wait("innocent", None)
        assert ended is not None
        assert ended.state is JobState.DONE, ended.error
        # Each of the four was tried twice, and no process that had lost its device was given anything more.
        assert engine.workers[0].state.restarts == 8

    run(scenario, lambda: make_engine(tmp_path, pipeline=PipelineConfig(lookahead=3)))
