"""The proof of spacetime as a circuit: leaves of sealed replicas are what they were when sealed.

WinningPoSt and WindowPoSt are both this "fallback" PoSt. For each sector comm_r is the hash of comm_c and comm_r_last,
and each challenged leaf is under comm_r_last. Rows and variables are those of rust-fil-proofs. Public inputs are, for
each sector, comm_r and the indices of its challenged leaves.

A sector is a template, and so is a challenge in it.

>>> circuit = FallbackPostCircuit.parse("fallback-post:8-0-0:3s:5c")
>>> circuit.num_inputs, circuit.num_nodes
(19, 64)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from cuzk.circuits.number import enforce_equal, expose
from cuzk.circuits.por import check_tree, enforce_inclusion
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.template import call_variable_template
from cuzk.circuits.vanilla.merkle import TreeShape
from cuzk.circuits.vanilla.shapes import SectorShape
from cuzk.errors import RangeError
from cuzk.synthesis import ConstraintSystem, Variable

__all__ = ["FALLBACK_PATTERN", "FallbackPostCircuit"]

FALLBACK_PATTERN = "fallback-post:BASE-SUB-TOP[:NODESn]:SECTORSs:CHALLENGESc"
_NAME = re.compile(r"fallback-post:([^:]*)(?::([0-9]{1,12})n)?:([0-9]{1,6})s:([0-9]{1,6})c", re.ASCII)
#: Leaves of each base tree where a name does not say how many nodes there are, as in the tests of rust-fil-proofs.
_BASE_LEAVES = 64
_MAX_NODES = 1 << 31
_MAX_SECTORS = _MAX_CHALLENGES = 1 << 12


@dataclass(frozen=True)
class FallbackPostCircuit:
    """``fallback-post:BASE-SUB-TOP[:NODESn]:SECTORSs:CHALLENGESc``.

    Args:
        tree: Arities of the tree over a replica: 2, 4 or 8; 0 for no sub or top part.
        num_nodes: Leaves of that tree.
        sectors: Sectors of the partition.
        challenges: Challenged leaves of each.

    Raises:
        RangeError: A number that no circuit has.   ShapeError: The nodes do not fill the tree.
    """

    tree: TreeShape
    num_nodes: int
    sectors: int
    challenges: int

    def __post_init__(self) -> None:
        for what, number, limit in (
            ("sectors", self.sectors, _MAX_SECTORS),
            ("challenges of a sector", self.challenges, _MAX_CHALLENGES),
        ):
            if not 1 <= number <= limit:
                raise RangeError(f"a proof of spacetime of {number} {what}", limit=f"1 to {limit}")
        if not 2 <= self.num_nodes <= _MAX_NODES:
            raise RangeError(f"a sector of {self.num_nodes} nodes", limit=f"2 to {_MAX_NODES}")
        check_tree(self.tree, self.num_nodes)

    @classmethod
    def parse(cls, name: str) -> FallbackPostCircuit:
        """What a name stands for; without NODESn there are 64 leaves in each base tree.

        Raises:
            RangeError, ShapeError: Not of the form; as of the class.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise RangeError(f"{name!r:.60} is no fallback PoSt", limit=FALLBACK_PATTERN)
        tree = TreeShape.parse(match[1])
        above = prod(arity for arity in (tree.sub, tree.top) if arity)
        nodes = _BASE_LEAVES * above if match[2] is None else int(match[2])
        return cls(tree, nodes, int(match[3]), int(match[4]))

    @classmethod
    def of_sector(cls, shape: SectorShape, sectors: int, challenges: int) -> FallbackPostCircuit:
        """The circuit for sectors of one size."""
        return cls(shape.tree, shape.num_nodes, sectors, challenges)

    @property
    def name(self) -> str:
        """The name that parse takes."""
        return f"fallback-post:{self.tree}:{self.num_nodes}n:{self.sectors}s:{self.challenges}c"

    @property
    def num_inputs(self) -> int:
        """Public inputs, ONE counted."""
        return 1 + self.sectors * (1 + self.challenges)

    @property
    def tree_arities(self) -> tuple[int, ...]:
        """Of each level of the tree over a replica."""
        return self.tree.arities(self.num_nodes)

    def record(self, cs: ConstraintSystem) -> None:
        """Write the rows of a partition.

        Args:
            cs: An empty system over BLS12-381. Where it keeps values, its hints are those of
                cuzk.circuits.hints.post_hints.

        Raises:
            CurveMismatchError: The system is over another field.
        """
        body = _Sector(self.challenges, self.tree_arities)
        for _ in range(self.sectors):
            call_variable_template(cs, body, [])


@dataclass(frozen=True)
class _Sector:
    """The body of a sector's template; it has no operands."""

    challenges: int
    arities: tuple[int, ...]

    def __call__(self, cs: ConstraintSystem, _operands: Sequence[Variable]) -> list[Variable]:
        comm_r_last, comm_c, comm_r = cs.alloc(), cs.alloc(), cs.alloc()
        expose(cs, comm_r)
        enforce_equal(cs, comm_r, poseidon_hash(cs, [comm_c, comm_r_last]))
        body = _Opening(self.arities)
        for _ in range(self.challenges):
            call_variable_template(cs, body, [comm_r_last])
        return []


@dataclass(frozen=True)
class _Opening:
    """The body of an opened leaf's template: of comm_r_last."""

    arities: tuple[int, ...]

    def __call__(self, cs: ConstraintSystem, operands: Sequence[Variable]) -> list[Variable]:
        (comm_r_last,) = operands
        enforce_inclusion(cs, poseidon_hash, cs.alloc(), comm_r_last, self.arities)
        return []
