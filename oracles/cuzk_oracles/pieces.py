"""Compiled circuits: what the tables of pieces, instances and witness programs mean, read one entry at a time.

Variables of the circuit: auxiliary i is i, input i is -1 - i, input 0 is ONE. Columns: inputs first, ONE at 0, then
the auxiliary variables. Local variables of a piece: -1 is ONE, 0 .. num_bound - 1 are bound, then come its own
auxiliary variables, and -2 - j is own input j. All numbers are in standard form.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

LOGIC, SUM, BITS, SOLVE, WIDE, LINEAR, HINT = range(1, 8)

Quad = tuple[int, int, int, int]
Pair = tuple[int, int]


@dataclass
class Instance:
    """One place where a piece occurs; bindings are variables of the circuit."""

    row_base: int
    aux_base: int
    input_base: int
    hint_base: int
    bindings: list[int]
    level: int


@dataclass
class Piece:
    """Rows of A, B, C as (pointers, (local variable, coefficient index)), the program's tables, the instances."""

    num_bound: int = 0
    num_inputs: int = 0
    num_aux: int = 0
    num_hints: int = 0
    row_ptr: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([0], [0], [0]))
    terms: tuple[list[Pair], list[Pair], list[Pair]] = field(default_factory=lambda: ([], [], []))
    bundles: list[Quad] = field(default_factory=list)
    operands: list[Quad] = field(default_factory=list)
    sum_terms: list[Pair] = field(default_factory=list)
    linear_terms: list[Pair] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)

    @property
    def num_rows(self) -> int:
        """Rows of one instance."""
        return len(self.row_ptr[0]) - 1

    def row(self, side: int, row: int) -> list[Pair]:
        """Terms of one row."""
        return self.terms[side][self.row_ptr[side][row] : self.row_ptr[side][row + 1]]

    def result(self, slot: int) -> int:
        """Local variable that a slot is."""
        return self.num_bound + slot if slot < self.num_aux else -2 - (slot - self.num_aux)


@dataclass
class Circuit:
    """A compiled circuit over F_r."""

    r: int
    num_inputs: int
    num_aux: int
    num_rows: int
    num_hints: int
    dictionary: list[int]
    pieces: list[Piece]

    def column(self, piece: Piece, instance: Instance, var: int) -> int:
        """Column of a local variable."""
        if var == -1:
            return 0
        if var < -1:
            return instance.input_base + (-2 - var)
        if var < piece.num_bound:
            bound = instance.bindings[var]
            return -1 - bound if bound < 0 else self.num_inputs + bound
        return self.num_inputs + instance.aux_base + (var - piece.num_bound)

    def expanded(self, side: int) -> list[list[tuple[int, int]]]:
        """One matrix with nothing shared: per row of the circuit (column, coefficient)."""
        rows: list[list[tuple[int, int]]] = [[] for _ in range(self.num_rows)]
        for piece in self.pieces:
            for at in piece.instances:
                for i in range(piece.num_rows):
                    rows[at.row_base + i] = [
                        (self.column(piece, at, var), self.dictionary[code])
                        for var, code in piece.row(side, i)
                    ]
        return rows


Read = Callable[[int], int]


def lane_value(
    circuit: Circuit, piece: Piece, bundle: Quad, lane: int, read: Read, hints: Sequence[int]
) -> int:
    """Value of one lane of a bundle. read: value of a local variable; hints: those of the instance."""
    opcode, _, first, out = bundle
    r = circuit.r
    if opcode == LOGIC:
        a, b, c, table = piece.operands[first + lane]
        return table >> (read(a) + 2 * read(b) + 4 * read(c)) & 1
    if opcode == SUM:
        begin, count, low, high = piece.operands[first]
        total = low % 2**32 + (high % 2**32 << 32)
        for var, code in piece.sum_terms[begin : begin + count]:
            bit = read(var) if code < 256 else 1 - read(var)
            total += bit << (code % 256)
        return total >> lane & 1
    if opcode == BITS:
        return read(piece.operands[first][0]) >> lane & 1
    if opcode in (SOLVE, WIDE):
        row, sign, _, _ = piece.operands[first + lane]
        own = piece.result(out + lane)
        a, b, c = (
            sum(circuit.dictionary[code] * read(var) for var, code in piece.row(side, row) if var != own)
            for side in range(3)
        )
        return sign * (a * b - c) % r
    if opcode == LINEAR:
        begin, count, _, _ = piece.operands[first + lane]
        terms = piece.linear_terms[begin : begin + count]
        return sum(circuit.dictionary[code] * read(var) for var, code in terms) % r
    if opcode == HINT:
        return hints[first + lane]
    raise ValueError(f"no operation has the code {opcode}")


def _places(circuit: Circuit) -> Iterator[tuple[Piece, Instance]]:
    for piece in circuit.pieces:
        for instance in piece.instances:
            yield piece, instance


def run(circuit: Circuit, hints: Sequence[int], inputs: Sequence[int] = ()) -> list[int]:
    """The witness: level by level, instance by instance, bundle by bundle. inputs: those given, ONE left out."""
    w = [1, *inputs] + [0] * (circuit.num_inputs + circuit.num_aux - 1 - len(inputs))
    for piece, at in sorted(_places(circuit), key=lambda place: place[1].level):

        def read(var: int, piece: Piece = piece, at: Instance = at) -> int:
            return w[circuit.column(piece, at, var)]

        own_hints = hints[at.hint_base : at.hint_base + piece.num_hints]
        for bundle in piece.bundles:
            values = [lane_value(circuit, piece, bundle, lane, read, own_hints) for lane in range(bundle[1])]
            for lane, value in enumerate(values):
                w[circuit.column(piece, at, piece.result(bundle[3] + lane))] = value
    return w


def run_on_demand(circuit: Circuit, hints: Sequence[int], inputs: Sequence[int] = ()) -> list[int]:
    """The same without any order: a variable's value is asked for, and its definition asks for its operands."""
    known: dict[int, int] = dict(enumerate([1, *inputs]))
    makers: dict[int, tuple[Piece, Instance, Quad, int]] = {}
    for piece, at in _places(circuit):
        for bundle in piece.bundles:
            for lane in range(bundle[1]):
                makers[circuit.column(piece, at, piece.result(bundle[3] + lane))] = (piece, at, bundle, lane)

    def operands(column: int) -> list[int]:
        """Columns that a definition reads: found by letting it read zeros."""
        piece, at, bundle, lane = makers[column]
        asked: list[int] = []

        def note(var: int) -> int:
            asked.append(circuit.column(piece, at, var))
            return 0

        lane_value(circuit, piece, bundle, lane, note, hints[at.hint_base :])
        return asked

    for wanted in makers:
        stack = [wanted]
        while stack:
            column = stack[-1]
            missing = [c for c in operands(column) if c not in known] if column not in known else []
            if missing:
                stack += missing
                continue
            stack.pop()
            if column not in known:
                piece, at, bundle, lane = makers[column]
                known[column] = lane_value(
                    circuit, piece, bundle, lane,
                    lambda var, piece=piece, at=at: known[circuit.column(piece, at, var)],  # type: ignore[misc]
                    hints[at.hint_base :],
                )  # fmt: skip
    return [known.get(column, 0) for column in range(circuit.num_inputs + circuit.num_aux)]


def piece_rows(circuit: Circuit, side: int, w: Sequence[int]) -> list[int]:
    """A w, B w or C w, through the pieces."""
    values = [0] * circuit.num_rows
    for piece, at in _places(circuit):
        for i in range(piece.num_rows):
            terms = piece.row(side, i)
            values[at.row_base + i] = (
                sum(circuit.dictionary[code] * w[circuit.column(piece, at, var)] for var, code in terms)
                % circuit.r
            )
    return values
