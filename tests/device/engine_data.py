"""What the engine is measured with: vanilla proofs that nobody's sector has, and what a verifier of each one knows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from cuzk.circuits.catalogue import find_circuit
from cuzk.circuits.porep import find_porep, synthetic_file, synthetic_identity
from cuzk.circuits.stacked import StackedCircuit
from cuzk.circuits.vanilla.graph import Graph
from cuzk.circuits.vanilla.porep import porep_challenges, porep_public_inputs
from cuzk.circuits.vanilla.porep_files import read_commit1
from cuzk.curves import get_curve
from cuzk.synthesis import ConstraintSystem

__all__ = ["Sector", "make_sector", "public_inputs"]


@dataclass(frozen=True)
class Sector:
    """A job for the engine.

    Args:
        circuit: Its name.
        salt: What it was made from.
        data: The file.
        partitions: How many are in it.
    """

    circuit: str
    salt: bytes
    data: bytes
    partitions: int


def _stacked(circuit: str) -> StackedCircuit | None:
    """The PoRep of a name; None where it is another circuit, whose files have one partition."""
    family = circuit.partition(":")[0]
    if family == "porep":
        return find_porep(circuit)
    return StackedCircuit.parse(circuit) if family == "stacked" else None


_read = lru_cache(maxsize=1)(read_commit1)


def make_sector(circuit: str, salt: bytes, partitions: int) -> list[Sector]:
    """So many different partitions: of one sector where the circuit's files have several, else in as many files.

    Cost: 2 s of a core for a partition of 32 GiB.
    """
    stacked = _stacked(circuit)
    if stacked is not None:
        return [Sector(circuit, salt, synthetic_file(stacked, salt, partitions), partitions)]
    salts = [salt + b"/%d" % i for i in range(partitions)]
    return [Sector(circuit, one, find_circuit(circuit).synthetic(one), 1) for one in salts]


def public_inputs(sector: Sector, partition: int) -> list[int]:
    """What a verifier knows of a partition, ONE not included: by the rules for PoRep, else from the circuit's rows."""
    stacked = _stacked(sector.circuit)
    if stacked is None:
        found = find_circuit(sector.circuit)
        cs = ConstraintSystem(get_curve(found.curve), hints=found.hints(sector.data, None, partition))
        found.record(cs)
        return (cs.inputs or [])[1:]
    identity, seed = synthetic_identity(sector.salt)
    graph = Graph(stacked.num_nodes, identity.porep_id, identity.version)
    output = _read(sector.data)
    challenges = porep_challenges(output.replica_id, seed, stacked.num_nodes, stacked.challenges, partition)
    return porep_public_inputs(
        graph, output.replica_id, challenges, comm_d=output.comm_d, comm_r=output.comm_r
    )
