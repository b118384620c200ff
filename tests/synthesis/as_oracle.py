"""A compiled circuit as its oracle reads it."""

from __future__ import annotations

from cuzk_oracles import pieces as oracle

from cuzk.limbs import fr_to_ints
from cuzk.pieces import CompiledCircuit, Instances, Piece


def as_oracle(circuit: CompiledCircuit) -> oracle.Circuit:
    """All tables as lists of plain ints."""
    return oracle.Circuit(
        circuit.curve.r,
        circuit.num_inputs,
        circuit.num_aux,
        circuit.num_rows,
        circuit.num_hints,
        fr_to_ints(circuit.curve, circuit.dictionary),
        [_piece(piece) for piece in circuit.pieces],
    )


def _piece(piece: Piece) -> oracle.Piece:
    a, b, c = piece.rows
    program = piece.program
    return oracle.Piece(
        piece.num_bound,
        piece.num_inputs,
        piece.num_aux,
        piece.num_hints,
        (a.row_ptr.tolist(), b.row_ptr.tolist(), c.row_ptr.tolist()),
        tuple(list(zip(side.var.tolist(), side.coeff.tolist(), strict=True)) for side in piece.rows),  # type: ignore[arg-type]
        [tuple(row) for row in program.bundles.tolist()],
        [tuple(row) for row in program.operands.tolist()],
        [tuple(row) for row in program.sum_terms.tolist()],
        [tuple(row) for row in program.linear_terms.tolist()],
        _instances(piece.instances),
    )


def _instances(table: Instances) -> list[oracle.Instance]:
    columns = (table.row_base, table.aux_base, table.input_base, table.hint_base, table.bindings, table.level)
    return [oracle.Instance(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
