"""Merkle inclusion as a circuit ("proof of retrievability"): a leaf is in a tree, at a public index.

The tree has a base, a sub and a top arity, 2, 4 or 8 each (see cuzk.circuits.vanilla.merkle). Per level: the bits of
the position, the siblings, the insertion of the node among them, the hash. Rows and variables are those of
rust-fil-proofs.

>>> PorCircuit.parse("por:poseidon:8-2-0:128:public")
PorCircuit(hasher='poseidon', shape=TreeShape(base=8, sub=2, top=0), num_leaves=128, is_private=False)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cuzk.circuits.blake2s import blake2s
from cuzk.circuits.boolean import FALSE, Bit, alloc_bits
from cuzk.circuits.multipack import capacity, pack_bits, pack_into_inputs
from cuzk.circuits.number import enforce_equal, expose, insert, number_to_bits, reversed_in_bytes
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.sha256 import sha256
from cuzk.circuits.vanilla.merkle import InclusionProof, PathElement, TreeShape
from cuzk.errors import RangeError, ShapeError
from cuzk.synthesis import ConstraintSystem, Variable

__all__ = [
    "NODE_HASHERS",
    "POR_PATTERN",
    "NodeHasher",
    "PorCircuit",
    "blake2s_node",
    "check_tree",
    "enforce_inclusion",
    "path_hints",
    "path_root",
    "sha256_node",
]

POR_PATTERN = "por:HASHER:BASE-SUB-TOP:LEAVES:public|private"
_ARITIES = (2, 4, 8)
#: A limit only to keep names sensible: the largest sector has 2^31 leaves.
_MAX_LEAVES = 1 << 36

#: Children as variables -> the node as a variable.
NodeHasher = Callable[[ConstraintSystem, Sequence[Variable]], Variable]


def sha256_node(cs: ConstraintSystem, children: Sequence[Variable]) -> Variable:
    """SHA-256 of the children, 32 little-endian bytes each, the top two bits of the digest cleared."""
    message = [bit for child in children for bit in reversed_in_bytes(number_to_bits(cs, child))]
    digest = reversed_in_bytes(sha256(cs, message))
    return pack_bits(cs, digest[: capacity(cs.curve)])


def blake2s_node(cs: ConstraintSystem, children: Sequence[Variable]) -> Variable:
    """BLAKE2s of the children, as sha256_node; it takes and gives bits in the order of packing."""
    message: list[Bit] = []
    for child in children:
        message += number_to_bits(cs, child)
        message += [FALSE] * (-len(message) % 8)
    return pack_bits(cs, blake2s(cs, message)[: capacity(cs.curve)])


#: Hasher, named as for trees outside the circuit -> its rows for one node.
NODE_HASHERS: Mapping[str, NodeHasher] = {
    "poseidon": poseidon_hash,
    "sha256": sha256_node,
    "blake2s": blake2s_node,
}


def _level(
    cs: ConstraintSystem, hasher: NodeHasher, node: Variable, arity: int
) -> tuple[Variable, list[Bit]]:
    """One level: the parent of a node, and the bits of the node's position."""
    cs.cut()  # What precedes a level is no part of it, so that levels of a path are instances of one piece.
    bits = alloc_bits(cs, arity.bit_length() - 1)
    siblings = [cs.alloc() for _ in range(arity - 1)]
    return hasher(cs, insert(cs, node, bits, siblings)), bits


def path_root(cs: ConstraintSystem, hasher: NodeHasher, leaf: Variable, arities: Sequence[int]) -> Variable:
    """The root that a path from a leaf leads to; the leaf's index becomes one new input (more for over 254 bits).

    Its hints are those of path_hints.

    Args:
        cs: The system.
        hasher: Rows of a node.
        leaf: Any variable.
        arities: Of each level, from the leaves up: 2, 4 or 8.

    Raises:
        ShapeError: An arity that is not supported.
    """
    if not set(arities) <= set(_ARITIES):
        raise ShapeError(f"a tree with the arities {sorted(set(arities))}", limit="2, 4 and 8")
    index: list[Bit] = []
    node = leaf
    for arity in arities:
        node, bits = _level(cs, hasher, node, arity)
        index += bits
    cs.cut()  # The index needs no hash.
    pack_into_inputs(cs, index)
    cs.cut()
    return node


def path_hints(path: Sequence[PathElement], arities: Sequence[int]) -> Iterator[int]:
    """The hints of path_root: per level the bits of the position, then the siblings.

    Raises:
        ShapeError: The path has another shape than the tree.
    """
    if [len(element.siblings) + 1 for element in path] != list(arities):
        raise ShapeError(
            "a path does not have the shape of the tree",
            where=f"{[len(element.siblings) for element in path]} siblings",
            limit=f"levels of {list(arities)} children",
        )
    for element, arity in zip(path, arities, strict=True):
        yield from (element.index >> i & 1 for i in range(arity.bit_length() - 1))
        yield from element.siblings


def enforce_inclusion(
    cs: ConstraintSystem, hasher: NodeHasher, leaf: Variable, root: Variable, arities: Sequence[int]
) -> None:
    """path_root leads to this root; one row more."""
    enforce_equal(cs, path_root(cs, hasher, leaf, arities), root)


def check_tree(shape: TreeShape, num_leaves: int) -> None:
    """Refuse a tree in which circuits cannot show inclusion.

    Raises:
        RangeError: An arity that has no circuit.
        ShapeError: No such tree has so many leaves.
    """
    if not {shape.base, shape.sub, shape.top} <= {0, *_ARITIES}:
        raise RangeError(f"a circuit of a tree {shape}", limit="arities 2, 4 and 8; 0 for no sub or top part")
    shape.arities(num_leaves)


@dataclass(frozen=True)
class PorCircuit:
    """``por:HASHER:BASE-SUB-TOP:LEAVES:public|private``: inputs are the index and, unless private, the root.

    Args:
        hasher: Of the nodes, a key of NODE_HASHERS.
        shape: Arities.
        num_leaves: Leaves of the whole tree.
        is_private: Whether the root is no input.
    """

    hasher: str
    shape: TreeShape
    num_leaves: int
    is_private: bool

    @classmethod
    def parse(cls, name: str) -> PorCircuit:
        """What a name stands for.

        Raises:
            RangeError: Not of the form, an unknown hasher, an arity that is not supported.
            ShapeError: The leaves do not fill a tree of this shape.
        """
        parts = name.split(":")
        if len(parts) != 5 or parts[0] != "por" or parts[4] not in ("public", "private"):
            raise RangeError(f"{name!r:.60} is no Merkle inclusion", limit=POR_PATTERN)
        _, hasher, arities, leaves, root = parts
        if hasher not in NODE_HASHERS:
            raise RangeError(f"unknown hasher {hasher!r:.60}", limit=", ".join(NODE_HASHERS))
        if not (
            leaves.isascii() and leaves.isdigit() and len(leaves) <= 12 and 0 < int(leaves) <= _MAX_LEAVES
        ):
            raise RangeError(f"{leaves!r:.60} is no number of leaves", limit=f"1 to {_MAX_LEAVES}")
        shape = TreeShape.parse(arities)
        check_tree(shape, int(leaves))
        return cls(hasher, shape, int(leaves), root == "private")

    @property
    def name(self) -> str:
        """The name that parse takes."""
        root = "private" if self.is_private else "public"
        return f"por:{self.hasher}:{self.shape}:{self.num_leaves}:{root}"

    def record(self, cs: ConstraintSystem) -> None:
        """Write the circuit: leaf, path, root.

        Args:
            cs: An empty system over BLS12-381.

        Raises:
            CurveMismatchError: The system is over another field.
        """
        leaf = cs.alloc()
        arities = self.shape.arities(self.num_leaves)
        computed = path_root(cs, NODE_HASHERS[self.hasher], leaf, arities)
        root = cs.alloc()
        enforce_equal(cs, computed, root)
        if not self.is_private:
            expose(cs, root)

    def hints(self, proof: InclusionProof) -> Iterator[int]:
        """What record takes from outside.

        Raises:
            ShapeError: The proof is of another shape.
        """
        yield proof.leaf
        yield from path_hints(proof.path, self.shape.arities(self.num_leaves))
        yield proof.root
