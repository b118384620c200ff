"""The registry of targets is complete, and choices decide what they say.

Would catch: a kernel family without a target, an exemption that exempts nothing or gives no reason, an edge class that
counts although the input does not have it.
"""

from __future__ import annotations

import json
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from cuzk_fuzz import cli, commands, engine_atheris
from cuzk_fuzz.choices import Choices, Guided
from cuzk_fuzz.classes import row_ids, scalar_hits, size_ids
from cuzk_fuzz.devices import rotation
from cuzk_fuzz.registry import TARGETS, get_target
from cuzk_fuzz.smoke import smoke
from cuzk_fuzz.subjects import Term, subject, term_hits
from cuzk_oracles.edge_values import IDS
from cuzk_oracles.registry import FAMILIES

from cuzk.device.host import SCHEDULES


def test_every_family_has_a_target() -> None:
    assert {name for target in TARGETS.values() for name in target.families} == set(FAMILIES)


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_has_oracles_classes_and_true_exemptions(name: str) -> None:
    target = get_target(name)
    assert target.name == target.batch.target == name
    assert all(FAMILIES[family].oracles and FAMILIES[family].seconds for family in target.families)
    assert target.required
    for pattern, reason in target.exempt.items():
        assert any(fnmatchcase(edge_id, pattern) for edge_id in target.all_ids), pattern
        assert len(reason) > 20, pattern


def test_every_edge_class_is_required_somewhere() -> None:
    required = frozenset[str]().union(*(target.required for target in TARGETS.values()))
    device_only = {"S.2^20+1", "S.2GiB"}
    assert {i for ids in IDS.values() for i in ids} - required == device_only


def test_an_unknown_target_is_named() -> None:
    with pytest.raises(ValueError, match="one of word, field, fp2"):
        get_target("curve")


def test_choices_past_the_end_are_zero() -> None:
    choices = Choices(b"\x05")
    assert choices.take(3) == b"\x05\0\0"
    assert (choices.left, choices.below(10), choices.pick("ab")) == (0, 0, "a")


def test_several_ends_with_the_bytes() -> None:
    choices = Choices(bytes(5))
    seen = [choices.take(2) for _ in choices.several(10)]
    assert len(seen) == 3
    assert list(Choices(b"").several(10)) == [0]


def test_a_class_has_its_chance_however_few_values() -> None:
    groups = {"many": list(range(1000)), "few": [-1]}
    drawn = Counter(Guided(str(i)).pick_class(groups) == -1 for i in range(400))
    assert 120 < drawn[True] < 280


def test_guidance_prefers_what_was_hit_least_and_is_replayed() -> None:
    groups = {name: [name] for name in "abcd"}
    hits = {"a": 50, "b": 50, "c": 50}
    drawn: Counter[str] = Counter()
    for i in range(200):
        source = Guided(str(i), hits)
        drawn[source.pick_class(groups)] += 1
        assert Choices(source.record).pick_class(groups) == source_choice(i, hits, groups)
    assert drawn["d"] > 100


def source_choice(i: int, hits: dict[str, int], groups: dict[str, list[str]]) -> str:
    """The choice of the same source, drawn once more."""
    return Guided(str(i), hits).pick_class(groups)


def test_emulated_batches_rotate_over_every_schedule() -> None:
    choices = rotation("emu", 3)
    assert len(choices) == 8
    assert {choice.schedule for choice in choices} == set(SCHEDULES)
    assert len(rotation("cpu", 3)) == 1


def test_scalars_count_for_what_they_are() -> None:
    r = 2**31 - 1
    assert scalar_hits([7] * 5, r, 4)["K.all_equal"] == 1
    assert not scalar_hits([0x10 + 5, 0x20 + 5, 0x30 + 6], r, 4)["K.one_bucket"]
    assert scalar_hits([0x10 + 5, 0x20 + 5, 0x30 + 5], r, 4)["K.one_bucket"]
    assert scalar_hits([0] * 99 + [1], r, 4)["K.bits_999"]
    assert not scalar_hits([0, 1, 2], r, 4)["K.bits_50"]
    assert not scalar_hits([], r, 4)


def test_rows_and_sizes_count_for_what_they_are() -> None:
    assert row_ids([], 4, 13) == ("M.empty",)
    assert row_ids([(0, 5), (0, 8)], 4, 13) == ("M.repeated", "M.cancelling")
    assert "M.dense" not in row_ids([(0, 1), (1, 1), (1, 1)], 3, 13)
    assert row_ids([(2, 1)], 4, 13) == ("M.single",)
    assert set(size_ids(7, 256, 2)) == {"S.2^k-1", "S.prime"}
    assert size_ids(0, 256, 2) == ("S.0",)


def test_bases_count_for_what_they_are() -> None:
    hits = term_hits(subject("toy_g1"), [Term(3), Term(-3), Term(6), Term(0), Term(6)])
    assert {name: count for name, count in hits.items() if count} == {
        "P.infinity": 1, "P.equal": 1, "P.opposite": 1, "P.double_of": 2, "P.cancels": 1,
    }  # fmt: skip


def test_a_smoke_that_misses_a_class_fails() -> None:
    report = smoke([TARGETS["batch_add"]], 0.1, devices=("cpu",), least=10**6)
    assert not report.passed
    assert report.missing["batch_add"]
    assert not report.to_json()["passed"]


def test_atheris_runs_where_it_is_installed(tmp_path: Path) -> None:
    data = tmp_path / "run.json"
    code = cli.main(["run", "readers", "--cases", "100", "--engine", "auto", "--json", str(data)])
    assert code == commands.DONE
    result = json.loads(data.read_text())
    assert result["engine"] == ("atheris" if engine_atheris.available() else "generator")
    assert result["cases"] >= 100
    assert result["hits"]["R.valid"]
