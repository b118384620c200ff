"""The verifying key as plain arrays, with the checks that need no curve arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cuzk.curves import Curve
from cuzk.errors import NotOnCurveError, ShapeError
from cuzk.key_checks import (
    NamedPoints,
    PointChecker,
    PointError,
    check_degenerate,
    check_points,
    check_shapes,
)
from cuzk.limbs import U64Array

__all__ = ["VerifyingKey"]


@dataclass(frozen=True, eq=False)
class VerifyingKey:
    """What a verifier needs.

    Args:
        curve: The curve.
        alpha_g1: Shape g1.affine_shape uint64. Form: Montgomery. As all points here.
        beta_g2: Shape g2.affine_shape.
        gamma_g2: Shape g2.affine_shape.
        delta_g2: Shape g2.affine_shape.
        ic: Shape (num_public+1, *g1.affine_shape).
    """

    curve: Curve
    alpha_g1: U64Array
    beta_g2: U64Array
    gamma_g2: U64Array
    delta_g2: U64Array
    ic: U64Array

    def __post_init__(self) -> None:
        if len(self.ic) == 0:
            raise ShapeError(
                "the verifying key has no ic points",
                limit="num_public + 1 >= 1",
                remedy="make or fetch it again",
            )
        check_shapes(self.points(), {"ic": len(self.ic)})

    @property
    def num_public(self) -> int:
        """Public inputs a proof for this key has."""
        return len(self.ic) - 1

    def points(self) -> Iterator[NamedPoints]:
        """Name, group and array of every part."""
        g1, g2 = self.curve.g1, self.curve.g2
        yield "alpha_g1", g1, self.alpha_g1
        yield "beta_g2", g2, self.beta_g2
        yield "gamma_g2", g2, self.gamma_g2
        yield "delta_g2", g2, self.delta_g2
        yield "ic", g1, self.ic

    def check_points(self, checker: PointChecker, error: PointError = NotOnCurveError) -> None:
        """Run a bulk check over all points; raises ``error`` with the place of the first bad one."""
        check_points(self.points(), checker, error)

    def check_degenerate(self, *, strict: bool = False) -> None:
        """Refuse infinity in alpha, beta, gamma, delta, ic[0]; warn of delta = gamma or delta = generator.

        Raises:
            RangeError: A forbidden infinity; with strict, also such a delta.
        """
        finite = {name: array for name, _, array in self.points() if name != "ic"}
        check_degenerate(self.curve, finite | {"ic[0]": self.ic[0]}, self.gamma_g2, strict=strict)
