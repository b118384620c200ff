"""The stored proofs with known blinding are what the reference prover makes of the stored keys and witnesses.

Would catch: a file of tests/data damaged or replaced without the files that depend on it, and a change of the
reference prover that changes its result; and a witness or an example copy left behind when a circuit changes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cuzk_oracles.parsers import parse_r1cs, parse_wtns
from cuzk_oracles.qap import first_unsatisfied

from tests.data.make_golden import Zkey, prove, read_witness

DATA = Path(__file__).parent
FOLDERS = sorted(path.parent for path in DATA.glob("*/*/*.zkey"))


def test_every_circuit_is_there_for_both_curves() -> None:
    names = [sorted(f.name for f in FOLDERS if f.parent.name == curve) for curve in ("bn128", "bls12381")]
    assert names[0] == names[1] == ["bit_network", "mimc_chain", "no_public", "product", "sparse_b"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_golden_proof(folder: Path) -> None:
    key = Zkey(folder / f"{folder.name}.zkey")
    witness = read_witness(folder / f"{folder.name}.wtns", key.r)
    assert prove(key, witness, 7, 11) == json.loads((folder / "proof_r7_s11.json").read_text())
    public = [str(value) for value in witness[1 : key.num_public + 1]]
    assert public == json.loads((folder / "public_r7_s11.json").read_text())
    assert public == json.loads((folder / "public.json").read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_witness_satisfies_its_circuit(folder: Path) -> None:
    circuit = parse_r1cs((folder / f"{folder.name}.r1cs").read_bytes())
    witness = parse_wtns((folder / f"{folder.name}.wtns").read_bytes())
    assert circuit.prime == witness.prime
    assert first_unsatisfied(circuit.r1cs, witness.witness, circuit.prime) is None


@pytest.mark.parametrize("curve", ["bn128", "bls12381"])
@pytest.mark.parametrize("extension", ["r1cs", "wtns"])
def test_the_example_is_a_copy(curve: str, extension: str) -> None:
    example = DATA.parents[1] / "examples" / "circuits" / curve / f"product.{extension}"
    assert example.read_bytes() == (DATA / curve / "product" / f"product.{extension}").read_bytes()
