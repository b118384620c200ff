"""Proving keys as plain arrays, with the checks that need no curve arithmetic.

A proving key carries the circuit too: matrices A and B, and C where it is known (a ``.zkey`` has no C), all
with the num_public+1 binding rows. One made from a compiled circuit holds none of them, but which circuit it was
(``compiled``); its rows come from the circuit itself. Points are affine in Montgomery form, infinity is all zero.
Curve and subgroup checks need kernels, so ``check_points`` takes the function that does them.

What the H points are is said by two fields:

* ``h_form = "odd_lagrange"``: h_query[i] = L_{2i+1}(tau)/delta, i < n, with L the Lagrange basis for
  size 2n; the scalars are the values of A B - C at the odd 2n-th roots of unity (snarkjs).
* ``h_form = "monomial"``: h_query[i] = tau^i Z(tau)/delta, i < n-1; the scalars are the coefficients of
  (A B - C)/Z (bellperson).
* ``root_convention`` says whose n-th root of unity numbers the rows: "snarkjs" or "bellman". Rows are in the
  circuit's order, or renumbered after a conversion (see cuzk.row_order).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from cuzk.compiled_rows import CompiledRows
from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import ROOT_CONVENTIONS, Curve, RootConvention
from cuzk.errors import CurveMismatchError, NotOnCurveError, RangeError, ShapeError
from cuzk.key_checks import (
    NamedPoints,
    PointChecker,
    PointError,
    check_degenerate,
    check_matrices,
    check_places,
    check_points,
    check_shapes,
    query_counts,
)
from cuzk.limbs import U64Array
from cuzk.relation import R1CS, circuit_digest
from cuzk.row_order import binds_public, move_rows, row_places, trimmed
from cuzk.verifying_key import VerifyingKey
from cuzk.witness import Witness

__all__ = ["H_FORMS", "HForm", "ProvingKey", "VerifyingKey"]

HForm = Literal["odd_lagrange", "monomial"]
H_FORMS: tuple[HForm, ...] = get_args(HForm)

_DAMAGED = "make the key again, or fetch it again"
_RECOMPILE = "use the circuit, witness program and key that were made together"


@dataclass(frozen=True, eq=False)
class ProvingKey:
    """What a prover needs, and the circuit it is for. Arrays may be memory-mapped.

    Args:
        curve: The curve.
        num_public: Public variables, ONE not included.
        log_domain: log2 of the evaluation domain size n.
        h_form: What h_query holds, see the module docstring.
        root_convention: Whose roots of unity number the rows.
        alpha_g1: Shape g1.affine_shape uint64. Form: Montgomery, < p; so are all points.
        beta_g1: Shape g1.affine_shape.
        delta_g1: Shape g1.affine_shape.
        beta_g2: Shape g2.affine_shape.
        gamma_g2: Shape g2.affine_shape.
        delta_g2: Shape g2.affine_shape.
        ic: Shape (num_public+1, *g1.affine_shape).
        a_query: u_i(tau) per variable. Shape (num_variables, *g1.affine_shape).
        b_g1_query: v_i(tau) per variable. Shape (num_variables, *g1.affine_shape), or as many as b_places has.
        b_g2_query: The same in G2. Shape (num_variables, *g2.affine_shape).
        h_query: Shape (n or n-1, *g1.affine_shape), as h_form says.
        l_query: (beta u_i + alpha v_i + w_i)(tau)/delta per private variable.
            Shape (num_variables - num_public - 1, *g1.affine_shape).
        a: Matrix A with binding rows, num_constraints + num_public + 1 rows (n where renumbered).
        b: Matrix B, as many rows.
        c: Matrix C, as many rows, or None where unknown.
        compiled: The compiled circuit that has the rows, if the key has none: a and b then have a shape alone.
        b_places: Variables that the points of the B queries belong to; all others have infinity. None: one each.
            Shape (n,) uint32. Order: ascending.
    """

    curve: Curve
    num_public: int
    log_domain: int
    h_form: HForm
    root_convention: RootConvention
    alpha_g1: U64Array
    beta_g1: U64Array
    delta_g1: U64Array
    beta_g2: U64Array
    gamma_g2: U64Array
    delta_g2: U64Array
    ic: U64Array
    a_query: U64Array
    b_g1_query: U64Array
    b_g2_query: U64Array
    h_query: U64Array
    l_query: U64Array
    a: CsrMatrix
    b: CsrMatrix
    c: CsrMatrix | None = None
    compiled: CompiledRows | None = None
    b_places: IntArray | None = None

    def __post_init__(self) -> None:
        if self.h_form not in H_FORMS:
            raise RangeError(
                f"unknown h_form {self.h_form!r}", limit=f"one of {', '.join(H_FORMS)}", remedy=_DAMAGED
            )
        if self.root_convention not in ROOT_CONVENTIONS:
            raise RangeError(
                f"unknown root convention {self.root_convention!r}",
                limit=f"one of {', '.join(ROOT_CONVENTIONS)}",
                remedy=_DAMAGED,
            )
        if not 0 <= self.num_public < self.num_variables:
            raise ShapeError(
                f"{self.num_public} public of {self.num_variables} variables",
                limit="0 <= num_public < num_variables",
                remedy=_DAMAGED,
            )
        if not 0 <= self.log_domain <= self.curve.two_adicity:
            raise RangeError(
                f"log_domain = {self.log_domain}",
                limit=f"two-adicity of {self.curve.name}: {self.curve.two_adicity}",
                remedy=_DAMAGED,
            )
        check_matrices(self.curve, self.num_public, self.log_domain, self.matrices)
        num_b = self.num_variables
        if self.b_places is not None:
            check_places(self.b_places, num_b)
            num_b = len(self.b_places)
        counts = query_counts(self.num_public, self.num_variables, self.log_domain, self.h_form, num_b)
        check_shapes(self.points(), counts)

    @property
    def num_variables(self) -> int:
        """All variables, ONE included."""
        return self.a.num_cols

    @property
    def num_constraints(self) -> int:
        """Constraints of the circuit, binding rows not included."""
        return self.circuit_matrices["A"].num_rows - self.num_public - 1

    @property
    def domain_size(self) -> int:
        """Size n of the evaluation domain."""
        return 1 << self.log_domain

    @property
    def matrices(self) -> dict[str, CsrMatrix]:
        """The matrices at hand by name, C only where known."""
        known = {"A": self.a, "B": self.b}
        return known if self.c is None else known | {"C": self.c}

    def points(self) -> Iterator[NamedPoints]:
        """Name, group and array of every part that holds points."""
        g1, g2 = self.curve.g1, self.curve.g2
        for name in ("alpha_g1", "beta_g1", "delta_g1"):
            yield name, g1, getattr(self, name)
        for name in ("beta_g2", "gamma_g2", "delta_g2"):
            yield name, g2, getattr(self, name)
        for name in ("ic", "a_query", "b_g1_query"):
            yield name, g1, getattr(self, name)
        yield "b_g2_query", g2, self.b_g2_query
        for name in ("h_query", "l_query"):
            yield name, g1, getattr(self, name)

    @cached_property
    def _in_circuit_order(self) -> dict[str, CsrMatrix] | None:
        """The matrices with binding rows at the end; None where no numbering of the rows gives that."""
        if self.compiled is not None or binds_public(self.matrices, self.num_public):
            return self.matrices
        for other in ROOT_CONVENTIONS:
            places = row_places(self.curve, self.log_domain, self.root_convention, other)
            moved = trimmed({name: move_rows(matrix, places) for name, matrix in self.matrices.items()})
            if other != self.root_convention and binds_public(moved, self.num_public):
                return moved
        return None

    @property
    def circuit_matrices(self) -> dict[str, CsrMatrix]:
        """The matrices at hand with rows in the circuit's order, where the key's can be brought into it."""
        return self._in_circuit_order or self.matrices

    @property
    def is_renumbered(self) -> bool:
        """Whether the rows are in another order than the circuit's."""
        return self._in_circuit_order is not None and self._in_circuit_order["A"] is not self.a

    def _places(self) -> IntArray:
        """Row of the key for each row of the circuit, for a renumbered key. Shape (n,) int64."""
        circuit, own = sorted(ROOT_CONVENTIONS, key=lambda convention: convention == self.root_convention)
        return row_places(self.curve, self.log_domain, circuit, own)

    def constraint_of_row(self, row: int) -> int:
        """Which row of the circuit a row of the key's matrices is."""
        return int(np.flatnonzero(self._places() == row)[0]) if self.is_renumbered else row

    @cached_property
    def circuit_digest(self) -> str:
        """Hash of the circuit this key is for; equals R1CS.digest of that circuit, or compiled_digest."""
        if self.compiled is not None:
            return self.compiled.digest
        matrices = self.circuit_matrices
        return circuit_digest(self.curve, self.num_public, self.num_constraints, matrices["A"], matrices["B"])

    def with_circuit(self, r1cs: R1CS) -> ProvingKey:
        """This key with matrix C, taken from its circuit where the key does not have it.

        Raises:
            CurveMismatchError, ShapeError: It is another circuit.
        """
        self.check_circuit(r1cs)
        if self.c is not None:
            return self
        c = r1cs.with_binding_rows()[2]
        if not self.is_renumbered:
            return replace(self, c=c)
        size = self.domain_size
        return replace(
            self, a=self.a.with_rows(size), b=self.b.with_rows(size), c=move_rows(c, self._places())
        )

    def expanded(self, r1cs: R1CS) -> ProvingKey:
        """This key of a compiled circuit with the circuit's matrices, which are taken to be the same circuit.

        Raises:
            CurveMismatchError, ShapeError: Another curve, or other sizes.
        """
        self._check_sizes(r1cs)
        a, b, c = r1cs.with_binding_rows()
        return replace(self.with_all_b(), a=a, b=b, c=c, compiled=None)

    def with_all_b(self) -> ProvingKey:
        """This key with a point for every variable in the B queries; infinity, all zero, where it had none."""
        if self.b_places is None:
            return self
        whole = {}
        for name in ("b_g1_query", "b_g2_query"):
            kept = getattr(self, name)
            whole[name] = np.zeros((self.num_variables, *kept.shape[1:]), np.uint64)
            whole[name][self.b_places] = kept
        return replace(self, b_places=None, b_g1_query=whole["b_g1_query"], b_g2_query=whole["b_g2_query"])

    def verifying_key(self) -> VerifyingKey:
        """The matching verifying key."""
        return VerifyingKey(
            self.curve, self.alpha_g1, self.beta_g2, self.gamma_g2, self.delta_g2, np.array(self.ic)
        )

    def check_binding_rows(self) -> None:
        """Check the rows that bind the public inputs: a 1 on variable i each in A, nothing in B and C.

        Raises:
            ShapeError: They do not, so proofs would not be bound to the public inputs.
        """
        if self._in_circuit_order is None:
            first = self.num_constraints
            raise ShapeError(
                "the rows that bind the public inputs are missing or wrong",
                where=f"rows {first} to {self.a.num_rows - 1} of the key's matrices",
                limit="A holds 1 on variable i in row num_constraints + i, B and C nothing",
                remedy="make the key again with snarkjs or cuzk setup",
            )

    def check_points(self, checker: PointChecker, error: PointError = NotOnCurveError) -> None:
        """Run a bulk check over all points; raises ``error`` with the place of the first bad one."""
        check_points(self.points(), checker, error)

    def check_degenerate(self, *, strict: bool = False) -> None:
        """Refuse infinity in alpha, beta, gamma, delta, ic[0]; warn of delta = gamma or delta = generator.

        Raises:
            RangeError: A forbidden infinity; with strict, also such a delta.
        """
        finite = {name: array for name, group, array in self.points() if array.shape == group.affine_shape}
        check_degenerate(self.curve, finite | {"ic[0]": self.ic[0]}, self.gamma_g2, strict=strict)

    def check_witness(self, witness: Witness) -> None:
        """Check that a witness fits this key by curve and length.

        Raises:
            CurveMismatchError: Another curve.
            ShapeError: Another number of variables.
        """
        if witness.curve is not self.curve:
            raise CurveMismatchError(
                f"the witness is over {witness.curve.name}, the key over {self.curve.name}", remedy=_RECOMPILE
            )
        if witness.num_variables != self.num_variables:
            raise ShapeError(
                f"the witness has {witness.num_variables} values, the key {self.num_variables} variables",
                remedy=_RECOMPILE,
            )

    def check_circuit(self, r1cs: R1CS) -> None:
        """Check that this key was made for this circuit.

        Raises:
            CurveMismatchError: Another curve.
            ShapeError: Other sizes, or other matrices of the same sizes.
            InputError: The key has no matrices to compare with.
        """
        self._check_sizes(r1cs)
        if self.compiled is not None:
            raise self.compiled.no_matrices()
        found = r1cs.digest()
        if found != self.circuit_digest:
            raise ShapeError(
                "the circuit has the key's sizes but other constraints",
                limit=f"circuit digest {self.circuit_digest}, found {found}",
                remedy=_RECOMPILE,
            )

    def _check_sizes(self, r1cs: R1CS) -> None:
        if r1cs.curve is not self.curve:
            raise CurveMismatchError(
                f"the circuit is over {r1cs.curve.name}, the key over {self.curve.name}", remedy=_RECOMPILE
            )
        for name in ("num_variables", "num_public", "num_constraints"):
            if getattr(r1cs, name) != getattr(self, name):
                raise ShapeError(
                    f"the circuit has {name} = {getattr(r1cs, name)}, the key {getattr(self, name)}",
                    remedy=_RECOMPILE,
                )
