"""A single-party trusted setup: from a circuit to a proving key.

Whoever runs this knows the toxic waste while it runs and could forge proofs; it is wiped afterwards.  For keys that
others must trust, use a ceremony and load its key.

With u_i, v_i, w_i the columns of A, B, C interpolated over the domain::

    a_query[i] = u_i(tau)                 b_query[i] = v_i(tau)  (G1 and G2)
    ic[i], l[i] = (beta u_i + alpha v_i + w_i)(tau) / gamma, delta
    h_query[i]  = L_{2i+1}(tau) / delta            (odd_lagrange; L: Lagrange basis of the 2n-th roots)
                = tau^i (tau^n - 1) / delta        (monomial)
"""

from __future__ import annotations

import hashlib
import secrets
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cuzk.curves import Curve, GroupSpec, RootConvention
from cuzk.device.base import Array, Device
from cuzk.errors import RangeError, SecurityWarning
from cuzk.groth16.quotient import odd_coset_shift
from cuzk.groth16.tau_columns import Columns, columns_of
from cuzk.keys import HForm, ProvingKey
from cuzk.limbs import U64Array, fr_from_ints
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import FixedBase
from cuzk.ops.fr_vec import fr_add, fr_scale, gather, powers
from cuzk.ops.lagrange import lagrange_at
from cuzk.ops.plan_msm import plan_fixed_base
from cuzk.pieces import CompiledCircuit
from cuzk.relation import R1CS, domain_log2
from cuzk.telemetry import Recorder

__all__ = ["PIECE", "PIECE_GPU", "Place", "ToxicWaste", "default_h_form", "setup"]

#: Points made before their results are copied: a tenth of a second on a processor, enough to fill a GPU.
PIECE, PIECE_GPU = 1 << 15, 1 << 20


@dataclass(repr=False)
class ToxicWaste:
    """The secrets of a setup: 0 < each < r.

    Args:
        tau: Where the polynomials are evaluated; outside the domain.
        alpha: As in Groth16.
        beta: As in Groth16.
        gamma: As in Groth16.
        delta: As in Groth16.
    """

    tau: int
    alpha: int
    beta: int
    gamma: int
    delta: int

    @classmethod
    def random(cls, curve: Curve, log_domain: int = 0) -> ToxicWaste:
        """Draw from the operating system's generator.

        Args:
            curve: Whose Fr.
            log_domain: tau is drawn again while it is a 2^(log_domain + 1)-th root of unity: such a tau fits no
                set-up over this domain. That never happens in a large field, and often in a toy one.
        """
        waste = cls(*(1 + secrets.randbelow(curve.r - 1) for _ in range(5)))
        while pow(waste.tau, 2 << log_domain, curve.r) == 1:
            waste.tau = 1 + secrets.randbelow(curve.r - 1)
        return waste

    @classmethod
    def from_seed(cls, curve: Curve, seed: int) -> ToxicWaste:
        """Derive from a number, for tests: anybody who knows the seed can forge proofs."""
        names = ("tau", "alpha", "beta", "gamma", "delta")
        texts = (f"cuzk-insecure-setup:{curve.name}:{seed}:{name}" for name in names)
        wide = (int.from_bytes(hashlib.sha512(text.encode()).digest()) for text in texts)
        return cls(*(1 + value % (curve.r - 1) for value in wide))

    def wipe(self) -> None:
        """Forget every secret: Python may hold copies of an int, but what we keep is gone."""
        self.tau = self.alpha = self.beta = self.gamma = self.delta = 0

    def __repr__(self) -> str:
        return "ToxicWaste(<secret>)"


#: Name of a query and shape of its points -> where they go.
Place: TypeAlias = Callable[[str, tuple[int, ...]], U64Array]


def default_h_form(curve: Curve, log_domain: int) -> HForm:
    """The form of the H bases: odd_lagrange where the field has the roots for it."""
    return "odd_lagrange" if log_domain < curve.two_adicity else "monomial"


def setup(
    circuit: R1CS | CompiledCircuit,
    device: Device,
    *,
    name: str = "",
    toxic_waste: ToxicWaste | None = None,
    h_form: HForm | None = None,
    root_convention: RootConvention = "snarkjs",
    recorder: Recorder | None = None,
    place: Place | None = None,
) -> ProvingKey:
    """Make a proving key (its verifying_key() is the other half).

    Args:
        circuit: The circuit. The key of a compiled one has the same points, and no matrices.
        device: Where to compute.
        name: What a compiled circuit is called; its key remembers that.
        toxic_waste: The secrets; drawn from the operating system where None. Wiped before this returns.
        h_form: Form of the H bases; odd_lagrange where the field has the roots for it, else monomial.
        root_convention: Whose roots of unity number the rows.
        recorder: Where the phase is booked.
        place: Gives the array for each query's points (uint64, writable, such as a file that is mapped); they are
            written some at a time. New arrays where None.

    Raises:
        RangeError: More rows than the scalar field has roots of unity; tau in the domain.

    Warns:
        SecurityWarning: The circuit has no constraints.

    Cost: one fixed-base multiplication per point: 3 num_variables + n in G1, num_variables in G2, with one table a
        group. Memory: the key, the circuit twice (a compiled one's tables four times), and four Fr vectors on the
        device.
    Checked by: tests/prover/test_setup.py (every element against the oracle's exponents),
        tests/prover/test_compiled_setup.py (the same points from pieces).
    """
    columns = columns_of(circuit, name)
    curve, log_n = columns.curve, domain_log2(columns.num_constraints, columns.num_public)
    if log_n > curve.two_adicity:
        raise RangeError(
            f"{columns.num_constraints} constraints need a domain of 2^{log_n}",
            limit=f"2^{curve.two_adicity} on {curve.name}",
            remedy="split the circuit",
        )
    if columns.num_constraints == 0:
        warnings.warn(
            "the circuit has no constraints: every witness satisfies it, and a key of it serves every other such "
            "circuit with as many public inputs",
            SecurityWarning,
            stacklevel=2,
        )
    form = h_form or default_h_form(curve, log_n)
    if form == "odd_lagrange":
        odd_coset_shift(
            curve, log_n, root_convention
        )  # refuses a domain without an odd coset before any work
    waste = toxic_waste or ToxicWaste.random(curve, log_n)
    booked = (recorder or Recorder()).scoped(
        device=device.kind, build_key=device.build_key, counters=device.counters, sync=device.synchronize
    )
    try:
        with booked.phase("setup"):
            domain = Domain(curve, log_n, root_convention)
            return _Setup(columns, device, waste, form, domain, booked, place or _new).run()
    finally:
        waste.wipe()


def _new(_: str, shape: tuple[int, ...]) -> U64Array:
    return np.empty(shape, np.uint64)


class _Setup:
    """One run of setup()."""

    def __init__(
        self,
        columns: Columns,
        device: Device,
        waste: ToxicWaste,
        form: HForm,
        domain: Domain,
        recorder: Recorder,
        place: Place,
    ) -> None:
        self.columns, self.device, self.waste, self.recorder = columns, device, waste, recorder
        self.curve = columns.curve
        self.form, self.domain, self.place = form, domain, place

    def run(self) -> ProvingKey:
        r, t, phase = self.curve.r, self.waste, self.recorder.phase
        split = self.columns.num_public + 1
        with phase("tau_columns"):
            u, v, w = self.columns.at_tau(self.device, lagrange_at(self.device, self.domain, t.tau))
            combined = self._combine(u, v, w)
            del w
            ic = fr_scale(self.device, self.curve, combined[:split], pow(t.gamma, -1, r))
            rest = fr_scale(self.device, self.curve, combined[split:], pow(t.delta, -1, r))
            del combined
        with phase("points_single"):
            g1 = self._multiples(self.curve.g1, 3 * self.columns.num_variables + self.domain.size)
            g2 = self._multiples(self.curve.g2, self.columns.num_variables)
            single = g1.of(self._upload([t.alpha, t.beta, t.delta]))
            single_g2 = g2.of(self._upload([t.beta, t.gamma, t.delta]))
            ic_points = self._query("ic", g1, ic)
        # In the order in which the vectors of exponents can be given back.
        with phase("points_a"):
            a_query = self._query("a_query", g1, u)
            del u
        with phase("points_l"):
            l_query = self._query("l_query", g1, rest)
            del rest
        kept = self.columns.kept_b()
        if kept is not None:
            v = gather(self.device, self.curve, v, self.device.upload(kept))
        with phase("points_b_g1"):
            b_g1_query = self._query("b_g1_query", g1, v)
        with phase("points_b_g2"):
            b_g2_query = self._query("b_g2_query", g2, v)
            del v
        with phase("points_h"):
            h_query = self._query("h_query", g1, self._h_exponents())
        return ProvingKey(
            curve=self.curve, num_public=self.columns.num_public, log_domain=self.domain.log_n,
            h_form=self.form, root_convention=self.domain.convention,
            alpha_g1=single[0], beta_g1=single[1], delta_g1=single[2],
            beta_g2=single_g2[0], gamma_g2=single_g2[1], delta_g2=single_g2[2],
            ic=ic_points, a_query=a_query, b_g1_query=b_g1_query, b_g2_query=b_g2_query,
            h_query=h_query, l_query=l_query, b_places=kept, **self.columns.rows(),
        )  # fmt: skip

    def _upload(self, values: list[int]) -> Array:
        return self.device.upload(fr_from_ints(self.curve, values))

    def _multiples(self, group: GroupSpec, count: int) -> _Multiples:
        return _Multiples(self.device, group, count, self.recorder)

    def _query(self, name: str, multiples: _Multiples, exponents: Array) -> U64Array:
        """Points of a query, where they are to be."""
        shape = (len(exponents), *multiples.group.affine_shape)
        return multiples.of(exponents, out=self.place(name, shape))

    def _combine(self, u: Array, v: Array, w: Array) -> Array:
        """Beta u + alpha v + w."""
        device, curve = self.device, self.curve
        total = fr_scale(device, curve, u, self.waste.beta)
        total = fr_add(device, curve, total, fr_scale(device, curve, v, self.waste.alpha), out=total)
        return fr_add(device, curve, total, w, out=total)

    def _h_exponents(self) -> Array:
        r, n, t = self.curve.r, self.domain.size, self.waste
        vanishing = (pow(t.tau, n, r) - 1) % r
        over_delta = vanishing * pow(t.delta, -1, r) % r
        if self.form == "monomial":
            return powers(self.device, self.curve, t.tau, n - 1, first=over_delta)
        # L_{2i+1}(tau) = -Z(tau)/2 * l_i(tau/v), with v the primitive 2n-th root and l the basis of size n.
        shift = odd_coset_shift(self.curve, self.domain.log_n, self.domain.convention)
        basis = lagrange_at(self.device, self.domain, t.tau * pow(shift, -1, r) % r)
        return fr_scale(self.device, self.curve, basis, -over_delta * pow(2, -1, r) % r, out=basis)


class _Multiples:
    """Multiples of a group's generator, with one table for all of them, in pieces that go to the host at once.

    Args:
        device: Where to compute.
        group: Whose generator.
        count: Of about how many scalars; decides the table's size.
        recorder: Told how far the running phase has come.
    """

    def __init__(self, device: Device, group: GroupSpec, count: int, recorder: Recorder) -> None:
        self._device, self.group, self._recorder = device, group, recorder
        self._base = FixedBase(device, group, plan_fixed_base(count, group, device.limits))
        self._piece = PIECE_GPU if device.limits.gpu_like else PIECE

    def of(self, exponents: Array, out: U64Array | None = None) -> U64Array:
        """Points on the host. Shape (n, *affine_shape) uint64. Form: affine, Montgomery.

        Args:
            exponents: Shape (n, limbs) uint64, on the device. Form: Montgomery.
            out: Where to put them; a new array where None.
        """
        points = np.empty((len(exponents), *self.group.affine_shape), np.uint64) if out is None else out
        for first in range(0, len(points), self._piece):
            made = self._base.mul(exponents[first : first + self._piece])
            points[first : first + self._piece] = self._device.download(made)
            self._recorder.advance(min(first + self._piece, len(points)) / len(points))
        return points
