"""The table of what is checked by what has no hole, and shows the holes that are made in it.

Would catch: a kernel without oracle, target, edge classes or mutants; a setting of a variant that no target draws; a
class that is counted nowhere; a covering array that does not cover.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cuzk_fuzz import catalogue, cli, commands, table_command
from cuzk_fuzz.batch import Scope
from cuzk_fuzz.choices import Guided
from cuzk_fuzz.engine import Campaign
from cuzk_fuzz.faults import FAULTS, hunt
from cuzk_fuzz.findings import run_case
from cuzk_fuzz.registry import DEVICE_ONLY, TARGETS
from cuzk_fuzz.settings import (
    HEAVY,
    covering_array,
    draw_settings,
    is_heavy,
    setting_id,
    setting_ids,
    values_on,
)
from cuzk_fuzz.targets.groth16 import ProofBatch, h_form_for

from cuzk.device import get_device
from cuzk.variants import VARIANTS


def test_nothing_is_unchecked() -> None:
    assert catalogue.gaps() == []
    assert len(catalogue.kernels()) > 30
    assert all(len(reason) > 30 for reason in catalogue.NOT_MUTATED.values())
    assert len(FAULTS) >= 30
    assert {target for target in TARGETS if TARGETS[target].needs_device} - {f.target for f in FAULTS} <= {
        "pieces"
    }


@pytest.mark.parametrize(
    ("change", "hole"),
    [
        ({"family": None}, "has no family of oracles"),
        ({"header": None}, "is in no list of a header"),
        ({"header": "new.cuh"}, "nobody mutates new.cuh"),
    ],
)
def test_a_kernel_that_lacks_something_is_named(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], hole: str
) -> None:
    first, *others = catalogue.kernels()
    changed = replace(first, name="new_kernel", **change)
    monkeypatch.setattr(catalogue, "kernels", lambda: (changed, first, *others))
    assert [gap for gap in catalogue.gaps() if "new_kernel" in gap and hole in gap]


def test_a_setting_that_no_target_draws_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    target = TARGETS["groth16"]
    monkeypatch.setitem(TARGETS, "groth16", replace(target, own_ids=target.own_ids[1:]))
    assert any(target.own_ids[0] in gap for gap in catalogue.gaps())


def test_every_setting_is_required_or_says_why_not() -> None:
    required = TARGETS["groth16"].required
    for edge_id in setting_ids():
        assert edge_id in required or is_heavy(edge_id) or edge_id in DEVICE_ONLY, edge_id
    drawn = {setting_id(name, value) for device in ("cpu", "emu") for heavy in (False, True)
             for name, values in values_on(device, heavy=heavy).items() for value in values}  # fmt: skip
    assert {i for i in setting_ids() if i not in DEVICE_ONLY} <= drawn
    assert all(any(is_heavy(i) for i in setting_ids()) and len(why) > 20 for why in HEAVY.values())


def test_settings_are_those_that_act_together() -> None:
    for i in range(60):
        drawn = dict(draw_settings(Guided(str(i)), "cpu"))
        for row in VARIANTS.values():
            if row.only_with is not None and row.id in drawn:
                assert drawn[row.only_with[0]] == row.only_with[1]
            if row.id in drawn:
                assert row.why_not(drawn[row.id], "cpu") is None or drawn[row.id] == row.default_for("cpu")


def test_a_covering_array_covers_every_pair() -> None:
    values = {"A": ["0", "1", "2"], "B": ["x", "y"], "C": ["p", "q", "r", "s"], "D": ["0", "1"]}
    rows = covering_array(values)
    wanted = {
        ((a, x), (b, y)) for a, b in itertools.combinations(values, 2) for x in values[a] for y in values[b]
    }
    assert wanted <= {pair for row in rows for pair in itertools.combinations(row.items(), 2)}
    assert len(rows) < 3 * 2 * 4 * 2 / 2
    assert covering_array({"A": ["0", "1"]}) == [{"A": "0"}, {"A": "1"}]


def test_one_circuit_gives_the_oracles_proof_under_settings_that_cover_all_pairs() -> None:
    """The toy curve, all values that a gate can pay for: the proof never depends on how it is made."""
    device = get_device("cpu")
    values = values_on("cpu", heavy=False)
    cheap = {
        name: [v for v in vs if not (name == "D4" and v.isdigit() and int(v) > 12)]
        for name, vs in values.items()
    }
    alone = {name: vs for name, vs in cheap.items() if VARIANTS[name].only_with is None}
    rows = covering_array(alone)
    assert len(rows) >= max(map(len, alone.values()))
    for row in rows[:: max(1, len(rows) // 40)]:
        settings = tuple(row.items())
        form = h_form_for(settings, "monomial")
        batch = ProofBatch("toy", 11, (6, 1, 4), form, "snarkjs", (5, 9), settings)
        assert run_case(batch, device).agrees, row


def test_the_table_counts_and_names_what_is_seldom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hits = {("spmv", "cpu"): Counter({"M.empty": 30, "M.dense": 3})}
    data = table_command.table(hits, ["cpu", "emu"], 20, counted=True)
    rows = {(row["target"], row["class"]): row for row in data["classes"]}
    assert rows["spmv", "M.empty"]["hits"] == {"cpu": 30, "emu": 0}
    assert "spmv: M.dense was hit 3 times, 20 are needed" in data["seldom"]
    assert not any(line.startswith("spmv: M.empty") for line in data["seldom"])
    assert rows["spmv", "S.2GiB"]["status"].startswith("device only")
    path = tmp_path / "table.json"
    assert cli.main(["table", "--no-run", "--json", str(path)]) == commands.DONE
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("spmv.spmv", "V.D4=12", "piece_spmv", "M.cancelling"))
    assert json.loads(path.read_text())["gaps"] == []


def test_what_needs_no_device_counts_in_the_table_of_any() -> None:
    """A campaign on a GPU reads files on its host."""
    hits = {("readers", "cpu"): Counter({"R.valid": 25}), ("spmv", "cpu"): Counter({"M.empty": 30})}
    rows = table_command.table(hits, ["cuda", "emu"], 20, counted=True)["classes"]
    found = {(row["target"], row["class"]): (row["hits"], row["total"]) for row in rows}
    assert found["readers", "R.valid"] == ({"cuda": 25, "emu": 0}, 25)
    assert found["spmv", "M.empty"] == ({"cuda": 0, "emu": 0}, 0)


@pytest.mark.parametrize("name", ["word-carry", "ntt-last", "batch-add", "prove-b"])
def test_a_planted_fault_is_found(name: str) -> None:
    """A sample; `python -m cuzk_fuzz sensitivity` hunts all of them with twenty seeds."""
    (one,) = (fault for fault in FAULTS if fault.id == name)
    found = hunt(one, 5, 60.0)
    assert found.found
    assert found.seconds < 60


def test_hunts_are_recorded_and_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = tmp_path / "hunts.json"
    run = ["sensitivity", "--record", str(record), "--fault", "ntt-last", "--seeds", "2"]
    assert cli.main(run) == commands.DONE
    first = json.loads(record.read_text())
    assert sorted(first["hunts"]) == ["ntt-last/1", "ntt-last/2"]
    first["hunts"]["ntt-last/1"]["found"] = first["hunts"]["ntt-last/2"]["found"] = False
    record.write_text(json.dumps(first))
    assert cli.main(run) == commands.FOUND
    assert "TOO FEW" in capsys.readouterr().out
    record.write_text("[]")
    assert cli.main(run) == commands.USAGE


def test_throughput_fails_below_a_floor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["throughput", "--target", "spmv", "--device", "cpu", "--seconds", "0.2"]
    assert cli.main(run) == commands.DONE
    monkeypatch.setattr("cuzk_fuzz.sensitivity.FLOORS", {"spmv": 1e12})
    assert cli.main(run) == commands.FOUND
    assert "TOO SLOW" in capsys.readouterr().out


def test_what_is_resumed_draws_on() -> None:
    campaign = Campaign(TARGETS["spmv"], "cpu", seed=3)
    campaign.guided()
    assert campaign.scope == Scope.of(get_device("cpu"))
