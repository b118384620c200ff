"""``cuzk prove`` on real files.

Would catch: a proof that differs from the one right proof for its blinding, outputs that disagree with each
other, a flag that is parsed and then forgotten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.curves import get_curve
from cuzk.formats import encode_proof, load_proof
from cuzk.telemetry import read_events
from cuzk.telemetry.memory import CSV_HEADER
from tests.cli.support import CURVES, circuit, entries, prove, read_json, verify

_GOLDEN = ("product", "mimc_chain", "no_public", "sparse_b")


@pytest.mark.parametrize("curve", CURVES)
def test_a_foreign_key_gives_a_proof_that_holds(curve: str, tmp_path: Path) -> None:
    files = circuit(curve)
    done = prove(files, tmp_path)
    assert done.code == 0, done.err
    assert "all points are on the curve" in done.err
    assert "subgroup was not checked" in done.err
    assert verify(files.vkey, tmp_path / "public.json", tmp_path / "proof.json").code == 0
    assert read_json(tmp_path / "public.json") == read_json(files.public)
    assert read_json(tmp_path / "proof.json") != read_json(files.proof)
    assert entries(tmp_path) == {"proof.json", "public.json"}


@pytest.mark.parametrize("name", _GOLDEN)
@pytest.mark.parametrize("curve", CURVES)
def test_given_blinding_gives_the_golden_proof(curve: str, name: str, tmp_path: Path) -> None:
    files = circuit(curve, name)
    done = prove(files, tmp_path, "--insecure-blinding", "7,0xb", "--device", "cpu")
    assert done.code == 0, done.err
    assert done.err.count("warning: ") == 1
    assert "not zero-knowledge" in done.err
    assert read_json(tmp_path / "proof.json") == read_json(files.proof_7_11)
    assert read_json(tmp_path / "public.json") == read_json(files.public)


@pytest.mark.parametrize("curve", CURVES)
def test_the_emulator_gives_the_golden_proof(curve: str, tmp_path: Path) -> None:
    files = circuit(curve)
    assert prove(files, tmp_path, "--insecure-blinding", "7,11", "--device", "emu").code == 0
    assert read_json(tmp_path / "proof.json") == read_json(files.proof_7_11)


@pytest.mark.parametrize("setting", ["D4=5", "d4=13", "M2=none", "M2=split"])
def test_a_variant_changes_the_report_and_not_the_proof(setting: str, tmp_path: Path) -> None:
    files = circuit("bls12381")
    more = ("--insecure-blinding", "7,11", "--variant", setting, "--json")
    done = prove(files, tmp_path, *more)
    assert done.code == 0, done.err
    assert read_json(tmp_path / "proof.json") == read_json(files.proof_7_11)
    name, value = setting.split("=")
    assert done.report["variants"][name.upper()] == value


@pytest.mark.parametrize("curve", CURVES)
def test_bytes_and_json_hold_the_same_proof(curve: str, tmp_path: Path) -> None:
    files = circuit(curve)
    target = tmp_path / "p.bin"
    assert prove(files, tmp_path, "--proof-bytes", target).code == 0
    proof = load_proof(tmp_path / "proof.json")
    assert target.read_bytes() == encode_proof(proof)
    assert len(target.read_bytes()) == 4 * proof.curve.fp.nbytes
    assert verify(files.vkey, tmp_path / "public.json", target).code == 0


def test_the_report_as_json_says_what_was_made(tmp_path: Path) -> None:
    done = prove(circuit("bls12381"), tmp_path, "--json", "--timing", "--device", "cpu")
    report = done.report
    assert report["proof"] == str(tmp_path / "proof.json")
    assert report["public"] == str(tmp_path / "public.json")
    assert (report["curve"], report["constraints"], report["public_inputs"]) == ("bls12_381", 36, 5)
    assert report["device"].startswith("cpu")
    assert report["verified"] is True
    phases = {row["phase"] for row in report["timing"]}
    assert {"witness_load", "key_load", "prove", "ntt_msm_h", "b_g2_msm", "self_check"} <= phases


def test_timing_prints_lines_while_it_runs_and_a_table_after(tmp_path: Path) -> None:
    done = prove(circuit("bls12381"), tmp_path, "--timing")
    lines = [line for line in done.err.splitlines() if line.startswith("CUZK_TIMING: ")]
    for phase in ("witness_load_ms=", "ntt_msm_h_ms=", "tail_msm_ms=", "b_g2_msm_ms=", "prove_ms="):
        assert sum(phase in line for line in lines) == 1, phase
    assert "of parent" in done.out
    assert "self_check" in done.out
    assert "read the witness" not in done.err, "progress and timing lines do not mix"


def test_events_and_memory_are_written(tmp_path: Path) -> None:
    events, memory = tmp_path / "e.jsonl", tmp_path / "m.csv"
    more = ("--events", events, "--memory", memory, "--variant", "M2=none")
    assert prove(circuit("bn128"), tmp_path, *more, "--device", "cpu").code == 0
    found = {event.phase: event for event in read_events(events)}
    assert {"witness_load", "key_load", "synthesis", "ntt_h", "msm_h", "prove", "self_check"} <= found.keys()
    assert found["msm_h"].device == "cpu"
    assert found["msm_h"].variants["M2"] == "none"
    assert found["tail_msm"].tags["M2"] == "none"
    assert found["prove"].build_key
    lines = memory.read_text(encoding="utf-8").splitlines()
    assert lines[0] == CSV_HEADER
    assert len(lines) >= 3


def test_without_self_check_nothing_is_verified_and_that_is_said(tmp_path: Path) -> None:
    done = prove(circuit("bls12381"), tmp_path, "--no-self-check", "--json", "--timing")
    assert done.code == 0
    assert done.report["verified"] is False
    assert "self_check" not in {row["phase"] for row in done.report["timing"]}
    assert "not verified" in done.err


def test_steps_are_told_on_stderr_only(tmp_path: Path) -> None:
    done = prove(circuit("bls12381"), tmp_path)
    assert done.out.startswith("proof "), "the report, and nothing before it"
    for words in (
        "prove with product.zkey",
        "read the witness: ",
        "commitment in G2: ",
        "verify the proof: ",
    ):
        assert words in done.err


def test_earlier_outputs_are_replaced(tmp_path: Path) -> None:
    files = circuit("bls12381")
    for name in ("proof.json", "public.json"):
        (tmp_path / name).write_text("old")
    assert prove(files, tmp_path).code == 0
    assert load_proof(tmp_path / "proof.json").curve is get_curve("bls12_381")


def test_the_circuit_may_be_named(tmp_path: Path) -> None:
    files = circuit("bls12381")
    assert prove(files, tmp_path, "--circuit", files.r1cs, "--insecure-blinding", "7,11").code == 0
    assert read_json(tmp_path / "proof.json") == read_json(files.proof_7_11)
