"""The witness of a compiled circuit, made on the device from its hints.

Instances of one level do not depend on each other and make one launch; levels follow one another. Nothing waits.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from cuzk.device.base import Array, Device
from cuzk.errors import ShapeError
from cuzk.ops.fr_common import check_fr, check_overlap, launch
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.plan_fr import plan_elementwise
from cuzk.ops.plan_pieces import plan_witness

__all__ = ["run_witness"]


def run_witness(
    device: Device, pieces: DevicePieces, hints: Array, inputs: Array | None = None, out: Array | None = None
) -> Array:
    """Run the witness programs of all instances.

    Args:
        device: Where the pieces lie.
        pieces: The circuit.
        hints: Shape (num_hints, limbs) uint64. Form: Montgomery, < r. Those that stand for bits are 0 or 1.
        inputs: Shape (num_inputs - 1, limbs) uint64. Form: Montgomery, < r. Without ONE; wanted where some inputs are
            made by no program, and overwritten by those that are.
        out: Where to put the witness, apart from hints and inputs.
    Returns:
        out, or a new array. Shape (num_variables, limbs) uint64. Form: Montgomery, < r. ONE first.
    Raises:
        ShapeError: Wrong sizes, inputs missing, or out overlaps.
        KernelFault: A table holds an opcode that there is not (at the next synchronisation).
    Cost: one launch a level; a product a row that is solved and a term that is neither 0, 1 nor has a coefficient of
        +1 or -1; no host synchronisation.
    Checked by: tests/kernels/test_witness_program.py.
    """
    curve, limbs = pieces.curve, pieces.curve.fr.limbs
    check_fr(curve, "hints", hints, (pieces.num_hints, limbs))
    if inputs is not None:
        check_fr(curve, "inputs", inputs, (pieces.num_inputs - 1, limbs))
    elif pieces.num_given:
        raise ShapeError(
            f"{pieces.num_given} inputs are made by no program of the circuit, and none are given",
            limit=f"({pieces.num_inputs - 1}, {limbs})",
            remedy="give the public inputs with the hints",
        )
    if out is None:
        out = device.alloc((pieces.num_variables, limbs), np.uint64)
    else:
        check_fr(curve, "out", out, (pieces.num_variables, limbs))
        for name, array in (("hints", hints), ("inputs", inputs)):
            if array is not None:
                check_overlap(name, out, array, exact_allowed=False)
    has_inputs = inputs is not None
    launch(
        device, curve, "witness_begin", plan_elementwise(pieces.num_inputs if has_inputs else 1, device.limits),
        inputs=inputs if has_inputs else 0, has_inputs=int(has_inputs), w=out, num_inputs=pieces.num_inputs,
    )  # fmt: skip
    tables = pieces.tables() | {
        "groups": pieces.groups, "bundles": pieces.bundles, "operands": pieces.operands,
        "sum_terms": pieces.sum_terms, "hints": hints, "num_rows": pieces.table_rows, "w": out,
    }  # fmt: skip
    for first, end in pairwise(pieces.levels):
        launch(
            device, curve, "witness_run", plan_witness(end - first, device.limits),
            **tables, ids=pieces.ids[first:end], num_ids=end - first,
        )  # fmt: skip
    return out
