"""Rank-1 constraint systems: A w o B w = C w, with the matrices in compressed rows.

Variables are ordered: the constant ONE (w[0] = 1), the public ones (outputs before inputs in circom's files),
then the rest. A proof binds the public variables through num_public+1 further rows that hold w[i] * 0 = 0;
keys include these rows, an R1CS does not. The evaluation domain is the smallest power of two that holds both
kinds of rows.

>>> from cuzk.curves import get_curve
>>> r1cs = R1CS.from_rows(get_curve("toy"), 4, 1, [({2: 1}, {3: 1}, {1: 1})])     # w1 = w2 * w3
>>> r1cs.num_constraints, r1cs.domain_log2
(1, 2)
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cuzk.csr import CsrMatrix, IntArray, csr_from_indexed
from cuzk.curves import Curve
from cuzk.errors import CurveMismatchError, ShapeError, UnsatisfiedError
from cuzk.limbs import fr_from_ints, fr_to_ints

if TYPE_CHECKING:
    from cuzk.witness import Witness

Row = Mapping[int, int]

_REMEDY = "correct the program that builds the circuit, or compile its file again"


def domain_log2(num_constraints: int, num_public: int) -> int:
    """log2 of the evaluation domain: the smallest power of two >= num_constraints + num_public + 1."""
    return (num_constraints + num_public).bit_length()


def circuit_digest(curve: Curve, num_public: int, num_constraints: int, a: CsrMatrix, b: CsrMatrix) -> str:
    """Hash of what a key fixes about a circuit; equal for the circuit's file and for its keys.

    Args:
        curve: The curve.
        num_public: Public variables without ONE.
        num_constraints: Rows of the circuit; further rows of a and b (the binding rows of a key) are left
            out.
        a: Matrix A, canonical.
        b: Matrix B, canonical.

    Returns:
        64 hex digits (BLAKE2b-256). C is not in it, since a ``.zkey`` does not contain C.
    """
    digest = hashlib.blake2b(digest_size=32, person=b"cuzk-circuit")
    digest.update(f"{curve.name},{num_public},{num_constraints}".encode())
    for matrix in (a, b):
        matrix.with_rows(num_constraints).update_digest(digest)
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class R1CS:
    """A circuit as three sparse matrices of equal shape (num_constraints x num_variables).

    Args:
        curve: Whose Fr the circuit is over.
        num_variables: All variables, ONE included.
        num_public: Public variables, ONE not included.
        a: Matrix A.
        b: Matrix B.
        c: Matrix C.
        num_outputs: How many of the public variables are outputs (they come first); only for writing files.
        num_private_inputs: How many of the other variables are inputs (they come first); only for writing
            files.
        labels: Shape (num_variables,) uint64, the compiler's signal number per variable, or None.
    """

    curve: Curve
    num_variables: int
    num_public: int
    a: CsrMatrix
    b: CsrMatrix
    c: CsrMatrix
    num_outputs: int = 0
    num_private_inputs: int = 0
    labels: IntArray | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.num_public + 1 <= self.num_variables <= 1 << 32:
            raise ShapeError(
                f"{self.num_public} public variables of {self.num_variables}",
                limit="0 <= num_public < num_variables <= 2^32, ONE counts as a variable but not as public",
                remedy=_REMEDY,
            )
        if self.num_outputs > self.num_public:
            raise ShapeError(
                f"{self.num_outputs} outputs", limit=f"{self.num_public} public variables", remedy=_REMEDY
            )
        if self.num_private_inputs > self.num_variables - 1 - self.num_public:
            raise ShapeError(
                f"{self.num_private_inputs} private inputs",
                limit=f"{self.num_variables - 1 - self.num_public} variables that are not public",
                remedy=_REMEDY,
            )
        if self.labels is not None and self.labels.shape != (self.num_variables,):
            raise ShapeError(
                f"labels of shape {self.labels.shape}", limit=f"({self.num_variables},)", remedy=_REMEDY
            )
        for name, matrix in self.matrices.items():
            if matrix.curve is not self.curve:
                raise CurveMismatchError(
                    f"matrix {name} is over {matrix.curve.name}", limit=self.curve.name, remedy=_REMEDY
                )
            if (matrix.num_rows, matrix.num_cols) != (self.a.num_rows, self.num_variables):
                raise ShapeError(
                    f"matrix {name} is {matrix.num_rows} x {matrix.num_cols}",
                    limit=f"{self.a.num_rows} x {self.num_variables}",
                    remedy=_REMEDY,
                )

    @classmethod
    def from_rows(
        cls, curve: Curve, num_variables: int, num_public: int, rows: Sequence[tuple[Row, Row, Row]]
    ) -> R1CS:
        """Build a circuit from plain rows.

        Args:
            curve: The curve.
            num_variables: All variables, ONE included.
            num_public: Public variables, ONE not included.
            rows: Per constraint the three linear combinations, each variable -> coefficient (any int, taken
                mod r).

        Raises:
            ShapeError: A variable is out of bounds.
        """
        a, b, c = (matrix_from_rows(curve, num_variables, [row[i] for row in rows]) for i in range(3))
        return cls(curve, num_variables, num_public, a, b, c)

    @property
    def matrices(self) -> dict[str, CsrMatrix]:
        """The three matrices by name."""
        return {"A": self.a, "B": self.b, "C": self.c}

    @property
    def num_constraints(self) -> int:
        """Rows of the circuit, binding rows not included."""
        return self.a.num_rows

    @property
    def domain_log2(self) -> int:
        """log2 of the evaluation domain a key for this circuit uses."""
        return domain_log2(self.num_constraints, self.num_public)

    def validate(self) -> None:
        """Check every entry of every matrix (the sizes are checked on construction).

        Raises:
            ShapeError: A bound is violated.
            RangeError: A coefficient is not reduced.
        """
        for name, matrix in self.matrices.items():
            matrix.validate(f"matrix {name}")

    def with_binding_rows(self) -> tuple[CsrMatrix, CsrMatrix, CsrMatrix]:
        """A, B, C followed by num_public+1 rows that bind the public variables: A gets 1 on variable i."""
        count = self.num_public + 1
        total = self.num_constraints + count
        return self.a.with_identity_rows(count), self.b.with_rows(total), self.c.with_rows(total)

    def unconstrained_variables(self) -> list[int]:
        """Variables other than ONE that no constraint uses: a proof says nothing about their values."""
        used = np.zeros(self.num_variables, dtype=bool)
        used[0] = True
        for matrix in self.matrices.values():
            used[matrix.col] = True
        return [int(index) for index in np.flatnonzero(~used)]

    def digest(self) -> str:
        """circuit_digest of this circuit."""
        return circuit_digest(self.curve, self.num_public, self.num_constraints, self.a, self.b)

    def check_witness_shape(self, witness: Witness) -> None:
        """Check that a witness is one of this circuit by curve and length.

        Raises:
            CurveMismatchError: Another curve.
            ShapeError: Another number of variables.
        """
        if witness.curve is not self.curve:
            raise CurveMismatchError(
                f"the witness is over {witness.curve.name}, the circuit over {self.curve.name}",
                remedy="compile and compute the witness with the same --prime",
            )
        if witness.num_variables != self.num_variables:
            raise ShapeError(
                f"the witness has {witness.num_variables} values, the circuit {self.num_variables} variables",
                remedy="compute the witness with the program compiled from this circuit",
            )

    def row_values(self, row: int, witness_ints: Sequence[int]) -> tuple[int, int, int]:
        """The three values (A w, B w, C w) of one row, standard form."""
        r = self.curve.r
        a, b, c = (
            sum(coefficient * witness_ints[var] for var, coefficient in matrix.row(row)) % r
            for matrix in self.matrices.values()
        )
        return a, b, c

    def first_unsatisfied(self, witness: Witness) -> int | None:
        """The first row that a witness breaks, or None.

        Args:
            witness: Of this circuit.

        Raises:
            CurveMismatchError, ShapeError: The witness is of another circuit.

        Cost: about nnz multiplications of Python ints; a device does this faster for large circuits.
        """
        self.check_witness_shape(witness)
        w, r = witness.to_ints(), self.curve.r
        columns = [_row_sums(matrix, w) for matrix in self.matrices.values()]
        return next((i for i, (a, b, c) in enumerate(zip(*columns, strict=True)) if (a * b - c) % r), None)

    def unsatisfied_error(self, row: int, witness: Witness) -> UnsatisfiedError:
        """The error that names a broken row and its values."""
        a, b, c = self.row_values(row, witness.to_ints())
        return UnsatisfiedError(
            f"the witness breaks constraint {row}: A w = {a}, B w = {b}, so C w must be "
            f"{a * b % self.curve.r}, but it is {c}",
            where=f"row {row}",
            remedy="compute the witness again from correct inputs with this circuit's own program",
        )


def matrix_from_rows(curve: Curve, num_cols: int, rows: Sequence[Row]) -> CsrMatrix:
    """A canonical matrix from rows given as variable -> coefficient (any int, taken mod r).

    Raises:
        ShapeError: A variable is out of bounds.
    """
    lengths = [len(row) for row in rows]
    cols = [var for row in rows for var in row]
    for var in cols:
        if not 0 <= var < num_cols:
            raise ShapeError(
                f"a row uses variable {var}", limit=f"0 <= variable < {num_cols}", remedy=_REMEDY
            )
    coefficients = [coefficient % curve.r for row in rows for coefficient in row.values()]
    distinct = sorted(set(coefficients))
    position = {value: i for i, value in enumerate(distinct)}
    return csr_from_indexed(
        curve,
        (len(rows), num_cols),
        np.repeat(np.arange(len(rows), dtype=np.uint32), lengths),
        np.array(cols, dtype=np.uint32),
        np.array([position[value] for value in coefficients], dtype=np.int64),
        fr_from_ints(curve, distinct),
    )


def _row_sums(matrix: CsrMatrix, w: Sequence[int]) -> list[int]:
    """M w as plain ints, not reduced."""
    values = fr_to_ints(matrix.curve, matrix.dictionary)
    terms = [w[var] * values[i] for var, i in zip(matrix.col.tolist(), matrix.coeff.tolist(), strict=True)]
    bounds = matrix.row_ptr.tolist()
    return [sum(terms[lo:hi]) for lo, hi in pairwise(bounds)]
