"""Workers as Ray actors, on one machine that pretends to have GPUs: right proofs, and a lost node loses nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.config import DaemonConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobState
from cuzk.engine.journal import Journal
from cuzk.engine.pool import WorkerHandle
from cuzk.engine.stages import Options
from cuzk.engine.worker import WorkerConfig
from tests.cli.support import cuzk
from tests.engine.engines import PATIENCE_S, Gate, job, run, until

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one pretended GPU each, beside a head without any."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        # A busy machine may take longer than Ray waits for its own processes.
        patch.setenv("RAY_gcs_server_port_wait_time_s", str(round(PATIENCE_S / 2)))
        patch.setattr("cuzk.engine.ray_workers._PROBE_S", PATIENCE_S / 2)
        yield from started(Cluster)


def started(cluster: Any) -> Iterator[Any]:
    made: Any = cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 0, "include_dashboard": False}
    )
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.timeout(900)
def test_a_lost_node_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    """Twelve partitions on two nodes, one of which is killed in the middle: every proof is right."""
    from cuzk.engine.ray_workers import RayCluster, check_answers

    check_answers(cluster.address)
    nodes = [cluster.add_node(num_cpus=1, num_gpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    places = RayCluster(cluster.address)
    assert places.num_gpus == 2
    backend = "cuzk_fuzz.rehearsal:make_backend"

    def engine() -> Engine:
        configs = [WorkerConfig("auto", Options(), backend) for _ in range(places.num_gpus)]
        return Engine(DaemonConfig(), configs, Journal(tmp_path), launch=places.launch)

    async def scenario(engine: Engine) -> None:
        await until(lambda: all(worker.state.ready for worker in engine.workers))
        gate = Gate(tmp_path / "gate")  # of this machine, on which all the nodes are
        payloads = [gate.script(n=i, gated=[1]) for i in range(6)]
        jobs = [engine.submit(job(payload, 2))[0] for payload in payloads]
        await until(lambda: all(_on_device(worker) for worker in engine.workers))
        await asyncio.to_thread(cluster.remove_node, nodes[1], allow_graceful=False)
        await until(lambda: any(worker.state.restarts for worker in engine.workers))
        gate.open()
        for one, payload in zip(jobs, payloads, strict=True):
            ended = await engine.board.wait(one.id, None)
            assert ended is not None
            assert ended.state is JobState.DONE, ended.error
            assert ended.proof == expected_proof(payload, 0) + expected_proof(payload, 1)
        assert engine.board.totals.proofs == 12

    run(scenario, engine)


def _on_device(worker: WorkerHandle) -> bool:
    """Whether a worker has one of the partitions that are held back on its device."""
    return any(task[1] == 1 and stage == "gpu" for task, (stage, _) in worker.state.stages.items())


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's own connect, which tries for a minute and more, must not be begun."""

    def begun(**_: Any) -> None:
        raise AssertionError("ray.init was called")

    monkeypatch.setattr("cuzk.engine.ray_workers._PROBE_S", PATIENCE_S / 2)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", begun)


@pytest.mark.usefixtures("no_ray")
def test_an_address_where_nothing_listens_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:  # so that nobody else has it, and nobody listens
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
        done = cuzk("daemon", "--ray", address)
        monkeypatch.setenv("RAY_ADDRESS", f"ray://{address}")
        named = cuzk("daemon", "--ray", "auto")
    assert done.code == 3
    assert f"{address}: the Ray cluster cannot be reached" in done.err
    assert "ray start --head" in done.err
    assert "refused" in done.err
    assert f"ray://{address}: the Ray cluster" in named.err


@pytest.mark.usefixtures("no_ray")
def test_an_address_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuzk.engine.ray_workers._PROBE_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        done = cuzk("daemon", "--ray", address)
    assert done.code == 3
    assert f"{address}: the Ray cluster cannot be reached: no answer within 0.3 s" in done.err


@pytest.mark.usefixtures("no_ray")
def test_a_server_that_is_no_ray_cluster_is_told_apart() -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        done = cuzk("daemon", "--ray", f"127.0.0.1:{port}")
    finally:
        server.stop(None)
    assert done.code == 3
    assert "what answers there is no Ray cluster" in done.err


@pytest.mark.usefixtures("no_ray")
def test_what_is_no_address_is_refused() -> None:
    done = cuzk("daemon", "--ray", "nowhere")
    assert done.code == 2
    assert "'nowhere' is no address" in done.err
