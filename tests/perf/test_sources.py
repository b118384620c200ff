"""What the device suite says of compiled circuits becomes figures of the ledger.

Would catch: a circuit whose times are dropped in silence, a phase under another circuit's name, a memory peak of the
set-up taken for that of a proof.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
