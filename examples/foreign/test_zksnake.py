"""zksnake's sums and transforms against the oracles: pytest examples/foreign/test_zksnake.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuzk_fuzz.foreign import Limits, msm_of_ints, ntt_of_ints
from zksnake._algebra import ec_bn254, polynomial_bn254


def sum_of_products(points: Sequence[Any], scalars: Sequence[int]) -> Any:
    """Affine points and ints in, an affine point out."""
    bases = [ec_bn254.PointG1.identity() if p is None else ec_bn254.PointG1(*p) for p in points]
    total = ec_bn254.multiscalar_mul_g1(bases, list(scalars))
    return None if total.is_zero() else (int(total.x), int(total.y))


def transform(omega: int, values: Sequence[int], inverse: bool) -> list[int]:
    """Zksnake chooses the root itself: the one that bellman's convention gives, which on BN254 is ours to the 5th."""
    del omega
    run = polynomial_bn254.ifft if inverse else polynomial_bn254.fft
    return [int(value) for value in run(list(values), len(values))]


def test_sums_in_the_first_group(differential: Any) -> None:
    differential("msm", "bn254_g1", msm_of_ints(sum_of_products), limits=Limits(largest=40, smallest=1))


def test_transforms_of_two_elements(differential: Any) -> None:
    # Longer ones come in another order: the library's root of unity is another power of the same.
    differential("ntt", "bn254", ntt_of_ints(transform), limits=Limits(largest=2, smallest=1))
