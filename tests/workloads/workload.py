"""One circuit in all the forms that its users want."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from cuzk_examples.circuit import Circuit, Row
from cuzk_examples.files import r1cs_bytes, wtns_bytes
from cuzk_examples.mimc import depth_for, merkle_path
from cuzk_oracles import qap

from cuzk.csr import CsrMatrix, csr_from_indexed
from cuzk.curves import Curve, get_curve
from cuzk.limbs import fr_from_ints
from cuzk.relation import R1CS
from cuzk.witness import Witness


@dataclass(frozen=True, eq=False)
class Workload:
    """A circuit, satisfied.

    Args:
        name: For test ids and benchmark rows.
        curve: Whose scalar field it is over.
        circuit: The rows a, b, c as lists of (variable, coefficient), and the values, all in plain ints. Rows
            may hold zero coefficients and repeat a variable; the oracles take them so.
    """

    name: str
    curve: Curve
    circuit: Circuit

    @property
    def rows(self) -> tuple[list[Row], list[Row], list[Row]]:
        """The three matrices as plain rows."""
        return self.circuit.a, self.circuit.b, self.circuit.c

    @property
    def values(self) -> list[int]:
        """The witness in standard form, the constant 1 first."""
        return self.circuit.values

    @property
    def public(self) -> list[int]:
        """The public values, without the constant 1."""
        return self.circuit.public

    def dict_rows(self) -> list[tuple[dict[int, int], dict[int, int], dict[int, int]]]:
        """Per constraint three maps variable -> coefficient: repeated variables added, zeros left out."""
        merged = [[self._merge(row) for row in matrix] for matrix in self.rows]
        return list(zip(*merged, strict=True))

    def _merge(self, row: Row) -> dict[int, int]:
        total: dict[int, int] = {}
        for variable, coefficient in row:
            total[variable] = (total.get(variable, 0) + coefficient) % self.curve.r
        return {variable: coefficient for variable, coefficient in total.items() if coefficient}

    @cached_property
    def oracle_r1cs(self) -> qap.R1CS:
        """The circuit as the oracles take it."""
        circuit = self.circuit
        return qap.R1CS(circuit.num_variables, circuit.num_public, circuit.a, circuit.b, circuit.c)

    @cached_property
    def r1cs(self) -> R1CS:
        """The circuit as the prover takes it."""
        a, b, c = (self._matrix(rows) for rows in self.rows)
        return R1CS(self.curve, self.circuit.num_variables, self.circuit.num_public, a, b, c)

    def _matrix(self, rows: list[Row]) -> CsrMatrix:
        position: dict[int, int] = {}
        entries = [entry for row in rows for entry in row]
        index = [position.setdefault(coefficient, len(position)) for _, coefficient in entries]
        return csr_from_indexed(
            self.curve,
            (len(rows), self.circuit.num_variables),
            np.repeat(np.arange(len(rows), dtype=np.uint32), [len(row) for row in rows]),
            np.array([variable for variable, _ in entries], dtype=np.uint32),
            np.array(index, dtype=np.int64),
            fr_from_ints(self.curve, position),
        )

    @cached_property
    def witness(self) -> Witness:
        """The witness as the prover takes it."""
        return Witness.from_ints(self.curve, self.values)

    def r1cs_file(self) -> bytes:
        """The .r1cs file; it keeps zero coefficients and repeated variables as they stand in the rows."""
        return r1cs_bytes(self.circuit)

    def wtns_file(self) -> bytes:
        """The .wtns file."""
        return wtns_bytes(self.circuit)


def mimc_merkle(
    curve: str, *, depth: int | None = None, max_constraints: int | None = None, seed: int = 1
) -> Workload:
    """A Merkle path over a MiMC-like hash: all but the direction bits are full-width values.

    Args:
        curve: Name of the curve.
        depth: Levels; 662 rows each.
        max_constraints: Instead of depth: the deepest path with at most so many rows (at least one level).
        seed: Where leaf and siblings come from.
    """
    if (depth is None) == (max_constraints is None):
        raise ValueError("give either depth or max_constraints")
    levels = depth if depth is not None else depth_for(max_constraints or 0)
    spec = get_curve(curve)
    return Workload(f"mimc_merkle_{levels}", spec, merkle_path(spec.r, levels, seed=seed))
