"""The .r1cs reader and writer.

Would catch: a reader that trusts counts, wires or coefficients, depends on section order, mixes up A, B and
C, or loses terms; a writer that disagrees with the format.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from cuzk_oracles import parsers

from cuzk.curves import CURVES, Curve, get_curve
from cuzk.errors import CurveMismatchError, CuzkError, FormatError, ShapeError
from cuzk.formats import load_r1cs, save_r1cs
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.formats.builders import Save, combination, container, le, r1cs_sections, replaced

BN = get_curve("bn254")
each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())


@pytest.fixture(autouse=True, params=[None, 3, 6], ids=["whole", "row_by_row", "two_rows"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader works in blocks of rows; whatever their size, results and errors are the same."""
    if request.param is not None:
        monkeypatch.setattr("cuzk.formats.r1cs._BLOCK", request.param)


@each_curve
def test_reads_the_example(curve: Curve, save: Save) -> None:
    r1cs = load_r1cs(save(container(b"r1cs", 1, r1cs_sections(curve))))
    assert r1cs.curve is curve
    assert (r1cs.num_constraints, r1cs.num_variables, r1cs.num_public, r1cs.num_outputs) == (1, 4, 1, 1)
    assert (r1cs.num_private_inputs, r1cs.domain_log2) == (2, 2)
    assert r1cs.a.row(0) == [(2, curve.r - 1)]
    assert r1cs.b.row(0) == [(3, 1)]
    assert r1cs.c.row(0) == [(1, curve.r - 1)]
    assert r1cs.labels is not None
    assert r1cs.labels.tolist() == [0, 1, 2, 5]
    r1cs.validate()
    assert r1cs.first_unsatisfied(Witness.from_ints(curve, [1, 15, 3, 5])) is None
    assert r1cs.first_unsatisfied(Witness.from_ints(curve, [1, 16, 3, 5])) == 0


def test_section_order_does_not_matter(save: Save) -> None:
    sections = r1cs_sections(BN)
    digests = {
        load_r1cs(save(container(b"r1cs", 1, order))).digest()
        for order in (sections, sections[::-1], sorted(sections))
    }
    assert len(digests) == 1


def random_circuit(curve: Curve, rng: random.Random, num_constraints: int, num_variables: int) -> R1CS:
    def row() -> dict[int, int]:
        size = rng.choice([0, 1, 1, 2, 5, num_variables])
        return {
            var: rng.choice([1, -1, rng.randrange(1, curve.r)])
            for var in rng.sample(range(num_variables), size)
        }

    rows = [(row(), row(), row()) for _ in range(num_constraints)]
    return R1CS.from_rows(curve, num_variables, 2, rows)


@each_curve
@pytest.mark.parametrize("num_constraints", [0, 1, 2, 3, 17, 300])
def test_round_trip_and_second_reader(
    curve: Curve, num_constraints: int, tmp_path: Path, rng: random.Random
) -> None:
    r1cs = random_circuit(curve, rng, num_constraints, 9)
    path = tmp_path / "c.r1cs"
    save_r1cs(path, r1cs)
    again = load_r1cs(path)
    for name, matrix in r1cs.matrices.items():
        other = again.matrices[name]
        for part in ("row_ptr", "col", "coeff", "dictionary"):
            ours, theirs = getattr(matrix, part), getattr(other, part)
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs), (name, part)
    second = parsers.parse_r1cs(path.read_bytes())
    assert second.prime == curve.r
    for matrix, rows in zip(
        r1cs.matrices.values(), (second.r1cs.a, second.r1cs.b, second.r1cs.c), strict=True
    ):
        assert [sorted(row) for row in rows] == [matrix.row(i) for i in range(num_constraints)]


def test_unsorted_repeated_and_zero_terms(save: Save) -> None:
    """Terms may come in any order; equal wires add up; what adds up to zero is no term."""
    terms = [(3, 7), (1, 5), (3, BN.r - 2), (2, 0), (0, 4), (0, BN.r - 4)]
    body = combination(terms, 32) + combination([], 32) + combination([(1, 1)], 32)
    r1cs = load_r1cs(save(container(b"r1cs", 1, replaced(r1cs_sections(BN), 2, body))))
    assert r1cs.a.row(0) == [(1, 5), (3, 5)]
    assert r1cs.b.row(0) == []
    assert r1cs.a.nnz == 2
    r1cs.validate()


def test_without_labels(save: Save) -> None:
    r1cs = load_r1cs(save(container(b"r1cs", 1, r1cs_sections(BN)[:2])))
    assert r1cs.labels is None


@pytest.mark.parametrize(
    ("section", "content", "message"),
    [
        (2, combination([(4, 1)], 32) + bytes(8), "uses wire 4"),
        (2, combination([(0, BN.r)], 32) + bytes(8), "coefficient is not below the prime"),
        (2, combination([(0, 1)], 32) + bytes(4), "ends within constraint 0, matrix C"),
        (2, bytes(16), "4 bytes follow the last item"),
        (2, bytes(11), "do not fit"),
        (2, le(0xFFFFFFFF, 4) + bytes(8), "ends within constraint 0, matrix B"),
        (2, bytes(8) + le(1, 4) + bytes(32), "ends within constraint 0, matrix C"),
        (3, bytes(24), "ends within the labels"),
        (3, bytes(40), "8 bytes follow"),
        (1, le(32, 4) + le(BN.r, 32), "ends within the number of wires"),
        (1, le(12, 4) + bytes(100), "field size 12"),
        (1, le(0xFFFFFFF8, 4) + bytes(100), "field size 4294967288"),
    ],
)
def test_damage_is_named(section: int, content: bytes, message: str, save: Save) -> None:
    path = save(container(b"r1cs", 1, replaced(r1cs_sections(BN), section, content)))
    with pytest.raises(FormatError, match=message) as caught:
        load_r1cs(path)
    assert str(path) in str(caught.value)
    assert caught.value.section == section
    assert caught.value.offset is not None


def test_the_place_of_a_bad_term(save: Save) -> None:
    """Offset and index point at the very term."""
    good = combination([(0, 1), (1, 2)], 32)
    body = good * 3 + good + combination([(0, 1), (9, 2)], 32) + good
    header = le(32, 4) + le(BN.r, 32) + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, 2)
    sections = replaced(replaced(r1cs_sections(BN), 2, body), 1, header)
    data = container(b"r1cs", 1, sections)
    with pytest.raises(FormatError, match="wire 9") as caught:
        load_r1cs(save(data))
    assert caught.value.index == 1
    assert data[caught.value.offset : caught.value.offset + 4] == le(9, 4)  # type: ignore[operator]


def test_words_at_an_odd_place(save: Save) -> None:
    """A section may start at any byte of the file."""
    sections = r1cs_sections(BN)
    moved = [(3, struct.pack("<4Q", 0, 1, 2, 5)), (1, sections[1][1]), (2, sections[0][1])]
    plain, odd = container(b"r1cs", 1, moved), container(b"r1cs", 1, [(4, b""), *moved])
    assert load_r1cs(save(plain)).digest() == load_r1cs(save(odd)).digest()
    at_byte_one = container(b"r1cs", 1, [(5, bytes(1)), *moved])
    assert load_r1cs(save(at_byte_one)).digest() == load_r1cs(save(plain)).digest()


def test_field_of_the_wrong_width(save: Save) -> None:
    """A known prime in 48 bytes, a BLS12-381 width, is refused with both facts."""
    header = le(48, 4) + le(BN.r, 48) + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, 1)
    path = save(container(b"r1cs", 1, replaced(r1cs_sections(BN), 1, header)))
    with pytest.raises(CurveMismatchError, match="48 bytes"):
        load_r1cs(path)


def test_unknown_prime(save: Save) -> None:
    header = le(32, 4) + le(BN.r + 2, 32) + struct.pack("<IIIIQI", 4, 1, 0, 2, 6, 1)
    path = save(container(b"r1cs", 1, replaced(r1cs_sections(BN), 1, header)))
    with pytest.raises(CurveMismatchError, match="bls12_381 and bn254"):
        load_r1cs(path)


@pytest.mark.parametrize(
    ("counts", "message"),
    [((0, 0, 0, 0), "public variables of 0"), ((2, 1, 1, 0), "2 public"), ((4, 1, 0, 3), "private inputs")],
)
def test_contradicting_counts(counts: tuple[int, int, int, int], message: str, save: Save) -> None:
    header = le(32, 4) + le(BN.r, 32) + struct.pack("<IIIIQI", *counts, 6, 0)
    sections: list[tuple[int, bytes]] = [(1, header), (2, b"")]
    path = save(container(b"r1cs", 1, sections))
    with pytest.raises(ShapeError, match=message) as caught:
        load_r1cs(path)
    assert str(path) in str(caught.value)


def test_custom_gates(save: Save) -> None:
    with pytest.raises(FormatError, match="custom gates"):
        load_r1cs(save(container(b"r1cs", 1, [*r1cs_sections(BN), (4, le(1, 4) + bytes(40)), (5, le(1, 4))])))
    none = container(b"r1cs", 1, [*r1cs_sections(BN), (4, le(0, 4)), (5, le(0, 4))])
    assert load_r1cs(save(none)).num_constraints == 1


def test_unwritable_target(tmp_path: Path) -> None:
    r1cs = R1CS.from_rows(BN, 2, 0, [])
    with pytest.raises(CuzkError, match="cannot write"):
        save_r1cs(tmp_path / "missing" / "c.r1cs", r1cs)
