"""The scaling script: it measures, judges and draws what it says.

Would catch: a limit that nothing can break, a phase that is left out of the judgement, a chart that no reader opens.
"""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workloads.scaling import MOST_MEMORY_BYTES, Measured, Size, judge, table
from tests.workloads.scaling_plot import plot


def size(
    log: int, *, msm: float = 1.0, ntt: float = 1.0, small: float = 1.0, key_load_s: float = 0.3
) -> Size:
    """Made-up figures: each phase takes its factor times what a perfect program would."""
    n = 2.0**log
    phases = {
        "msm_h": (1e-5 * n * msm, 1e-5 * n, 1 << 30),
        "ntt_h": (1e-7 * n * (log + 1) * ntt, 1e-7 * n, 1 << 30),
        "self_check": (1e-8 * n * small, 1e-8 * n, 1 << 30),
    }
    run = Measured(1.0, sum(cpu for cpu, _, _ in phases.values()), 1 << 30, phases)
    return Size(log, log + 1, int(500 * n), key_load_s, run, run)


def broken(sizes: list[Size]) -> list[str]:
    return [text for kept, text in judge(sizes).rows if not kept]


def test_the_limits() -> None:
    good = [size(16), size(18), size(20)]
    assert broken(good) == []
    assert any("ntt_h, time per n log n, 2^20 to 2^16: 1.00" in text for _, text in judge(good).rows)
    assert broken([*good[:2], size(20, msm=1.29, ntt=1.29)]) == []
    assert [text.split(",")[0] for text in broken([*good[:2], size(20, msm=1.31)])] == [
        "setup msm_h",
        "prove msm_h",
    ]
    assert [text.split(",")[0] for text in broken([*good[:2], size(20, ntt=1.31)])] == [
        "setup ntt_h",
        "prove ntt_h",
    ]
    assert broken([*good[:2], size(20, small=5.0)]) == [], "a thousandth of the time is not judged"
    assert broken([*good[:2], size(20, key_load_s=1.01)]) == ["key load 2^20: 1.01 s, at most 1 s"]
    large = replace(good[2], prove=replace(good[2].prove, peak_bytes=MOST_MEMORY_BYTES + (1 << 28)))
    assert broken([*good[:2], large]) == ["prove 2^20 peak memory: 16.25 GiB, at most 16 GiB"]


def test_the_chart_and_the_table() -> None:
    sizes = [size(16), size(20, msm=1.2)]
    tree = ET.fromstring(plot(sizes, "bn254"))
    lines = tree.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2 * 2 + 3, "two phases of each command are large enough; and three of memory"
    texts = {element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")}
    assert {"prove: msm_h", "setup: ntt_h", "key file", "2^16", "2^20"} <= texts
    ys = [float(point.split(",")[1]) for point in lines[0].attrib["points"].split()]
    assert ys[1] < ys[0], "more time per constraint is higher up"
    ET.fromstring(plot(sizes[:1], "bn254"))
    rows = table(sizes).splitlines()
    assert len(rows) == 4
    assert rows[-1].startswith("| 2^20 | 2^21 | 500 |")


@pytest.mark.long
def test_small_circuits_from_end_to_end(tmp_path: Path) -> None:
    # In a process of its own: a child's peak memory starts from that of the process which starts it.
    words = [
        sys.executable,
        "-m",
        "tests.workloads.scaling",
        str(tmp_path),
        "--logs",
        "7,5",
        "--repeats",
        "2",
    ]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    code = done.returncode
    assert code in (0, 1), done.stderr
    report = json.loads((tmp_path / "scaling-bn254.json").read_text())
    assert ([row["log"] for row in report["sizes"]], report["repeats"]) == ([5, 7], 2)
    assert code == (0 if all(limit["kept"] for limit in report["limits"]) else 1)
    for row in report["sizes"]:
        assert {"circuit_load", "tau_columns", "points_h", "key_write"} <= set(row["setup"]["phases"])
        assert {"witness_load", "key_load", "ntt_h", "msm_h", "self_check"} <= set(row["prove"]["phases"])
        for command in ("setup", "prove"):
            run = row[command]
            assert 20 << 20 < run["peak_bytes"] < 4 << 30
            assert sum(cpu_s for cpu_s, _, _ in run["phases"].values()) <= run["cpu_s"]
        assert 0 < row["key_load_s"] < 60
    ET.parse(tmp_path / "scaling-bn254.svg")
    assert "| 2^7 | 2^8 |" in done.stdout
