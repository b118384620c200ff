"""The parents of a node: six in the depth-robust graph of its layer, eight in the layer before (expander).

Source: Fisch, Tight proofs of space and replication, https://eprint.iacr.org/2018/702; Alwen, Blocki & Harsha,
https://eprint.iacr.org/2017/443 (DRSample); details as Filecoin fixed them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from hashlib import blake2b, sha256

from cuzk.circuits.vanilla.chacha import chacha8_u64
from cuzk.errors import RangeError, ShapeError

__all__ = ["DRG_DEGREE", "EXPANDER_DEGREE", "ApiVersion", "Feistel", "Graph"]

DRG_DEGREE = 6
EXPANDER_DEGREE = 8
_FEISTEL_ROUNDS = 3
_MASK32 = (1 << 32) - 1


class ApiVersion(Enum):
    """What changed the graph: 1.0 puts the predecessor last and cuts expander indices to 32 bits."""

    V1_0_0 = "1.0.0"
    V1_1_0 = "1.1.0"
    V1_2_0 = "1.2.0"


@dataclass(frozen=True)
class Feistel:
    """A permutation of 0 <= x < size by a Feistel network over the next power of 4, walked until in range.

    Attributes:
        size: Number of elements, at least 1.
        keys: One 64-bit key for each round.
    """

    size: int
    keys: tuple[int, ...]

    @cached_property
    def half_bits(self) -> int:
        """Bits of each half."""
        return max(1, -(-(self.size - 1).bit_length() // 2))

    def _round(self, right: int, key: int) -> int:
        digest = blake2b(right.to_bytes(8, "big") + key.to_bytes(8, "big")).digest()
        return int.from_bytes(digest[:8], "big") & ((1 << self.half_bits) - 1)

    def _walk(self, index: int, step: Callable[[int], int]) -> int:
        if not 0 <= index < self.size:
            raise RangeError(f"{index} is not permuted", limit=f"0 <= index < {self.size}")
        value = step(index)
        while value >= self.size:
            value = step(value)
        return value

    def _forward(self, value: int) -> int:
        left, right = value >> self.half_bits, value & ((1 << self.half_bits) - 1)
        for key in self.keys:
            left, right = right, left ^ self._round(right, key)
        return left << self.half_bits | right

    def _backward(self, value: int) -> int:
        left, right = value >> self.half_bits, value & ((1 << self.half_bits) - 1)
        for key in reversed(self.keys):
            left, right = right ^ self._round(left, key), left
        return left << self.half_bits | right

    def permute(self, index: int) -> int:
        """Where an index goes."""
        return self._walk(index, self._forward)

    def invert(self, index: int) -> int:
        """Where it came from."""
        return self._walk(index, self._backward)


@dataclass(frozen=True)
class Graph:
    """The graph of a sector.

    Attributes:
        num_nodes: Nodes of a layer, at least 2, below 2^32.
        porep_id: 32 bytes that select the graph.
        version: Which rules.
    Raises:
        ShapeError: num_nodes or porep_id out of bounds.
    Checked by: tests/circuits/test_graph.py (published digests of all parents).
    """

    num_nodes: int
    porep_id: bytes
    version: ApiVersion = ApiVersion.V1_1_0

    def __post_init__(self) -> None:
        if not 2 <= self.num_nodes <= _MASK32:
            raise ShapeError(f"a graph of {self.num_nodes} nodes", limit="2 <= nodes < 2^32")
        if len(self.porep_id) != 32:
            raise ShapeError(f"a porep_id of {len(self.porep_id)} bytes", limit="32 bytes")

    @cached_property
    def _drg_seed(self) -> bytes:
        return sha256(b"Filecoin_DRSample" + self.porep_id).digest()[:28]

    @cached_property
    def feistel(self) -> Feistel:
        """The permutation behind the expander edges."""
        digest = sha256(b"Filecoin_Feistel" + self.porep_id).digest()
        keys = tuple(int.from_bytes(digest[8 * i : 8 * i + 8], "little") for i in range(_FEISTEL_ROUNDS))
        return Feistel(self.num_nodes * EXPANDER_DEGREE, keys)

    def _check(self, node: int) -> None:
        if not 0 <= node < self.num_nodes:
            raise RangeError(f"there is no node {node}", limit=f"0 <= node < {self.num_nodes}")

    def drg_parents(self, node: int) -> tuple[int, ...]:
        """The six parents in the node's own layer; repetitions count, nodes 0 and 1 have only node 0."""
        self._check(node)
        if node < 2:
            return (0,) * DRG_DEGREE
        draws = chacha8_u64(self._drg_seed + node.to_bytes(4, "little"))
        # Each node stands for five nodes of the graph that is sampled, one for each edge drawn.
        fine = node * (DRG_DEGREE - 1)
        num_buckets = (fine - 1).bit_length()
        parents = []
        for _ in range(DRG_DEGREE - 1):
            longest = min(fine, 1 << (next(draws) % num_buckets + 1))
            shortest = max(2, longest >> 1)
            distance = shortest + next(draws) % (longest - shortest + 1)
            parent = (fine - distance) // (DRG_DEGREE - 1)
            parents.append(node - 1 if parent == node else parent)
        if self.version is ApiVersion.V1_0_0:
            return (*parents, node - 1)
        return (node - 1, *parents)

    def expander_parents(self, node: int) -> tuple[int, ...]:
        """The eight parents in the layer before."""
        self._check(node)
        moved = (self.feistel.permute(node * EXPANDER_DEGREE + i) for i in range(EXPANDER_DEGREE))
        if self.version is ApiVersion.V1_0_0:
            moved = (index & _MASK32 for index in moved)
        return tuple(index // EXPANDER_DEGREE for index in moved)

    def parents(self, node: int) -> tuple[int, ...]:
        """All fourteen: those in the layer, then those in the layer before."""
        return self.drg_parents(node) + self.expander_parents(node)
