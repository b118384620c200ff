"""Our own key file.

Would catch: an array that changes on the way to disk and back, damage that no checksum sees, misplaced
sections, a half-written file, arrays that are not mapped at page boundaries.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.curves import CURVES, Curve, get_curve
from cuzk.errors import CuzkError, FormatError, InputError, RangeError, ShapeError
from cuzk.formats import load_cuzk_key, load_key, load_zkey, save_cuzk_key
from cuzk.keys import ProvingKey
from tests.formats.builders import Save, zkey_bytes

TOY = get_curve("toy")
PAGE = 4096


def assert_same(ours: ProvingKey, theirs: ProvingKey) -> None:
    for name in ("curve", "num_public", "log_domain", "h_form", "root_convention", "circuit_digest"):
        assert getattr(ours, name) == getattr(theirs, name)
    for (name, _, x), (_, _, y) in zip(ours.points(), theirs.points(), strict=True):
        assert np.array_equal(x, y), name
    assert ours.matrices.keys() == theirs.matrices.keys()
    for letter, matrix in ours.matrices.items():
        for part in ("row_ptr", "col", "coeff", "dictionary"):
            x, y = getattr(matrix, part), getattr(theirs.matrices[letter], part)
            assert x.dtype == y.dtype
            assert np.array_equal(x, y), (letter, part)


@pytest.fixture
def key(save: Save) -> ProvingKey:
    return load_zkey(save(zkey_bytes(TOY)))


@pytest.fixture
def path(key: ProvingKey, tmp_path: Path) -> Path:
    path = tmp_path / "key"
    save_cuzk_key(path, key)
    return path


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
@pytest.mark.parametrize("verify", ["small", "all", "none"])
def test_round_trip(curve: Curve, verify: Any, save: Save, tmp_path: Path) -> None:
    key = load_zkey(save(zkey_bytes(curve)))
    path = tmp_path / "key"
    save_cuzk_key(path, key)
    again = load_cuzk_key(path, verify=verify)
    assert_same(key, again)
    assert_same(key, load_key(path))


def test_other_forms_and_matrix_c(key: ProvingKey, tmp_path: Path) -> None:
    fields = {name: getattr(key, name) for name in ProvingKey.__dataclass_fields__}
    fields |= {"h_form": "monomial", "root_convention": "bellman", "h_query": key.h_query[:-1], "c": key.b}
    other = ProvingKey(**fields)
    save_cuzk_key(tmp_path / "other", other)
    again = load_cuzk_key(tmp_path / "other")
    assert (again.h_form, again.root_convention, len(again.h_query)) == ("monomial", "bellman", 3)
    assert_same(other, again)


def test_layout(path: Path, key: ProvingKey) -> None:
    """Parsed here by hand: start, header, each array at a page boundary with its own bytes and checksum."""
    data = path.read_bytes()
    assert data[:12] == b"cuzk-key" + (1).to_bytes(4, "little")
    length = int.from_bytes(data[12:16], "little")
    text = data[64 : 64 + length]
    assert data[16:48] == hashlib.blake2b(text, digest_size=32).digest()
    assert data[48:64] == bytes(16)
    header = json.loads(text)
    assert header["num_constraints"] == 1
    assert header["circuit_digest"] == key.circuit_digest
    base = -(-(64 + length) // PAGE) * PAGE
    sections = {section["name"]: section for section in header["sections"]}
    for name, _, array in key.points():
        section = sections[name]
        at = base + section["offset"]
        assert at % PAGE == 0
        raw = data[at : at + array.nbytes]
        assert raw == array.tobytes()
        assert section["blake2b"] == hashlib.blake2b(raw, digest_size=32).hexdigest()
        assert section["shape"] == list(array.shape)
    assert {"A.row_ptr", "A.col", "A.coeff", "A.dictionary", "B.row_ptr"} <= sections.keys()
    assert len(data) % PAGE == 0


def test_arrays_are_mapped_read_only(path: Path) -> None:
    key = load_cuzk_key(path)
    for name, _, array in key.points():
        assert not array.flags.owndata, name
        assert not array.flags.writeable, name
        assert array.flags.aligned, name


def section_places(path: Path) -> dict[str, tuple[int, int]]:
    data = path.read_bytes()
    length = int.from_bytes(data[12:16], "little")
    base = -(-(64 + length) // PAGE) * PAGE
    out = {}
    for section in json.loads(data[64 : 64 + length])["sections"]:
        size = int(np.prod(section["shape"])) * int(section["dtype"][1])
        out[section["name"]] = (base + section["offset"], size)
    return out


def test_damage_in_every_section_is_seen(path: Path) -> None:
    data = path.read_bytes()
    places = section_places(path)
    assert len(places) == 20
    for name, (offset, size) in places.items():
        for at in (offset, offset + size - 1):
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
            with pytest.raises(FormatError, match="checksum") as caught:
                load_cuzk_key(path)
            assert caught.value.section == name
            assert caught.value.offset == offset
        at = offset + size
        path.write_bytes(data[:at] + b"\1" + data[at + 1 :])
        with pytest.raises(FormatError, match="padding") as caught:
            load_cuzk_key(path)
        assert caught.value.section == name


def test_damage_in_start_and_header_is_seen(path: Path) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[12:16], "little")
    for at in [*range(64), *range(64, 64 + length, 37), 64 + length]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :])
        with pytest.raises(FormatError) as caught:
            load_cuzk_key(path)
        assert caught.value.section == "header"
        assert str(path) in str(caught.value)


def test_truncation(path: Path) -> None:
    data = path.read_bytes()
    for size in [*range(200), *range(200, len(data), 509), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(FormatError):
            load_cuzk_key(path)
    path.write_bytes(data + bytes(PAGE))
    with pytest.raises(FormatError, match="bytes"):
        load_cuzk_key(path)


def with_header(path: Path, change: Any) -> None:
    """Rewrite the header with a correct checksum, so that only the checks behind it can object."""
    data = path.read_bytes()
    length = int.from_bytes(data[12:16], "little")
    body = data[-(-(64 + length) // PAGE) * PAGE :]
    header = json.loads(data[64 : 64 + length])
    change(header)
    text = json.dumps(header, separators=(",", ":")).encode()
    start = (
        data[:12]
        + len(text).to_bytes(4, "little")
        + hashlib.blake2b(text, digest_size=32).digest()
        + bytes(16)
    )
    path.write_bytes(start + text + bytes(-(64 + len(text)) % PAGE) + body)


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("curve", "bn254", CuzkError),
        ("curve", "bn128", CuzkError),
        ("h_form", "monomial", ShapeError),
        ("h_form", "lagrange", RangeError),
        ("root_convention", "gnark", RangeError),
        ("num_public", 0, CuzkError),
        ("num_public", 4, ShapeError),
        ("num_variables", 3, ShapeError),
        ("num_variables", 1 << 33, FormatError),
        ("num_constraints", 2, FormatError),
        ("log_domain", 3, ShapeError),
        ("log_domain", 13, RangeError),
        ("log_domain", 64, RangeError),
        ("log_domain", -1, FormatError),
        ("sections", [], FormatError),
        ("sections", {}, FormatError),
        ("more", 1, FormatError),
        ("circuit_digest", "00" * 32, FormatError),
    ],
)
def test_header_values(name: str, value: Any, error: type[CuzkError], path: Path) -> None:
    with_header(path, lambda header: header.__setitem__(name, value))
    with pytest.raises(error) as caught:
        load_cuzk_key(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("index", "name", "value"),
    [
        (0, "offset", 8),
        (0, "offset", 4096),
        (3, "offset", 0),
        (0, "dtype", "u4"),
        (0, "dtype", "f8"),
        (0, "shape", [2, 1 << 60]),
        (0, "shape", [1] * 200),
        (0, "shape", [-2, 1]),
        (0, "shape", [1, 2]),
        (0, "name", "alpha_g2"),
        (1, "name", "alpha_g1"),
        (12, "dtype", "u8"),
        (13, "shape", [0]),
    ],
)
def test_section_entries(index: int, name: str, value: Any, path: Path) -> None:
    with_header(path, lambda header: header["sections"][index].__setitem__(name, value))
    with pytest.raises(CuzkError):
        load_cuzk_key(path, verify="none")


def test_indices_are_checked_without_checksums(path: Path) -> None:
    """A column or row pointer out of bounds would make a kernel read elsewhere: always refused."""
    data = path.read_bytes()
    places = section_places(path)
    for name, message in (
        ("A.col", "uses variable"),
        ("A.coeff", "beyond its dictionary"),
        ("A.row_ptr", "row_ptr"),
    ):
        at = places[name][0]
        path.write_bytes(data[:at] + b"\x7f" + data[at + 1 :])
        with pytest.raises(ShapeError, match=message):
            load_cuzk_key(path, verify="none")


def test_coordinate_not_reduced(path: Path) -> None:
    """With a correct checksum the value itself is looked at."""
    data = path.read_bytes()
    at, size = section_places(path)["a_query"]
    bad = data[: at + 8] + TOY.p.to_bytes(8, "little") + data[at + 16 :]
    path.write_bytes(bad)
    digest = hashlib.blake2b(bad[at : at + size], digest_size=32).hexdigest()

    def change(header: Any) -> None:
        next(s for s in header["sections"] if s["name"] == "a_query")["blake2b"] = digest

    with_header(path, change)
    with pytest.raises(FormatError, match="not below p") as caught:
        load_cuzk_key(path)
    assert (caught.value.section, caught.value.index) == ("a_query", 1)


def test_does_not_overwrite_unless_told(path: Path, key: ProvingKey) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists"):
        save_cuzk_key(path, key)
    save_cuzk_key(path, key, overwrite=True)
    assert path.read_bytes() == before, "writing is deterministic"
    assert [p.name for p in path.parent.iterdir() if p.name.endswith(".part")] == []


def test_wrong_verify_mode(path: Path) -> None:
    with pytest.raises(RangeError, match="small, all, none"):
        load_cuzk_key(path, verify="some")  # type: ignore[arg-type]
