"""``cuzk key convert`` and ``export``, and proving with what they write.

Would catch: a key whose form and content disagree after the command, a file that another program reads otherwise,
an option whose mistake is not named, a file overwritten.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.curves import CURVES as CURVE_SPECS
from tests.cli.support import CURVES, Circuit, assert_refused, circuit, cuzk, prove, read_json, verify
from tests.formats.ptau_builder import Secrets, ptau_bytes

BLS = "bls12381"
NAME = "mimc_chain"
FIXED = ("--insecure-blinding", "7,11", "--device", "cpu")


def convert(key: Path, out: Path, *more: str | Path) -> None:
    run = cuzk("key", "convert", key, "--out", out, "--device", "cpu", *more)
    assert run.code == 0, run


def export(key: Path, form: str, out: Path, *more: str | Path) -> None:
    run = cuzk("key", "export", key, "--format", form, "--out", out, "--device", "cpu", *more)
    assert run.code == 0, run


def gives_the_stored_proof(files: Circuit, key: Path, folder: Path, *more: str | Path) -> bool:
    run = prove(files, folder, *FIXED, *more, key=key)
    assert run.code == 0, run
    return bool(read_json(folder / "proof.json") == read_json(files.proof_7_11))


@pytest.mark.parametrize("curve", CURVES)
def test_every_form_gives_the_stored_proof(curve: str, tmp_path: Path) -> None:
    files = circuit(curve, NAME)
    key, zkey = tmp_path / "k.cuzk", tmp_path / "k.zkey"
    convert(files.zkey, key, "--circuit", files.r1cs, "--h-form", "monomial", "--roots", "bellman")
    report = cuzk("key", "info", key, "--json").report
    assert (report["h_form"], report["root_convention"], report["matrix_C"]) == ("monomial", "bellman", "yes")
    assert gives_the_stored_proof(files, key, tmp_path)
    export(key, "zkey", zkey)
    assert gives_the_stored_proof(files, zkey, tmp_path, "--circuit", files.r1cs)
    assert cuzk("key", "check", zkey, "--circuit", files.r1cs, "--device", "cpu").code == 0


def test_params_of_a_snarkjs_key(tmp_path: Path) -> None:
    """Its rows have other roots than bellperson's: said on the way out, to be said on the way in."""
    files = circuit(BLS, NAME)
    params, key = tmp_path / "k.params", tmp_path / "k.cuzk"
    refused = cuzk("key", "export", files.zkey, "--format", "params", "--out", params, "--device", "cpu")
    assert_refused(refused, 2, "roots", "--any-roots")
    assert not params.exists()
    export(files.zkey, "params", params, "--any-roots")
    convert(params, key, "--circuit", files.r1cs, "--file-roots", "snarkjs")
    assert gives_the_stored_proof(files, key, tmp_path)
    assert_refused(prove(files, tmp_path, *FIXED, "--circuit", files.r1cs, key=params), 2, "--file-roots")


def test_params_of_an_own_key(tmp_path: Path) -> None:
    files = circuit(BLS, NAME)
    key, vkey, params, vk = (tmp_path / f"k.{end}" for end in ("cuzk", "json", "params", "vk"))
    made = cuzk("setup", files.r1cs, "--key", key, "--vkey", vkey, "--roots", "bellman", "--device", "cpu")
    assert made.code == 0, made
    export(key, "params", params)
    export(key, "vk", vk)
    assert cuzk("info", params, "--json").report["points_in_h_query"] == 255
    assert cuzk("info", vk, "--json").report["public"] == 1
    for one in (key, params):
        run = prove(files, tmp_path, "--device", "cpu", "--circuit", files.r1cs, key=one)
        assert run.code == 0, run
        assert verify(vkey, tmp_path / "public.json", tmp_path / "proof.json").code == 0
    assert verify(vk, tmp_path / "public.json", tmp_path / "proof.json").code == 0
    assert cuzk("key", "check", params, "--circuit", files.r1cs, "--device", "cpu").code == 0
    for run in (prove(files, tmp_path, key=params), cuzk("key", "check", params), cuzk("key", "info", vk)):
        assert_refused(run, 2)
    assert_refused(prove(files, tmp_path, key=params), 2, "--circuit C.r1cs")
    other = circuit(BLS, "product").r1cs
    assert_refused(cuzk("key", "check", params, "--circuit", other), 2, "points in")


@pytest.mark.parametrize("curve", CURVES)
def test_verification_key(curve: str, tmp_path: Path) -> None:
    """The same file that snarkjs exports."""
    files = circuit(curve)
    export(files.zkey, "vkey", tmp_path / "vkey.json")
    assert (tmp_path / "vkey.json").read_bytes() == files.vkey.read_bytes()


def test_a_ceremony_is_kept_or_missed(tmp_path: Path) -> None:
    files = circuit(BLS)
    same = tmp_path / "same.zkey"
    export(files.zkey, "zkey", same)
    contributions = [cuzk("info", path, "--json").report["contributions"] for path in (files.zkey, same)]
    assert contributions[0] == contributions[1] > 0
    convert(files.zkey, tmp_path / "k.cuzk")
    run = cuzk("key", "export", tmp_path / "k.cuzk", "--format", "zkey", "--out", tmp_path / "other.zkey")
    assert "lists no contributions" in run.err
    assert cuzk("info", tmp_path / "other.zkey", "--json").report["contributions"] == 0


def test_mistakes_are_named(tmp_path: Path) -> None:
    files, out = circuit(BLS), tmp_path / "out"
    convert_it = ("key", "convert", files.zkey, "--out", out)
    export_it = ("key", "export", files.zkey, "--out", out, "--format")
    assert_refused(cuzk(*convert_it, "--h-form", "lagrange"), 2, "--h-form", "monomial")
    assert_refused(cuzk(*convert_it, "--roots", "gnark"), 2, "--roots", "bellman")
    assert_refused(cuzk(*convert_it, "--file-roots", "x"), 2, "--file-roots")
    assert_refused(cuzk(*convert_it, "--circuit", circuit(BLS, NAME).r1cs), 2, "the circuit has")
    assert_refused(cuzk(*export_it, "pk"), 2, "--format", "params")
    assert_refused(cuzk(*export_it, "vk", "--circuit", tmp_path / "none"), 2, "no such file")
    assert_refused(
        cuzk("key", "export", circuit("bn128").zkey, "--out", out, "--format", "vk"), 2, "bls12_381"
    )
    assert not out.exists()
    out.write_text("mine")
    assert_refused(cuzk(*convert_it), 2, "--force")
    assert out.read_text() == "mine"
    assert cuzk(*convert_it, "--force", "--device", "cpu").code == 0


@pytest.mark.parametrize("curve", CURVES)
def test_setup_from_powers_of_tau(curve: str, tmp_path: Path) -> None:
    files, ptau = circuit(curve), tmp_path / "f.ptau"
    spec = next(one for one in CURVE_SPECS.values() if one.snarkjs_name == curve)
    ptau.write_bytes(ptau_bytes(spec, 6, Secrets(12345, 67, 89), prepared=True))
    key, vkey = tmp_path / "k.cuzk", tmp_path / "vkey.json"
    run = cuzk("setup", files.r1cs, "--key", key, "--vkey", vkey, "--ptau", ptau, "--device", "cpu")
    assert run.code == 0, run
    assert "powersoftau verify" in run.err
    assert prove(files, tmp_path, "--device", "cpu", key=key).code == 0
    assert verify(vkey, tmp_path / "public.json", tmp_path / "proof.json").code == 0
    assert cuzk("info", ptau, "--json").report["power"] == 6
    off = bytearray(ptau.read_bytes())
    off[-8 * spec.fp.limbs + 3] ^= 1
    ptau.write_bytes(bytes(off))
    again = cuzk("setup", files.r1cs, "--key", key, "--vkey", vkey, "--ptau", ptau, "--force")
    assert_refused(again, 2, "beta_tau_g1")
    small, other = tmp_path / "small.ptau", tmp_path / "other.cuzk"
    small.write_bytes(ptau_bytes(spec, 5, Secrets(12345, 67, 89), prepared=False))
    refused = cuzk("setup", files.r1cs, "--key", other, "--vkey", tmp_path / "v", "--ptau", small)
    assert_refused(refused, 2, "larger .ptau")
    assert not other.exists()
