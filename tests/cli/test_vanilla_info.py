"""``cuzk info`` of what built-in circuits are proven from: kind, sector size and counts, in bincode and JSON.

Would catch: a vanilla proof that is called unknown or taken for another one, a sector size that is not the file's, a
damaged file that passes or ends without the place of the damage, a key or circuit taken for a vanilla proof.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.porep import find_porep, synthetic_file
from cuzk.circuits.sprout_files import read_joinsplit, write_joinsplit
from cuzk.circuits.vanilla import codec
from cuzk.circuits.vanilla.merkle_files import MERKLE
from cuzk.circuits.vanilla.porep_files import read_commit1, write_commit1_json
from cuzk.circuits.vanilla.post_files import read_post, write_post
from cuzk.cli.vanilla_info import vanilla_file
from tests.cli.support import DATA, assert_refused, cuzk

_POREP = {
    "partitions": 1, "challenges_a_partition": "2", "challenges": 2, "partitions_of_a_sector": "1, non-interactive 13",
    "layers": 2, "tree": "8-0-0", "leaves": 64, "sector_size": "2KiB", "circuit": "porep:2KiB",
}  # fmt: skip


def report(folder: Path, data: bytes) -> dict[str, Any]:
    """What ``cuzk info --json`` says of a file, less what any file has; the text says the same."""
    path = folder / "file"
    path.write_bytes(data)
    done = cuzk("info", path, "--json")
    assert done.code == 0, done
    facts: dict[str, Any] = done.report
    assert (facts.pop("file"), facts.pop("bytes"), facts.pop("curve")) == (str(path), len(data), "bls12_381")
    assert "not whether paths and labels hold" in facts.pop("checked")
    shown = cuzk("info", path).out
    assert all(str(value) in shown for value in facts.values())
    return facts


def test_first_commit_phase(tmp_path: Path) -> None:
    data = find_circuit("porep:2KiB").synthetic(b"")
    title = "vanilla proofs of replication (output of the first commit phase)"
    assert report(tmp_path, data) == {"kind": f"{title}, bincode", **_POREP}
    as_json = write_commit1_json(read_commit1(data), 1234, "2KiB")
    assert report(tmp_path, as_json) == {
        "kind": f"{title}, JSON", "sector_number": 1234, "registered_proof": "StackedDrg2KiBV1_1", **_POREP
    }  # fmt: skip
    reordered = json.dumps(dict(reversed(json.loads(as_json).items()))).encode()
    assert report(tmp_path, reordered)["sector_number"] == 1234
    alone = synthetic_file(find_porep("porep:2KiB"), b"", partitions=13)
    assert report(tmp_path, alone) == {
        "kind": f"{title}, bincode",
        **_POREP,
        "partitions": 13,
        "challenges": 26,
    }


def test_a_circuit_of_no_sector_size(tmp_path: Path) -> None:
    facts = report(tmp_path, find_circuit("stacked:8-0-0:512n:4l:1c").synthetic(b""))
    assert (facts["circuit"], facts["sector_size"], facts["layers"]) == (
        "none of a sector size",
        "16384 bytes",
        4,
    )


@pytest.mark.parametrize("size", ["4KiB", "32KiB", "512MiB", "32GiB"])
@pytest.mark.parametrize(("family", "openings"), [("winning-post", "66"), ("window-post", "10")])
def test_proofs_of_spacetime(family: str, openings: str, size: str, tmp_path: Path) -> None:
    facts = report(tmp_path, find_circuit(f"{family}:{size}").synthetic(b""))
    assert facts["kind"] == "vanilla proofs of spacetime, bincode"
    assert (facts["circuit"], facts["sector_size"]) == (f"{family}:{size}", size)
    assert (facts["sectors"], facts["openings_a_sector"]) == (1, openings)


def test_several_sectors(tmp_path: Path) -> None:
    """Joined in bincode, an array in JSON; one object in JSON is one sector."""
    parts = [find_circuit("window-post:2KiB").synthetic(bytes([i])) for i in range(4)]
    numbers = [read_post(part).sector_number for part in parts]
    texts = [write_post(read_post(part), as_json=True) for part in parts]
    for data in (b"".join(parts), b"[" + b",\n".join(texts) + b"]"):
        facts = report(tmp_path, data)
        assert facts["sectors"] == 4
        assert facts["sector_numbers"] == ", ".join(map(str, numbers[:3])) + ", ..."
        assert facts["circuit"] == "window-post:2KiB"
    one = report(tmp_path, texts[0])
    assert (one["kind"], one["sector_numbers"]) == ("vanilla proofs of spacetime, JSON", str(numbers[0]))


def test_paths_and_joinsplits(tmp_path: Path) -> None:
    path = find_circuit("por:poseidon:8-8-0:4096:public").synthetic(b"")
    as_json = codec.to_json(MERKLE, codec.from_bincode(MERKLE, path)).encode()
    for data, form in ((path, "bincode"), (as_json, "JSON")):
        assert report(tmp_path, data) == {
            "kind": f"Merkle proof of one leaf, {form}", "tree": "8-8-0", "leaves": 4096
        }  # fmt: skip
    notes = find_circuit("sprout").synthetic(b"")
    for data, form in ((notes, "bincode"), (write_joinsplit(read_joinsplit(notes), as_json=True), "JSON")):
        assert report(tmp_path, data) == {"kind": f"secrets of a JoinSplit, {form}", "circuit": "sprout"}


@cache
def _damaged() -> dict[str, tuple[bytes, str]]:
    commit1 = find_circuit("porep:2KiB").synthetic(b"")
    as_json = write_commit1_json(read_commit1(commit1), 1, "2KiB")
    post = find_circuit("window-post:2KiB").synthetic(b"")
    text = write_post(read_post(post), as_json=True)
    return {
        "cut off": (commit1[:-5], "byte"),
        "one byte more": (commit1 + b"\0", "goes on after its end"),
        "a count beyond the file": (commit1[:8] + (60000).to_bytes(8, "little") + commit1[16:], "60000"),
        "a value of r or more": (commit1[:-160] + b"\xff" * 32 + commit1[-128:], "r"),
        "of another size than it says": (
            as_json.replace(b'"SectorSize":2048', b'"SectorSize":4096'),
            "SectorSize",
        ),
        "no base64": (as_json.replace(b'"Phase1Out":"', b'"Phase1Out":"*'), "Phase1Out"),
        "JSON cut off": (as_json[:-9], "no JSON"),
        "another key": (as_json.replace(b"SectorNum", b"SectorNr"), "JSON, but neither"),
        "a post cut off": (post[:-1], "byte"),
        "an unknown key in a post": (text.replace(b'"comm_c"', b'"comm_x"', 1), "'comm_c' is missing"),
    }


@pytest.mark.parametrize("name", _damaged())
def test_damage_has_its_place(name: str, tmp_path: Path) -> None:
    data, place = _damaged()[name]
    path = tmp_path / "file.vproof"
    path.write_bytes(data)
    refused = cuzk("info", path)
    assert_refused(refused, 2, str(path), place, "to fix: ")
    assert cuzk("info", path, "--json").report["error"]["type"] in ("FormatError", "RangeError")


def test_other_files_are_no_vanilla_proofs(tmp_path: Path) -> None:
    files = [path for path in DATA.rglob("*") if path.is_file()]
    assert len(files) > 20
    assert [path for path in files if vanilla_file(path) is not None] == []
    for data in (
        b"",
        b"\0" * 7,
        b"\0" * 400,
        b"\1" + b"\0" * 400,
        b"[]",
        b"{}",
        b"[1]",
        bytes(range(256)) * 4,
    ):
        (tmp_path / "x").write_bytes(data)
        assert vanilla_file(tmp_path / "x") is None, data[:16]
    (tmp_path / "x").write_bytes(bytes(range(1, 65)))
    assert_refused(cuzk("info", tmp_path / "x"), 2, "not a file that cuzk knows", "vanilla proofs")
