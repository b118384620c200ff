"""``cuzk verify`` with several proofs: by repeated options, and from a list.

Would catch: one false proof among true ones that passes, verdicts that go to other proofs, wrong pairs,
a list that is read as something else than it says.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import CURVES, Circuit, Run, assert_refused, circuit, cuzk, prove, read_json


@pytest.fixture(params=CURVES)
def files(request: pytest.FixtureRequest) -> Circuit:
    """A circuit of each curve."""
    return circuit(request.param)


def off_by_one(files: Circuit, folder: Path) -> Path:
    """Public inputs that the proof is not of."""
    values = read_json(files.public)
    path = folder / "wrong.json"
    path.write_text(json.dumps([str(int(values[0]) + 1), *values[1:]]), encoding="utf-8")
    return path


def verify(files: Circuit, *pairs: tuple[Path, Path], more: tuple[str, ...] = ()) -> Run:
    """Run ``cuzk verify`` with pairs of public inputs and proof."""
    words = [word for public, proof in pairs for word in ("--public", public, "--proof", proof)]
    return cuzk("verify", "--vkey", files.vkey, *words, *more)


def test_several_true_proofs_are_checked_at_once(
    files: Circuit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert prove(files, tmp_path).code == 0
    pairs = [(files.public, files.proof), (tmp_path / "public.json", tmp_path / "proof.json")]

    def singly(*_: object) -> None:
        raise AssertionError("a batch that holds needs no second look")

    monkeypatch.setattr("cuzk.groth16.PreparedVerifyingKey.verify", singly)
    done = verify(files, *pairs)
    assert (done.code, done.out.splitlines()[-1]) == (0, "2 of 2 proofs hold.")
    report = verify(files, *pairs, more=("--json",)).report
    assert (report["valid"], report["reason"]) == (True, "")
    assert [entry["proof"] for entry in report["proofs"]] == [str(pair[1]) for pair in pairs]


def test_each_false_proof_is_named(files: Circuit, tmp_path: Path) -> None:
    good, bad = (files.public, files.proof), (off_by_one(files, tmp_path), files.proof)
    for pairs in ([good, bad], [bad, good, good], [bad, bad]):
        done = verify(files, *pairs, more=("--json",))
        wanted = [pair is good for pair in pairs]
        assert done.code == 1
        assert [entry["valid"] for entry in done.report["proofs"]] == wanted
        assert all(entry["valid"] != bool(entry["reason"]) for entry in done.report["proofs"])
        assert done.report["valid"] is False
        assert done.report["reason"] == f"{sum(wanted)} of {len(pairs)} proofs hold"
        text = verify(files, *pairs)
        assert text.out.count("does not hold: the pairing equation does not hold") == len(pairs) - sum(wanted)


def test_a_point_off_the_curve_keeps_its_place(tmp_path: Path) -> None:
    files = circuit("bls12381")
    no_point = tmp_path / "no_point.bin"
    no_point.write_bytes(b"\x80" + bytes(46) + b"\x01" + b"\xc0" + bytes(95) + b"\xc0" + bytes(47))
    done = verify(
        files,
        (files.public, no_point),
        (files.public, files.proof),
        (files.public, no_point),
        more=("--json",),
    )
    assert done.code == 1
    assert [entry["valid"] for entry in done.report["proofs"]] == [False, True, False]
    assert "off the curve" in done.report["proofs"][0]["reason"]


def test_a_list(files: Circuit, tmp_path: Path) -> None:
    for name, path in (("a public.json", files.public), ("a.json", files.proof)):
        (tmp_path / name).write_bytes(path.read_bytes())
    off_by_one(files, tmp_path)
    listed = tmp_path / "proofs.txt"
    text = "# public proof\n\n'a public.json'\ta.json # the first\nwrong.json a.json\n"
    for written, code in ((text, 1), (text.replace("wrong.json a.json\n", ""), 0)):
        listed.write_text(written, encoding="utf-8")
        done = cuzk("verify", "--vkey", files.vkey, "--batch", listed, "--json")
        assert done.code == code
        assert [entry["valid"] for entry in done.report["proofs"]] == [True, False][: code + 1]


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        (b"", "an empty file"),
        (b"{}", "a JSON text"),
        (b"# nothing\n", "names no proof"),
        (b"a.json\n", "line 1: 1 names"),
        (b"a.json b.json\na b c\n", "line 2: 3 names"),
        (b"'a.json b.json\n", "line 1: a quote is not closed"),
        (b"\xff\xfe\n", "not text"),
        (b"a.json \0\n", "line 1"),
        (b"none.json none.json\n", "no such file"),
    ],
)
def test_lists_that_cannot_be_read(text: bytes, fragment: str, tmp_path: Path) -> None:
    listed = tmp_path / "proofs.txt"
    listed.write_bytes(text)
    done = cuzk("verify", "--vkey", circuit("bn128").vkey, "--batch", listed, "--json")
    assert_refused(done, 2, fragment)
    assert done.report["error"]["remedy"]


def test_options_that_do_not_pair_up(tmp_path: Path) -> None:
    files = circuit("bn128")
    vkey, public, proof = ("--vkey", files.vkey), ("--public", files.public), ("--proof", files.proof)
    for words in (vkey, (*vkey, *public), (*vkey, *proof), (*vkey, *public, *proof, *proof)):
        assert_refused(cuzk("verify", *words), 2, "one --public for each --proof")
    listed = tmp_path / "proofs.txt"
    listed.write_text(f"{files.public} {files.proof}\n", encoding="utf-8")
    assert_refused(cuzk("verify", *vkey, *public, *proof, "--batch", listed), 2, "--batch")
    assert cuzk("verify", *vkey, "--batch", listed).code == 0


def test_a_file_that_does_not_parse_is_named(tmp_path: Path) -> None:
    files = circuit("bn128")
    few, broken = tmp_path / "few.json", tmp_path / "broken.json"
    few.write_text(json.dumps(read_json(files.public)[1:]), encoding="utf-8")
    broken.write_text("{", encoding="utf-8")
    good = (files.public, files.proof)
    assert_refused(verify(files, good, (few, files.proof)), 2, str(few), "4 public inputs", "5")
    assert_refused(verify(files, good, (files.public, broken)), 2, str(broken))
