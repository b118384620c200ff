"""Regressions of circuits and of proving: reports R1C-01 to R1C-14, each checked as a kind of fault.

Would catch: a zero coefficient that counts as an entry; an empty query that breaks the prover; a witness whose first
value is not one; a key used for another circuit; a size at which the domain, the batch or the public part is wrong; a
key read as if its H bases had the other form; blinding that repeats.
"""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest

from cuzk.curves import get_curve
from cuzk.errors import FormatError, InputError, SecurityWarning, ShapeError
from cuzk.formats import (
    cuzk_key_from_bytes,
    cuzk_key_to_bytes,
    describe,
    load_params,
    load_r1cs,
    load_witness,
    load_zkey,
    save_params,
    save_r1cs,
)
from cuzk.groth16 import Blinding, verify
from cuzk.groth16.prover import Prover
from cuzk.groth16.setup import setup
from cuzk.keys import ProvingKey
from cuzk.relation import R1CS
from cuzk.witness import Witness
from tests.formats.builders import combination, container, r1cs_sections, replaced, wtns_sections
from tests.prover.support import device, key, waste
from tests.regressions.support import REAL_CURVES, files, with_header
from tests.workloads import random_r1cs

every_curve = pytest.mark.parametrize("curve_name", REAL_CURVES)
every_device = pytest.mark.parametrize("device_name", ["cpu", "emu"])

Terms = dict[int, int]


def make(
    curve_name: str, num_variables: int, num_public: int, rows: list[tuple[Terms, Terms, Terms]]
) -> R1CS:
    """A circuit from plain rows."""
    return R1CS.from_rows(get_curve(curve_name), num_variables, num_public, rows)


def set_up(circuit: R1CS, device_name: str = "cpu", **options: Any) -> ProvingKey:
    """A key with known secrets."""
    return setup(circuit, device(device_name), toxic_waste=waste(circuit.curve), **options)


def proves(circuit: R1CS, values: list[int], device_name: str = "cpu") -> ProvingKey:
    """Set up, prove, verify; the key."""
    witness = Witness.from_ints(circuit.curve, [value % circuit.curve.r for value in values])
    made = set_up(circuit, device_name)
    proof = Prover(made, device(device_name), circuit=circuit).prove(witness)
    assert verify(made.verifying_key(), witness.public(circuit.num_public), proof)
    return made


@every_device
@every_curve
def test_r1c_01_coefficients_that_are_zero(curve_name: str, device_name: str, tmp_path: Path) -> None:
    r = get_curve(curve_name).r
    # Variables 1, c (public), a, b with a * b = c; what is added to a row changes nothing.
    plain = make(curve_name, 4, 1, [({2: 1}, {3: 1}, {1: 1})])
    tidy = proves(plain, [1, 33, 3, 11], device_name)
    for left, right in (
        ({2: 1}, {0: 0, 3: 1}),
        ({2: 1, 1: 0}, {2: 0, 3: 1}),
        ({2: 1, 3: r}, {3: r + 1, 2: 0}),
        ({0: 0, 2: 1 - r, 1: 2 * r}, {3: 1}),
    ):
        untidy = make(curve_name, 4, 1, [(left, right, {1: 1, 0: 0})])
        assert untidy.digest() == plain.digest()
        if device_name == "emu" and 3 not in left:
            continue  # one is enough there, and takes its time
        made = proves(untidy, [1, 33, 3, 11], device_name)
        assert len(cuzk_key_to_bytes(made)) == len(cuzk_key_to_bytes(tidy))
        assert made.a.nnz == tidy.a.nnz
        save_r1cs(tmp_path / "a.r1cs", untidy)
        assert load_r1cs(tmp_path / "a.r1cs").digest() == plain.digest()


def test_r1c_01_entries_of_a_file_that_cancel(tmp_path: Path) -> None:
    curve = get_curve("bn254")
    n8, r = curve.fr.nbytes, curve.r
    row = combination([(2, 5), (3, 7), (2, r - 4), (3, r - 7)], n8)  # 1 * variable 2, in four entries
    body = row + combination([(3, 1), (0, 0)], n8) + combination([(1, 1)], n8)
    path = tmp_path / "c.r1cs"
    path.write_bytes(container(b"r1cs", 1, replaced(r1cs_sections(curve), 2, body)))
    found = load_r1cs(path)
    assert found.a.row(0) == [(2, 1)]
    assert found.b.row(0) == [(3, 1)]
    assert found.digest() == make("bn254", 4, 1, [({2: 1}, {3: 1}, {1: 1})]).digest()


@every_device
@every_curve
def test_r1c_03_nothing_private(curve_name: str, device_name: str) -> None:
    # c = a + b with all three public: the query of private variables is empty.
    circuit = make(curve_name, 4, 3, [({2: 1, 3: 1}, {0: 1}, {1: 1})])
    made = proves(circuit, [1, 7, 3, 4], device_name)
    assert len(made.l_query) == 0
    with pytest.raises(InputError):
        Prover(made, device(device_name), circuit=circuit).prove(
            Witness.from_ints(circuit.curve, [1, 8, 3, 4])
        )
    empty_b = make(curve_name, 3, 1, [({1: 1}, {}, {}), ({}, {2: 1}, {})])
    proves(empty_b, [1, 5, 6], device_name)


@every_curve
def test_r1c_04_the_first_value_is_one(curve_name: str, tmp_path: Path) -> None:
    curve = get_curve(curve_name)
    for values in ([0, 33, 3, 11], [2, 33, 3, 11], [curve.r - 1, 33, 3, 11], []):
        path = tmp_path / "w.wtns"
        path.write_bytes(container(b"wtns", 2, wtns_sections(curve, values)))
        with pytest.raises(FormatError, match="constant 1"):
            load_witness(path)
        with pytest.raises(ShapeError):
            Witness.from_ints(curve, values)
    # Wire 0 used like a variable stays the constant: 1 * a = c forces c = a.
    circuit = make(curve_name, 3, 1, [({0: 1}, {2: 1}, {1: 1})])
    proves(circuit, [1, 9, 9])
    with pytest.raises(InputError):
        proves(circuit, [1, 8, 9])


@every_curve
def test_r1c_07_variables_in_no_constraint(curve_name: str, tmp_path: Path) -> None:
    loose = make(curve_name, 5, 2, [({3: 1}, {4: 1}, {1: 1})])
    assert loose.unconstrained_variables() == [2]
    tight = make(curve_name, 4, 1, [({2: 1}, {3: 1}, {1: 1})])
    assert tight.unconstrained_variables() == []
    for circuit, shown in ((loose, True), (tight, False)):
        save_r1cs(tmp_path / "a.r1cs", circuit)
        assert ("in no constraint" in describe(tmp_path / "a.r1cs").details) is shown
    # Two square roots satisfy x * x = y: each is a witness, other values name their row.
    square = make(curve_name, 3, 1, [({2: 1}, {2: 1}, {1: 1})])
    for x in (5, -5):
        proves(square, [1, 25, x])
    wrong = Witness.from_ints(square.curve, [1, 25, 6])
    assert square.first_unsatisfied(wrong) == 0
    with pytest.raises(InputError, match="row 0"):
        Prover(set_up(square), device("cpu"), circuit=square).prove(wrong)


@every_curve
def test_r1c_08_a_key_of_another_shape_of_the_circuit(curve_name: str) -> None:
    def circuit(x: int) -> R1CS:
        """A builder that adds a row for odd values: what a circuit must never do."""
        rows: list[tuple[Terms, Terms, Terms]] = [({2: 1}, {3: 1}, {1: 1})]
        return make(curve_name, 4, 1, rows + [({2: 1}, {0: 1}, {2: 1})] * (x % 2))

    made = set_up(circuit(4))
    with pytest.raises(ShapeError, match="num_constraints"):
        made.check_circuit(circuit(3))
    same_size = make(curve_name, 4, 1, [({2: 1}, {3: 2}, {1: 1})])
    with pytest.raises(ShapeError, match="circuit digest"):
        Prover(made, device("cpu"), circuit=same_size)
    assert circuit(4).digest() != circuit(3).digest() != same_size.digest()


@pytest.mark.parametrize("num_public", [0, 1, 2])
@every_curve
def test_r1c_11_small_circuits_and_batches(curve_name: str, num_public: int) -> None:
    for num_constraints in (1, 2, 3, 7, 8, 9):
        load = random_r1cs(curve_name, num_constraints, num_public=num_public, seed=11)
        for name in ("cpu", "emu") if num_constraints == 8 else ("cpu",):
            prover = Prover(key(load), device(name))
            for count in (1, 2):
                proofs = prover.prove_batch([load.witness] * count)
                assert len(proofs) == count
                for proof in proofs:
                    assert verify(prover.key.verifying_key(), load.public, proof)


def test_r1c_12_the_format_decides_the_reduction(tmp_path: Path) -> None:
    f = files("bls12_381")
    assert (f.key.h_form, f.key.root_convention) == ("odd_lagrange", "snarkjs")
    load = random_r1cs("bls12_381", 9, num_public=2, seed=12, features=())
    bellman = key(load, "monomial", "bellman")
    path = tmp_path / "k.params"
    save_params(path, bellman)
    read = load_params(path, load.r1cs)
    assert (read.h_form, read.root_convention) == ("monomial", "bellman")
    for made in (read, bellman, key(load), key(load, "monomial"), key(load, "odd_lagrange", "bellman")):
        proof = Prover(made, device("cpu")).prove(load.witness)
        assert verify(made.verifying_key(), load.public, proof)
    with pytest.raises(FormatError):
        load_zkey(path)
    with pytest.raises(FormatError):
        load_params(f.path("zkey"), f.r1cs)


@every_curve
def test_r1c_12_a_key_that_claims_another_form(curve_name: str) -> None:
    load = random_r1cs(curve_name, 9, num_public=2, seed=12)
    for form, roots in itertools.product(("odd_lagrange", "monomial"), ("snarkjs", "bellman")):
        data = cuzk_key_to_bytes(key(load, form, roots))

        def swap_form(header: dict[str, Any], form: str = form) -> None:
            header["h_form"] = "monomial" if form == "odd_lagrange" else "odd_lagrange"

        def swap_roots(header: dict[str, Any], roots: str = roots) -> None:
            header["root_convention"] = "bellman" if roots == "snarkjs" else "snarkjs"

        with pytest.raises(InputError):
            cuzk_key_from_bytes(with_header(data, swap_form))
        other = cuzk_key_from_bytes(with_header(data, swap_roots))
        if curve_name == "bls12_381":  # on BN254 the two conventions are the same roots
            with pytest.raises(InputError):
                Prover(other, device("cpu")).prove(load.witness)
        else:
            Prover(other, device("cpu")).prove(load.witness)


@every_curve
def test_r1c_13_circuits_without_constraints(curve_name: str) -> None:
    for num_public in (0, 2):
        empty = make(curve_name, 3, num_public, [])
        with pytest.warns(SecurityWarning, match="no constraints"):
            set_up(empty)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        set_up(make(curve_name, 3, 1, [({1: 1}, {2: 1}, {0: 1})]))


@every_curve
def test_r1c_14_every_proof_is_blinded_afresh(curve_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    load = random_r1cs(curve_name, 5, num_public=1, seed=14)
    prover = Prover(key(load), device("cpu"))
    proofs = [*prover.prove_batch([load.witness] * 3), prover.prove(load.witness)]
    for part in range(3):
        assert len({proof.to_ints()[part] for proof in proofs}) == 4
    curve = load.curve
    with pytest.warns(SecurityWarning, match="not zero-knowledge"):
        fixed = Blinding.insecure(curve, 7, 11)
    same = [prover.prove(load.witness, blinding=Blinding(7, 11)) for _ in range(2)]
    assert same[0] == same[1]
    assert (fixed.r_blind, fixed.s_blind) == (7, 11)
    monkeypatch.setattr("secrets.randbelow", lambda bound: 0)
    drawn = Blinding.random(curve)
    assert drawn.r_blind > 0
    assert drawn.s_blind > 0
    monkeypatch.setattr("secrets.randbelow", lambda bound: bound - 1)
    drawn = Blinding.random(curve)
    assert drawn.r_blind == drawn.s_blind == curve.r - 1
