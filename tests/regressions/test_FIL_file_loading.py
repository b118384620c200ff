"""Regressions of reading files: reports FIL-01 to FIL-13, each checked as a kind of fault.

Would catch: a reader that crashes, hangs or answers on a truncated file; memory taken for a count that nobody compared
with the file; a file of one curve read as another's; text with stray bytes; an empty section that comes back as
something.
"""

from __future__ import annotations

import json
import os
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import parsers as oracle_parsers

from cuzk.curves import get_curve
from cuzk.errors import CurveMismatchError, CuzkError, FormatError
from cuzk.formats import (
    cuzk_key_from_bytes,
    cuzk_key_to_bytes,
    load_cuzk_key,
    load_params,
    load_proof,
    load_r1cs,
    load_vk,
    load_vkey,
    load_witness,
    load_zkey,
    parse_vkey,
    proof_to_json,
    read_ceremony,
    save_cuzk_key,
    save_params,
    save_proof,
    save_public,
    save_vk,
    save_vkey,
    save_zkey,
    vkey_to_json,
)
from cuzk.groth16 import setup, verify
from cuzk.groth16.alpha_beta import alpha_beta_of
from cuzk.groth16.prover import Prover
from cuzk.keys import H_FORMS
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.cli.support import cuzk as command
from tests.formats.builders import (
    ZkeyParts,
    container,
    le,
    r1cs_sections,
    replaced,
    wtns_sections,
    zkey_bytes,
)
from tests.prover.support import device, key, waste
from tests.regressions.support import REAL_CURVES, files, with_header
from tests.workloads import random_r1cs

every_curve = pytest.mark.parametrize("curve_name", REAL_CURVES)
_MIB = 1 << 20
_TOO_LONG = 5.0  # seconds that reading a small file may take


def small_params(folder: Path) -> tuple[Path, Path, R1CS]:
    """A .params, a .vk and their circuit."""
    load = random_r1cs("bls12_381", 3, num_public=1, seed=4, features=())
    made = key(load, "monomial", "bellman")
    save_params(folder / "k.params", made)
    save_vk(folder / "k.vk", made)
    return folder / "k.params", folder / "k.vk", load.r1cs


def readers(curve_name: str, folder: Path) -> dict[Path, Callable[[Path], Any]]:
    """A valid file of each binary kind, with its reader."""
    curve = get_curve(curve_name)
    found: dict[Path, Callable[[Path], Any]] = {}
    for name, content, read in (
        ("a.r1cs", container(b"r1cs", 1, r1cs_sections(curve)), load_r1cs),
        ("a.wtns", container(b"wtns", 2, wtns_sections(curve, [1, 33, 3, 11])), load_witness),
        ("a.zkey", zkey_bytes(curve), load_zkey),
    ):
        (folder / name).write_bytes(content)
        found[folder / name] = read
    save_cuzk_key(folder / "a.cuzk", load_zkey(folder / "a.zkey"), overwrite=True)
    found[folder / "a.cuzk"] = load_cuzk_key
    if curve_name == "bls12_381":
        params, vk, circuit = small_params(folder)
        found[params] = lambda path: load_params(path, circuit)
        found[vk] = load_vk
    return found


@pytest.mark.timeout(900)
@every_curve
def test_fil_01_files_cut_at_every_byte(curve_name: str, tmp_path: Path) -> None:
    for path, read in readers(curve_name, tmp_path).items():
        read(path)
        whole = path.read_bytes()
        cuts = set(range(len(whole)))
        if path.suffix == ".params":  # slow to read
            cuts = {*range(1200), *range(0, len(whole), 11), len(whole) - 1}
        if path.suffix == ".cuzk":  # large; any cut is seen by the length, which the header fixes
            edges = (edge + by for edge in range(0, len(whole), 4096) for by in (-1, 0, 1))
            cuts = {*range(1200), *edges, len(whole) - 1} & cuts
        for cut in sorted(cuts, reverse=True):
            os.truncate(path, cut)
            start = time.process_time()
            with pytest.raises(CuzkError):
                read(path)
            assert time.process_time() - start < _TOO_LONG
        assert {entry.name for entry in tmp_path.iterdir() if entry.suffix == ".part"} == set()


def claims(curve_name: str, count: int) -> dict[str, bytes]:
    """Small files that claim `count` of something."""
    curve = get_curve(curve_name)
    n8 = curve.fr.nbytes
    prime = le(n8, 4) + le(curve.r, n8)
    few = prime + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, count)
    many = prime + struct.pack("<IIIIQI", count, 1, 0, count - 2, 6, 1)
    parts = ZkeyParts(curve)
    made = {
        "rows.r1cs": container(b"r1cs", 1, replaced(r1cs_sections(curve), 1, few)),
        "wires.r1cs": container(b"r1cs", 1, replaced(r1cs_sections(curve), 1, many)),
        "terms.r1cs": container(b"r1cs", 1, replaced(r1cs_sections(curve), 2, le(count, 4) + bytes(40))),
        "sections.r1cs": b"r1cs" + struct.pack("<II", 1, count),
        "values.wtns": container(b"wtns", 2, [(1, prime + le(count, 4)), (2, bytes(64))]),
        "size.wtns": b"wtns" + struct.pack("<IIIQ", 2, 2, 1, count << 31) + bytes(64),
    }
    for name, header in {
        "variables": parts.header(num_variables=count),
        "public": parts.header(num_public=count),
        "domain": parts.header(domain=count),
    }.items():
        made[f"{name}.zkey"] = container(b"zkey", 1, replaced(parts.sections(), 2, header))
    made["entries.zkey"] = container(b"zkey", 1, replaced(parts.sections(), 4, le(count, 4) + bytes(60)))
    made["ceremony.zkey"] = container(b"zkey", 1, replaced(parts.sections(), 10, bytes(64) + le(count, 4)))
    return made


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [(1 << 32) - 1, 1 << 31, (1 << 31) - 1])
@every_curve
def test_fil_05_no_memory_for_a_count_that_is_not_there(curve_name: str, count: int, tmp_path: Path) -> None:
    load = {".r1cs": load_r1cs, ".wtns": load_witness, ".zkey": load_zkey}
    for name, content in claims(curve_name, count).items():
        path = tmp_path / name
        path.write_bytes(content)
        refused_cheaply(lambda path=path: load[path.suffix](path))  # type: ignore[misc]
    made = cuzk_key_to_bytes(files(curve_name).key)
    for place in range(3):

        def grow(header: dict[str, Any], place: int = place) -> None:
            header["sections"][place + 6]["shape"][0] = count

        grown = with_header(made, grow)
        refused_cheaply(lambda grown=grown: cuzk_key_from_bytes(grown))  # type: ignore[misc]


@pytest.mark.parametrize("count", [(1 << 32) - 1, 1 << 31])
def test_fil_05_in_bellman_files(count: int, tmp_path: Path) -> None:
    params, vk, circuit = small_params(tmp_path)
    fixed = 3 * 96 + 3 * 192
    for path, read in ((params, lambda p: load_params(p, circuit)), (vk, load_vk)):
        data = bytearray(path.read_bytes())
        data[fixed : fixed + 4] = count.to_bytes(4, "big")
        path.write_bytes(data)
        refused_cheaply(lambda read=read, path=path: read(path))  # type: ignore[misc]


def refused_cheaply(read: Callable[[], Any]) -> None:
    """A named error, with less than 64 MiB taken on the way."""
    tracemalloc.start()
    try:
        with pytest.raises(CuzkError):
            read()
        assert tracemalloc.get_traced_memory()[1] < 64 * _MIB
    finally:
        tracemalloc.stop()


@every_curve
def test_fil_08_a_wrong_digest_is_told_with_the_right_one(curve_name: str, tmp_path: Path) -> None:
    made = cuzk_key_to_bytes(files(curve_name).key)
    last = len(made) - 1
    while made[last] == 0:
        last -= 1
    damaged = made[:last] + bytes([made[last] ^ 1]) + made[last + 1 :]
    with pytest.raises(FormatError) as caught:
        cuzk_key_from_bytes(damaged)
    length = int.from_bytes(made[12:16], "little")
    known = {section["blake2b"] for section in json.loads(made[64 : 64 + length])["sections"]}
    assert (caught.value.limit or "").removeprefix("blake2b ") in known
    found = caught.value.what.rpartition(" ")[2]
    assert len(found) == 64
    assert found not in known
    path = tmp_path / "damaged.cuzk"
    path.write_bytes(damaged)
    assert command("key", "check", path).code == 2
    missing = command("key", "check", tmp_path / "missing.cuzk")
    assert missing.code == 2
    assert "no such file" in missing.err

    def forget(header: dict[str, Any]) -> None:
        header["sections"].pop()

    with pytest.raises(FormatError):
        cuzk_key_from_bytes(with_header(made, forget))


@every_curve
def test_fil_09_the_width_of_the_field_is_the_headers(curve_name: str, tmp_path: Path) -> None:
    curve, path = get_curve(curve_name), tmp_path / "a.r1cs"
    n8 = curve.fr.nbytes
    for width, prime in (
        (48, curve.r),
        (24, curve.r >> 64),
        (40, curve.r),
        (0, 0),
        (33, curve.r),
        (1 << 31, 0),
    ):
        stored = le(prime, max(width if width < 100 else 32, 1))
        header = le(width, 4) + stored + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, 1)
        path.write_bytes(container(b"r1cs", 1, replaced(r1cs_sections(curve), 1, header)))
        with pytest.raises(CuzkError, match="field"):
            load_r1cs(path)
        for value_bytes in (max(width, 1) % 99, n8):  # as wide as the header says, and as the curve has them
            sections = [(1, header[: 4 + width] + le(1, 4)), (2, le(1, value_bytes))]
            path.write_bytes(container(b"wtns", 2, sections))
            with pytest.raises(CuzkError, match="field"):
                load_witness(path)
    for value in (curve.r - 1, 1 << 8 * 31, 0, 1):
        row = le(1, 4) + le(2, 4) + le(value % curve.r, n8)
        body = row + le(0, 4) * 2
        path.write_bytes(container(b"r1cs", 1, replaced(r1cs_sections(curve), 2, body)))
        entries = load_r1cs(path).a.row(0)
        assert entries == ([(2, value % curve.r)] if value % curve.r else [])
    for value in (curve.r, curve.r + 1, (1 << 8 * n8) - 1):
        body = le(1, 4) + le(2, 4) + le(value, n8) + le(0, 4) * 2
        path.write_bytes(container(b"r1cs", 1, replaced(r1cs_sections(curve), 2, body)))
        with pytest.raises(FormatError, match="not below the prime"):
            load_r1cs(path)


def test_fil_10_files_of_different_curves(tmp_path: Path) -> None:
    one, other = files("bls12_381"), files("bn254")
    for first, second in ((one, other), (other, one)):
        both = f"(?s)(?=.*{first.key.curve.name})(?=.*{second.key.curve.name})"
        with pytest.raises(CurveMismatchError, match=both):
            Prover(first.key, device("cpu"), circuit=second.r1cs)
        with pytest.raises(CurveMismatchError, match=both):
            Prover(first.key, device("cpu")).prove(second.witness)
        with pytest.raises(CurveMismatchError, match=both):
            first.key.check_circuit(second.r1cs)
        with pytest.raises(CurveMismatchError, match=both):
            first.r1cs.first_unsatisfied(second.witness)
        with pytest.raises(CurveMismatchError):
            verify(first.vkey, first.public, second.proof)
    unknown = (1 << 255) - 19
    curve = get_curve("bn254")
    for prime in (unknown, curve.p, 64513):
        header = le(32, 4) + le(prime, 32)
        sections = replaced(r1cs_sections(curve), 1, header + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, 1))
        (tmp_path / "u.r1cs").write_bytes(container(b"r1cs", 1, sections))
        (tmp_path / "u.wtns").write_bytes(container(b"wtns", 2, [(1, header + le(1, 4)), (2, le(1, 32))]))
        for name, read in (("u.r1cs", load_r1cs), ("u.wtns", load_witness)):
            with pytest.raises(CurveMismatchError, match="bls12_381"):
                read(tmp_path / name)


@every_curve
def test_fil_11_both_ways_with_snarkjs_files(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    save_cuzk_key(tmp_path / "k.cuzk", f.key)
    again = load_cuzk_key(tmp_path / "k.cuzk")
    assert verify(again.verifying_key(), f.public, f.proof)
    save_vkey(tmp_path / "vk.json", again.verifying_key())
    save_proof(tmp_path / "proof.json", f.proof)
    known = json.loads((f.folder / "vkey.json").read_text(encoding="utf-8"))
    known.pop("vk_alphabeta_12")
    assert json.loads((tmp_path / "vk.json").read_text(encoding="utf-8")) == known
    save_vkey(tmp_path / "whole.json", again.verifying_key(), alpha_beta_of(again.curve))
    assert (tmp_path / "whole.json").read_bytes() == (f.folder / "vkey.json").read_bytes()
    save_zkey(tmp_path / "k.zkey", again, ceremony=read_ceremony(f.path("zkey")))
    assert (tmp_path / "k.zkey").stat().st_size == f.path("zkey").stat().st_size
    one, other = (
        oracle_parsers.parse_zkey(path.read_bytes()) for path in (tmp_path / "k.zkey", f.path("zkey"))
    )
    assert (one.params, one.key) == (other.params, other.key)
    assert (tmp_path / "proof.json").read_bytes() == (f.folder / "proof.json").read_bytes().rstrip(b"\n")
    assert load_vkey(tmp_path / "vk.json").num_public == f.vkey.num_public
    assert load_proof(tmp_path / "proof.json") == f.proof
    plain = oracle_parsers.parse_zkey(f.path("zkey").read_bytes())
    assert plain.params.name == curve_name


@every_curve
def test_fil_12_text_without_stray_bytes(curve_name: str, tmp_path: Path) -> None:
    f = files(curve_name)
    for name, value in (("proof.json", proof_to_json(f.proof)), ("public.json", [str(v) for v in f.public])):
        path = tmp_path / name
        path.write_bytes(bytes(100_000))  # what was there must not shine through
        if name == "proof.json":
            save_proof(path, f.proof)
        else:
            save_public(path, f.public, f.vkey.curve)
        raw = path.read_bytes()
        assert b"\0" not in raw
        assert raw.isascii()
        assert len(raw) == len(json.dumps(value, indent=1)) == path.stat().st_size
        assert json.loads(raw) == value


@every_curve
def test_fil_13_empty_sections_stay_empty(curve_name: str, tmp_path: Path) -> None:
    curve = get_curve(curve_name)
    circuit = R1CS.from_rows(
        curve, 1, 0, [({0: 1}, {0: 1}, {0: 1})]
    )  # 1 * 1 = 1: nothing private, nothing public
    witness = Witness.from_ints(curve, [1])
    for form in H_FORMS:
        made = setup(circuit, device("cpu"), toxic_waste=waste(curve), h_form=form)
        assert len(made.l_query) == 0
        assert made.num_public == 0
        path = tmp_path / f"{form}.cuzk"
        save_cuzk_key(path, made)
        for again in (load_cuzk_key(path, verify="all"), cuzk_key_from_bytes(cuzk_key_to_bytes(made))):
            for (name, _, old), (_, _, new) in zip(made.points(), again.points(), strict=True):
                assert np.array_equal(old, new), name
            proof = Prover(again, device("cpu")).prove(witness)
            assert verify(parse_vkey(vkey_to_json(again.verifying_key())), [], proof)
