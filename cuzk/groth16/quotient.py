"""Phase ``ntt_h``: from a, b, c on the domain to the scalars of the H query.

Both forms start alike: interpolate a, b, c and evaluate them on a coset of the domain, where Z = x^n - 1 is one
nonzero constant. Coefficients stay in bit-reversed order in between, so nothing is permuted.

* ``odd_lagrange``: the coset is that of the odd 2n-th roots of unity, and the scalars are the values of A B - C
  there (Z = -2 is folded into the bases): six transforms.
* ``monomial``: divide by Z on the coset g*H, interpolate once more, and use the n - 1 coefficients: seven.

Where C is folded into the L bases (fold.py) the scalars are the values of A B at the odd roots: four.
"""

from __future__ import annotations

from cuzk.curves import Curve
from cuzk.device.base import Array, DeviceLimits
from cuzk.errors import RangeError
from cuzk.groth16.resident import ResidentKey, Rows
from cuzk.ops.fr_vec import fr_mul, fr_mul_sub
from cuzk.ops.ntt import ntt, prepare
from cuzk.ops.plan_fr import NttPlan, plan_ntt, split_radices

__all__ = ["odd_coset_shift", "prepare_quotient", "quotient", "transform_plan"]


def odd_coset_shift(curve: Curve, log_n: int, convention: str) -> int:
    """The primitive 2n-th root of unity v with v^2 = omega: the odd 2n-th roots are v * omega^k.

    Raises:
        RangeError: The field has no 2n-th root of unity.
    """
    if log_n >= curve.two_adicity:
        raise RangeError(
            f"a domain of 2^{log_n} rows has no odd coset in the scalar field of {curve.name}",
            limit=f"2^{curve.two_adicity - 1} rows for H bases in odd Lagrange form",
            remedy="make a key in monomial form (cuzk setup does for this size), or split the circuit",
        )
    return curve.root_of_unity(log_n + 1, convention)  # type: ignore[arg-type]


def _coset(resident: ResidentKey) -> int:
    """The shift of the coset on which A B - C is evaluated."""
    key = resident.key
    if key.h_form == "odd_lagrange":
        return odd_coset_shift(resident.curve, resident.domain.log_n, key.root_convention)
    return resident.curve.coset_shift("bellman")


def transform_plan(curve: Curve, log_n: int, batch: int, limits: DeviceLimits, radix: str) -> NttPlan | None:
    """How transforms are cut: what N1 = 2^K asks for, None for the plan's own choice."""
    if radix == "auto":
        return None
    largest = int(radix.removeprefix("2^"))
    return plan_ntt(log_n, batch, curve, limits, radices=split_radices(log_n, largest))


def _plan(resident: ResidentKey, radix: str, batch: int) -> NttPlan | None:
    """The plan for vectors over the key's domain."""
    return transform_plan(resident.curve, resident.domain.log_n, batch, resident.device.limits, radix)


def prepare_quotient(resident: ResidentKey, radix: str = "auto") -> None:
    """Build the tables of a proof's transforms, so that no proof has to.

    Args:
        resident: The key.
        radix: The value of the variant N1: "auto", or "2^K" for passes of radix 2^K at most.
    """
    device, domain, shift = resident.device, resident.domain, _coset(resident)
    plan = _plan(resident, radix, 1)
    with device.label("ntt_tables"):
        prepare(device, domain, inverse=True, plan=plan)
        prepare(device, domain, coset=shift, order_in="rev", plan=plan)
        if resident.key.h_form == "monomial":
            prepare(device, domain, inverse=True, coset=shift, plan=plan)


def quotient(resident: ResidentKey, abc: Rows, radix: str = "auto") -> Array:
    """The scalars of the H query.

    Args:
        resident: The key; its h_form and root convention decide.
        radix: The value of the variant N1: "auto", or "2^K" for passes of radix 2^K at most.
        abc: What evaluate() returned. Form: Montgomery, < r. Order: natural. Overwritten; three arrays are taken
            out of their list, so that b and c are free when this returns.

    Returns:
        Shape (n, limbs) uint64 (odd_lagrange: the values at the odd roots) or (n - 1, limbs) (monomial: the
        coefficients). Form: Montgomery, < r. Order: natural. Shares memory with abc.

    Cost: six (seven; folded, four) transforms of size n, 2n (3n) further fr_mul; no host synchronisation.
    Source: docs/formats.md, "H bases"; Groth 2016 (eprint 2016/260) for h = (A B - C) / Z.
    Checked by: tests/prover/test_phases.py (quotient identity, both forms, both conventions).
    """
    device, curve, domain = resident.device, resident.curve, resident.domain
    shift = _coset(resident)
    if resident.is_folded:
        abc = abc[:2]
    plan = _plan(resident, radix, 1 if isinstance(abc, list) else len(abc))
    for rows in abc if isinstance(abc, list) else [abc]:
        ntt(device, domain, rows, inverse=True, order_out="rev", out=rows, plan=plan)
        ntt(device, domain, rows, coset=shift, order_in="rev", out=rows, plan=plan)
    if resident.is_folded:
        return fr_mul(device, curve, abc[0], abc[1], out=abc[0])
    a, b, c = abc[0], abc[1], abc[2]
    if isinstance(abc, list):
        abc.clear()
    if resident.key.h_form == "odd_lagrange":
        return fr_mul_sub(device, curve, a, b, c, out=a)
    vanishing = (pow(shift, domain.size, curve.r) - 1) % curve.r
    h = fr_mul_sub(device, curve, a, b, c, factor=pow(vanishing, -1, curve.r), out=a)
    ntt(device, domain, h, inverse=True, coset=shift, out=h, plan=_plan(resident, radix, 1))
    return h[: domain.size - 1]
