"""`cuzk ab --engine` and `cuzk bench` of an engine: a variant that did not run, and bits that differ, must show."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.ab import engine
from cuzk.ab.engine import CONTROL, EngineRow, compare_engines, engine_candidates, pipeline_of
from cuzk.ab.engine_workload import engine_workload, make_key, worker_config
from cuzk.ab.timing import PhaseRatio
from cuzk.cli.bench_engine import EngineBench, _preload, percentiles
from cuzk.cli.bench_engine_targets import Done
from cuzk.engine.backend import ProverBackend, key_bytes
from cuzk.engine.config import DaemonConfig, PipelineConfig, parse_config
from cuzk.engine.daemon import worker_configs
from cuzk.engine.worker import WorkerConfig
from cuzk.errors import EngineError, InputError
from cuzk.formats import load_key
from cuzk.variants import ENGINE_VARIANTS
from tests.cli.support import assert_refused, cuzk

SMALL = "poseidon:2"


def test_defaults_of_the_registry_are_those_of_the_configuration() -> None:
    assert pipeline_of({}) == PipelineConfig()
    changed = pipeline_of({"P2": "off", "P3": "4", "P6": "off", "P8": "2", "P12": "off"})
    assert changed == PipelineConfig(
        overlap=False, batch=4, by_partition=False, workers_per_device=2, split=False
    )
    with pytest.raises(InputError, match="no variant of the engine"):
        pipeline_of({"D4": "8"})
    with pytest.raises(InputError, match="no value '3'"):
        pipeline_of({"P3": "3"})


def test_every_variant_of_the_engine_is_tried() -> None:
    tried = engine_candidates()
    assert {name for name, _ in tried} == set(ENGINE_VARIANTS)
    assert all(ENGINE_VARIANTS[name].default != value for name, value in tried)


@pytest.mark.timeout(900)  # ten processes are started one after the other
def test_every_value_gives_the_same_bits_and_leaves_its_trace() -> None:
    chosen = [("P2", "off"), ("P3", "2"), ("P6", "off"), ("P8", "2"), ("P12", "off")]
    with engine_workload(SMALL, 4, 3) as workload:
        rows = compare_engines(workload, chosen, "cpu", None)
    assert [(row.variant, row.value) for row in rows] == chosen
    assert all(row.same for row in rows)
    assert all(row.left_trace for row in rows), [row.variant for row in rows if not row.left_trace]


def test_other_bits_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second engine blinds with another seed: nothing else would tell the proofs apart."""
    plain, seeds = worker_config, iter(["one", "two"])

    def planted(*arguments: object, blinding: str) -> object:
        return plain(*arguments, blinding=next(seeds))  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "worker_config", planted)
    with engine_workload(SMALL, 1, 1) as workload:
        (row,) = compare_engines(workload, [("P2", "off")], "cpu", None)
    assert row.verdict == "differs in bits"


def test_what_the_defaults_differ_by_from_themselves_has_to_be_exceeded() -> None:
    def against(low: float, ratio: float, high: float) -> PhaseRatio:
        return PhaseRatio("total", 1.0, ratio, ratio, low, high, 10)

    quiet, drifting = against(0.999, 1.0, 1.001), against(1.02, 1.05, 1.10)
    for total, alone, calm, drift in (
        (against(1.04, 1.06, 1.08), "hurts", "hurts", "no difference"),
        (against(1.15, 1.20, 1.25), "hurts", "hurts", "hurts"),
        (against(0.92, 0.94, 0.96), "helps", "helps", "helps"),
        (against(0.98, 1.01, 1.03), "no difference", "no difference", "no difference"),
    ):
        found = [EngineRow("P3", "2", True, True, total, "", c).verdict for c in (None, quiet, drifting)]
        assert found == [alone, calm, drift]
    wide = against(0.90, 1.0, 1.0)
    assert EngineRow("P3", "2", True, True, against(0.92, 0.94, 0.96), "", wide).verdict == "no difference"


@pytest.mark.timeout(900)
def test_the_command_prints_one_table() -> None:
    words = (
        "ab",
        "--engine",
        "P12=off",
        "--workload",
        SMALL,
        "--jobs",
        "1",
        "--partitions",
        "1",
        "--pairs",
        "6",
    )
    done = cuzk(*words, "--json")
    assert done.code == 0, done.err
    control, row = done.report["rows"]
    assert ((control["variant"], control["value"]), control["control"]) == (CONTROL, None)
    assert row["control"] == control["total"]
    assert (row["variant"], row["value"], row["same"]) == ("P12", "off", True)
    assert row["total"]["low"] <= row["total"]["ratio"] <= row["total"]["high"]
    assert_refused(cuzk("ab", "--engine", "P9=off"), 2, "P9 is no variant of the engine")


class Shared:
    """A target whose key others use: what its preloads find, and what an evict frees."""

    name, sample_s = "shared", 1.0

    def __init__(self, found: tuple[bool, bool], freed: int) -> None:
        self._found, self._freed = iter(found), freed

    def preload(self, circuit: str) -> tuple[float, bool]:
        return 1.0, next(self._found)

    def evict(self, circuit: str) -> int:
        return self._freed

    def prove(self, circuit: str, payload: bytes, priority: int) -> Done:
        raise AssertionError

    def memory(self) -> dict[str, int]:
        return {}


def test_a_bench_of_loads_sees_what_was_none() -> None:
    """A key that others hold, have loaded, or have evicted: what a preload takes then says nothing of a load."""
    bench = EngineBench("preload", jobs=1)
    assert _preload(Shared((False, True), 5), bench, SMALL, b"")["freed_bytes"] == 5
    for found, freed in (((True, True), 5), ((False, False), 5), ((False, True), 0)):
        with pytest.raises(EngineError, match="cannot be loaded and evicted"):
            _preload(Shared(found, freed), bench, SMALL, b"")


@pytest.mark.parametrize("kind", ["single", "stress", "preload", "synth-only"])
def test_an_engine_is_put_under_load(kind: str) -> None:
    done = cuzk("bench", kind, SMALL, "--jobs", "3", "--concurrency", "2", "--json", "--device", "cpu")
    assert done.code == 0, done.err
    report = done.report
    assert (report["what"], report["circuit"], report["jobs"]) == (kind, SMALL, 3)
    if kind in ("single", "stress"):
        assert report["proofs"] == 3
        assert report["latency_ms"]["p50"] <= report["latency_ms"]["max"]
        assert set(report["stages_ms"]) == {"queue_wait", "key_load", "synthesis", "gpu", "finish"}
        assert max(report["memory_bytes"].values()) > 1 << 20
    if kind == "preload":
        assert report["freed_bytes"] > 0
        # That the one was a load and the other none, the command sees for itself.
        assert min(report[name]["p50"] for name in ("load_ms", "loaded_before_ms")) > 0


def test_bench_of_an_engine_refuses() -> None:
    assert_refused(cuzk("bench", "single", "--jobs", "0"), 2, "0 jobs")
    assert_refused(cuzk("bench", "single", "mycircuit"), 2, "give --payload")
    assert_refused(cuzk("bench", "synth-only", "--address", "unix:/none"), 2, "leave it out")
    assert cuzk("bench", "single", SMALL, "--address", "unix:/none", "--jobs", "1").code == 3


def test_percentiles() -> None:
    assert percentiles([]) == {}
    assert percentiles(list(range(1, 101))) == {"mean": 50.5, "p50": 50, "p90": 90, "p99": 99, "max": 100}


def test_what_a_real_key_takes_is_measured(tmp_path: Path) -> None:
    """The arrays of the key, as large as its file, and what the cpu's prover copies of them."""
    path = make_key(SMALL, tmp_path)
    arrays = key_bytes(load_key(path))
    assert arrays <= path.stat().st_size <= arrays + (1 << 16)
    backend = ProverBackend(WorkerConfig("cpu", settings={"keys_folder": str(tmp_path)}))
    assert backend.preload(SMALL) is False
    (report,) = backend.keys()
    assert report.device_bytes == 0
    assert arrays <= report.host_bytes <= 3 * arrays + (1 << 20)
    assert backend.evict(SMALL) == report.host_bytes


def test_no_configuration_can_ask_for_known_blinding() -> None:
    for text in ("insecure_blinding = 'x'", "[pipeline]\ninsecure_blinding = 'x'"):
        with pytest.raises(InputError, match="unknown key"):
            parse_config(text)
    (worker,) = worker_configs(DaemonConfig(), ["cpu"])
    assert "insecure_blinding" not in worker.settings
