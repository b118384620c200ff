"""The second phase of a ceremony: from powers of tau and a circuit to a proving key, with one contribution.

gamma is 1 as in snarkjs's keys, and delta is this run's secret: who runs it could forge proofs only together
with everybody of the first phase. The columns of A, B, C come as linear combinations of Lagrange points.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np

from cuzk.csr import CsrMatrix
from cuzk.curves import GroupSpec, RootConvention
from cuzk.device.base import Device
from cuzk.errors import CurveMismatchError, RangeError, ShapeError
from cuzk.keys import ProvingKey
from cuzk.limbs import U64Array, points_from_ints
from cuzk.ops.point_ntt import point_ntt, scale_by_powers
from cuzk.ops.point_sums import column_terms, segment_sums
from cuzk.powers_of_tau import PowersOfTau
from cuzk.relation import R1CS
from cuzk.telemetry import Recorder

__all__ = ["setup_from_powers"]


def setup_from_powers(
    r1cs: R1CS,
    powers: PowersOfTau,
    device: Device,
    *,
    delta: int | None = None,
    root_convention: RootConvention = "snarkjs",
    recorder: Recorder | None = None,
) -> ProvingKey:
    """Make a proving key without knowing tau, alpha and beta.

    Args:
        r1cs: The circuit.
        powers: For the circuit's domain; taken as checked.
        device: Where to compute.
        delta: The secret of the contribution, 0 < delta < r; drawn from the operating system where None.
        root_convention: Whose roots number the rows; powers in Lagrange form are for snarkjs's.
        recorder: Where the phases are booked, and told how far each has come.

    Returns:
        The key, with odd-Lagrange H points from powers in Lagrange form, else with monomial ones.

    Raises:
        CurveMismatchError: Powers on another curve.
        ShapeError: Powers for another domain.
        RangeError: delta is 0 or >= r.

    Cost: one scalar multiplication for each entry of A, B (also in G2) and C that is not 1 or -1, and two for
        each private variable and row; powers not in Lagrange form cost four transforms of points besides.
    Checked by: tests/formats/test_phase2.py (against the key that the secrets give).
    """
    curve, log_n = r1cs.curve, r1cs.domain_log2
    if powers.curve is not curve:
        raise CurveMismatchError(
            f"the powers are on {powers.curve.name}", limit=f"the circuit's {curve.name}",
            remedy="fetch the powers of tau of the circuit's curve",
        )  # fmt: skip
    if powers.log_n != log_n:
        raise ShapeError(
            f"powers for a domain of 2^{powers.log_n}", limit=f"2^{log_n} for this circuit",
            remedy=f"load them with load_ptau(path, {log_n})",
        )  # fmt: skip
    secret = 1 + secrets.randbelow(curve.r - 1) if delta is None else delta
    if not 0 < secret < curve.r:
        raise RangeError(
            "delta is out of range", limit="0 < delta < r", remedy="leave it out: it is drawn then"
        )
    run = _Phase2(r1cs, powers, device, root_convention, recorder or Recorder())
    return run.key(secret)


class _Phase2:
    """One run of setup_from_powers()."""

    def __init__(
        self,
        r1cs: R1CS,
        powers: PowersOfTau,
        device: Device,
        root_convention: RootConvention,
        recorder: Recorder,
    ) -> None:
        self.r1cs, self.powers, self.device, self.recorder = r1cs, powers, device, recorder
        self.curve, self.convention = r1cs.curve, root_convention
        self.n = 1 << powers.log_n

    def key(self, delta: int) -> ProvingKey:
        """The key with this secret."""
        curve, powers, phase = self.curve, self.powers, self.recorder.phase
        a, b, c = self.r1cs.with_binding_rows()
        g1, g2 = curve.g1, curve.g2
        inverse = pow(delta, -1, curve.r)
        basis, alpha, beta, basis_g2 = self._bases()
        with phase("points_single"):
            generators = points_from_ints(g1, [g1.generator]), points_from_ints(g2, [g2.generator])
            delta_g1 = scale_by_powers(self.device, g1, generators[0], 1, delta)[0]
            delta_g2 = scale_by_powers(self.device, g2, generators[1], 1, delta)[0]
        split = self.r1cs.num_public + 1
        with phase("points_l"):
            combined = self._columns(g1, (beta, a), (alpha, b), (basis, c), end=0.9)
            private = np.ascontiguousarray(combined[split:])
            l_query = scale_by_powers(self.device, g1, private, 1, inverse, self._part(0.9, 1.0))
        with phase("points_a"):
            a_query = self._columns(g1, (basis, a))
        with phase("points_b_g1"):
            b_g1_query = self._columns(g1, (basis, b))
        with phase("points_b_g2"):
            b_g2_query = self._columns(g2, (basis_g2, b))
        with phase("points_h"):
            h_query = self._h_query(inverse)
        return ProvingKey(
            curve=curve, num_public=self.r1cs.num_public, log_domain=powers.log_n,
            h_form="odd_lagrange" if powers.is_lagrange else "monomial", root_convention=self.convention,
            alpha_g1=powers.alpha_g1, beta_g1=powers.beta_g1, beta_g2=powers.beta_g2,
            delta_g1=delta_g1, gamma_g2=generators[1][0], delta_g2=delta_g2,
            ic=np.ascontiguousarray(combined[:split]),
            a_query=a_query, b_g1_query=b_g1_query, b_g2_query=b_g2_query, h_query=h_query, l_query=l_query,
            a=a, b=b, c=c,
        )  # fmt: skip

    def _part(self, start: float, end: float) -> Callable[[float], None]:
        """What to call with the share of something that is this part of the running phase."""
        return lambda share: self.recorder.advance(start + (end - start) * share)

    def _bases(self) -> tuple[U64Array, U64Array, U64Array, U64Array]:
        """l_i(tau) in G1, times alpha, times beta, and in G2."""
        powers, g1, g2 = self.powers, self.curve.g1, self.curve.g2
        if powers.is_lagrange:
            return powers.tau_g1, powers.alpha_tau_g1, powers.beta_tau_g1, powers.tau_g2
        with self.recorder.phase("powers_lagrange"):
            return (
                self._lagrange(g1, powers.tau_g1, 0.0, 0.2),
                self._lagrange(g1, powers.alpha_tau_g1, 0.2, 0.4),
                self._lagrange(g1, powers.beta_tau_g1, 0.4, 0.6),
                self._lagrange(g2, powers.tau_g2, 0.6, 1.0),
            )

    def _lagrange(self, group: GroupSpec, points: U64Array, start: float, end: float) -> U64Array:
        """l_i(tau) times a constant: the inverse transform of its powers."""
        omega = self.curve.root_of_unity(self.powers.log_n, self.convention)
        inverse, scaled_from = pow(omega, -1, self.curve.r), start + 0.9 * (end - start)
        ours = np.ascontiguousarray(points[: self.n])
        sums = point_ntt(self.device, group, ours, inverse, self._part(start, scaled_from))
        of_n = pow(self.n, -1, self.curve.r)
        return scale_by_powers(self.device, group, sums, 1, of_n, self._part(scaled_from, end))

    def _columns(self, group: GroupSpec, *parts: tuple[U64Array, CsrMatrix], end: float = 1.0) -> U64Array:
        """For each variable the sum over parts of the basis times the variable's column.

        It is the running phase up to the share ``end``.
        """
        terms, columns = [], []
        for i, (basis, matrix) in enumerate(parts):
            # Their sums take a tenth of the time.
            advance = self._part(0.9 * end * i / len(parts), 0.9 * end * (i + 1) / len(parts))
            found = column_terms(self.device, group, basis, matrix, advance)
            advance(1.0)
            terms.append(found[0])
            columns.append(found[1])
        column = np.concatenate(columns)
        order = np.argsort(column, kind="stable")
        points = np.concatenate(terms)[order]
        sums = segment_sums(self.device, group, points, column[order], self.r1cs.num_variables)
        self.recorder.advance(end)
        return sums

    def _h_query(self, inverse: int) -> U64Array:
        """L_{2i+1}(tau), or tau^i (tau^n - 1) for i < n - 1: differences of powers; over delta."""
        tau, group, count = self.powers.tau_g1, self.curve.g1, self.n - 1
        if self.powers.is_lagrange:
            points, done = np.ascontiguousarray(self.powers.odd_g1), 0.0
        else:
            done = 0.5
            low = np.ascontiguousarray(tau[:count])
            minus = scale_by_powers(self.device, group, low, 1, -1, self._part(0.0, done))
            pairs = np.stack([tau[self.n : self.n + count], minus], axis=1).reshape(-1, *group.affine_shape)
            points = segment_sums(self.device, group, pairs, np.repeat(np.arange(count), 2), count)
        return scale_by_powers(self.device, group, points, 1, inverse, self._part(done, 1.0))
