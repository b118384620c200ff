"""Regressions of verification: reports VER-03 to VER-18, each checked as a kind of fault.

Would catch: two spellings of one public input; a wrong number of inputs that verifies; a point outside its group that
only the pairing rejects; a key that lets anybody forge; infinity that crashes or passes.
"""

from __future__ import annotations

import dataclasses
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import py_arkworks_bls12381 as arkworks
import pytest
from cuzk_oracles import curve as oracle
from cuzk_oracles import edge_points

from cuzk import _pairing
from cuzk.errors import FormatError, InputError, RangeError, SecurityWarning, ShapeError
from cuzk.formats import load_vkey, parse_proof, parse_public, parse_vkey, proof_to_json, vkey_to_json
from cuzk.formats.json_proof import dump_json
from cuzk.groth16 import PreparedVerifyingKey, verify
from cuzk.groth16.prover import Prover
from cuzk.keys import VerifyingKey
from cuzk.limbs import points_to_ints
from cuzk.proof import Proof
from tests.cli.support import cuzk
from tests.kernels.msm_support import subject
from tests.prover.support import device, key, workload
from tests.regressions.support import REAL_CURVES, encoded, files, moved

every_curve = pytest.mark.parametrize("curve_name", REAL_CURVES)


def scaled(curve_name: str, group_name: str, k: int, limbs: Any) -> Any:
    """K times one point, as limbs."""
    s = subject(curve_name, group_name)
    return encoded(s.spec, oracle.mul(s.oracle, k % s.r, points_to_ints(s.spec, limbs)[0]))


@every_curve
def test_ver_03_one_spelling_of_a_public_input(curve_name: str) -> None:
    f = files(curve_name)
    curve, first = f.vkey.curve, f.public[0]
    prepared = PreparedVerifyingKey(f.vkey)
    spellings: list[Any] = [
        -1,
        -curve.r,
        first + curve.r,
        first - curve.r,
        True,
        None,
        str(first),
        1.0,
        float("nan"),
    ]
    for value in spellings:
        with pytest.raises(RangeError, match=r"public\[0\]"):
            prepared.verify([value, *f.public[1:]], f.proof)
        with pytest.raises(RangeError):
            prepared.verify_batch([[value, *f.public[1:]]], [f.proof])
    texts = [
        "-1",
        str(-curve.r),
        str(first + curve.r),
        "+1",
        " 1",
        "1 ",
        "1e3",
        "1.0",
        "0x1",
        "01",
        "",
        "1_0",
    ]
    others: list[Any] = ["\u0661", True, None, 1, 1.5, [], {}]
    for entry in [*texts, *others]:
        with pytest.raises(FormatError):
            parse_public([entry], curve)


@every_curve
def test_ver_04_the_number_of_public_inputs(curve_name: str) -> None:
    f = files(curve_name)
    for public in ([], f.public[:-1], [*f.public, 0], [*f.public, *f.public]):
        with pytest.raises(ShapeError, match="public inputs"):
            verify(f.vkey, public, f.proof)


@every_curve
def test_ver_04_on_the_command_line(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    for public in ([], f.public[:-1], [*f.public, 0]):
        path = tmp_path / "public.json"
        path.write_bytes(dump_json([str(value) for value in public]))
        done = cuzk(
            "verify", "--vkey", f.folder / "vkey.json", "--public", path, "--proof", f.folder / "proof.json"
        )
        assert done.code == 2
        assert "public inputs" in done.err


def cofactor_point(curve_name: str, group_name: str) -> Any:
    """A point of the curve whose order is prime to r."""
    s = subject(curve_name, group_name)
    outside = edge_points.outside_subgroup(s.oracle)
    return oracle.mul(s.oracle, s.r, outside)


def test_ver_05_points_with_a_part_outside_the_group() -> None:
    f = files("bls12_381")
    prepared = PreparedVerifyingKey(f.vkey)
    other = cofactor_point("bls12_381", "g1")
    shifts: list[dict[str, Any]] = [{"a": (0, 2)}, {"c": (0, 2)}, {"a": other}, {"c": other}]
    shifts.append({"b": cofactor_point("bls12_381", "g2")})
    for shift in shifts:
        bad = moved("bls12_381", f.proof, **shift)
        verdict = prepared.verify(f.public, bad)
        assert not verdict
        assert verdict.reason == f"{next(iter(shift)).upper()} is outside the subgroup of order r"
        batch = prepared.verify_batch([f.public, f.public], [f.proof, bad])
        assert "outside the subgroup" in batch.reason
        assert batch.reason.startswith("proof 1")


@every_curve
def test_ver_06_a_random_point_of_the_twist(curve_name: str) -> None:
    f, s = files(curve_name), subject(curve_name, "g2")
    prepared = PreparedVerifyingKey(f.vkey)
    point = edge_points.outside_subgroup(s.oracle)
    for b in (point, cofactor_point(curve_name, "g2")):
        verdict = prepared.verify(f.public, dataclasses.replace(f.proof, b=encoded(s.spec, b)))
        assert verdict.reason == "B is outside the subgroup of order r"
        for name in ("beta_g2", "gamma_g2", "delta_g2"):
            with pytest.raises(InputError, match=name):
                PreparedVerifyingKey(dataclasses.replace(f.vkey, **{name: encoded(s.spec, b)}))


def unsafe_keys(curve_name: str) -> list[VerifyingKey]:
    """Keys that nobody contributed to: delta is gamma, or a generator."""
    vk = files(curve_name).vkey
    generator = encoded(vk.curve.g2, vk.curve.g2.generator)
    twice = scaled(curve_name, "g2", 2, generator)
    return [
        dataclasses.replace(vk, delta_g2=vk.gamma_g2),
        dataclasses.replace(vk, delta_g2=generator),
        dataclasses.replace(vk, gamma_g2=twice, delta_g2=generator),
        dataclasses.replace(vk, gamma_g2=twice, delta_g2=twice),
    ]


@every_curve
def test_ver_08_keys_without_a_contribution(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    for vk in unsafe_keys(curve_name):
        text = vkey_to_json(vk)
        with pytest.warns(SecurityWarning, match="anybody can forge"):
            parse_vkey(text)
        with pytest.raises(RangeError, match="nobody has contributed"):
            parse_vkey(text, strict=True)
        path = tmp_path / "vkey.json"
        path.write_bytes(dump_json(text))
        public, proof = f.folder / "public.json", f.folder / "proof.json"
        words: list[str | Path] = ["verify", "--vkey", path, "--public", public, "--proof", proof]
        loud = cuzk(*words)
        assert loud.code == 1
        assert "forge" in loud.err
        assert cuzk(*words, "--strict").code == 2
    generator = encoded(f.key.curve.g1, f.key.curve.g1.generator)
    with pytest.warns(SecurityWarning, match="generator"):
        dataclasses.replace(f.key, delta_g1=generator).check_degenerate()
    with pytest.raises(RangeError, match="delta_g1"):
        dataclasses.replace(f.key, delta_g1=generator).check_degenerate(strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f.key.check_degenerate(strict=True)


@every_curve
def test_ver_08_why_such_a_key_is_refused(curve_name: str) -> None:
    """With delta = gamma, (alpha, beta, minus the sum of inputs) proves any statement, true or false."""
    f, s = files(curve_name), subject(curve_name, "g1")
    vk = unsafe_keys(curve_name)[0]
    statement = [(value + 1) % s.r for value in f.public]
    ic = points_to_ints(s.spec, vk.ic)
    total = ic[0]
    for value, point in zip(statement, ic[1:], strict=True):
        total = oracle.add(s.oracle, total, oracle.mul(s.oracle, value, point))
    forged = Proof(vk.curve, vk.alpha_g1, vk.beta_g2, encoded(s.spec, oracle.neg(s.oracle, total)))
    with pytest.warns(SecurityWarning):
        assert verify(vk, statement, forged)
    assert not verify(f.vkey, statement, forged)


@every_curve
def test_ver_10_a_proof_has_many_valid_forms(curve_name: str) -> None:
    f = files(curve_name)
    prepared, r = PreparedVerifyingKey(f.vkey), f.vkey.curve.r
    seen = {f.proof}
    for k in (-1, 2, 12345):
        other = dataclasses.replace(
            f.proof,
            a=scaled(curve_name, "g1", k, f.proof.a),
            b=scaled(curve_name, "g2", pow(k, -1, r), f.proof.b),
        )
        assert prepared.verify(f.public, other)
        seen.add(other)
    assert len(seen) == 4, "so the bytes of a proof name neither it nor its statement"


@every_curve
def test_ver_13_infinity_in_a_key(curve_name: str) -> None:
    f = files(curve_name)
    for name in ("alpha_g1", "beta_g2", "gamma_g2", "delta_g2", "ic"):
        value = np.array(getattr(f.vkey, name))
        if name == "ic":
            value[0] = 0
        else:
            value[:] = 0
        broken = dataclasses.replace(f.vkey, **{name: value})  # type: ignore[arg-type]
        with pytest.raises(RangeError, match="infinity"):
            parse_vkey(vkey_to_json(broken))
        with pytest.raises(RangeError, match="infinity"):
            PreparedVerifyingKey(broken)


@every_curve
def test_ver_14_no_public_inputs(curve_name: str) -> None:
    f = files(curve_name, "no_public")
    assert f.public == []
    prepared = PreparedVerifyingKey(f.vkey)
    assert prepared.verify([], f.proof)
    assert prepared.verify_batch([[], []], [f.proof, f.proof])
    s = subject(curve_name, "g1")
    bad = moved(curve_name, f.proof, c=s.oracle.generator)
    assert not prepared.verify([], bad)
    assert not prepared.verify_batch([[], []], [f.proof, bad])
    with pytest.raises(ShapeError):
        prepared.verify([1], f.proof)


@every_curve
@pytest.mark.parametrize("num_public", [0, 1, 5])
def test_ver_16_the_number_of_inputs_in_an_exported_key(
    curve_name: str, num_public: int, tmp_path: Path
) -> None:
    load = workload("random", curve_name, 12, num_public)
    vk = key(load).verifying_key()
    text = vkey_to_json(vk)
    assert text["nPublic"] == len(text["IC"]) - 1 == num_public
    for wrong in (num_public + 1, num_public - 1, -1, True, str(num_public)):
        path = tmp_path / "vkey.json"
        path.write_bytes(dump_json(text | {"nPublic": wrong}))
        with pytest.raises(FormatError):
            load_vkey(path)
    proof = Prover(key(load), device("cpu")).prove(load.witness)
    assert verify(parse_vkey(text), load.public, proof)


@every_curve
def test_ver_17_infinity_in_a_proof(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    prepared = PreparedVerifyingKey(f.vkey)
    for names in ("a", "b", "c", "ab", "bc", "abc"):
        zero = {name: np.zeros_like(getattr(f.proof, name)) for name in names}
        bad = dataclasses.replace(f.proof, **zero)
        verdict = prepared.verify(f.public, parse_proof(proof_to_json(bad)))
        assert verdict.reason == f"{names[0].upper()} is the identity (point at infinity)"
        assert not prepared.verify_batch([f.public], [bad])
        path = tmp_path / "proof.json"
        path.write_bytes(dump_json(proof_to_json(bad)))
        vkey, public = f.folder / "vkey.json", f.folder / "public.json"
        words: list[str | Path] = ["--vkey", vkey, "--public", public, "--proof", path]
        assert cuzk("verify", *words).code == 1
    assert prepared.verify(f.public, f.proof)


def test_ver_18_pairings_of_nothing_and_of_infinity(rng: random.Random) -> None:
    bn = files("bn254").vkey
    zero1, zero2 = np.zeros_like(bn.alpha_g1)[None], np.zeros_like(bn.beta_g2)[None]
    one1, one2 = np.ascontiguousarray(bn.alpha_g1[None]), np.ascontiguousarray(bn.beta_g2[None])
    none2 = _pairing.prepare_g2(zero2[:0])
    assert _pairing.pairing_product_is_one(zero1[:0], [none2])
    assert _pairing.pairing_product_is_one(zero1[:0], [])
    for left, right in ((zero1, one2), (one1, zero2), (zero1, zero2)):
        assert _pairing.pairing_product_is_one(left, [_pairing.prepare_g2(right)])
    assert not _pairing.pairing_product_is_one(one1, [_pairing.prepare_g2(one2)])
    both = _pairing.prepare_g2(np.concatenate([zero2, zero2]))
    assert _pairing.pairing_product_is_one(np.concatenate([one1, zero1]), [both])
    one = arkworks.GT.one()
    o1, o2 = arkworks.G1Point.identity(), arkworks.G2Point.identity()
    g1, g2 = arkworks.G1Point(), arkworks.G2Point()
    assert arkworks.GT.multi_pairing([], []) == one
    for p, q in ((o1, g2), (g1, o2), (o1, o2)):
        assert arkworks.GT.multi_pairing([p], [q]) == one
    assert arkworks.GT.multi_pairing([g1], [g2]) != one
