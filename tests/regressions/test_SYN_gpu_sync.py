"""Order and lifetime: kernels, copies, threads and memory that is used again.

Would catch: what docs/regressions.md says of the SYN rows.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.errors import CuzkError, OutOfMemoryError
from cuzk.groth16 import Prover
from cuzk.groth16.verify import verify
from cuzk.limbs import fr_from_ints, points_to_ints
from cuzk.ops.batch_add import batch_add
from cuzk.ops.domain import Domain
from cuzk.ops.fr_vec import batch_inverse, fr_add
from cuzk.ops.msm import msm
from cuzk.ops.ntt import ntt
from tests.device import exact, gpu
from tests.prover.support import blinding
from tests.regressions.gpu_support import (
    ON_GPU,
    everywhere,
    on_cpu_and_gpu,
    on_emu_and_gpu,
    open_device,
    parts,
    python,
    size_for,
    small_proof,
)

_PROOFS = """
    import sys
    from cuzk.device import get_device
    from cuzk.groth16 import Prover
    from tests.regressions.gpu_support import small_proof
    from tests.prover.support import blinding
    load, key, expected = small_proof("bls12_381", 200)
    prover = Prover(key, get_device(sys.argv[1]))
    same = sum(prover.prove(load.witness, blinding=blinding(load.curve)) == expected for _ in range(25))
    print(same)
"""


@on_cpu_and_gpu
def test_syn_01_fifty_proofs_half_of_them_with_blocking_launches(device_name: str) -> None:
    open_device(device_name)
    runs: tuple[dict[str, str], ...] = ({}, {"CUDA_LAUNCH_BLOCKING": "1"})
    assert [python(_PROOFS, device_name, environment=environment).strip() for environment in runs] == [
        "25",
        "25",
    ]


@everywhere
@pytest.mark.parametrize("curve", ["bls12_381", "bn254"])
def test_syn_02_the_cpu_proves_the_same_element_by_element(device_name: str, curve: str) -> None:
    device = open_device(device_name)
    load, key, expected = small_proof(curve, size_for(device, 3000, 40))
    proof = Prover(key, device).prove(load.witness, blinding=blinding(load.curve))
    assert parts(proof) == parts(expected)
    assert verify(key.verifying_key(), load.public, proof)


@everywhere
def test_syn_04_a_kernel_waits_for_the_copy_it_reads(device_name: str) -> None:
    """A pageable copy beside the launches into poisoned memory, a kernel at once after wait(): no poison comes out."""
    device, curve = open_device(device_name), get_curve("bls12_381")
    n = size_for(device, 1 << 21, 300)
    poison = np.full((n, curve.fr.limbs), 0x0123456789ABCDEF, np.uint64)
    zero = device.alloc((n, curve.fr.limbs), zero=True)
    into = device.alloc((n, curve.fr.limbs))
    for seed in range(size_for(device, 12, 3)):
        fr_add(device, curve, device.upload(poison), zero, out=into)
        host = exact.random_scalars(curve, n, seed)
        device.wait(device.stage(host, into))
        out = fr_add(device, curve, into, zero)
        assert np.array_equal(device.download(out), host), seed


@everywhere
def test_syn_05_memory_is_used_again_at_once(device_name: str) -> None:
    """Proofs back to back in little more than what one needs: the least limit, of some, that is not refused."""
    first = open_device(device_name, memory_limit=1 << 30)
    load, key, expected = small_proof("bn254", size_for(first, 3000, 60))
    Prover(key, first).prove(load.witness, blinding=blinding(load.curve))
    needed = first.memory().peak
    assert 0 < needed < 1 << 28
    for quarters in range(4, 17):
        tight = open_device(device_name, memory_limit=needed * quarters // 4)
        with contextlib.suppress(OutOfMemoryError):
            prover = Prover(key, tight)
            break
    else:
        raise AssertionError("four times of what a proof needs is refused")
    for _ in range(4):
        assert parts(prover.prove(load.witness, blinding=blinding(load.curve))) == parts(expected)
    assert tight.memory().peak <= needed * quarters // 4


@everywhere
def test_syn_06_delays_before_any_launch_change_nothing(device_name: str) -> None:
    """Random waits of the host, and on a GPU other kernels, before every launch of a proof."""
    device = open_device(device_name, memory_limit=1 << 30)
    load, key, expected = small_proof("bls12_381", size_for(device, 2000, 40))
    curve, rng = load.curve, random.Random(6)
    filler = device.upload(exact.random_scalars(curve, size_for(device, 1 << 16, 8), 1))
    original, delays = device.launch, []

    def launch(kernel: str, **rest: Any) -> None:
        choice = rng.randrange(8)
        if choice == 0:
            delays.append(kernel)
            time.sleep(rng.random() / 500)
        elif choice == 1 and device.kind == "cuda":
            device.launch = original
            batch_inverse(device, curve, filler)
            device.launch = launch
        original(kernel, **rest)

    device.launch = launch
    prover = Prover(key, device)
    for _ in range(size_for(device, 10, 2)):
        assert parts(prover.prove(load.witness, blinding=blinding(curve))) == parts(expected)
    assert delays


@everywhere
@pytest.mark.parametrize("group_name", ["g1", "g2"])
def test_syn_07_a_sum_with_more_blocks_than_multiprocessors(device_name: str, group_name: str) -> None:
    device = open_device(device_name)
    group = getattr(get_curve("bls12_381" if device.kind == "cuda" else "toy"), group_name)
    n = size_for(device, (1 << 16) + 1, 333)
    known = exact.KnownBases(device, group, "few", n, 7)
    ones = np.broadcast_to(fr_from_ints(group.curve, [1]), (n, group.curve.fr.limbs))
    want = known.expected(ones)
    blocks = 4 * device.limits.num_sms + 1
    for i in range(size_for(device, 1000, 6)):
        got = points_to_ints(group, batch_add(device, group, known.points, blocks=blocks + i % 3))[0]
        assert got == want, i


def _digits(kind: str, n: int, curve: Any) -> Any:
    """Scalars whose digits are uniform, of few values, or all the same."""
    if kind == "uniform":
        return exact.random_scalars(curve, n, 8)
    return exact.scalars_of(curve, "awkward" if kind == "few values" else "equal", n, 8)


@everywhere
@pytest.mark.parametrize("kind", ["uniform", "few values", "all the same"])
def test_syn_08_digits_are_sorted_the_same_every_time(device_name: str, kind: str) -> None:
    """10^5 terms, 500 times: a counter shared by two warps would put a base into another bucket, and change the sum."""
    device = open_device(device_name)
    group = get_curve("bn254" if device.kind == "cuda" else "toy").g1
    n = size_for(device, 100_000, 600)
    known = exact.KnownBases(device, group, "unrelated", n, 8)
    host = _digits(kind, n, group.curve)
    scalars, want = device.upload(host), known.expected(host)
    for i in range(size_for(device, 500, 3)):
        assert points_to_ints(group, msm(device, group, known.points, scalars))[0] == want, i


@everywhere
@pytest.mark.parametrize("bits", [5, 8, 11, 13, 16])
def test_syn_10_buckets_are_reduced_the_same_every_time(device_name: str, bits: int) -> None:
    device = open_device(device_name)
    group = get_curve("bls12_381" if device.kind == "cuda" else "toy").g1
    n = size_for(device, 1 << 12, 200)
    known = exact.KnownBases(device, group, "unrelated", n, 10)
    host = exact.random_scalars(group.curve, n, bits)
    scalars, want = device.upload(host), known.expected(host)
    for i in range(size_for(device, 200, 2)):
        got = points_to_ints(group, msm(device, group, known.points, scalars, window_bits=bits))[0]
        assert got == want, i


@ON_GPU
def test_syn_11_the_calling_threads_gpu_stays_selected() -> None:
    """After calls on every GPU, in several threads, and after errors: what was current before is current again."""
    gpu.gpu()
    import cupy

    runtime, curve, many = cupy.cuda.runtime, get_curve("bn254"), gpu.num_gpus()

    def work(i: int) -> list[tuple[int, int]]:
        seen = []
        for ordinal in range(many):
            runtime.setDevice((i + ordinal) % many)
            before = runtime.getDevice()
            device = get_device(f"cuda:{ordinal}")
            x = device.upload(exact.random_scalars(curve, 1000, i))
            device.download(ntt(device, Domain(curve, 9), x[:512]))
            with pytest.raises(CuzkError):
                device.launch("no_such_kernel", grid=1, block=1)
            with pytest.raises(CuzkError):
                device.alloc((1 << 62,))
            seen.append((before, runtime.getDevice()))
        return seen

    with ThreadPoolExecutor(3) as pool:
        for seen in pool.map(work, range(6)):
            assert all(before == after for before, after in seen)


@ON_GPU
def test_syn_12_data_that_goes_from_gpu_to_gpu_arrives_before_it_is_used() -> None:
    """Two GPUs where there are two, else two devices on one: download, upload, kernel, with nothing in between."""
    curve, many = get_curve("bls12_381"), gpu.num_gpus()
    first, second = open_device("cuda"), get_device(f"cuda:{1 % max(many, 1)}")
    domain = Domain(curve, 18)
    for seed in range(10):
        host = exact.random_scalars(curve, 1 << 18, seed)
        values = ntt(first, domain, first.upload(host), order_out="rev")
        back = ntt(second, domain, second.upload(first.download(values)), inverse=True, order_in="rev")
        assert np.array_equal(second.download(back), host), seed


@on_emu_and_gpu
def test_syn_15_four_threads_prove_two_circuits_at_once(device_name: str) -> None:
    device = open_device(device_name)
    jobs = [small_proof(curve, size_for(device, 1000, 30)) for curve in ("bls12_381", "bn254")]
    provers = [Prover(made, device) for _, made, _ in jobs]
    barrier, rounds = threading.Barrier(4), size_for(device, 20, 2)

    def work(i: int) -> int:
        load, _, expected = jobs[i % 2]
        barrier.wait(60)
        proofs = [provers[i % 2].prove(load.witness, blinding=blinding(load.curve)) for _ in range(rounds)]
        return sum(parts(proof) == parts(expected) for proof in proofs)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [rounds] * 4
