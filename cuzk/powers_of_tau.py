"""The first phase of a ceremony as plain arrays: what a second phase for one circuit reads of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cuzk.curves import Curve
from cuzk.key_checks import NamedPoints, check_shapes
from cuzk.limbs import U64Array


@dataclass(frozen=True, eq=False)
class PowersOfTau:
    """Points for a domain of size n = 2^log_n.

    Args:
        curve: The curve.
        log_n: log2 of the domain size.
        is_lagrange: Whether the arrays hold the Lagrange basis for snarkjs's roots, or powers of tau.
        tau_g1: Powers: tau^i, i < 2n - 1. Lagrange: l_i(tau), i < n. Shape (2n - 1 or n, *g1.affine_shape)
            uint64. Form: affine, Montgomery, < p; as all points here.
        tau_g2: The same in G2, i < n.
        alpha_tau_g1: alpha times them, i < n.
        beta_tau_g1: beta times them, i < n.
        odd_g1: Lagrange: L_{2i+1}(tau), i < n, of the basis of size 2n; powers: no points.
        alpha_g1: Shape g1.affine_shape.
        beta_g1: Shape g1.affine_shape.
        beta_g2: Shape g2.affine_shape.
    """

    curve: Curve
    log_n: int
    is_lagrange: bool
    tau_g1: U64Array
    tau_g2: U64Array
    alpha_tau_g1: U64Array
    beta_tau_g1: U64Array
    odd_g1: U64Array
    alpha_g1: U64Array
    beta_g1: U64Array
    beta_g2: U64Array

    def __post_init__(self) -> None:
        n = 1 << self.log_n
        counts = {
            "tau_g1": n if self.is_lagrange else 2 * n - 1,
            "tau_g2": n,
            "alpha_tau_g1": n,
            "beta_tau_g1": n,
            "odd_g1": n if self.is_lagrange else 0,
        }
        check_shapes(self.points(), counts)

    def points(self) -> Iterator[NamedPoints]:
        """Name, group and array of every part."""
        for name in ("tau_g1", "alpha_tau_g1", "beta_tau_g1", "odd_g1", "alpha_g1", "beta_g1"):
            yield name, self.curve.g1, getattr(self, name)
        for name in ("tau_g2", "beta_g2"):
            yield name, self.curve.g2, getattr(self, name)
