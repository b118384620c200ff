"""Compiled circuits: the witness that their programs make, and the rows of A, B, C over it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from cuzk_oracles import pieces as oracle
from cuzk_oracles import sample_pieces

from cuzk.curves import Curve, get_curve
from cuzk.device import Device
from cuzk.limbs import fr_from_ints
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.witness_program import run_witness
from cuzk.pieces import CompiledCircuit, Instances, LocalRows, Piece, Program
from cuzk_fuzz.batch import Batch, Rows, Scope, ints_as_hex, ints_from_hex
from cuzk_fuzz.choices import Choices
from cuzk_fuzz.classes import field_classes
from cuzk_fuzz.subjects import CURVES


def _table(rows: Sequence[Sequence[int]], columns: int) -> Any:
    return np.array(rows, np.int64).reshape(-1, columns).astype(np.int32)


def _piece(piece: oracle.Piece) -> Piece:
    rows = tuple(
        LocalRows(
            np.array(pointers, np.uint32),
            np.array([var for var, _ in terms], np.int32),
            np.array([code for _, code in terms], np.uint32),
        )
        for pointers, terms in zip(piece.row_ptr, piece.terms, strict=True)
    )
    at = piece.instances
    names = ("row_base", "aux_base", "input_base", "hint_base")
    bases = {name: np.array([getattr(i, name) for i in at], np.uint64) for name in names}
    bindings = np.array([i.bindings for i in at], np.int32).reshape(len(at), piece.num_bound)
    return Piece(
        piece.num_bound, piece.num_inputs, piece.num_aux, piece.num_hints, (rows[0], rows[1], rows[2]),
        Program(
            _table(piece.bundles, 4), _table(piece.operands, 4), _table(piece.sum_terms, 2),
            _table(piece.linear_terms, 2),
        ),
        Instances(**bases, bindings=bindings, level=np.array([i.level for i in at], np.uint32)),
    )  # fmt: skip


def compiled(circuit: oracle.Circuit, curve: Curve) -> CompiledCircuit:
    """The oracle's circuit as the prover takes it."""
    return CompiledCircuit(
        curve, circuit.num_inputs, circuit.num_aux, circuit.num_rows, circuit.num_hints,
        fr_from_ints(curve, circuit.dictionary), tuple(map(_piece, circuit.pieces)),
    )  # fmt: skip


def _from_json(data: Mapping[str, Any]) -> oracle.Circuit:
    fields = dict(data)
    fields["r"], fields["dictionary"] = int(data["r"], 16), ints_from_hex(data["dictionary"])
    fields["pieces"] = [
        oracle.Piece(**{
            **piece,
            "terms": tuple([(var, code) for var, code in side] for side in piece["terms"]),
            "row_ptr": tuple(piece["row_ptr"]),
            "instances": [oracle.Instance(**at) for at in piece["instances"]],
            **{name: [tuple(row) for row in piece[name]]
               for name in ("bundles", "operands", "sum_terms", "linear_terms")},
        })
        for piece in data["pieces"]
    ]  # fmt: skip
    return oracle.Circuit(**fields)


def _simpler(values: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All zeros, all ones, then one by one."""
    for other in (0, 1):
        yield (other,) * len(values)
    for i, value in enumerate(values):
        for other in {0, 1} - {value}:
            yield (*values[:i], other, *values[i + 1 :])


@dataclass(frozen=True, eq=False)
class PiecesBatch(Batch):
    """One circuit with one set of hints.

    Attributes:
        subject: The curve.
        circuit: The circuit.
        hints: In order, standard form; 0 or 1 where `bits` says so.
        bits: Which hints stand for bits.
        inputs: The inputs that no program makes.
        long_row: Terms above which a row gets a warp, or None for the plan's.
        num_bound: Rows behind A's that bind inputs.
        padding: Zero rows after those.
    """

    target: ClassVar[str] = "pieces"
    subject: str
    circuit: oracle.Circuit
    hints: tuple[int, ...]
    bits: tuple[bool, ...]
    inputs: tuple[int, ...]
    long_row: int | None = None
    num_bound: int = 0
    padding: int = 0
    op: str = "pieces"

    @classmethod
    def decode(cls, choices: Choices, scope: Scope) -> Self:
        """Some pieces of some operations, a few instances each."""
        curve = get_curve(choices.pick([n for n in CURVES if f"witness_run_{n}_fr" in scope.kernels]))
        counts = [choices.pick((0, 1, 2, 5)) for _ in range(choices.between(1, 3))]
        sample = sample_pieces.sample_circuit(
            choices.below(1 << 32), curve.r, size=choices.between(0, 8), counts=counts,
            num_given=choices.below(3),
        )  # fmt: skip
        known = field_classes(curve.fr).groups
        numbers = {"K.0": [0], "K.1": [1], "K.r-1": [curve.r - 1]}
        numbers |= {name: [curve.fr.from_mont(v) for v in values] for name, values in known.items()}
        hints = sample.hints(lambda: choices.pick_class(numbers))
        inputs = tuple(choices.pick_class(numbers) for _ in range(sample.num_given))
        long_row = choices.between(0, 40) if choices.one_in(2) else None
        num_bound = choices.below(sample.circuit.num_inputs + 1)
        return cls(
            curve.name, sample.circuit, tuple(hints), tuple(sample.hint_bits), inputs, long_row, num_bound,
            choices.below(3),
        )  # fmt: skip

    @property
    def curve(self) -> Curve:
        """The curve."""
        return get_curve(self.subject)

    @property
    def _num_rows(self) -> int:
        return self.circuit.num_rows + self.num_bound + self.padding

    @property
    def num_cases(self) -> int:
        """Variables and the rows of three matrices."""
        return self.circuit.num_inputs + self.circuit.num_aux + 3 * self._num_rows

    @property
    def words_per_element(self) -> int:
        """A scalar."""
        return self.curve.fr.limbs

    def answers(self, device: Device) -> Rows:
        """Witness, then A w, B w, C w."""
        curve = self.curve
        pieces = DevicePieces.upload(device, compiled(self.circuit, curve), long_row=self.long_row)
        rest = self.circuit.num_inputs - 1 - len(self.inputs)
        inputs = device.upload(fr_from_ints(curve, [*self.inputs, *[5] * rest]))
        w = run_witness(device, pieces, device.upload(fr_from_ints(curve, self.hints)), inputs)
        parts = [w] + [
            piece_spmv(device, pieces, side, w, self._num_rows, num_bound=self.num_bound if side == 0 else 0)
            for side in range(3)
        ]
        return np.concatenate([np.asarray(device.download(part)) for part in parts])

    def expected(self) -> Rows:
        """Entry by entry on ints."""
        w = oracle.run(self.circuit, self.hints, self.inputs)
        values = list(w)
        for side in range(3):
            bound = w[: self.num_bound] if side == 0 else [0] * self.num_bound
            values += [*oracle.piece_rows(self.circuit, side, w), *bound, *[0] * self.padding]
        return fr_from_ints(self.curve, values)

    def classes(self) -> Counter[str]:
        """What the tables hold."""
        return sample_pieces.classes(self.circuit)

    def keep(self, indices: Sequence[int]) -> Self:
        """Itself: variables depend on one another."""
        del indices
        return self

    @property
    def size(self) -> tuple[int, ...]:
        """Padding, terms of rows that are not solved, bits set."""
        terms = sum(len(side) for piece in self.circuit.pieces for side in piece.terms)
        return self.padding + self.num_bound, terms, sum(v.bit_count() for v in (*self.hints, *self.inputs))

    def smaller(self) -> Iterator[Self]:
        """No further rows, and zeros and ones among the hints."""
        if self.padding or self.num_bound:
            yield replace(self, padding=0, num_bound=0)
        for values in _simpler(self.hints):
            yield replace(self, hints=values)
        for values in _simpler(self.inputs):
            yield replace(self, inputs=values)

    def to_json(self) -> dict[str, Any]:
        """All tables; numbers in standard form."""
        circuit = json.loads(json.dumps(asdict(self.circuit)))  # lists for tuples
        circuit["r"], circuit["dictionary"] = hex(self.circuit.r), ints_as_hex(self.circuit.dictionary)
        return {
            "target": self.target, "subject": self.subject, "op": self.op, "form": "standard",
            "long_row": self.long_row, "num_bound": self.num_bound, "padding": self.padding,
            "inputs": {
                "circuit": circuit, "hints": ints_as_hex(list(self.hints)), "bits": list(self.bits),
                "inputs": ints_as_hex(list(self.inputs)),
            },
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of to_json."""
        given = data["inputs"]
        return cls(
            data["subject"], _from_json(given["circuit"]), tuple(ints_from_hex(given["hints"])),
            tuple(given["bits"]), tuple(ints_from_hex(given["inputs"])), data["long_row"], data["num_bound"],
            data["padding"],
        )  # fmt: skip
