"""Regressions of batch verification: reports VER-11 and VER-12, each checked as a kind of fault.

Would catch: errors of two proofs that cancel; weights that are fixed, narrow or zero; a batch whose lists differ.
"""

from __future__ import annotations

from typing import Any

import pytest
from cuzk_oracles import curve as oracle

from cuzk.errors import ShapeError
from cuzk.groth16 import PreparedVerifyingKey, verify_batch
from tests.kernels.msm_support import subject
from tests.regressions.support import REAL_CURVES, files, moved

every_curve = pytest.mark.parametrize("curve_name", REAL_CURVES)


@every_curve
def test_ver_11_errors_that_cancel_do_not_pass_a_batch(curve_name: str) -> None:
    f, s = files(curve_name), subject(curve_name, "g1")
    prepared = PreparedVerifyingKey(f.vkey)
    assert verify_batch(f.vkey, [f.public] * 3, [f.proof] * 3)
    d = oracle.mul(s.oracle, 99, s.oracle.generator)
    plus, minus = (moved(curve_name, f.proof, c=point) for point in (d, oracle.neg(s.oracle, d)))
    # With equal weights the two errors would cancel.
    assert prepared._check.reason_against_batch([f.public] * 2, [plus, minus], [5, 5]) == ""
    for _ in range(100):
        assert not prepared.verify_batch([f.public] * 2, [plus, minus])
    wrong = [(f.public[0] + 1) % s.r, *f.public[1:]]
    for statements in ([wrong, f.public], [f.public, wrong], [wrong, wrong]):
        assert not prepared.verify_batch(statements, [f.proof, f.proof])


def test_ver_11_weights_are_fresh_and_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    f = files("bn254")
    prepared = PreparedVerifyingKey(f.vkey)
    drawn: list[int] = []

    def note(statements: Any, proofs: Any, weights: list[int]) -> str:
        drawn.extend(weights)
        return ""

    monkeypatch.setattr(prepared._check, "reason_against_batch", note)
    for _ in range(50):
        prepared.verify_batch([f.public] * 4, [f.proof] * 4)
    assert len(set(drawn)) == 200, "every weight is drawn anew"
    assert min(drawn) > 0
    assert max(drawn).bit_length() in (127, 128, 129)
    assert sum(value.bit_length() > 120 for value in drawn) > 150


@every_curve
def test_ver_12_batches_of_other_shapes(curve_name: str) -> None:
    f = files(curve_name)
    prepared = PreparedVerifyingKey(f.vkey)
    for statements, proofs in (([f.public], 2), ([f.public] * 3, 2), ([], 1), ([], 0)):
        with pytest.raises(ShapeError):
            prepared.verify_batch(statements, [f.proof] * proofs)
    with pytest.raises(ShapeError):
        prepared.verify_batch([f.public, f.public[:-1]], [f.proof] * 2)
