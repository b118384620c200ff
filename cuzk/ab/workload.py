"""What is proved: a generated circuit, a built-in one, or files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cuzk.curves import get_curve
from cuzk.device import Device
from cuzk.errors import InputError
from cuzk.keys import ProvingKey
from cuzk.relation import R1CS
from cuzk.witness import Witness

__all__ = ["Workload", "open_workload"]

_SEED = 1
_GENERATED = re.compile(r"mixed:(?:2\^(\d{1,2})|(\d{1,8}))(?::(\w+))?")
_MOST_ROWS = 1 << 24


@dataclass(frozen=True, eq=False)
class Workload:
    """A circuit, ready to be proved.

    Args:
        name: As on the command line.
        circuit: Its rows, where known.
        key: The proving key.
        witnesses: One per circuit of the call.
        files: The files that it came from, by role: key, witness, circuit.
    """

    name: str
    circuit: R1CS | None
    key: ProvingKey
    witnesses: Sequence[Witness]
    files: dict[str, Path]


def open_workload(
    name: str,
    device: Device,
    *,
    key: Path | None = None,
    witness: Path | None = None,
    circuits: int = 1,
) -> Workload:
    """Make or read a workload.

    Args:
        name: `mixed:N[:CURVE]` (half bits, half products of full width), a built-in circuit, or a .r1cs file.
        device: Where keys are made.
        key: Key of a file's circuit; made here where None.
        witness: Witness; drawn here for generated and built-in circuits.
        circuits: How many circuits a call proves.

    Raises:
        InputError: There is no such circuit, or a file's witness is missing.
    """
    from cuzk.circuits.catalogue import is_circuit_name
    from cuzk.formats import load_witness

    if circuits < 1:
        raise InputError(
            f"{circuits} circuits", where="--circuits", limit="at least 1", remedy="1 is the default"
        )
    files = {role: path for role, path in (("key", key), ("witness", witness)) if path is not None}
    if match := _GENERATED.fullmatch(name):
        circuit, one = _mixed(match)
        found = [one] * circuits
    elif is_circuit_name(name):
        circuit, found = _built_in(name, circuits if witness is None else 0)
    else:
        circuit, one = _from_file(Path(name), witness)
        found = [one] * circuits
        files["circuit"] = Path(name)
    if witness is not None:
        found = [load_witness(witness)] * circuits
    return Workload(name, circuit, _key(circuit, key, device), found, files)


def _mixed(match: re.Match[str]) -> tuple[R1CS, Witness]:
    from cuzk.cli.perf_workloads import mixed_circuit

    rows = 1 << int(match[1]) if match[1] else int(match[2])
    if not 4 <= rows <= _MOST_ROWS:
        raise InputError(
            f"a generated circuit of {rows} rows",
            where="--workload",
            limit=f"4 to {_MOST_ROWS}",
            remedy="write for example mixed:2^12",
        )
    return mixed_circuit(get_curve(match[3] or "bls12_381"), rows)


def _built_in(name: str, circuits: int) -> tuple[R1CS, list[Witness]]:
    """A built-in circuit, and a witness for each circuit of the call from its own invented values."""
    from cuzk.circuits.catalogue import build_circuit, find_circuit
    from cuzk.synthesis import ConstraintSystem

    circuit = find_circuit(name)
    curve = get_curve(circuit.curve)
    found = []
    for i in range(circuits):
        file = circuit.synthetic(f"{_SEED}-{i}".encode())
        cs = ConstraintSystem(curve, hints=circuit.hints(file, name, 0))
        circuit.record(cs)
        found.append(cs.witness())
    return build_circuit(name), found


def _from_file(path: Path, witness: Path | None) -> tuple[R1CS, Witness]:
    from cuzk.formats import load_r1cs, load_witness

    if witness is None:
        raise InputError(
            f"{path} needs a witness",
            where="--witness",
            limit="generated and built-in circuits come with one",
            remedy="give --witness W.wtns",
        )
    return load_r1cs(path), load_witness(witness)


def _key(circuit: R1CS, path: Path | None, device: Device) -> ProvingKey:
    from cuzk.formats import load_key
    from cuzk.groth16 import ToxicWaste, setup

    if path is None:
        return setup(circuit, device, toxic_waste=ToxicWaste.from_seed(circuit.curve, _SEED))
    key = load_key(path, circuit=circuit)
    key.check_circuit(circuit)
    return key
