"""Labels: the keys that a replica is encoded with, layer after layer.

A label is SHA-256 of replica id (32 bytes), layer (4, big-endian, from 1), node (8, big-endian), zeros up to 64 bytes,
and 37 parents, the node's parents repeated in turn; the top two bits are cleared. Node 0 has no parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import cycle, islice

from cuzk.circuits.vanilla.domain import sha256_value, to_bytes
from cuzk.circuits.vanilla.graph import DRG_DEGREE, Graph

__all__ = ["HASHED_PARENTS", "column", "create_label", "create_layers", "parent_labels", "replica_id"]

#: Parents in the preimage of a label.
HASHED_PARENTS = 37


def replica_id(prover_id: bytes, sector_number: int, ticket: bytes, comm_d: int, porep_id: bytes) -> int:
    """What binds a replica to its prover, sector, ticket, data and graph.  Form: standard, < 2^254."""
    return sha256_value(prover_id, sector_number.to_bytes(8, "big"), ticket, to_bytes(comm_d), porep_id)


def create_label(replica: int, layer: int, node: int, parents: Sequence[int]) -> int:
    """One label.

    Args:
        replica: The replica id.
        layer: 1, 2, ...
        node: Its index.
        parents: The 37 parents of `parent_labels`, none for node 0.
    """
    header = to_bytes(replica) + layer.to_bytes(4, "big") + node.to_bytes(8, "big") + bytes(20)
    return sha256_value(header, *map(to_bytes, parents))


def parent_labels(
    graph: Graph, node: int, layer: Sequence[int], layer_before: Sequence[int] | None
) -> tuple[int, ...]:
    """The labels that a node's label hashes.

    Args:
        graph: Who the parents are.
        node: Whose.
        layer: Labels of the node's layer, as far as they are made.
        layer_before: Labels of the layer before; None for layer 1, which has no expander parents.
    Returns:
        37 labels; none for node 0.
    """
    if node == 0:
        return ()
    labels = [layer[parent] for parent in graph.drg_parents(node)]
    if layer_before is not None:
        labels += [layer_before[parent] for parent in graph.expander_parents(node)]
    return tuple(islice(cycle(labels), HASHED_PARENTS))


def create_layers(graph: Graph, replica: int, num_layers: int) -> list[list[int]]:
    """All labels, layer by layer.

    Cost: num_layers * num_nodes SHA-256 of 1,248 bytes; the parents of a node are computed once.
    Checked by: tests/circuits/test_seal.py (published labels).
    """
    parents = [graph.parents(node) for node in range(graph.num_nodes)]
    layers: list[list[int]] = []
    for number in range(1, num_layers + 1):
        current: list[int] = []
        make = partial(create_label, replica, number)
        for node, indices in enumerate(parents):
            labels = [current[i] for i in indices[:DRG_DEGREE]] if node else []
            if node and layers:
                labels += [layers[-1][i] for i in indices[DRG_DEGREE:]]
            current.append(make(node, tuple(islice(cycle(labels), HASHED_PARENTS))))
        layers.append(current)
    return layers


def column(layers: Sequence[Sequence[int]], node: int) -> tuple[int, ...]:
    """One node's labels in all layers."""
    return tuple(layer[node] for layer in layers)
