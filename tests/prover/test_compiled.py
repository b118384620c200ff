"""Proofs from compiled circuits: the same a, b, c and the same bytes as from recorded matrices and a witness.

Would catch: rows of pieces in another order than the key's, binding rows missing or twice, hints taken in the wrong
form, public inputs read from the wrong place, a row that is broken and goes unnoticed, matrices uploaded for nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from cuzk.circuits.catalogue import find_circuit
from cuzk.curves import Curve, get_curve
from cuzk.errors import CurveMismatchError, InputError, RangeError, ShapeError, UnsatisfiedError
from cuzk.groth16 import Prover
from cuzk.groth16.evaluate import evaluate, make_witness, upload_witness
from cuzk.groth16.resident import ResidentKey
from cuzk.groth16.row_forms import CsrRows, PieceRows, one_piece
from cuzk.groth16.setup import setup
from cuzk.keys import ProvingKey
from cuzk.limbs import fr_from_ints, fr_to_ints, limbs_to_ints
from cuzk.ops.fr_vec import from_mont
from cuzk.ops.piece_checks import check_circuit
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.ops.witness_program import run_witness
from cuzk.pieces import CompiledCircuit
from cuzk.proving import prove
from cuzk.relation import R1CS
from cuzk.synthesis import ConstraintSystem
from cuzk.telemetry import Recorder
from cuzk.variants import resolve
from cuzk.witness import Hints, Witness
from tests.kernels.piece_support import Case, case
from tests.prover.support import blinding, device, key, waste, workload

CURVES = ("toy", "bls12_381")


@dataclass(frozen=True)
class Compiled:
    """A satisfiable compiled circuit in every form."""

    curve: Curve
    circuit: CompiledCircuit
    r1cs: R1CS
    key: ProvingKey
    hints: Hints
    witness: Witness
    case: Case


@functools.cache
def compiled(curve_name: str) -> Compiled:
    """Pieces whose rows hold for every hint; the expanded R1CS and its key."""
    curve = get_curve(curve_name)
    sample = next(s for s in _samples(curve_name) if 20 < s.plain.num_rows < 250)
    sides = [sample.plain.expanded(side) for side in range(3)]
    rows = [tuple(_as_dict(row, curve.r) for row in row3) for row3 in zip(*sides, strict=True)]
    r1cs = R1CS.from_rows(curve, len(sample.w), sample.plain.num_inputs - 1, rows)  # type: ignore[arg-type]
    made = setup(r1cs, device("cpu"), toxic_waste=waste(curve))
    hints = Hints.from_ints(curve, sample.hints, sample.all_inputs)
    return Compiled(curve, sample.circuit, r1cs, made, hints, Witness.from_ints(curve, sample.w), sample)


def _samples(curve_name: str) -> Iterator[Case]:
    for seed in range(100):
        yield case(curve_name, seed, (1, 2), free_rows=False)


def _as_dict(row: list[tuple[int, int]], r: int) -> dict[int, int]:
    merged: dict[int, int] = {}
    for column, coefficient in row:
        merged[column] = (merged.get(column, 0) + coefficient) % r
    return merged


def rows_of(resident: ResidentKey, w: Any, p5: str) -> Any:
    """a, b, c on the host."""
    abc = evaluate(resident, w, Recorder(), resolve({"P5": p5}))
    return np.stack([resident.device.download(part) for part in abc])


@pytest.mark.parametrize("spec", ["cpu", "emu"])
@pytest.mark.parametrize("curve_name", CURVES)
def test_the_same_rows_from_every_form(curve_name: str, spec: str) -> None:
    load, where = compiled(curve_name), device(spec)
    by_csr = ResidentKey.upload(where, load.key)
    by_pieces = ResidentKey.upload(where, load.key, compiled=load.circuit, by_pieces=True)
    whole = ResidentKey.upload(where, load.key, by_pieces=True)
    assert isinstance(by_csr.rows, CsrRows)
    assert isinstance(by_pieces.rows, PieceRows)
    assert by_pieces.rows.pieces is by_pieces.pieces, "the tables are there once"
    uploaded = upload_witness(by_csr, load.witness.values, Recorder())
    made = make_witness(by_pieces, load.hints, Recorder())
    assert np.array_equal(where.download(uploaded), where.download(made))
    expected = rows_of(by_csr, uploaded, "pce")
    assert expected.shape[1] == load.key.domain_size
    assert [fr_to_ints(load.curve, part)[: load.case.plain.num_rows] for part in expected] == [
        load.case.rows(side) for side in range(3)
    ]
    assert np.array_equal(rows_of(by_pieces, made, "template"), expected)
    assert np.array_equal(rows_of(whole, uploaded, "template"), expected)
    without_c = ResidentKey.upload(where, replace(load.key, c=None), by_pieces=True)
    assert not without_c.rows.has_c
    assert np.array_equal(rows_of(without_c, uploaded, "template"), expected), "c = a o b"


@pytest.mark.parametrize(("curve_name", "spec"), [("toy", "cpu"), ("toy", "emu"), ("bls12_381", "cpu")])
def test_the_same_proof_from_every_form(curve_name: str, spec: str) -> None:
    load, where = compiled(curve_name), device(spec)
    expected = Prover(load.key, where).prove(load.witness, blinding=blinding(load.curve))
    recorder = Recorder()
    template = Prover(load.key, where, circuit=load.circuit, recorder=recorder)
    assert template.variants["P5"] == "template"
    public = load.witness.public(load.key.num_public)
    assert template.public_inputs(load.hints) == public
    for source in (load.hints, load.witness):
        assert template.prove_with_public(source)[1] == public
    assert template.prove(load.hints, blinding=blinding(load.curve)) == expected
    tags = {event.phase: event.tags for event in recorder.events}
    assert tags["spmv"]["P5"] == "template"
    assert tags["witness"]["programs"] == len(template._resident.pieces.levels) - 1  # type: ignore[union-attr]
    assert template.prove(load.witness, blinding=blinding(load.curve)) == expected
    pair = [blinding(load.curve), blinding(load.curve, 3, 4)]
    both = template.prove_batch([load.hints, load.witness], blindings=pair)
    assert both[0] == expected != both[1]
    recorded = Prover(load.key, where, circuit=load.circuit, variants={"P5": "pce"})
    assert recorded.prove(load.hints, blinding=blinding(load.curve)) == expected
    whole = Prover(load.key, where, variants={"P5": "template"})
    assert whole.prove(load.witness, blinding=blinding(load.curve)) == expected


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_hints_with_the_sum_in_g2_on_the_processor(spec: str) -> None:
    """What runs beside the device wants the witness on the host, wherever it was born."""
    load = compiled("toy")
    expected = Prover(load.key, device(spec)).prove(load.witness, blinding=blinding(load.curve))
    beside = Prover(load.key, device(spec), circuit=load.circuit, variants={"A4": "pippenger"})
    assert beside.prove(load.hints, blinding=blinding(load.curve)) == expected


def test_one_call_with_a_compiled_circuit() -> None:
    load = compiled("bls12_381")
    proof = prove(load.key, load.hints, device="cpu", circuit=load.circuit, blinding=blinding(load.curve))
    assert proof == prove(load.key, load.witness, device="cpu", blinding=blinding(load.curve))


def test_a_broken_row_is_named() -> None:
    """A hint that stands for a bit and is none breaks the first row that uses it."""
    load = compiled("toy")
    assert load.hints.inputs is not None
    hints, inputs = limbs_to_ints(load.hints.values), limbs_to_ints(load.hints.inputs)
    prover = Prover(load.key, device("cpu"), circuit=load.circuit)
    broken = 0
    for i in range(len(hints)):
        spoiled = Hints.from_ints(load.curve, [*hints[:i], 2, *hints[i + 1 :]], inputs)
        w = fr_to_ints(
            load.curve, device("cpu").download(make_witness(prover._resident, spoiled, Recorder()))
        )
        row = load.r1cs.first_unsatisfied(Witness.from_ints(load.curve, w))
        if row is not None:
            broken += 1
            with pytest.raises(UnsatisfiedError, match=f"breaks constraint {row}:"):
                prover.prove(spoiled)
            break
    assert broken


def test_matrices_stay_on_the_host_with_pieces() -> None:
    """What goes up with pieces differs by the matrices alone, and the plan knows."""
    load, where = compiled("bls12_381"), device("cpu")

    def up(**how: Any) -> tuple[int, ResidentKey]:
        where.reset_counters()
        resident = ResidentKey.upload(where, load.key, **how)
        return where.counters()["bytes_up"], resident

    csr_bytes, csr = up()
    pieces_bytes, pieces = up(compiled=load.circuit, by_pieces=True)
    both_bytes, both = up(compiled=load.circuit)
    assert csr_bytes - csr.rows.nbytes == pieces_bytes - pieces.rows.nbytes
    assert both_bytes == csr_bytes + pieces.rows.nbytes
    stages = [part.plan.stages["synthesis"] for part in (csr, pieces, both)]
    assert stages[2] - stages[0] == pieces.rows.nbytes
    assert stages[2] - stages[1] >= csr.rows.nbytes


def test_a_key_as_one_piece_is_well_formed() -> None:
    for num_public in (0, 2):
        check_circuit(one_piece(key(workload("random", "toy", 200, num_public))))


def test_what_does_not_fit_is_refused() -> None:
    load, other = compiled("toy"), workload("random", "toy", 200, 2)
    with pytest.raises(ShapeError, match="num_variables"):
        Prover(key(other), device("cpu"), circuit=load.circuit)
    with pytest.raises(CurveMismatchError, match="over toy"):
        Prover(compiled("bls12_381").key, device("cpu"), circuit=load.circuit)
    plain = Prover(load.key, device("cpu"))
    with pytest.raises(ShapeError, match="compiled circuit"):
        plain.prove(load.hints)
    with pytest.raises(ShapeError, match="compiled circuit"):
        make_witness(plain._resident, load.hints, Recorder())
    prover = Prover(load.key, device("cpu"), circuit=load.circuit)
    for hints, message in (
        (Hints(load.curve, load.hints.values[1:], load.hints.inputs), "asks for"),
        (Hints(load.curve, load.hints.values), "public inputs"),
        (Hints(load.curve, load.hints.values, load.hints.values[:1]), "public inputs"),
        (compiled("bls12_381").hints, "over bls12_381"),
    ):
        with pytest.raises(InputError, match=message):
            prover.prove(hints)


def test_hints_are_checked() -> None:
    curve = get_curve("toy")
    assert Hints.from_ints(curve, [0, 1, curve.r - 1]).inputs is None
    for bad in ([curve.r], [-1]):
        with pytest.raises(RangeError):
            Hints.from_ints(curve, bad)
        with pytest.raises(RangeError):
            Hints.from_ints(curve, [], bad)
    with pytest.raises(ShapeError):
        Hints(curve, np.zeros((3, 2), np.uint64))


def recorded(name: str, hints: list[int]) -> tuple[CompiledCircuit, R1CS, Witness]:
    """A built-in circuit: its pieces, its rows, and the witness that the front end computes of hints."""
    found = find_circuit(name)
    curve = get_curve(found.curve)
    plain, computed = ConstraintSystem(curve), ConstraintSystem(curve, hints=iter(hints))
    found.record(plain)
    found.record(computed)
    return plain.compile(), plain.r1cs(), computed.witness()


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_a_built_in_circuit_from_hints_to_the_proof(spec: str) -> None:
    circuit, r1cs, witness = recorded("poseidon:2", [5, get_curve("bls12_381").r - 1])
    made = setup(r1cs, device("cpu"), toxic_waste=waste(r1cs.curve))
    hints = Hints.from_ints(r1cs.curve, [5, r1cs.curve.r - 1])
    expected = Prover(made, device("cpu")).prove(witness, blinding=blinding(r1cs.curve))
    prover = Prover(made, device(spec), circuit=circuit)
    assert prover.public_inputs(hints) == witness.public(r1cs.num_public)
    assert prover.prove(hints, blinding=blinding(r1cs.curve)) == expected


def test_a_compression_has_the_front_end_s_witness_and_rows() -> None:
    """26,000 rows, one of them a thousand terms long."""
    bits = [(i * i // 3) % 2 for i in range(512)]
    circuit, r1cs, witness = recorded("sha256:compression", bits)
    where, curve = device("cpu"), circuit.curve
    pieces = DevicePieces.upload(where, circuit, long_row=100)
    hints = where.upload(fr_from_ints(curve, bits))
    w = run_witness(where, pieces, hints)
    assert np.array_equal(where.download(from_mont(where, curve, w)), witness.values)
    for side, matrix in enumerate(r1cs.matrices.values()):
        expected = spmv(where, curve, DeviceMatrix.upload(where, matrix), w)
        assert np.array_equal(where.download(piece_spmv(where, pieces, side, w)), where.download(expected))
