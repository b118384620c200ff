"""``cuzk setup`` and ``cuzk verify``.

Would catch: keys that do not belong together, an overwritten key, a false proof that passes or a true one
that does not, a reason that names the wrong cause.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuzk.curves import get_curve
from tests.cli.support import CURVES, Run, assert_refused, circuit, cuzk, entries, prove, read_json, verify


def _setup(curve: str, folder: Path, *more: str) -> Run:
    return cuzk("setup", circuit(curve).r1cs, "--key", folder / "k.cuzk", "--vkey", folder / "vk.json", *more)


@pytest.mark.parametrize("curve", CURVES)
def test_own_keys_make_proofs_that_hold(curve: str, tmp_path: Path) -> None:
    done = _setup(curve, tmp_path, "--json")
    assert done.code == 0, done.err
    assert "single-party" in done.err
    assert (done.report["constraints"], done.report["insecure_seed"]) == (36, False)
    proved = prove(circuit(curve), tmp_path, key=tmp_path / "k.cuzk")
    assert proved.code == 0, proved.err
    assert "subgroup" not in proved.err, "a key of our own is not a foreign one"
    assert verify(tmp_path / "vk.json", tmp_path / "public.json", tmp_path / "proof.json").code == 0
    assert verify(circuit(curve).vkey, tmp_path / "public.json", tmp_path / "proof.json").code == 1
    assert entries(tmp_path) == {"k.cuzk", "vk.json", "proof.json", "public.json"}


def test_a_seed_fixes_the_keys_and_warns(tmp_path: Path) -> None:
    keys = []
    for seed in ("5", "5", "6"):
        done = _setup("bls12381", tmp_path, "--insecure-seed", seed, "--force")
        assert done.code == 0, done.err
        assert done.err.count("warning: ") == 1
        assert "can forge proofs" in done.err
        keys.append((tmp_path / "k.cuzk").read_bytes() + (tmp_path / "vk.json").read_bytes())
    assert keys[0] == keys[1] != keys[2]


def test_without_a_seed_every_key_is_new(tmp_path: Path) -> None:
    found = []
    for _ in range(2):
        assert _setup("bn128", tmp_path, "--force").code == 0
        found.append((tmp_path / "vk.json").read_bytes())
    assert found[0] != found[1]


@pytest.mark.parametrize("existing", ["k.cuzk", "vk.json"])
def test_existing_files_are_refused(existing: str, tmp_path: Path) -> None:
    (tmp_path / existing).write_text("precious")
    assert_refused(_setup("bls12381", tmp_path), 2, existing, "would be overwritten", "--force")
    assert (tmp_path / existing).read_text() == "precious"
    assert entries(tmp_path) == {existing}


@pytest.mark.parametrize("curve", CURVES)
def test_proofs_of_snarkjs_hold(curve: str) -> None:
    for name in ("product", "no_public", "bit_network"):
        files = circuit(curve, name)
        done = verify(files.vkey, files.public, files.proof)
        assert (done.code, done.out) == (0, "The proof holds.\n"), (name, done)


@pytest.mark.parametrize("curve", CURVES)
def test_another_statement_does_not_hold(curve: str, tmp_path: Path) -> None:
    files = circuit(curve)
    values = read_json(files.public)
    values[0] = str(int(values[0]) + 1)
    changed = tmp_path / "public.json"
    changed.write_text(json.dumps(values))
    done = verify(files.vkey, changed, files.proof, "--json")
    assert done.code == 1
    assert done.report["valid"] is False
    assert "equation" in done.report["reason"]
    assert "equation" in verify(files.vkey, changed, files.proof).out


def _off_curve(proof: Any, curve: str) -> None:
    proof["pi_c"][0] = str(int(proof["pi_c"][0]) ^ 1)


def _identity(proof: Any, curve: str) -> None:
    proof["pi_a"] = ["0", "1", "0"]


def _outside_subgroup(proof: Any, curve: str) -> None:
    """A point of the twist whose order is not r: of all points only one in the cofactor has that order."""
    plain = get_curve("bls12_381" if curve == "bls12381" else "bn254").g2.plain
    for k in range(1, 100):
        y: Any = plain.sqrt(plain.rhs((k, 1)))
        if y is not None:
            proof["pi_b"] = [[str(part) for part in coordinate] for coordinate in ((k, 1), y, (1, 0))]
            return
    raise AssertionError("half of all x have a point")


@pytest.mark.parametrize(
    ("change", "reason"),
    [(_off_curve, "off the curve"), (_identity, "identity"), (_outside_subgroup, "outside the subgroup")],
)
@pytest.mark.parametrize("curve", CURVES)
def test_points_that_are_none_of_a_proof(
    curve: str, change: Callable[[Any, str], None], reason: str, tmp_path: Path
) -> None:
    files = circuit(curve)
    proof = read_json(files.proof)
    change(proof, curve)
    changed = tmp_path / "proof.json"
    changed.write_text(json.dumps(proof))
    done = verify(files.vkey, files.public, changed, "--json")
    assert (done.code, done.report["valid"]) == (1, False), done
    assert reason in done.report["reason"]


def test_bytes_that_are_no_point_do_not_hold(tmp_path: Path) -> None:
    files = circuit("bls12381")
    group = get_curve("bls12_381").g1
    x = next(k for k in range(1, 100) if group.plain.sqrt(group.plain.rhs(k)) is None)
    data = bytearray(192)
    data[:48] = x.to_bytes(48, "big")
    data[0] |= 0x80
    (tmp_path / "p.bin").write_bytes(bytes(data))
    done = verify(files.vkey, files.public, tmp_path / "p.bin", "--json")
    assert (done.code, done.report["valid"]) == (1, False), done
    assert "off the curve" in done.report["reason"]


def test_a_coordinate_that_is_not_reduced_does_not_parse(tmp_path: Path) -> None:
    files = circuit("bn128")
    proof = read_json(files.proof)
    proof["pi_a"][0] = str(int(proof["pi_a"][0]) + get_curve("bn254").p)
    changed = tmp_path / "proof.json"
    changed.write_text(json.dumps(proof))
    assert_refused(verify(files.vkey, files.public, changed), 2, "pi_a", str(get_curve("bn254").p))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pi_a": 1}', "\x00\x01"])
def test_what_is_no_proof_does_not_parse(text: str, tmp_path: Path) -> None:
    files = circuit("bn128")
    (tmp_path / "proof.json").write_text(text)
    done = verify(files.vkey, files.public, tmp_path / "proof.json", "--json")
    assert_refused(done, 2, "proof.json")
    assert done.report["error"]["exit_code"] == 2


def test_too_few_public_inputs_are_refused(tmp_path: Path) -> None:
    files = circuit("bn128")
    (tmp_path / "public.json").write_text(json.dumps(read_json(files.public)[1:]))
    assert_refused(verify(files.vkey, tmp_path / "public.json", files.proof), 2, "4 public inputs", "5")
