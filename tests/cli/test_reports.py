"""``cuzk info``, ``key``, ``circuit``, ``doctor``, ``variants``, ``bench``, and progress on a terminal.

Would catch: a report that is no JSON, a wrong size, a device wrongly called working, a bar in a log.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cuzk.device
from cuzk.circuits.catalogue import CIRCUITS, FAMILIES
from cuzk.cli import doctor, selftest
from cuzk.cli.bench_cases import chain_circuit, random_scalars
from cuzk.cli.options import open_device
from cuzk.curves import get_curve
from cuzk.errors import DeviceError
from cuzk.formats import load_r1cs
from cuzk.limbs import limbs_to_ints
from cuzk.synthesis import circuit_hash
from cuzk.variants import ENGINE_VARIANTS, VARIANTS
from tests.cli import support
from tests.cli.support import CURVES, assert_refused, circuit


@pytest.mark.parametrize("curve", CURVES)
def test_info_knows_every_kind_of_file(curve: str) -> None:
    files = circuit(curve)
    name = get_curve("bls12_381" if curve == "bls12381" else "bn254").name
    sizes = {"constraints": 36, "variables": 39, "public": 5}
    for path, kind, facts in (
        (files.r1cs, "circuit", sizes | {"outputs": 4, "domain": "2^6"}),
        (files.wtns, "witness", {"values": 39, "zero": 15, "one": 13, "other": 11}),
        (files.zkey, "proving key", sizes | {"h_form": "odd_lagrange", "contributions": 1}),
        (files.vkey, "verification key", {"public": 5}),
        (files.proof, "proof", {}),
    ):
        report = support.cuzk("info", path, "--json").report
        assert kind in report["kind"]
        assert report["curve"] == name
        assert report["bytes"] == path.stat().st_size
        assert report["checked"]
        assert facts.items() <= report.items()
        assert f"{path.stat().st_size}" in support.cuzk("info", path).out
    assert support.cuzk("info", files.public, "--json").report["values"] == 5


def test_circuits_are_told_from_files_by_their_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sha256:512").symlink_to(circuit("bn128").r1cs)
    named = support.cuzk("circuit", "info", "sha256:512", "--json", "--hash").report
    assert named == {
        "circuit": "sha256:512",
        "curve": "bls12_381",
        "num_inputs": 1,
        "num_aux": 45340,
        "num_constraints": 45386,
        "nnz_a": 103936,
        "nnz_b": 45418,
        "nnz_c": 96380,
        "density_a_aux": 45340,
        "density_b_aux": 11500,
        "density_b_inputs": 1,
        "domain_log2": 16,
        "hash": "39b920088193af138e8d3494179b1d9a20442bb23e28e65028b068c6a9e48771",
    }
    assert "hash" not in support.cuzk("circuit", "info", "sha256:512", "--json").report
    file = support.cuzk("circuit", "info", "./sha256:512", "--json", "--hash").report
    assert file["constraints"] == 36
    assert file["hash"] == circuit_hash(load_r1cs(circuit("bn128").r1cs))
    assert_refused(support.cuzk("circuit", "info", "sha256:511"), 2, "no built-in circuit 'sha256:511'")
    assert_refused(support.cuzk("circuit", "info", "sha256:511"), 2, "did you mean sha256:512?")
    assert_refused(support.cuzk("circuit", "info", "sha257"), 2, "sha257")


def test_circuits_are_listed() -> None:
    listed = support.cuzk("circuit", "list", "--json").report
    assert [entry["name"] for entry in listed] == [*CIRCUITS, *FAMILIES]
    text = support.cuzk("circuit", "list").out
    assert all(f"{one.name} " in text and one.summary in text for one in CIRCUITS.values())
    assert all(f"{pattern} " in text and one.summary in text for pattern, one in FAMILIES.items())


def test_info_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"something else")
    assert_refused(support.cuzk("info", tmp_path / "x"), 2, "not a file that cuzk knows")
    assert_refused(support.cuzk("info", tmp_path), 2, "directory")
    assert_refused(support.cuzk("circuit", "info", circuit("bn128").zkey), 2, "not a circuit")
    assert_refused(support.cuzk("key", "info", circuit("bn128").wtns), 2, "not a proving key")


def test_circuit_and_key_info() -> None:
    files = circuit("bn128", "sparse_b")
    assert support.cuzk("circuit", "info", files.r1cs, "--json").report["variables"] == 95
    assert support.cuzk("key", "info", files.zkey, "--json").report["variables"] == 95


@pytest.mark.parametrize("curve", CURVES)
def test_key_check_passes_a_good_key(curve: str) -> None:
    files = circuit(curve)
    done = support.cuzk("key", "check", files.zkey, "--circuit", files.r1cs, "--json")
    assert done.code == 0, done.err
    assert done.report["valid"] is True
    # alpha, beta, delta in G1; beta, gamma, delta in G2; IC; the A, B1 and B2 queries; L; H
    assert done.report["points"] == 3 + 3 + 6 + 3 * 39 + (39 - 6) + 64
    assert {"points on the curve", "points in the subgroup", "made for this circuit"} <= set(
        done.report["checks"]
    )


def test_key_check_refuses_another_circuit() -> None:
    files, other = circuit("bn128"), circuit("bn128", "sparse_b")
    assert_refused(support.cuzk("key", "check", files.zkey, "--circuit", other.r1cs), 2, "num_variables")


def test_variants_lists_the_registry() -> None:
    rows = support.cuzk("variants", "--json").report
    every = {**VARIANTS, **ENGINE_VARIANTS}
    assert [row["id"] for row in rows] == list(every)
    assert [tuple(row["values"]) for row in rows] == [row.values for row in every.values()]
    shown = support.cuzk("variants").out
    assert "2..24" in shown
    assert "index, split, none" in shown


@pytest.mark.parametrize("identifier", [*VARIANTS, *ENGINE_VARIANTS])
def test_variants_says_all_of_one(identifier: str) -> None:
    """Promise, forecast and default, and each value that a device does not have with the reason."""
    row = {**VARIANTS, **ENGINE_VARIANTS}[identifier]
    shown = " ".join(support.cuzk("variants", identifier.lower()).out.split())
    for text in (row.name, row.default, row.promise, row.forecast, *row.phase):
        assert " ".join(text.split()) in shown
    for reasons in row.not_on.values():
        for value, reason in reasons.items():
            assert value in shown
            assert reason in shown
    assert support.cuzk("variants", identifier, "--json").report["id"] == identifier


def test_variants_refuses_an_unknown_id() -> None:
    assert_refused(support.cuzk("variants", "Z9"), 2, "possible: ", "D4")


def test_doctor_proves_on_a_device() -> None:
    done = support.cuzk("doctor", "--device", "cpu", "--json")
    assert done.code == 0, done.out
    (device,) = done.report["devices"]
    assert (done.report["usable"], device["state"]) == (True, "works")
    assert set(device["self_test"]) == {"bls12_381", "bn254"}
    assert {"cuzk", "python", "numpy", "nvrtc"} <= done.report["versions"].keys()
    assert all(item["what"] and item["remedy"] for item in done.report["missing"])


def test_doctor_reports_a_device_that_computes_wrong_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> float:
        raise DeviceError("the self-test's proof does not hold")

    monkeypatch.setattr(selftest, "self_test", broken)
    done = support.cuzk("doctor", "--device", "cpu")
    assert done.code == 3
    assert "failed" in done.out
    assert "cpu cannot prove" in done.out


def test_doctor_counts_gpus_also_those_it_cannot_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake(spec: str) -> None:
        index = int(spec.removeprefix("cuda:"))
        if index == 1:
            raise DeviceError("GPU 1 has compute capability 70; 8.0 or newer is needed")
        if index >= 3:
            raise DeviceError(f"there is no GPU {index}; this machine has 3 (0 to 2)")

    assert doctor._candidates() == ["cpu", "emu"]
    monkeypatch.setattr(cuzk.device, "cuda_available", lambda: True)
    monkeypatch.setattr(cuzk.device, "get_device", fake)
    assert doctor._candidates() == ["cpu", "emu", "cuda:0", "cuda:1", "cuda:2"]


def test_auto_opens_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(cuzk.device, "get_device", lambda spec, *_, **more: opened.append((spec, list(more))))
    for available, spec in ((True, "auto"), (False, "auto"), (True, "cpu"), (False, "cuda:1")):
        monkeypatch.setattr(cuzk.device, "cuda_available", lambda answer=available: answer)
        open_device(spec)
    assert opened == [("cuda", ["progress"]), ("cpu", []), ("cpu", []), ("cuda:1", ["progress"])]


def test_doctor_without_a_usable_device() -> None:
    done = support.cuzk("doctor", "--device", "cuda:9999", "--json")
    assert done.code == 3
    assert done.report["usable"] is False
    assert done.report["devices"][0]["problem"]


@pytest.mark.parametrize("secret", [0, 1, 11, 15])
@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
def test_the_self_test_circuit_holds(curve: str, secret: int) -> None:
    r1cs, witness = selftest.small_circuit(get_curve(curve), secret)
    assert r1cs.first_unsatisfied(witness) is None
    assert witness.public(1) == [secret**5]


@pytest.mark.parametrize("n", [1, 2, 3, 64, 65])
def test_the_bench_circuit_holds(n: int) -> None:
    r1cs, witness = chain_circuit(get_curve("bn254"), n)
    assert r1cs.num_constraints == n
    assert r1cs.first_unsatisfied(witness) is None


@pytest.mark.parametrize("curve", ["bls12_381", "bn254", "toy"])
def test_bench_scalars_are_reduced_and_differ(curve: str) -> None:
    spec = get_curve(curve)
    values = limbs_to_ints(random_scalars(spec, 200, 0))
    assert all(0 <= value < spec.r for value in values)
    assert max(values) > spec.r // 2
    assert values != limbs_to_ints(random_scalars(spec, 200, 1))
    assert values == limbs_to_ints(random_scalars(spec, 200, 0))


@pytest.mark.parametrize("device", ["cpu", "emu"])
@pytest.mark.parametrize("kind", ["ntt", "msm", "field", "batch-add", "prove"])
def test_bench_measures(kind: str, device: str) -> None:
    more = ("--size", "8", "--size", "2^4", "--repeats", "2", "--curve", "bn254", "--json")
    done = support.cuzk("bench", kind, "--device", device, *more)
    assert done.code == 0, done.err
    assert done.report["device"].startswith(device)
    assert [row["size"] for row in done.report["results"]] == [8, 16]
    for row in done.report["results"]:
        assert 0 < row["min_ms"] <= row["median_ms"] <= row["max_ms"]
        assert row["per_second"] > 0
        assert (row["repeats"], row["curve"]) == (2, "bn254")


def test_bench_as_a_table_and_with_options() -> None:
    done = support.cuzk(
        "bench",
        "msm",
        "--group",
        "g2",
        "--size",
        "16",
        "--repeats",
        "1",
        "--variant",
        "D4=4",
        "--device",
        "cpu",
    )
    assert done.code == 0, done.err
    assert "msm g2" in done.out
    assert "cpu" in done.out


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("ntt", "--size", "12"), "powers of two"),
        (("ntt", "--size", "0"), "2^26"),
        (("msm", "--size", "2^27"), "2^26"),
        (("msm", "--size", "many"), "many"),
        (("msm", "--repeats", "0"), "1 to 1000"),
        (("ntt", "--variant", "D4=4"), "does not act"),
        (("msm", "--variant", "M2=none"), "does not act"),
        (("msm", "--variant", "D4=1"), "D4"),
    ],
)
def test_bench_refuses(words: tuple[str, ...], fragment: str) -> None:
    assert_refused(support.cuzk("bench", *words, "--device", "cpu"), 2, fragment)


def _read_terminal(screen: Any) -> bytes:
    """Everything that is written to a terminal until its last writer is gone."""
    shown = b""
    try:
        while part := screen.read(4096):
            shown += part
    except OSError:  # how Linux reports a terminal without a writer
        pass
    return shown


def test_a_terminal_gets_a_bar_that_goes_away(tmp_path: Path) -> None:
    files = circuit("bn128")
    words = ["prove", "--key", files.zkey, "--witness", files.wtns, "--proof", tmp_path / "p.json"]
    words += ["--public", tmp_path / "q.json", "--device", "cpu"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    command = [sys.executable, "-m", "cuzk", *map(str, words)]
    with (
        os.fdopen(ours, "rb", buffering=0) as screen,
        subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL, env=environment) as process,
    ):
        os.close(theirs)
        shown = _read_terminal(screen)
        assert process.wait(timeout=1000) == 0, shown
    text = shown.decode(errors="replace")
    assert "/13" in text, "steps done of all"
    assert "\x1b[" in text
    assert "read the witness: " not in text, "lines are for logs"


@pytest.mark.parametrize(
    ("device", "usable", "words"),
    [
        (None, True, "This machine can prove."),
        (None, False, "not fit for proving"),
        ("cuda:1", True, "cuda:1 can prove."),
        ("cpu", False, "cpu cannot prove"),
    ],
)
def test_doctor_answers_what_was_asked(device: str | None, usable: bool, words: str) -> None:
    assert words in doctor._summary(device, usable)
    assert ("alone tests every device" in doctor._summary(device, usable)) is (device is not None)
