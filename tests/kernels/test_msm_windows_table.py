"""Windows that were measured on a GPU's model: which plans take them, and that the table says what it was given.

Would catch: a row whose window is not its fastest, a table that another model or a far size gets, a measured window
that ignores a memory limit, a printed row that the table's reader does not understand.
"""

from __future__ import annotations

import dataclasses
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from cuzk.curves import get_curve
from cuzk.device.base import DeviceLimits
from cuzk.ops.msm_windows import measured_window, measured_windows
from cuzk.ops.plan_msm import plan_msm, window_cost
from tests.device.tune_msm import window_row

G1 = get_curve("bls12_381").g1
H200 = DeviceLimits(132, 1024, 32, 48 << 10, 139 << 30, True, "NVIDIA H200")
ROWS = tomllib.loads(resources.files("cuzk.ops").joinpath("msm_windows.toml").read_text(encoding="utf-8"))[
    "window"
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}-{row['group']}-{row['log_n']}")
def test_a_row_names_its_fastest_window_and_its_source(row: dict[str, object]) -> None:
    ms = row["ms"]
    assert isinstance(ms, dict)
    assert len(ms) >= 2, "a single size shows nothing"
    assert min(ms, key=lambda bits: float(ms[bits])) == str(row["window_bits"])
    assert (Path(__file__).parents[2] / str(row["source"])).is_file()


def test_plans_take_what_was_measured() -> None:
    for (model, group), windows in measured_windows().items():
        limits = dataclasses.replace(H200, model=model)
        curve, _, name = group.rpartition("_")
        for log_n, bits in windows.items():
            assert plan_msm(1 << log_n, getattr(get_curve(curve), name), limits).window_bits == bits


def test_a_measured_window_that_the_model_would_not_pick_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuzk.ops.plan_msm.measured_window", lambda model, group, n: 11 if model else None)
    cheapest = min(range(2, 25), key=lambda c: window_cost(1 << 20, G1.curve.fr.bits, c, G1, H200))
    assert cheapest != 11
    assert plan_msm(1 << 20, G1, H200).window_bits == 11
    assert plan_msm(1 << 20, G1, dataclasses.replace(H200, model="")).window_bits == cheapest
    assert plan_msm(1 << 20, G1, H200, window_bits=9).window_bits == 9
    short = plan_msm(1 << 20, G1, H200, scalar_bits=8)
    assert short.window_bits != 11, "measured with scalars of full length"


def test_too_little_memory_for_the_measured_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuzk.ops.plan_msm.measured_window", lambda model, group, n: 24)
    assert plan_msm(1 << 16, G1, H200, memory_bytes=64 << 20).window_bits < 24


def test_only_near_sizes_of_the_same_model_and_group() -> None:
    at = measured_window("NVIDIA H200", "bls12_381_g1", 1 << 24)
    assert at == 20
    assert measured_window("NVIDIA H200", "bls12_381_g1", (1 << 24) + (1 << 22)) == at
    assert measured_window("NVIDIA H200", "bls12_381_g1", 3 << 23) is None
    assert measured_window("NVIDIA H200", "bn254_g1", 1 << 24) is None
    assert measured_window("NVIDIA A100", "bls12_381_g1", 1 << 24) is None
    assert measured_window("", "bls12_381_g1", 1 << 24) is None


def test_a_printed_row_can_be_read() -> None:
    (row,) = tomllib.loads(window_row("Some GPU", "bn254_g1", 20, {"15": 3.5, "16": 2.25, "17": 2.5}))[
        "window"
    ]
    assert row["window_bits"] == 16
    assert row["ms"] == {"15": 3.5, "16": 2.25, "17": 2.5}
