"""Changed rows of compiled circuits: one term or row of a piece, in all its instances, against true witnesses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cuzk.circuits.catalogue import compiled_circuit
from cuzk.circuits.create_label import create_label_hints
from cuzk.circuits.hashes import message_hints
from cuzk.circuits.hints import post_hints, stacked_hints
from cuzk.circuits.por import PorCircuit
from cuzk.circuits.post import find_window_post, sectors_of_partition
from cuzk.circuits.sprout import joinsplit_hints
from cuzk.circuits.stacked import StackedCircuit
from cuzk.circuits.vanilla.merkle import HASHERS, build_tree
from cuzk.curves import get_curve
from cuzk.limbs import fr_to_ints
from cuzk.pieces import CompiledCircuit, Piece
from cuzk.synthesis.expand import columns_of
from tests.circuits.test_post import proof_of
from tests.circuits.test_sprout import example
from tests.circuits.test_stacked import TINY_NAME, tiny_output
from tests.circuits.witnesses import compiled_witness

__all__ = ["RowMutant", "row_mutants"]

R = get_curve("bls12_381").r
KINDS = ("coefficient", "negated", "variable", "dropped", "exchanged", "emptied")
_MOST_INSTANCES = 512

Terms = dict[int, int]
Row = tuple[Terms, Terms, Terms]


@dataclass(frozen=True)
class RowMutant:
    """A changed row, and whether the true witnesses break it or what false values broke no longer does.

    Args:
        circuit: Name.
        piece: Number of the piece.
        row: Its row.
        kind: Of change.
        side: A, B or C.
        is_seen: By witnesses.
        reason: Why not.
    """

    circuit: str
    piece: int
    row: int
    kind: str
    side: int
    is_seen: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.circuit} piece {self.piece} row {self.row}: {self.kind} in {'ABC'[self.side]}"


def _por_hints(name: str, rng: random.Random) -> Iterator[int]:
    circuit = PorCircuit.parse(name)
    leaves = [rng.randrange(R) for _ in range(circuit.num_leaves)]
    tree = build_tree(HASHERS[circuit.hasher], circuit.shape, leaves)
    return circuit.hints(tree.prove(rng.randrange(circuit.num_leaves)))


def _window_hints(name: str, rng: random.Random) -> Iterator[int]:
    circuit = find_window_post(name)
    return post_hints(circuit, sectors_of_partition(circuit, [proof_of(rng.randrange(100))]))


def _label_hints(rng: random.Random) -> Iterator[int]:
    first, *others = (rng.randrange(R) for _ in range(38))
    return create_label_hints(first, others)


_Hints = Callable[[str, random.Random], Iterator[int]]
#: Circuit -> hints of a true witness, and how many witnesses to make.
CIRCUITS: dict[str, tuple[_Hints, int]] = {
    "sha256:512": (lambda _, rng: iter(message_hints(rng.randbytes(64))), 8),
    **{
        f"poseidon:{arity}": (lambda name, rng: (rng.randrange(R) for _ in range(int(name[9:]))), 2)
        for arity in (2, 4, 8, 11)
    },
    "por:poseidon:8-4-2:64:public": (_por_hints, 8),
    "por:sha256:2-0-0:4:private": (_por_hints, 4),
    "por:blake2s:4-0-0:4:public": (_por_hints, 4),
    "create-label": (lambda _, rng: _label_hints(rng), 2),
    TINY_NAME: (lambda name, _: stacked_hints(StackedCircuit.parse(name), tiny_output()), 1),
    "window-post:2KiB": (_window_hints, 2),
    "sprout": (lambda _, rng: joinsplit_hints(example(rng.randrange(9), (1 << 63, 12345))[0]), 1),
}


@cache
def _prepared(name: str) -> tuple[CompiledCircuit, list[NDArray[np.uint64]]]:
    """A circuit and true witnesses (Montgomery)."""
    make, count = CIRCUITS[name]
    witnesses = []
    for seed in range(count):
        _, broken, witness = compiled_witness(name, make(name, random.Random(seed)))
        assert broken is None, f"row {broken} of {name}"
        witnesses.append(witness)
    return compiled_circuit(name), witnesses


def row_mutants(
    count: int, rng: random.Random, names: Sequence[str] = tuple(CIRCUITS)
) -> Iterator[RowMutant]:
    """As many changed rows, of random circuits and pieces; none that states the same."""
    made = 0
    while made < count:
        name = rng.choice(names)
        circuit, witnesses = _prepared(name)
        number = rng.randrange(len(circuit.pieces))
        piece = circuit.pieces[number]
        if not piece.num_rows:
            continue
        index, kind, side = rng.randrange(piece.num_rows), KINDS[made % len(KINDS)], rng.randrange(3)
        row = _row(circuit, piece, index)
        changed = _changed(row, kind, side, rng, piece.num_bound + piece.num_aux)
        if changed is None or _states_the_same(row, changed):
            continue
        made += 1
        used = sorted({variable for terms in (*row, *changed) for variable in terms})
        values = [each for w in witnesses for each in _values(circuit, piece, used, w)]
        seen = _is_weaker(row, changed, rng) or any(not _holds(changed, each) for each in values)
        yield RowMutant(name, number, index, kind, side, seen, "" if seen else _reason(row, changed, values))


def _row(circuit: CompiledCircuit, piece: Piece, index: int) -> Row:
    """A row of a piece, in local variables."""
    sides = []
    for rows in piece.rows:
        span = slice(int(rows.row_ptr[index]), int(rows.row_ptr[index + 1]))
        factors = fr_to_ints(circuit.curve, circuit.dictionary[rows.coeff[span]])
        sides.append(dict(zip(rows.var[span].tolist(), factors, strict=True)))
    a, b, c = sides
    return a, b, c


def _changed(row: Row, kind: str, side: int, rng: random.Random, num_variables: int) -> Row | None:
    """The row with one change, or None where it has nothing to change."""
    a, b, c = (dict(terms) for terms in row)
    terms = (a, b, c)[side]
    if kind == "exchanged":
        return c, b, a
    if kind == "emptied":
        return {}, {}, {}
    if not terms:
        return None
    variable = rng.choice(list(terms))
    factor = terms.pop(variable)
    if kind == "variable":
        variable = rng.randrange(num_variables)
    if kind != "dropped":
        factor = {"coefficient": factor + 1, "negated": -factor}.get(kind, factor)
        terms[variable] = (terms.get(variable, 0) + factor) % R
    return a, b, c


def _states_the_same(row: Row, changed: Row) -> bool:
    """Whether a change leaves the statement alone: both sides of c * 1 = a, or a factor of a product that is 0."""
    (a, b, c), (new_a, new_b, new_c) = row, changed
    if row == changed or (b == new_b == {-1: 1} and (a, c) == (new_c, new_a)):
        return True
    scaled = [(old, new) for old, new in ((a, new_a), (b, new_b)) if old != new]
    return (
        not c
        and not new_c
        and len(scaled) == 1
        and all(len(old) == 1 and old.keys() == new.keys() and all(new.values()) for old, new in scaled)
    )


def _values(
    circuit: CompiledCircuit, piece: Piece, used: list[int], witness: NDArray[np.uint64]
) -> Iterator[dict[int, int]]:
    """The values of local variables in instances of a piece."""
    columns = columns_of(circuit, piece, np.array(used, dtype=np.int64), slice(0, _MOST_INSTANCES))
    for row in columns:
        yield dict(zip(used, fr_to_ints(circuit.curve, witness[row]), strict=True))


def _sides(row: Row, values: dict[int, int]) -> list[int]:
    return [sum(factor * values[variable] for variable, factor in terms.items()) % R for terms in row]


def _holds(row: Row, values: dict[int, int]) -> bool:
    a, b, c = _sides(row, values)
    return (a * b - c) % R == 0


def _reason(row: Row, changed: Row, values: list[dict[int, int]]) -> str:
    """Why values that a row accepts do not show its change."""
    where = f"in all {len(values)} places at hand"
    if all(_sides(row, each) == _sides(changed, each) for each in values):
        return f"no side has another value {where}"
    return f"where a side has another value, the other factor is 0, {where}"


def _is_weaker(row: Row, changed: Row, rng: random.Random) -> bool:
    """Whether a change accepts random values that the row does not."""
    variables = {variable for terms in (*row, *changed) for variable in terms}
    values = {variable: 1 if variable == -1 else rng.randrange(R) for variable in variables}
    return not _holds(row, values) and _holds(changed, values)
