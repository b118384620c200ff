"""Whatever a plan says fits, fits in one arena: loading and two proofs, under many limits.

Would catch: holes that loading leaves among what stays, a plan that forgets an array, a workspace that is counted
twice, a batch that takes more than its circuits' share. No value is touched, so 2^26 rows take seconds.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cuzk.device.arena import ALIGNMENT
from cuzk.errors import OutOfMemoryError
from cuzk.groth16 import Prover
from cuzk.groth16.key_shape import KeyShape
from cuzk.groth16.residency import ResidencyPlan, plan_residency, smallest_limit
from cuzk.keys import ProvingKey
from cuzk.ops.spmv import DeviceMatrix
from tests.prover.dry import (
    BLS,
    POREP,
    RANDOM,
    DryDevice,
    counted_key,
    idle_witness,
    unchecked_upload,
)
from tests.prover.support import blinding

LOG = 18
#: Limits of a sweep, between the least and twice that with which nothing is streamed.
NUM_LIMITS = 5
#: Chunks of a query above which a case is left out: each takes as long here as any other.
MOST_CHUNKS = 40


@pytest.fixture(autouse=True)
def nothing_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No look at matrices, and no copy of finite bases: only their counts matter here."""

    def compact(bases: Any, places: Any) -> Any:
        return np.zeros((len(places), *bases.shape[1:]), bases.dtype)

    monkeypatch.setattr(DeviceMatrix, "upload", unchecked_upload)
    monkeypatch.setattr("cuzk.groth16.resident.compact", compact)


def prove_twice(key: ProvingKey, dry: DryDevice, circuits: int = 1, split: str = "split") -> ResidencyPlan:
    """All allocations of loading a key and of two proofs, or batches of them; the second takes what the first took."""
    variants = {"M2": split} | ({"C1": str(circuits)} if circuits > 1 else {})
    prover = Prover(key, dry, variants=variants)
    witness, used = idle_witness(key.num_variables), []
    for _ in range(2):
        blindings = [blinding(BLS) for _ in range(circuits)]
        prover.prove_batch([witness] * circuits, blindings=blindings, self_check=False)
        used.append(dry.memory().used)
    assert used[0] == used[1]
    return prover._resident.plan


@functools.cache
def limits_of(with_c: bool) -> list[int]:
    """Limits from the least to plenty, in equal ratios."""
    gpu = DryDevice(1 << 30, POREP).limits
    shape = KeyShape.of(counted_key(LOG, with_c=with_c), gpu)
    least = most = smallest_limit(shape, gpu)
    while plan_residency(shape, replace(gpu, memory_bytes=most)).streamed:
        most += most // 4
    ratios = ((2 * most / least) ** (i / (NUM_LIMITS - 1)) for i in range(NUM_LIMITS))
    return [-(-int(least * ratio) // ALIGNMENT) * ALIGNMENT for ratio in ratios]


@pytest.mark.parametrize("circuits", [1, 3])
@pytest.mark.parametrize("shares", [POREP, RANDOM], ids=["porep", "random"])
@pytest.mark.parametrize("with_c", [True, False], ids=["c", "no_c"])
def test_what_is_planned_fits(with_c: bool, shares: tuple[float, float], circuits: int) -> None:
    """Few finite bases, or nothing but finite ones; every class of scalars a vector, or only listed."""
    key, streamed = counted_key(LOG, with_c=with_c), set()
    shape = KeyShape.of(key, DryDevice(1 << 30, POREP).limits)
    for i, limit in enumerate(limits_of(with_c)):
        dry = DryDevice(limit, shares, finite_each=1 + 3 * (i % 2))
        plan = plan_residency(shape, dry.limits, circuits)
        if plan.chunk and shape.lengths["h"] > MOST_CHUNKS * plan.chunk:
            continue
        streamed.add(prove_twice(key, dry, circuits, ("split", "none")[i // 2 % 2]).streamed)
    assert () in streamed
    assert len(streamed) >= 2


def test_a_batch_with_just_enough() -> None:
    """About the least limit under which three circuits are proved together, all of the key resident."""
    key, gpu = counted_key(LOG), DryDevice(1 << 30, POREP).limits
    shape = KeyShape.of(key, gpu)
    low, high = (times * limits_of(True)[-1] // (2 * ALIGNMENT) for times in (1, 8))
    while high - low > 1024:
        middle = (low + high) // 2
        try:
            plan = plan_residency(shape, replace(gpu, memory_bytes=middle * ALIGNMENT), 3)
            enough = plan.circuits >= 3 and not plan.streamed
        except OutOfMemoryError:
            enough = False
        low, high = (low, middle) if enough else (middle, high)
    assert not prove_twice(key, DryDevice(high * ALIGNMENT, RANDOM), 3).streamed


@pytest.mark.parametrize("with_c", [True, False], ids=["c", "no_c"])
@pytest.mark.parametrize(("log_domain", "limit"), [(24, 4), (26, 14)])
def test_known_sizes(log_domain: int, limit: int, with_c: bool) -> None:
    """PoRep-shaped keys on cards of 4 and 14 GiB, streamed."""
    dry = DryDevice(limit << 30, POREP)
    assert prove_twice(counted_key(log_domain, with_c=with_c), dry).streamed
    assert dry.memory().peak <= limit << 30
