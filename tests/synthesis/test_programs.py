"""Compiled circuits against the front end's plain values: programs, levels, rows written out.

Would catch: an operation with a wrong table, sign, shift or operand; lanes of a bundle that need each other; a level
too low for what an instance reads; an instance bound to another's variable, hint or input; pieces taken to be equal
that are not; a term or row that gets lost when pieces are written out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from cuzk_oracles import pieces as oracle

from cuzk.circuits.boolean import Bit, alloc_bit, alloc_bits, bit_and, bit_not, bit_xor, sha256_ch, sha256_maj
from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.hashes import message_hints
from cuzk.circuits.multipack import pack_bits, pack_into_inputs
from cuzk.circuits.number import expose, insert, number_to_bits, pick
from cuzk.circuits.por import PorCircuit
from cuzk.circuits.template import call_template, call_variable_template
from cuzk.circuits.uint32 import MultiEq, constant_word, word_sum
from cuzk.circuits.vanilla.merkle import HASHERS, build_tree
from cuzk.curves import get_curve
from cuzk.errors import InternalError, ShapeError
from cuzk.pieces import CompiledCircuit, Opcode
from cuzk.synthesis import ONE, ConstraintSystem, Variable, circuit_hash, circuit_sizes
from cuzk.synthesis.expand import expand, matrix_chunks
from cuzk.synthesis.program import LANES
from tests.synthesis.as_oracle import as_oracle

BLS, TOY = get_curve("bls12_381"), get_curve("toy")

Record = Callable[[ConstraintSystem], object]


def elements(seed: int, count: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(BLS.r) for _ in range(count)]


def por_hints(name: str) -> Iterator[int]:
    circuit = PorCircuit.parse(name)
    tree = build_tree(HASHERS[circuit.hasher], circuit.shape, elements(1, circuit.num_leaves))
    return circuit.hints(tree.prove(circuit.num_leaves - 2))


#: Name of a built-in circuit -> its hints.
BUILT_IN: dict[str, Callable[[], Sequence[int] | Iterator[int]]] = {
    "sha256:compression": lambda: message_hints(random.Random(1).randbytes(64)),
    **{f"poseidon:{n}": lambda n=n: elements(n, n) for n in (2, 4, 8, 11)},  # type: ignore[misc]
    **{
        name: lambda name=name: por_hints(name)  # type: ignore[misc]
        for name in (
            "por:poseidon:8-4-2:64:public",
            "por:poseidon:2-0-0:8:private",
            "por:sha256:2-0-0:2:public",
        )
    },
}


def check(record: Record, hints: Sequence[int], seed: int = 0) -> CompiledCircuit:
    """The programs make the witness that plain values make, in any order that levels allow; it satisfies the rows."""
    recorded, computed = ConstraintSystem(BLS), ConstraintSystem(BLS, hints=hints)
    record(recorded)
    record(computed)
    circuit, r1cs, witness = recorded.compile(), computed.r1cs(), computed.witness()
    plain = as_oracle(circuit)
    assert (circuit.num_hints, circuit.num_variables) == (len(hints), r1cs.num_variables)
    rng = random.Random(seed)
    rng.shuffle(plain.pieces)
    for piece in plain.pieces:
        rng.shuffle(piece.instances)
    assert oracle.run(plain, list(hints)) == witness.to_ints()
    assert r1cs.first_unsatisfied(witness) is None
    written = recorded.r1cs()
    written.validate()
    assert written.digest() == r1cs.digest()
    assert circuit_hash(circuit) == circuit_hash(written) == circuit_hash(r1cs)
    assert circuit_sizes(circuit) == circuit_sizes(r1cs)
    return circuit


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_circuits(name: str) -> None:
    check(find_circuit(name).record, list(BUILT_IN[name]()))


def test_rows_written_out_are_the_oracle_s() -> None:
    """Term by term, on a circuit with nested templates, inputs and repeated pieces."""
    circuit = find_circuit("por:poseidon:8-4-2:64:public")
    cs = ConstraintSystem(BLS)
    circuit.record(cs)
    plain, r1cs = as_oracle(cs.compile()), cs.r1cs()
    r1cs.validate()
    for side, matrix in enumerate(r1cs.matrices.values()):
        assert [sorted(row) for row in plain.expanded(side)] == [
            matrix.row(i) for i in range(r1cs.num_constraints)
        ]


def mixed(cs: ConstraintSystem, bits: Sequence[Bit]) -> list[Bit]:
    """Every kind of operation, on operands of all forms; makes inputs, takes hints."""
    a, b, c, d = bits
    chosen = sha256_ch(cs, a, b, c)
    voted = sha256_maj(cs, chosen, c, bit_not(d))
    packed = pack_bits(cs, [a, b, voted, c, d])
    secret = cs.alloc()
    picked = pick(cs, chosen, packed, secret)
    exposed = expose(cs, picked)
    low = number_to_bits(cs, call_variable_template(cs, squares, [picked, exposed, ONE, picked])[1])[:3]
    with MultiEq(cs) as equations:
        word = [bit_not(bit) for bit in low] + [0] * 29
        total = word_sum(equations, [word, constant_word(0x80000001), [*bits, *low] + [1] * 25])
    return [voted, bit_not(a), bit_xor(cs, b, d), bit_and(cs, chosen, total[0]), total[31]]


def squares(cs: ConstraintSystem, variables: Sequence[Variable]) -> list[Variable]:
    """Products of inputs and auxiliary variables, one of them an input; results of every kind."""
    x, public, one, _ = variables
    square = cs.define_product({x: 1, one: 2}, {public: -1}, {x: 5, ONE: 1}, sign=-1)
    product = cs.define_product({square: 1}, {x: 3}, is_input=True)
    given = cs.alloc_input()
    total = cs.define_linear({product: 7, given: -1, square: 1, ONE: 2})
    cs.enforce({total: 1}, {ONE: 1}, {product: 7, given: -1, square: 1, ONE: 2})
    return [product, total, x, public, one]


def outer(cs: ConstraintSystem, bits: Sequence[Bit]) -> list[Bit]:
    """Nested use with operands in other orders."""
    first = call_template(cs, mixed, bits)
    pack_into_inputs(cs, [*first, alloc_bit(cs)])
    second = call_template(cs, mixed, [first[3], bits[0], first[0], first[0]])
    return [*second[:2], *first[3:]]


def random_circuit(seed: int) -> Record:
    """Uses of templates with operands of all forms, from variables, results of other uses and constants."""

    def record(cs: ConstraintSystem) -> None:
        rng = random.Random(seed)
        known = [0, 1, *alloc_bits(cs, 3)]
        for _ in range(6):
            operands = [rng.choice(known) ^ rng.getrandbits(1) for _ in range(4)]
            known += call_template(cs, rng.choice((mixed, outer)), operands)
            if rng.random() < 0.5:
                known.append(bit_xor(cs, rng.choice(known), known[-1]))

    return record


def fitting_hints(record: Record, seed: int) -> list[int]:
    """Bits where a row demands them, else any element: one run with ones shows which hints become bits."""
    cs = ConstraintSystem(BLS)
    record(cs)
    count = cs.compile().num_hints
    hints = elements(seed, count)
    plain = as_oracle(cs.compile())
    makers = {}
    for piece in plain.pieces:
        for at in piece.instances:
            for opcode, lanes, first, out in piece.bundles:
                for lane in range(lanes if opcode == oracle.HINT else 0):
                    column = plain.column(piece, at, piece.result(out + lane))
                    makers[column] = at.hint_base + first + lane
    for row in zip(*(plain.expanded(side) for side in range(3)), strict=True):
        a, b, c = row
        if not c and len(a) == 2 and len(b) == 1 and b[0][0] in makers:
            hints[makers[b[0][0]]] &= 1
    return hints


@pytest.mark.parametrize("seed", range(6))
def test_random_circuits(seed: int) -> None:
    record = random_circuit(seed)
    circuit = check(record, fitting_hints(record, seed), seed)
    opcodes = {int(opcode) for piece in circuit.pieces for opcode in piece.program.bundles[:, 0]}
    assert opcodes == set(Opcode) - {Opcode.WIDE}


def test_without_templates_programs_are_the_same_function() -> None:
    record = random_circuit(3)
    hints = fitting_hints(record, 3)
    plain = ConstraintSystem(BLS, with_templates=False)
    record(plain)
    circuit = plain.compile()
    assert len(circuit.pieces) == 1
    computed = ConstraintSystem(BLS, hints=hints)
    record(computed)
    assert oracle.run(as_oracle(circuit), hints) == computed.witness().to_ints()


def test_bundles_are_full_where_they_can_be() -> None:
    """SHA-256 works on words: nearly all lanes of its logic are used, and no bundle has more than 32."""
    cs = ConstraintSystem(BLS)
    find_circuit("sha256:compression").record(cs)
    bundles = cs.compile().pieces[1].program.bundles
    logic = bundles[bundles[:, 0] == Opcode.LOGIC]
    assert logic[:, 1].max() == LANES
    assert logic[:, 1].mean() > 27
    assert len(bundles) < 900


def test_equal_code_is_one_piece_and_levels_count_what_programs_need() -> None:
    """A chain of three squarings by the same code, then a row that mentions all of them: it needs none to run."""
    cs = ConstraintSystem(TOY)
    chain = [cs.alloc()]
    for _ in range(3):
        cs.cut()
        chain.append(cs.define_product({chain[-1]: 1}, {chain[-1]: 1}))
    cs.cut()
    hint = cs.alloc()
    cs.enforce(dict.fromkeys(chain, 1), {ONE: 0}, {hint: 0})
    source, square, last = cs.compile().pieces
    assert square.instances.level.tolist() == [1, 2, 3]
    assert square.instances.bindings[:, 0].tolist() == [0, 1, 2]
    assert (source.instances.level.tolist(), last.instances.level.tolist()) == ([0], [0])
    assert last.num_bound == 4  # coefficients of zero are no terms, so their variables are not bound
    assert [len(side.var) for side in last.rows] == [4, 0, 0]


def test_inputs_that_templates_make_are_bound_and_ordered() -> None:
    """A chain of squarings whose results are all inputs, each an operand of the next."""

    def square(cs: ConstraintSystem, operands: Sequence[Variable]) -> list[Variable]:
        (x,) = operands
        return [cs.define_product({x: 1}, {x: 1}, is_input=True)]

    def record(cs: ConstraintSystem) -> None:
        chain = [cs.alloc()]
        for _ in range(4):
            chain += call_variable_template(cs, square, chain[-1:])
        assert chain == [0, -2, -3, -4, -5]

    squares_of = check(record, [3]).pieces[1].instances
    assert squares_of.bindings[:, 0].tolist() == [0, -2, -3, -4]
    assert squares_of.level.tolist() == [1, 2, 3, 4]


def test_a_block_may_take_one_which_nobody_makes() -> None:
    cs = ConstraintSystem(TOY)
    child = cs.child(1)
    child.define_product({0: 1, ONE: 2}, {0: 2})
    cs.alloc()
    cs.insert(child.block(), [ONE])
    circuit = cs.compile()
    assert [piece.instances.level.tolist() for piece in circuit.pieces] == [[0], [0]]
    assert oracle.run(as_oracle(circuit), [5]) == [1, 5, 6]


def test_pieces_differ_where_coefficients_or_operations_do() -> None:
    cs = ConstraintSystem(TOY)
    bits = [cs.alloc() for _ in range(2)]
    for table in (0b0110, 0b1000, 0b0110):
        cs.cut()
        cs.define_logic(table * 0b10001, *bits)
    for factor in (2, 3, 2):
        cs.cut()
        cs.define_linear({bits[0]: factor})
    assert [len(piece.instances) for piece in cs.compile().pieces] == [1, 2, 1, 2, 1]


def test_the_dictionary_has_what_is_used_in_rising_order() -> None:
    cs = ConstraintSystem(TOY)
    x = cs.alloc()
    cs.enforce({x: 9}, {x: 0, ONE: TOY.r}, {x: -1})
    y = cs.define_linear({x: 4})
    cs.enforce({y: 1}, {}, {})
    circuit = cs.compile()
    assert as_oracle(circuit).dictionary == [1, 4, 9, TOY.r - 1]
    assert circuit.dictionary.dtype == np.uint64


def test_insertion_compiles_to_few_pieces() -> None:
    """Levels of a path share the piece of their choices."""
    cs = ConstraintSystem(BLS)
    node = cs.alloc()
    for _ in range(5):
        cs.cut()
        bits, others = alloc_bits(cs, 3), [cs.alloc() for _ in range(7)]
        node = insert(cs, node, bits, others)[3]
    assert [len(piece.instances) for piece in cs.compile().pieces] == [1, 5]


def test_a_variable_bound_twice_is_refused_when_rows_are_written_out() -> None:
    """Recording never does it; a damaged file might."""
    cs = ConstraintSystem(TOY)
    x, y = cs.alloc(), cs.alloc()
    cs.cut()
    cs.enforce({x: 1, y: 1}, {}, {})
    circuit = cs.compile()
    circuit.pieces[1].instances.bindings[:] = x
    with pytest.raises(ShapeError, match="a variable twice"):
        expand(circuit)


def test_what_is_refused() -> None:
    cs = ConstraintSystem(TOY)
    cs.define_linear({0: 1})  # itself
    with pytest.raises(InternalError, match="reads what is made after it"):
        cs.compile()
    late = ConstraintSystem(TOY)
    late.define_linear({1: 1})
    late.cut()
    late.alloc()
    with pytest.raises(ShapeError, match="allocated after it"):
        late.compile()
    with pytest.raises(ShapeError, match="records no pieces"):
        ConstraintSystem(TOY, with_values=True).compile()
    with pytest.raises(InternalError, match="without values"):
        ConstraintSystem(TOY)._known({})


@pytest.mark.parametrize(("others", "opcode"), [(9, Opcode.SOLVE), (10, Opcode.WIDE)])
def test_rows_of_more_than_twelve_terms_are_wide(others: int, opcode: Opcode) -> None:
    """Two factors and the result count too."""
    cs = ConstraintSystem(TOY)
    x, *rest = (cs.alloc() for _ in range(1 + others))
    cs.define_product({x: 1}, {x: 1}, dict.fromkeys(rest, 2))
    (piece,) = cs.compile().pieces
    codes = set(piece.program.bundles[:, 0].tolist())
    assert opcode in codes
    assert not codes & ({Opcode.SOLVE, Opcode.WIDE} - {opcode})


def test_rows_come_in_parts_that_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parts, each with further instances of the same pieces: together they are the matrices."""
    monkeypatch.setattr("cuzk.synthesis.expand._ROWS_AT_A_TIME", 400)
    circuit = ConstraintSystem(BLS)
    find_circuit("por:poseidon:2-0-0:64:private").record(circuit)
    compiled, r1cs = circuit.compile(), circuit.r1cs()
    parts = list(matrix_chunks(compiled))
    assert len(parts) >= 3
    for side, matrix in enumerate(r1cs.matrices.values()):
        rows = [part[side].row(i) for part in parts for i in range(part[side].num_rows)]
        assert rows == [matrix.row(i) for i in range(r1cs.num_constraints)]
