"""Checks that proving and verifying keys share; none needs curve arithmetic."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from cuzk.csr import CsrMatrix, IntArray
from cuzk.curves import Curve, GroupSpec
from cuzk.errors import (
    CurveMismatchError,
    NotInSubgroupError,
    NotOnCurveError,
    RangeError,
    SecurityWarning,
    ShapeError,
)
from cuzk.limbs import U64Array, points_from_ints

PointChecker = Callable[[GroupSpec, U64Array], int | None]
"""Index of the first bad point of an array of shape (n, *affine_shape), or None."""

NamedPoints = tuple[str, GroupSpec, U64Array]
_DAMAGED = "the key is damaged, or its parts are of several keys: make or fetch it again"

PointError = type[NotOnCurveError] | type[NotInSubgroupError]


def _check_shape(name: str, array: U64Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.uint64:
        raise ShapeError(
            f"{name} has shape {array.shape} and type {array.dtype}", limit=f"{shape} uint64", remedy=_DAMAGED
        )


def check_shapes(points: Iterator[NamedPoints], counts: dict[str, int]) -> None:
    """Check that each array holds affine points of its group, as many as counts says, else one."""
    for name, group, array in points:
        rows = () if name not in counts else (counts[name],)
        _check_shape(name, array, (*rows, *group.affine_shape))


def query_counts(
    num_public: int, num_variables: int, log_domain: int, h_form: str, num_b: int | None = None
) -> dict[str, int]:
    """How many points each array of a proving key has, for those with more than one.

    Args:
        num_public: Of the key, as the next three.
        num_variables: ONE included.
        log_domain: log2 of the rows.
        h_form: Of the H bases.
        num_b: Points of the B queries, where those of some variables are left out.
    """
    n = 1 << log_domain
    num_b = num_variables if num_b is None else num_b
    return {
        "ic": num_public + 1,
        "a_query": num_variables,
        "b_g1_query": num_b,
        "b_g2_query": num_b,
        "h_query": n if h_form == "odd_lagrange" else n - 1,
        "l_query": num_variables - num_public - 1,
    }


def check_places(places: IntArray, num_variables: int) -> None:
    """Check that these are numbers of variables, ascending."""
    if places.dtype != np.uint32 or places.ndim != 1:
        raise ShapeError(
            f"b_places has shape {places.shape} and type {places.dtype}", limit="(n,) uint32", remedy=_DAMAGED
        )
    if (places[1:] <= places[:-1]).any() or (len(places) and int(places[-1]) >= num_variables):
        raise RangeError(
            "b_places do not ascend, or name a variable that there is not",
            limit=f"{num_variables} variables",
            remedy=_DAMAGED,
        )


def check_matrices(curve: Curve, num_public: int, log_domain: int, matrices: dict[str, CsrMatrix]) -> None:
    """Check that a key's matrices are of one curve and shape, with room for the rows that bind inputs."""
    a = matrices["A"]
    for name, matrix in matrices.items():
        if matrix.curve is not curve:
            raise CurveMismatchError(
                f"matrix {name} is over {matrix.curve.name}", limit=curve.name, remedy=_DAMAGED
            )
        if (matrix.num_rows, matrix.num_cols) != (a.num_rows, a.num_cols):
            raise ShapeError(
                f"matrix {name} is {matrix.num_rows} x {matrix.num_cols}",
                limit=f"{a.num_rows} x {a.num_cols}",
                remedy=_DAMAGED,
            )
    if not num_public < a.num_rows <= 1 << log_domain:
        raise ShapeError(
            f"matrix A has {a.num_rows} rows",
            limit=f"{num_public + 1} (binding) to 2^{log_domain} (the domain) rows",
            remedy=_DAMAGED,
        )


def check_points(points: Iterator[NamedPoints], checker: PointChecker, error: PointError) -> None:
    """Run a bulk check over named arrays and raise ``error`` with the place of the first bad point."""
    for name, group, array in points:
        bad = checker(group, array.reshape(-1, *group.affine_shape))
        if bad is not None:
            raise error(
                f"point {bad} of {name} is not a valid point of {group.full_name}",
                where=f"{name}[{bad}]",
                remedy="fetch the key again; do not use a key from an unknown source",
            )


def check_degenerate(
    curve: Curve, must_be_finite: dict[str, U64Array], gamma_g2: U64Array, *, strict: bool
) -> None:
    """Refuse the named points at infinity; warn of a delta that nobody has contributed to, or refuse it if strict.

    Args:
        curve: The key's curve.
        must_be_finite: Points by name, delta_g2 among them, delta_g1 where the key has it.
        gamma_g2: As in the key.
        strict: Refuse where a warning is the default.
    """
    for name, point in must_be_finite.items():
        if not point.any():
            raise RangeError(
                f"{name} is the point at infinity: with such a key anything, or nothing, verifies",
                where=name,
                remedy="make or fetch a proper key",
            )
    known = {"gamma": ("delta_g2", gamma_g2)}
    for group in (curve.g2, curve.g1):
        generator = points_from_ints(group, [group.generator])[0]
        known[f"the generator of {group.full_name}"] = (f"delta_{group.name}", generator)
    for what, (name, value) in known.items():
        if name in must_be_finite and np.array_equal(must_be_finite[name], value):
            text = (
                f"delta equals {what}: nobody has contributed to this key, and anybody can forge proofs for it; "
                "run a contribution (snarkjs zkey contribute) or cuzk setup before using it"
            )
            if strict:
                raise RangeError(
                    text, where=name, remedy="contribute to it, or leave out --strict to accept the risk"
                )
            warnings.warn(text, SecurityWarning, stacklevel=3)
            return
