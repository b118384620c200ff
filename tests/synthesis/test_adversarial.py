"""Circuits that no gadget writes, made at random: one function in every form that the project has of a circuit.

Would catch: a term that cancels and still counts, ONE or one variable twice among a template's operands, an input that
a template within a template makes, a row without terms or with hundreds, a sum of 63 bits, a piece without rows or
without a program; in the witness, in rows written out or evaluated from pieces, in the classic synthesis, in sizes and
hash, and after a round trip through a file.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cuzk.circuits.boolean import bit_xor, enforce_bit, sha256_ch, sha256_maj
from cuzk.circuits.template import VariableBody, call_variable_template
from cuzk.closures import Setting, Tape
from cuzk.compiled_rows import variables_in
from cuzk.curves import get_curve
from cuzk.formats.pce import PceInfo, load_pce, save_pce
from cuzk.limbs import U64Array, fr_from_ints, fr_to_ints
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.witness_program import run_witness
from cuzk.pieces import CompiledCircuit, Opcode
from cuzk.synthesis import (
    ONE,
    ConstraintSystem,
    LinearCombination,
    Variable,
    circuit_hash,
    circuit_sizes,
)
from cuzk.synthesis.expand import expand
from tests.prover.support import device

Step = Callable[[ConstraintSystem, random.Random, list[Variable]], Sequence[Variable]]


def combination(cs: ConstraintSystem, rng: random.Random, known: list[Variable]) -> LinearCombination:
    """Of no, few or many terms: variables repeat, coefficients are not reduced, some cancel."""
    r, terms = cs.curve.r, LinearCombination()
    for _ in range(rng.choice([0, 1, 2, 5, 33, 200])):
        factor = rng.choice([0, 1, -1, 2, r, r - 1, r + 1, rng.randrange(r), -rng.randrange(r)])
        terms.add_term(rng.choice([*known, ONE]), factor)
    if terms and rng.random() < 0.3:
        gone = rng.choice(list(terms))
        terms.add_term(gone, -terms[gone])
    return terms


def product(cs: ConstraintSystem, rng: random.Random, known: list[Variable]) -> Sequence[Variable]:
    a, b, rest = (combination(cs, rng, known) for _ in range(3))
    return [cs.define_product(a, b, rest, sign=rng.choice([1, -1]), is_input=rng.random() < 0.3)]


def linear(cs: ConstraintSystem, rng: random.Random, known: list[Variable]) -> Sequence[Variable]:
    terms = combination(cs, rng, known)
    out = cs.define_linear(terms, is_input=rng.random() < 0.3)
    cs.enforce(terms, {ONE: 1}, {out: 1})
    return [out]


def hint(cs: ConstraintSystem, rng: random.Random, known: list[Variable]) -> Sequence[Variable]:
    return [cs.alloc() if rng.random() < 0.5 else cs.alloc_input()]


def idle(cs: ConstraintSystem, rng: random.Random, known: list[Variable]) -> Sequence[Variable]:
    """Rows without terms on one side or on any, and ends of pieces."""
    cs.enforce({}, combination(cs, rng, known), {})
    cs.enforce({}, {}, {})
    if rng.random() < 0.5:
        cs.cut()
    return []


def bits(cs: ConstraintSystem, rng: random.Random, known: list[Variable]) -> Sequence[Variable]:
    """All bits that limbs have, functions of three, and a sum of 63 bits."""
    if not known:
        return []
    count = 64 * cs.curve.fr.limbs
    first = cs.define_bits(rng.choice(known), count)
    some = [enforce_bit(cs, first + rng.randrange(count)) ^ rng.getrandbits(1) for _ in range(3)]
    some += [bit_xor(cs, some[0], some[1]), sha256_ch(cs, *some), sha256_maj(cs, *some)]
    terms: list[int] = []
    for shift in range(62):
        terms += [(some[shift % len(some)] >> 1) - 1, shift | rng.getrandbits(1) << 8]
    total = cs.define_sum(terms, rng.randrange(1 << 40), 63)
    return [total, total + 62, first + count - 1]


STEPS: tuple[Step, ...] = (product, product, linear, hint, idle, bits)


def template(seed: int, depth: int, bodies: dict[tuple[int, int], VariableBody]) -> VariableBody:
    """The body of a template, the same object for the same numbers; some call others."""

    def body(cs: ConstraintSystem, operands: Sequence[Variable]) -> list[Variable]:
        rng, known = random.Random(1_000 * depth + seed), list(operands)
        for _ in range(rng.choice([0, 1, 3, 5])):
            if depth and rng.random() < 0.4:
                inner = template(rng.randrange(3), depth - 1, bodies)
                operands = [rng.choice([*known, ONE]) for _ in range(rng.randrange(5))]
                known += call_variable_template(cs, inner, operands)
            else:
                known += rng.choice(STEPS)(cs, rng, known)
        return known[-6:]

    return bodies.setdefault((seed, depth), body)


def circuit(seed: int) -> Callable[[ConstraintSystem], None]:
    bodies: dict[tuple[int, int], VariableBody] = {}

    def record(cs: ConstraintSystem) -> None:
        rng = random.Random(seed)
        known = [cs.alloc() if rng.random() < 0.6 else cs.alloc_input() for _ in range(rng.randrange(1, 6))]
        for _ in range(6):
            operands = [rng.choice([*known, ONE]) for _ in range(rng.randrange(5))]
            body = template(100 * seed + rng.randrange(4), 2, bodies)
            known += call_variable_template(cs, body, operands)
        known += product(cs, rng, known)

    return record


def evaluated(
    kind: str, compiled: CompiledCircuit, hints: list[int], long_row: int | None
) -> tuple[U64Array, list[U64Array]]:
    """The witness by programs, and the values of all rows."""
    where = device(kind)
    pieces = DevicePieces.upload(where, compiled, long_row=long_row)
    w = run_witness(where, pieces, where.upload(fr_from_ints(compiled.curve, hints)))
    return where.download(w), [where.download(piece_spmv(where, pieces, side, w)) for side in range(3)]


@pytest.mark.parametrize(
    ("seed", "kind"), [*((seed, "cpu") for seed in range(9)), *((seed, "emu") for seed in (1, 2, 5))]
)
def test_every_form_is_the_same_circuit(seed: int, kind: str, tmp_path: Path) -> None:
    curve = get_curve(("bls12_381", "bn254", "toy")[seed % 3])
    record = circuit(seed)
    recorded = ConstraintSystem(curve)
    record(recorded)
    compiled = recorded.compile()
    plain = ConstraintSystem(curve, with_templates=False)
    record(plain)
    rng = random.Random(seed)
    hints = [rng.choice([0, 1, rng.randrange(curve.r), curve.r - 1]) for _ in range(compiled.num_hints)]
    computed = ConstraintSystem(curve, hints=hints)
    record(computed)
    r1cs, witness = computed.r1cs(), computed.witness()
    assert r1cs.first_unsatisfied(witness) is None
    path = tmp_path / "c.pce"
    save_pce(path, compiled, PceInfo("c", "0" * 64))
    rows: list[U64Array] = []
    for form in (compiled, plain.compile(), load_pce(path)[0]):
        written = expand(form)
        written.validate()
        assert written.digest() == r1cs.digest()
        assert circuit_hash(form) == circuit_hash(r1cs)
        assert circuit_sizes(form) == circuit_sizes(r1cs)
        for side, matrix in enumerate(r1cs.matrices.values()):
            marked = np.bincount(matrix.col, minlength=r1cs.num_variables) > 0
            assert np.array_equal(variables_in(form, side), marked)
        for long_row in (None, 1):
            w, abc = evaluated(kind, form, hints, long_row)
            assert fr_to_ints(curve, w) == witness.to_ints()
            rows = rows or abc
            assert all(np.array_equal(one, other) for one, other in zip(abc, rows, strict=True))
    for in_place in (False, True):
        values = fr_from_ints(curve, witness.to_ints())
        done = Tape.from_r1cs(r1cs).run(values, Setting("small1", in_place=in_place))
        for one, other in zip((done.a, done.b, done.c), rows, strict=True):
            assert np.array_equal(one, other)


def test_the_circuits_hold_every_operation_and_shape_of_row() -> None:
    opcodes: set[int] = set()
    lengths: set[int] = set()
    for seed in range(9):
        cs = ConstraintSystem(get_curve("toy"))
        circuit(seed)(cs)
        for piece in cs.compile().pieces:
            opcodes |= set(piece.program.bundles[:, 0].tolist())
            lengths |= {int(n) for side in piece.rows for n in np.diff(side.row_ptr)}
    assert opcodes == set(Opcode)
    assert {0, 1} < lengths
    assert max(lengths) > 12
