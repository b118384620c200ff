"""`cuzk ab`: settings, bits, times, the campaign's table, cases that replay, commits.

Would catch: a setting misread, exit code 0 for different bits, an interval that leaves the truth out, a gain counted
twice, a case that does not replay, and another commit's code replaced by this one's.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz.planted import plant

import cuzk
from cuzk.ab import LocalRunner, Setting, Trace, first_difference, open_workload
from cuzk.ab.campaign import Campaign, Candidate, candidates
from cuzk.ab.case import load_case
from cuzk.ab.compare import compare_bits
from cuzk.ab.runner import open_named
from cuzk.ab.timing import ratios, verdict
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import FormatError, InputError
from cuzk.formats import save_r1cs, save_witness
from cuzk.variants import VARIANTS
from tests.cli.support import cuzk as command

SMALL = "mixed:24:bn254"


def test_settings_are_read_and_written() -> None:
    setting = Setting.parse("d4=8, M2=none,device=emu", "cpu")
    assert (setting.variants, setting.device, setting.commit) == ({"D4": "8", "M2": "none"}, "emu", None)
    assert setting.text == "D4=8,M2=none"
    assert setting.described("cpu") == "D4=8,M2=none,device=emu"
    assert Setting.parse("default", "cpu") == Setting()
    assert Setting({}, "emu").described("cpu") == "device=emu"
    for text in ("commit:HEAD~1", "commit=HEAD~1"):
        assert Setting.parse(text, "cpu").commit == "HEAD~1"
    for text, message in (
        ("D4", "ID=VALUE"),
        ("D4=8,D4=9", "two values"),
        ("Z9=1", "possible"),
        ("", "ID=VALUE"),
    ):
        with pytest.raises(InputError, match=message):
            Setting.parse(text, "cpu")


def test_the_first_difference_goes_by_phases_not_by_names() -> None:
    def trace(**values: Any) -> Trace:
        return Trace({name: [np.array(value, np.uint64)] for name, value in values.items()})

    a = trace(a=[[1, 2], [3, 4]], h_monomial=[[5, 6]], sum_h=[[7, 8]], proof_a=[[9, 1]])
    b = trace(a=[[1, 2], [3, 4]], h_monomial=[[5, 0]], sum_h=[[7, 9]], proof_a=[[9, 1]], ones_l=[[1, 1]])
    at = first_difference(a, b)
    assert at is not None
    assert (at.phase, at.name, at.index, at.word, at.a, at.b) == ("ntt_h", "h_monomial", 0, 1, 6, 0)
    assert [(one.name, one.state) for one in compare_bits(a, b)] == [
        ("a", "same"), ("h_monomial", "differs"), ("sum_h", "differs"), ("ones_l", "only in B"), ("proof_a", "same"),
    ]  # fmt: skip
    assert first_difference(a, a) is None
    b.phases.add("closures")
    b.values["a"][0][1, 0] = 7
    at = first_difference(a, b)
    assert at is not None
    assert (at.phase, at.index, at.word) == ("closures", 1, 0)


def test_ratios_find_a_true_difference_in_noise_and_none_where_there_is_none() -> None:
    source = random.Random(5)

    def sample(scale: float) -> dict[str, float]:
        noise = source.uniform(0.8, 1.3)
        return {"total": 100 * scale * noise, "msm_h": 60 * scale * noise, "tiny": 0.001}

    base, slower = [[sample(scale) for _ in range(20)] for scale in (1.0, 1.5)]
    rows = {row.phase: row for row in ratios(base, slower)}
    assert list(rows) == ["total", "msm_h"], "the total first; phases too short for the clock are left out"
    assert rows["total"].low <= 1.5 <= rows["total"].high
    assert rows["total"].verdict == "hurts"
    same = ratios(base, [sample(1.0) for _ in range(20)])[0]
    assert same.verdict == "no difference"
    assert [verdict(*case) for case in ((0.9, 0.8, 0.95), (0.999, 0.99, 0.9995), (0.9, 0.8, 1.01))] == [
        "helps", "no difference", "no difference",
    ]  # fmt: skip


def test_the_same_bits_end_with_0_and_times_by_phase() -> None:
    done = command(
        "ab", "default", "M2=none", "--workload", SMALL, "--pairs", "6", "--clock", "cpu", "--json"
    )
    assert done.code == 0
    assert done.report["same"] is True
    assert {"a", "b", "c", "sum_h", "sum_b_g2", "proof_c"} <= set(done.report["bits"])
    total = done.report["times"][0]
    assert total["phase"] == "total"
    assert total["low"] <= total["ratio"] <= total["high"]
    assert total["pairs"] == 6
    assert done.report["no_trace"] == []
    text = command("ab", "default", "D4=6", "--workload", SMALL, "--bits-only")
    assert text.code == 0
    assert "identical: a, b, c, h_" in text.out


def test_a_difference_ends_with_1_and_a_case_that_replays(tmp_path: Path) -> None:
    cases = tmp_path / "cases"
    with plant("M2", "none", "ntt_h", 3, curve=get_curve("bn254")):
        done = command("ab", "default", "M2=none", "--workload", SMALL, "--cases", str(cases), "--json")
        assert done.code == 1
        assert done.report["wrong"] == "B"
        assert done.report["place"] | {"name": ""} == {
            "phase": "ntt_h", "name": "", "circuit": 0, "index": 3, "limb": done.report["place"]["limb"]
        }  # fmt: skip
        assert "times" not in done.report, "wrong bits are not measured"
        again = command("ab", "--replay", done.report["case"])
        assert again.code == 1
        assert "first difference: phase ntt_h" in again.out
        assert "oracle 0x" in again.out
    assert command("ab", "--replay", done.report["case"]).code == 0, "without the fault the case passes"
    content = json.loads(Path(done.report["case"]).read_text())
    assert content["holds_a_witness"] is False
    assert load_case(Path(done.report["case"])).b == "M2=none"


def test_files_are_a_workload_and_go_with_the_case(tmp_path: Path) -> None:
    made = open_workload(SMALL, get_device("cpu"))
    assert made.circuit is not None
    circuit, witness = tmp_path / "c.r1cs", tmp_path / "w.wtns"
    save_r1cs(circuit, made.circuit)
    save_witness(witness, made.witnesses[0])
    files = ("--workload", str(circuit), "--witness", str(witness), "--cases", str(tmp_path / "cases"))
    with plant("D4", "6", "msm_h", curve=get_curve("bn254")):
        done = command("ab", "default", "D4=6", *files, "--json")
        assert done.code == 1
        circuit.unlink()
        witness.unlink()
        assert command("ab", "--replay", done.report["case"]).code == 1
    assert json.loads(Path(done.report["case"]).read_text())["holds_a_witness"] is True
    assert command("ab", "default", "D4=6", "--workload", str(tmp_path / "none.r1cs")).code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["default"], "give two settings"),
        (["default", "M2=none", "--all"], "give two settings"),
        ([], "give two settings"),
        (["default", "M2=none", "--pairs", "3"], "at least 6"),
        (["default", "M2=none", "--clock", "sun"], "no clock"),
        (["default", "M9=none"], "no variant"),
        (["default", "M2=none", "--workload", "mixed:2"], "4 to"),
        (["default", "M2=none", "--workload", "nothing:1"], "no built-in circuit"),
        (["default", "M2=none", "--circuits", "0"], "at least 1"),
    ],
)
def test_bad_usage_ends_with_2(arguments: list[str], message: str) -> None:
    if "--workload" not in arguments:
        arguments = [*arguments, "--workload", SMALL]
    done = command("ab", *arguments)
    assert done.code == 2, done.out
    assert message in done.err


@pytest.mark.parametrize(
    "words", [("default", "M2=none", "--pairs", "3"), ("default", "M9=none"), ("default", "M2=no")]
)
def test_bad_usage_does_not_wait_for_a_key(words: tuple[str, ...]) -> None:
    """Of a circuit of millions of rows the key takes minutes."""
    done = command("ab", *words, "--workload", SMALL)
    assert done.code == 2
    assert "circuit and key" not in done.err


def test_a_damaged_case_is_named(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    for text in ("", "[]", '{"format": 9, "case": {}}', '{"format": 1, "case": {"workload": 1}}'):
        path.write_text(text)
        with pytest.raises(FormatError):
            load_case(path)


def test_built_in_circuits_come_with_a_witness_and_circuits_multiply() -> None:
    load = open_workload("poseidon:2", get_device("cpu"), circuits=3)
    assert len({tuple(witness.to_ints()) for witness in load.witnesses}) == 3, "each circuit has its own"
    proven = open_workload("por:poseidon:2-0-0:4:public", get_device("cpu"))
    assert LocalRunner(proven, Setting()).trace().error is None, (
        "circuits that assert something are satisfied"
    )
    assert load.key.num_constraints > 200
    done = command(
        "ab", "default", "M2=none", "--workload", "poseidon:2", "--circuits", "2", "--bits-only", "--json"
    )
    assert (done.code, done.report["circuits"]) == (0, 2)


def test_candidates_are_the_registrys_and_what_is_left_out_has_a_reason() -> None:
    chosen, left_out = candidates("cpu")
    every, _ = candidates("cpu", every=True)
    assert set(chosen) < set(every)
    for row in VARIANTS.values():
        values = {one.value for one in every if one.variant == row.id}
        assert values == set(row.possible("cpu")) - {row.default_for("cpu")}
    assert all(left_out.values())
    assert "D4" in left_out, "its 24 widths are not all tried"


def test_the_campaign_has_a_verdict_for_every_value() -> None:
    load = open_workload(SMALL, get_device("cpu"))
    lines: list[str] = []
    campaign = Campaign(load, "cpu", 6, "cpu", open_named, lines.append)
    impossible, classic = Candidate("Q1", "seven_ntt"), Candidate("A3", "on")
    tried = [
        impossible,
        classic,
        Candidate("M2", "none"),
        Candidate("D4", "6"),
        Candidate("D4", "9"),
        Candidate("D5", "per_query"),
    ]
    with plant("D4", "9", "msm_h", curve=get_curve("bn254")):
        campaign.run(tried)
    rows = {row.candidate.text: row for row in campaign.rows}
    assert rows["D4=9"].verdict == "differs in bits"
    assert rows["D4=9"].bits == "msm_h"
    assert rows["D4=9"].alone is None
    assert rows["D4=9"].finding is not None
    assert (rows["Q1=seven_ntt"].verdict, rows["Q1=seven_ntt"].bits) == ("not possible", "same")
    assert "seven_ntt" in (rows["Q1=seven_ntt"].impossible or "")
    assert rows["A3=on"].beside == {"P5": "closures"}, "it acts there only"
    assert rows["A3=on"].verdict in ("helps", "hurts", "no difference")
    assert campaign.all_on == {"M2": "none", "D4": "6", "D5": "per_query"}
    for text in ("M2=none", "D4=6", "D5=per_query"):
        row = rows[text]
        assert row.verdict in ("helps", "hurts", "no difference")
        assert row.alone is not None
        assert row.without is not None
        assert row.pair is not None
        assert row.pair[0] in {"M2=none", "D4=6", "D5=per_query"} - {text}
    assert campaign.together is not None
    assert any("all on without" in line for line in lines)


def test_another_commit_is_run_in_its_own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit whose prover negates h: the code that runs is really that commit's."""
    package = Path(cuzk.__file__).parent
    checkout = tmp_path / "checkout"
    shutil.copytree(
        package, checkout / "cuzk", ignore=shutil.ignore_patterns("*.so", "__pycache__", "engine", "circuits")
    )
    phase = checkout / "cuzk" / "groth16" / "assemble.py"
    text = phase.read_text()
    assert "return Proof(key.curve, a, b, c)" in text
    git = ["git", "-C", str(checkout), "-c", "user.name=t", "-c", "user.email=t@t.invalid"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for wrong in (False, True):
        if wrong:
            phase.write_text(
                text.replace("return Proof(key.curve, a, b, c)", "return Proof(key.curve, a, b, a)")
            )
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", "state"], check=True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(checkout)
    right = command("ab", "commit=HEAD~1", "default", "--workload", SMALL, "--pairs", "6", "--json")
    assert right.code == 0, right.err
    assert right.report["times"][0]["phase"] == "total"
    bad = command("ab", "commit=HEAD", "default", "--workload", SMALL, "--json")
    assert bad.code == 1, bad.err
    assert "proof_c" in bad.report["finding"][0]
    unknown = command("ab", "commit=nowhere", "default", "--workload", SMALL)
    assert unknown.code == 2
    assert "no such commit" in unknown.err
