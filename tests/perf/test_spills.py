"""No kernel spills registers to memory without a written reason.

Would catch: a change of a kernel or its launch bounds after which values of a thread go through memory, unnoticed
because the baseline was recorded again; a reason that outlived what it was for.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuzk.perf import read_baseline

FOLDER = Path(__file__).resolve().parents[2] / "perf_baselines"
Rows = list[dict[str, Any]]


def stored_rows() -> Rows:
    rows: Rows = tomllib.loads((FOLDER / "spills.toml").read_text(encoding="utf-8"))["spill"]
    return rows


def stored_spills() -> dict[str, int]:
    """Kernel -> most bytes that a thread stores, over the architectures of the ledger."""
    spills: dict[str, int] = {}
    for path in FOLDER.glob("T0-*.json"):
        for kernel, figures in read_baseline(path).figures.items():
            most = max(figures["spill_store_bytes"], figures["spill_load_bytes"] and 1)
            spills[kernel] = max(spills.get(kernel, 0), most)
    return spills


def complaints(spills: Mapping[str, int], rows: Rows) -> list[str]:
    """What the table lacks, and what it has too much."""
    found, used = [], set()
    for kernel, spilled in spills.items():
        matching = [i for i, row in enumerate(rows) if fnmatch.fnmatchcase(kernel, row["kernels"])]
        if spilled and not any(spilled <= rows[i]["most_bytes"] for i in matching):
            found.append(f"{kernel} spills {spilled} bytes a thread without a reason in spills.toml")
        used |= set(matching) if spilled else set()
    found += [f"nothing needs the row {row['kernels']}" for i, row in enumerate(rows) if i not in used]
    return found


def test_every_spill_has_its_reason() -> None:
    spills = stored_spills()
    assert len(spills) > 100
    assert complaints(spills, stored_rows()) == []


def test_reasons_are_sentences() -> None:
    for row in stored_rows():
        assert set(row) == {"kernels", "most_bytes", "reason"}
        assert len(row["reason"]) > 60, row["kernels"]
        assert row["most_bytes"] > 0


def test_complaints_are_made() -> None:
    rows = [
        {"kernels": "ntt_*_fr", "most_bytes": 50, "reason": ""},
        {"kernels": "msm_*", "most_bytes": 9, "reason": ""},
    ]
    assert complaints({"ntt_a_fr": 50, "msm_b": 9, "other": 0}, rows) == []
    assert complaints({"ntt_a_fr": 51, "msm_b": 9}, rows) == [
        "ntt_a_fr spills 51 bytes a thread without a reason in spills.toml"
    ]
    assert complaints({"ntt_a_fr": 50, "other": 1}, rows) == [
        "other spills 1 bytes a thread without a reason in spills.toml",
        "nothing needs the row msm_*",
    ]
    assert complaints({"ntt_a_fr": 0, "msm_b": 1}, rows) == ["nothing needs the row ntt_*_fr"]
