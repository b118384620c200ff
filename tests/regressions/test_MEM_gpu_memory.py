"""Memory of devices: too little of it, much of it, page-locked memory, launches at the limits of a block.

Would catch: what docs/regressions.md says of the MEM rows.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.cli.selftest import self_test
from cuzk.curves import get_curve
from cuzk.device import DeviceLimits, get_device
from cuzk.errors import CuzkError, InternalError, OutOfMemoryError, RangeError
from cuzk.groth16 import Prover
from cuzk.keys import ProvingKey
from cuzk.ops.fr_vec import fr_add, fr_mul
from cuzk.ops.plan_fr import plan_ntt
from cuzk.ops.plan_msm import plan_msm
from cuzk.perf import read_baseline
from cuzk.proof import Proof
from tests.device import exact, gpu
from tests.prover.support import blinding
from tests.regressions.gpu_support import (
    ON_GPU,
    ROOT,
    everywhere,
    needs,
    on_cpu_and_gpu,
    open_device,
    parts,
    python,
    size_for,
    small_proof,
)
from tests.workloads import Workload

BLS = get_curve("bls12_381")
MIB = 1 << 20


def works(device: Any) -> None:
    """A trivial kernel runs, so no error of before sticks."""
    x = exact.random_scalars(BLS, 1000, 1)
    one = device.upload(np.broadcast_to(_one(), x.shape).copy())
    assert np.array_equal(device.download(fr_mul(device, BLS, device.upload(x), one)), x)


def _one() -> Any:
    return np.array([BLS.fr.mont_r >> (64 * i) & (2**64 - 1) for i in range(BLS.fr.limbs)], np.uint64)


@everywhere
def test_mem_01_too_little_memory_is_one_decision(device_name: str) -> None:
    """With less and less memory: the same bytes, or one error that says what was needed, at once; never a retry."""
    device = open_device(device_name, memory_limit=1 << 30)
    load, key, expected = small_proof("bls12_381", size_for(device, 20_000, 60))
    Prover(key, device).prove(load.witness, blinding=blinding(load.curve))
    enough = 4 * device.memory().peak  # plans keep a margin, which weighs much in a small proof
    refused: list[int] = []
    for limit in (enough, enough // 2, enough // 8, enough // 64, 4096):
        device = open_device(device_name, memory_limit=limit)
        if device_name == "cuda":
            device.load("bls12_381")  # compiling and loading kernels is no part of the decision
        start = time.process_time()
        proof, error = attempt(key, device, load)
        if proof is not None:
            assert not refused, "less memory sufficed than what was refused before"
            assert parts(proof) == parts(expected)
            continue
        refused.append(limit)
        took = time.process_time() - start
        assert took < 1.0 + (10 if device_name == "emu" else 0), f"{took:.1f} s for a decision"
        assert any(unit in error for unit in ("bytes", "KiB", "MiB", "GiB")), error
    assert 4096 in refused
    assert enough not in refused


def attempt(key: ProvingKey, device: Any, load: Workload) -> tuple[Proof | None, str]:
    """A proof, or what the error says."""
    try:
        return Prover(key, device).prove(load.witness, blinding=blinding(load.curve)), ""
    except OutOfMemoryError as error:
        return None, str(error)


@on_cpu_and_gpu
def test_mem_04_free_memory_is_joined_before_a_request_is_refused(device_name: str) -> None:
    """500 MiB in pieces and as one, returned, then 800 MiB of 1 GiB; more than the limit is refused by name."""
    device = open_device(device_name, memory_limit=1024 * MIB)
    for pieces in (1, 4, 125):
        held = [device.alloc((500 * MIB // pieces,), np.uint8) for _ in range(pieces)]
        for i in (*range(0, pieces, 2), *range(1, pieces, 2)):
            held[i] = None
        large = device.alloc((800 * MIB,), np.uint8)
        with pytest.raises(OutOfMemoryError):
            device.alloc((300 * MIB,), np.uint8)
        del large, held
        gc.collect()
    assert device.memory().used < MIB


@ON_GPU
def test_mem_05_indices_beyond_2_31_words() -> None:
    """A vector of 2^28 + 5 elements (2^31 + 40 words of 32 bits): right at both ends and around the border."""
    device = open_device("cuda")
    n = (1 << 28) + 5
    needs(device.limits.memory_bytes > 3 * n * 32, f"{3 * n * 32 >> 30} GiB of free memory on the GPU")
    places = [0, 1, (1 << 28) - 1, 1 << 28, (1 << 27) + 5, n - 2, n - 1]
    x = device.alloc((n, 4), zero=True)
    values = exact.random_scalars(BLS, len(places), 3)
    with device._device, gpu.stream_of(device):
        for place, value in zip(places, values, strict=True):
            x[place] = device._cupy.asarray(value)
    y = fr_add(device, BLS, x, x)
    cpu = get_device("cpu")
    want = fr_add(cpu, BLS, values, values)
    got = np.concatenate([device.download(y[place : place + 1]) for place in places])
    assert np.array_equal(got, want)
    others = [2, (1 << 28) - 2, (1 << 28) + 1]
    assert not any(device.download(y[place : place + 1]).any() for place in others)


def _huge(memory: int) -> DeviceLimits:
    return DeviceLimits(132, 1024, 32, 48 << 10, memory, gpu_like=True)


@pytest.mark.parametrize("group", [BLS.g1, BLS.g2, get_curve("bn254").g1], ids=lambda group: group.full_name)
@pytest.mark.parametrize("log_n", [20, 26, 27, 28, 29, 30])
def test_mem_06_products_of_small_factors_are_guarded(group: Any, log_n: int) -> None:
    """Entries and buckets of a pass are counted in 32 bits: no plan makes more of them, whatever memory is there."""
    for n in ((1 << log_n) + 1, 3 << (log_n - 1)):
        for bits in (None, 12, 20, 24):
            plan = plan_msm(n, group, _huge(1 << 45), window_bits=bits)
            assert plan.windows_per_pass * n < 2**32
            assert plan.windows_per_pass << (plan.window_bits - 1) < 2**32
    with pytest.raises(RangeError):
        plan_msm(2**31, group, _huge(1 << 45))
    plan_ntt(20, 1 << 9, BLS, _huge(1 << 45))  # 2^29 elements, 2^32 words: every launch counts in 64 bits


@everywhere
def test_mem_07_shared_memory_up_to_the_limit(device_name: str) -> None:
    """Every size to the last byte launches; one more is refused by name, and nothing sticks."""
    device = open_device(device_name)
    limit = device.limits.shared_bytes
    curve = get_curve("toy")
    x = device.upload(exact.random_scalars(curve, 40, 1))
    out = device.alloc((40, 1))
    block = 1 if device.limits.warp == 1 else 32

    def launch(shared_bytes: int) -> None:
        device.launch(
            "fr_mul_toy_fr", grid=2, block=block, shared_bytes=shared_bytes, a=x, b=x, out=out, n=40
        )
        device.synchronize()

    for shared_bytes in sorted({0, 49151, 49152, limit - 1, limit}):
        if shared_bytes <= limit:
            launch(shared_bytes)
    for shared_bytes in (limit + 1, limit + 4096):
        with pytest.raises(InternalError, match="shared memory"):
            launch(shared_bytes)
    assert np.array_equal(device.download(out), device.download(fr_mul(device, curve, x, x)))


def test_mem_10_blocks_have_room_for_their_registers() -> None:
    """Registers of a kernel, handed out by 8, times its largest block: no more than a multiprocessor has."""
    most = {name: spec.max_threads for name, spec in get_device("cpu").kernels.items()}
    seen = 0
    for path in sorted((ROOT / "perf_baselines").glob("T0-*.json")):
        for kernel, figures in read_baseline(path).figures.items():
            seen += kernel in most
            assert -(-figures["registers"] // 8) * 8 * most.get(kernel, 1) <= 1 << 16, (path.name, kernel)
    assert seen > 100


@ON_GPU
def test_mem_10_the_gpu_agrees_on_the_size_of_blocks() -> None:
    device = open_device("cuda")
    driver = device._cupy.cuda.driver
    for curve in ("bls12_381", "bn254", "toy"):
        device.load(curve)
        for name, spec in device.kernels.items():
            if name.endswith((f"{curve}_fr", f"{curve}_g1", f"{curve}_g2")) and not name.startswith("field_"):
                attribute = driver.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
                assert driver.funcGetAttribute(attribute, device._function(name).ptr) >= spec.max_threads, (
                    name
                )


def _odd_arrays(folder: Path) -> list[Any]:
    """Host arrays that are hard to page-lock: empty, read-only, mapped from a file, a part of another."""
    whole = np.arange(4 * MIB, dtype=np.uint64)
    frozen = whole.copy()
    frozen.flags.writeable = False
    path = folder / "mapped"
    path.write_bytes(whole.tobytes())
    with path.open("rb") as file:
        mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint64)
    return [whole[:0], frozen, mapped, whole[4096:-4096]]


@everywhere
def test_mem_12_memory_that_can_not_be_locked_is_copied_all_the_same(
    device_name: str, tmp_path: Path
) -> None:
    device = open_device(device_name)
    for array in _odd_arrays(tmp_path):
        with device.lock_pages(array) as locked:
            assert isinstance(locked, bool)
            assert np.array_equal(device.download(device.upload(array)), array)
        works(device)


@ON_GPU
def test_mem_13_pages_are_unlocked_whatever_happens_in_between() -> None:
    """An error in the middle of five locked arrays undoes all of them: they can be locked again."""
    device = open_device("cuda")
    arrays = [np.zeros(MIB, np.uint64) for _ in range(5)]

    def fail_with(count: int) -> None:
        with contextlib.ExitStack() as stack:
            locked = [stack.enter_context(device.lock_pages(array)) for array in arrays[:count]]
            raise KeyError(locked)

    for count in (1, 3, 5):
        with pytest.raises(KeyError, match=repr([True] * count).replace("[", r"\[")):
            fail_with(count)
        for array in arrays:
            with device.lock_pages(array) as locked:
                assert locked, count
    works(device)


@ON_GPU
def test_mem_14_memory_at_an_address_that_was_locked_before() -> None:
    """Allocate, lock, free, allocate the same size again, which the system puts at the same address: it locks again."""
    device = open_device("cuda")
    addresses = []
    for i in range(20):
        array = np.full(8 * MIB, i, np.uint64)
        addresses.append(array.ctypes.data)
        with device.lock_pages(array) as locked:
            assert locked
            assert device.download(device.upload(array))[-1] == i
        del array
        pinned = device.pinned((MIB,))
        pinned[...] = i
        assert device.download(device.upload(pinned))[0] == i
        del pinned
    assert len(set(addresses)) < len(addresses), "no address came twice, so nothing was tried"


@ON_GPU
def test_mem_15_locked_memory_goes_up_as_it_is() -> None:
    """256 MiB from pageable and from page-locked memory: the latter is not slower, so it is not copied once more."""
    device = open_device("cuda")
    pageable = np.random.default_rng(1).integers(0, 2**63, 32 * MIB, np.uint64)
    pinned = device.pinned(pageable.shape)
    pinned[...] = pageable

    def best_ms(array: Any) -> float:
        times = []
        for _ in range(6):
            device.synchronize()
            start = time.perf_counter()
            up = device.upload(array)
            device.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
            assert up.nbytes == array.nbytes
        return min(times)

    assert best_ms(pinned) <= 1.1 * best_ms(pageable)


_SELF_TEST = """
    import sys
    from cuzk.cli.selftest import self_test
    from cuzk.curves import get_curve
    from cuzk.device import get_device
    for curve in ("bls12_381", "bn254"):
        self_test(get_device(sys.argv[1]), get_curve(curve))
    print("fine")
"""


@on_cpu_and_gpu
def test_mem_17_a_fresh_process_proves_on_both_curves(device_name: str) -> None:
    """What a release is asked for first; in the wheel's own build on cpu, this is the quickstart of `.ci/run`."""
    open_device(device_name)
    assert python(_SELF_TEST, device_name).strip() == "fine"


def test_mem_17_the_self_test_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    device = get_device("cpu")
    original = device.launch

    def launch(kernel: str, **rest: Any) -> None:
        original(kernel, **rest)
        if kernel == "fr_mul_sub_bn254_fr":
            rest["out"][:, 0] ^= np.uint64(1)

    monkeypatch.setattr(device, "launch", launch)
    with pytest.raises(CuzkError):
        self_test(device, get_curve("bn254"))
