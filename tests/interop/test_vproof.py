"""The command that checks other programs' vanilla proofs, on small proofs of our own.

Would catch: a proof that is accepted for other public data, and an exit status that says nothing.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuzk.circuits.vanilla.post import PostProof
from cuzk.circuits.vanilla.post_files import write_post
from cuzk.circuits.vanilla.shapes import WINDOW_CHALLENGES, WINNING_CHALLENGES, sector_shape
from cuzk.circuits.vanilla.synthetic import synthetic_post
from tests.interop.vproof import SEALED_PREFIX, comm_r_of_cid, main

_RANDOMNESS = bytes([7]) * 32


def _proof() -> PostProof:
    return synthetic_post(sector_shape("2KiB"), 3, _RANDOMNESS, challenges=WINDOW_CHALLENGES)


def _cid(comm_r: int) -> str:
    data = SEALED_PREFIX + comm_r.to_bytes(32, "little")
    return "b" + base64.b32encode(data).decode().lower().rstrip("=")


def _public(proof: PostProof) -> dict[str, Any]:
    sector = {"SealProof": 5, "SectorNumber": proof.sector_number, "SealedCID": {"/": _cid(proof.comm_r)}}
    return {"Randomness": base64.b64encode(_RANDOMNESS).decode(), "ChallengedSectors": [sector]}


def _run(folder: Path, proof: bytes, public: object = None) -> int:
    (folder / "p.vproof").write_bytes(proof)
    arguments = [str(folder / "p.vproof")]
    if public is not None:
        (folder / "public.json").write_text(json.dumps(public))
        arguments += ["--public", str(folder / "public.json")]
    return main(arguments)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_proof_that_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    proof = _proof()
    data = write_post(proof, as_json=as_json)
    assert _run(tmp_path, data) == _run(tmp_path, data, _public(proof)) == 0
    out = capsys.readouterr().out
    assert out.count("holds\n") == out.count("witness of window-post:2KiB:1: 11076 values, 11 public") == 2


def test_a_winning_post_and_other_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shape = sector_shape("4KiB")
    winning = synthetic_post(shape, 3, _RANDOMNESS, challenges=WINNING_CHALLENGES)
    assert _run(tmp_path, write_post(winning)) == 0
    assert "witness of winning-post:4KiB" in capsys.readouterr().out
    assert _run(tmp_path, write_post(synthetic_post(shape, 3, _RANDOMNESS, challenges=3))) == 2
    assert "3 openings of sector number 3" in capsys.readouterr().err
    twice = synthetic_post(shape, 3, _RANDOMNESS, challenges=WINDOW_CHALLENGES, sectors=2)
    assert _run(tmp_path, write_post(twice)) == 1
    assert "no circuit is for such sectors" in capsys.readouterr().out


def test_what_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proof = _proof()
    public, data = _public(proof), write_post(proof)
    sector = public["ChallengedSectors"][0]
    others: list[tuple[str, dict[str, Any]]] = [
        ("opens leaves", public | {"Randomness": base64.b64encode(bytes(32)).decode()}),
        ("is not challenged", public | {"ChallengedSectors": []}),
        (
            "not that of the sealed CID",
            public | {"ChallengedSectors": [sector | {"SealedCID": {"/": _cid(1)}}]},
        ),
        ("not those of a 8MiB sector", public | {"ChallengedSectors": [sector | {"SealProof": 6}]}),
    ]
    for message, other in others:
        assert _run(tmp_path, data, other) == 1
        assert message in capsys.readouterr().out
    assert _run(tmp_path, write_post(replace(proof, comm_r=proof.comm_r ^ 1))) == 1
    assert "comm_r is not the hash" in capsys.readouterr().out


def test_what_does_not_parse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, public = write_post(_proof()), _public(_proof())
    assert _run(tmp_path, data[:-1]) == 2
    assert "the file ends before" in capsys.readouterr().err
    bad: list[object] = [[], {}, public | {"Randomness": "*"}, public | {"ChallengedSectors": 1}]
    for each in bad:
        assert _run(tmp_path, data, each) == 2
        assert "the public data" in capsys.readouterr().err
    assert main([str(tmp_path / "missing")]) == 2


def test_a_real_cid() -> None:
    cid = "bagboea4b5abcbx3jccdohrttzfneleehcpkmle4oltwuh4q3rcf5tpdodaoj6mtl"
    assert comm_r_of_cid(cid).to_bytes(32, "little").hex().startswith("df691086e3c673c95a459087")
    with pytest.raises(ValueError, match="no CID of a sealed sector"):
        comm_r_of_cid("z" + cid[1:])
    with pytest.raises(ValueError, match="no base32"):
        comm_r_of_cid("b0189")
