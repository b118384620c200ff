"""Phase ``synthesis``: from the witness to the values of a, b and c on the evaluation domain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cuzk.closures import Setting
from cuzk.device.base import Array
from cuzk.errors import ShapeError
from cuzk.groth16.resident import ResidentKey, Rows
from cuzk.limbs import U64Array
from cuzk.ops.fr_vec import first_mismatch, fr_mul, to_mont
from cuzk.ops.witness_program import run_witness
from cuzk.telemetry import Recorder
from cuzk.variants import resolve
from cuzk.witness import Hints

__all__ = ["evaluate", "first_unsatisfied_row", "make_witness", "upload_witness"]


def upload_witness(resident: ResidentKey, values: U64Array, recorder: Recorder) -> Array:
    """Copy a witness up and bring it into Montgomery form.

    Args:
        resident: The key.
        values: Shape (num_variables, limbs) uint64. Form: standard, < r. values[0] = 1.
        recorder: Where the phase is booked.

    Returns:
        Shape (num_variables, limbs) uint64, on the device. Form: Montgomery, < r.
    """
    with recorder.phase("witness"):
        return _upload(resident, values)


def _upload(resident: ResidentKey, values: U64Array) -> Array:
    """Values in Montgomery form on the device."""
    raw = resident.device.upload(values)
    # In place, but for devices that use the host's array as it is.
    return to_mont(resident.device, resident.curve, raw, out=None if raw is values else raw)


def make_witness(resident: ResidentKey, hints: Hints, recorder: Recorder) -> Array:
    """Run the circuit's witness programs on the device.

    Args:
        resident: The key, uploaded with its compiled circuit.
        hints: As many as the circuit asks for.
        recorder: Where the phase is booked.

    Returns:
        Shape (num_variables, limbs) uint64, on the device. Form: Montgomery, < r.

    Raises:
        ShapeError: Another number of hints or inputs; no compiled circuit.
    """
    pieces = resident.pieces
    if pieces is None:
        raise ShapeError(
            "hints make a witness only where the circuit's programs are at hand",
            remedy="give the prover the compiled circuit, or a witness instead of hints",
        )
    with recorder.phase("witness", programs=len(pieces.levels) - 1):
        inputs = None if hints.inputs is None else _upload(resident, hints.inputs)
        return run_witness(resident.device, pieces, _upload(resident, hints.values), inputs)


def evaluate(
    resident: ResidentKey, w: Array, recorder: Recorder, variants: Mapping[str, str] | None = None
) -> Rows:
    """The rows' values A w, B w, C w.

    Args:
        resident: The key.
        w: Shape (num_variables, limbs) uint64, on the device. Form: Montgomery.
        recorder: Where the phase is booked.
        variants: Every variant's value; P5 acts here, and with "closures" A1, A2, A3 and A5. None: the defaults.

    Returns:
        Shape (3, n, limbs) uint64, on the device, rows beyond the circuit's are 0; three arrays (n, limbs) where
        the key's plan wants them apart. Form: Montgomery, < r. Order: natural. Where the key has no matrix C,
        c = a o b, as it is for every satisfying witness.

    Cost: nnz(A) + nnz(B) + nnz(C) fr_mul, entries of +1 and -1 free; no host synchronisation but by "closures".
    Checked by: tests/prover/test_phases.py, tests/closures/test_prover.py.
    """
    device, curve = resident.device, resident.curve
    n = resident.domain.size
    shape = (n, curve.fr.limbs)
    abc: Rows = (
        [device.alloc(shape, np.uint64) for _ in range(3)]
        if resident.plan.rows_apart
        else device.alloc((3, *shape), np.uint64)
    )
    variants = resolve() if variants is None else variants
    if variants["P5"] == "closures":
        _rebuild(resident, w, abc, recorder, Setting.of(variants))
    else:
        with recorder.phase("spmv", P5=variants["P5"]):
            for side in range(3 if resident.rows.has_c else 2):
                resident.rows.product(side, w, abc[side])
            if not resident.rows.has_c:
                fr_mul(device, curve, abc[0], abc[1], out=abc[2])
    recorder.show(a=abc[0], b=abc[1], c=abc[2])
    return abc


def _rebuild(resident: ResidentKey, w: Array, abc: Rows, recorder: Recorder, setting: Setting) -> None:
    """Fill a, b, c by the classic synthesis, on the host in one thread, as evaluate() says."""
    device = resident.device
    tape = resident.tape
    with recorder.phase("closures", P5="closures") as span:
        done = tape.run(device.download(w), setting)
        span.tag(**done.setting.variants())
        span.add_counts(**done.counts)
        columns = (done.a, done.b) if not resident.rows.has_c else (done.a, done.b, done.c)
        for i, column in enumerate(columns):
            device.fill_zero(abc[i])
            ticket = device.stage(column, abc[i][: len(column)])
            device.wait(ticket)
            device.time_of(ticket)  # the column may go when it is up
        if not resident.rows.has_c:
            fr_mul(device, resident.curve, abc[0], abc[1], out=abc[2])


def first_unsatisfied_row(resident: ResidentKey, abc: Rows) -> int | None:
    """The least row with a * b != c, or None; also None where the key has no matrix C.

    Args:
        resident: The key.
        abc: What evaluate() returned.
    """
    if not resident.rows.has_c:
        return None
    return first_mismatch(resident.device, resident.curve, abc[0], abc[1], abc[2])
