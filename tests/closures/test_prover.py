"""Proofs by the classic synthesis: the bytes of every other way, and events that carry the trace of each value.

Would catch: rows beyond the circuit's left over from an older proof, a key without matrix C, a value of a variant that
never reaches the code, and a phase without its counts.
"""

from __future__ import annotations

import dataclasses

import pytest

from cuzk.closures import INDEXERS
from cuzk.device import get_device
from cuzk.groth16 import Prover
from cuzk.groth16.evaluate import evaluate, upload_witness
from cuzk.groth16.resident import ResidentKey
from cuzk.telemetry import Recorder
from cuzk.variants import VARIANTS, resolve
from tests.closures.support import SETTINGS
from tests.prover.support import blinding, device, key, workload

IDS = ("A1", "A2", "A3", "A5")


def test_the_registry_has_the_values_of_the_code() -> None:
    assert VARIANTS["A1"].values == tuple(INDEXERS)
    assert {VARIANTS[name].only_with for name in IDS} == {("P5", "closures")}
    assert VARIANTS["P5"].default == "pce"


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("with_c", [True, False])
def test_proofs_have_the_same_bytes(spec: str, with_c: bool) -> None:
    """On both host devices; where a key lacks C, c is a * b as it is for the sparse product."""
    load = workload("random", "bls12_381", 30, 2)
    made = key(load) if with_c else dataclasses.replace(key(load), c=None)
    wanted = Prover(made, device("cpu")).prove(load.witness, blinding=blinding(load.curve))
    for setting in SETTINGS if spec == "cpu" else (SETTINGS[0], SETTINGS[-1]):
        recorder = Recorder()
        prover = Prover(
            made, device(spec), variants={"P5": "closures"} | setting.variants(), recorder=recorder
        )
        assert prover.prove(load.witness, blinding=blinding(load.curve), self_check=False) == wanted
        (event,) = (event for event in recorder.events if event.phase == "closures")
        assert event.tags["P5"] == "closures"
        assert {name: event.tags[name] for name in IDS} == setting.variants()
        assert event.counts["terms"] > 0
        assert not [event for event in recorder.events if event.phase == "spmv"]


def test_the_sparse_product_leaves_its_own_trace() -> None:
    load = workload("random", "bls12_381", 30, 2)
    recorder = Recorder()
    Prover(key(load), device("cpu"), recorder=recorder).prove(load.witness)
    (event,) = (event for event in recorder.events if event.phase == "spmv")
    assert event.tags["P5"] == "pce"
    assert not [event for event in recorder.events if event.phase == "closures"]


@pytest.mark.parametrize("curve", ["bls12_381", "bn254", "toy"])
def test_rows_and_padding(curve: str) -> None:
    """a, b and c on the whole domain, in memory that held something else before."""
    load = workload("bits", curve, 70, 1)
    opened = get_device("cpu")
    resident = ResidentKey.upload(opened, key(load))
    w = upload_witness(resident, load.witness.values, Recorder())
    product = evaluate(resident, w, Recorder())
    rebuilt = evaluate(resident, w, Recorder(), resolve(["P5=closures", "A3=on"]))
    for one, other in zip(product, rebuilt, strict=True):
        assert len(one) == len(other) == resident.domain.size
        assert (opened.download(one) == opened.download(other)).all()
