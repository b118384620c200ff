"""The section container under every truncation, under hostile counts, and under random damage.

Would catch: a reader that hangs, allocates by a count, accepts a cut file, or fails with anything but a named
error.
"""

from __future__ import annotations

import contextlib
import struct
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuzk.curves import get_curve
from cuzk.errors import CuzkError, FormatError, InputError, SecurityWarning
from cuzk.formats import load_r1cs, load_witness, load_zkey
from tests.formats.builders import (
    Save,
    ZkeyParts,
    container,
    r1cs_sections,
    wtns_sections,
    zkey_bytes,
)

TOY = get_curve("toy")
Loader = Callable[[Path], Any]
FILES: dict[str, tuple[Loader, bytes]] = {
    "r1cs": (load_r1cs, container(b"r1cs", 1, r1cs_sections(TOY))),
    "wtns": (load_witness, container(b"wtns", 2, wtns_sections(TOY, [1, 15, 3, 5]))),
    "zkey": (load_zkey, zkey_bytes(TOY)),
}
each_kind = pytest.mark.parametrize("kind", FILES)


@each_kind
def test_every_truncation(kind: str, save: Save) -> None:
    load, data = FILES[kind]
    load(save(data))
    start = time.thread_time()
    for size in range(len(data)):
        path = save(data[:size])
        with pytest.raises(FormatError) as caught:
            load(path)
        assert str(path) in str(caught.value)
        assert caught.value.offset is not None
    assert time.thread_time() - start < 0.05 * len(data) + 5


@each_kind
def test_trailing_bytes(kind: str, save: Save) -> None:
    load, data = FILES[kind]
    with pytest.raises(FormatError, match="1 bytes follow the last item"):
        load(save(data + b"\0"))


@each_kind
def test_magic_and_version(kind: str, save: Save) -> None:
    load, data = FILES[kind]
    with pytest.raises(FormatError, match=r"starts with b'elf!"):
        load(save(b"elf!" + data[4:]))
    with pytest.raises(FormatError, match="version 9"):
        load(save(data[:4] + struct.pack("<I", 9) + data[8:]))


@each_kind
def test_missing_twice_and_unknown_sections(kind: str, save: Save) -> None:
    load, data = FILES[kind]
    version = struct.unpack_from("<I", data, 4)[0]
    sections = {
        "r1cs": r1cs_sections(TOY),
        "wtns": wtns_sections(TOY, [1, 15, 3, 5]),
        "zkey": ZkeyParts(TOY).sections(),
    }[kind]
    for i, (section_id, content) in enumerate(sections):
        magic = kind.encode()
        if (kind, section_id) != ("r1cs", 3):
            with pytest.raises(FormatError, match=f"section {section_id} is missing"):
                load(save(container(magic, version, sections[:i] + sections[i + 1 :])))
        with pytest.raises(FormatError, match=f"section {section_id} appears twice"):
            load(save(container(magic, version, [*sections, (section_id, content)])))
    with pytest.raises(FormatError, match="section 99 is not known"):
        load(save(container(kind.encode(), version, [*sections, (99, b"")])))


@each_kind
@pytest.mark.parametrize("value", [0xFFFFFFFF, 1 << 31, 1 << 24])
def test_hostile_counts_allocate_nothing(kind: str, value: int, save: Save) -> None:
    """Every aligned u32 of the file in turn becomes huge; memory stays below 16 MiB."""
    load, data = FILES[kind]
    tracemalloc.start()
    try:
        for at in range(8, min(len(data), 700), 4):
            path = save(data[:at] + struct.pack("<I", value) + data[at + 4 :])
            with contextlib.suppress(CuzkError):
                load(path)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@each_kind
def test_section_size_beyond_the_file(kind: str, save: Save) -> None:
    load, data = FILES[kind]
    for size in (1 << 63, (1 << 64) - 1, len(data)):
        with pytest.raises(FormatError, match="ends after the file"):
            load(save(data[:16] + struct.pack("<Q", size) + data[24:]))


@each_kind
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=150)
@given(where=st.floats(0, 1, exclude_max=True), change=st.integers(1, 255), cut=st.integers(0, 3))
def test_damage_gives_a_named_error_or_a_valid_file(
    kind: str, where: float, change: int, cut: int, save: Save
) -> None:
    load, data = FILES[kind]
    at = int(where * (len(data) - cut))
    damaged = data[:at] + bytes([data[at] ^ change]) + data[at + 1 : len(data) - cut]
    message = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        try:
            load(save(damaged))
        except CuzkError as error:
            message = str(error)
    assert len(message) > 20 or (cut == 0 and not message)


@each_kind
def test_files_that_cannot_be_read(kind: str, tmp_path: Path, save: Save) -> None:
    load, _ = FILES[kind]
    with pytest.raises(InputError, match="cannot read: No such file"):
        load(tmp_path / "missing")
    with pytest.raises(InputError, match="cannot read: Is a directory"):
        load(tmp_path)
    with pytest.raises(FormatError, match="an empty file"):
        load(save(b""))
