"""Files of vanilla proofs: round trips, sizes, damage.

Would catch: a field out of order or of another width, a variant with another number, a reader that takes half a file,
allocates what a count says, or ends in another error than a named one.
"""

from __future__ import annotations

import base64
import json
import random
import sys
from dataclasses import replace
from typing import Any

import pytest

from cuzk.circuits import porep
from cuzk.circuits.hints import stacked_hints
from cuzk.circuits.porep import file_hints, find_porep, synthetic_file
from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.codec import NODE, TEXT, U32, UNIT, ListOf, OneOf, Struct
from cuzk.circuits.vanilla.porep import porep_challenges, prove_challenge
from cuzk.circuits.vanilla.porep_files import CommitPhase1, read_commit1, write_commit1, write_commit1_json
from cuzk.circuits.vanilla.poseidon_constants import MODULUS
from cuzk.circuits.vanilla.post import PostProof, faults_of_post
from cuzk.circuits.vanilla.post_files import read_post, read_posts, write_post
from cuzk.circuits.vanilla.shapes import sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_post
from cuzk.errors import FormatError, ShapeError
from tests.circuits.sectors import SECTOR_NUMBER, SEED, TICKET, sealed


def _commit1(name: str = "2KiB") -> CommitPhase1:
    sector = sealed(name)
    challenges = porep_challenges(sector.replica_id, SEED, sector.shape.num_nodes, 2)
    proofs = tuple(prove_challenge(sector, challenge) for challenge in challenges)
    return CommitPhase1((proofs,), sector.comm_r, sector.comm_d, sector.replica_id, SEED, TICKET)


def _post(name: str = "32KiB", challenges: int = 3) -> PostProof:
    return synthetic_post(sector_shape(name), SECTOR_NUMBER, SEED, challenges=challenges)


@pytest.mark.parametrize("name", ["2KiB", "4KiB", "32KiB"])
def test_post_round_trip(name: str) -> None:
    proof = _post(name)
    assert faults_of_post(proof) == []
    for as_json in (False, True):
        data = write_post(proof, as_json=as_json)
        assert read_post(data) == proof
        assert write_post(read_post(data), as_json=as_json) == data


def test_files_of_several_sectors() -> None:
    proofs = tuple(replace(_post("2KiB", 1), sector_number=number) for number in (5, 1 << 40, 91))
    parts = [write_post(proof) for proof in proofs]
    texts = [write_post(proof, as_json=True) for proof in proofs]
    assert read_posts(b"".join(parts)) == read_posts(b"\n[" + b",".join(texts) + b"]") == proofs
    assert read_posts(parts[0]) == read_posts(texts[0]) == read_posts(b"[" + texts[0] + b"]") == proofs[:1]
    for data, message in (
        (b"", r"\[0\].sector_id: byte 0: the file ends before 8 bytes"),
        (parts[0] + parts[1][:-1], r"\[1\].vanilla_proof.*the file ends"),
        (b"[]", "no proof in the file"),
        (b"[" + texts[0], "no JSON"),
    ):
        with pytest.raises(FormatError, match=message):
            read_posts(data)


def test_the_form_is_told_from_the_first_bytes() -> None:
    # The sector number 123 starts with the byte of an opening brace, and so does the other, which goes on with them.
    for number in (123, int.from_bytes(b"{" * 7 + b"\0", "little")):
        proof = replace(_post("2KiB", 1), sector_number=number)
        assert read_post(write_post(proof)) == proof
    text = write_post(_post("2KiB", 1), as_json=True)
    for spaces in (b"\n", b" " * 63):
        assert read_post(spaces + text) == _post("2KiB", 1)


def test_post_layout_by_hand() -> None:
    data = write_post(_post("32KiB", 1))
    element = 8 + 7 * 32 + 8
    path = 8 + 2 * element + 8 + element + 8 + (8 + 32 + 8)
    assert len(data) == 8 + 32 + 8 + 8 + (4 + path + 64) + 64
    assert data[:8] == SECTOR_NUMBER.to_bytes(8, "little")
    assert data[40:60] == b"".join(n.to_bytes(8, "little") for n in (1, 1)) + (2).to_bytes(4, "little")


@pytest.mark.parametrize("name", ["2KiB", "4KiB"])
def test_commit1_round_trip(name: str) -> None:
    output = _commit1(name)
    data, text = write_commit1(output), write_commit1_json(output, SECTOR_NUMBER, name)
    assert read_commit1(data) == read_commit1(text) == output
    assert write_commit1(read_commit1(data)) == data


def test_commit1_of_2_kib_has_the_published_size() -> None:
    assert len(write_commit1(_commit1())) == 28_248


def test_a_damaged_file_is_named_or_does_not_hold(rng: random.Random) -> None:
    proof = _post("4KiB", 2)
    data = write_post(proof)
    for end in {0, 7, 8, 39, 47, 48, 55, 59, len(data) - 1, *(rng.randrange(len(data)) for _ in range(60))}:
        with pytest.raises(FormatError, match=r"byte \d+"):
            read_post(data[:end], "p.vproof")
    with pytest.raises(FormatError, match=f"byte {len(data)}: the file goes on"):
        read_post(data + b"\0", "p.vproof")
    outcomes = [_outcome(proof, data, rng.randrange(len(data)), rng.randrange(8)) for _ in range(150)]
    assert set(outcomes) == {"refused", "does not hold"}


def _outcome(proof: PostProof, data: bytes, position: int, bit: int) -> str:
    """What becomes of a file with one bit changed, outside the sector number, which nothing in it depends on."""
    changed = bytearray(data)
    changed[max(position, 8)] ^= 1 << bit
    try:
        other = read_post(bytes(changed), "p.vproof")
    except FormatError as error:
        return "refused" if "p.vproof" in str(error) else str(error)
    assert other != proof
    return "does not hold" if faults_of_post(other) else "holds"


def _edited(change: Any) -> bytes:
    value = json.loads(write_post(_post("4KiB", 1), as_json=True))
    change(value)
    return json.dumps(value).encode()


def test_impossible_values_are_named() -> None:
    data = write_post(_post("4KiB", 1))
    cases = [
        (8, MODULUS.to_bytes(32, "little"), "section comm_r: byte 8: a node is no field element"),
        (40, (1 << 60).to_bytes(8, "little"), "section vanilla_proof.sectors: byte 40: a list of"),
        (48, (1 << 63).to_bytes(8, "little"), r"sectors\[0\].inclusion_proofs: byte 48: a list of"),
        (56, (3).to_bytes(4, "little"), r"inclusion_proofs\[0\].data: byte 56: variant 3 is unknown"),
        (60 + 16 + 7 * 32, (8).to_bytes(8, "little"), "child 8 beside 7 siblings"),
    ]
    for offset, wrong, message in cases:
        with pytest.raises(FormatError, match=message):
            read_post(data[:offset] + wrong + data[offset + len(wrong) :])

    def without_base(whole: Any) -> None:
        proof = whole["vanilla_proof"]["sectors"][0]["inclusion_proofs"][0]
        proof["data"]["Sub"]["base_proof"]["path"] = []

    with pytest.raises(FormatError, match="a Merkle proof 'Sub' has parts of 0, 1 levels"):
        read_post(_edited(without_base))


def test_damaged_json_is_named() -> None:
    def in_sector(key: str, value: object) -> bytes:
        return _edited(lambda whole: whole["vanilla_proof"]["sectors"][0].update({key: value}))

    cases = [
        (b"{", "no JSON"),
        (b'{"sector_id": 1, "sector_id": 1}', "a key twice"),
        (b'{"a":' + b"[" * 100_000, "nested deeper than 64 levels"),
        (b'{"a":"' + b"[" * 100_000 + b'"}', "is missing|is unknown"),
        (b'{"a":"' + b'\\"[' * 1000, "no JSON"),
        (b'{"\xff": 1}', "no JSON"),
        (_edited(lambda whole: whole.pop("comm_r")), "'comm_r' is missing"),
        (_edited(lambda whole: whole.update(more=1)), "'more' is unknown"),
        (_edited(lambda whole: whole.update(sector_id=True)), "sector_id: not a number in range"),
        (_edited(lambda whole: whole.update(sector_id=1 << 64)), "sector_id: not a number in range"),
        (_edited(lambda whole: whole.update(vanilla_proof=[])), "vanilla_proof: not an object"),
        (
            _edited(lambda whole: whole["vanilla_proof"].update(sectors={})),
            "vanilla_proof.sectors: not an array",
        ),
        (in_sector("comm_c", [0] * 31), r"sectors\[0\].comm_c: not an array of 32 bytes"),
        (in_sector("comm_c", [256] + [0] * 31), r"sectors\[0\].comm_c: not an array of 32 bytes"),
        (in_sector("comm_c", [255] * 32), r"sectors\[0\].comm_c: a node is no field element"),
        (in_sector("inclusion_proofs", [{"data": {"Many": 1}}]), "not one known variant"),
        (in_sector("inclusion_proofs", [{"data": {}}]), "not one known variant"),
    ]
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1 << 20)  # as some libraries do: the parser must not lean on it
    try:
        for text, message in cases:
            with pytest.raises(FormatError, match=message):
                read_post(text, "p.json")
    finally:
        sys.setrecursionlimit(before)


def test_damaged_commit1_is_named() -> None:
    text = write_commit1_json(_commit1(), SECTOR_NUMBER, "2KiB")
    outer = json.loads(text)
    inner = json.loads(base64.b64decode(outer["Phase1Out"]))
    again = inner | {"vanilla_proofs": {"StackedDrg3KiBV1": inner["vanilla_proofs"]["StackedDrg2KiBV1"]}}
    cases = [
        (outer | {"SectorSize": 4096}, "proofs of a 2KiB sector in a file for 4096 bytes"),
        (outer | {"Phase1Out": "$"}, "Phase1Out: no base64"),
        (outer | {"Phase1Out": 5}, "Phase1Out: not a string"),
        (outer | {"Phase1Out": base64.b64encode(b"{}").decode()}, "'registered_proof' is missing"),
        (
            outer | {"Phase1Out": base64.b64encode(json.dumps(again).encode()).decode()},
            "not one known variant",
        ),
    ]
    for value, message in cases:
        with pytest.raises(FormatError, match=message):
            read_commit1(json.dumps(value).encode())
    data = write_commit1(_commit1())
    for end in (0, 8, 16, 20, 1000, len(data) - 160, len(data) - 1):
        with pytest.raises(FormatError, match=r"ends before|does not fit"):
            read_commit1(data[:end])


def test_every_kind_of_value_by_hand() -> None:
    kinds = OneOf({"none": UNIT, "text": TEXT})
    schema = Struct({"n": U32, "nodes": ListOf(NODE), "kind": kinds})
    for kind, tail in ((("none", None), b"\0\0\0\0"), (("text", "é"), b"\1\0\0\0\2\0\0\0\0\0\0\0\xc3\xa9")):
        value = {"n": 7, "nodes": [258], "kind": kind}
        data = b"\7\0\0\0\1\0\0\0\0\0\0\0" + (258).to_bytes(32, "little") + tail
        assert codec.to_bincode(schema, value) == data
        assert codec.from_bincode(schema, data) == value
        assert codec.from_json(schema, codec.to_json(schema, value)) == value
    with pytest.raises(FormatError, match="no text"):
        codec.from_bincode(TEXT, b"\1\0\0\0\0\0\0\0\xff")
    with pytest.raises(FormatError, match="not null"):
        codec.from_json(Struct({"a": UNIT}), '{"a": 0}')
    assert codec.from_json(Struct({"a": UNIT}), "{}") == {"a": None}


def test_partitions_of_a_file_that_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is parsed once for all of its partitions, in either form; another file with the same name is another."""
    circuit = find_porep("porep:2KiB")
    data = synthetic_file(circuit, b"partitions", partitions=2)
    read = read_commit1(data)
    parsed: list[int] = []
    found: list[list[int]] = []

    def counted(data: bytes, path: str | None) -> CommitPhase1:
        parsed.append(len(data))
        return read_commit1(data, path)

    monkeypatch.setattr(porep, "read_commit1", counted)
    for form in (data, write_commit1_json(read, 1, "2KiB")):
        parsed.clear()
        found = [list(file_hints(circuit, form, "file", k)) for k in (0, 1, 0)]
        assert found == [list(stacked_hints(circuit, read, k)) for k in (0, 1, 0)]
        assert found[0] != found[1]
        assert len(parsed) == 1
    other = synthetic_file(circuit, b"other", partitions=2)
    assert list(file_hints(circuit, other, "file", 0)) != found[0]
    with pytest.raises(ShapeError, match="no partition 2"):
        file_hints(circuit, data, "file", 2).__next__()
