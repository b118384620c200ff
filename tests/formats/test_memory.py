"""Reading takes at most four times the size of a large file, and a constant.

Would catch: coefficients or points that become Python ints all at once, a copy of a section that is kept, a list of
places that is wider than the file, JSON whose many small values take twenty times their text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.errors import CuzkError
from cuzk.formats import load_public, load_r1cs, load_vkey, load_witness, load_zkey, vkey_to_json
from cuzk.formats.json_proof import dump_json
from cuzk.keys import VerifyingKey
from cuzk.limbs import points_from_ints
from tests.formats.builders import Save, ZkeyParts, container, le, r1cs_sections, replaced

CURVE = get_curve("bn254")
SIZE = 3 << 20
CONSTANT = 1 << 20
JSON_CONSTANT = 16 << 20  # values that are few bytes of text
ONE = le(1, 32)
RNG = np.random.default_rng(1)


def values(count: int) -> list[bytes]:
    """Random elements below r."""
    return [row.tobytes() + b"\0" for row in RNG.integers(0, 256, (count, 31), dtype=np.uint8)]


def circuit(body: bytes, num_rows: int, num_wires: int = 4) -> bytes:
    """A .r1cs with this section 2."""
    header = le(32, 4) + le(CURVE.r, 32) + b"".join(le(v, 4) for v in (num_wires, 1, 0, num_wires - 2))
    sections = replaced(r1cs_sections(CURVE), 1, header + le(num_wires, 8) + le(num_rows, 4))
    sections = replaced(sections, 2, body)
    return container(b"r1cs", 1, replaced(sections, 3, np.arange(num_wires, dtype="<u8").tobytes()))


def empty_rows() -> bytes:
    return circuit(bytes(SIZE // 12 * 12), SIZE // 12)


def one_term_a_row() -> bytes:
    row = le(1, 4) + le(1, 4) + ONE + bytes(8)
    return circuit(row * (SIZE // len(row)), SIZE // len(row))


def different_coefficients() -> bytes:
    count = SIZE // 120
    return circuit(b"".join(le(1, 4) + le(1, 4) + value for value in values(3 * count)), count)


def one_wide_row() -> bytes:
    terms = b"".join(le(i, 4) + value for i, value in enumerate(values(SIZE // 44)))
    return circuit(le(len(terms) // 36, 4) + terms + bytes(8), 1, SIZE // 44)


def one_variable_many_times() -> bytes:
    terms = b"".join(le(1, 4) + value for value in values(SIZE // 36))
    return circuit(le(len(terms) // 36, 4) + terms + bytes(8), 1)


def witness() -> bytes:
    header = le(32, 4) + le(CURVE.r, 32) + le(SIZE // 32, 4)
    return container(b"wtns", 2, [(1, header), (2, ONE + b"".join(values(SIZE // 32 - 1)))])


def key_with_many_coefficients() -> bytes:
    sections = ZkeyParts(CURVE).sections()
    known = dict(sections)[4]
    more = b"".join(
        le(i % 2, 4) + le(0, 4) + le(i % 4, 4) + value for i, value in enumerate(values(SIZE // 44))
    )
    count = int.from_bytes(known[:4], "little") + len(more) // 44
    return container(b"zkey", 1, replaced(sections, 4, le(count, 4) + known[4:] + more))


def key_with_many_inputs() -> bytes:
    g1, g2 = (
        points_from_ints(group, [group.plain.mul(group.generator, 3)]) for group in (CURVE.g1, CURVE.g2)
    )
    two = points_from_ints(CURVE.g2, [CURVE.g2.plain.mul(CURVE.g2.generator, 2)])[0]
    ic = np.repeat(g1, SIZE // 180, axis=0)
    return dump_json(vkey_to_json(VerifyingKey(CURVE, g1[0], g2[0], g2[0], two, ic)))


@pytest.mark.parametrize(
    ("make", "load"),
    [
        (empty_rows, load_r1cs),
        (one_term_a_row, load_r1cs),
        (different_coefficients, load_r1cs),
        (one_wide_row, load_r1cs),
        (one_variable_many_times, load_r1cs),
        (witness, load_witness),
        (key_with_many_coefficients, load_zkey),
        (key_with_many_inputs, load_vkey),
    ],
)
def test_four_times_the_file(make: Callable[[], bytes], load: Callable[[Any], object], save: Save) -> None:
    content = make()
    path = save(content)
    size = len(content)
    assert size > 0.9 * SIZE
    del content
    tracemalloc.start()
    found = load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert dataclasses.is_dataclass(found)
    assert peak < 4 * size + CONSTANT, peak / size


@pytest.mark.parametrize(
    ("start", "unit", "end"),
    [
        (b"[", b"[],", b"[]]"),
        (b"[", b'"1",', b'"1"]'),
        (b"[", b'"300",', b'"1"]'),
        (b"[", b"1,", b"1]"),
        (b"[", b"-1 ", b"1]"),
        (b'{"":1', b',"":1', b"}"),
        (b'["', b"a", b'"]'),
        (b'["', b"1" * 30 + b'","', b'"]'),
        (b"", b" ", b""),
        (b"", b'"', b""),
        (b"", b"1", b""),
        (b"", b"\0", b""),
        (b"", bytes(range(256)), b""),
    ],
    ids=repr,
)
def test_memory_is_bounded_by_the_text(start: bytes, unit: bytes, end: bytes, save: Save) -> None:
    text = start + unit * (SIZE // len(unit)) + end
    path = save(text)
    tracemalloc.start()
    with contextlib.suppress(CuzkError):
        load_public(path, CURVE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(text) + JSON_CONSTANT


def test_many_small_public_inputs_are_fine(save: Save) -> None:
    values = [str(i % 1000) for i in range(100_000)]
    assert load_public(save(json.dumps(values).encode()), CURVE) == [int(value) for value in values]
