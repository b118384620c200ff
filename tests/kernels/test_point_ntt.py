"""The transform over points, against the transform of their exponents.

Would catch: a butterfly with its halves or signs swapped, a factor of the wrong block, an output out of order,
points at infinity or equal points in a butterfly mishandled.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from cuzk_oracles import ntt as oracle

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import RangeError, ShapeError
from cuzk.limbs import U64Array, fr_from_ints
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.point_ntt import point_ntt, scale_by_powers

TOY = get_curve("toy")


def multiples(curve_name: str, group_name: str, exponents: list[int]) -> U64Array:
    """These multiples of a generator."""
    curve, cpu = get_curve(curve_name), get_device("cpu")
    scalars = cpu.upload(fr_from_ints(curve, exponents))
    return np.asarray(cpu.download(fixed_base_mul(cpu, getattr(curve, group_name), scalars)))


@pytest.mark.parametrize(
    ("curve_name", "group_name", "spec", "log_n"),
    [
        *[("toy", "g1", spec, log_n) for spec in ("cpu", "emu") for log_n in (0, 1, 2, 3, 6)],
        ("toy", "g2", "cpu", 3), ("toy", "g1", "cpu", 9),
        ("bls12_381", "g1", "cpu", 4), ("bn254", "g1", "cpu", 4), ("bn254", "g2", "emu", 2),
    ],
)  # fmt: skip
def test_is_the_transform_of_the_exponents(
    curve_name: str, group_name: str, spec: str, log_n: int, rng: random.Random
) -> None:
    """Exponents hold zeros (infinity), equal and opposite values, so that every case of an addition occurs."""
    curve, n = get_curve(curve_name), 1 << log_n
    exponents = [rng.choice([0, 1, curve.r - 1, 5, rng.randrange(curve.r)]) for _ in range(n)]
    omega = curve.root_of_unity(log_n, "snarkjs")
    found = point_ntt(
        get_device(spec),
        getattr(curve, group_name),
        multiples(curve_name, group_name, exponents),
        omega,
    )
    expected = multiples(curve_name, group_name, oracle.ntt_definition(exponents, omega, curve.r))
    assert (found == expected).all()


@pytest.mark.parametrize("spec", ["cpu", "emu"])
def test_scale_by_powers(spec: str) -> None:
    exponents = [3, 0, 7, TOY.r - 1, 9]
    found = scale_by_powers(get_device(spec), TOY.g1, multiples("toy", "g1", exponents), -3, -2)
    expected = [(-2) * (-3) ** i * e % TOY.r for i, e in enumerate(exponents)]
    assert (found == multiples("toy", "g1", expected)).all()
    assert len(scale_by_powers(get_device(spec), TOY.g1, multiples("toy", "g1", [1])[:0], 2, 1)) == 0


def test_what_is_no_transform_is_refused() -> None:
    points, cpu = multiples("toy", "g1", [1, 2, 3, 4]), get_device("cpu")
    for wrong in (points[:3], points[:0], points.reshape(4, 1, 2, 1)):
        with pytest.raises(ShapeError, match="points of shape"):
            point_ntt(cpu, TOY.g1, wrong, 1)
    for root in (1, TOY.r - 1, TOY.root_of_unity(3, "snarkjs"), 2):
        with pytest.raises(RangeError, match="not of order 4"):
            point_ntt(cpu, TOY.g1, points, root)


def test_progress_is_told_to_the_end() -> None:
    points, cpu, shares = multiples("toy", "g1", [1, 2, 3, 4]), get_device("cpu"), list[float]()
    point_ntt(cpu, TOY.g1, points, TOY.root_of_unity(2, "snarkjs"), shares.append)
    assert shares == [0.5, 1.0]
    shares.clear()
    scale_by_powers(cpu, TOY.g1, points, 3, 5, shares.append)
    assert shares == [1.0]


@pytest.mark.parametrize("at_a_time", [1, 3, 7, 8])
def test_points_are_scaled_by_parts(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The factors of a part go on where those of the part before ended."""
    points, cpu, shares = multiples("toy", "g1", [5, 0, 7, 11, 1, 2, 3]), get_device("cpu"), list[float]()
    whole = scale_by_powers(cpu, TOY.g1, points, -3, -2)
    monkeypatch.setattr("cuzk.ops.point_ntt._AT_A_TIME", at_a_time)
    assert (scale_by_powers(cpu, TOY.g1, points, -3, -2, shares.append) == whole).all()
    assert len(shares) == -(-7 // at_a_time)
