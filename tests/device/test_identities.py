"""Identities that need no oracle, at full size: of transforms, of sums, and of the quotient at a random point.

Would catch: an error that a round trip undoes, a coset shift applied on one side only, a sum whose scalars or bases are
cut differently in two calls, a quotient that is right on small domains only.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from cuzk_oracles import curve as oracle_curve
from cuzk_oracles import params

from cuzk.curves import get_curve
from cuzk.device import Device
from cuzk.groth16 import setup
from cuzk.groth16.evaluate import evaluate, upload_witness
from cuzk.groth16.quotient import quotient
from cuzk.groth16.resident import ResidentKey
from cuzk.limbs import fr_from_ints, points_to_ints
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.fr_vec import fr_add, fr_scale, fr_scale_powers
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt
from cuzk.telemetry import Recorder
from tests.device import exact
from tests.prover.support import waste
from tests.regressions.gpu_support import open_device
from tests.workloads.porep_shape import porep_shape


def runs(small: int, *large: int) -> pytest.MarkDecorator:
    """A small size on cpu, large ones on the GPU."""
    on_gpu = [pytest.param("cuda", log_n, marks=pytest.mark.device) for log_n in large]
    return pytest.mark.parametrize(("device_name", "log_n"), [("cpu", small), *on_gpu])


both_curves = pytest.mark.parametrize("curve_name", ["bls12_381", "bn254"])


@both_curves
@runs(9, 18, 22, 24)
def test_transforms(device_name: str, log_n: int, curve_name: str) -> None:
    """Shift theorem, transforms of deltas and constants, and Parseval's sum, which sees every output."""
    device, curve, n = open_device(device_name), get_curve(curve_name), 1 << log_n
    domain, r, g = Domain(curve, log_n), curve.r, 5
    host = exact.random_scalars(curve, n, log_n)
    values = device.download(ntt(device, domain, device.upload(host)))
    scaled = fr_scale_powers(device, curve, device.upload(host.copy()), g)
    shifted = device.download(ntt(device, domain, scaled))
    assert np.array_equal(shifted, device.download(ntt(device, domain, device.upload(host), coset=g)))
    # sum A_k A_(-k) = n sum a_j^2
    turned = np.roll(values[::-1], 1, axis=0)
    assert exact.dot(values, turned, r) == n * exact.dot(host, host, r) % r
    one = fr_from_ints(curve, [1])[0]
    delta = np.zeros_like(host)
    delta[0] = one
    assert (device.download(ntt(device, domain, device.upload(delta))) == one).all()
    back = device.download(
        ntt(device, domain, device.upload(np.broadcast_to(one, host.shape).copy()), inverse=True)
    )
    assert np.array_equal(back, delta)


@pytest.mark.parametrize(
    ("curve_name", "group_name"), [("bls12_381", "g1"), ("bn254", "g1"), ("bls12_381", "g2")]
)
@runs(7, 16, 20)
def test_sums_are_linear(device_name: str, log_n: int, curve_name: str, group_name: str) -> None:
    """msm(a s + t) = a msm(s) + msm(t); equal bases may be merged; opposite ones cancel."""
    device, n = open_device(device_name), 1 << log_n
    group = getattr(get_curve(curve_name), group_name)
    oracle: Any = getattr(params.get_params(curve_name), group_name)
    curve, factor = group.curve, 0x1234567890ABCDEF1234567890ABCDEF
    bases = fixed_base_mul(device, group, device.upload(exact.random_scalars(curve, n, 1)))
    s, t = (device.upload(exact.scalars_of(curve, kind, n, 2)) for kind in ("uniform", "sparse"))

    def total(scalars: Any, points: Any = bases) -> Any:
        return points_to_ints(group, msm(device, group, points, scalars))[0]

    mixed = fr_add(device, curve, fr_scale(device, curve, s, factor), t)
    want = oracle_curve.add(oracle, oracle_curve.mul(oracle, factor, total(s)), total(t))
    assert total(mixed) == want
    points = device.download(bases)
    twice = device.upload(np.concatenate([points, points]))
    halves = device.upload(np.concatenate([device.download(s), device.download(t)]))
    assert total(halves, twice) == total(fr_add(device, curve, s, t))
    minus = fr_scale(device, curve, s, -1)
    cancelled = device.upload(np.concatenate([device.download(s), device.download(minus)]))
    assert total(cancelled, twice) is None


@both_curves
@runs(12, 16, 20, 22)
def test_quotient(device_name: str, log_n: int, curve_name: str) -> None:
    """a(z) b(z) - c(z) = h(z) (z^n - 1) at a random z; and not for another h."""
    device: Device = open_device(device_name)
    circuit, witness = porep_shape(log_n, curve=curve_name)
    curve, r, n = circuit.curve, circuit.curve.r, 1 << log_n
    key = setup(circuit, device, toxic_waste=waste(curve), h_form="monomial")
    resident, recorder = ResidentKey.upload(device, key), Recorder()
    rows = evaluate(resident, upload_witness(resident, witness.values, recorder), recorder)
    z = random.Random(log_n).randrange(r)

    def at_z(coefficients: Any) -> int:
        """The value, in Montgomery form as the coefficients are."""
        return exact.evaluate(coefficients, z, r)

    a, b, c = (at_z(device.download(ntt(device, resident.domain, rows[i], inverse=True))) for i in range(3))
    host = np.zeros((n, curve.fr.limbs), np.uint64)
    host[: n - 1] = device.download(quotient(resident, rows))
    left = (a * b * curve.fr.mont_r_inv - c) % r
    assert left == at_z(host) * (pow(z, n, r) - 1) % r
    host[n // 3, 0] ^= np.uint64(1)
    assert left != at_z(host) * (pow(z, n, r) - 1) % r
