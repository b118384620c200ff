"""What a run counts, and so the proof of each setting that it acted.

Would catch: an inline room that is never used or of another size, vectors that grow although they have their memory,
temporaries where terms are added in place, prefetches that the compiler or a wrong branch drops.
"""

from __future__ import annotations

import pytest

from cuzk.closures import INDEXERS, Setting, Tape
from cuzk.curves import get_curve
from cuzk.errors import InputError
from cuzk.limbs import fr_from_ints
from tests.closures.support import BIT, CLOSE, OPEN, SETTINGS, TERM, Row, assemble, random_rows, random_values

CURVE = get_curve("bls12_381")
#: Ten rows whose sides have 1, 2 and 3 terms, the last of them of bits.
ROWS: list[Row] = [
    ([(TERM, 5, 1)], [(TERM, 6, 1), (TERM, 8, 1)], [(BIT, 5, 1), (BIT, 7, 1), (BIT, 9, 1)]) for _ in range(10)
]


def counts(rows: list[Row], setting: Setting, num_variables: int = 20) -> dict[str, int]:
    steps = assemble(CURVE, 1, num_variables, rows)
    w = fr_from_ints(CURVE, random_values(1, CURVE.r, num_variables))
    return dict(Tape(steps).run(w, setting).counts)


@pytest.mark.parametrize(
    ("indexer", "allocations", "reallocations", "spills"),
    [
        # A combination allocates room for 4 at its first term; so do the three of bits.
        ("vec", 10 * (3 + 3), 0, 0),
        # 2 terms: room for 2; 3 terms: for 2, then 4.
        ("small1", 10 * 2, 10, 10 * 2),
        ("small2", 10, 0, 10),
        ("small4", 0, 0, 0),
    ],
)
def test_memory_by_value(indexer: str, allocations: int, reallocations: int, spills: int) -> None:
    found = counts(ROWS, Setting(indexer))
    assert found["allocations"] == allocations
    assert found["reallocations"] == reallocations
    assert found["spills"] == spills
    assert found["combinations"] == 10 * (3 + 3)
    # One move for each + of the sides, and one for the only + of each bit.
    assert found["relocations"] == 10 * (6 + 3)
    assert found["recycled"] == 0


@pytest.mark.parametrize(
    ("indexer", "allocations", "reallocations", "spills", "recycled"),
    [("vec", 3, 0, 0, 27), ("small1", 2, 1, 2, 18), ("small2", 1, 0, 1, 9), ("small4", 0, 0, 0, 0)],
)
def test_memory_in_place(
    indexer: str, allocations: int, reallocations: int, spills: int, recycled: int
) -> None:
    found = counts(ROWS, Setting(indexer, in_place=True))
    assert (found["allocations"], found["reallocations"], found["spills"]) == (
        allocations, reallocations, spills,
    )  # fmt: skip
    assert found["recycled"] == recycled
    assert found["combinations"] == 30
    assert found["relocations"] == 0


def test_a_group_is_copied_by_value_and_not_in_place() -> None:
    side = [(TERM, 3, 1), (OPEN, 0, 0), (TERM, 3, 1), (TERM, 4, 1), (CLOSE, 0, 8)]
    rows: list[Row] = [(side, [], [])]
    by_value, in_place = (counts(rows, Setting(in_place=flag)) for flag in (False, True))
    assert by_value["terms"] == in_place["terms"] == 3
    assert by_value["merges"] == in_place["merges"] == 1
    # The side, the group, the copy, which is exactly as large as the side and grows for the group's second term.
    assert (by_value["allocations"], by_value["reallocations"]) == (3, 1)
    assert (in_place["allocations"], in_place["reallocations"]) == (2, 0)


def test_vectors_grow_or_have_their_memory() -> None:
    rows = random_rows(5, CURVE.r, 2, 500, 100)
    grown, presized = (counts(rows, Setting(presized=flag), 500) for flag in (False, True))
    assert grown["vector_allocations"] == presized["vector_allocations"] == 8
    assert presized["vector_reallocations"] == 0
    # 4, 8, ... 128 for a, b and c; 4 to 512 for 498 values; 4 to 8 for twice 8 words of densities.
    assert grown["vector_reallocations"] == 3 * 5 + 7 + 2 * 1


def test_prefetches_are_one_for_each_auxiliary_term() -> None:
    rows: list[Row] = [([(TERM, v, 1) for v in range(1, 13)], [(TERM, 0, 1)], [(TERM, 4, 1), (TERM, 4, 1)])]
    assert counts(rows, Setting(prefetch=True))["prefetches"] == 12 + 1
    assert counts(rows, Setting())["prefetches"] == 0


def test_settings_and_their_ids() -> None:
    assert len(SETTINGS) == 4 * 2 * 2 * 2
    assert {setting.indexer for setting in SETTINGS} == set(INDEXERS)
    for setting in SETTINGS:
        assert Setting.of(setting.variants()) == setting
    with pytest.raises(InputError, match=r"no indexer 'small3'.*small4"):
        Setting("small3")
