"""The model of how much work the phases are, against what a processor took (docs/measurements).

Would catch: a phase whose share is off by a large factor, so that the time left jumps when it begins or ends.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cuzk.device import get_device
from cuzk.groth16.work import num_workers, prove_work, setup_work
from cuzk.keys import ProvingKey
from cuzk.relation import R1CS
from tests.workloads import mixed_circuit

MEASURED = Path(__file__).parents[2] / "docs" / "measurements" / "cpu-scaling-bn254-2026-11-29.json"
#: Shares below this are too small to matter; above it the model is within this factor.
SHARE, FACTOR = 0.04, 1.6


def blank_key(r1cs: R1CS) -> ProvingKey:
    """A key of the right sizes: the model looks at them, and at which bases of A and B are infinity."""
    g1, g2, variables = r1cs.curve.g1, r1cs.curve.g2, r1cs.num_variables
    one_g1, one_g2 = np.zeros(g1.affine_shape, np.uint64), np.zeros(g2.affine_shape, np.uint64)

    def some(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.uint64]]:
        return np.zeros((count, *g1.affine_shape), np.uint64)

    a, b, c = r1cs.with_binding_rows()
    a_query, b_query = some(variables), some(variables)
    a_query[np.unique(a.col)] = 1
    b_query[np.unique(b.col)] = 1
    return ProvingKey(
        r1cs.curve, r1cs.num_public, r1cs.domain_log2, "odd_lagrange", "snarkjs",
        one_g1, one_g1, one_g1, one_g2, one_g2, one_g2, some(r1cs.num_public + 1),
        a_query, b_query, np.zeros((variables, *g2.affine_shape), np.uint64),
        some(1 << r1cs.domain_log2), some(variables - r1cs.num_public - 1), a, b, c,
    )  # fmt: skip


def shares(work: dict[str, float]) -> dict[str, float]:
    total = sum(work.values())
    return {phase: units / total for phase, units in work.items()}


@pytest.mark.parametrize("log", [16, 18])
@pytest.mark.parametrize("command", ["setup", "prove"])
def test_the_proportions_are_those_of_a_processor(command: str, log: int) -> None:
    sizes = json.loads(MEASURED.read_text())["sizes"]
    row = next(size for size in sizes if size["log"] == log)[command]["phases"]
    r1cs, witness = mixed_circuit("bn254", 1 << log)
    model = setup_work(r1cs) if command == "setup" else prove_work(blank_key(r1cs), witness)
    # A part of synthesis is booked as a phase of its own.
    parts = {"synthesis": ("witness", "spmv")}
    took = {phase: sum(row[part][0] for part in parts.get(phase, (phase,)) if part in row) for phase in model}
    predicted, found = shares(model), shares(took)
    assert set(predicted) == set(found)
    for phase, share in predicted.items():
        if max(share, found[phase]) >= SHARE:
            assert share / FACTOR <= found[phase] <= share * FACTOR, (phase, share, found[phase])


def test_more_zeros_mean_less_work() -> None:
    """The sample of the witness decides the work of the tails, and nothing else."""
    r1cs, witness = mixed_circuit("bn254", 1000)
    key = blank_key(r1cs)
    before = prove_work(key, witness)
    witness.values[2:] = 0
    after = prove_work(key, witness)
    assert {phase for phase in before if before[phase] != after[phase]} == {
        "batch_add",
        "tail_msm",
        "b_g2_msm",
    }
    assert after["tail_msm"] < 0.05 * before["tail_msm"]


def test_a_field_with_more_limbs_is_more_work() -> None:
    small, large = (setup_work(mixed_circuit(curve, 500)[0]) for curve in ("bn254", "bls12_381"))
    assert large["points_h"] == pytest.approx(2.25 * small["points_h"], rel=0.1)


def test_more_workers_share_all_but_what_one_thread_does() -> None:
    r1cs, witness = mixed_circuit("bn254", 500)
    one, many = setup_work(r1cs), setup_work(r1cs, 16)
    assert {phase for phase in one if one[phase] != many[phase]} == {"tau_columns", "key_write"}
    assert many["key_write"] == 16 * one["key_write"]
    key = blank_key(r1cs)
    alone, together = prove_work(key, witness), prove_work(key, witness, 16)
    assert {phase for phase in alone if alone[phase] != together[phase]} == {"proof_assembly", "self_check"}
    assert num_workers(get_device("cpu", threads=3)) == 3
