"""The proof of replication as a circuit: one partition of a stacked PoRep.

For each challenged node: its data is under comm_d, the columns of its parents are under comm_c, its labels follow from
theirs layer by layer, key plus data is under comm_r_last, its own column under comm_c. Rows and variables are those of
rust-fil-proofs. Public inputs are replica id, comm_d, comm_r, and for each challenge 18 indices of what is opened.

A challenge is a template: all challenges of a partition have the same rows.

>>> circuit = StackedCircuit.parse("stacked:8-0-0:8n:2l:1c")
>>> circuit.num_inputs, circuit.name
(22, 'stacked:8-0-0:8n:2l:1c')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from cuzk.circuits.boolean import Bit, alloc_bits
from cuzk.circuits.column import enforce_column, parent_column
from cuzk.circuits.create_label import NUM_PARENTS, create_label
from cuzk.circuits.multipack import pack_into_inputs
from cuzk.circuits.number import enforce_equal, expose, number_to_bits, reversed_in_bytes
from cuzk.circuits.por import check_tree, enforce_inclusion, sha256_node
from cuzk.circuits.poseidon import CIRCUIT_ARITIES, poseidon_hash
from cuzk.circuits.template import call_variable_template
from cuzk.circuits.vanilla.graph import DRG_DEGREE, EXPANDER_DEGREE
from cuzk.circuits.vanilla.merkle import TreeShape
from cuzk.circuits.vanilla.seal import DATA_TREE
from cuzk.circuits.vanilla.shapes import SectorShape
from cuzk.errors import RangeError
from cuzk.synthesis import ONE, ConstraintSystem, Variable

__all__ = ["INPUTS_PER_CHALLENGE", "NODE_BITS", "STACKED_PATTERN", "StackedCircuit"]

STACKED_PATTERN = "stacked:BASE-SUB-TOP:NODESn:LAYERSl:CHALLENGESc"
#: Paths of data, 14 parents, replica and own column, and the challenge itself.
INPUTS_PER_CHALLENGE = DRG_DEGREE + EXPANDER_DEGREE + 4
#: ONE, replica id, comm_d, comm_r.
_SHARED_INPUTS = 4
#: Bits of a challenge.
NODE_BITS = 64
_MAX_NODES = 1 << 31
_MAX_CHALLENGES = 1 << 10
_NAME = re.compile(r"stacked:([^:]*):([0-9]{1,12})n:([0-9]{1,4})l:([0-9]{1,6})c", re.ASCII)


@dataclass(frozen=True)
class StackedCircuit:
    """``stacked:BASE-SUB-TOP:NODESn:LAYERSl:CHALLENGESc``.

    Args:
        tree: Arities of the trees over columns and replica: 2, 4 or 8; 0 for no sub or top part.
        num_nodes: Nodes of a layer, a power of two that fills such a tree.
        layers: Layers of labels, an arity with a hash.
        challenges: Challenges of the partition.

    Raises:
        RangeError: A number that no circuit has.   ShapeError: The nodes do not fill the trees.
    """

    tree: TreeShape
    num_nodes: int
    layers: int
    challenges: int

    def __post_init__(self) -> None:
        if self.layers not in CIRCUIT_ARITIES:
            possible = ", ".join(map(str, CIRCUIT_ARITIES))
            raise RangeError(f"a stacked PoRep of {self.layers} layers", limit=f"one of {possible}")
        if not 1 <= self.challenges <= _MAX_CHALLENGES:
            raise RangeError(f"a partition of {self.challenges} challenges", limit=f"1 to {_MAX_CHALLENGES}")
        if not 2 <= self.num_nodes <= _MAX_NODES:
            raise RangeError(f"a sector of {self.num_nodes} nodes", limit=f"2 to {_MAX_NODES}")
        check_tree(self.tree, self.num_nodes)

    @classmethod
    def parse(cls, name: str) -> StackedCircuit:
        """What a name stands for.

        Raises:
            RangeError, ShapeError: Not of the form; as of the class.
        """
        match = _NAME.fullmatch(name)
        if match is None:
            raise RangeError(f"{name!r:.60} is no stacked PoRep", limit=STACKED_PATTERN)
        nodes, layers, challenges = map(int, match.groups()[1:])
        return cls(TreeShape.parse(match[1]), nodes, layers, challenges)

    @classmethod
    def of_sector(cls, shape: SectorShape) -> StackedCircuit:
        """The circuit of one partition of a sector's PoRep."""
        return cls(shape.tree, shape.num_nodes, shape.layers, shape.challenges)

    @property
    def name(self) -> str:
        """The name that parse takes."""
        return f"stacked:{self.tree}:{self.num_nodes}n:{self.layers}l:{self.challenges}c"

    @property
    def num_inputs(self) -> int:
        """Public inputs, ONE counted."""
        return _SHARED_INPUTS + INPUTS_PER_CHALLENGE * self.challenges

    @property
    def data_arities(self) -> tuple[int, ...]:
        """Of each level of the tree over the data."""
        return DATA_TREE.arities(self.num_nodes)

    @property
    def tree_arities(self) -> tuple[int, ...]:
        """Of each level of the trees over columns and replica."""
        return self.tree.arities(self.num_nodes)

    def record(self, cs: ConstraintSystem) -> None:
        """Write the rows of a partition.

        Args:
            cs: An empty system over BLS12-381. Where it keeps values, its hints are those of
                cuzk.circuits.hints.stacked_hints.

        Raises:
            CurveMismatchError: The system is over another field.
        """
        replica_id = cs.alloc()
        expose(cs, replica_id)
        # Which of 255 variables is which bit is all that a challenge needs to know.
        replica_bits = [(bit >> 1) - 1 for bit in number_to_bits(cs, replica_id)]
        comm_d = cs.alloc()
        expose(cs, comm_d)
        comm_r = cs.alloc()
        expose(cs, comm_r)
        comm_r_last, comm_c = cs.alloc(), cs.alloc()
        enforce_equal(cs, comm_r, poseidon_hash(cs, [comm_c, comm_r_last]))
        body = _Challenge(self.layers, self.data_arities, self.tree_arities)
        for _ in range(self.challenges):
            call_variable_template(cs, body, [comm_d, comm_r_last, comm_c, *replica_bits])


@dataclass(frozen=True)
class _Challenge:
    """The body of a challenge's template: of comm_d, comm_r_last, comm_c and the bits of the replica id."""

    layers: int
    data_arities: tuple[int, ...]
    tree_arities: tuple[int, ...]

    def __call__(self, cs: ConstraintSystem, operands: Sequence[Variable]) -> list[Variable]:
        comm_d, comm_r_last, comm_c, *replica_bits = operands
        data = cs.alloc()
        enforce_inclusion(cs, sha256_node, data, comm_d, self.data_arities)
        parents = [
            parent_column(cs, comm_c, self.layers, self.tree_arities)
            for _ in range(DRG_DEGREE + EXPANDER_DEGREE)
        ]
        node = alloc_bits(cs, NODE_BITS)
        pack_into_inputs(cs, node)
        replica_id = reversed_in_bytes([(variable + 1) << 1 for variable in replica_bits])
        labels = [
            create_label(cs, replica_id, layer, node[::-1], _label_parents(cs, parents, layer))
            for layer in range(1, self.layers + 1)
        ]
        enforce_inclusion(cs, poseidon_hash, _sum(cs, labels[-1], data), comm_r_last, self.tree_arities)
        enforce_column(cs, labels, comm_c, self.tree_arities)
        return []


def _label_parents(
    cs: ConstraintSystem, parents: Sequence[Sequence[Variable]], layer: int
) -> list[list[Bit]]:
    """The bits of the 37 parents that a label of a layer hashes; decomposed anew in each layer."""
    labels = [column[layer - 1] for column in parents[:DRG_DEGREE]]
    if layer > 1:
        labels += [column[layer - 2] for column in parents[DRG_DEGREE:]]
    decomposed = [reversed_in_bytes(number_to_bits(cs, label)) for label in labels]
    return list(islice(cycle(decomposed), NUM_PARENTS))


def _sum(cs: ConstraintSystem, key: Variable, data: Variable) -> Variable:
    """The replica's node, key plus data; one row, (key + data) * 1 = node."""
    total = {key: 1, data: 1}
    node = cs.define_linear(total)
    cs.enforce(total, {ONE: 1}, {node: 1})
    return node
