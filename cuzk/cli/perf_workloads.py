"""What ``cuzk perf`` counts: fixed proofs on the emulator, gathered from their events."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cuzk.curves import Curve
    from cuzk.relation import R1CS
    from cuzk.witness import Witness

__all__ = ["SYNTHESIS", "WORKLOADS", "count_proof", "count_synthesis", "mixed_circuit", "workload_names"]

#: (curve, rows): small enough for every commit, large enough for several windows, passes and blocks.
WORKLOADS = (("bls12_381", 60), ("bn254", 60), ("bn254", 500))
#: Compiled circuits: one of products and wide rows, one of bits, sums and long rows.
SYNTHESIS = ("poseidon:8", "sha256:compression")


def mixed_circuit(curve: Curve, rows: int) -> tuple[R1CS, Witness]:
    """Bits and a chain of squares, half of the rows each, with one public output; the same on every call.

    Args:
        curve: Over whose Fr.
        rows: Constraints, at least 4.
    """
    from cuzk.relation import R1CS
    from cuzk.witness import Witness

    num_bits = rows // 2
    bits = [(i * i + i // 3) & 1 for i in range(num_bits)]
    values = [1, 0, *bits, 3]
    first_bit, x = 2, 2 + num_bits
    constraints: list[tuple[dict[int, int], dict[int, int], dict[int, int]]] = [
        ({first_bit + i: 1}, {first_bit + i: 1, 0: -1}, {}) for i in range(num_bits)
    ]
    for i in range(rows - num_bits):
        bit = first_bit + i % num_bits
        last = i == rows - num_bits - 1
        target = 1 if last else len(values)
        result = (values[x] + values[bit]) ** 2 % curve.r
        if last:
            values[1] = result
        else:
            values.append(result)
        constraints.append(({x: 1, bit: 1}, {x: 1, bit: 1}, {target: 1}))
        x = target
    return R1CS.from_rows(curve, len(values), 1, constraints), Witness.from_ints(curve, values)


def count_proof(curve_name: str, rows: int) -> dict[str, dict[str, int]]:
    """Prove once on ``emu`` and add up what each phase counted.

    Args:
        curve_name: "bls12_381" or "bn254".
        rows: Constraints of the circuit.

    Returns:
        Phase -> counter -> value, leaves of the event tree only, uploads and bytes up and down among the counters.
    """
    from cuzk.curves import get_curve
    from cuzk.device import get_device
    from cuzk.groth16 import Blinding, Prover, ToxicWaste, setup
    from cuzk.telemetry import Recorder

    curve = get_curve(curve_name)
    device = get_device("emu")
    circuit, witness = mixed_circuit(curve, rows)
    recorder = Recorder()
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(curve, 1), recorder=recorder)
    prover = Prover(key, device, recorder=recorder)
    prover.prove(witness, blinding=Blinding(7, 11), self_check=False)
    parents = {event.parent for event in recorder.events}
    figures: dict[str, dict[str, int]] = {}
    for event in recorder.events:
        if event.id in parents:
            continue
        copied = {"bytes_up": event.bytes_up, "bytes_down": event.bytes_down}
        counts = {"uploads": 0, **event.counts, **copied}  # none is a figure too: the first one is a rise
        into = figures.setdefault(event.phase, {})
        for name, value in counts.items():
            into[name] = into.get(name, 0) + value
    return figures


def count_synthesis(name: str) -> dict[str, dict[str, int]]:
    """Make the witness and a, b, c of a compiled circuit once on ``emu``.

    Args:
        name: Of a built-in circuit, all of whose inputs programs make. Its hints are bits.

    Returns:
        Phase ("witness", "spmv") -> counter -> value.
    """
    from cuzk.circuits.catalogue import compiled_circuit
    from cuzk.device import get_device
    from cuzk.limbs import fr_from_ints
    from cuzk.ops.piece_spmv import piece_spmv
    from cuzk.ops.piece_tables import DevicePieces
    from cuzk.ops.witness_program import run_witness

    device, circuit = get_device("emu"), compiled_circuit(name)
    pieces = DevicePieces.upload(device, circuit)
    hints = device.upload(fr_from_ints(circuit.curve, [(i * i // 3) & 1 for i in range(circuit.num_hints)]))
    device.reset_counters()
    w = run_witness(device, pieces, hints)
    figures = {"witness": device.counters()}
    device.reset_counters()
    for side in range(3):
        piece_spmv(device, pieces, side, w)
    figures["spmv"] = device.counters()
    return {
        phase: {key: n for key, n in counts.items() if n or key == "uploads"}
        for phase, counts in figures.items()
    }


def workload_names() -> Iterator[tuple[str, str, int]]:
    """(name, curve, rows) of every workload."""
    for curve, rows in WORKLOADS:
        yield f"mixed-{rows}-{curve}", curve, rows
