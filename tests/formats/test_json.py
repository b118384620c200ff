"""snarkjs JSON, both ways.

Would catch: a second spelling of a number or point getting through, coordinates or public inputs that are not
reduced, infinity confused with a point, unknown or doubled keys ignored, bytes that differ from
JSON.stringify.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from cuzk.curves import CURVES, Curve, get_curve
from cuzk.errors import CurveMismatchError, CuzkError, FormatError, RangeError, SecurityWarning
from cuzk.formats import (
    load_proof,
    load_public,
    load_vkey,
    parse_proof,
    parse_public,
    parse_vkey,
    proof_to_json,
    public_to_json,
    save_proof,
    save_public,
    save_vkey,
    vkey_to_json,
)
from cuzk.formats.strict_json import parse_json
from cuzk.proof import Proof
from tests.formats.builders import Save

BN = get_curve("bn254")
each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())

# A proof as snarkjs formats it; the points are the generators of BN254.
BN_PROOF = """{
 "pi_a": [
  "1",
  "2",
  "1"
 ],
 "pi_b": [
  [
   "10857046999023057135944570762232829481370756359578518086990519993285655852781",
   "11559732032986387107991004021392285783925812861821192530917403151452391805634"
  ],
  [
   "8495653923123431417604973247489272438418190587263600148770280649306958101930",
   "4082367875863433681332203403145435568316851327593401208105741076214120093531"
  ],
  [
   "1",
   "0"
  ]
 ],
 "pi_c": [
  "1",
  "2",
  "1"
 ],
 "protocol": "groth16",
 "curve": "bn128"
}"""


def vkey_value(curve: Curve) -> dict[str, Any]:
    (x, y), (u, v) = curve.g1.generator, curve.g2.generator
    g1, g2 = [str(x), str(y), "1"], [[str(c) for c in u], [str(c) for c in v], ["1", "0"]]
    thrice = curve.g2.plain.mul(curve.g2.generator, 3)
    assert thrice is not None
    u3, v3 = thrice
    delta = [[str(c) for c in u3], [str(c) for c in v3], ["1", "0"]]
    return {
        "protocol": "groth16",
        "curve": curve.snarkjs_name,
        "nPublic": 1,
        "vk_alpha_1": g1,
        "vk_beta_2": g2,
        "vk_gamma_2": g2,
        "vk_delta_2": delta,
        "vk_alphabeta_12": [[["1", "2"]] * 3] * 2,
        "IC": [g1, ["0", "1", "0"]],
    }


def test_proof_bytes_of_snarkjs(save: Save, tmp_path: Path) -> None:
    path = save(BN_PROOF.encode())
    proof = load_proof(path)
    assert proof == Proof.from_ints(BN, BN.g1.generator, BN.g2.generator, BN.g1.generator)
    out = tmp_path / "proof.json"
    save_proof(out, proof)
    assert out.read_bytes() == BN_PROOF.encode()


@each_curve
def test_proof_round_trip_with_infinity(curve: Curve) -> None:
    for proof in (
        Proof.from_ints(curve, curve.g1.generator, curve.g2.generator, curve.g1.generator),
        Proof.from_ints(curve, None, None, None),
    ):
        assert parse_proof(json.loads(json.dumps(proof_to_json(proof)))) == proof
    assert proof_to_json(Proof.from_ints(curve, None, None, None))["pi_b"] == [
        ["0", "0"],
        ["1", "0"],
        ["0", "0"],
    ]


def test_proof_off_the_curve_parses() -> None:
    """That is a false statement, not a malformed file."""
    value = json.loads(BN_PROOF)
    value["pi_a"] = ["1", "3", "1"]
    assert parse_proof(value).to_ints()[0] == (1, 3)


def mutated(place: list[str | int], entry: Any) -> Any:
    value = copy.deepcopy(json.loads(BN_PROOF))
    target = value
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = entry
    return value


P = str(BN.p)
BAD_NUMBERS = [
    "-1",
    "+1",
    " 1",
    "1 ",
    "01",
    "1e3",
    "0x1",
    "",
    "1.0",
    "½",
    "1" * 5000,
    1,
    1.0,
    None,
    True,
    ["1"],
    P,
    str(2 * BN.p),
]


@pytest.mark.parametrize("number", BAD_NUMBERS, ids=lambda n: repr(n)[:12])
@pytest.mark.parametrize(
    "place",
    [["pi_a", 0], ["pi_a", 1], ["pi_a", 2], ["pi_b", 0, 1], ["pi_b", 1, 0], ["pi_b", 2, 1], ["pi_c", 1]],
)
def test_one_spelling_of_a_coordinate(place: list[str | int], number: Any) -> None:
    with pytest.raises(FormatError) as caught:
        parse_proof(mutated(place, number))
    assert str(place[0]) in str(caught.value)


@pytest.mark.parametrize(
    ("place", "entry"),
    [
        (["pi_a"], ["1", "2"]),
        (["pi_a"], ["1", "2", "1", "1"]),
        (["pi_a"], ["1", "2", "2"]),
        (["pi_a"], ["1", "2", "0"]),
        (["pi_a"], ["0", "0", "0"]),
        (["pi_a"], {"x": "1"}),
        (["pi_b", 0], ["1"]),
        (["pi_b", 0], "1"),
        (["pi_b", 2], ["0", "1"]),
        (["protocol"], "plonk"),
        (["protocol"], None),
        (["extra"], "1"),
    ],
)
def test_malformed_proofs(place: list[str | int], entry: Any) -> None:
    with pytest.raises(FormatError):
        parse_proof(mutated(place, entry))


def test_proof_of_an_unknown_or_other_curve() -> None:
    with pytest.raises(CurveMismatchError, match="bn128"):
        parse_proof(mutated(["curve"], "bls12377"))
    with pytest.raises(CurveMismatchError, match="expected bls12381"):
        parse_proof(json.loads(BN_PROOF), get_curve("bls12_381"))
    value = json.loads(BN_PROOF)
    del value["curve"]
    assert parse_proof(value, BN).curve is BN
    with pytest.raises(CurveMismatchError, match="names no curve"):
        parse_proof(value)
    del value["pi_a"]
    with pytest.raises(FormatError, match="'pi_a' is missing"):
        parse_proof(value, BN)


@each_curve
def test_vkey_round_trip(curve: Curve, tmp_path: Path) -> None:
    value = vkey_value(curve)
    key = parse_vkey(value)
    assert key.num_public == 1
    without = vkey_to_json(key)
    with_pairing = vkey_to_json(key, lambda _a, _b: [[[1, 2]] * 3] * 2)
    assert with_pairing == value
    assert list(with_pairing) == list(value), "the order of snarkjs"
    assert without == {k: v for k, v in value.items() if k != "vk_alphabeta_12"}
    path = tmp_path / "vkey.json"
    save_vkey(path, key)
    assert json.loads(path.read_bytes()) == without
    assert load_vkey(path).num_public == 1


def test_alphabeta_hook_gets_the_points() -> None:
    seen: list[Any] = []

    def hook(alpha: Any, beta: Any) -> list[list[list[int]]]:
        seen.append((alpha, beta))
        return [[[0, 0]] * 3] * 2

    vkey_to_json(parse_vkey(vkey_value(BN)), hook)
    assert seen == [(BN.g1.generator, BN.g2.generator)]


@pytest.mark.parametrize(
    ("key", "entry", "message"),
    [
        ("nPublic", 0, "IC has 2 points"),
        ("nPublic", 2, "IC has 2 points"),
        ("nPublic", "1", "expected a count"),
        ("nPublic", True, "expected a count"),
        ("nPublic", -1, "expected a count"),
        ("nPublic", 1.0, "expected a count"),
        ("IC", [], "IC has 0 points"),
        ("IC", None, "found null"),
        ("IC", [["0", "0", "1"], ["1", "2", "1"]], r"\(0, 0\) is not a point"),
        ("vk_alphabeta_12", [], "length 2"),
        ("vk_alphabeta_12", [[["1", P]] * 3] * 2, "not reduced"),
        ("vk_alpha_1", ["0", "0", "1"], r"\(0, 0\) is not a point"),
    ],
)
def test_malformed_vkeys(key: str, entry: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_vkey(vkey_value(BN) | {key: entry})


@pytest.mark.parametrize("key", ["vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"])
def test_infinity_in_the_vkey(key: str) -> None:
    g1, g2 = ["0", "1", "0"], [["0", "0"], ["1", "0"], ["0", "0"]]
    entry: Any = [g1, ["1", "2", "1"]] if key == "IC" else g1 if key.endswith("1") else g2
    with pytest.raises(RangeError, match="infinity"):
        parse_vkey(vkey_value(BN) | {key: entry})


def test_vkey_nobody_contributed_to() -> None:
    value = vkey_value(BN)
    value["vk_delta_2"] = value["vk_gamma_2"]
    with pytest.warns(SecurityWarning, match="forge"):
        parse_vkey(value)
    with pytest.raises(RangeError, match="forge"):
        parse_vkey(value, strict=True)


@each_curve
def test_public_inputs(curve: Curve, tmp_path: Path) -> None:
    path = tmp_path / "public.json"
    for values in ([], [0], [1, curve.r - 1, 33]):
        save_public(path, values, curve)
        assert path.read_text() == json.dumps([str(v) for v in values], indent=1)
        assert load_public(path, curve) == values
        assert b"\0" not in path.read_bytes()


@pytest.mark.parametrize("number", [*BAD_NUMBERS[:-2], str(BN.r), str(BN.r + 5)], ids=lambda n: repr(n)[:12])
def test_one_spelling_of_a_public_input(number: Any) -> None:
    with pytest.raises(FormatError, match="public input 1"):
        parse_public(["1", number], BN)


@pytest.mark.parametrize("value", [{}, "1", 1, None])
def test_public_inputs_are_a_list(value: Any) -> None:
    with pytest.raises(FormatError, match="a list"):
        parse_public(value, BN)


@pytest.mark.parametrize("value", [-1, BN.r])
def test_public_inputs_to_write(value: int) -> None:
    with pytest.raises(RangeError, match="public input 0"):
        public_to_json([value], BN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "an empty file"),
        (b"{", "not JSON"),
        (b"[1,]", "not JSON"),
        (b'{"a":1}x', "not JSON: Extra data"),
        (b'{"a":1,"a":1}', "'a' appears twice"),
        (b'{"b":{"a":1,"a":2}}', "'a' appears twice"),
        (b"[NaN]", "NaN"),
        (b"[-Infinity]", "Infinity"),
        (b"\xff", "no JSON object or list, but a file that starts with"),
        (b'["\xff"]', "byte 0xff"),
        (b"\xef\xbb\xbf[]", "order"),
        (b'["\\u0031"]', "backslash"),
        (b"[" * 100000, "nested too deeply"),
        (b'{"a":' * 65, "nested too deeply"),
        (b'{"a":' * 64, "not JSON"),
        (b"1" * 5000, "no JSON object or list"),
        (b"[" + b"1" * 5000 + b"]", "thousands of digits"),
        (b"zkey\1\0\0\0", "but a file of another kind: proving key"),
        (b'"\0"', "no JSON object or list"),
        (b'["\0"]', "not JSON"),
    ],
)
def test_strict_json(text: bytes, message: str, save: Save) -> None:
    with pytest.raises(FormatError, match=message):
        parse_json(text)
    path = save(text)
    with pytest.raises(CuzkError, match=message) as caught:
        load_public(path, BN)
    assert str(path) in str(caught.value)


def test_truncated_proofs(save: Save) -> None:
    for size in range(len(BN_PROOF)):
        with pytest.raises(FormatError):
            load_proof(save(BN_PROOF.encode()[:size]))
