"""The covering array itself, its rows in whole proofs, and the evidence that is asked of them.

Would catch: a pair that no row has, a row with a value that does nothing there, a variant that changes a byte alone or
beside another, a value that is accepted and ignored, evidence that is found whatever a run did.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools

import pytest
from cuzk_fuzz.covering import Factor, covering_array, pairs_of, required_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from cuzk.variants import VARIANTS
from tests.prover.support import device
from tests.variants.covering import Bench, factors, left_out
from tests.variants.evidence import acts, missing_evidence

#: Of some variants the arrays here have these values; the command has all of them.
_FEW = {"N1": ("auto", "2^1", "2^4"), "A1": ("vec", "small2"), "C1": ("fit", "1")}
FEW: dict[str, dict[str, tuple[str, ...]]] = {
    "cpu": _FEW | {"D4": ("auto", "8", "largest", "autotuned")},
    "emu": _FEW | {"D4": ("auto", "3", "largest"), "D2": ("auto", "32x4", "128x1")},
}
#: A part of an array is a test of its own, so that several processes share it.
PARTS = 2


def factor(number: int, size: int, *, conditional: bool) -> Factor:
    """A factor of so many values, which does something only where factor 0 has its last, if it is conditional."""
    values = tuple(f"v{i}" for i in range(size))
    return Factor(f"f{number}", values, values[0], ("f0", "v1") if conditional and number else None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 5), st.booleans()), min_size=1, max_size=6))
def test_every_pair_is_covered(sizes: list[tuple[int, bool]]) -> None:
    """And no factor leaves its default where it does nothing."""
    made = [factor(0, 2, conditional=False)]
    made += [factor(i + 1, size, conditional=conditional) for i, (size, conditional) in enumerate(sizes)]
    made.sort(key=lambda one: one.only_with is not None)
    rows = covering_array(made)
    covered = set().union(*(pairs_of(made, row) for row in rows))
    assert covered == set(required_pairs(made))
    for row, one in itertools.product(rows, made):
        assert row[one.name] in one.values
        assert one.only_with is None or row["f0"] == "v1" or row[one.name] == one.default
    largest = sorted(len(one.values) for one in made)[-2:]
    assert len(rows) <= 3 * largest[0] * largest[-1] + 2


def test_pairs_under_a_condition() -> None:
    """Of two conditional factors too; a value that contradicts the condition is in no pair with them."""
    made = [factor(0, 2, conditional=False), factor(1, 2, conditional=True), factor(2, 2, conditional=True)]
    pairs = required_pairs(made)
    assert (("f1", "v1"), ("f2", "v1")) in pairs
    assert (("f0", "v1"), ("f1", "v0")) in pairs
    assert (("f0", "v0"), ("f1", "v0")) not in pairs
    assert len(pairs) == 2 + 2 + 4
    assert covering_array(made[:1]) == [{"f0": "v0"}, {"f0": "v1"}]


@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_every_value_is_in_the_array_or_left_out_with_a_reason(kind: str) -> None:
    out, rows = left_out(device(kind), 3), covering_array(factors(device(kind), 3))
    for row in VARIANTS.values():
        there = {made.get(row.id, row.default_for(kind)) for made in rows}
        assert there | set(out.get(row.id, {})) == set(row.values), row.id
        assert all(reason.strip() for reason in out.get(row.id, {}).values())


@functools.cache
def bench(kind: str) -> tuple[Bench, list[dict[str, str]]]:
    """2^10 rows on the cpu, 2^6 on emu."""
    size = ("bn254", 10, 2) if kind == "cpu" else ("toy", 6, 2)
    return Bench(device(kind), *size), covering_array(factors(device(kind), size[2], FEW[kind]))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_all_pairs_give_the_same_bytes(kind: str, part: int) -> None:
    """And every value is seen at work."""
    made, rows = bench(kind)
    wrong = [(row, faults) for row in rows[part::PARTS] if (faults := made.faults(row))]
    assert wrong == []


@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_evidence_bites(kind: str) -> None:
    """A run that is said to have had another value of any variant has no evidence of it."""
    made, _ = bench(kind)
    _, run = made.run({})
    assert missing_evidence(run) == []
    out = left_out(device(kind), made.circuits)
    for row in VARIANTS.values():
        for value in row.values:
            claimed = {**run.variants, row.id: value}
            if value == run.variants[row.id] or value in out.get(row.id, {}) or not acts(row, claimed):
                continue
            found = missing_evidence(dataclasses.replace(run, variants=claimed))
            assert any(text.startswith(f"{row.id}={value}: no event") for text in found), (row.id, value)
