"""The same bytes every time on a GPU: without waiting between calls, beside other work, on several devices, in a row.

Would catch: memory that is handed out again while a kernel still reads it, a missing order between launches or copies,
tables shared by two devices or threads, a result that depends on what ran before.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.groth16 import Prover
from cuzk.ops.batch_add import batch_add
from cuzk.ops.classify import classify
from cuzk.ops.domain import Domain
from cuzk.ops.fixed_base import fixed_base_mul
from cuzk.ops.fr_vec import batch_inverse, fr_mul
from cuzk.ops.msm import launch_msm, msm
from cuzk.ops.ntt import ntt
from tests.device import exact, gpu
from tests.device.test_proofs import prepared
from tests.prover.support import blinding

pytestmark = pytest.mark.device

CURVES = ("bls12_381", "bn254")
LOG_N = 17


class Inputs:
    """Inputs of every operation, on a device."""

    def __init__(self, device: Any, curve: str) -> None:
        self.device, self.curve, n = device, get_curve(curve), 1 << LOG_N
        upload = device.upload
        self.domain = Domain(self.curve, LOG_N)
        self.x = upload(exact.random_scalars(self.curve, n, 1))
        self.sparse = upload(exact.scalars_of(self.curve, "sparse", n, 2))
        self.logs = upload(exact.random_scalars(self.curve, n, 3))
        self.g1 = fixed_base_mul(device, self.curve.g1, self.logs)
        self.g2 = fixed_base_mul(device, self.curve.g2, self.logs[: n >> 4])

    def operations(self) -> dict[str, Callable[[], Any]]:
        """Calls that launch and, where they can, do not wait: each gives arrays to download later."""
        d, c = self.device, self.curve
        return {
            "ntt": lambda: ntt(d, self.domain, self.x, order_out="rev"),
            "ntt coset": lambda: ntt(d, self.domain, self.x, coset=5),
            "fr_mul": lambda: fr_mul(d, c, self.x, self.logs),
            "batch_inverse": lambda: batch_inverse(d, c, self.x),
            "fixed_base_mul": lambda: fixed_base_mul(d, c.g1, self.x),
            "classify": lambda: classify(d, c, self.sparse).others,
            "batch_add": lambda: batch_add(d, c.g1, self.g1),
            "msm g1": lambda: launch_msm(d, c.g1, self.g1, self.x),
            "msm g1 sparse": lambda: launch_msm(d, c.g1, self.g1, self.sparse),
            "msm g2": lambda: launch_msm(d, c.g2, self.g2, self.x[: len(self.g2)]),
        }


def bytes_of(device: Any, value: Any) -> bytes:
    """A result on the host: an array of the device, of the host, or a pending sum."""
    if hasattr(value, "result"):
        value = value.result()
    elif not isinstance(value, np.ndarray):
        value = device.download(value)
    return bytes(np.ascontiguousarray(value).tobytes())


@pytest.mark.parametrize("curve", CURVES)
def test_three_times_without_waiting(curve: str) -> None:
    """Each operation three times in a row on one stream, all operations in between: nothing is waited for."""
    device = gpu.gpu()
    calls = Inputs(device, curve).operations()
    pending = [{name: call() for name, call in calls.items()} for _ in range(3)]
    again = [[call() for _ in range(3)] for call in calls.values()]
    first = {name: bytes_of(device, value) for name, value in pending[0].items()}
    for results in pending[1:]:
        for name, value in results.items():
            assert bytes_of(device, value) == first[name], name
    for name, values in zip(calls, again, strict=True):
        assert {bytes_of(device, value) for value in values} == {first[name]}, name


@pytest.mark.parametrize("curve", CURVES)
def test_two_devices_at_once(curve: str) -> None:
    """Two Device objects, so two streams, driven by two threads: as one alone."""
    expected = {n: bytes_of(gpu.gpu(), call()) for n, call in Inputs(gpu.gpu(), curve).operations().items()}

    def work(_: int) -> list[str]:
        device = get_device("cuda")
        calls, differing = Inputs(device, curve).operations(), []
        for _ in range(5):
            pending = {name: call() for name, call in calls.items()}
            differing += [n for n, value in pending.items() if bytes_of(device, value) != expected[n]]
        return differing

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, range(2))) == [[], []]


@pytest.mark.parametrize("curve", CURVES)
def test_fifty_proofs_in_a_row(curve: str) -> None:
    """Fixed blinding: one proof, fifty times, with other work in between."""
    device = gpu.gpu()
    prover, witness = prepared(device, curve, 14)
    reference = Prover(prover.key, device.reference).prove(witness, blinding=blinding(witness.curve))
    other = Inputs(device, curve)
    for i in range(50):
        if i % 10 == 3:
            launch_msm(device, other.curve.g1, other.g1, other.x)
        assert prover.prove(witness, blinding=blinding(witness.curve), self_check=i % 10 == 0) == reference, i


def test_results_do_not_depend_on_what_memory_held() -> None:
    """Scratch memory full of ones, then of zeros: an operation that reads what it did not write gives itself away."""
    device: Any = gpu.gpu()
    inputs = Inputs(device, "bls12_381")
    calls = inputs.operations()
    seen: dict[str, set[bytes]] = {name: set() for name in calls}
    for value in (0xFF, 0x00, 0xA5):
        size = min(device.limits.memory_bytes // 8, 1 << 30)
        dirt = [device.upload(np.full(size >> 6, value, np.uint8)) for _ in range(64)]
        device.synchronize()
        del dirt
        for name, call in calls.items():
            seen[name].add(bytes_of(device, call()))
    assert {name: len(found) for name, found in seen.items()} == dict.fromkeys(calls, 1)


def test_one_sum_alone_and_among_others() -> None:
    """Several sums launched before the first is asked for: each as if it were alone."""
    device = gpu.gpu()
    inputs = Inputs(device, "bn254")
    group, n = inputs.curve.g1, len(inputs.g1)
    cuts = [n, n // 2 + 1, 1000, 33, 1]
    alone = [msm(device, group, inputs.g1[:m], inputs.x[:m]) for m in cuts]
    pending = [launch_msm(device, group, inputs.g1[:m], inputs.x[:m]) for m in cuts]
    for m, one, other in zip(cuts, alone, reversed([p.result() for p in reversed(pending)]), strict=True):
        assert np.array_equal(one, other), m
