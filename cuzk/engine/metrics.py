"""What an engine tells the outside: Prometheus text, and the tree behind /status and the page."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuzk.engine.core import Engine

__all__ = ["health", "prometheus_text", "status_tree"]

_BUCKETS_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)


def health(engine: Engine) -> tuple[bool, str]:
    """Whether the engine can prove, and why not."""
    if engine.is_draining:
        return False, "draining"
    if engine.board.disk_error:
        return False, engine.board.disk_error
    lost = [worker.state for worker in engine.workers if not worker.state.healthy]
    if any(worker.state.ready for worker in engine.workers):
        return True, "ok" if not lost else f"worker {lost[0].index} is being replaced: {lost[0].last_error}"
    return False, f"no worker is ready: {lost[0].last_error}" if lost else "workers are starting"


def prometheus_text(engine: Engine) -> str:
    """All metrics, in Prometheus' text format."""
    from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
    from prometheus_client.core import CounterMetricFamily

    registry = CollectorRegistry(auto_describe=False)
    totals = engine.board.totals

    class Counts:
        def collect(self) -> Any:
            for name, value in dataclasses.asdict(totals).items():
                yield CounterMetricFamily(f"cuzk_{name}", f"{name} since the start", value=value)

    registry.register(Counts())
    Gauge("cuzk_uptime_seconds", "seconds since the start", registry=registry).set(engine.uptime_s())
    waiting = Gauge("cuzk_partitions_waiting", "partitions that wait", ["circuit"], registry=registry)
    running = Gauge("cuzk_partitions_running", "partitions in workers' hands", ["circuit"], registry=registry)
    for circuit, (queued, given) in engine.schedule.by_circuit().items():
        waiting.labels(circuit).set(queued)
        running.labels(circuit).set(given)
    Gauge("cuzk_payload_bytes", "bytes of payloads kept", registry=registry).set(
        engine.schedule.payload_bytes
    )
    per_worker = {
        name: Gauge(f"cuzk_worker_{name}", text, ["worker", "device"], registry=registry)
        for name, text in (
            ("ready", "whether it takes orders"), ("restarts", "processes replaced"), ("orders", "orders in hand"),
            ("rss_bytes", "resident memory"), ("pinned_bytes", "page-locked memory"),
            ("device_used_bytes", "memory of its device in use"), ("key_bytes", "what its keys take"),
            ("key_host_limit_bytes", "what its keys may take of the host"),
            ("key_device_limit_bytes", "what its keys may take of its device"),
        )
    }  # fmt: skip
    for worker in engine.workers:
        state, memory = worker.state, worker.state.memory
        values = {
            "ready": state.ready, "restarts": state.restarts, "orders": len(state.orders), "rss_bytes": memory.rss,
            "pinned_bytes": memory.pinned or 0, "device_used_bytes": memory.device_used or 0,
            "key_bytes": sum(key.host_bytes + key.device_bytes for key in state.keys),
            "key_host_limit_bytes": memory.host_limit or 0, "key_device_limit_bytes": memory.device_limit or 0,
        }  # fmt: skip
        for name, value in values.items():
            per_worker[name].labels(str(state.index), state.device).set(value)
    durations = Histogram(
        "cuzk_job_seconds",
        "from acceptance to end, of the last jobs",
        ["circuit"],
        buckets=_BUCKETS_S,
        registry=registry,
    )
    for circuit, seconds in engine.board.durations_s:
        durations.labels(circuit).observe(seconds)
    return generate_latest(registry).decode()


def status_tree(engine: Engine) -> dict[str, Any]:
    """Everything /status shows, as JSON takes it."""
    now = time.monotonic()
    is_well, why = health(engine)
    stages: dict[str, dict[int, str]] = defaultdict(dict)
    for worker in engine.workers:
        for (job_id, partition), (stage, _) in worker.state.stages.items():
            stages[job_id][partition] = stage
    return {
        "healthy": is_well,
        "health": why,
        "uptime_s": round(engine.uptime_s(), 3),
        "totals": dataclasses.asdict(engine.board.totals),
        "queue": {
            "jobs": len(engine.schedule),
            "partitions_waiting": engine.schedule.waiting(),
            "payload_bytes": engine.schedule.payload_bytes,
            "max_jobs": engine.schedule.limits.jobs,
            "max_payload_bytes": engine.schedule.limits.payload_bytes,
        },
        "jobs": [
            {
                "id": job.id,
                "circuit": job.circuit,
                "priority": job.priority.name,
                "state": job.state.value,
                "age_s": round(engine.board.age_s(job), 3),
                "tags": dict(job.tags),
                "partitions": [
                    "done" if i in job.proofs else stages[job.id].get(i, "waiting")
                    for i in range(job.num_partitions)
                ],
            }
            for job in engine.board.open_jobs()[:200]
        ],
        "workers": [
            {
                "index": worker.state.index,
                "device": worker.state.device,
                "kind": worker.state.kind,
                "ready": worker.state.ready,
                "healthy": worker.state.healthy,
                "restarts": worker.state.restarts,
                "last_error": worker.state.last_error,
                "stages": [
                    {"job": job, "partition": part, "stage": stage, "since_s": round(now - since, 3)}
                    for (job, part), (stage, since) in worker.state.stages.items()
                ],
                "keys": [{**dataclasses.asdict(key), "tier": key.tier.name} for key in worker.state.keys],
                "memory": dataclasses.asdict(worker.state.memory),
                "phases": [dataclasses.asdict(phase) for phase in worker.state.phases],
            }
            for worker in engine.workers
        ],
        "decisions": [dataclasses.asdict(decision) for decision in list(engine.placement.decisions)[-20:]],
    }
