"""Conversion of keys: every form of a key gives the same proof, and says truly which form it has.

Would catch: a wrong factor or power in the change of H bases, rows or odd points moved the wrong way, a
renumbered key that loses its circuit, a constraint reported by its place in the key.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from cuzk.curves import ROOT_CONVENTIONS, RootConvention, get_curve
from cuzk.errors import RangeError, ShapeError, UnsatisfiedError
from cuzk.groth16 import Prover
from cuzk.groth16.convert import convert
from cuzk.groth16.setup import setup
from cuzk.keys import H_FORMS, HForm, ProvingKey
from cuzk.relation import R1CS
from cuzk.row_order import root_exponent
from cuzk.witness import Witness
from tests.prover.support import blinding, device, key, waste, workload

FORMS = list(itertools.product(H_FORMS, ROOT_CONVENTIONS))


def is_same(one: ProvingKey, other: ProvingKey) -> bool:
    """Whether two keys have the same points, in the same form."""
    pairs = zip(one.points(), other.points(), strict=True)
    return (one.h_form, one.root_convention) == (other.h_form, other.root_convention) and all(
        (a == b).all() for (_, _, a), (_, _, b) in pairs
    )


def test_exponents_between_the_roots() -> None:
    """The published exponent on BLS12-381; none is needed on BN254."""
    bls, bn = get_curve("bls12_381"), get_curve("bn254")
    assert root_exponent(bls, "snarkjs", "bellman") == 3797895509
    assert 3797895509 * root_exponent(bls, "bellman", "snarkjs") % (1 << 32) == 1
    assert root_exponent(bn, "snarkjs", "bellman") == 1
    for log_n in (0, 1, 5, 32):
        k = root_exponent(bls, "snarkjs", "bellman")
        old, new = bls.root_of_unity(log_n, "snarkjs"), bls.root_of_unity(log_n, "bellman")
        assert old == pow(new, k, bls.r)


@pytest.mark.parametrize(("h_form", "roots"), FORMS)
@pytest.mark.parametrize(("curve", "size"), [("toy", 40), ("toy", 700), ("bls12_381", 20), ("bn254", 20)])
def test_every_form_gives_the_same_proof(curve: str, size: int, h_form: HForm, roots: RootConvention) -> None:
    load, cpu = workload("random", curve, size, 2), device("cpu")
    made = key(load, h_form, roots)
    expected = Prover(made, cpu).prove(load.witness, blinding=blinding(load.curve))
    for form, convention in FORMS:
        other = convert(made, cpu, h_form=form, root_convention=convention)
        assert (other.h_form, other.root_convention) == (form, convention)
        other.check_binding_rows()
        other.check_circuit(load.r1cs)
        assert other.num_constraints == made.num_constraints
        assert Prover(other, cpu).prove(load.witness, blinding=blinding(load.curve)) == expected
        if form == "monomial":
            assert (other.h_query == key(load, "monomial", roots).h_query).all()
        assert other.is_renumbered == (curve != "bn254" and convention != roots)


@pytest.mark.parametrize("curve", ["toy", "bls12_381"])
def test_there_and_back(curve: str) -> None:
    """Changing the rows loses nothing; changing the H form from monomial and back neither."""
    load, cpu = workload("random", curve, 20, 2), device("cpu")
    for h_form, roots in FORMS:
        made = key(load, h_form, roots)
        other: RootConvention = "bellman" if roots == "snarkjs" else "snarkjs"
        back = convert(convert(made, cpu, root_convention=other), cpu, root_convention=roots)
        assert is_same(back, made)
        for name, matrix in made.matrices.items():
            found = back.matrices[name]
            assert (found.row_ptr == matrix.row_ptr).all(), name
            assert (found.col == matrix.col).all(), name
            assert (found.dictionary == matrix.dictionary).all(), name
    monomial = key(load, "monomial")
    there, back_again = list[float](), list[float]()
    odd = convert(monomial, cpu, h_form="odd_lagrange", on_share=there.append)
    assert is_same(convert(odd, cpu, h_form="monomial", on_share=back_again.append), monomial)
    for shares in (there, back_again):
        assert shares == sorted(shares)
        assert 0 < shares[0] < 1
        assert shares[-1] == pytest.approx(1.0), "how far it is, to the end"


def test_on_the_emulator() -> None:
    load = workload("random", "toy", 40, 2)
    for h_form in H_FORMS:
        cpu, emu = (
            convert(key(load), device(spec), h_form=h_form, root_convention="bellman")
            for spec in ("cpu", "emu")
        )
        assert is_same(cpu, emu)


@pytest.mark.filterwarnings("ignore:the circuit has no constraints")
def test_smallest_domains() -> None:
    """One and two rows: no quotient at all, and one of a single coefficient."""
    curve = get_curve("toy")
    square = R1CS.from_rows(curve, 2, 0, [({1: 1}, {1: 1}, {0: 4})])
    for circuit, values in ((R1CS.from_rows(curve, 1, 0, []), [1]), (square, [1, 2])):
        witness = Witness.from_ints(curve, values)
        made = setup(circuit, device("cpu"), toxic_waste=waste(curve))
        for form, convention in FORMS:
            other = convert(made, device("cpu"), h_form=form, root_convention=convention)
            proofs = [
                Prover(one, device("cpu")).prove(witness, blinding=blinding(curve)) for one in (made, other)
            ]
            assert proofs[0] == proofs[1]


def test_a_broken_constraint_is_named_as_the_circuit_has_it() -> None:
    load = workload("random", "bls12_381", 20, 2)
    values = load.witness.to_ints()
    values[-1] += 1
    wrong = Witness.from_ints(load.curve, values)
    row = load.r1cs.first_unsatisfied(wrong)
    assert row is not None
    other = replace(convert(key(load), device("cpu"), root_convention="bellman"), c=None)
    prover = Prover(other, device("cpu"), circuit=load.r1cs)
    # The key meets its rows in another order: any broken one may come first, and it is named as in the circuit.
    with pytest.raises(UnsatisfiedError) as caught:
        prover.prove(wrong)
    named = int(str(caught.value).split("row ")[1].split(":")[0])
    a, b, c = load.r1cs.row_values(named, wrong.to_ints())
    assert (a * b - c) % load.curve.r != 0
    with pytest.raises(ShapeError, match="the circuit has num_"):
        other.check_circuit(workload("random", "bls12_381", 21, 2).r1cs)


def test_no_odd_coset_at_the_largest_domain() -> None:
    """At 2^two_adicity rows the odd-Lagrange form does not exist; nothing is renumbered wrongly either."""
    load = workload("random", "toy", (1 << 11) + 5, 1)
    made = key(load, "monomial")
    with pytest.raises(RangeError, match="odd coset"):
        convert(made, device("cpu"), h_form="odd_lagrange")
    convert(made, device("cpu"), root_convention="bellman").check_circuit(load.r1cs)
