"""Lagrange bases at one point, as a trusted setup needs them."""

from __future__ import annotations

import numpy as np

from cuzk.device.base import Array, Device
from cuzk.errors import RangeError
from cuzk.ops.domain import Domain
from cuzk.ops.fr_common import constant, launch
from cuzk.ops.fr_vec import batch_inverse, fr_scale_powers
from cuzk.ops.plan_fr import plan_elementwise


def lagrange_at(device: Device, domain: Domain, tau: int) -> Array:
    """All Lagrange basis polynomials of the domain at one point.

    l_k(tau) = (tau^n - 1)/n * omega^k / (tau - omega^k). For the basis of the coset g*H pass tau/g.

    Args:
        device: Where to compute.
        domain: n = domain.size.
        tau: Standard form, outside the domain.
    Returns:
        Shape (n, limbs) uint64. Form: Montgomery, < r. Order: natural.
    Raises:
        RangeError: tau lies in the domain.
    Cost: one batch inversion, about 5n fr_mul in all; no host synchronisation.
    Checked by: tests/kernels/test_ntt_domain.py (lagrange).
    """
    curve = domain.curve
    vanishing = (pow(tau, domain.size, curve.r) - 1) % curve.r
    if vanishing == 0:
        raise RangeError("tau lies in the evaluation domain", limit="tau^n != 1", remedy="draw another tau")
    tables = domain.twist_tables(device, inverse=False, scaled=False)
    values = device.alloc((domain.size, curve.fr.limbs), np.uint64)
    launch(
        device, curve, "fr_tau_minus", plan_elementwise(domain.size, device.limits),
        tau=constant(device, curve, tau), outer=tables.outer, inner=tables.inner, inner_bits=tables.bits,
        out=values, n=domain.size,
    )  # fmt: skip
    values = batch_inverse(device, curve, values)
    factor = vanishing * domain.size_inv % curve.r
    return fr_scale_powers(device, curve, values, domain.omega, first=factor, out=values)
