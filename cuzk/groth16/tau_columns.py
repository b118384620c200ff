"""The columns of A, B and C at tau, and what a key says of the rows they come from."""

from __future__ import annotations

from typing import Any, Protocol

from cuzk.compiled_rows import CompiledRows, UnwrittenMatrix, variables_in
from cuzk.csr import IntArray
from cuzk.curves import Curve
from cuzk.device.base import Array, Device
from cuzk.ops.fr_vec import fr_add
from cuzk.ops.piece_columns import piece_columns
from cuzk.ops.spmv import DeviceMatrix, spmv
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS

__all__ = ["Columns", "columns_of"]


class Columns(Protocol):
    """A circuit as a set-up takes it.

    Attributes:
        curve: Whose Fr.
        num_public: Public variables, ONE not included.
        num_variables: All variables, ONE included.
        num_constraints: Rows, without those that bind inputs.
    """

    curve: Curve
    num_public: int
    num_variables: int
    num_constraints: int

    def at_tau(self, device: Device, basis: Array) -> list[Array]:
        """u_i(tau), v_i(tau), w_i(tau): the transposed matrices, binding rows included, times the Lagrange basis.

        Args:
            device: Where.
            basis: Shape (n, limbs) uint64. Form: Montgomery, < r. The Lagrange basis of the rows at tau.
        Returns:
            Three vectors of shape (num_variables, limbs) uint64, on the device. Form: Montgomery, < r.
        """

    def kept_b(self) -> IntArray | None:
        """Variables that stand in B, where the key's B queries leave the others out; ascending, uint32."""

    def rows(self) -> dict[str, Any]:
        """The key's fields that say which rows it is for."""


def columns_of(circuit: R1CS | CompiledCircuit, name: str = "") -> Columns:
    """A circuit in either form; a compiled one may have a name, which its key will tell."""
    return _OfPieces(circuit, name) if isinstance(circuit, CompiledCircuit) else _OfMatrices(circuit)


class _OfMatrices:
    """Matrices are transposed on the host."""

    def __init__(self, r1cs: R1CS) -> None:
        self.curve, self.num_public = r1cs.curve, r1cs.num_public
        self.num_variables, self.num_constraints = r1cs.num_variables, r1cs.num_constraints
        self._matrices = r1cs.with_binding_rows()

    def at_tau(self, device: Device, basis: Array) -> list[Array]:
        columns = []
        for matrix in self._matrices:
            transposed = DeviceMatrix.upload(device, matrix.transpose())
            columns.append(spmv(device, self.curve, transposed, basis[: transposed.num_cols]))
        return columns

    def kept_b(self) -> None:
        return None

    def rows(self) -> dict[str, Any]:
        return dict(zip("abc", self._matrices, strict=True))


class _OfPieces:
    """The matrices are never there."""

    def __init__(self, circuit: CompiledCircuit, name: str) -> None:
        self.curve, self.num_public = circuit.curve, circuit.num_inputs - 1
        self.num_variables, self.num_constraints = circuit.num_variables, circuit.num_rows
        self._circuit, self._name = circuit, name

    def at_tau(self, device: Device, basis: Array) -> list[Array]:
        columns = piece_columns(device, self._circuit, basis[: self.num_constraints])
        bound = columns[0][: self.num_public + 1]
        binding = basis[self.num_constraints : self.num_constraints + len(bound)]
        fr_add(device, self.curve, bound, binding, out=bound)
        return columns

    def kept_b(self) -> IntArray:
        return variables_in(self._circuit, 1).nonzero()[0].astype("u4")

    def rows(self) -> dict[str, Any]:
        compiled = CompiledRows.of(self._circuit, self._name)
        shape = (self.num_constraints + self.num_public + 1, self.num_variables)
        matrix = UnwrittenMatrix(self.curve, shape, compiled)
        return {"a": matrix, "b": matrix, "compiled": compiled}
