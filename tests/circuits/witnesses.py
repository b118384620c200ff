"""Circuits with the witness that hints make: in the plain Python of the front end, and by compiled programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cuzk.circuits.catalogue import compiled_circuit
from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.limbs import fr_from_ints, fr_to_ints
from cuzk.ops.fr_vec import first_mismatch
from cuzk.ops.piece_spmv import piece_spmv
from cuzk.ops.piece_tables import DevicePieces
from cuzk.ops.witness_program import run_witness
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS
from cuzk.synthesis import ConstraintSystem
from cuzk.witness import Witness


def with_hints(
    record: Callable[[ConstraintSystem], object], hints: Iterable[int]
) -> tuple[list[int], R1CS, Witness]:
    """The public inputs without ONE, the rows, the witness; all computed as ints."""
    cs = ConstraintSystem(get_curve("bls12_381"), hints=hints)
    record(cs)
    assert cs.inputs is not None
    return cs.inputs[1:], cs.r1cs(), cs.witness()


@cache
def _on_cpu(name: str) -> tuple[CompiledCircuit, DevicePieces]:
    circuit = compiled_circuit(name)
    return circuit, DevicePieces.upload(get_device("cpu"), circuit)


def compiled_witness(name: str, hints: Iterable[int]) -> tuple[list[int], int | None, NDArray[np.uint64]]:
    """By a circuit's compiled programs, in bulk.

    Args:
        name: Of a built-in circuit.
        hints: As many as it takes.

    Returns:
        The public inputs without ONE; the first row that does not hold, or None; the witness (Montgomery).
    """
    circuit, pieces = _on_cpu(name)
    device, curve = get_device("cpu"), circuit.curve
    values = list(hints)
    assert len(values) == circuit.num_hints
    w = run_witness(device, pieces, device.upload(fr_from_ints(curve, values)))
    a, b, c = (piece_spmv(device, pieces, side, w) for side in range(3))
    broken = first_mismatch(device, curve, a, b, c)
    witness = device.download(w)
    return fr_to_ints(curve, witness[1 : circuit.num_inputs]), broken, witness
