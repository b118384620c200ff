"""What GetStatus and /status say is what there is: a client plans its memory and its queue by these figures."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cuzk.engine.backend import ProverBackend
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobState, Task
from cuzk.engine.messages import Prove
from cuzk.engine.metrics import prometheus_text, status_tree
from cuzk.engine.pool import WorkerState
from cuzk.engine.service import _status
from cuzk.engine.worker import WorkerConfig
from tests.engine.engines import ENDLESS, Gate, hearing, job, make_engine, run, until


def test_an_automatic_budget_is_reported_as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    available = 10 << 30  # of the machine's own it may be less a moment later
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=available))
    memory = ProverBackend(WorkerConfig("cpu")).memory()
    assert memory.host_limit is not None
    assert 0.3 * available < memory.host_limit < available
    assert memory.device_limit is None  # the cpu has no memory of its own
    assert ProverBackend(WorkerConfig("cpu", settings={"host_bytes": 12345})).memory().host_limit == 12345


def test_limits_are_there_before_any_job_and_sum_over_workers(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        await until(lambda: all(worker.state.memory.host_limit for worker in engine.workers))
        assert _status(engine).pinned_memory_limit_bytes == 2 * 500
        assert _status(engine).pinned_memory_bytes == 0
        answers = await engine.keys.preload("c")
        assert not any(answer.error for answer in answers)
        status = _status(engine)
        assert status.pinned_memory_bytes == 2 * 100
        assert [(key.circuit_id, key.size_bytes) for key in status.loaded_srs] == [("c", 2 * 200)]
        assert [worker["memory"]["host_limit"] for worker in status_tree(engine)["workers"]] == [500, 500]
        assert status_tree(engine)["queue"]["max_payload_bytes"] == engine.config.queue.max_payload_bytes
        text = prometheus_text(engine)
        assert 'cuzk_worker_key_host_limit_bytes{device="rehearsal 0",worker="0"} 500.0' in text

    run(scenario, lambda: make_engine(tmp_path, 2, budget=500))


def test_a_load_shows_while_it_goes_on(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        await until(lambda: engine.workers[0].state.ready)
        loading = asyncio.ensure_future(engine.keys.preload("c"))
        await until(lambda: [key.tier.name for key in engine.workers[0].state.keys] == ["COLD"])
        assert not loading.done()
        gate.open()
        await loading
        assert [key.tier.name for key in engine.workers[0].state.keys] == ["HOT"]

    gate = Gate(tmp_path / "gate")
    run(scenario, lambda: make_engine(tmp_path / "state", load_gate=str(gate.path)))


def test_queues_are_one_a_kind(tmp_path: Path) -> None:
    """Two sizes of one kind of proof are one line: clients look kinds up."""

    async def scenario(engine: Engine) -> None:
        await until(lambda: engine.workers[0].state.ready)
        for circuit in ("porep:2KiB", "porep:8MiB", "other"):
            engine.submit(job(ENDLESS, 2, circuit, name=circuit.replace(":", "-")))
        queues = {queue.proof_kind: queue.pending + queue.in_progress for queue in _status(engine).queues}
        assert queues == {"POREP_SEAL_COMMIT": 4, "other": 2}
        assert len(_status(engine).queues) == 2
        for name in ("porep-2KiB", "porep-8MiB", "other"):
            engine.cancel(name)

    run(scenario, lambda: make_engine(tmp_path))


def test_the_current_job_is_the_one_on_the_device() -> None:
    state = WorkerState(3, "cuda:1", asked="cuda:1")
    assert (state.ordinal, state.current()) == (1, None)
    first, second = Task(1, 0, "first"), Task(2, 0, "second")
    state.orders = {1: Prove(1, "a", (first,), (), 2), 2: Prove(2, "b", (second,), (), 4)}
    assert state.current() == ("first", "a")
    state.stages = {("first", 0): ("ready", 0.0), ("second", 0): ("gpu", 1.0)}
    assert state.current() == ("second", "b")
    assert WorkerState(3, "cpu", asked="cpu").ordinal == 3


def test_a_worker_that_is_told_to_stop_has_not_died(tmp_path: Path) -> None:
    """An end that was asked for is no alarm: neither a warning nor a retry."""

    async def scenario(engine: Engine) -> Engine:
        await until(lambda: engine.workers[0].state.ready)
        engine.submit(job(ENDLESS, name="slow"))
        await until(lambda: engine.workers[0].state.stages)
        return engine

    with hearing() as heard:
        engine = run(scenario, lambda: make_engine(tmp_path), grace_s=0.05)
    stops = [record for record in heard.records if "worker" in record.getMessage()]
    assert [(record.levelname, record.getMessage()) for record in stops] == [("INFO", "worker stopped")]
    assert stops[0].__dict__["facts"] == {"worker": 0, "given_back": 1}
    assert engine.board.totals.retried == 0


def test_a_worker_that_dies_while_the_daemon_drains_has_died(tmp_path: Path) -> None:
    async def scenario(engine: Engine) -> None:
        gate = Gate(tmp_path / "gate")
        await until(lambda: engine.workers[0].state.ready)
        engine.submit(job(gate.script(), name="slow"))
        await until(lambda: engine.workers[0].state.stages)
        draining = asyncio.ensure_future(engine.drain())
        pid = engine.workers[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: engine.workers[0].state.restarts)
        gate.open()
        await draining
        found = engine.board.find("slow")
        assert found is not None
        assert found.state is JobState.DONE

    with hearing() as heard:
        run(scenario, lambda: make_engine(tmp_path / "state"))
    deaths = [
        (record.levelname, record.getMessage()) for record in heard.records if "worker" in record.getMessage()
    ]
    assert deaths == [("WARNING", "worker gone"), ("INFO", "worker stopped")]
