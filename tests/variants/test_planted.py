"""Planted faults: they hit one value of one variant, and nothing else.

Would catch: a plant that does nothing, one that hits other settings too, one that spoils an earlier phase.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuzk_fuzz.planted import PLACES, plant

from cuzk.errors import InputError
from cuzk.groth16 import Prover
from cuzk.telemetry import Recorder
from tests.prover.support import blinding, device, key, workload

#: Phase -> a setting under which it runs, and the value that shows the fault first.
FAULTS = {
    "spmv": (("B2", "sync"), "a"),
    "ntt_h": (("N1", "2^2"), "h_odd_lagrange"),
    "msm_h": (("D4", "5"), "sum_h"),
    "batch_add": (("D2", "32x4"), "ones_l"),
    "tail_msm": (("M2", "split"), "sum_l"),
    "b_g2_msm": (("A4", "par_map"), "sum_b_g2"),
}


def run(variants: dict[str, str]) -> tuple[Any, list[tuple[str, Any]]]:
    """A proof on emu without a self-check, and every value that it shows."""
    load = workload("bits", "toy", 60)
    seen: list[tuple[str, Any]] = []
    recorder = Recorder().scoped(viewer=lambda name, value: seen.append((name, np.array(value))))
    prover = Prover(key(load), device("emu"), variants=variants, recorder=recorder)
    return prover.prove(load.witness, blinding=blinding(load.curve), self_check=False), seen


@pytest.mark.parametrize("phase", PLACES)
def test_a_fault_is_where_it_was_planted(phase: str) -> None:
    """The first value that differs is the phase's, at the index; without the setting nothing differs."""
    (variant, value), first = FAULTS[phase]
    index = 9
    right, shown = run({variant: value})
    with plant(variant, value, phase, index, curve=key(workload("bits", "toy", 60)).curve) as planted:
        assert run({})[0] == right
        assert planted.hits == []
        wrong, spoilt = run({variant: value})
    assert planted.hits[0] == first
    assert wrong != right
    assert run({variant: value})[0] == right
    differ = [
        (name, np.argwhere(ours != theirs)[0][0])
        for (name, ours), (_, theirs) in zip(shown, spoilt, strict=True)
        if not np.array_equal(ours, theirs)
    ]
    assert differ[0] == (
        first,
        index if phase in ("spmv", "ntt_h") else 1,
    )  # of a point y, the second coordinate


def test_bad_plants_say_what_is_possible() -> None:
    curve = key(workload("bits", "toy", 60)).curve
    for arguments, message in ((("Z9", "1", "spmv"), "no variant"), (("D4", "99", "spmv"), "no value"),
                               (("D4", "4", "prove"), "possible: spmv")):  # fmt: skip
        with pytest.raises(InputError, match=message), plant(*arguments, curve=curve):
            pass
