"""Vanilla proofs of any sector size without a sealed sector: what is opened is computed, the rest is invented.

The data is all zeros, so that comm_d, and with it replica id and challenges, are known before anything is opened. The
labels of challenged nodes are computed from their parents' labels; labels of nodes that are only parents are
invented, and so are the siblings in sparse trees. All checks hold, and a circuit of this size has a satisfying witness.
The parents are those of the real graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle, islice

from cuzk.circuits.vanilla.domain import sha256_value
from cuzk.circuits.vanilla.graph import Graph
from cuzk.circuits.vanilla.labels import HASHED_PARENTS, create_label, replica_id
from cuzk.circuits.vanilla.merkle import POSEIDON, SHA256, SparseTree, seeded_filler
from cuzk.circuits.vanilla.porep import ColumnProof, LabelingProof, StackedProof, porep_challenges
from cuzk.circuits.vanilla.porep_files import CommitPhase1
from cuzk.circuits.vanilla.poseidon import poseidon
from cuzk.circuits.vanilla.post import PostProof, pad_sectors, post_challenges, prove_sector
from cuzk.circuits.vanilla.seal import DATA_TREE, SectorIdentity, encode
from cuzk.circuits.vanilla.shapes import SectorShape

__all__ = ["synthetic_commit1", "synthetic_post"]

_Labels = Mapping[tuple[int, int], int]


def _zero_tree(shape: SectorShape, opened: Mapping[int, int]) -> SparseTree:
    """The tree over all-zero data."""
    zeros = [0]
    for arity in DATA_TREE.arities(shape.num_nodes):
        zeros.append(SHA256.node([zeros[-1]] * arity))
    return SparseTree(SHA256, DATA_TREE, shape.num_nodes, opened, lambda level, _: zeros[level])


def _parents(graph: Graph, labels: _Labels, layer: int, node: int) -> tuple[int, ...]:
    """The 37 labels that a challenged node's label hashes."""
    values = [labels[layer, parent] for parent in graph.drg_parents(node)]
    if layer > 1:
        values += [labels[layer - 1, parent] for parent in graph.expander_parents(node)]
    return tuple(islice(cycle(values), HASHED_PARENTS))


def _make_labels(
    graph: Graph, replica: int, challenges: list[int], layers: int, salt: bytes
) -> dict[tuple[int, int], int]:
    """Labels by (layer, node): those of challenged nodes as they have to be, those of their parents invented.

    In a layer only smaller nodes are parents, so in ascending order each label finds those that it needs.
    """
    opened = {parent for node in challenges for parent in graph.parents(node)} | set(challenges)
    invent = seeded_filler(salt + b"labels")
    labels: dict[tuple[int, int], int] = {}
    for layer in range(1, layers + 1):
        labels |= {(layer, node): invent(layer, node) for node in opened.difference(challenges)}
        for node in sorted(set(challenges)):
            labels[layer, node] = create_label(replica, layer, node, _parents(graph, labels, layer, node))
    return labels


def synthetic_commit1(
    shape: SectorShape,
    identity: SectorIdentity,
    seed: bytes,
    *,
    partitions: int | None = None,
    salt: bytes = b"",
) -> CommitPhase1:
    """Proofs of replication for a sector that nobody sealed.

    Args:
        shape: Any size.
        identity: Whose it would be.
        seed: 32 bytes that the challenges come from.
        partitions: How many of the shape's partitions to make; all by default.
        salt: Varies what is invented.
    Cost: for 32 GiB some 200 Poseidon hashes for each challenge: about 3 s for one partition.
    Checked by: tests/circuits/test_synthetic.py.
    """
    graph = Graph(shape.num_nodes, identity.porep_id, identity.version)
    comm_d = _zero_tree(shape, {}).root
    replica = replica_id(
        identity.prover_id, identity.sector_number, identity.ticket, comm_d, identity.porep_id
    )
    count = shape.partitions if partitions is None else partitions
    groups = [porep_challenges(replica, seed, shape.num_nodes, shape.challenges, k) for k in range(count)]
    challenges = [node for group in groups for node in group]
    labels = _make_labels(graph, replica, challenges, shape.layers, salt)
    columns = {
        node: tuple(labels[layer, node] for layer in range(1, shape.layers + 1))
        for node in {n for _, n in labels}
    }
    hashes = {node: poseidon(rows) for node, rows in columns.items()}
    replicas = {node: encode(columns[node][-1], 0) for node in challenges}
    tree_d = _zero_tree(shape, dict.fromkeys(challenges, 0))
    tree_c = SparseTree(POSEIDON, shape.tree, shape.num_nodes, hashes, seeded_filler(salt + b"tree_c"))
    tree_r = SparseTree(POSEIDON, shape.tree, shape.num_nodes, replicas, seeded_filler(salt + b"tree_r_last"))

    def opened(node: int) -> ColumnProof:
        return ColumnProof(node, columns[node], tree_c.prove(node))

    def prove(node: int) -> StackedProof:
        layers = range(1, shape.layers + 1)
        labelings = tuple(
            LabelingProof(_parents(graph, labels, layer, node), layer, node) for layer in layers
        )
        return StackedProof(
            tree_d.prove(node),
            tree_r.prove(node),
            opened(node),
            tuple(map(opened, graph.drg_parents(node))),
            tuple(map(opened, graph.expander_parents(node))),
            labelings,
            labelings[-1],
        )

    proofs = tuple(tuple(map(prove, group)) for group in groups)
    return CommitPhase1(proofs, poseidon((tree_c.root, tree_r.root)), comm_d, replica, seed, identity.ticket)


def synthetic_post(
    shape: SectorShape,
    sector_number: int,
    randomness: bytes,
    *,
    challenges: int,
    sectors: int = 1,
    salt: bytes = b"",
) -> PostProof:
    """A proof of spacetime for a replica that does not exist.

    Args:
        shape: Any size.
        sector_number: The sector's number on chain.
        randomness: 32 bytes that are a field element.
        challenges: Openings of a sector: WINDOW_CHALLENGES or WINNING_CHALLENGES.
        sectors: How often the sector is repeated, as a prover fills a partition.
        salt: Varies what is invented.
    """
    leaves = post_challenges(randomness, sector_number, shape.num_nodes, challenges)
    values = {leaf: sha256_value(salt, b"replica", leaf.to_bytes(8, "little")) for leaf in leaves}
    tree = SparseTree(POSEIDON, shape.tree, shape.num_nodes, values, seeded_filler(salt + b"tree_r_last"))
    comm_c = sha256_value(salt, b"comm_c")
    comm_r = poseidon((comm_c, tree.root))
    return PostProof(sector_number, comm_r, pad_sectors([prove_sector(tree, comm_c, leaves)], sectors))
