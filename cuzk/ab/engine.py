"""The engine's variants compared: first that every job's proofs have the same bits, then how long all jobs take.

Both engines of a comparison are there throughout, each with a worker process and the key loaded; runs go by turns, so
that whatever else the machine does hits both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from hashlib import sha256
from types import TracebackType

from cuzk.ab.engine_workload import EngineWorkload, worker_config
from cuzk.ab.runner import TOTAL, Trace
from cuzk.ab.settings import Setting
from cuzk.ab.timing import PhaseRatio, measure, verdict
from cuzk.engine.board import ProofRecord
from cuzk.engine.config import DaemonConfig, PipelineConfig
from cuzk.engine.core import Engine
from cuzk.engine.jobs import Job, JobState
from cuzk.engine.local import LocalEngine
from cuzk.errors import EngineError, InputError
from cuzk.variants import ENGINE_VARIANTS

__all__ = ["CONTROL", "EngineRow", "EngineRunner", "compare_engines", "engine_candidates", "pipeline_of"]

#: The defaults against the defaults: what they differ by is the machine's doing.
CONTROL = ("defaults", "again")
_BLINDING = "cuzk ab"
_PATIENCE_S = 600.0


def pipeline_of(values: dict[str, str]) -> PipelineConfig:
    """The pipeline that values of the engine's variants mean; the rest at its default.

    Raises:
        InputError: There is no such variant or value.
    """
    for name, value in values.items():
        if name not in ENGINE_VARIANTS:
            raise InputError(
                f"{name} is no variant of the engine",
                limit=", ".join(ENGINE_VARIANTS),
                remedy="see `cuzk variants`",
            )
        ENGINE_VARIANTS[name].check(value)
    found = {name: row.default for name, row in ENGINE_VARIANTS.items()} | values
    return replace(
        PipelineConfig(),
        overlap=found["P2"] == "on",
        batch=int(found["P3"]),
        by_partition=found["P6"] == "on",
        workers_per_device=int(found["P8"]),
        split=found["P12"] == "on",
    )


class EngineRunner:
    """An engine in this process with one setting, for the duration of a ``with`` block.

    Args:
        workload: What it proves in each run.
        values: Of the engine's variants.
        device: Of its worker.
    """

    def __init__(self, workload: EngineWorkload, values: dict[str, str], device: str = "cpu") -> None:
        self.values = values
        self.setting = Setting({}, device)
        self._workload = workload
        config = DaemonConfig(pipeline=pipeline_of(values))
        worker = worker_config(config, device, workload.keys_folder, blinding=_BLINDING)
        self._engine = LocalEngine(config, [worker])

    def __enter__(self) -> EngineRunner:
        self._engine.__enter__()
        try:
            self._engine.preload(self._workload.circuit)
        except BaseException:
            self._engine.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._engine.close()

    def run(self) -> list[Job]:
        """All jobs of the workload, submitted at once; in their order once all are proven."""

        def submit(engine: Engine) -> list[str]:
            return [engine.submit(request)[0].id for request in self._workload.requests]

        done = [self._engine.wait(name, _PATIENCE_S) for name in self._engine.ask(submit)]
        for job in done:
            if job.state is not JobState.DONE:
                raise EngineError(f"a job of the comparison is {job.state.value}: {job.error}")
        return done

    def bits(self) -> list[str]:
        """A digest of each job's proofs."""
        return [sha256(job.proof).hexdigest() for job in self.run()]

    def trace(self) -> Trace:
        """What the last run shows of the variants' values."""
        records = self._engine.ask(lambda engine: list(engine.board.proven)[-self._workload.num_proofs :])
        sizes = [
            [len(decision.tasks), len({job for job, _ in decision.tasks})]
            for decision in self._engine.ask(lambda engine: list(engine.placement.decisions))
        ]
        return Trace(traces=_shown(records, sizes))

    def sample(self, clock: str) -> dict[str, float]:
        """Milliseconds of all jobs together, and of each stage summed over partitions."""
        if clock != "wall":
            raise InputError(
                f"clock {clock!r} of an engine",
                limit="wall: its work is in other processes",
                remedy="leave --clock out",
            )
        began = time.perf_counter()
        done = self.run()
        found = {TOTAL: (time.perf_counter() - began) * 1e3}
        for job in done:
            for stage, milliseconds in job.times_ms.items():
                found[stage] = found.get(stage, 0.0) + milliseconds
        return found


def _shown(records: Sequence[ProofRecord], sizes: Sequence[Sequence[int]]) -> dict[str, set[str]]:
    """Which values left their mark: threads of the stages, and sizes of what was given out."""
    threads = [record.threads for record in records]
    gpu = {one["gpu"] for one in threads}
    largest = max((tasks for tasks, _ in sizes), default=0)
    return {
        "P2": {"on" if any(one["synthesis"] != one["gpu"] for one in threads) else "off"},
        "P12": {"on" if any(one["finish"] != one["gpu"] for one in threads) else "off"},
        "P8": {str(len(gpu))},
        "P3": {str(largest)},
        "P6": {"off" if any(tasks > 1 and jobs == 1 for tasks, jobs in sizes) else "on"},
    }


@dataclass(frozen=True)
class EngineRow:
    """What one value gives.

    Args:
        variant: Whose.
        value: Which.
        same: Whether every job's proofs have the bits that the defaults give.
        left_trace: Whether the run shows the value.
        total: Time of all jobs against the defaults; None where the bits differ.
        forecast: What the registry expects.
        control: Time of the defaults against the defaults in the same comparison; None where it was not measured.
    """

    variant: str
    value: str
    same: bool
    left_trace: bool
    total: PhaseRatio | None
    forecast: str
    control: PhaseRatio | None = None

    @property
    def verdict(self) -> str:
        """Helps, hurts, no difference, left no trace, or differs in bits.

        Where the defaults were measured against themselves, what they differ by has to be exceeded.
        """
        if not self.same:
            return "differs in bits"
        if not self.left_trace:
            return "left no trace"
        if self.total is None:
            return "not measured"
        if self.control is None:
            return self.total.verdict
        # The control's interval is widened to 1: a machine that drifts one way may drift the other.
        low = self.total.low / max(self.control.high, 1.0)
        return verdict(self.total.ratio, low, self.total.high / min(self.control.low, 1.0))


def engine_candidates(most_threads: int = 2) -> list[tuple[str, str]]:
    """Every value that is not a default, the many ones up to a batch of eight and a few threads."""
    return [
        (row.id, value)
        for row in ENGINE_VARIANTS.values()
        for value in row.values
        if value != row.default and not (row.id == "P8" and int(value) > most_threads)
        and not (row.id == "P3" and int(value) > 8)
    ]  # fmt: skip


def compare_engines(
    workload: EngineWorkload,
    chosen: Sequence[tuple[str, str]],
    device: str,
    pairs: int | None,
    progress: Callable[[str], None] = lambda line: None,
) -> list[EngineRow]:
    """Each value alone against the defaults.

    Args:
        workload: What is proven.
        chosen: Variant and value; CONTROL is the defaults once more, and rows after it are judged by it.
        device: Where.
        pairs: Pairs of runs; None measures no times.
        progress: Told what is being done.
    """
    rows: list[EngineRow] = []
    control: PhaseRatio | None = None
    with ExitStack() as stack:
        base = stack.enter_context(EngineRunner(workload, {}, device))
        wanted = base.bits()
        for name, value in chosen:
            again = (name, value) == CONTROL
            progress(f"{name} {value}" if again else f"{name}={value}")
            with EngineRunner(workload, {} if again else {name: value}, device) as runner:
                same = runner.bits() == wanted
                shown = again or value in runner.trace().traces[name]
                timed = measure(base, runner, pairs=pairs)[0] if same and pairs is not None else None
            forecast = "no difference" if again else ENGINE_VARIANTS[name].forecast
            rows.append(EngineRow(name, value, same, shown, timed, forecast, None if again else control))
            control = timed if again else control
    return rows
