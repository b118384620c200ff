"""Key files of compiled circuits: version 2, points alone.

Would catch: a name, a digest or a count that is lost on the way, matrices read into such a key, a version that is
taken for the other, a file half written that looks whole.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cuzk.errors import FormatError, InputError, ShapeError
from cuzk.formats import (
    cuzk_key_from_bytes,
    cuzk_key_to_bytes,
    describe,
    load_cuzk_key,
    load_key,
    save_cuzk_key,
)
from cuzk.formats.array_file import head_bytes
from cuzk.formats.key_header import COMPILED_KEY_FILE
from cuzk.keys import ProvingKey
from tests.prover.test_compiled import compiled
from tests.prover.test_compiled_setup import key_of


@pytest.fixture(scope="module")
def key() -> ProvingKey:
    return key_of(compiled("toy"))


@pytest.fixture(scope="module")
def data(key: ProvingKey) -> bytes:
    return cuzk_key_to_bytes(key)


def _header(data: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(data[64 : 64 + int.from_bytes(data[12:16], "little")])
    return found


def _with_header(data: bytes, header: dict[str, object]) -> bytes:
    """The file with another header, of whatever length that fits."""
    sections = header["sections"]
    facts = {name: value for name, value in header.items() if name != "sections"}
    head = head_bytes(COMPILED_KEY_FILE, facts, sections)  # type: ignore[arg-type]
    base = -(-(64 + int.from_bytes(data[12:16], "little")) // 4096) * 4096
    return head + bytes(-len(head) % 4096) + data[base:]


def test_round_trip(key: ProvingKey, data: bytes, tmp_path: Path) -> None:
    save_cuzk_key(tmp_path / "k.cuzk", key)
    assert (tmp_path / "k.cuzk").read_bytes() == data
    assert data[:12] == b"cuzk-key\x02\0\0\0"
    for again in (load_cuzk_key(tmp_path / "k.cuzk", verify="all"), load_key(tmp_path / "k.cuzk")):
        assert again.compiled == key.compiled
        assert again.circuit_digest == key.circuit_digest
        for name in ("curve", "num_public", "num_variables", "num_constraints", "log_domain", "h_form"):
            assert getattr(again, name) == getattr(key, name), name
        for (name, _, array), (_, _, other) in zip(key.points(), again.points(), strict=True):
            assert np.array_equal(array, other), name
        with pytest.raises(InputError, match="holds no matrices"):
            _ = again.b.col
        assert cuzk_key_to_bytes(again) == data


def test_a_description_says_that_there_are_no_matrices(key: ProvingKey, tmp_path: Path) -> None:
    save_cuzk_key(tmp_path / "k.cuzk", key)
    details = describe(tmp_path / "k.cuzk").details
    assert details["compiled circuit"] == "mine"
    assert details["matrices"] == "none: the rows come from the compiled circuit"
    assert details["circuit digest"] == key.circuit_digest
    assert "matrix C" not in details


def test_it_is_smaller_by_the_matrices(data: bytes) -> None:
    whole = cuzk_key_to_bytes(compiled("toy").key)
    names = [section["name"] for section in _header(data)["sections"]]  # type: ignore[attr-defined]
    assert not [name for name in names if "." in name]
    assert len(data) < len(whole)


def test_every_damaged_byte_is_found(key: ProvingKey, data: bytes) -> None:
    """One bit of every 97th byte."""
    for place in range(0, len(data), 97):
        damaged = bytearray(data)
        damaged[place] ^= 4
        with pytest.raises(InputError):
            cuzk_key_from_bytes(bytes(damaged))
    with pytest.raises(FormatError):
        cuzk_key_from_bytes(data[:-4096])


def test_versions_are_told_apart(key: ProvingKey, data: bytes) -> None:
    whole = cuzk_key_to_bytes(compiled("toy").key)
    for file, version in ((data, 1), (whole, 2), (data, 3)):
        other = file[:8] + version.to_bytes(4, "little") + file[12:]
        with pytest.raises(FormatError, match=r"version 1 or 2|'circuit'"):
            cuzk_key_from_bytes(other)


def test_header_values(data: bytes) -> None:
    """Values that contradict the arrays, or are no value at all."""
    wrong: list[tuple[str, object]] = [
        ("num_entries", -1), ("num_entries", "7"), ("circuit", 7), ("num_variables", 3), ("num_constraints", 1 << 20),
        ("num_public", 100_000), ("circuit", None),
    ]  # fmt: skip
    for name, value in wrong:
        header = _header(data) | {name: value}
        if value is None:
            del header[name]
        with pytest.raises((FormatError, ShapeError)):
            cuzk_key_from_bytes(_with_header(data, header))
    assert cuzk_key_from_bytes(_with_header(data, _header(data))).compiled is not None


def test_matrices_have_no_place(key: ProvingKey, data: bytes) -> None:
    """A key of version 2 with an array of a matrix."""
    header = _header(data)
    last = header["sections"][-1]  # type: ignore[index]
    offset = -(-(last["offset"] + 8 * int(np.prod(last["shape"]))) // 4096) * 4096
    more = {"name": "A.col", "dtype": "u8", "shape": [0], "offset": offset, "blake2b": last["blake2b"]}
    header["sections"] = [*header["sections"], more]  # type: ignore[misc]
    with pytest.raises(FormatError, match=r"A\.col"):
        cuzk_key_from_bytes(_with_header(data, header))
