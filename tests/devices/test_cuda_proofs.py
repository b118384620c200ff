"""Whole proofs through the cuda device on fake CUDA: the host's bytes under any order of its streams, no growth.

Would catch: what the operations' own tests can't, because it takes the order of a whole proof: memory handed out too
early, a chunk of a streamed key that is used before it has landed, something that is allocated for each proof.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest

from cuzk.device.arena import ALIGNMENT
from cuzk.groth16 import Prover
from cuzk.groth16.residency import KeyShape, smallest_limit
from tests.devices.fake_engine import Engine
from tests.devices.support import open_fake
from tests.prover import support


def prove(prover: Prover, load: Any) -> Any:
    """One proof with known blinding, as plain ints."""
    return prover.prove(load.witness, blinding=support.blinding(load.curve)).to_ints()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["random", "bits"])
def test_same_bytes_and_no_growth(monkeypatch: pytest.MonkeyPatch, seed: int, kind: str) -> None:
    load = support.workload(kind, "toy", 90)
    key = support.key(load)
    want = prove(Prover(key, support.device("cpu")), load)
    device, engine = open_fake(monkeypatch, Engine(seed=seed))
    prover = Prover(key, device)
    assert prove(prover, load) == want
    assert prove(prover, load) == want
    device.synchronize()
    before, calls = device.memory(), len(engine.calls)
    assert {repr(prove(prover, load)) for _ in range(3)} == {repr(want)}
    gc.collect()
    after = device.memory()
    assert (after.used, after.reserved, after.growths) == (before.used, before.reserved, before.growths)
    assert after.page_locks == before.page_locks >= 1
    during = set(engine.calls[calls:])
    assert "launchKernel" in during
    assert not during & {"malloc", "free", "cuMemCreate", "hostAlloc", "deviceSynchronize"}


def test_two_provers_on_two_devices_of_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    load = support.workload("random", "toy", 90)
    key = support.key(load)
    want = prove(Prover(key, support.device("cpu")), load)
    engine = Engine(seed=9)
    provers = [Prover(key, open_fake(monkeypatch, engine)[0]) for _ in range(2)]
    for prover in provers * 2:
        assert prove(prover, load) == want


@pytest.mark.parametrize("seed", range(4))
def test_streamed_keys(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """As little memory as will do: every query passes through the copier and its ring, in whatever order."""
    monkeypatch.setattr("cuzk.device.cuda_pages._SLOT_BYTES", 1000)
    load = support.workload("random", "toy", 500)
    key = support.key(load)
    device, _ = open_fake(monkeypatch)
    least = smallest_limit(KeyShape.of(key, device.limits), device.limits)
    limit = -(-least // ALIGNMENT) * ALIGNMENT + ALIGNMENT  # the fault word takes one unit
    device, _ = open_fake(monkeypatch, Engine(seed=seed), memory_limit=limit)
    prover = Prover(key, device)
    want = prove(Prover(key, support.device("cpu")), load)
    for _ in range(2):
        assert prove(prover, load) == want
    spans = device.take_copies()
    assert sum(span.nbytes for span in spans) >= 2 * key.h_query.nbytes
    assert device.memory().peak <= device.memory().limit == limit
