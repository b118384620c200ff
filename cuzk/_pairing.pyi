"""The compiled BN254 pairing (cuzk/kernels/pairing/module.cpp)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

class PreparedG2:
    """Points of G2 with the lines of their Miller loops."""

    def __len__(self) -> int: ...

def prepare_g2(points: npt.NDArray[np.uint64]) -> PreparedG2:
    """Compute the lines of points of G2. Shape (n, 2, 2, 4). Form: Montgomery. Raises ValueError."""

def pairing_product(g1: npt.NDArray[np.uint64], g2: Sequence[PreparedG2]) -> npt.NDArray[np.uint64]:
    """The product of e(g1[i], Q_i). g1: shape (n, 2, 4). Returns shape (12, 4). Form: Montgomery."""

def pairing_product_is_one(g1: npt.NDArray[np.uint64], g2: Sequence[PreparedG2]) -> bool:
    """Whether the product of the pairings is 1."""

def pairing_product_equals(
    g1: npt.NDArray[np.uint64], g2: Sequence[PreparedG2], gt: npt.NDArray[np.uint64]
) -> bool:
    """Whether the product of the pairings is the given value of GT. gt: shape (12, 4). Form: Montgomery."""

def g1_linear_combination(
    points: npt.NDArray[np.uint64], scalars: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """points[0] + sum of scalars[i] * points[i + 1]. scalars: shape (n, 4). Form: standard. Raises ValueError."""

def g2_in_subgroup(points: npt.NDArray[np.uint64]) -> list[bool]:
    """For each point of G2 whether its order divides r. Raises ValueError for a point off the curve."""
