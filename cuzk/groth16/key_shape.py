"""The counts of a key that decide how much memory a proof takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from cuzk.curves import Curve, GroupSpec
from cuzk.device.base import DeviceLimits
from cuzk.keys import ProvingKey
from cuzk.ops.plan_fr import spmv_long_row

__all__ = ["QUERY_ORDER", "WITNESS_QUERIES", "KeyShape"]

#: The queries in the order in which a proof takes them.
QUERY_ORDER = ("h", "l", "a", "b_g1", "b_g2")
#: Queries whose bases meet witness values, and so have masks and lists of indices.
WITNESS_QUERIES = QUERY_ORDER[1:]


@dataclass(frozen=True)
class KeyShape:
    """What the plan needs to know of a key.

    Args:
        curve: The key's curve.
        log_domain: log2 of the rows.
        num_variables: Length of a witness.
        lengths: Query name -> number of bases.
        matrix_bytes: Bytes of the matrices on a device; 0 where the key has none.
        gathered: Scalars that are gathered for queries which leave their infinite bases out.
        circuits: Witnesses that are to be proved together.
    """

    curve: Curve
    log_domain: int
    num_variables: int
    lengths: Mapping[str, int]
    matrix_bytes: int
    gathered: int = 0
    circuits: int = 1

    @classmethod
    def of(cls, key: ProvingKey, limits: DeviceLimits) -> KeyShape:
        """The shape of a key."""
        matrices = 0
        for matrix in key.matrices.values() if key.compiled is None else ():
            parts = (matrix.row_ptr, matrix.col, matrix.coeff, matrix.dictionary)
            matrices += sum(part.nbytes for part in parts) + 4 * (matrix.nnz // spmv_long_row(limits) + 1)
        lengths = {name: len(getattr(key, f"{name}_query")) for name in QUERY_ORDER}
        gathered = 0 if key.b_places is None else lengths["b_g1"] + lengths["b_g2"]
        return cls(
            key.curve, key.log_domain, key.num_variables, MappingProxyType(lengths), matrices, gathered
        )

    def with_lengths(self, kept: Mapping[str, int]) -> KeyShape:
        """The shape without the infinite bases of some queries, of which so many are kept."""
        lengths = MappingProxyType({**self.lengths, **kept})
        return replace(self, lengths=lengths, gathered=sum(kept.values()))

    def group(self, name: str) -> GroupSpec:
        """The group of a query's bases."""
        return self.curve.g2 if name == "b_g2" else self.curve.g1

    def query_bytes(self, name: str) -> int:
        """Bytes of a query's bases."""
        return self.lengths[name] * self.group(name).affine_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of one vector over the domain."""
        return self.curve.fr.nbytes << self.log_domain

    @property
    def witness_bytes(self) -> int:
        """Bytes of a witness."""
        return self.num_variables * self.curve.fr.nbytes

    @property
    def list_bytes(self) -> int:
        """Bytes of a witness's lists of indices, and of the scalars that are gathered from it."""
        lists = 4 * sum(self.lengths[name] for name in WITNESS_QUERIES)
        return lists + self.gathered * self.curve.fr.nbytes

    @property
    def circuit_bytes(self) -> int:
        """Most bytes that one witness more takes at any stage: with its rows, or with its lists."""
        return self.witness_bytes + max(3 * self.row_bytes, self.list_bytes)
