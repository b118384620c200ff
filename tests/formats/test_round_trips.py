"""One key through every file format: nothing that matters is lost, and the proof stays the same.

Would catch: a format that keeps less than it must, a conversion that is right alone but not in a chain.
"""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from cuzk.curves import CURVES, ROOT_CONVENTIONS, RootConvention, get_curve
from cuzk.device import get_device
from cuzk.errors import InputError, InternalError
from cuzk.formats import (
    cuzk_key_from_bytes,
    cuzk_key_to_bytes,
    load_cuzk_key,
    load_params,
    load_r1cs,
    load_vk,
    load_vkey,
    load_witness,
    load_zkey,
    read_ceremony,
    save_cuzk_key,
    save_params,
    save_vk,
    save_zkey,
    vkey_to_json,
)
from cuzk.formats.json_proof import dump_json
from cuzk.groth16 import Prover
from cuzk.groth16.alpha_beta import alpha_beta_of
from cuzk.groth16.convert import convert
from cuzk.groth16.setup import setup
from cuzk.keys import H_FORMS, HForm, ProvingKey
from cuzk.proof import Proof
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.prover.support import blinding, key, waste, workload

DATA = Path(__file__).resolve().parents[1] / "data"


class Load(NamedTuple):
    """A circuit that uses every variable, as bellperson's keys demand, and a witness."""

    r1cs: R1CS
    witness: Witness


@functools.cache
def load_for(curve: str) -> Load:
    """A circuit of 213 constraints that snarkjs's files are here for."""
    folder = DATA / get_curve(curve).snarkjs_name / "mimc_chain"
    return Load(load_r1cs(folder / "mimc_chain.r1cs"), load_witness(folder / "mimc_chain.wtns"))


@functools.cache
def key_for(curve: str, roots: RootConvention) -> ProvingKey:
    """A key with known secrets."""
    r1cs = load_for(curve).r1cs
    return setup(r1cs, get_device("cpu"), toxic_waste=waste(r1cs.curve), root_convention=roots)


def proof_of(made: ProvingKey, load: Load) -> Proof:
    return Prover(made, get_device("cpu"), circuit=load.r1cs).prove(
        load.witness, blinding=blinding(made.curve)
    )


def through_zkey(made: ProvingKey, load: Load, path: Path) -> ProvingKey:
    save_zkey(path, convert(made, get_device("cpu"), h_form="odd_lagrange", root_convention="snarkjs"))
    return load_zkey(path)


def through_params(made: ProvingKey, load: Load, path: Path) -> ProvingKey:
    """Points that belong to the rows' order of the circuit need to be told so; the file cannot say it."""
    roots: RootConvention = made.root_convention
    if made.is_renumbered:
        roots = "snarkjs" if roots == "bellman" else "bellman"
    save_params(path, convert(made, get_device("cpu"), h_form="monomial"), any_roots=True)
    return load_params(path, load.r1cs, root_convention=roots)


def through_own(made: ProvingKey, load: Load, path: Path) -> ProvingKey:
    save_cuzk_key(path, made, overwrite=True)
    return load_cuzk_key(path, verify="all")


STEPS = {"zkey": through_zkey, "params": through_params, "own": through_own}


@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize(
    ("curve", "chain"),
    [
        ("bls12_381", ("params", "own", "zkey", "params")),
        ("bls12_381", ("zkey", "own", "params", "zkey")),
        ("bn254", ("own", "zkey", "own")),
    ],
)
def test_chains_of_formats(curve: str, chain: tuple[str, ...], roots: RootConvention, tmp_path: Path) -> None:
    load = load_for(curve)
    made = key_for(curve, roots)
    expected = proof_of(made, load)
    for i, step in enumerate(chain):
        made = STEPS[step](made, load, tmp_path / f"{i}.{step}")
        made.check_circuit(load.r1cs)
        assert proof_of(made, load) == expected, (i, step)
    for (name, _, one), (_, _, other) in zip(made.points(), key_for(curve, roots).points(), strict=True):
        assert name == "h_query" or np.array_equal(one, other), name


def through_bytes(made: ProvingKey, load: Load, path: Path) -> ProvingKey:
    return cuzk_key_from_bytes(cuzk_key_to_bytes(made))


@pytest.mark.parametrize("h_form", H_FORMS)
@pytest.mark.parametrize("roots", ROOT_CONVENTIONS)
@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
def test_every_form_through_every_file(
    curve: str, roots: RootConvention, h_form: HForm, tmp_path: Path
) -> None:
    """The proof under fixed blinding, the verifying key, the circuit and its matrix C are those of the key."""
    load, device = load_for(curve), get_device("cpu")
    original = key_for(curve, "snarkjs")
    made = convert(original, device, h_form=h_form, root_convention=roots)
    expected, vkey = proof_of(original, load), dump_json(vkey_to_json(original.verifying_key()))
    steps = STEPS | {"bytes": through_bytes}
    if curve == "bn254":
        del steps["params"]
    for name, step in steps.items():
        found = step(made, load, tmp_path / name)
        assert proof_of(found, load) == expected, name
        assert dump_json(vkey_to_json(found.verifying_key())) == vkey, name
        assert found.circuit_digest == load.r1cs.digest(), name
        if name in ("own", "bytes"):
            assert (found.h_form, found.root_convention) == (made.h_form, made.root_convention)
            assert found.c is not None
            assert cuzk_key_to_bytes(found) == cuzk_key_to_bytes(made)


def test_the_bytes_of_bellpersons_files_come_back(tmp_path: Path) -> None:
    """.params and .vk by way of a key of our own, and of the other H form."""
    load, device = load_for("bls12_381"), get_device("cpu")
    made = convert(key_for("bls12_381", "bellman"), device, h_form="monomial")
    first, second, vk, vk_again = (tmp_path / name for name in ("a.params", "b.params", "a.vk", "b.vk"))
    save_params(first, made)
    save_vk(vk, made)
    read = through_own(load_params(first, load.r1cs), load, tmp_path / "own")
    for again in (read, convert(convert(read, device, h_form="odd_lagrange"), device, h_form="monomial")):
        save_params(second, again, overwrite=True)
        save_vk(vk_again, again, overwrite=True)
        assert second.read_bytes() == first.read_bytes()
        assert vk_again.read_bytes() == vk.read_bytes()
    assert dump_json(vkey_to_json(load_vk(vk))) == dump_json(vkey_to_json(made.verifying_key()))


@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
def test_the_bytes_of_snarkjs_files_come_back_by_way_of_our_own(curve: str, tmp_path: Path) -> None:
    path = DATA / get_curve(curve).snarkjs_name / "mimc_chain" / "mimc_chain.zkey"
    direct, detour = tmp_path / "direct.zkey", tmp_path / "detour.zkey"
    save_zkey(direct, load_zkey(path), ceremony=read_ceremony(path))
    own = through_own(load_zkey(path), load_for(curve), tmp_path / "own")
    save_zkey(detour, own, ceremony=read_ceremony(path))
    assert detour.read_bytes() == direct.read_bytes()
    assert read_ceremony(detour) == read_ceremony(path)


@pytest.mark.parametrize("curve", CURVES)
def test_own_key_as_bytes(curve: str, tmp_path: Path) -> None:
    made = key(workload("random", curve, 12, 2))
    data = cuzk_key_to_bytes(made)
    save_cuzk_key(tmp_path / "k.cuzk", made)
    assert (tmp_path / "k.cuzk").read_bytes() == data
    again = cuzk_key_from_bytes(data)
    assert cuzk_key_to_bytes(again) == data
    assert again.circuit_digest == made.circuit_digest


def test_damaged_bytes_of_an_own_key(rng: random.Random) -> None:
    """Every byte is covered by a checksum or checked to be zero: a flipped bit anywhere is found."""
    data = cuzk_key_to_bytes(key(workload("random", "toy", 12, 2)))
    for at in [*range(96), *rng.sample(range(len(data)), 150), len(data) - 1]:
        wrong = bytes([*data[:at], data[at] ^ (1 << rng.randrange(8)), *data[at + 1 :]])
        with pytest.raises(InputError):
            cuzk_key_from_bytes(wrong)
    for wrong in (b"", data[:40], data[:-1], data + bytes(4096)):
        with pytest.raises(InputError, match="key from bytes"):
            cuzk_key_from_bytes(wrong)


@pytest.mark.parametrize(
    "path",
    sorted(DATA.glob("*/*/vkey.json")),
    ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}",
)
def test_verification_key_of_snarkjs(path: Path) -> None:
    """With the precomputed pairing our file is snarkjs's, byte for byte."""
    made = load_vkey(path)
    assert dump_json(vkey_to_json(made, alpha_beta_of(made.curve))) == path.read_bytes()


def test_a_curve_without_a_pairing_has_none_to_write() -> None:
    assert alpha_beta_of(get_curve("toy")) is None


def test_a_library_that_prints_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = load_vkey(DATA / "bls12381" / "product" / "vkey.json")
    monkeypatch.setattr("cuzk.groth16.alpha_beta._coordinates", lambda _: [0] * 11 + [1])
    with pytest.raises(InternalError, match="form"):
        vkey_to_json(made, alpha_beta_of(made.curve))
