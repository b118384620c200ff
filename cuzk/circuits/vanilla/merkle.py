"""Merkle trees with a base, a sub and a top arity, dense or sparse, and inclusion proofs in them.

Base trees of arity `base` lie side by side; where there is a `sub` arity, so many of their roots are hashed into one,
and so many of these for a `top` arity. The path of a leaf goes through base, then sub, then top; the digits of
the leaf's index, least significant first, are its positions among its siblings.

>>> shape = TreeShape.parse("2-4-0")
>>> tree = build_tree(SHA256, shape, range(16))
>>> proof = tree.prove(13)
>>> len(proof.base), len(proof.sub), proof.index, proof.holds(SHA256)
(2, 1, 13, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s, sha256
from math import prod

from cuzk.circuits.vanilla.domain import sha256_value, to_bytes, truncated
from cuzk.circuits.vanilla.poseidon import poseidon
from cuzk.errors import RangeError, ShapeError

__all__ = [
    "BLAKE2S",
    "HASHERS",
    "POSEIDON",
    "SHA256",
    "InclusionProof",
    "PathElement",
    "SparseTree",
    "Tree",
    "TreeHasher",
    "TreeShape",
    "build_tree",
    "seeded_filler",
]


@dataclass(frozen=True)
class TreeHasher:
    """How the children of a node become its value.

    Attributes:
        name: As in the names of circuits.
        node: Children (field elements) -> value (field element).
    """

    name: str
    node: Callable[[Sequence[int]], int]


def _sha256_node(children: Sequence[int]) -> int:
    return sha256_value(*map(to_bytes, children))


def _blake2s_node(children: Sequence[int]) -> int:
    return truncated(blake2s(b"".join(map(to_bytes, children))).digest())


POSEIDON = TreeHasher("poseidon", poseidon)
SHA256 = TreeHasher("sha256", _sha256_node)
BLAKE2S = TreeHasher("blake2s", _blake2s_node)
HASHERS: Mapping[str, TreeHasher] = {hasher.name: hasher for hasher in (POSEIDON, SHA256, BLAKE2S)}


@dataclass(frozen=True)
class TreeShape:
    """Arities of a tree; 0 where it has no sub or top part."""

    base: int
    sub: int = 0
    top: int = 0

    @classmethod
    def parse(cls, text: str) -> TreeShape:
        """The shape that "8-8-2" stands for.

        Raises:
            RangeError: Not three numbers, no base arity, or a top without a sub arity.
        """
        parts = text.split("-")
        if len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts):
            base, sub, top = map(int, parts)
            if base >= 2 and sub != 1 and top != 1 and (sub or not top):
                return cls(base, sub, top)
        raise RangeError(f"{text!r} is no tree shape", limit="BASE-SUB-TOP, for example 8-8-0")

    def __str__(self) -> str:
        return f"{self.base}-{self.sub}-{self.top}"

    def arities(self, num_leaves: int) -> tuple[int, ...]:
        """The arity of every level from the leaves to the root.

        Raises:
            ShapeError: Not a whole number of full base trees.
        """
        above = tuple(arity for arity in (self.sub, self.top) if arity)
        left = num_leaves
        for arity in above:
            left = left // arity if left % arity == 0 else 0
        levels = 0
        while left > 1 and left % self.base == 0:
            left //= self.base
            levels += 1
        if left != 1 or not levels:
            raise ShapeError(
                f"{num_leaves} leaves do not fill a tree {self}",
                limit=f"{self.base}^levels x {max(self.sub, 1) * max(self.top, 1)}",
            )
        return (self.base,) * levels + above


@dataclass(frozen=True)
class PathElement:
    """One level of a path: the other children in order, and where among all of them this one is."""

    siblings: tuple[int, ...]
    index: int

    def children(self, value: int) -> tuple[int, ...]:
        """All children, with `value` in its place."""
        return (*self.siblings[: self.index], value, *self.siblings[self.index :])


@dataclass(frozen=True)
class InclusionProof:
    """A leaf, a root, and the path between them."""

    leaf: int
    root: int
    base: tuple[PathElement, ...]
    sub: tuple[PathElement, ...] = ()
    top: tuple[PathElement, ...] = ()

    @property
    def path(self) -> tuple[PathElement, ...]:
        """All levels, from the leaf up."""
        return self.base + self.sub + self.top

    @property
    def index(self) -> int:
        """The index of the leaf in the whole tree."""
        index, weight = 0, 1
        for element in self.path:
            index += element.index * weight
            weight *= len(element.siblings) + 1
        return index

    @property
    def num_leaves(self) -> int:
        """Leaves of a tree in which paths look like this one."""
        return prod(len(element.siblings) + 1 for element in self.path)

    def computed_root(self, hasher: TreeHasher) -> int:
        """What the leaf and the siblings hash to."""
        value = self.leaf
        for element in self.path:
            value = hasher.node(element.children(value))
        return value

    def holds(self, hasher: TreeHasher) -> bool:
        """Whether the path leads from the leaf to the root."""
        return self.computed_root(hasher) == self.root


class Tree:
    """A tree whose nodes are all there.

    Args:
        shape: Its arities.
        levels: Values by level, leaves first; each level holds the nodes of all base trees in order.
    """

    def __init__(self, shape: TreeShape, levels: Sequence[Sequence[int]]) -> None:
        self.shape = shape
        self.levels = levels
        self.arities = shape.arities(len(levels[0]))

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return len(self.levels[0])

    @property
    def root(self) -> int:
        """The value at the top."""
        return self.node(len(self.arities), 0)

    def node(self, level: int, index: int) -> int:
        """A node's value; level 0 are the leaves."""
        return self.levels[level][index]

    def prove(self, index: int) -> InclusionProof:
        """The inclusion proof of one leaf.

        Raises:
            RangeError: No such leaf.
        """
        if not 0 <= index < self.num_leaves:
            raise RangeError(f"there is no leaf {index}", limit=f"0 <= index < {self.num_leaves}")
        path = []
        position = index
        for level, arity in enumerate(self.arities):
            first, digit = position - position % arity, position % arity
            others = (i for i in range(first, first + arity) if i != position)
            path.append(PathElement(tuple(self.node(level, i) for i in others), digit))
            position //= arity
        above = bool(self.shape.sub) + bool(self.shape.top)
        cut = len(path) - above
        return InclusionProof(
            self.node(0, index),
            self.root,
            tuple(path[:cut]),
            tuple(path[cut : cut + 1]),
            tuple(path[cut + 1 :]),
        )


def build_tree(hasher: TreeHasher, shape: TreeShape, leaves: Sequence[int]) -> Tree:
    """Hash all leaves up to the root.

    Raises:
        ShapeError: The leaves do not fill the shape.
    Cost: num_leaves / (base - 1) hashes, about.
    Checked by: tests/circuits/test_merkle.py.
    """
    levels = [list(leaves)]
    for arity in shape.arities(len(leaves)):
        below = levels[-1]
        levels.append([hasher.node(below[i : i + arity]) for i in range(0, len(below), arity)])
    return Tree(shape, levels)


def seeded_filler(seed: bytes) -> Callable[[int, int], int]:
    """Values for nodes that nobody computed: SHA-256 of seed, level and index."""
    start = sha256(seed).digest()
    return lambda level, index: sha256_value(start, level.to_bytes(4, "little"), index.to_bytes(8, "little"))


class SparseTree(Tree):
    """A tree in which only some leaves and the nodes above them were computed; `filler` invents the others.

    Trees of 2^30 leaves with a few openings cost a few hundred hashes this way. Every proof of a given leaf holds.

    Args:
        hasher: How children become a node.
        shape: Arities.
        num_leaves: Leaves of the full tree.
        leaves: The leaves that are given, by index.
        filler: (level, index) -> value of any other node that is a sibling of a computed one.
    Raises:
        ShapeError: num_leaves do not fill the shape.   RangeError: A given leaf is outside.
    """

    def __init__(
        self,
        hasher: TreeHasher,
        shape: TreeShape,
        num_leaves: int,
        leaves: Mapping[int, int],
        filler: Callable[[int, int], int],
    ) -> None:
        self.shape = shape
        self.arities = shape.arities(num_leaves)
        self._num_leaves = num_leaves
        self._filler = filler
        self._known: list[dict[int, int]] = [dict(leaves)]
        if leaves and not 0 <= min(leaves) <= max(leaves) < num_leaves:
            raise RangeError("a given leaf is outside the tree", limit=f"0 <= index < {num_leaves}")
        for level, arity in enumerate(self.arities):
            parents = sorted({index // arity for index in self._known[level]} or {0})
            rows = ([self.node(level, i * arity + k) for k in range(arity)] for i in parents)
            self._known.append(dict(zip(parents, map(hasher.node, rows), strict=True)))

    @property
    def num_leaves(self) -> int:
        """The number of leaves of the full tree."""
        return self._num_leaves

    def node(self, level: int, index: int) -> int:
        """A node's value, computed or invented."""
        known = self._known[level].get(index)
        return self._filler(level, index) if known is None else known

    @property
    def num_known(self) -> int:
        """How many nodes were given or computed."""
        return sum(map(len, self._known))
