"""py-arkworks-bls12381's sums of points against the oracles: pytest examples/foreign/test_arkworks.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import py_arkworks_bls12381 as arkworks
from cuzk_fuzz.foreign import Limits, msm_of_ints


def sum_of_products(points: Sequence[Any], scalars: Sequence[int]) -> Any:
    """What is checked: affine points and ints in, an affine point out; infinity travels as zeros."""
    bases = []
    for point in points:
        x, y = point or (0, 0)
        data = x.to_bytes(48, "little") + y.to_bytes(48, "little")
        bases.append(arkworks.G1Point.from_xy_bytes_unchecked_le(data))
    total = arkworks.G1Point.multiexp_unchecked(bases, [arkworks.Scalar(k) for k in scalars])
    data = bytes(total.to_xy_bytes_le())
    x, y = int.from_bytes(data[:48], "little"), int.from_bytes(data[48:], "little")
    return (x, y) if x or y else None


def test_sums_in_the_first_group(differential: Any) -> None:
    differential("msm", "bls12_381_g1", msm_of_ints(sum_of_products), limits=Limits(largest=40, smallest=1))
