"""Fixed factors of transforms: value and quotient of every entry, and transforms of the values that bound them.

Would catch: a quotient that is one off, a table in another order than the pass reads, an element of 2p or more
between two butterflies, a product whose estimated quotient is two too small.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from cuzk_oracles import ntt as oracle

from cuzk.curves import Curve
from cuzk.device import Device
from cuzk.limbs import limbs_to_ints
from cuzk.ops import plan_fr
from cuzk.ops.domain import Domain
from cuzk.ops.fr_common import launch
from cuzk.ops.ntt import ntt
from cuzk.ops.plan_fr import plan_elementwise, plan_ntt
from tests.kernels.fr_support import curve_device_pairs, edge_scalars, get, open_device, pair_id, put

everywhere = pytest.mark.parametrize(("curve", "device_name"), curve_device_pairs(), ids=pair_id)


def expected_factors(curve: Curve, values: list[int]) -> list[int]:
    """The values and floor(w R / r), one after the other."""
    return [part for w in values for part in (w, (w << 64 * curve.fr.limbs) // curve.r)]


def factors_of(device: Device, curve: Curve, values: list[int]) -> list[int]:
    """What the kernel makes of these values."""
    n = len(values)
    out = device.alloc((n, 2, curve.fr.limbs), np.uint64)
    launch(
        device, curve, "ntt_factors", plan_elementwise(n, device.limits), outer=put(device, curve, [1]),
        inner=put(device, curve, values), bits=63, log_n=0, log_l=0, log_r=0, out=out, n=n,
    )  # fmt: skip
    return limbs_to_ints(device.download(out).reshape(2 * n, curve.fr.limbs))


@everywhere
def test_parts(curve: Curve, device_name: str, rng: random.Random) -> None:
    values = [*edge_scalars(curve), *(rng.randrange(curve.r) for _ in range(50))]
    assert factors_of(open_device(device_name), curve, values) == expected_factors(curve, values)


@everywhere
@pytest.mark.parametrize(("log_n", "log_l", "log_r"), [(6, 6, 2), (8, 5, 3), (7, 7, 6)])
@pytest.mark.parametrize("bits", [3, 8])
def test_order_of_a_placed_table(
    curve: Curve, device_name: str, log_n: int, log_l: int, log_r: int, bits: int
) -> None:
    """Entry row * S + j is w_L^(j * rev(row))."""
    device, domain, r = open_device(device_name), Domain(curve, log_n), curve.r
    tables = domain.twist_tables(device, inverse=False, scaled=False, bits=bits)
    one = bits >= log_n  # all powers lie in the inner table then
    out = device.alloc((1 << log_l, 2, curve.fr.limbs), np.uint64)
    launch(
        device, curve, "ntt_factors", plan_elementwise(1 << log_l, device.limits),
        outer=put(device, curve, [1]) if one else tables.outer, inner=tables.inner, bits=tables.bits,
        log_n=log_n, log_l=log_l, log_r=log_r, out=out, n=1 << log_l,
    )  # fmt: skip
    w, columns = pow(domain.omega, 1 << (log_n - log_l), r), 1 << (log_l - log_r)
    rows = oracle.bit_reverse(list(range(1 << log_r)))
    values = [pow(w, j * row, r) for row in rows for j in range(columns)]
    assert limbs_to_ints(device.download(out).reshape(-1, curve.fr.limbs)) == expected_factors(curve, values)


@everywhere
@pytest.mark.parametrize("share", [1, 1 << 60])
def test_placed_and_split_tables(
    curve: Curve, device_name: str, share: int, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether twist factors have a table of their own changes nothing: here all passes have one, or none has."""
    monkeypatch.setattr(plan_fr, "PLACED_MEMORY_SHARE", share)
    device, domain = open_device(device_name), Domain(curve, 9)
    coeffs = [rng.choice([0, 1, curve.r - 1, curve.r // 2, rng.randrange(curve.r)]) for _ in range(512)]
    plan = plan_ntt(9, 1, curve, device.limits, radices=(2, 4, 3))
    x = put(device, curve, coeffs)
    values = ntt(device, domain, x, plan=plan, order_out="rev")
    assert get(device, curve, values) == oracle.bit_reverse(oracle.fft(coeffs, domain.omega, curve.r))
    assert get(device, curve, ntt(device, domain, values, inverse=True, order_in="rev", plan=plan)) == coeffs


@everywhere
def test_largest_elements(curve: Curve, device_name: str) -> None:
    """Vectors of r - 1, with signs that make every sum, or every difference, as large as it gets at some level."""
    device, domain, r = open_device(device_name), Domain(curve, 6), curve.r
    for mask in range(64):
        coeffs = [(r - 1) if (i & mask).bit_count() % 2 == 0 else 1 for i in range(64)]
        values = get(device, curve, ntt(device, domain, put(device, curve, coeffs)))
        assert values == oracle.fft(coeffs, domain.omega, r)
