"""Whole proofs on a GPU: the bytes of other provers, of the secrets, of the cpu; under every variant, and every time.

Would catch: a phase that goes wrong at the size of real circuits or on one curve, a variant that changes a byte, a
self-check that accepts what is false.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import qap, trapdoor

from cuzk.csr import CsrMatrix
from cuzk.device import Device, get_device
from cuzk.errors import InputError, UnsatisfiedError
from cuzk.formats import load_witness, load_zkey
from cuzk.formats.json_proof import load_proof, load_public, load_vkey
from cuzk.groth16 import Prover, setup
from cuzk.groth16.verify import verify
from cuzk.limbs import fr_to_ints
from cuzk.ops.msm_windows import measured_models
from cuzk.relation import R1CS
from cuzk.variants import VARIANTS
from cuzk.witness import Witness
from tests.device import gpu
from tests.prover.support import PARAMS, as_oracle, blinding, oracle_waste, waste
from tests.workloads.porep_shape import porep_shape

DATA = Path(__file__).resolve().parents[1] / "data"
CIRCUITS = sorted(path.parent for path in DATA.glob("*/*/*.zkey"))
ON_GPU = pytest.mark.device


def open_device(name: str) -> Device:
    device: Device = gpu.gpu() if name == "cuda" else get_device(name)
    return device


def check_golden(device: Device, folder: Path) -> None:
    """The stored proof of the stored key with r = 7, s = 11, byte for byte; it verifies, and not for other inputs."""
    key = load_zkey(folder / f"{folder.name}.zkey")
    witness = load_witness(folder / f"{folder.name}.wtns")
    proof = Prover(key, device).prove(witness, blinding=blinding(key.curve))
    stored = load_proof(folder / "proof_r7_s11.json")
    assert {name: getattr(proof, name).tobytes() for name in "abc"} == {
        name: getattr(stored, name).tobytes() for name in "abc"
    }
    vkey = load_vkey(folder / "vkey.json")
    public = load_public(folder / "public.json", vkey.curve)
    assert public == witness.public(key.num_public)
    assert verify(vkey, public, proof)
    if public:
        assert not verify(vkey, [(public[0] + 1) % vkey.curve.r, *public[1:]], proof)


def test_golden_proof_on_cpu() -> None:
    check_golden(open_device("cpu"), DATA / "bn128" / "product")


@ON_GPU
@pytest.mark.parametrize("folder", CIRCUITS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_golden_proof(folder: Path) -> None:
    check_golden(open_device("cuda"), folder)


def rows_of(matrix: CsrMatrix) -> list[list[tuple[int, int]]]:
    """A matrix as the oracles take it."""
    values = fr_to_ints(matrix.curve, matrix.dictionary)
    entries = [(int(c), values[k]) for c, k in zip(matrix.col.tolist(), matrix.coeff.tolist(), strict=True)]
    bounds = matrix.row_ptr.tolist()
    return [entries[a:b] for a, b in itertools.pairwise(bounds)]


def oracle_circuit(circuit: R1CS) -> qap.R1CS:
    """A circuit as the oracles take it."""
    return qap.R1CS(
        circuit.num_variables, circuit.num_public, rows_of(circuit.a), rows_of(circuit.b), rows_of(circuit.c)
    )


def check_secrets(device: Device, curve: str, log_domain: int, *, dense: bool) -> None:
    """Every element of the proof, from the secrets of its key; the key itself is made on the device too."""
    circuit, witness = porep_shape(log_domain, curve=curve, dense=dense)
    key = setup(circuit, device, toxic_waste=waste(circuit.curve))
    proof = Prover(key, device).prove(witness, blinding=blinding(circuit.curve))
    expected = trapdoor.expected_proof(
        PARAMS[curve], oracle_circuit(circuit), oracle_waste(circuit.curve), witness.to_ints(), 7, 11
    )
    got = as_oracle(proof)
    assert (got.a, got.b, got.c) == (expected.a, expected.b, expected.c)


def test_secrets_on_cpu() -> None:
    check_secrets(open_device("cpu"), "bn254", 12, dense=False)


@ON_GPU
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize(
    ("curve", "log_domain"), [("bls12_381", 14), ("bn254", 14), ("bls12_381", 19), ("bn254", 17)]
)
def test_secrets(curve: str, log_domain: int, dense: bool) -> None:
    check_secrets(open_device("cuda"), curve, log_domain, dense=dense)


def prepared(device: Device, curve: str, log_domain: int, **options: Any) -> tuple[Prover, Witness]:
    """A prover with known secrets, and a witness."""
    circuit, witness = porep_shape(log_domain, curve=curve)
    return Prover(setup(circuit, device, toxic_waste=waste(circuit.curve)), device, **options), witness


@ON_GPU
@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
def test_the_cpu_and_every_variant_give_the_same_bytes(curve: str) -> None:
    device = open_device("cuda")
    prover, witness = prepared(device, curve, 14)
    reference = Prover(prover.key, device.reference).prove(witness, blinding=blinding(witness.curve))
    assert prover.prove(witness, blinding=blinding(witness.curve)) == reference
    for identifier, variant in VARIANTS.items():
        for value in variant.possible("cuda"):
            if value == "per_msm" and device.limits.model not in measured_models():
                continue
            if identifier == "Q1" and value == "seven_ntt":  # of keys whose H bases are monomials only
                with pytest.raises(InputError, match=r"Q1=seven_ntt .* is impossible with this key"):
                    Prover(prover.key, device, variants={identifier: value})
                continue
            made = Prover(prover.key, device, variants={identifier: value})
            assert made.prove(witness, blinding=blinding(witness.curve)) == reference, f"{identifier}={value}"


@ON_GPU
@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
def test_a_false_witness_gives_no_proof(curve: str) -> None:
    """Ten selectors that should be 1 are 2: rows break, the error says which, and the prover works on."""
    prover, witness = prepared(open_device("cuda"), curve, 14)
    columns = np.unique(prover.key.b.col)
    selectors = columns[
        (witness.values[columns] == [1, 0, 0, 0]).all(axis=1) & (columns > prover.key.num_public)
    ]
    spoiled = witness.values.copy()
    spoiled[selectors[:10], 0] = 2
    with pytest.raises(UnsatisfiedError):
        prover.prove(Witness(witness.curve, spoiled))
    prover.prove(witness)


def test_stored_circuits_are_there() -> None:
    """The golden files of both curves, with the blinding that check_golden uses."""
    assert len(CIRCUITS) == 10
    for folder in CIRCUITS:
        assert json.loads((folder / "proof_r7_s11.json").read_text())["protocol"] == "groth16"
