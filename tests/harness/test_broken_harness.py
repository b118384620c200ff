"""Three harnesses broken on purpose, each as a real one once was: none of them passes its own smoke.

A comparison that compares nothing, a decoder that ignores the edge class it was asked for, and inputs that are all
zero.  Would catch: a smoke that goes green without looking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from cuzk_fuzz import cli, commands
from cuzk_fuzz.batch import mismatches
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.engine import BlindHarnessError
from cuzk_fuzz.registry import TARGETS
from cuzk_fuzz.smoke import SmokeReport, smoke
from cuzk_fuzz.targets import draw, field, msm, ntt, spmv
from cuzk_fuzz.targets.draw import U64

from cuzk.curves import FIELDS

Break = Callable[[pytest.MonkeyPatch], None]


def _smoke(target: str) -> SmokeReport:
    return smoke([TARGETS[target]], 0.3, devices=("cpu",))


@pytest.mark.parametrize("target", ["field", "ntt", "msm"])
def test_the_harness_as_it_is_passes(target: str) -> None:
    report = smoke([TARGETS[target]], 2.0, devices=("cpu",))
    assert report.passed, report.missing


@pytest.mark.parametrize(
    "comparison",
    [
        lambda answers, expected: [],
        lambda answers, expected: mismatches(expected, expected),
        lambda answers, expected: mismatches(answers[:, :0], expected[:, :0]),
    ],
    ids=["nothing", "with_itself", "no_columns"],
)
def test_a_removed_comparison_is_noticed(
    monkeypatch: pytest.MonkeyPatch, comparison: Callable[[Any, Any], list[int]]
) -> None:
    monkeypatch.setattr("cuzk_fuzz.engine.mismatches", comparison)
    with pytest.raises(BlindHarnessError, match="goes unnoticed"):
        _smoke("field")
    assert cli.main(["smoke", "--seconds", "0.2", "--target", "field"]) == commands.FOUND


def _field_ignores(monkeypatch: pytest.MonkeyPatch) -> None:
    def anything(table: Any, which: Any, index: Any) -> U64:
        words = (which << 16 | index).astype(np.uint64)
        limbs = table.values.shape[-1]
        single = draw.uniform(words, limbs) >> np.uint64(3)
        return single if table.values.ndim == 2 else np.stack([single, single ^ np.uint64(1)], axis=1)

    monkeypatch.setattr(draw._Table, "pick", anything)
    # 253 bits are below its modulus.
    monkeypatch.setattr("cuzk_fuzz.targets.field.FIELDS", {"bn254_fr": FIELDS["bn254_fr"]})


def _msm_ignores(monkeypatch: pytest.MonkeyPatch) -> None:
    def uniform(choices: Choices, r: int, n: int, c: int, scalar_bits: int | None) -> list[int]:
        limit = min(r, 1 << (scalar_bits or r.bit_length()))
        return [choices.below(limit) for _ in range(n)]

    monkeypatch.setattr(msm, "draw_scalars", uniform)
    monkeypatch.setattr(msm, "GROUPS", ["bn254_g1"])  # in the toy field any scalar is near an edge


def _sizes_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spmv, "sizes", lambda block, grid, largest: {"S.any": [5]})


@pytest.mark.parametrize(
    ("target", "ignore", "lost"),
    [
        ("field", _field_ignores, "F.std.p-1"),
        ("msm", _msm_ignores, "K.r-1"),
        ("spmv", _sizes_ignored, "S.block+1"),
    ],
    ids=["field", "msm", "spmv"],
)
def test_an_ignored_class_is_noticed(
    monkeypatch: pytest.MonkeyPatch, target: str, ignore: Break, lost: str
) -> None:
    ignore(monkeypatch)
    report = _smoke(target)
    assert not report.passed
    assert not any(result.findings for result in report.results)
    assert lost in report.missing[target]


def _zero_pairs(choices: Choices, spec: Any, count: int) -> U64:
    return np.zeros((count, 2, spec.limbs), np.uint64)


def _zero_bytes(choices: Choices, count: int) -> bytes:
    return bytes(count)


def _field_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field, "draw_pairs", _zero_pairs)


def _ntt_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntt, "draw_pairs", _zero_pairs)


def _all_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def first(choices: Choices, names: Sequence[str]) -> int:
        return 0

    monkeypatch.setattr("cuzk_fuzz.choices.Guided.take", _zero_bytes)
    monkeypatch.setattr("cuzk_fuzz.choices.Guided._class_index", first)


@pytest.mark.parametrize(
    ("target", "zero"), [("field", _field_zero), ("ntt", _ntt_zero), ("batch_add", _all_zero)]
)
def test_inputs_that_are_all_zero_are_noticed(
    monkeypatch: pytest.MonkeyPatch, target: str, zero: Break
) -> None:
    zero(monkeypatch)
    report = _smoke(target)
    assert not report.passed
    assert len(report.missing[target]) > 5
