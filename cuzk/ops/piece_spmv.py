"""A w, B w, C w of a compiled circuit, whose matrices are never there as a whole."""

from __future__ import annotations

import numpy as np

from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError
from cuzk.ops.fr_common import check_fr, check_overlap, launch
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.plan_fr import plan_elementwise
from cuzk.ops.plan_pieces import plan_piece_long, plan_piece_rows

__all__ = ["piece_spmv"]


def piece_spmv(
    device: Device,
    pieces: DevicePieces,
    side: int,
    w: Array,
    num_rows_out: int | None = None,
    out: Array | None = None,
    num_bound: int = 0,
) -> Array:
    """The product of one matrix with w, followed by rows that bind inputs, and padded with zeros.

    Args:
        device: Where pieces and w lie.
        pieces: The circuit.
        side: 0, 1, 2 for A, B, C.
        w: Shape (num_variables, limbs) uint64. Form: Montgomery, < r.
        num_rows_out: Length of the result, at least num_rows + num_bound (the default).
        out: Where to put the result, apart from w.
        num_bound: Rows behind the circuit's that hold w[0], w[1], ...: a key's A has them for ONE and the inputs.
    Returns:
        out, or a new array. Shape (num_rows_out, limbs) uint64. Form: Montgomery, < r. Order: of the rows.
    Raises:
        ShapeError: Sizes disagree, or out overlaps w.
    Cost: an fr_add a term, and one fr_mul where neither value nor coefficient is a unit; no host synchronisation.
    Checked by: tests/kernels/test_piece_spmv.py.
    """
    curve, limbs = pieces.curve, pieces.curve.fr.limbs
    check_fr(curve, "w", w, (pieces.num_variables, limbs))
    least = pieces.num_rows + num_bound
    num_rows_out = least if num_rows_out is None else num_rows_out
    if not 0 <= num_bound <= pieces.num_variables or num_rows_out < least or side not in (0, 1, 2):
        raise ShapeError(
            f"matrix {side} with {num_bound} rows that bind inputs, in {num_rows_out} rows",
            limit=f"matrix 0 to 2, at least {least} rows for the circuit's and those, at most one for each variable",
        )
    if out is None:
        out = device.alloc((num_rows_out, limbs), np.uint64)
    else:
        check_fr(curve, "out", out, (num_rows_out, limbs))
        check_overlap("w", out, w, exact_allowed=False)
    rest = num_rows_out - pieces.num_rows
    launch(
        device, curve, "piece_rest", plan_elementwise(rest, device.limits),
        w=w, num_bound=num_bound, out=out[pieces.num_rows :], n=rest,
    )  # fmt: skip
    common = pieces.tables(side) | {"w": w, "out": out}
    launch(
        device, curve, "piece_rows", plan_piece_rows(len(pieces.tiles), device.limits),
        **common, tiles=pieces.tiles, num_tiles=len(pieces.tiles), tile_rows=pieces.tile_rows, long_row=pieces.long_row,
    )  # fmt: skip
    long_rows = pieces.long_rows[side]
    launch(
        device, curve, "piece_long_rows", plan_piece_long(len(long_rows), device.limits),
        **common, rows=long_rows, num_long=len(long_rows),
    )  # fmt: skip
    return out
