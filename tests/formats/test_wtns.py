"""The .wtns reader and writer, and Witness itself.

Would catch: values that are not reduced or a first value other than 1 getting through, wrong limb order, a
file that others can read.
"""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest
from cuzk_oracles import parsers

from cuzk.curves import CURVES, Curve, get_curve
from cuzk.errors import CurveMismatchError, FormatError, RangeError, ShapeError
from cuzk.formats import load_witness, save_witness
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.formats.builders import Save, container, le, replaced, wtns_sections

BN = get_curve("bn254")


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())
def test_read_and_write(curve: Curve, save: Save, tmp_path: Path) -> None:
    values = [1, 0, curve.r - 1, 12345]
    data = container(b"wtns", 2, wtns_sections(curve, values))
    witness = load_witness(save(data))
    assert witness.curve is curve
    assert witness.to_ints() == values
    assert witness.public(2) == [0, curve.r - 1]
    assert witness.public(0) == []
    path = tmp_path / "w.wtns"
    save_witness(path, witness)
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "a witness is private"
    assert parsers.parse_wtns(data).witness == values


def test_value_not_reduced(save: Save) -> None:
    data = container(b"wtns", 2, wtns_sections(BN, [1, 2, BN.r]))
    with pytest.raises(FormatError, match="element 2 of the witness is not below") as caught:
        load_witness(save(data))
    assert caught.value.offset == len(data) - 32
    assert caught.value.index == 2


@pytest.mark.parametrize("values", [[], [0], [2, 3]])
def test_first_value_is_one(values: list[int], save: Save) -> None:
    with pytest.raises(FormatError, match="not the constant 1"):
        load_witness(save(container(b"wtns", 2, wtns_sections(BN, values))))


def test_count_and_content_disagree(save: Save) -> None:
    sections = wtns_sections(BN, [1, 2, 3])
    header = le(32, 4) + le(BN.r, 32)
    with pytest.raises(FormatError, match="128 bytes"):
        load_witness(save(container(b"wtns", 2, replaced(sections, 1, header + le(4, 4)))))
    with pytest.raises(FormatError, match="32 bytes follow"):
        load_witness(save(container(b"wtns", 2, replaced(sections, 1, header + le(2, 4)))))


def test_other_field(save: Save) -> None:
    header = le(32, 4) + le(2**255 - 19, 32) + le(3, 4)
    with pytest.raises(CurveMismatchError, match="not supported"):
        load_witness(save(container(b"wtns", 2, replaced(wtns_sections(BN, [1, 2, 3]), 1, header))))


def test_construction_checks() -> None:
    with pytest.raises(RangeError, match="witness value 1"):
        Witness.from_ints(BN, [1, BN.r])
    with pytest.raises(RangeError, match="index 1"):
        Witness.from_ints(BN, [1, -1])
    with pytest.raises(ShapeError, match="first witness value"):
        Witness.from_ints(BN, [2])
    with pytest.raises(ShapeError, match="at least the constant 1"):
        Witness.from_ints(BN, [])
    with pytest.raises(ShapeError, match="shape"):
        Witness(BN, np.ones((3, 2), np.uint64))
    with pytest.raises(ShapeError, match="3 public values"):
        Witness.from_ints(BN, [1, 2, 3]).public(3)


def test_against_a_circuit() -> None:
    circuit = R1CS.from_rows(BN, 4, 1, [({2: -1}, {3: 1}, {1: -1}), ({1: 1}, {0: 1}, {1: 1})])
    assert circuit.first_unsatisfied(Witness.from_ints(BN, [1, 15, 3, 5])) is None
    wrong = Witness.from_ints(BN, [1, 16, 3, 5])
    assert circuit.first_unsatisfied(wrong) == 0
    error = circuit.unsatisfied_error(0, wrong)
    assert "constraint 0" in str(error)
    assert str(BN.r - 15) in str(error)
    assert str(BN.r - 16) in str(error)
    with pytest.raises(ShapeError, match="3 values, the circuit 4"):
        circuit.first_unsatisfied(Witness.from_ints(BN, [1, 2, 3]))
    with pytest.raises(CurveMismatchError, match="toy"):
        circuit.first_unsatisfied(Witness.from_ints(get_curve("toy"), [1, 2, 3, 4]))
