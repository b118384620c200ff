"""The label of a node as a circuit: SHA-256 of replica id, layer, node and parents, 254 bits of it packed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from cuzk.circuits.boolean import FALSE, Bit, alloc_bits, bytes_to_bits
from cuzk.circuits.multipack import capacity, pack_bits
from cuzk.circuits.number import reversed_in_bytes
from cuzk.circuits.sha256 import BLOCK_BITS, sha256
from cuzk.circuits.vanilla.domain import to_bytes
from cuzk.errors import ShapeError
from cuzk.synthesis import ConstraintSystem, Variable

__all__ = ["NUM_PARENTS", "create_label", "create_label_circuit", "create_label_hints"]

#: What a label hashes: six parents of layer 1, or six and eight of later ones, repeated up to this number.
NUM_PARENTS = 37
_NODE_BITS, _LAYER_BITS, _NUMBER_BITS = 256, 32, 64
#: Of the named circuit, as in the test of rust-fil-proofs.
_LAYER, _NODE = 3, 22


def _constant(value: int, size: int) -> list[Bit]:
    return [value >> i & 1 for i in reversed(range(size))]


def create_label(
    cs: ConstraintSystem,
    replica_id: Sequence[Bit],
    layer: int,
    node: Sequence[Bit],
    parents: Sequence[Sequence[Bit]],
) -> Variable:
    """The label of a node.

    Args:
        cs: A system over BLS12-381.
        replica_id: 256 booleans, as its 32 bytes have them, most significant bit of each byte first.
        layer: From 1 on; a constant of the circuit.
        node: 64 booleans, most significant first.
        parents: Of each parent 256 booleans, as of replica_id; none for node 0.

    Returns:
        The variable of the label, below 2^254.

    Raises:
        ShapeError: A part has another length.
    """
    lengths = [len(bits) for bits in (replica_id, *parents)]
    if set(lengths) != {_NODE_BITS} or len(node) != _NUMBER_BITS or len(parents) not in (0, NUM_PARENTS):
        raise ShapeError(
            f"a label of {len(parents)} parents, parts of {sorted(set(lengths))} bits and a node of {len(node)}",
            limit=f"{NUM_PARENTS} parents or none, {_NODE_BITS} and {_NUMBER_BITS} bits",
        )
    header = [*replica_id, *_constant(layer, _LAYER_BITS), *node]
    header += [FALSE] * (BLOCK_BITS - len(header))
    digest = sha256(cs, [*header, *(bit for parent in parents for bit in parent)])
    return pack_bits(cs, reversed_in_bytes(digest)[: capacity(cs.curve)])


def create_label_circuit(cs: ConstraintSystem) -> Variable:
    """``create-label``: bits of a replica id and of 37 parents, and the label of node 22 in layer 3.

    Args:
        cs: An empty system over BLS12-381; its hints are those of create_label_hints.

    Returns:
        The variable of the label; there are no inputs but ONE.
    """
    first, *others = (alloc_bits(cs, _NODE_BITS) for _ in range(NUM_PARENTS + 1))
    return create_label(cs, first, _LAYER, _constant(_NODE, _NUMBER_BITS), others)


def create_label_hints(replica_id: int, parents: Sequence[int]) -> Iterator[int]:
    """The hints of create_label_circuit.

    Args:
        replica_id: As a number.
        parents: The labels of the parents.

    Raises:
        ShapeError: Not 37 parents.
    """
    if len(parents) != NUM_PARENTS:
        raise ShapeError(f"{len(parents)} parents", limit=f"{NUM_PARENTS}")
    return chain.from_iterable(bytes_to_bits(to_bytes(value)) for value in (replica_id, *parents))
