"""Number-theoretic transforms of scalars: polynomial coefficients to values on a domain or coset, and back.

A_k = sum_j a_j omega^(jk). Natural to bit-reversed order is decimation in frequency (DIF), bit-reversed to
natural decimation in time (DIT); both work in place and need no permutation, so a proof goes back and forth
without one: inverse (nat -> rev), coset factors in reversed order, forward (rev -> nat). The other two order
pairs add a bit reversal. Factors of a coset and 1/n ride on the first or last pass.
"""

from __future__ import annotations

from cuzk.device.base import Array, Device
from cuzk.errors import RangeError, ShapeError
from cuzk.ops.domain import Domain
from cuzk.ops.fr_common import check_fr, check_power_of_two, launch, output_like
from cuzk.ops.fr_vec import bit_reverse
from cuzk.ops.plan_fr import NttPass, NttPlan, plan_ntt
from cuzk.ops.power_tables import Order, PowerTables

__all__ = ["Domain", "Order", "ntt", "prepare"]

_SCALE_NONE, _SCALE_CONSTANT, _SCALE_POWERS = 0, 1, 2


def ntt(
    device: Device,
    domain: Domain,
    x: Array,
    *,
    inverse: bool = False,
    coset: int | None = None,
    order_in: Order = "nat",
    order_out: Order = "nat",
    out: Array | None = None,
    plan: NttPlan | None = None,
    table_bits: int | None = None,
) -> Array:
    """Transform every vector of x.

    Args:
        device: Where x lies.
        domain: n = domain.size.
        x: Coefficients (values, if inverse). Shape (n, limbs) or (batch, n, limbs) uint64. Form: Montgomery,
            < r.
        inverse: From values to coefficients, 1/n included.
        coset: Shift g, standard form: values are those at g*omega^k. None for the domain itself.
        order_in: Order of x: "nat", or "rev" when element i lies at the bit reversal of i.
        order_out: Order of the result.
        out: Where to put the result; x for a transform in place.
        plan: How to cut the transform, instead of plan_ntt's choice. Changes no byte of the result.
        table_bits: log2 of the inner power tables' length, instead of the default. Changes no byte either.
    Returns:
        out, or a new array. Shape as x. Form: Montgomery, < r. Order: order_out.
    Raises:
        ShapeError: x does not hold vectors of n elements, or out overlaps x in part.
        RangeError: The shift is 0 mod r, an order is unknown, or the plan is for another length or batch.
    Cost: n*log_n/2 fr_mul, about 2n for each pass but one, 2n for a coset; no host synchronisation.
    Source: Gentleman & Sande 1966 (DIF), Cooley & Tukey 1965 (DIT), cut into passes as in the four-step
    method. Checked by: tests/kernels/test_ntt.py (definition, random_point, roundtrip, shift, delta, splits).
    """
    curve = domain.curve
    total = check_fr(curve, "x", x)
    if check_power_of_two("x", x) != domain.log_n:
        raise ShapeError(f"x has shape {tuple(x.shape)}", limit=f"vectors of {domain.size} elements")
    if order_in not in ("nat", "rev") or order_out not in ("nat", "rev"):
        raise RangeError(f"order {order_in!r} to {order_out!r}", limit='"nat" or "rev"')
    if coset is not None and coset % curve.r == 0:
        raise RangeError("the coset shift is 0", limit="0 < shift < r")
    out = output_like(device, curve, x, out, x=x)
    batch = total >> domain.log_n
    if plan is None:
        plan = plan_ntt(domain.log_n, batch, curve, device.limits)
    elif (plan.log_n, plan.batch) != (domain.log_n, batch):
        raise RangeError(f"a plan for {plan.batch} x 2^{plan.log_n}", limit=f"{batch} x 2^{domain.log_n}")
    transform = _Transform(device, domain, plan, order_in == "nat", inverse, coset, table_bits)
    transform.run(x, out)
    if order_in == order_out:
        bit_reverse(device, curve, out, out=out)
    return out


def prepare(
    device: Device,
    domain: Domain,
    *,
    inverse: bool = False,
    coset: int | None = None,
    order_in: Order = "nat",
    plan: NttPlan | None = None,
) -> None:
    """Build the tables of a transform before it is needed, so that later ones allocate nothing.

    Args:
        device: Where the transforms will run.
        domain: As for ntt().
        inverse: As for ntt().
        coset: As for ntt().
        order_in: As for ntt(); the order of the result does not matter.
        plan: As for ntt(); of any batch.
    Cost: as that of the tables; nothing where the domain has them.
    Checked by: tests/kernels/test_ntt_domain.py.
    """
    plan = plan or plan_ntt(domain.log_n, 1, domain.curve, device.limits)
    _Transform(device, domain, plan, order_in == "nat", inverse, coset, None).prepare()


class _Transform:
    """One transform, DIF or DIT: its passes in order, each with the tables it needs."""

    def __init__(
        self,
        device: Device,
        domain: Domain,
        plan: NttPlan,
        dif: bool,
        inverse: bool,
        coset: int | None,
        table_bits: int | None,
    ) -> None:
        self.device, self.domain, self.dif, self.inverse, self.coset = device, domain, dif, inverse, coset
        self.bits = table_bits
        self.passes = plan.passes if dif else plan.passes[::-1]

    def run(self, x: Array, out: Array) -> None:
        """Launch the passes: the first reads x, all write out."""
        last = len(self.passes) - 1
        for i, step in enumerate(self.passes):
            self._launch(step, x if i == 0 else out, out, first=i == 0, last=i == last)

    def prepare(self) -> None:
        """Build the tables of every pass that the domain does not have yet."""
        last = len(self.passes) - 1
        for i, step in enumerate(self.passes):
            self._tables(step, first=i == 0, last=i == last)
        self.domain.ntt_roots(self.device, inverse=self.inverse)

    def _tables(self, step: NttPass, *, first: bool, last: bool) -> tuple[PowerTables, PowerTables, int, int]:
        """A pass's twist factors, its scale factors, and how the latter act on what it reads and writes."""
        device, domain = self.device, self.domain
        folded = self.inverse and self.coset is None and len(self.passes) > 1
        twist = domain.ntt_twist(
            device, step, inverse=self.inverse, scaled=folded and self._folds(step), bits=self.bits
        )
        if self.coset is not None and (last if self.inverse else first):
            # Element i lies at i on the natural side of a transform, at rev(i) on the other.
            natural = self.dif != self.inverse
            order: Order = "nat" if natural else "rev"
            scale = domain.coset_tables(device, self.coset, inverse=self.inverse, order=order, bits=self.bits)
            return (
                (twist, scale, _SCALE_NONE, _SCALE_POWERS)
                if self.inverse
                else (twist, scale, _SCALE_POWERS, _SCALE_NONE)
            )
        if self.inverse and self.coset is None and last and not folded:
            return twist, domain.size_inverse(device), _SCALE_NONE, _SCALE_CONSTANT
        return twist, twist, _SCALE_NONE, _SCALE_NONE

    def _launch(self, step: NttPass, src: Array, dst: Array, *, first: bool, last: bool) -> None:
        device, domain = self.device, self.domain
        twist, scale, scale_in, scale_out = self._tables(step, first=first, last=last)
        launch(
            device, domain.curve, "ntt_dif_pass" if self.dif else "ntt_dit_pass", step.shape,
            src=src, dst=dst, num_tiles=step.num_tiles,
            log_n=domain.log_n, log_l=step.log_l, log_r=step.log_r, log_t=step.log_t,
            roots=domain.ntt_roots(device, inverse=self.inverse),
            twist_outer=twist.outer, twist_inner=twist.inner, twist_bits=twist.bits,
            scale_in=scale_in, scale_out=scale_out,
            scale_outer=scale.outer, scale_inner=scale.inner, scale_bits=scale.bits,
        )  # fmt: skip

    def _folds(self, step: NttPass) -> bool:
        """Whether this pass carries 1/n in its twist factors: the one on the largest sub-transforms does."""
        return step.log_l == self.domain.log_n
