"""What the device suite says of compiled circuits, of the engine and of streamed keys becomes figures of the ledger.

Would catch: a circuit whose times are dropped in silence, a phase under another circuit's name, a memory peak of the
set-up taken for that of a proof, a streamed proof's time taken for a resident one's, a step that failed taken for one
that ran.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cuzk.errors import FormatError
from cuzk.perf import read_baseline, write_baseline
from cuzk.perf.sources import baselines_of


def spread(median: float) -> dict[str, Any]:
    samples = [median, median * 0.99, median * 1.01]
    return {
        "median_ms": median,
        "min_ms": samples[1],
        "max_ms": samples[2],
        "repeats": 3,
        "samples_ms": samples,
    }


SYNTHESIS = {
    "circuit": "porep:2KiB", "rows": 7, "variables": 6, "device_bytes": 5, "witness": spread(14.0) | {"floor_ms": 1.0},
    "a": spread(0.2), "b": spread(0.1), "c": spread(0.15), "all": spread(14.4), "all_in_a_graph": spread(14.3),
}  # fmt: skip
LADDER = {
    "circuit": "stacked:8-8-0:1073741824n:11l:1c", "constraints": 70, "variables": 60, "setup_device_bytes": 50,
    "setup_host_bytes": 51, "device_bytes": 52, "host_bytes": 53, "read": spread(3.0), "all": spread(146.0),
    "phases": {"witness": spread(49.0), "prove": spread(143.0)},
}  # fmt: skip


def test_circuits_of_the_suite(tmp_path: Path) -> None:
    rows = {"synthesis": SYNTHESIS, "ladder": LADDER}
    parts = {name: {"results": {"rows": [row]}} for name, row in rows.items()}
    data = {"gpu": "cuda:0 (NVIDIA H200)", "parts": parts}
    synthesis, ladder = baselines_of(data, {"driver": "580"}, "test", "0" * 12, "2026-11-30", 1)
    assert synthesis.workload == "synthesis-porep-2KiB"
    assert synthesis.load == {"circuit": "porep:2KiB", "constraints": 7, "variables": 6}
    assert set(synthesis.measured) == {"witness", "a", "b", "c", "all", "all_in_a_graph"}
    assert synthesis.measured["witness"]["time"].samples == (14.0, 14.0 * 0.99, 14.0 * 1.01)
    assert synthesis.figures == {"all": {"device_memory": 5}}
    assert ladder.workload == "circuit-stacked-8-8-0-1073741824n-11l-1c"
    assert ladder.measured["vanilla_to_proof"]["time"].median == 146.0
    assert ladder.measured["witness"]["time"].median == 49.0
    assert ladder.figures == {
        "setup": {"device_memory": 50, "host_memory": 51},
        "prove": {"device_memory": 52, "host_memory": 53},
    }
    assert read_baseline(write_baseline(tmp_path, ladder)) == ladder


SETUP = {
    "device": "cuda:0 (NVIDIA H200)", "setup_s": 90.0, "constraints": 70, "variables": 60, "device_bytes": 20,
    "host_bytes": 48,
}  # fmt: skip
SINGLE = {
    "circuit": "porep:32GiB", "device": "cuda:0 (NVIDIA H200)", "read": spread(35.0), "all": spread(1171.0),
    "phases": {"msm_h": spread(707.0)}, "device_bytes": 89, "host_bytes": 47,
}  # fmt: skip
STAGES = {"synthesis": 23.0, "gpu": 1154.0, "key_load": 0.02, "finish": 52.0}
ENGINE = {
    "partitions": 10, "stages": {name: spread(median) for name, median in STAGES.items()},
    "peaks": {"worker0_rss": 50, "worker0_device_used": 88, "worker0_device_limit": 87}, "devices": ["cuda:0"],
}  # fmt: skip


def test_steps_of_the_engine(tmp_path: Path) -> None:
    steps = {"setup": SETUP, "single": SINGLE, "engine": ENGINE}
    data = {"circuit": "porep:32GiB", "steps": steps}
    circuit, engine = baselines_of(data, {"driver": "580"}, "test", "0" * 12, "2026-11-30", 1)
    assert circuit.environment == engine.environment == {"gpu": "NVIDIA H200", "driver": "580"}
    assert circuit.workload == "circuit-porep-32GiB"
    assert circuit.measured["vanilla_to_proof"]["time"].median == 1171.0
    assert circuit.measured["msm_h"]["time"].median == 707.0
    assert circuit.figures == {
        "setup": {"device_memory": 20, "host_memory": 48},
        "prove": {"device_memory": 89, "host_memory": 47},
    }
    assert engine.workload == "engine-porep-32GiB"
    assert engine.load == {"circuit": "porep:32GiB", "constraints": 70, "variables": 60, "partitions": 10}
    assert {stage: found["time"].median for stage, found in engine.measured.items()} == {
        "synthesis": 23.0, "gpu": 1154.0, "finish": 52.0,
    }  # fmt: skip
    assert engine.figures == {"worker": {"device_memory": 88, "host_memory": 50}}
    assert read_baseline(write_baseline(tmp_path, engine)) == engine


def test_several_workers_are_a_workload_of_their_own() -> None:
    """Also inside a suite's file; of memory the worker that had most counts."""
    peaks = {"worker0_rss": 50, "worker0_device_used": 88, "worker1_rss": 51, "worker1_device_used": 87}
    engines = ENGINE | {"devices": ["cuda:0", "cuda:1"], "partitions": 20, "peaks": peaks}
    results = {"circuit": "porep:32GiB", "steps": {"setup": SETUP, "engine": ENGINE, "engines": engines}}
    data = {"gpu": "cuda:0 (NVIDIA H200)", "parts": {"engine-x2": {"results": results}}}
    one, two = baselines_of(data, {}, "test", "0" * 12, "2026-11-30", 1)
    assert (one.workload, two.workload) == ("engine-porep-32GiB", "engine-x2-porep-32GiB")
    assert two.load["partitions"] == 20
    assert set(two.measured) == set(one.measured)
    assert two.figures == {"worker": {"device_memory": 88, "host_memory": 51}}


def test_steps_that_failed_have_no_figures() -> None:
    steps = {"setup": SETUP, "single": {"error": "out of memory"}, "engine": ENGINE}
    (engine,) = baselines_of(
        {"circuit": "porep:32GiB", "steps": steps}, {}, "test", "0" * 12, "2026-11-30", 1
    )
    assert engine.workload == "engine-porep-32GiB"
    nothing = {"circuit": "porep:32GiB", "steps": {"setup": {"error": "no room"}}}
    with pytest.raises(FormatError, match="no figures"):
        baselines_of(nothing, {}, "test", "0" * 12, "2026-11-30", 1)


def test_streamed_keys() -> None:
    row = {
        "log_domain": 26, "limit": 15,
        "resident": spread(580.0) | {"device_bytes": 73}, "limited": spread(928.0) | {"device_bytes": 13},
    }  # fmt: skip
    data = {"gpu": "cuda:0 (NVIDIA H200)", "parts": {"streaming-26": {"results": {"rows": [row]}}}}
    (streaming,) = baselines_of(data, {}, "test", "0" * 12, "2026-11-30", 1)
    assert streaming.workload == "streaming-26"
    assert streaming.load == {"log_domain": 26, "limit": 15}
    assert streaming.measured["resident"]["time"].median == 580.0
    assert streaming.measured["limited"]["time"].samples == (928.0, 928.0 * 0.99, 928.0 * 1.01)
    assert streaming.figures == {"resident": {"device_memory": 73}, "limited": {"device_memory": 13}}
