"""The .zkey writer: what it writes is what snarkjs wrote, byte for byte, and every form of a key gets there.

Would catch: coefficients in the wrong form or order, queries in the wrong section, a ceremony that is lost, rows
or H points that belong to other roots of unity.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np
import pytest
from cuzk_oracles import parsers

from cuzk.device import get_device
from cuzk.errors import InputError, SecurityWarning, ShapeError
from cuzk.formats import load_r1cs, load_zkey, read_ceremony, save_zkey
from cuzk.formats.container import read_container
from cuzk.groth16.convert import convert
from cuzk.keys import ProvingKey
from tests.formats.builders import Save, zkey_bytes
from tests.prover.support import key, workload

DATA = Path(__file__).resolve().parents[1] / "data"
FILES = sorted(DATA.glob("*/*/*.zkey"))


def sections(path: Path) -> dict[int, bytes]:
    """The content of every section."""
    container = read_container(path, b"zkey", 1, frozenset(range(1, 11)))
    readers = {section_id: container.section(section_id) for section_id in container.spans}
    return {
        section_id: reader.take(reader.left, "section").tobytes() for section_id, reader in readers.items()
    }


def coefficients(content: bytes) -> list[bytes]:
    """The entries of section 4, sorted: snarkjs keeps the compiler's order within a row."""
    assert len(content) == 4 + 44 * int.from_bytes(content[:4], "little")
    return sorted(content[i : i + 44] for i in range(4, len(content), 44))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_snarkjs_files_come_back(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.zkey"
    save_zkey(out, load_zkey(path), ceremony=read_ceremony(path))
    theirs, ours = sections(path), sections(out)
    assert coefficients(ours.pop(4)) == coefficients(theirs.pop(4))
    assert ours == theirs
    assert out.stat().st_size == path.stat().st_size


@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
def test_own_keys(curve: str, roots: str, tmp_path: Path) -> None:
    """A key of any form is read back as the same key of the same circuit, by two readers."""
    load = workload("random", curve, 12, 2)
    path = tmp_path / "own.zkey"
    made = convert(
        key(load, "monomial", roots), get_device("cpu"), h_form="odd_lagrange", root_convention="snarkjs"
    )
    save_zkey(path, made)
    found = load_zkey(path)
    found.check_circuit(load.r1cs)
    for (name, _, one), (_, _, other) in zip(made.points(), found.points(), strict=True):
        assert (one == other).all(), name
    second = parsers.parse_zkey(path.read_bytes())
    for matrix, rows in ((made.a, second.a), (made.b, second.b)):
        own = [sorted(matrix.row(i)) for i in range(matrix.num_rows)]
        assert [sorted(row) for row in rows][: len(own)] == own
        assert not any(rows[len(own) :])
    assert found.is_renumbered == (roots == "bellman" and curve == "bls12_381")


def test_a_key_of_our_own_lists_no_contributions(save: Save, tmp_path: Path) -> None:
    made = key(workload("random", "bn254", 12, 2))
    save_zkey(tmp_path / "own.zkey", made)
    digest = hashlib.blake2b(made.circuit_digest.encode(), person=b"cuzk-zkey").digest()
    assert sections(tmp_path / "own.zkey")[10] == digest + bytes(4)


def test_other_forms_are_refused(tmp_path: Path) -> None:
    load, out = workload("random", "bls12_381", 12, 2), tmp_path / "out.zkey"
    for wrong in (key(load, "monomial"), key(load, "odd_lagrange", "bellman")):
        with pytest.raises(ShapeError, match="convert"):
            save_zkey(out, wrong)
    assert not out.exists()
    # On BN254 both conventions have the same roots.
    save_zkey(out, key(workload("random", "bn254", 12, 2), "odd_lagrange", "bellman"))
    with pytest.raises(InputError, match="exists"):
        save_zkey(out, key(workload("random", "bn254", 12, 2)), overwrite=False)


def test_many_coefficients_are_written_in_parts(
    save: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes however the list is cut."""
    made = key(workload("random", "bn254", 12, 2))
    save_zkey(tmp_path / "one", made)
    monkeypatch.setattr("cuzk.formats.zkey_write._CHUNK", 7)
    save_zkey(tmp_path / "many", made)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "many").read_bytes()


def test_the_example_without_contributions_warns_no_more_than_before(tmp_path: Path, save: Save) -> None:
    """The hand-made key: written and read again, its arrays are those of the first reading."""
    toy = workload("random", "toy", 40, 2).curve
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        first: ProvingKey = load_zkey(save(zkey_bytes(toy)))
        save_zkey(tmp_path / "again.zkey", first)
        again = load_zkey(tmp_path / "again.zkey")
    assert all(
        np.array_equal(one, other)
        for (_, _, one), (_, _, other) in zip(first.points(), again.points(), strict=True)
    )


def test_a_renumbered_file_belongs_to_its_circuit(tmp_path: Path) -> None:
    """A key by bellman's roots keeps its circuit through a .zkey, whose rows are numbered by snarkjs's."""
    folder = DATA / "bls12381" / "product"
    made = convert(load_zkey(folder / "product.zkey"), get_device("cpu"), root_convention="bellman")
    back = convert(made, get_device("cpu"), root_convention="snarkjs")
    save_zkey(tmp_path / "back.zkey", back, ceremony=read_ceremony(folder / "product.zkey"))
    circuit = load_r1cs(folder / "product.r1cs")
    made.check_circuit(circuit)
    load_zkey(tmp_path / "back.zkey").check_circuit(circuit)
    assert sections(tmp_path / "back.zkey")[9] == sections(folder / "product.zkey")[9]
