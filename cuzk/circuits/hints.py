"""From vanilla proofs to what circuits take from outside: the values of their hints, in order of allocation.

Everything else in a witness follows from the hints. Shapes are compared with the circuit's; whether the values fit
together is for the checks of vanilla proofs, and for the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuzk.circuits.fallback_post import FallbackPostCircuit
from cuzk.circuits.por import path_hints
from cuzk.circuits.stacked import NODE_BITS, StackedCircuit
from cuzk.circuits.vanilla.graph import DRG_DEGREE, EXPANDER_DEGREE
from cuzk.circuits.vanilla.porep import ColumnProof, StackedProof
from cuzk.circuits.vanilla.porep_files import CommitPhase1
from cuzk.circuits.vanilla.post import SectorProof
from cuzk.errors import ShapeError

__all__ = ["post_hints", "stacked_hints"]

_REMEDY = "give a proof of the circuit's own sector size"


def post_hints(circuit: FallbackPostCircuit, sectors: Sequence[tuple[int, SectorProof]]) -> Iterator[int]:
    """The hints of a proof of spacetime.

    Args:
        circuit: Which.
        sectors: Of each of its sectors comm_r and what is opened.

    Raises:
        ShapeError: Another number of sectors or openings, another tree.
    """
    _expect("sectors", len(sectors), circuit.sectors)
    for number, (comm_r, sector) in enumerate(sectors):
        _expect(f"openings of sector {number}", len(sector.inclusion_proofs), circuit.challenges)
        yield from (sector.comm_r_last, sector.comm_c, comm_r)
        for opening in sector.inclusion_proofs:
            yield opening.leaf
            yield from path_hints(opening.path, circuit.tree_arities)


def stacked_hints(circuit: StackedCircuit, output: CommitPhase1, partition: int = 0) -> Iterator[int]:
    """The hints of one partition of a proof of replication.

    Args:
        circuit: Which.
        output: The sector's vanilla proofs.
        partition: Which of its partitions, from 0.

    Raises:
        ShapeError: There is no such partition; another number of challenges, layers or parents, another tree.
    """
    if not 0 <= partition < len(output.partitions):
        raise ShapeError(
            f"the vanilla proofs have no partition {partition}",
            limit=f"{len(output.partitions)} partitions, the first is 0",
        )
    proofs = output.partitions[partition]
    _expect("challenges", len(proofs), circuit.challenges)
    roots = {(proof.comm_r_last_proof.root, proof.own_column.inclusion.root) for proof in proofs}
    (comm_r_last, comm_c) = next(iter(roots))
    if len(roots) != 1:
        raise ShapeError(
            "the challenges of a partition have different roots", limit="one comm_r_last, one comm_c"
        )
    yield from (output.replica_id, output.comm_d, output.comm_r, comm_r_last, comm_c)
    for proof in proofs:
        yield from _challenge_hints(circuit, proof)


def _challenge_hints(circuit: StackedCircuit, proof: StackedProof) -> Iterator[int]:
    parents = (*proof.drg_parents, *proof.expander_parents)
    _expect("parents in the layer", len(proof.drg_parents), DRG_DEGREE)
    _expect("parents in the layer before", len(proof.expander_parents), EXPANDER_DEGREE)
    data, tree = circuit.data_arities, circuit.tree_arities
    yield proof.comm_d_proof.leaf
    yield from path_hints(proof.comm_d_proof.path, data)
    for parent in parents:
        yield from _column_hints(circuit, parent)
    node = proof.comm_r_last_proof.index
    yield from (node >> i & 1 for i in range(NODE_BITS))
    yield from path_hints(proof.comm_r_last_proof.path, tree)
    yield from path_hints(proof.own_column.inclusion.path, tree)


def _column_hints(circuit: StackedCircuit, parent: ColumnProof) -> Iterator[int]:
    _expect("layers in a column", len(parent.rows), circuit.layers)
    yield from parent.rows
    yield from path_hints(parent.inclusion.path, circuit.tree_arities)


def _expect(what: str, found: int, number: int) -> None:
    if found != number:
        raise ShapeError(f"{found} {what}", limit=f"{number} in this circuit", remedy=_REMEDY)
