"""The second parsers on real circom and snarkjs files, and on damaged ones.

Would catch: a coefficient left in Montgomery form, C1 before C0, a section read in file order instead of by
id, a damaged file that is read all the same, a key whose proof differs from the golden one.
"""

import json
from pathlib import Path

import pytest
from cuzk_oracles import curve, groth16, parsers, qap, verify
from cuzk_oracles.parsers import ParseError
from hypothesis import given
from hypothesis import strategies as st

DATA = Path(__file__).resolve().parents[1] / "data"
FOLDERS = sorted(path.parent for path in DATA.glob("*/*/vkey.json"))
SMALL = [folder for folder in FOLDERS if folder.name in ("product", "no_public", "sparse_b")]


def _names(folders: list[Path]) -> list[str]:
    return [f"{folder.parent.name}-{folder.name}" for folder in folders]


each_folder = pytest.mark.parametrize("folder", FOLDERS, ids=_names(FOLDERS))
# Everything on the cheaper curve, the small circuits on both.
GOLDEN = [folder for folder in FOLDERS if folder in SMALL or folder.parent.name == "bn128"]


def _bytes(folder: Path, suffix: str) -> bytes:
    return (folder / f"{folder.name}.{suffix}").read_bytes()


def test_there_are_files_of_both_curves() -> None:
    assert {folder.parent.name for folder in SMALL} == {"bls12381", "bn128"}
    assert len(SMALL) == 6


@each_folder
def test_files_fit_together(folder: Path) -> None:
    """The witness satisfies the circuit, and the key's A and B are those of the circuit."""
    circuit, wtns = parsers.parse_r1cs(_bytes(folder, "r1cs")), parsers.parse_wtns(_bytes(folder, "wtns"))
    zkey = parsers.parse_zkey(_bytes(folder, "zkey"))
    r1cs, params = circuit.r1cs, zkey.params
    assert circuit.prime == wtns.prime == params.r
    assert len(wtns.witness) == r1cs.num_variables == zkey.num_variables
    assert qap.first_unsatisfied(r1cs, wtns.witness, params.r) is None
    assert zkey.key.log_n == qap.log_domain_size(r1cs)
    assert zkey.key.num_public == r1cs.num_public == circuit.num_outputs + circuit.num_public_inputs
    a, b, c = qap.evaluate(r1cs, wtns.witness, params.r)
    from_key = [
        [sum(k * wtns.witness[j] for j, k in row) % params.r for row in rows] for rows in (zkey.a, zkey.b)
    ]
    assert from_key == [a, b]
    assert [x * y % params.r for x, y in zip(a, b, strict=True)] == c


@each_folder
def test_vkey_is_that_of_the_zkey(folder: Path) -> None:
    zkey = parsers.parse_zkey(_bytes(folder, "zkey"))
    params, vk = parsers.parse_vkey_json((folder / "vkey.json").read_text())
    assert params is zkey.params
    assert vk == zkey.key.vk
    assert vk.gamma_g2 == params.g2.generator
    for point in zkey.key.a_query + zkey.key.h_query + zkey.key.l_query:
        assert curve.is_on_curve(params.g1, point)
    assert all(curve.is_on_curve(params.g2, point) for point in zkey.key.b_g2_query)


@pytest.mark.parametrize("folder", GOLDEN, ids=_names(GOLDEN))
def test_golden_proof_number_for_number(folder: Path) -> None:
    zkey, wtns = parsers.parse_zkey(_bytes(folder, "zkey")), parsers.parse_wtns(_bytes(folder, "wtns"))
    golden = parsers.parse_proof_json((folder / "proof_r7_s11.json").read_text())
    assert parsers.prove_zkey(zkey, wtns.witness, 7, 11) == golden[1]


@each_folder
def test_both_proofs_verify(folder: Path) -> None:
    """Snarkjs's own proof with random blinding, and the golden one, through an arkworks pairing."""
    params, vk = parsers.parse_vkey_json((folder / "vkey.json").read_text())
    for proof_name, public_name in (("proof", "public"), ("proof_r7_s11", "public_r7_s11")):
        _, proof = parsers.parse_proof_json((folder / f"{proof_name}.json").read_text())
        public = parsers.parse_public_json((folder / f"{public_name}.json").read_text(), params)
        assert verify.verify(params, vk, public, proof, "zksnake")
        changed = groth16.Proof(proof.a, proof.b, curve.double(params.g1, proof.c))
        assert not verify.verify(params, vk, public, changed, "zksnake")


def _parser(suffix: str) -> object:
    return {"r1cs": parsers.parse_r1cs, "wtns": parsers.parse_wtns, "zkey": parsers.parse_zkey}[suffix]


@pytest.mark.parametrize("suffix", ["r1cs", "wtns", "zkey"])
@given(data=st.data())
def test_truncated_or_extended_files_are_refused(suffix: str, data: st.DataObject) -> None:
    content = _bytes(SMALL[0], suffix)
    parse = _parser(suffix)
    assert callable(parse)
    with pytest.raises(ParseError):
        parse(content[: data.draw(st.integers(0, len(content) - 1))])
    with pytest.raises(ParseError, match="left over"):
        parse(content + b"\0")


@pytest.mark.parametrize("suffix", ["r1cs", "wtns", "zkey"])
@pytest.mark.parametrize(
    ("at", "value", "message"),
    [(0, b"X", "magic"), (4, b"\7", "version"), (8, b"\0", "left over|missing"), (8, b"\xff", "needs")],
)
def test_damaged_headers(suffix: str, at: int, value: bytes, message: str) -> None:
    content = _bytes(SMALL[0], suffix)
    parse = _parser(suffix)
    assert callable(parse)
    with pytest.raises(ParseError, match=message):
        parse(content[:at] + value + content[at + 1 :])


def _sections(content: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 12
    while at < len(content):
        section_id, size = (
            int.from_bytes(content[at : at + 4], "little"),
            int.from_bytes(content[at + 4 : at + 12], "little"),
        )
        found.append((section_id, content[at + 12 : at + 12 + size]))
        at += 12 + size
    return found


def _join(head: bytes, sections: list[tuple[int, bytes]]) -> bytes:
    body = b"".join(i.to_bytes(4, "little") + len(s).to_bytes(8, "little") + s for i, s in sections)
    return head + len(sections).to_bytes(4, "little") + body


@pytest.mark.parametrize("suffix", ["r1cs", "wtns", "zkey"])
def test_sections_in_any_order_but_each_once(suffix: str) -> None:
    content = _bytes(SMALL[0], suffix)
    parse, sections = _parser(suffix), _sections(content)
    assert callable(parse)
    assert parse(_join(content[:8], sections[::-1])) == parse(content)
    with pytest.raises(ParseError, match="occurs twice"):
        parse(_join(content[:8], [*sections, sections[0]]))
    for i, (section_id, _) in enumerate(sections):
        if (suffix, section_id) == ("zkey", 10):  # the contributions play no part in a proof
            continue
        with pytest.raises(ParseError, match=f"section {section_id} is missing"):
            parse(_join(content[:8], sections[:i] + sections[i + 1 :]))


@pytest.mark.parametrize("suffix", ["r1cs", "wtns"])
def test_value_not_below_the_modulus(suffix: str) -> None:
    """The last value of the body becomes 2^256 - 1."""
    content = _bytes(SMALL[0], suffix)
    parse = _parser(suffix)
    assert callable(parse)
    sections = [(i, s[:-32] + b"\xff" * 32 if i == 2 else s) for i, s in _sections(content)]
    with pytest.raises(ParseError, match="not below the modulus"):
        parse(_join(content[:8], sections))


@pytest.mark.parametrize(
    ("field", "value"), [("domain", 0), ("domain", 1), ("domain", 3), ("public", 39), ("variables", 0)]
)
def test_zkey_with_impossible_sizes(field: str, value: int) -> None:
    """The three counts stand before the six points at the end of the header."""
    content = _bytes(SMALL[0], "zkey")
    params = parsers.parse_zkey(content).params
    points_size = (3 * 2 + 3 * 4) * 8 * ((params.p.bit_length() + 63) // 64)
    at = {"variables": -12, "public": -8, "domain": -4}[field] - points_size
    sections = [
        (i, s[:at] + value.to_bytes(4, "little") + s[at + 4 :] if i == 2 else s)
        for i, s in _sections(content)
    ]
    with pytest.raises(ParseError, match="bad sizes"):
        parsers.parse_zkey(_join(content[:8], sections))


def test_messages_say_where() -> None:
    content = _bytes(SMALL[0], "wtns")
    sections = [(i, b"\xff" * 32 + s[32:] if i == 2 else s) for i, s in _sections(content)]
    with pytest.raises(ParseError, match="at offset 0 is not below"):
        parsers.parse_wtns(_join(content[:8], sections))
    with pytest.raises(ParseError, match="needs 4 bytes at offset 4, has 2"):
        parsers.parse_wtns(content[:6])


def test_zkey_of_an_unknown_curve() -> None:
    sections = [(i, s[:4] + b"\1" + s[5:] if i == 2 else s) for i, s in _sections(_bytes(SMALL[0], "zkey"))]
    with pytest.raises(ParseError, match="unknown curve"):
        parsers.parse_zkey(_join(_bytes(SMALL[0], "zkey")[:8], sections))


def _proof_json() -> dict[str, object]:
    value = json.loads((SMALL[0] / "proof.json").read_text())
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    "change",
    [
        {"pi_a": ["1", "2"]},
        {"pi_a": ["1", "2", "3"]},
        {"pi_a": ["-1", "2", "1"]},
        {"pi_a": ["0x1", "2", "1"]},
        {"pi_a": [1, "2", "1"]},
        {"pi_a": [str(2**400), "2", "1"]},
        {"pi_b": [["1", "2"], ["3", "4"], ["1", "1"]]},
        {"pi_b": "12"},
        {"curve": "secp256k1"},
        {"protocol": "plonk"},
    ],
)
def test_bad_proof_json(change: dict[str, object]) -> None:
    with pytest.raises(ParseError):
        parsers.parse_proof_json(json.dumps({**_proof_json(), **change}))


@pytest.mark.parametrize("text", ["", "[]", "{", "null", '{"protocol": "groth16", "curve": "bn128"}'])
def test_no_proof_json(text: str) -> None:
    with pytest.raises(ParseError):
        parsers.parse_proof_json(text)


def test_infinity_in_json_is_read() -> None:
    """It parses; a verifier then says no."""
    value = {**_proof_json(), "pi_a": ["0", "1", "0"], "pi_b": [["0", "0"], ["1", "0"], ["0", "0"]]}
    _, proof = parsers.parse_proof_json(json.dumps(value))
    assert (proof.a, proof.b) == (None, None)


def test_bad_vkey_and_public_json() -> None:
    folder = SMALL[0]
    value = json.loads((folder / "vkey.json").read_text())
    params, _ = parsers.parse_vkey_json(json.dumps(value))
    changes: list[dict[str, object]] = [{"nPublic": 77}, {"IC": None}, {"vk_delta_2": []}]
    for change in changes:
        with pytest.raises(ParseError):
            parsers.parse_vkey_json(json.dumps({**value, **change}))
    for text in (f'["{params.r}"]', "[1]", "{}", '["١"]'):
        with pytest.raises(ParseError):
            parsers.parse_public_json(text, params)
