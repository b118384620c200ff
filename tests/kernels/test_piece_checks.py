"""Tables of compiled circuits that kernels must never follow: each damage is refused with a named error.

Would catch: a check that is gone. Every damage is one number in tables that are otherwise good.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz.targets.pieces import compiled
from cuzk_oracles import pieces as oracle

from cuzk.curves import get_curve
from cuzk.errors import InputError, RangeError, ShapeError
from cuzk.ops.piece_checks import check_circuit, given_inputs
from cuzk.pieces import CompiledCircuit
from tests.kernels.piece_support import case

CURVE = get_curve("toy")


def good() -> CompiledCircuit:
    """A given input, and two instances of a piece with every operation; the second binds what the first makes."""
    piece = oracle.Piece(
        num_bound=1, num_inputs=1, num_aux=6, num_hints=2,
        row_ptr=([0, 1, 2], [0, 1, 2], [0, 2, 3]),
        terms=([(1, 0), (0, 2)], [(1, 0), (-2, 0)], [(-1, 2), (5, 0), (6, 1)]),
        bundles=[(7, 1, 0, 0), (7, 1, 1, 6), (3, 1, 0, 1), (1, 1, 1, 2), (2, 1, 2, 3), (4, 1, 3, 4), (5, 1, 4, 5)],
        operands=[(1, 0, 0, 0), (2, -1, 2, 150), (0, 1, 5, 0), (0, 1, 0, 0), (1, -1, 0, 0)],
        sum_terms=[(3, 7 | 256)],
        instances=[oracle.Instance(0, 0, 2, 0, [-2], 0), oracle.Instance(2, 6, 3, 2, [4], 1)],
    )  # fmt: skip
    more = oracle.Piece(num_bound=1, num_aux=1, bundles=[(6, 1, 0, 0)], operands=[(0, 1, 0, 0)],
                        linear_terms=[(0, 2)], instances=[oracle.Instance(4, 12, 4, 4, [11], 2)])  # fmt: skip
    given = oracle.Piece(num_inputs=1, instances=[oracle.Instance(0, 0, 1, 0, [], 0)])
    plain = oracle.Circuit(CURVE.r, 4, 13, 4, 4, [1, CURVE.r - 1, 5], [given, piece, more])
    assert len(oracle.run(plain, [3, 4, 5, 6], [9])) == 17
    return compiled(plain, CURVE)


def spoil(
    path: str, index: Any, value: Any, number: int = 1, kind: Any = None
) -> Callable[[CompiledCircuit], CompiledCircuit]:
    """One entry of a table of piece `number` set to a value, or the table in another type; path as "rows.2.var"."""

    def change(part: Any, names: list[str]) -> Any:
        if not names:
            copy = np.array(part, kind)
            if kind is None:
                copy[index] = value
            return copy
        name, rest = names[0], names[1:]
        if isinstance(part, tuple):
            i = int(name)
            return (*part[:i], change(part[i], rest), *part[i + 1 :])
        return replace(part, **{name: change(getattr(part, name), rest)})

    def spoiled(circuit: CompiledCircuit) -> CompiledCircuit:
        return change(circuit, ["pieces", str(number), *path.split(".")])  # type: ignore[no-any-return]

    return spoiled


DAMAGES = (
    ("rows.0.row_ptr", 1, 9, "ascend"),
    ("rows.0.row_ptr", 0, 1, "ascend"),
    ("rows.1.var", 0, 7, "does not have"),
    ("rows.1.var", 0, -3, "does not have"),
    ("rows.2.coeff", 0, 3, "not in the dictionary"),
    ("program.bundles", (0, 0), 8, "that there is not"),
    ("program.bundles", (0, 0), 0, "that there is not"),
    ("program.bundles", (0, 1), 0, "number of lanes"),
    ("program.bundles", (6, 1), 2, "number of lanes"),
    ("program.bundles", (4, 1), 64, "number of lanes"),
    ("program.bundles", (2, 1), 65, "number of lanes"),
    ("program.bundles", (2, 2), 5, "operands lie outside"),
    ("program.bundles", (2, 2), -1, "operands lie outside"),
    ("program.bundles", (1, 2), 2, "hint beyond"),
    ("program.bundles", (0, 2), -1, "hint beyond"),
    ("program.bundles", (1, 3), 7, "beyond the own variables"),
    ("program.bundles", (1, 3), -1, "beyond the own variables"),
    ("program.bundles", (1, 3), 5, "made twice"),
    ("program.operands", (0, 0), 2, "before it is made"),
    ("program.operands", (1, 1), 3, "before it is made"),
    ("program.operands", (0, 0), 9, "does not have"),
    ("program.operands", (1, 3), 256, "truth table"),
    ("program.operands", (2, 0), 1, "terms outside"),
    ("program.operands", (2, 1), -1, "terms outside"),
    ("program.operands", (2, 3), -1, r"may reach 2\^63"),
    ("program.operands", (3, 0), 2, "row to be solved"),
    ("program.operands", (3, 1), 0, "row to be solved"),
    ("program.operands", (3, 0), 1, "stand once in C"),
    ("program.operands", (3, 1), -1, "not its sign"),
    ("program.sum_terms", (0, 0), 4, "before it is made"),
    ("program.sum_terms", (0, 1), 63, "term of a sum"),
    ("program.sum_terms", (0, 1), 512, "term of a sum"),
    ("rows.0.var", 0, 5, "before it is made"),
    ("instances.bindings", (1, 0), 13, "no variable"),
    ("instances.bindings", (1, 0), -5, "no variable"),
    ("instances.hint_base", 1, 3, "hints beyond"),
    ("instances.level", 1, 0, "level is not above"),
    ("instances.row_base", 1, 1, "rows once each"),
    ("instances.aux_base", 0, 7, "auxiliary variables once each"),
    ("instances.input_base", 0, 1, "inputs once each"),
)


@pytest.mark.parametrize(("path", "index", "value", "message"), DAMAGES)
def test_one_wrong_number_is_refused(path: str, index: Any, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        check_circuit(spoil(path, index, value)(good()))
    assert "compile it again" in str(caught.value)


def test_the_last_hint_and_linear_terms_are_checked() -> None:
    for path, index, value, message in (
        ("program.linear_terms", (0, 1), 3, "no dictionary"),
        ("program.linear_terms", (0, 0), 2, "does not have"),
        ("program.linear_terms", (0, 0), 1, "before it is made"),
        ("program.operands", (0, 1), 2, "terms outside"),
        ("instances.bindings", (0, 0), 12, "level is not above"),
    ):
        with pytest.raises(RangeError, match=message):
            check_circuit(spoil(path, index, value, number=2)(good()))


def test_good_tables_pass() -> None:
    circuit = good()
    check_circuit(circuit)
    assert given_inputs(circuit) == 1
    for seed in range(3):
        check_circuit(case("bls12_381", seed).circuit)


def test_types_and_sizes_are_checked() -> None:
    circuit = good()
    for path, kind in (("program.bundles", np.int64), ("program.linear_terms", np.uint32), ("rows.0.coeff", np.int8),
                       ("instances.level", np.int32), ("instances.row_base", np.int64)):  # fmt: skip
        with pytest.raises(ShapeError, match=path.rpartition(".")[2]):
            check_circuit(spoil(path, ..., None, kind=kind)(circuit))
    with pytest.raises(RangeError, match="never made"):
        check_circuit(replace(circuit, pieces=(*circuit.pieces[:2], replace(circuit.pieces[2], num_aux=2))))
    sizes: tuple[dict[str, Any], ...] = ({"num_rows": 5}, {"num_aux": 14}, {"num_inputs": 5})
    for size in sizes:
        with pytest.raises(InputError):
            check_circuit(replace(circuit, **size))
    with pytest.raises(ShapeError, match=r"fewer than 2\^32"):
        check_circuit(replace(circuit, num_hints=1 << 32))
    dictionary = circuit.dictionary.copy()
    dictionary[2] = CURVE.r
    with pytest.raises(RangeError, match="not below r"):
        check_circuit(replace(circuit, dictionary=dictionary))


@pytest.mark.parametrize("size", ["num_aux", "num_inputs"])
def test_sizes_that_nothing_fills_take_no_memory(size: str) -> None:
    """A piece that occurs nowhere may be of any size by its instances."""
    circuit = good()
    (small,) = compiled(oracle.Circuit(CURVE.r, 1, 0, 0, 0, [1], [oracle.Piece()]), CURVE).pieces
    sizes: dict[str, Any] = {size: (1 << 31) - 1}
    huge = replace(small, **sizes)
    tracemalloc.start()
    try:
        with pytest.raises(RangeError, match=r"never made|smaller circuit"):
            check_circuit(replace(circuit, pieces=(*circuit.pieces, huge)))
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
