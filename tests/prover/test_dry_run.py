"""Proofs of full size on a device that computes nothing: every allocation of a real one, in an arena of its size.

Would catch: a plan that leaves something out, an array that lives longer than the plan says, memory that is free in sum
but in pieces too small. No kernel runs and no page is touched, so 2^22 rows take seconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.groth16 import Prover
from tests.prover.dry import BLS, DENSE, POREP, DryDevice, big_key, idle_witness
from tests.prover.support import blinding


@pytest.mark.parametrize("shares", [POREP, DENSE], ids=["porep", "dense"])
@pytest.mark.parametrize("split", ["split", "none"])
@pytest.mark.parametrize(
    ("log_domain", "limit_mib"), [(20, 230), (20, 280), (20, 400), (20, 650), (20, 4 << 10)]
)
def test_the_account_of_a_proof(
    log_domain: int, limit_mib: int, split: str, shares: tuple[float, float], tmp_path: Path
) -> None:
    """Two proofs in a row, within the limit; the first has warmed up everything that stays."""
    check(log_domain, limit_mib << 20, split, shares, tmp_path)


def test_porep_2_22_in_1_gib(tmp_path: Path) -> None:
    """In a quarter of the memory that a card for 2^24 rows would need."""
    check(22, 1 << 30, "split", POREP, tmp_path)


def check(log_domain: int, limit: int, split: str, shares: tuple[float, float], folder: Path) -> None:
    """Prove twice with all allocations of a proof."""
    dry = DryDevice(limit, shares)
    key = big_key(log_domain, folder)
    prover = Prover(key, dry, variants={"M2": split})
    witness = idle_witness(key.num_variables)
    used = []
    for _ in range(2):
        prover.prove(witness, blinding=blinding(BLS), self_check=False)
        used.append(dry.memory().used)
    assert used[0] == used[1]
    report = dry.memory()
    assert 0.7 * max(prover._resident.plan.stages.values()) <= report.peak + limit // 4
    assert report.peak <= report.limit
