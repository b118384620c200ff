"""Compiled circuits on disk.

Would catch: a table that changes on the way to disk and back or lands in another piece, damage that no check sees, a
count that reaches outside an array, an old file taken for a changed circuit, a cache that fails where it cannot write.
"""

from __future__ import annotations

import io
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cuzk.circuits.catalogue import find_circuit
from cuzk.curves import get_curve
from cuzk.errors import CurveMismatchError, FormatError, InputError, RangeError
from cuzk.formats import PceInfo, cached_circuit, code_digest, load_pce, save_pce
from cuzk.formats import pce as module
from cuzk.formats.array_file import write_arrays
from cuzk.formats.pce import pce_name
from cuzk.pieces import CompiledCircuit
from cuzk.synthesis import ConstraintSystem, circuit_hash
from tests.formats.pce_builder import INFO, saved_pce, small_circuit
from tests.formats.test_cuzk_key import section_places

FACTS = {
    "curve": "toy", "circuit": "x", "code": "", "num_inputs": 2, "num_aux": 15, "num_rows": 7, "num_hints": 3,
}  # fmt: skip


def tables(circuit: CompiledCircuit) -> dict[str, Any]:
    """Every array and number of a circuit."""
    found: dict[str, Any] = {"dictionary": circuit.dictionary, "curve": circuit.curve.name}
    found |= {name: getattr(circuit, name) for name in ("num_inputs", "num_aux", "num_rows", "num_hints")}
    for number, piece in enumerate(circuit.pieces):
        for name in ("num_bound", "num_inputs", "num_aux", "num_hints"):
            found[f"{number} {name}"] = getattr(piece, name)
        for part in (*piece.rows, piece.program, piece.instances):
            for field in fields(part):
                found[f"{number} {len(found)} {field.name}"] = getattr(part, field.name)
    return found


def assert_same(one: CompiledCircuit, other: CompiledCircuit) -> None:
    mine, theirs = tables(one), tables(other)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        if isinstance(value, np.ndarray):
            assert (value.dtype, value.shape) == (theirs[name].dtype, theirs[name].shape), name
            assert np.array_equal(value, theirs[name]), name
        else:
            assert value == theirs[name], name


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved_pce(tmp_path)


@pytest.mark.parametrize("curve", ["toy", "bls12_381", "bn254"])
@pytest.mark.parametrize("verify", [True, False])
def test_round_trip(curve: str, verify: bool, tmp_path: Path) -> None:
    circuit = small_circuit(curve)
    save_pce(tmp_path / "file", circuit, INFO)
    again, info = load_pce(tmp_path / "file", verify=verify)
    assert info == INFO
    assert_same(circuit, again)
    bindings = again.pieces[1].instances.bindings
    assert not bindings.flags.writeable
    assert not bindings.flags.owndata


def test_a_real_circuit_and_an_empty_one(tmp_path: Path) -> None:
    circuits = []
    for name in (None, "por:poseidon:8-4-2:64:public"):
        cs = ConstraintSystem(get_curve("bls12_381"))
        if name is not None:
            find_circuit(name).record(cs)
        circuits.append(cs.compile())
    for number, circuit in enumerate(circuits):
        save_pce(tmp_path / str(number), circuit, INFO)
        again, _ = load_pce(tmp_path / str(number))
        assert_same(circuit, again)
        assert circuit_hash(again) == circuit_hash(circuit)


def test_every_flipped_byte_is_seen(path: Path) -> None:
    """In start, header, padding and arrays; the section is named."""
    data = path.read_bytes()
    places = section_places(path)
    assert list(places) == ["sizes", "dictionary", *module._LAYOUT]
    for name, (offset, size) in places.items():
        for at in {offset, offset + size - 1} if size else set():
            path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
            with pytest.raises(FormatError, match="checksum") as caught:
                load_pce(path)
            assert caught.value.section == name
        end = offset + size
        if end % 4096:
            path.write_bytes(data[:end] + b"\1" + data[end + 1 :])
            with pytest.raises(FormatError, match="padding"):
                load_pce(path)
    header_bytes = int.from_bytes(data[12:16], "little")
    for at in [*range(64), *range(64, 64 + header_bytes, 41), 64 + header_bytes]:
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(FormatError) as caught:
            load_pce(path)
        assert (caught.value.section, str(path) in str(caught.value)) == ("header", True)


def test_truncation_and_trailing_bytes(path: Path) -> None:
    data = path.read_bytes()
    for size in [*range(0, 200, 7), *range(200, len(data), 2039), len(data) - 1]:
        path.write_bytes(data[:size])
        with pytest.raises(FormatError):
            load_pce(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(FormatError, match="the file has"):
        load_pce(path)


def forged(path: Path, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """A file whose checksums are right, whatever it holds."""
    buffer = io.BytesIO()
    write_arrays(buffer, module._PCE_FILE, facts, arrays)
    path.write_bytes(buffer.getvalue())


def test_contradictions_behind_right_checksums(path: Path) -> None:
    arrays = module._arrays(small_circuit())
    forged(path, FACTS, arrays)
    load_pce(path)
    sizes = arrays["sizes"]
    assert sizes.shape == (2, 13)
    for row in range(2):
        for column in (0, *range(4, 13)):
            for change in (1, -1, 1 << 62):
                wrong = sizes.copy()
                wrong[row, column] = (int(sizes[row, column]) + change) % (1 << 64)
                forged(path, FACTS, arrays | {"sizes": wrong})
                with pytest.raises(FormatError, match="entries"):
                    load_pce(path)
    nowhere = np.zeros((1, 13), np.uint64)
    more = {f"{letter}.row_ptr": np.append(arrays[f"{letter}.row_ptr"], np.uint32(0)) for letter in "ABC"}
    for number in (1 << 32, 1 << 62, (1 << 64) - 1):  # of what is bound by no instance there are no entries
        nowhere[0, 0] = number
        forged(path, FACTS, arrays | more | {"sizes": np.concatenate([sizes, nowhere])})
        with pytest.raises(FormatError, match="entries or variables"):
            load_pce(path)
    other_types = {
        "sizes": sizes[:, :12], "dictionary": arrays["dictionary"] | np.uint64(1 << 63), "level": sizes[0],
        "bundles": arrays["bundles"].reshape(-1), "A.var": arrays["A.var"].astype(np.uint32),
    }  # fmt: skip
    for name, array in other_types.items():
        forged(path, FACTS, arrays | {name: array})
        with pytest.raises(FormatError) as caught:
            load_pce(path)
        assert caught.value.section == name
    forged(path, FACTS, arrays | {"dictionary": np.zeros((2, 4), np.uint64)})
    with pytest.raises(FormatError, match="1 limbs each"):
        load_pce(path)


def test_headers_that_are_refused(path: Path) -> None:
    arrays = module._arrays(small_circuit())
    for facts, message in (
        (FACTS | {"num_aux": -1}, "expected a count"),
        (FACTS | {"num_rows": 1 << 41}, "expected a count"),
        (FACTS | {"circuit": 5}, "expected a string"),
        (FACTS | {"extra": 1}, "'extra' is unknown"),
        ({name: FACTS[name] for name in FACTS if name != "code"}, "'code' is missing"),
    ):
        forged(path, facts, arrays)
        with pytest.raises(FormatError, match=message):
            load_pce(path)
    forged(path, FACTS | {"curve": "bls24"}, arrays)
    with pytest.raises(CurveMismatchError):
        load_pce(path)
    fewer = {name: array for name, array in arrays.items() if name != "level"}
    forged(path, FACTS, fewer)
    with pytest.raises(FormatError, match="the list of arrays is wrong"):
        load_pce(path)
    path.write_bytes(b"cuzk-key" + bytes(4088))
    with pytest.raises(FormatError, match="not a compiled circuit, but a file of another kind"):
        load_pce(path)


def test_saving_does_not_replace_unless_asked(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists"):
        save_pce(path, small_circuit(), INFO)
    save_pce(path, small_circuit(), PceInfo("another", ""), overwrite=True)
    assert path.read_bytes() != before


def test_the_cache_makes_a_circuit_once_per_name_and_code(tmp_path: Path) -> None:
    made = []

    def make() -> CompiledCircuit:
        made.append(1)
        return small_circuit()

    folder = tmp_path / "new" / "cache"
    for name, code in (("x", "a"), ("x", "a"), ("x", "b"), ("y", "b"), ("x", "a")):
        assert_same(cached_circuit(folder, name, code, make), small_circuit())
    assert len(made) == len(list(folder.iterdir())) == 3
    damaged = folder / pce_name("y", "b")
    damaged.write_bytes(damaged.read_bytes()[:-1])
    for _ in range(2):
        cached_circuit(folder, "y", "b", make)
    assert len(made) == 4
    (folder / pce_name("z", "b")).write_bytes((folder / pce_name("x", "b")).read_bytes())
    cached_circuit(folder, "z", "b", make)  # a file under another circuit's name is not taken
    assert len(made) == 5


def test_a_file_that_contradicts_itself_is_made_again(tmp_path: Path) -> None:
    """Checksums say nothing of a file that was written wrong."""
    good, folder = small_circuit(), tmp_path / "cache"
    folder.mkdir()
    level = (good.pieces[0].instances.level + 9).astype(np.uint32)
    wrong = replace(good.pieces[0], instances=replace(good.pieces[0].instances, level=level))
    path = folder / pce_name("x", "a")
    save_pce(path, replace(good, pieces=(wrong, *good.pieces[1:])), PceInfo("x", "a"))
    checked = []

    def check(circuit: CompiledCircuit) -> None:
        checked.append(circuit)
        if circuit.pieces[0].instances.level[0] >= 9:
            raise RangeError("a level")

    for _ in range(2):
        assert_same(cached_circuit(folder, "x", "a", small_circuit, check), good)
    assert len(checked) == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    assert_same(cached_circuit(tmp_path / "file", "x", "a", small_circuit), small_circuit())


def test_the_code_s_hash_sees_names_places_and_bytes(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "sub").mkdir(parents=True)
    one = package / "one.py"
    one.write_text("x = 1\n")
    seen = [code_digest(package)]
    (package / "note.txt").write_text("no code")
    assert code_digest(package) == seen[0]
    for change in (
        lambda: one.write_text("x = 2\n"),
        lambda: one.rename(package / "two.py"),
        lambda: (package / "two.py").rename(package / "sub" / "two.py"),
        lambda: (package / "empty.py").write_text(""),
    ):
        change()
        seen.append(code_digest(package))
    seen.append(code_digest(package / "sub"))
    seen.append(code_digest(package / "sub", package / "empty.py"))
    assert len(set(seen)) == 7


def test_names_of_files_keep_to_plain_characters() -> None:
    names = {pce_name(name, "c") for name in ("a:b", "a_b", "a/b", "../x", "n" * 300)}
    assert len(names) == 5
    assert all(len(name) < 110 and not set(name) & set("/:\\") for name in names)
