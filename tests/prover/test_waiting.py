"""What the host does while a device works, on a device that leaves single operations to another, as a GPU does.

Would catch: a statement that is prepared while nobody works, or for another proof; times of a query that are lost, or
are those of waiting for others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cuzk.device import Device
from cuzk.device.host import EmuDevice
from cuzk.groth16 import PreparedVerifyingKey, Prover
from cuzk.groth16.assemble import BlindingTerms
from cuzk.groth16.verify import PreparedStatement
from cuzk.telemetry import Recorder
from tests.prover.support import blinding, device, key, workload


class EmuWithHost(EmuDevice):
    """An emulator that leaves single operations to the cpu, as a GPU does."""

    @property
    def host(self) -> Device:
        return device("cpu")


@pytest.mark.parametrize("on_host", [False, True])
def test_statements_are_prepared_while_a_device_works(on_host: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a device with a host of its own the public inputs are summed up in msm_h, else in the self-check."""
    load = workload("random", "bn254", 30, 9)
    recorder = Recorder()
    prover = Prover(key(load), EmuWithHost() if on_host else EmuDevice(), recorder=recorder)
    done: list[set[str]] = []
    statement = PreparedVerifyingKey.statement

    def noting(self: PreparedVerifyingKey, public: Sequence[int]) -> PreparedStatement:
        done.append({event.phase for event in recorder.events})
        return statement(self, public)

    monkeypatch.setattr(PreparedVerifyingKey, "statement", noting)
    prover.prove_batch([load.witness] * 2)
    assert len(done) == 2
    for phases in done:
        assert "ntt_h" in phases
        assert ("ntt_msm_h" in phases) != on_host
        assert ("proof_assembly" in phases) != on_host


def test_queries_have_times_of_their_own() -> None:
    """As phases where a launch is over when it returns, else as milliseconds that the device noted."""
    load = workload("bits", "bn254", 60)
    names = {"query_l", "query_a", "query_b_g1", "query_b_g2"}
    for on_host, one in ((True, EmuDevice()), (False, EmuWithHost())):
        recorder = Recorder()
        proof = Prover(key(load), one, recorder=recorder).prove(load.witness, blinding=blinding(load.curve))
        assert proof == Prover(key(load), device("cpu")).prove(load.witness, blinding=blinding(load.curve))
        phases = {event.phase: event for event in recorder.events}
        assert (set(phases) & names == names) == on_host
        for phase, parts in (("batch_add", names), ("tail_msm", names - {"query_b_g2"})):
            tagged = {name: phases[phase].tags.get(f"{name}_ms") for name in parts}
            if on_host:
                assert set(tagged.values()) == {None}
            else:
                times = [value for value in tagged.values() if isinstance(value, float)]
                assert len(times) == len(parts)
                assert all(value >= 0 for value in times)
                assert 0 < sum(times) <= phases[phase].duration_ns / 1e6 + 0.01


@pytest.mark.parametrize("on_host", [False, True])
def test_blinding_terms_are_made_while_a_device_works(on_host: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each proof has its own, from its own blinding, also without a self-check."""
    load = workload("random", "bn254", 30, 1)
    made = key(load)
    recorder = Recorder()
    prover = Prover(made, EmuWithHost() if on_host else EmuDevice(), recorder=recorder)
    done: list[set[str]] = []
    terms = BlindingTerms.of

    def noting(*args: Any) -> BlindingTerms:
        done.append({event.phase for event in recorder.events})
        return terms(*args)

    monkeypatch.setattr(BlindingTerms, "of", noting)
    pairs = [(3, 4), (5, 6)]
    proofs = prover.prove_batch(
        [load.witness] * 2, blindings=[blinding(load.curve, *pair) for pair in pairs], self_check=False
    )
    assert len(done) == 2
    assert all(("b_g2_msm" in phases) != on_host for phases in done)
    monkeypatch.undo()
    cpu = Prover(made, device("cpu"))
    assert proofs == [cpu.prove(load.witness, blinding=blinding(load.curve, *pair)) for pair in pairs]
