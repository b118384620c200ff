"""The .zkey reader, on all curves.

Would catch: coefficients left in the wrong Montgomery form, queries mixed up, points >= p, wrong curve or
protocol, missing binding rows, degenerate keys, unused sections that hide damage.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest
from cuzk_oracles import parsers

from cuzk.curves import CURVES, Curve, get_curve
from cuzk.errors import CurveMismatchError, FormatError, RangeError, SecurityWarning, ShapeError
from cuzk.formats import load_key, load_r1cs, load_vkey, load_zkey, save_vkey
from cuzk.keys import ProvingKey
from cuzk.limbs import points_to_ints
from tests.formats.builders import (
    Save,
    Sections,
    ZkeyParts,
    container,
    le,
    r1cs_sections,
    replaced,
    zkey_bytes,
)

TOY = get_curve("toy")
each_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())


def load_sections(sections: Sections, save: Save) -> ProvingKey:
    return load_zkey(save(container(b"zkey", 1, sections)))


@each_curve
def test_reads_the_example(curve: Curve, save: Save) -> None:
    key = load_zkey(save(zkey_bytes(curve)))
    assert (key.curve, key.num_public, key.num_variables, key.num_constraints) == (curve, 1, 4, 1)
    assert (key.log_domain, key.h_form, key.root_convention) == (2, "odd_lagrange", "snarkjs")
    assert key.c is None
    assert [key.a.row(i) for i in range(3)] == [[(2, curve.r - 1)], [(0, 1)], [(1, 1)]]
    assert [key.b.row(i) for i in range(3)] == [[(3, 1)], [], []]

    def g1(k: int) -> object:
        return curve.g1.plain.mul(curve.g1.generator, k)

    def g2(k: int) -> object:
        return curve.g2.plain.mul(curve.g2.generator, k)

    expected = {
        "alpha_g1": [g1(2)],
        "beta_g1": [g1(3)],
        "delta_g1": [g1(5)],
        "beta_g2": [g2(3)],
        "gamma_g2": [g2(1)],
        "delta_g2": [g2(5)],
        "ic": [g1(11), g1(12)],
        "a_query": [None, g1(21), g1(22), None],
        "b_g1_query": [None, None, None, g1(31)],
        "b_g2_query": [None, None, None, g2(31)],
        "l_query": [g1(41), g1(42)],
        "h_query": [g1(51), g1(52), g1(53), g1(54)],
    }
    found = {name: points_to_ints(group, array) for name, group, array in key.points()}
    assert found == expected


@pytest.mark.parametrize("name", ["bls12_381", "bn254"])
def test_second_reader_agrees(name: str, save: Save) -> None:
    curve = get_curve(name)
    data = zkey_bytes(curve)
    key, second = load_zkey(save(data)), parsers.parse_zkey(data)
    assert points_to_ints(curve.g1, key.h_query) == list(second.key.h_query)
    assert points_to_ints(curve.g2, key.b_g2_query) == list(second.key.b_g2_query)
    assert [key.a.row(i) for i in range(3)] == [sorted(row) for row in second.a[:3]]


@each_curve
def test_belongs_to_its_circuit(curve: Curve, save: Save) -> None:
    key = load_key(save(zkey_bytes(curve)))
    circuit = load_r1cs(save(container(b"r1cs", 1, r1cs_sections(curve))))
    key.check_circuit(circuit)
    assert key.circuit_digest == circuit.digest()
    for other in CURVES.values():
        if other is not curve:
            with pytest.raises(CurveMismatchError, match=other.name):
                key.check_circuit(load_r1cs(save(container(b"r1cs", 1, r1cs_sections(other)))))


def test_another_circuit_of_the_same_size(save: Save) -> None:
    parts = ZkeyParts(TOY)
    entries = parts.coefficients()
    entries[0] = parts.coefficient(0, 0, 2, 3)
    key = load_sections(replaced(parts.sections(), 4, le(4, 4) + b"".join(entries)), save)
    with pytest.raises(ShapeError, match="other constraints"):
        key.check_circuit(load_r1cs(save(container(b"r1cs", 1, r1cs_sections(TOY)))))


def test_entries_in_any_order_and_repeated(save: Save) -> None:
    parts = ZkeyParts(TOY)
    e = parts.coefficients()
    split = [parts.coefficient(0, 0, 2, 100), e[3], parts.coefficient(0, 0, 1, 0), e[2], e[1]]
    split.append(parts.coefficient(0, 0, 2, TOY.r - 101))
    key = load_sections(replaced(parts.sections(), 4, le(6, 4) + b"".join(split)), save)
    assert key.circuit_digest == load_zkey(save(zkey_bytes(TOY))).circuit_digest


@pytest.mark.parametrize(
    ("index", "entry", "message"),
    [
        (1, (2, 0, 3, 1), "matrix 2"),
        (1, (1, 4, 3, 1), "row 4"),
        (1, (1, 0, 4, 1), "wire 4"),
        (1, (1, 0, 0xFFFFFFFF, 1), "wire 4294967295"),
    ],
)
def test_coefficient_out_of_bounds(
    index: int, entry: tuple[int, int, int, int], message: str, save: Save
) -> None:
    parts = ZkeyParts(TOY)
    entries = parts.coefficients()
    entries[index] = parts.coefficient(*entry)
    data = container(b"zkey", 1, replaced(parts.sections(), 4, le(4, 4) + b"".join(entries)))
    with pytest.raises(FormatError, match=message) as caught:
        load_zkey(save(data))
    assert caught.value.index == index
    assert caught.value.section == 4


def test_coefficient_not_reduced(save: Save) -> None:
    parts = ZkeyParts(TOY)
    entries = parts.coefficients()
    entries[2] = entries[2][:12] + le(TOY.r, 8)
    data = container(b"zkey", 1, replaced(parts.sections(), 4, le(4, 4) + b"".join(entries)))
    with pytest.raises(FormatError, match="coefficient 2 is not below") as caught:
        load_zkey(save(data))
    assert caught.value.offset is not None
    assert data[caught.value.offset : caught.value.offset + 8] == le(TOY.r, 8)


@each_curve
@pytest.mark.parametrize("section", [3, 5, 6, 7, 8, 9])
def test_coordinate_not_reduced(curve: Curve, section: int, save: Save) -> None:
    sections = ZkeyParts(curve).sections()
    content = dict(sections)[section]
    width = curve.fp.nbytes
    data = container(b"zkey", 1, replaced(sections, section, content[:-width] + le(curve.p, width)))
    with pytest.raises(FormatError, match="not below the modulus") as caught:
        load_zkey(save(data))
    assert caught.value.section == section
    assert caught.value.offset is not None
    assert data[caught.value.offset : caught.value.offset + width] == le(curve.p, width)


@pytest.mark.parametrize("section", [3, 5, 6, 7, 8, 9])
@pytest.mark.parametrize("change", [-16, 16, -1])
def test_query_of_the_wrong_length(section: int, change: int, save: Save) -> None:
    sections = ZkeyParts(TOY).sections()
    content = dict(sections)[section]
    content = content[:change] if change < 0 else content + bytes(change)
    with pytest.raises(FormatError, match="points of") as caught:
        load_sections(replaced(sections, section, content), save)
    assert caught.value.section == section


def test_protocol(save: Save) -> None:
    sections = replaced(ZkeyParts(TOY).sections(), 1, le(2, 4))
    with pytest.raises(FormatError, match="protocol 2"):
        load_sections(sections, save)


@pytest.mark.parametrize("domain", [0, 3, 2, 1 << 13, 1 << 31, 8])
def test_domain_size(domain: int, save: Save) -> None:
    parts = ZkeyParts(TOY)
    sections = replaced(parts.sections(), 2, parts.header(domain=domain))
    with pytest.raises(FormatError, match=r"domain size|row 2|h_query"):
        load_sections(sections, save)


def test_more_public_than_variables(save: Save) -> None:
    parts = ZkeyParts(TOY)
    with pytest.raises(FormatError, match="4 public variables"):
        load_sections(replaced(parts.sections(), 2, parts.header(num_public=4)), save)


def test_mixed_curves(save: Save) -> None:
    """The base field of one curve and the scalar field of another."""
    bn, bls = get_curve("bn254"), get_curve("bls12_381")
    header = ZkeyParts(bn).header()
    mixed = header[:36] + le(32, 4) + le(bls.r, 32) + header[72:]
    with pytest.raises(CurveMismatchError, match=str(bls.r)):
        load_sections(replaced(ZkeyParts(bn).sections(), 2, mixed), save)


def test_missing_binding_row(save: Save) -> None:
    """Without the row that binds the public input, proofs for other inputs would verify too."""
    parts = ZkeyParts(TOY)
    e = parts.coefficients()
    wrong_wire = [e[0], e[1], e[2], parts.coefficient(0, 2, 2, 1)]
    wrong_value = [e[0], e[1], e[2], parts.coefficient(0, 2, 1, 2)]
    in_b = [*e, parts.coefficient(1, 2, 1, 1)]
    two = [*e, parts.coefficient(0, 2, 3, 1)]
    for entries in (wrong_wire, wrong_value, in_b, two):
        with pytest.raises(ShapeError, match="bind the public inputs"):
            load_sections(replaced(parts.sections(), 4, le(len(entries), 4) + b"".join(entries)), save)
    for few in ([], [parts.coefficient(0, 0, 0, 1)]):
        with pytest.raises(FormatError, match="at least 2 that bind"):
            load_sections(replaced(parts.sections(), 4, le(len(few), 4) + b"".join(few)), save)


@pytest.mark.parametrize("name", ["alpha", "beta", "gamma", "delta", "ic"])
def test_infinity_in_the_key(name: str, save: Save) -> None:
    parts = ZkeyParts(TOY)
    parts.multiples[name] = 0
    path = save(container(b"zkey", 1, parts.sections()))
    with pytest.raises(RangeError, match="infinity") as caught:
        load_zkey(path)
    assert str(path) in str(caught.value)


def test_nobody_contributed(save: Save) -> None:
    parts = ZkeyParts(TOY)
    parts.multiples["delta"] = parts.multiples["gamma"]
    path = save(container(b"zkey", 1, parts.sections()))
    with pytest.warns(SecurityWarning, match="nobody has contributed"):
        key = load_zkey(path)
    assert key.num_constraints == 1
    with pytest.raises(RangeError, match="anybody can forge"):
        load_zkey(path, strict=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(63), "circuit hash"),
        (bytes(64) + le(1, 4), "contribution"),
        (bytes(64) + le(0xFFFFFFFF, 4), "contribution"),
        (bytes(64) + le(0, 4) + b"x", "1 bytes follow"),
        (bytes(64) + le(1, 4) + ZkeyParts(TOY).contribution()[:-1], "parameters"),
    ],
)
def test_contributions(content: bytes, message: str, save: Save) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        load_sections(replaced(ZkeyParts(TOY).sections(), 10, content), save)
    assert caught.value.section == 10


def test_no_public_inputs(save: Save) -> None:
    """num_public = 0: IC has one point, the matrices one binding row."""
    parts = ZkeyParts(TOY)
    sections = replaced(parts.sections(), 2, parts.header(num_public=0, domain=2))
    sections = replaced(sections, 3, parts.g1(9))
    entries = parts.coefficients()[:3]
    sections = replaced(sections, 4, le(3, 4) + b"".join(entries))
    sections = replaced(sections, 8, b"".join(parts.g1(k) for k in (1, 2, 3)))
    sections = replaced(sections, 9, b"".join(parts.g1(k) for k in (1, 2)))
    key = load_sections(sections, save)
    assert (key.num_public, key.num_constraints, len(key.l_query)) == (0, 1, 3)
    assert key.verifying_key().num_public == 0


def test_verifying_key_to_json_and_back(save: Save) -> None:
    for curve in CURVES.values():
        key = load_zkey(save(zkey_bytes(curve))).verifying_key()
        path = save(b"")
        save_vkey(path, key)
        again = load_vkey(path)
        for (name, _, ours), (_, _, theirs) in zip(key.points(), again.points(), strict=True):
            assert np.array_equal(ours, theirs), name


def test_unaligned_sections(save: Save) -> None:
    """Section contents start at odd offsets; arrays must come out aligned and owned."""
    parts = ZkeyParts(TOY)
    data = container(b"zkey", 1, parts.sections())
    key = load_zkey(save(data))
    for name, _, array in key.points():
        assert array.flags.aligned, name
        assert array.flags.c_contiguous, name
    assert struct.unpack_from("<I", data, 8)[0] == 10
