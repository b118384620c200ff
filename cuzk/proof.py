"""A Groth16 proof: three points. Encodings live in cuzk.formats, the pairing check in cuzk.groth16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.curves import Curve
from cuzk.errors import ShapeError
from cuzk.limbs import AffinePoint, U64Array, points_from_ints, points_to_ints


@dataclass(frozen=True, eq=False)
class Proof:
    """The points A, B, C, not necessarily on the curve: that is for ``verify`` to say.

    Args:
        curve: The curve.
        a: In G1. Shape (2, limbs) uint64. Form: Montgomery, < p. Infinity is all zero.
        b: In G2. Shape (2, 2, limbs) uint64, c0 before c1. Form as a.
        c: In G1. As a.
    """

    curve: Curve
    a: U64Array
    b: U64Array
    c: U64Array

    def __post_init__(self) -> None:
        for name, point, group in (
            ("A", self.a, self.curve.g1),
            ("B", self.b, self.curve.g2),
            ("C", self.c, self.curve.g1),
        ):
            if point.shape != group.affine_shape or point.dtype != np.uint64:
                raise ShapeError(
                    f"{name} of the proof has shape {point.shape} and type {point.dtype}",
                    limit=f"{group.affine_shape} uint64",
                )

    @classmethod
    def from_ints(cls, curve: Curve, a: AffinePoint, b: AffinePoint, c: AffinePoint) -> Proof:
        """Build from affine ints, standard form; None is infinity, Fp2 is (c0, c1)."""
        return cls(
            curve,
            points_from_ints(curve.g1, [a])[0],
            points_from_ints(curve.g2, [b])[0],
            points_from_ints(curve.g1, [c])[0],
        )

    def to_ints(self) -> tuple[AffinePoint, AffinePoint, AffinePoint]:
        """A, B, C as affine ints, standard form."""
        return (
            points_to_ints(self.curve.g1, self.a)[0],
            points_to_ints(self.curve.g2, self.b)[0],
            points_to_ints(self.curve.g1, self.c)[0],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Proof):
            return NotImplemented
        return self.curve is other.curve and all(
            np.array_equal(x, y) for x, y in ((self.a, other.a), (self.b, other.b), (self.c, other.c))
        )

    def __hash__(self) -> int:
        return hash((self.curve.name, self.a.tobytes(), self.b.tobytes(), self.c.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Proof, (self.curve, self.a, self.b, self.c)
