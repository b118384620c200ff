"""Random compiled circuits of every kind of operation, and the edge classes that one contains.

A sample is well formed by construction: operands are made before they are read, operations on bits read bits, the
rows that operations are solved from hold for every hint. With `free_rows` there are rows besides that need not hold.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cuzk_oracles.pieces import (
    BITS,
    HINT,
    LINEAR,
    LOGIC,
    SOLVE,
    SUM,
    WIDE,
    Circuit,
    Instance,
    Pair,
    Piece,
    Quad,
)

#: Lanes of a warp: what more lanes than that share are loops.
_WARP = 32


@dataclass
class _Draft:
    """A piece while operations are added to it."""

    rng: random.Random
    circuit: Circuit
    piece: Piece
    bits: list[int] = field(default_factory=lambda: [-1])  # locals known to be 0 or 1
    values: list[int] = field(default_factory=lambda: [-1])  # all locals
    hint_bits: list[bool] = field(default_factory=list)
    new_bits: list[int] = field(default_factory=list)

    def results(self, count: int, *, are_bits: bool) -> int:
        """Slots for the results of a bundle; the first."""
        first = self.piece.num_aux
        self.piece.num_aux += count
        made = [self.piece.num_bound + first + i for i in range(count)]
        self.values += made
        if are_bits:
            self.bits += made
            self.new_bits += made
        return first

    def terms(self, count: int) -> list[Pair]:
        """Terms over distinct variables, as many as there are at most."""
        chosen = self.rng.sample(self.values, min(count, len(self.values)))
        return [(var, self.rng.randrange(len(self.circuit.dictionary))) for var in chosen]

    def add_row(self, *sides: Sequence[Pair]) -> int:
        """A new row; its number."""
        for side, terms in enumerate(sides):
            self.piece.terms[side].extend(terms)
            self.piece.row_ptr[side].append(len(self.piece.terms[side]))
        return self.piece.num_rows - 1

    def bundle(self, opcode: int, count: int, operands: Sequence[Quad], *, are_bits: bool = False) -> None:
        """Add a bundle whose operands are given."""
        first = len(self.piece.operands)
        self.piece.operands += operands
        self.piece.bundles.append((opcode, count, first, self.results(count, are_bits=are_bits)))

    def hint(self, count: int, *, are_bits: bool) -> None:
        """Values from outside."""
        first = self.piece.num_hints
        self.piece.num_hints += count
        self.hint_bits += [are_bits] * count
        self.piece.bundles.append((HINT, count, first, self.results(count, are_bits=are_bits)))

    def logic(self) -> None:
        """Truth tables over three bits."""
        count = self.rng.choice([1, 2, _WARP - 1, _WARP])
        operands = [
            (*(self.rng.choice(self.bits) for _ in range(3)), self.rng.randrange(256)) for _ in range(count)
        ]
        self.bundle(LOGIC, count, operands, are_bits=True)  # type: ignore[arg-type]

    def sum(self, count: int = 0) -> None:
        """Bits of a sum below 2^63."""
        count = count or self.rng.choice([1, _WARP, 35, 63])
        num_terms = self.rng.choice([0, 1, 5, _WARP, 60])
        begin = len(self.piece.sum_terms)
        for _ in range(num_terms):
            code = self.rng.randrange(56) | self.rng.randrange(2) << 8
            self.piece.sum_terms.append((self.rng.choice(self.bits), code))
        constant = self.rng.choice([0, 1, self.rng.randrange(2**32), self.rng.randrange(2**62), 2**62 - 1])
        halves = [half - (half >> 31 << 32) for half in (constant % 2**32, constant >> 32)]
        self.bundle(SUM, count, [(begin, num_terms, halves[0], halves[1])], are_bits=True)

    def split(self, count: int = 0) -> None:
        """Bits of a field element."""
        count = count or self.rng.choice([1, 8, self.circuit.r.bit_length()])
        self.bundle(BITS, count, [(self.rng.choice(self.values), 0, 0, 0)], are_bits=True)

    def solve(self, count: int, lengths: Callable[[], int], opcode: int = SOLVE) -> None:
        """Rows whose result stands alone in C."""
        operands: list[Quad] = []
        for lane in range(count):
            sign = self.rng.choice([1, -1])
            own = self.piece.num_bound + self.piece.num_aux + lane
            code = self.circuit.dictionary.index(sign % self.circuit.r)
            a, b, rest = (self.terms(lengths()) for _ in range(3))
            rest.insert(self.rng.randrange(len(rest) + 1), (own, code))
            operands.append((self.add_row(a, b, rest), sign, 0, 0))
        self.bundle(opcode, count, operands)

    def wide(self, length: int = 0) -> None:
        """One row of many terms."""
        longest = length or self.rng.choice([1, _WARP, _WARP + 1, 200])
        self.solve(1, lambda: self.rng.choice([0, 1, longest, longest]), WIDE)

    def linear(self) -> None:
        """Linear combinations, each with a row that binds its result."""
        count, operands = self.rng.choice([1, 3, _WARP]), []
        one = self.circuit.dictionary.index(1)
        for lane in range(count):
            begin, terms = len(self.piece.linear_terms), self.terms(self.rng.choice([0, 1, 6]))
            self.piece.linear_terms += terms
            operands.append((begin, len(terms), 0, 0))
            own = self.piece.num_bound + self.piece.num_aux + lane
            self.add_row(terms, [(-1, one)], [(own, one)])
        self.bundle(LINEAR, count, operands)

    def input(self) -> None:
        """An own input that is a hint: its slot comes after those of the auxiliary variables, see finish()."""
        self.piece.bundles.append((HINT, 1, self.piece.num_hints, -1 - self.piece.num_inputs))
        self.values.append(-2 - self.piece.num_inputs)
        self.piece.num_hints += 1
        self.piece.num_inputs += 1
        self.hint_bits.append(False)

    def boolean_rows(self) -> None:
        """(1 - b) * b = 0 for own bits."""
        one, minus = (self.circuit.dictionary.index(v % self.circuit.r) for v in (1, -1))
        for var in self.new_bits:
            self.add_row([(-1, one), (var, minus)], [(var, one)], [])

    def finish(self) -> Piece:
        """Give the inputs their slots."""
        num_aux = self.piece.num_aux
        self.piece.bundles = [
            (op, count, first, out if out >= 0 else num_aux - 1 - out)
            for op, count, first, out in self.piece.bundles
        ]
        return self.piece


@dataclass
class Sample:
    """A compiled circuit, which of its hints must be bits, and how many inputs are given from outside."""

    circuit: Circuit
    hint_bits: list[bool]
    num_given: int

    def hints(self, pick: Callable[[], int]) -> list[int]:
        """Hints: what `pick` gives, taken mod 2 where a bit is asked for."""
        return [pick() % 2 if is_bit else pick() % self.circuit.r for is_bit in self.hint_bits]


def dictionary(r: int, rng: random.Random) -> list[int]:
    """Coefficients, none twice, 1 and -1 among them, in any order."""
    values = list(
        {1, r - 1, 2, 3, r - 2, (r + 1) // 2, *(pow(2, k, r) for k in range(2, 14, 3)), rng.randrange(1, r)}
    )
    rng.shuffle(values)
    return values


def _draft(rng: random.Random, circuit: Circuit, num_bound: int, size: int, *, free_rows: bool) -> _Draft:
    draft = _Draft(rng, circuit, Piece(num_bound=num_bound))
    half = num_bound // 2  # the first half are bits
    draft.bits += range(half)
    draft.values += range(num_bound)
    draft.hint(rng.choice([1, 2, _WARP + 1]), are_bits=False)
    draft.hint(rng.choice([1, 7]), are_bits=True)
    operations: list[Callable[[], None]] = [
        draft.logic, draft.sum, draft.split, draft.wide, draft.linear, draft.input,
        lambda: draft.solve(rng.choice([1, 3, _WARP]), lambda: rng.choice([0, 1, 1, 2, 4])),
    ]  # fmt: skip
    for _ in range(size):
        rng.choice(operations)()
    draft.boolean_rows()
    for _ in range(rng.randrange(6) if free_rows else 0):
        draft.add_row(*(draft.terms(rng.choice([0, 1, 3, 40])) for _ in range(3)))
    return draft


def sample_circuit(
    seed: int,
    r: int,
    *,
    size: int = 8,
    counts: Sequence[int] = (1, 3, 5),
    num_given: int = 2,
    free_rows: bool = True,
) -> Sample:
    """A circuit of one piece per entry of `counts`, which says how often it occurs; operands cross instances.

    Args:
        seed: Same seed, same circuit.
        r: The modulus.
        size: Operations of a piece.
        counts: Instances of each piece, 0 among them if wanted.
        num_given: Inputs that no program makes.
        free_rows: Whether there are rows that need not hold.
    """
    rng = random.Random(seed)
    circuit = Circuit(r, 1, 0, 0, 0, dictionary(r, rng), [])
    drafts = [
        _draft(rng, circuit, rng.choice([0, 2, 9]) if i else 0, rng.randint(0, size), free_rows=free_rows)
        for i in range(len(counts))
    ]
    given = Piece(num_inputs=num_given)
    circuit.pieces = [given, Piece(), *(draft.finish() for draft in drafts)]
    made: list[tuple[int, int]] = []  # (variable, level of its maker), of bits and of all
    made_bits: list[tuple[int, int]] = []
    hint_bits: list[bool] = []

    def place(piece: Piece, draft: _Draft | None) -> None:
        half = piece.num_bound // 2
        zero = (-1, -1)
        bound = [rng.choice(made_bits or [zero]) for _ in range(half)]
        bound += [rng.choice(made or [zero]) for _ in range(piece.num_bound - half)]
        level = 1 + max((level for _, level in bound), default=-1)
        at = Instance(circuit.num_rows, circuit.num_aux, circuit.num_inputs, circuit.num_hints,
                      [var for var, _ in bound], level)  # fmt: skip
        piece.instances.append(at)
        if draft is None:
            made.extend((-1 - at.input_base - j, -1) for j in range(piece.num_inputs))
        else:
            made.extend((at.aux_base + i, level) for i in range(piece.num_aux))
            made.extend((-1 - at.input_base - j, level) for j in range(piece.num_inputs))
            made_bits.extend((at.aux_base + var - piece.num_bound, level) for var in draft.new_bits)
            hint_bits.extend(draft.hint_bits)
        circuit.num_rows += piece.num_rows
        circuit.num_aux += piece.num_aux
        circuit.num_inputs += piece.num_inputs
        circuit.num_hints += piece.num_hints

    place(given, None)
    place(circuit.pieces[1], None)
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    rng.shuffle(places)
    for i in places:
        place(drafts[i].piece, drafts[i])
    return Sample(circuit, hint_bits, num_given)


def classes(circuit: Circuit) -> Counter[str]:
    """How often each edge class (C) occurs."""
    hits: Counter[str] = Counter()
    for piece in circuit.pieces:
        count = len(piece.instances)
        hits["C.no_instance"] += count == 0
        hits["C.one_instance"] += count == 1
        hits["C.instances"] += count > 1
        hits["C.empty_piece"] += not piece.bundles and not piece.num_rows and count > 0
        hits["C.own_input"] += piece.num_inputs > 0
        hits["C.bound_input"] += sum(var < 0 for at in piece.instances for var in at.bindings)
        hits["C.levels"] += len({at.level for at in piece.instances}) > 1
        lengths = [len(piece.row(side, i)) for side in range(3) for i in range(piece.num_rows)]
        hits["C.empty_row"] += lengths.count(0)
        hits["C.long_row"] += sum(n > _WARP for n in lengths)
        for opcode, lanes, first, _ in piece.bundles:
            ops = piece.operands[first : first + (1 if opcode in (SUM, BITS) else lanes)]
            name = ("", "logic", "sum", "bits", "solve", "wide", "linear", "hint")[opcode]
            hits[f"C.{name}"] += 1
            hits["C.one_lane"] += lanes == 1
            hits["C.full_warp"] += lanes == _WARP
            if opcode == LOGIC:
                hits["C.operand_one"] += sum(-1 in op[:3] for op in ops)
            if opcode == SUM:
                hits["C.sum_63"] += lanes == 63
                hits["C.sum_negated"] += any(
                    code >> 8 for _, code in piece.sum_terms[ops[0][0] :][: ops[0][1]]
                )
                hits["C.sum_empty"] += ops[0][1] == 0
            if opcode in (SOLVE, WIDE):
                hits["C.minus"] += sum(op[1] < 0 for op in ops)
    return hits
