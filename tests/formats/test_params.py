"""bellperson's .params and .vk, against files built by hand and against damage.

Would catch: a density rule that differs from bellperson's, coordinates in the wrong order or form, infinity or
(0, 0) let in, a count that is trusted.
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.curves import GroupSpec, get_curve
from cuzk.errors import CurveMismatchError, FormatError, InputError, RangeError, SecurityWarning, ShapeError
from cuzk.formats import (
    describe,
    detect,
    load_key,
    load_params,
    load_vk,
    save_params,
    save_vk,
)
from cuzk.keys import ProvingKey
from cuzk.limbs import points_to_ints
from cuzk.relation import R1CS
from tests.formats.builders import Save
from tests.prover.support import key, workload

BLS = get_curve("bls12_381")

# Variables: ONE, 1 and 2 public, 3..6 private. A uses 3, 4; B uses 1, 5; variables 2 and 6 only C.
CIRCUIT = R1CS.from_rows(BLS, 7, 2, [({3: 1}, {5: 1}, {6: 1}), ({4: 2}, {1: 1, 5: 3}, {2: 1})])
DENSITY = {"a": [0, 1, 2, 3, 4], "b": [1, 5]}


def g1(k: int) -> bytes:
    """K times the generator as bellperson writes it; 0 is infinity."""
    point = BLS.g1.plain.mul(BLS.g1.generator, k)
    if point is None:
        return b"\x40" + bytes(95)
    return b"".join(c.to_bytes(48, "big") for c in point)


def g2(k: int) -> bytes:
    """As g1: x.c1, x.c0, y.c1, y.c0."""
    point = BLS.g2.plain.mul(BLS.g2.generator, k)
    if point is None:
        return b"\x40" + bytes(191)
    (x0, x1), (y0, y1) = point
    return b"".join(c.to_bytes(48, "big") for c in (x1, x0, y1, y0))


def listed(points: list[bytes]) -> bytes:
    """A count, big-endian, and the points."""
    return struct.pack(">I", len(points)) + b"".join(points)


PARTS: dict[str, bytes] = {
    "fixed": g1(2) + g1(3) + g2(3) + g2(7) + g1(5) + g2(5),
    "ic": listed([g1(11 + i) for i in range(3)]),
    "h": listed([g1(51 + i) for i in range(7)]),
    "l": listed([g1(41 + i) for i in range(4)]),
    "a": listed([g1(21 + i) for i in DENSITY["a"]]),
    "b_g1": listed([g1(31 + i) for i in DENSITY["b"]]),
    "b_g2": listed([g2(31 + i) for i in DENSITY["b"]]),
}


def file_bytes(**changes: bytes) -> bytes:
    """The example with some parts replaced."""
    return b"".join((PARTS | changes).values())


def multiple(group: GroupSpec, k: int) -> Any:
    return group.plain.mul(group.generator, k)


def test_reads_the_example(save: Save) -> None:
    made = load_params(save(file_bytes()), CIRCUIT)
    assert (made.h_form, made.root_convention, made.num_public, made.log_domain) == (
        "monomial",
        "bellman",
        2,
        3,
    )
    found = {name: points_to_ints(group, array) for name, group, array in made.points()}
    one, two = BLS.g1, BLS.g2
    sparse = [31 + i if i in DENSITY["b"] else 0 for i in range(7)]
    assert found == {
        "alpha_g1": [multiple(one, 2)],
        "beta_g1": [multiple(one, 3)],
        "delta_g1": [multiple(one, 5)],
        "beta_g2": [multiple(two, 3)],
        "gamma_g2": [multiple(two, 7)],
        "delta_g2": [multiple(two, 5)],
        "ic": [multiple(one, 11 + i) for i in range(3)],
        "a_query": [multiple(one, 21 + i) if i in DENSITY["a"] else None for i in range(7)],
        "b_g1_query": [multiple(one, k) for k in sparse],
        "b_g2_query": [multiple(two, k) for k in sparse],
        "h_query": [multiple(one, 51 + i) for i in range(7)],
        "l_query": [multiple(one, 41 + i) for i in range(4)],
    }
    made.check_circuit(CIRCUIT)
    assert made.c is not None


def test_writes_the_example(save: Save, tmp_path: Path) -> None:
    made = load_params(save(file_bytes()), CIRCUIT)
    save_params(tmp_path / "again.params", made)
    assert (tmp_path / "again.params").read_bytes() == file_bytes()
    save_vk(tmp_path / "again.vk", made)
    assert (tmp_path / "again.vk").read_bytes() == PARTS["fixed"] + PARTS["ic"]
    found = load_vk(tmp_path / "again.vk")
    for (name, _, one), (_, _, other) in zip(found.points(), made.verifying_key().points(), strict=True):
        assert np.array_equal(one, other), name


def test_is_told_from_other_files(save: Save, tmp_path: Path) -> None:
    full, half = save(file_bytes()), save(PARTS["fixed"] + PARTS["ic"])
    assert (detect(full), detect(half)) == ("params", "bellman_vk")
    assert describe(full).details["points in b_g2_query"] == 2
    assert describe(half).details == {"public": 2}
    damaged = tmp_path / "cut.params"
    damaged.write_bytes(file_bytes()[:-1])
    assert detect(damaged) == "params"
    with pytest.raises(FormatError, match="b_g2_query end after the file"):
        describe(damaged)
    assert load_key(full, circuit=CIRCUIT).num_public == 2
    with pytest.raises(InputError, match="circuit"):
        load_key(full)


@pytest.mark.parametrize("part", ["ic", "h", "l", "a", "b_g1", "b_g2"])
def test_counts(part: str, save: Save) -> None:
    """A point too few or too many, and counts that no file can hold: refused before anything is read."""
    content = PARTS[part]
    size = 192 if part == "b_g2" else 96
    count = int.from_bytes(content[:4], "big")
    shorter, longer = content[4:-size], content[4:] + content[-size:]
    for wrong in (struct.pack(">I", count - 1) + shorter, struct.pack(">I", count + 1) + longer):
        with pytest.raises(FormatError, match=f"points in {part}.* \\(limit: {count} for this circuit"):
            load_params(save(file_bytes(**{part: wrong})), CIRCUIT)
    for huge in (0, 1, 1 << 31, (1 << 32) - 1):
        if huge != count:
            with pytest.raises(FormatError):
                load_params(save(file_bytes(**{part: struct.pack(">I", huge) + content[4:]})), CIRCUIT)


def test_every_cut(save: Save) -> None:
    """A file that ends within any part, and one with further bytes."""
    data = file_bytes()
    edges = [0]
    for part in PARTS.values():
        edges += [
            edges[-1] + 1,
            edges[-1] + 4,
            edges[-1] + 100,
            edges[-1] + len(part) - 1,
            edges[-1] + len(part),
        ]
    for edge in sorted({edge for edge in edges if edge < len(data)}):
        with pytest.raises(FormatError):
            load_params(save(data[:edge]), CIRCUIT)
    for more in (b"\0", data):
        with pytest.raises(FormatError, match="follow"):
            load_params(save(data + more), CIRCUIT)


def test_every_point_replaced(save: Save) -> None:
    """Infinity, (0, 0), flags, and a coordinate that is p or all ones, in each place of each point."""
    data = file_bytes()
    places = [(0, 96), (96, 96), (192, 192), (384, 192), (576, 96), (672, 192)]
    at = 864
    for name, part in list(PARTS.items())[1:]:
        size = 192 if name == "b_g2" else 96
        places += [(at + 4 + i, size) for i in range(0, len(part) - 4, size)]
        at += len(part)
    assert at == len(data)
    for start, size in places:
        point = data[start : start + size]
        wrong = [
            b"\x40" + bytes(size - 1),
            bytes(size),
            bytes([point[0] | 0x80]) + point[1:],
            bytes([point[0] | 0x20]) + point[1:],
            *(
                point[:i] + value + point[i + 48 :]
                for i in range(0, size, 48)
                for value in (BLS.p.to_bytes(48, "big"), b"\xff" * 48)
            ),
        ]
        for value in wrong:
            with pytest.raises(FormatError) as caught:
                load_params(save(data[:start] + value + data[start + size :]), CIRCUIT)
            assert caught.value.offset is not None
            assert start <= caught.value.offset < start + size


def test_another_circuit(save: Save) -> None:
    bn = get_curve("bn254")
    with pytest.raises(CurveMismatchError, match="bn254"):
        load_params(save(file_bytes()), R1CS.from_rows(bn, 7, 2, [({3: 1}, {5: 1}, {6: 1})]))
    more = R1CS.from_rows(BLS, 7, 2, [({3: 1}, {5: 1, 6: 1}, {6: 1}), ({4: 2}, {1: 1}, {2: 1})])
    with pytest.raises(FormatError, match="b_g1_query"):
        load_params(save(file_bytes()), more)


def test_nobody_contributed(save: Save) -> None:
    data = save(file_bytes(fixed=g1(2) + g1(3) + g2(3) + g2(1) + g1(1) + g2(1)))
    with pytest.raises(RangeError, match="nobody has contributed"):
        load_params(data, CIRCUIT, strict=True)
    with pytest.warns(SecurityWarning):
        load_params(data, CIRCUIT)


def written(made: ProvingKey, folder: Path, **options: Any) -> bytes:
    path = folder / "out.params"
    save_params(path, made, **options)
    return path.read_bytes()


def test_what_the_format_has_no_place_for(save: Save, tmp_path: Path) -> None:
    made = load_params(save(file_bytes()), CIRCUIT)

    def with_infinity(name: str, index: int) -> ProvingKey:
        array = getattr(made, name).copy()
        array[index] = 0
        return replace(made, **{name: array})

    for wrong, message in (
        (with_infinity("a_query", 3), "no point in a_query"),
        (with_infinity("b_g2_query", 5), "no point in b_g2_query"),
        (replace(made, a_query=made.a_query[[0, 1, 2, 3, 4, 4, 6]]), "a point in a_query"),
        (with_infinity("l_query", 1), r"l_query\[1\] is the point at infinity"),
        (with_infinity("h_query", 0), r"h_query\[0\]"),
        (with_infinity("ic", 2), r"ic\[2\]"),
        (replace(made, root_convention="snarkjs"), "roots"),
    ):
        with pytest.raises(ShapeError, match=message):
            save_params(tmp_path / "out.params", wrong)
        assert not (tmp_path / "out.params").exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert written(replace(made, root_convention="snarkjs"), tmp_path, any_roots=True) == file_bytes()
    with pytest.raises(ShapeError, match="monomial"):
        save_params(tmp_path / "odd", key(workload("random", "bls12_381", 12, 2), "odd_lagrange", "bellman"))
    for save_one in (save_params, save_vk):
        with pytest.raises(CurveMismatchError, match="bn254"):
            save_one(tmp_path / "bn", key(workload("random", "bn254", 12, 2), "monomial", "bellman"))
    with pytest.raises(InputError, match="exists"):
        save_params(tmp_path / "out.params", made, overwrite=False)
