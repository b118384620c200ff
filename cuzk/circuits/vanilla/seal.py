"""Sealing: data to labels, replica, trees and commitments, all of it in memory.

comm_d       root of the binary SHA-256 tree over the data
comm_c       root of the Poseidon tree over the hashes of the columns
comm_r_last  root of the Poseidon tree over the replica
comm_r       Poseidon of comm_c and comm_r_last
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cuzk.circuits.vanilla.domain import NODE_BYTES, from_bytes
from cuzk.circuits.vanilla.graph import ApiVersion, Graph
from cuzk.circuits.vanilla.labels import column, create_layers, replica_id
from cuzk.circuits.vanilla.merkle import POSEIDON, SHA256, Tree, TreeShape, build_tree
from cuzk.circuits.vanilla.poseidon import poseidon
from cuzk.circuits.vanilla.poseidon_constants import MODULUS
from cuzk.circuits.vanilla.shapes import SectorShape
from cuzk.errors import ShapeError

__all__ = ["DATA_TREE", "SealedSector", "SectorIdentity", "data_leaves", "encode", "seal", "unseal"]

#: The tree over the data, whatever the sector size.
DATA_TREE = TreeShape(2)


@dataclass(frozen=True)
class SectorIdentity:
    """Whose sector it is.

    Attributes:
        prover_id: 32 bytes.
        sector_number: Below 2^64.
        ticket: 32 bytes of randomness from before the sealing.
        porep_id: 32 bytes that select the graph.
        version: The graph's rules.
    Raises:
        ShapeError: A field of another length.
    """

    prover_id: bytes
    sector_number: int
    ticket: bytes
    porep_id: bytes
    version: ApiVersion = ApiVersion.V1_1_0

    def __post_init__(self) -> None:
        for name in ("prover_id", "ticket", "porep_id"):
            length = len(getattr(self, name))
            if length != NODE_BYTES:
                raise ShapeError(f"{name} has {length} bytes", limit=f"{NODE_BYTES} bytes")
        if not 0 <= self.sector_number < 1 << 64:
            raise ShapeError(f"sector number {self.sector_number}", limit="0 <= number < 2^64")


@dataclass(frozen=True)
class SealedSector:
    """A sealed sector and all that proofs about it open.

    Attributes:
        shape: Its size.
        identity: Whose it is.
        graph: Who whose parents are.
        replica_id: What the labels depend on.
        layers: Labels, layer by layer.
        replica: Encoded data, node by node.
        tree_d: Over the data.
        tree_c: Over the columns.
        tree_r_last: Over the replica.
        comm_r: What goes on chain.
    """

    shape: SectorShape
    identity: SectorIdentity
    graph: Graph
    replica_id: int
    layers: Sequence[Sequence[int]] = field(repr=False)
    replica: Sequence[int] = field(repr=False)
    tree_d: Tree = field(repr=False)
    tree_c: Tree = field(repr=False)
    tree_r_last: Tree = field(repr=False)
    comm_r: int

    @property
    def comm_d(self) -> int:
        """The commitment to the data."""
        return self.tree_d.root

    @property
    def comm_c(self) -> int:
        """The commitment to the columns."""
        return self.tree_c.root

    @property
    def comm_r_last(self) -> int:
        """The commitment to the replica."""
        return self.tree_r_last.root


def data_leaves(data: bytes, shape: SectorShape) -> list[int]:
    """A sector's data as nodes.

    Raises:
        ShapeError: Not the sector's size.   RangeError: A node is no field element.
    """
    if len(data) != shape.size_bytes:
        raise ShapeError(
            f"{len(data)} bytes of data", limit=f"{shape.size_bytes} bytes in a {shape.name} sector"
        )
    return [
        from_bytes(data[offset : offset + NODE_BYTES], f"node {offset // NODE_BYTES} of the data")
        for offset in range(0, len(data), NODE_BYTES)
    ]


def encode(key: int, value: int) -> int:
    """Data -> replica, by the label of the last layer."""
    return (key + value) % MODULUS


def unseal(sealed: SealedSector) -> list[int]:
    """Replica -> data."""
    keys = sealed.layers[-1]
    return [(value - key) % MODULUS for value, key in zip(sealed.replica, keys, strict=True)]


def seal(shape: SectorShape, data: bytes, identity: SectorIdentity) -> SealedSector:
    """Seal a sector.

    Args:
        shape: Its size.
        data: As many bytes; every 32 of them, little-endian, below r.
        identity: Whose it is.
    Raises:
        ShapeError, RangeError: As `data_leaves`.
    Cost: layers * nodes SHA-256 of 1,248 bytes, nodes SHA-256 of 64 bytes, 9/7 nodes Poseidon, about: 0.1 s for
        2 KiB, minutes for 8 MiB; some 500 bytes of memory for each node.
    Checked by: tests/circuits/test_seal.py.
    """
    leaves = data_leaves(data, shape)
    graph = Graph(shape.num_nodes, identity.porep_id, identity.version)
    tree_d = build_tree(SHA256, DATA_TREE, leaves)
    replica = replica_id(
        identity.prover_id, identity.sector_number, identity.ticket, tree_d.root, identity.porep_id
    )
    layers = create_layers(graph, replica, shape.layers)
    columns = [poseidon(column(layers, node)) for node in range(shape.num_nodes)]
    tree_c = build_tree(POSEIDON, shape.tree, columns)
    encoded = [encode(key, value) for key, value in zip(layers[-1], leaves, strict=True)]
    tree_r_last = build_tree(POSEIDON, shape.tree, encoded)
    comm_r = poseidon((tree_c.root, tree_r_last.root))
    return SealedSector(shape, identity, graph, replica, layers, encoded, tree_d, tree_c, tree_r_last, comm_r)
