"""Workers as Ray actors, on one machine that pretends to have GPUs: right proofs, and a lost node loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cuzk_fuzz.rehearsal import expected_proof

from cuzk.engine.config import DaemonConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import JobState
from cuzk.engine.journal import Journal
from cuzk.engine.stages import Options
from cuzk.engine.worker import WorkerConfig
from tests.engine.engines import job, run, script, until

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one pretended GPU each, beside a head without any."""
    from ray.cluster_utils import Cluster

    made: Any = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 0, "include_dashboard": False}
    )
    yield made
    ray.shutdown()
    made.shutdown()


def test_a_lost_node_loses_nothing(cluster: Any, tmp_path: Path) -> None:
    """Twelve partitions on two nodes, one of which is killed in the middle: every proof is right."""
    from cuzk.engine.ray_workers import RayCluster

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
        payloads = [script(gpu=150, n=i) for i in range(6)]
        jobs = [engine.submit(job(payload, 2))[0] for payload in payloads]
        await until(lambda: engine.board.totals.proofs >= 2)
        await asyncio.to_thread(cluster.remove_node, nodes[1], allow_graceful=False)
        for one, payload in zip(jobs, payloads, strict=True):
            ended = await engine.board.wait(one.id, None)
            assert ended is not None
            assert ended.state is JobState.DONE, ended.error
            assert ended.proof == expected_proof(payload, 0) + expected_proof(payload, 1)
        assert engine.board.totals.proofs == 12
        assert sum(worker.state.restarts for worker in engine.workers) >= 1

    run(scenario, engine)
