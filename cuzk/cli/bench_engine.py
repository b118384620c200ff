"""``cuzk bench single|batch|stress|synth-only|preload``: the engine under load, in this process or as a daemon."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzk.cli.counting import count_lines
from cuzk.cli.output import note, print_json, print_table, table
from cuzk.errors import EngineError, InputError

if TYPE_CHECKING:
    from cuzk.cli.bench_engine_targets import Done, Target

__all__ = ["ENGINE_KINDS", "EngineBench", "bench_engine", "percentiles"]

#: What `cuzk bench` can do to an engine.
ENGINE_KINDS = frozenset({"single", "batch", "stress", "synth-only", "preload"})
_CIRCUIT = "fallback-post:8-0-0:1s:1c"
_PRIORITIES = (1, 2, 2, 2, 3, 4)
_SEED = 1


@dataclass(frozen=True)
class EngineBench:
    """What to do.

    Args:
        kind: One of ENGINE_KINDS.
        circuit: Whose proofs; a small built-in one by default.
        jobs: How many; of preload and synth-only, repetitions.
        concurrency: Clients of `stress`, each with one job at a time.
        address: Of a daemon; None for an engine in this process.
        keys: Folder of keys for an engine in this process; None makes a key of a built-in circuit.
        payload: Vanilla proof or .wtns file; None makes one that no chain accepts.
        device: Of an engine in this process.
    """

    kind: str
    circuit: str | None = None
    jobs: int = 10
    concurrency: int = 4
    address: str | None = None
    keys: Path | None = None
    payload: Path | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        if not (1 <= self.jobs <= 100_000 and 1 <= self.concurrency <= 256):
            raise InputError(
                f"{self.jobs} jobs of {self.concurrency} clients", where="--jobs, --concurrency",
                limit="1 to 100000 jobs, 1 to 256 clients", remedy="10 jobs of 4 clients are the default",
            )  # fmt: skip
        if self.kind == "synth-only" and self.address is not None:
            raise InputError(
                "synth-only with --address", remedy="a daemon proves what it makes; leave it out"
            )


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Of a distribution: the least value that so many percent do not exceed.

    >>> percentiles([4.0, 1.0, 3.0, 2.0])
    {'mean': 2.5, 'p50': 2.0, 'p90': 4.0, 'p99': 4.0, 'max': 4.0}
    """
    ordered = sorted(values)
    if not ordered:
        return {}
    at = {f"p{share}": ordered[max(0, -(-len(ordered) * share // 100) - 1)] for share in (50, 90, 99)}
    found = {"mean": statistics.fmean(ordered), **at, "max": ordered[-1]}
    return {name: round(value, 3) for name, value in found.items()}


def bench_engine(bench: EngineBench, *, as_json: bool) -> int:
    """Run, and report; 1 where a job was not proven."""
    from cuzk.cli.daemon import require_engine_libraries

    require_engine_libraries()
    from cuzk.cli.bench_engine_targets import open_target, payload_of

    circuit = bench.circuit or _CIRCUIT
    payload = payload_of(circuit, bench.payload)
    if bench.kind == "synth-only":
        report = _synth_only(circuit, payload, bench.jobs)
    else:
        with open_target(circuit, bench.address, bench.keys, bench.device) as target:
            note(f"{bench.kind}: {bench.jobs} times {circuit}, {target.name}")
            report = {"where": target.name} | _RUNS[bench.kind](target, bench, circuit, payload)
    report = {"what": bench.kind, "circuit": circuit} | report
    print_json(report) if as_json else _print(report)
    return 1 if report.get("failed") else 0


@dataclass
class _Sampler:
    """The most that workers took while partitions were at each stage, looked at every few milliseconds."""

    target: Target
    peaks: dict[str, int] = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sample for the duration of a ``with`` block."""
        thread = threading.Thread(target=self._run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        while True:
            for stage, rss in self.target.memory().items():
                self.peaks[stage] = max(self.peaks.get(stage, 0), rss)
            if self._ended.wait(self.target.sample_s):
                return


def _load(
    target: Target, bench: EngineBench, circuit: str, payload: bytes, clients: int, mixed: bool
) -> dict[str, Any]:
    """Jobs from so many clients, each waiting for one before it submits the next."""
    target.prove(circuit, payload, 2)  # the first pays for the key and for tables
    rng = random.Random(_SEED)
    priorities = [rng.choice(_PRIORITIES) if mixed else 2 for _ in range(bench.jobs)]
    sampler = _Sampler(target)

    def one(priority: int) -> Done:
        return target.prove(circuit, payload, priority)

    with sampler.running(), ThreadPoolExecutor(clients) as pool:
        began = time.perf_counter()
        done, tell = [], count_lines("jobs", bench.jobs)
        for ended in pool.map(one, priorities):
            done.append(ended)
            tell(len(done))
        wall_s = time.perf_counter() - began
    return _summary(done, priorities if mixed else [], wall_s, sampler.peaks) | {"concurrency": clients}


def _summary(
    done: Sequence[Done], priorities: Sequence[int], wall_s: float, peaks: Mapping[str, int]
) -> dict[str, Any]:
    proven = [one for one in done if not one.error]
    proofs = sum(one.proofs for one in proven)
    stages = sorted({stage for one in proven for stage in one.stages_ms})
    report: dict[str, Any] = {
        "jobs": len(done), "proofs": proofs, "wall_s": round(wall_s, 4),
        "proofs_per_s": round(proofs / wall_s, 3),
        "latency_ms": percentiles([one.latency_ms for one in proven]),
        "stages_ms": {name: percentiles([one.stages_ms.get(name, 0.0) for one in proven]) for name in stages},
        "memory_bytes": dict(peaks), "failed": sorted({one.error for one in done if one.error}),
    }  # fmt: skip
    names = {1: "low", 2: "normal", 3: "high", 4: "critical"}
    if priorities:
        pairs = list(zip(priorities, done, strict=True))
        report["latency_by_priority_ms"] = {
            names[level]: percentiles([one.latency_ms for p, one in pairs if p == level and not one.error])
            for level in sorted(set(priorities))
        }
    return report


def _single(target: Target, bench: EngineBench, circuit: str, payload: bytes) -> dict[str, Any]:
    return _load(target, bench, circuit, payload, 1, mixed=False)


def _batch(target: Target, bench: EngineBench, circuit: str, payload: bytes) -> dict[str, Any]:
    return _load(target, bench, circuit, payload, min(bench.jobs, 256), mixed=False)


def _stress(target: Target, bench: EngineBench, circuit: str, payload: bytes) -> dict[str, Any]:
    return _load(target, bench, circuit, payload, bench.concurrency, mixed=True)


def _preload(target: Target, bench: EngineBench, circuit: str, _: bytes) -> dict[str, Any]:
    """A key loaded and evicted, again and again.

    Raises:
        EngineError: Somebody else uses it, so that a load was none, or had to be done twice.
    """
    cold, warm, freed = [], [], 0
    tell = count_lines("loads", bench.jobs)
    for done in range(1, bench.jobs + 1):
        target.evict(circuit)
        loads = [target.preload(circuit) for _ in range(2)]
        freed = target.evict(circuit)
        if [was_loaded for _, was_loaded in loads] != [False, True] or not freed:
            raise EngineError(
                "the key cannot be loaded and evicted",
                limit="a proof holds it",
                remedy="try when no job runs",
            )
        cold.append(loads[0][0])
        warm.append(loads[1][0])
        tell(done)
    return {
        "jobs": bench.jobs, "load_ms": percentiles(cold), "loaded_before_ms": percentiles(warm),
        "freed_bytes": freed,
    }  # fmt: skip


def _synth_only(circuit: str, payload: bytes, repeats: int) -> dict[str, Any]:
    """What a worker's first stage takes: a payload read and made into hints, or a witness."""
    import tempfile

    from cuzk.circuits.porep import forget_files
    from cuzk.cli.bench_engine_targets import form_of
    from cuzk.engine import aside
    from cuzk.engine.backend import assignment_of
    from cuzk.engine.messages import Payload

    seconds = []
    with tempfile.TemporaryDirectory(prefix="cuzk-bench-") as folder:
        path = Path(folder) / "payload"
        path.write_bytes(payload)
        tell = count_lines("runs", repeats + 1)
        for done in range(1, repeats + 2):
            forget_files()
            aside.forget()
            began = time.perf_counter()
            assignment_of(circuit, Payload(path, form_of(payload), 0))
            seconds.append((time.perf_counter() - began) * 1e3)
            tell(done)
    return {"where": "in process", "jobs": repeats, "synthesis_ms": percentiles(seconds[1:])}


_RUNS: Mapping[str, Callable[[Target, EngineBench, str, bytes], dict[str, Any]]] = {
    "single": _single,
    "batch": _batch,
    "stress": _stress,
    "preload": _preload,
}


def _print(report: Mapping[str, Any]) -> None:
    rows = {
        name: value for name, value in report.items() if name.endswith("_ms") and "mean" in value
    } | {
        f"{group}: {name}": value
        for group, key in (("stage", "stages_ms"), ("priority", "latency_by_priority_ms"))
        for name, value in report.get(key, {}).items()
        if value
    }  # fmt: skip
    rate = f", {report['proofs_per_s']:.4g} proofs/s" if "proofs_per_s" in report else ""
    made = table(
        f"{report['what']}: {report['jobs']} times {report['circuit']}, {report['where']}{rate}",
        "milliseconds", ">mean", ">p50", ">p90", ">p99", ">max",
    )  # fmt: skip
    for name, value in rows.items():
        label = name.removesuffix("_ms").replace("_", " ")
        made.add_row(label, *(f"{value[one]:.2f}" for one in ("mean", "p50", "p90", "p99", "max")))
    print_table(made)
    for stage, peak in report.get("memory_bytes", {}).items():
        print(f"most memory of the workers, {stage}: {peak / 2**20:.1f} MiB")
    for reason in report.get("failed", []):
        print(f"failed: {reason}")
