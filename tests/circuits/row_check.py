"""Whether a witness satisfies a large circuit: on the cpu device, in a second per some million rows."""

from __future__ import annotations

from cuzk.device import get_device
from cuzk.ops.fr_vec import first_mismatch, to_mont
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.relation import R1CS
from cuzk.witness import Witness


def first_broken(r1cs: R1CS, witness: Witness) -> int | None:
    """The first row that a witness breaks, or None."""
    device = get_device("cpu")
    w = to_mont(device, r1cs.curve, device.upload(witness.values))
    a, b, c = (
        spmv(device, r1cs.curve, DeviceMatrix.upload(device, matrix), w, r1cs.num_constraints)
        for matrix in r1cs.matrices.values()
    )
    return first_mismatch(device, r1cs.curve, a, b, c)
