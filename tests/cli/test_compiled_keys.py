"""Commands on keys of built-in circuits, which hold no matrices: what they do, and what they say they cannot do.

Would catch: a command that fails without saying what is missing, a key that is taken for another circuit's, matrices
given back that are not the circuit's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.cli import key_circuit
from tests.cli.support import assert_refused, circuit, cuzk

NAME = "poseidon:2"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compiled")
    for name, more in (("pieces", ()), ("matrices", ("--matrices",))):
        words = (
            "setup",
            NAME,
            "--key",
            made / f"{name}.cuzk",
            "--vkey",
            made / f"{name}.json",
            "--device",
            "cpu",
        )
        done = cuzk(*words, "--insecure-seed", "3", *more)
        assert done.code == 0, done.err
    return made


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)


def key(*words: str) -> tuple[str, ...]:
    return ("key", *words, "--device", "cpu")


def test_both_keys_verify_the_same(folder: Path) -> None:
    assert (folder / "pieces.json").read_bytes() == (folder / "matrices.json").read_bytes()


def test_info_says_that_there_are_none() -> None:
    report = cuzk("key", "info", "pieces.cuzk", "--json").report
    assert report["compiled_circuit"] == NAME
    assert report["matrices"].startswith("none")
    assert "matrix_C" not in report
    assert cuzk("key", "info", "matrices.cuzk", "--json").report["matrix_C"] == "yes"


def test_check_looks_at_points_and_at_the_circuit() -> None:
    report = cuzk(*key("check", "pieces.cuzk", "--circuit", NAME, "--json")).report
    assert report["valid"]
    assert report["checks"][-1] == "made for this circuit"
    assert "matrices and binding rows" not in report["checks"]
    refused = cuzk(*key("check", "pieces.cuzk", "--circuit", "poseidon:4"))
    assert_refused(refused, 2, "pieces.cuzk", "num_variables")
    refused = cuzk(*key("check", "pieces.cuzk", "--circuit", str(circuit("bls12381").r1cs)))
    assert_refused(refused, 2, "holds no matrices", f"--circuit {NAME}")
    refused = cuzk(*key("check", "pieces.cuzk", "--circuit", "poseidon:7"))
    assert refused.code == 2
    report = cuzk(*key("check", "matrices.cuzk", "--circuit", NAME, "--json")).report
    assert {"matrices and binding rows", "made for this circuit"} <= set(report["checks"])


def test_formats_that_have_no_matrices_are_written(folder: Path) -> None:
    for form in ("params", "vk", "vkey"):
        for name in ("pieces", "matrices"):
            more = ("--any-roots",) if form == "params" else ()
            done = cuzk(*key("export", f"{name}.cuzk", "--format", form, "--out", f"{name}.{form}", *more))
            assert done.code == 0, done.err
        assert (folder / f"pieces.{form}").read_bytes() == (folder / f"matrices.{form}").read_bytes()


def test_what_needs_matrices_takes_them_from_the_circuit(folder: Path) -> None:
    for words in (
        ("export", "pieces.cuzk", "--format", "zkey", "--out", "pieces.zkey"),
        ("convert", "pieces.cuzk", "--out", "bellman.cuzk", "--roots", "bellman"),
    ):
        refused = cuzk(*key(*words))
        assert_refused(refused, 2, "holds no matrices", f"--circuit {NAME}", "--matrices")
        assert not (folder / words[-1]).exists()
    assert (
        cuzk(*key("export", "pieces.cuzk", "--format", "zkey", "--out", "p.zkey", "--circuit", NAME)).code
        == 0
    )
    assert cuzk(*key("export", "matrices.cuzk", "--format", "zkey", "--out", "m.zkey")).code == 0
    assert (folder / "p.zkey").read_bytes() == (folder / "m.zkey").read_bytes()
    done = cuzk(*key("convert", "pieces.cuzk", "--out", "whole.cuzk", "--circuit", NAME, "--json"))
    assert done.report["matrix_c"] is True
    assert (folder / "whole.cuzk").read_bytes() == (folder / "matrices.cuzk").read_bytes()


def test_other_forms_keep_what_they_are(folder: Path) -> None:
    done = cuzk(*key("convert", "pieces.cuzk", "--out", "monomial.cuzk", "--h-form", "monomial", "--json"))
    assert done.report["matrices"] == "none"
    assert cuzk("key", "info", "monomial.cuzk", "--json").report["compiled_circuit"] == NAME


def test_a_large_circuit_stays_in_pieces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_circuit, "_MOST_ROWS", 10)
    done = cuzk(*key("convert", "pieces.cuzk", "--out", "same.cuzk", "--circuit", NAME))
    assert done.code == 0, done.err
    assert (folder / "same.cuzk").read_bytes() == (folder / "pieces.cuzk").read_bytes()
    refused = cuzk(*key("check", "matrices.cuzk", "--circuit", NAME))
    assert_refused(refused, 2, "311 rows", "too many", "10 rows")


def test_a_full_disk_is_named_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch: a set-up that runs for minutes and then fails, or leaves half a key."""
    from types import SimpleNamespace

    monkeypatch.setattr("os.fstatvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=512))
    monkeypatch.setattr("cuzk.groth16.setup", lambda *_: pytest.fail("work was begun"))
    refused = cuzk("setup", NAME, "--key", "full.cuzk", "--vkey", "full.json", "--device", "cpu")
    assert_refused(refused, 2, "full.cuzk", "bytes on the disk", "512 bytes are free", "make room")
    assert not (folder / "full.cuzk").exists()
    assert not (folder / "full.json").exists()
