"""Vanilla proofs of replication: what a challenge opens, and whether the openings hold together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from cuzk.circuits.vanilla.domain import NODE_BYTES, to_bytes
from cuzk.circuits.vanilla.graph import DRG_DEGREE, EXPANDER_DEGREE, Graph
from cuzk.circuits.vanilla.labels import HASHED_PARENTS, column, create_label, parent_labels
from cuzk.circuits.vanilla.merkle import POSEIDON, SHA256, InclusionProof
from cuzk.circuits.vanilla.poseidon import poseidon
from cuzk.circuits.vanilla.seal import SealedSector, encode
from cuzk.errors import RangeError, ShapeError

__all__ = [
    "ColumnProof",
    "LabelingProof",
    "StackedProof",
    "faults_of_stacked",
    "non_interactive_challenges",
    "porep_challenges",
    "porep_public_inputs",
    "prove_challenge",
]


@dataclass(frozen=True)
class ColumnProof:
    """A node's labels in all layers, and their hash's place under comm_c."""

    index: int
    rows: tuple[int, ...]
    inclusion: InclusionProof


@dataclass(frozen=True)
class LabelingProof:
    """The preimage of one label: 37 parents, layer and node; the replica id is the proof's."""

    parents: tuple[int, ...]
    layer: int
    node: int


@dataclass(frozen=True)
class StackedProof:
    """All that one challenge opens.

    Attributes:
        comm_d_proof: The data leaf.
        comm_r_last_proof: The replica's node.
        own_column: The challenged node's labels.
        drg_parents: Columns of its six parents in the layer.
        expander_parents: Columns of its eight parents in the layer before.
        labeling_proofs: One for each layer.
        encoding_proof: The preimage of the key, which is the last label.
    """

    comm_d_proof: InclusionProof
    comm_r_last_proof: InclusionProof
    own_column: ColumnProof
    drg_parents: tuple[ColumnProof, ...]
    expander_parents: tuple[ColumnProof, ...]
    labeling_proofs: tuple[LabelingProof, ...]
    encoding_proof: LabelingProof


def porep_challenges(replica: int, seed: bytes, num_nodes: int, count: int, partition: int = 0) -> list[int]:
    """The challenged nodes of one partition: never node 0; repetitions are possible.

    Args:
        replica: The replica id.
        seed: 32 bytes of randomness from after the commitment.
        num_nodes: Nodes of the sector.
        count: Challenges in a partition.
        partition: Which partition, from 0.
    Raises:
        ShapeError: The seed is not 32 bytes.
    """
    if len(seed) != NODE_BYTES:
        raise ShapeError(f"a seed of {len(seed)} bytes", limit=f"{NODE_BYTES} bytes")
    start = to_bytes(replica) + seed
    digests = (_le_digest(start, count * partition + i) for i in range(count))
    return [digest % (num_nodes - 1) + 1 for digest in digests]


def non_interactive_challenges(
    replica: int, comm_r: int, num_nodes: int, count: int, partition: int = 0
) -> list[int]:
    """The challenged nodes of one partition of a non-interactive PoRep: the commitment takes the place of the seed.

    Args:
        replica: The replica id.
        comm_r: The commitment.
        num_nodes: Nodes of the sector.
        count: Challenges in a partition.
        partition: Which partition, from 0; there are more than in a PoRep with a seed (SectorShape).
    Source: FIP-0092.
    """
    start = b"filecoin.io|PoRep|1|NonInteractive|1" + to_bytes(replica) + to_bytes(comm_r)
    digests = (_le_digest(start, count * partition + i) for i in range(count))
    return [digest % (num_nodes - 1) + 1 for digest in digests]


def porep_public_inputs(
    graph: Graph, replica: int, challenges: Sequence[int], *, comm_d: int, comm_r: int
) -> list[int]:
    """What a verifier of one partition's proof knows, in the order of the circuit, without ONE.

    Args:
        graph: The sector's graph.
        replica: The replica id.
        challenges: The challenged nodes of the partition.
        comm_d: The commitment to the data.
        comm_r: The commitment to the replica.
    """
    inputs = [replica, comm_d, comm_r]
    for node in challenges:
        # Of the data, the parents' columns, the challenge itself, the replica, the own column.
        inputs += [node, *graph.parents(node), node, node, node]
    return inputs


def _le_digest(start: bytes, number: int) -> int:
    return int.from_bytes(sha256(start + number.to_bytes(4, "little")).digest(), "little")


def _column_proof(sealed: SealedSector, node: int) -> ColumnProof:
    return ColumnProof(node, column(sealed.layers, node), sealed.tree_c.prove(node))


def prove_challenge(sealed: SealedSector, challenge: int) -> StackedProof:
    """Open what one challenge asks for.

    Raises:
        RangeError: There is no such node, or it is node 0, which has no parents.
    Checked by: tests/circuits/test_porep.py.
    """
    graph, layers = sealed.graph, sealed.layers
    if not 1 <= challenge < graph.num_nodes:
        raise RangeError(f"node {challenge} is never challenged", limit=f"1 <= node < {graph.num_nodes}")
    labelings = tuple(
        LabelingProof(
            parent_labels(graph, challenge, layer, layers[number - 2] if number > 1 else None),
            number,
            challenge,
        )
        for number, layer in enumerate(layers, start=1)
    )
    return StackedProof(
        comm_d_proof=sealed.tree_d.prove(challenge),
        comm_r_last_proof=sealed.tree_r_last.prove(challenge),
        own_column=_column_proof(sealed, challenge),
        drg_parents=tuple(_column_proof(sealed, node) for node in graph.drg_parents(challenge)),
        expander_parents=tuple(_column_proof(sealed, node) for node in graph.expander_parents(challenge)),
        labeling_proofs=labelings,
        encoding_proof=labelings[-1],
    )


def _column_faults(proof: ColumnProof, name: str, index: int, comm_c: int) -> Iterator[str]:
    if proof.index != index or proof.inclusion.index != index:
        yield f"{name}: column of node {proof.index} at leaf {proof.inclusion.index}, not of node {index}"
    if poseidon(proof.rows) != proof.inclusion.leaf:
        yield f"{name}: the leaf is not the hash of the column"
    if proof.inclusion.root != comm_c or not proof.inclusion.holds(POSEIDON):
        yield f"{name}: not under comm_c"


def _path_faults(proof: StackedProof, challenge: int, comm_d: int, comm_r_last: int) -> Iterator[str]:
    for name, inclusion, hasher, root in (
        ("comm_d", proof.comm_d_proof, SHA256, comm_d),
        ("comm_r_last", proof.comm_r_last_proof, POSEIDON, comm_r_last),
    ):
        if inclusion.index != challenge:
            yield f"{name}: opens leaf {inclusion.index}, not {challenge}"
        if inclusion.root != root or not inclusion.holds(hasher):
            yield f"{name}: the leaf is not under it"


def _expected_parents(proof: StackedProof, number: int) -> tuple[int, ...]:
    """The 37 parents of a label as the opened columns say."""
    labels = [parent.rows[number - 1] for parent in proof.drg_parents]
    if number > 1:
        labels += [parent.rows[number - 2] for parent in proof.expander_parents]
    return tuple(labels[i % len(labels)] for i in range(HASHED_PARENTS))


def _label_faults(proof: StackedProof, replica: int, challenge: int) -> Iterator[str]:
    for number, (labeling, label) in enumerate(
        zip(proof.labeling_proofs, proof.own_column.rows, strict=True), start=1
    ):
        if (labeling.layer, labeling.node) != (number, challenge):
            yield f"label {number}: is of layer {labeling.layer}, node {labeling.node}"
        if labeling.parents != _expected_parents(proof, number):
            yield f"label {number}: its parents are not those of the columns"
        if create_label(replica, number, challenge, labeling.parents) != label:
            yield f"label {number}: is not the hash of its parents"
    if proof.encoding_proof != proof.labeling_proofs[-1]:
        yield "encoding: its key is not the last label"
    if encode(proof.own_column.rows[-1], proof.comm_d_proof.leaf) != proof.comm_r_last_proof.leaf:
        yield "encoding: replica is not key plus data"


def faults_of_stacked(
    proof: StackedProof, graph: Graph, replica: int, challenge: int, *, comm_d: int, comm_r: int
) -> list[str]:
    """What is wrong with a proof; nothing where it holds.

    Args:
        proof: Whose root values comm_c and comm_r_last have to hash to comm_r.
        graph: The sector's graph.
        replica: The replica id.
        challenge: The node that was to be opened.
        comm_d: The commitment to the data.
        comm_r: The commitment to the replica.
    """
    comm_c, comm_r_last = proof.own_column.inclusion.root, proof.comm_r_last_proof.root
    faults = (
        []
        if poseidon((comm_c, comm_r_last)) == comm_r
        else ["comm_r: not the hash of comm_c and comm_r_last"]
    )
    if (len(proof.drg_parents), len(proof.expander_parents)) != (DRG_DEGREE, EXPANDER_DEGREE):
        return [*faults, f"parents: {len(proof.drg_parents)} + {len(proof.expander_parents)} columns"]
    columns: Sequence[ColumnProof] = (proof.own_column, *proof.drg_parents, *proof.expander_parents)
    depth = len(proof.own_column.rows)
    if any(len(each.rows) != depth for each in columns) or len(proof.labeling_proofs) != depth:
        return [*faults, "columns and labels have different numbers of layers"]
    faults += _path_faults(proof, challenge, comm_d, comm_r_last)
    inclusions = [proof.comm_d_proof, proof.comm_r_last_proof, *(each.inclusion for each in columns)]
    if any(inclusion.num_leaves != graph.num_nodes for inclusion in inclusions):
        faults.append(f"paths: not all are of trees of {graph.num_nodes} leaves")
    names = ["own column", *(f"parent {i}" for i in range(DRG_DEGREE + EXPANDER_DEGREE))]
    for name, each, index in zip(names, columns, (challenge, *graph.parents(challenge)), strict=True):
        faults += _column_faults(each, name, index, comm_c)
    return faults + list(_label_faults(proof, replica, challenge))
