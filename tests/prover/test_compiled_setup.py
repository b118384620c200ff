"""Keys made from pieces: the points of the key that matrices give, and proofs from pieces alone.

Would catch: columns of pieces that differ from the matrices', binding rows left out, matrices missed where nobody has
them, a circuit taken for the key's that is another.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from cuzk.circuits.catalogue import build_circuit, compiled_circuit
from cuzk.compiled_rows import UnwrittenMatrix, compiled_digest
from cuzk.curves import RootConvention
from cuzk.errors import InputError, RangeError, ShapeError
from cuzk.groth16 import Prover, ToxicWaste, verify
from cuzk.groth16.convert import convert
from cuzk.groth16.residency import QUERY_ORDER, _plan
from cuzk.groth16.resident import ResidentKey
from cuzk.groth16.setup import setup
from cuzk.groth16.work import prove_work, setup_work
from cuzk.keys import ProvingKey
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS
from tests.kernels.piece_support import chain
from tests.prover.support import blinding, device, waste
from tests.prover.test_compiled import Compiled, compiled

NAME = "poseidon:2"


def key_of(load: Compiled, roots: RootConvention = "snarkjs", spec: str = "cpu") -> ProvingKey:
    """The key of a compiled circuit, with the secrets of every key in these tests."""
    return setup(
        load.circuit, device(spec), name="mine", toxic_waste=waste(load.curve), root_convention=roots
    )


def assert_same_points(one: ProvingKey, other: ProvingKey) -> None:
    """Point for point; what the B queries leave out is infinity."""
    whole = one.with_all_b()
    for (name, _, array), (_, _, expected) in zip(whole.points(), other.with_all_b().points(), strict=True):
        assert np.array_equal(array, expected), name


@pytest.mark.parametrize("roots", ["snarkjs", "bellman"])
@pytest.mark.parametrize(("curve_name", "spec"), [("toy", "cpu"), ("toy", "emu"), ("bls12_381", "cpu")])
def test_the_same_points_as_from_matrices(curve_name: str, spec: str, roots: RootConvention) -> None:
    load = compiled(curve_name)
    expected = setup(load.r1cs, device("cpu"), toxic_waste=waste(load.curve), root_convention=roots)
    made = key_of(load, roots, spec)
    assert_same_points(made, expected)
    for name in ("num_public", "num_variables", "num_constraints", "log_domain", "h_form", "root_convention"):
        assert getattr(made, name) == getattr(expected, name), name
    assert made.compiled is not None
    assert made.compiled.digest == made.circuit_digest == compiled_digest(load.circuit)


def test_the_same_points_for_a_built_in_circuit() -> None:
    made, expected = (
        setup(circuit, device("cpu"), toxic_waste=ToxicWaste.from_seed(circuit.curve, 3))
        for circuit in (compiled_circuit(NAME), build_circuit(NAME))
    )
    assert_same_points(made, expected)
    assert made.compiled is not None
    assert made.b_places is not None
    assert made.b_g1_query.any(axis=(1, 2)).all()
    assert list(made.b_places) == sorted({int(column) for column in expected.b.col})
    assert made.compiled.num_entries == sum(matrix.nnz for matrix in expected.matrices.values())


@pytest.mark.parametrize(("curve_name", "spec"), [("toy", "cpu"), ("toy", "emu"), ("bls12_381", "cpu")])
def test_the_same_proof_without_matrices(curve_name: str, spec: str) -> None:
    load, where = compiled(curve_name), device(spec)
    expected = Prover(load.key, device("cpu")).prove(load.witness, blinding=blinding(load.curve))
    made = key_of(load)
    prover = Prover(made, where, circuit=load.circuit)
    for source in (load.hints, load.witness):
        assert prover.prove(source, blinding=blinding(load.curve)) == expected
    both = prover.prove_batch([load.hints] * 2, blindings=[blinding(load.curve) for _ in range(2)])
    assert both == [expected] * 2
    if curve_name != "toy":
        assert verify(made.verifying_key(), prover.public_inputs(load.hints), expected)


@pytest.mark.parametrize(
    ("variant", "value"),
    [("M2", "none"), ("M2", "index"), ("A4", "pippenger"), ("A4", "par_map"), ("B2", "arena"), ("C1", "2")],
)
@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_variants_find_the_bases_of_b(variant: str, value: str, spec: str) -> None:
    """Would catch: a way to the sums over B that takes its n-th base for the n-th variable's."""
    load = compiled("toy")
    made, where = key_of(load), device(spec)
    prover = Prover(made, where, circuit=load.circuit, variants={variant: value})
    expected = Prover(load.key, where).prove(load.witness, blinding=blinding(load.curve))
    assert prover.prove(load.hints, blinding=blinding(load.curve)) == expected


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_streamed_bases_of_b(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is streamed in small chunks, and other queries lose their infinite bases besides."""
    load, where = compiled("bls12_381"), device(spec)
    resident = sys.modules[ResidentKey.__module__]
    monkeypatch.setattr(
        resident, "plan_residency", lambda shape, limits, _: _plan(shape, limits, frozenset(), 64)
    )
    made = key_of(load)
    prover = Prover(made, where, circuit=load.circuit)
    assert set(prover._resident.plan.streamed) == set(QUERY_ORDER)
    places = prover._resident.queries["b_g2"].places
    assert places is not None
    assert made.b_places is not None
    assert np.array_equal(where.download(places), made.b_places)
    expected = Prover(load.key, where).prove(load.witness, blinding=blinding(load.curve))
    assert prover.prove(load.hints, blinding=blinding(load.curve)) == expected


def test_places_are_checked() -> None:
    """Would catch: a damaged file whose places lie outside the witness, or are those of other bases."""
    made = key_of(compiled("toy"))
    assert made.b_places is not None
    for places in (
        made.b_places[::-1],
        made.b_places.astype(np.int64),
        made.b_places[:-1],
        made.b_places[None],
    ):
        with pytest.raises(InputError):
            replace(made, b_places=places)
    beyond = made.b_places.copy()
    beyond[-1] = made.num_variables
    with pytest.raises(RangeError, match="b_places"):
        replace(made, b_places=beyond)


def test_what_needs_the_rows_says_where_they_are() -> None:
    load, where = compiled("toy"), device("cpu")
    made = key_of(load)
    attempts = (
        lambda: Prover(made, where),
        lambda: Prover(made, where, circuit=load.r1cs),
        lambda: Prover(made, where, circuit=load.circuit, variants={"P5": "pce"}),
        lambda: made.check_circuit(load.r1cs),
        lambda: made.with_circuit(load.r1cs),
        lambda: convert(made, where, root_convention="bellman"),
        lambda: made.a.nnz,
    )
    for attempt in attempts:
        with pytest.raises(
            InputError, match=r"holds no matrices: .* circuit mine .*--circuit mine.* --matrices"
        ):
            attempt()
    with pytest.raises(InputError, match="four_ntt"):
        Prover(made, where, circuit=load.circuit, variants={"Q1": "four_ntt"})


def test_what_needs_no_rows_works() -> None:
    """Another H form, the verifying key, the checks of a loaded key."""
    load, where = compiled("toy"), device("cpu")
    made = key_of(load)
    expected = convert(load.key, where, h_form="monomial")
    assert_same_points(convert(made, where, h_form="monomial"), expected)
    made.check_binding_rows()
    made.check_degenerate()
    assert not made.is_renumbered
    assert made.constraint_of_row(3) == 3
    assert np.array_equal(made.verifying_key().ic, load.key.verifying_key().ic)
    assert not hasattr(made.a, "no_such_thing")


def test_matrices_can_be_given_back() -> None:
    load = compiled("toy")
    whole = key_of(load).expanded(load.r1cs)
    assert whole.compiled is None
    assert whole.circuit_digest == load.key.circuit_digest
    whole.check_circuit(load.r1cs)
    a, b, c = (matrix.with_rows(1) for matrix in load.r1cs.matrices.values())
    shorter = R1CS(load.curve, load.r1cs.num_variables, load.r1cs.num_public, a, b, c)
    with pytest.raises(ShapeError, match="num_constraints"):
        key_of(load).expanded(shorter)


def _changed(circuit: CompiledCircuit) -> Iterator[CompiledCircuit]:
    """The circuit with one number of its rows or instances changed."""
    number = next(
        i for i, p in enumerate(circuit.pieces) if p.num_bound and len(p.instances) and len(p.rows[0].var)
    )
    piece = circuit.pieces[number]
    at, rows = piece.instances, piece.rows
    for name in ("row_base", "aux_base", "input_base", "bindings"):
        array = getattr(at, name).copy()
        array.flat[0] += 1
        yield _with(circuit, number, replace(piece, instances=replace(at, **{name: array})))
    for name in ("row_ptr", "var", "coeff"):
        array = getattr(rows[0], name).copy()
        array[-1] += 1
        yield _with(circuit, number, replace(piece, rows=(replace(rows[0], **{name: array}), *rows[1:])))
    dictionary = circuit.dictionary.copy()
    dictionary[0, 0] += 1
    yield replace(circuit, dictionary=dictionary)
    yield replace(circuit, num_aux=circuit.num_aux + 1)


def _with(circuit: CompiledCircuit, number: int, piece: object) -> CompiledCircuit:
    pieces = [*circuit.pieces]
    pieces[number] = piece  # type: ignore[call-overload]
    return replace(circuit, pieces=tuple(pieces))


def test_another_circuit_is_refused() -> None:
    """Whatever number of the rows differs, the digest does; the way to a witness is no part of it."""
    load = compiled("toy")
    digests = [compiled_digest(circuit) for circuit in (load.circuit, *_changed(load.circuit))]
    assert len(digests) == 10
    assert len(set(digests)) == 10
    made = key_of(load)
    dictionary = load.circuit.dictionary.copy()
    dictionary[0, 0] ^= np.uint64(1)
    with pytest.raises(ShapeError, match=r"made from another circuit than this one, or mine is now compiled"):
        Prover(made, device("cpu"), circuit=replace(load.circuit, dictionary=dictionary))
    hints = replace(load.circuit, num_hints=load.circuit.num_hints + 1)
    assert compiled_digest(hints) == made.circuit_digest


def test_work_is_known_without_matrices() -> None:
    """Progress divides by it: as for the key with matrices, but for what is not transposed or written."""
    load = compiled("bls12_381")
    of_pieces, of_matrices = setup_work(load.circuit, 2), setup_work(load.r1cs, 2)
    assert of_pieces.keys() == of_matrices.keys()
    assert {k for k in of_pieces if of_pieces[k] != of_matrices[k]} == {"tau_columns", "key_write"}
    assert prove_work(key_of(load), load.witness) == prove_work(load.key, load.witness)


def test_shapes_of_unwritten_matrices() -> None:
    made = key_of(compiled("toy"))
    assert isinstance(made.a, UnwrittenMatrix)
    assert (made.a.num_rows, made.a.num_cols) == (
        made.num_constraints + made.num_public + 1,
        made.num_variables,
    )
    assert "UnwrittenMatrix" in repr(made)


def test_the_digest_of_pieces_is_that_of_stored_keys() -> None:
    """Keys hold it; another one would part them from their circuits."""
    assert (
        compiled_digest(chain("toy", 2).circuit)
        == "f2a197fae936f4d7212096fa1ade05395ff4b25856761725436dd8e073d14972"
    )
