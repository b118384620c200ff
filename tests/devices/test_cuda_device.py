"""The cuda device on fake CUDA: same bytes as the host, whatever order the streams run in.

Would catch: a missing wait between the streams, a source that is reused before it was read, memory that is handed
out while a copy still runs, a fault that nobody sees, an array of another device taken for one of this.
"""

from __future__ import annotations

import gc
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import get_device
from cuzk.device.copies import Ticket
from cuzk.device.cuda_modules import module_of
from cuzk.errors import InternalError, KernelFault
from cuzk.limbs import fr_from_ints
from cuzk.ops.fr_vec import fr_mul, to_mont
from tests.devices.fake_engine import Engine
from tests.devices.support import open_fake

CURVE = get_curve("bn254")
ROOT = Path(__file__).resolve().parents[2]
SEEDS = range(6)


def values(seed: int, n: int = 96) -> Any:
    """Some scalars, Montgomery."""
    return fr_from_ints(CURVE, [pow(5, seed * n + i + 1, CURVE.r) for i in range(n)])


@pytest.mark.parametrize("seed", SEEDS)
def test_operations_give_the_hosts_bytes(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    device, _ = open_fake(monkeypatch, Engine(seed=seed))
    host = get_device("cpu", threads=1)
    x, y = values(1), values(2)
    got = device.download(fr_mul(device, CURVE, device.upload(x), device.upload(y)))
    assert np.array_equal(got, fr_mul(host, CURVE, x, y))


@pytest.mark.parametrize("locked", [False, True], ids=["pageable", "locked"])
@pytest.mark.parametrize("seed", SEEDS)
def test_streaming_through_two_buffers(monkeypatch: pytest.MonkeyPatch, seed: int, locked: bool) -> None:
    """The pattern of copies.py, each chunk several slots of the ring long, sources overwritten at once."""
    monkeypatch.setattr("cuzk.device.cuda_pages._SLOT_BYTES", 1000)
    device, _ = open_fake(monkeypatch, Engine(seed=seed))
    host = get_device("cpu", threads=1)
    buffers = [device.alloc((96, CURVE.fr.limbs)) for _ in range(2)]
    total, free = device.upload(values(0)), [None, None]
    want, first = values(0), device.mark()
    kept = []
    for i in range(7):
        chunk = values(i + 1)
        if locked:
            source = device.pinned(chunk.shape)
            source[...] = chunk
        else:
            source = chunk.copy()
        copied = device.stage(source, buffers[i % 2], after=free[i % 2])
        device.wait(copied)
        fr_mul(device, CURVE, total, buffers[i % 2], out=total)
        free[i % 2] = device.mark()
        kept.append(source)
        want = fr_mul(host, CURVE, want, chunk)
    assert np.array_equal(device.download(total), want)
    spans = device.take_copies()
    assert [span.nbytes for span in spans] == [values(0).nbytes] * 7
    assert all(span.begin_ms <= span.end_ms for span in spans)
    assert device.take_copies() == []
    end = device.mark()
    assert device.elapsed(first, end) == pytest.approx(device.time_of(end) - device.time_of(first), abs=1e-3)
    assert device.elapsed(first, end) >= spans[-1].end_ms - spans[0].begin_ms > 0


def test_without_the_wait_some_order_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake can tell: this is the check that the test above is able to fail."""
    wrong = 0
    for seed in range(20):
        device, _ = open_fake(monkeypatch, Engine(seed=seed))
        source, buffer = device.pinned((96, CURVE.fr.limbs)), device.upload(values(0))
        source[...] = values(1)
        device.stage(source, buffer, after=device.mark())
        device.fill_zero(device.alloc((8,)))
        wrong += not np.array_equal(device.download(buffer), values(1))
    assert 0 < wrong < 20


@pytest.mark.parametrize("seed", SEEDS)
def test_copies_are_made_in_turn(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Through the ring and past it, by turns, into one array: the last one counts, whoever is waited for last."""
    monkeypatch.setattr("cuzk.device.cuda_pages._SLOT_BYTES", 1000)
    device, _ = open_fake(monkeypatch, Engine(seed=seed))
    array = device.alloc((96, CURVE.fr.limbs))
    sources = []
    ticket = device.mark()
    for i in range(6):
        source = device.pinned(array.shape) if i % 2 else np.empty(array.shape, np.uint64)
        source[...] = values(i)
        sources.append(source)
        ticket = device.stage(source, array, after=ticket)
    device.wait(ticket)
    assert np.array_equal(device.download(array), values(5))


def test_a_quick_copy_does_not_overtake_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ring is held up; a copy from locked pages, which needs none, comes after it all the same."""
    device, _ = open_fake(monkeypatch)
    array, go, ring = device.alloc((96, CURVE.fr.limbs)), threading.Event(), device._host_memory.ring

    def late() -> Any:
        go.wait()
        return ring()

    monkeypatch.setattr(device._host_memory, "ring", late)
    source = device.pinned(array.shape)
    source[...] = values(2)
    device.stage(values(1), array)
    quick = device.stage(source, array)
    assert not quick.is_issued
    go.set()
    device.wait(quick)
    assert np.array_equal(device.download(array), values(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_buffer_dropped_in_flight_is_not_handed_out(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    device, _ = open_fake(monkeypatch, Engine(seed=seed))
    buffer = device.alloc((96, CURVE.fr.limbs))
    source = device.pinned(buffer.shape)
    source[...] = values(1)
    device.stage(source, buffer)
    address = buffer.data.ptr
    del buffer
    gc.collect()
    other = device.upload(values(2))
    assert other.data.ptr != address
    assert np.array_equal(device.download(other), values(2))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_buffer_whose_copy_has_ended_is_handed_out_again(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """At the next allocation, not only where memory runs out: what stays must not be placed behind it."""
    device, _ = open_fake(monkeypatch, Engine(seed=seed))
    buffer = device.alloc((96, CURVE.fr.limbs))
    address = buffer.data.ptr
    ticket = device.stage(values(1), buffer)
    device.time_of(ticket)  # waits for it
    del buffer, ticket
    gc.collect()
    assert device.alloc((96, CURVE.fr.limbs)).data.ptr == address


@pytest.mark.parametrize("seed", SEEDS)
def test_locked_pages_are_not_reused_while_an_upload_reads_them(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    device, engine = open_fake(monkeypatch, Engine(seed=seed))
    source = device.pinned((96, CURVE.fr.limbs))
    source[...] = values(1)
    up = device.upload(source)
    del source
    gc.collect()
    device.pinned((96, CURVE.fr.limbs))[...] = 0
    assert np.array_equal(device.download(up), values(1))
    count = engine.calls.count("hostAlloc")
    device.pinned((95, CURVE.fr.limbs))  # about the size: the same pages
    assert engine.calls.count("hostAlloc") == count


def test_locking_a_callers_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch)
    key = values(1, 4096).copy()
    buffer = device.alloc((1000, CURVE.fr.limbs))
    key.flags.writeable = False
    with device.lock_pages(key[1:]) as locked:
        assert locked
        assert "hostRegister 9" in engine.calls  # portable, read-only
        ticket = device.stage(key[5:1005], buffer)
        with device.lock_pages(key) as again:
            assert again
    assert not engine.locked.get(key.ctypes.data)
    device.wait(ticket)
    assert np.array_equal(device.download(buffer), key[5:1005])
    # Where locking fails, copies go through the ring.
    engine.fail_next["hostRegister 9"] = 801
    with device.lock_pages(key) as locked:
        assert not locked
        device.wait(device.stage(key[:1000], buffer))
    assert np.array_equal(device.download(buffer), key[:1000])


def test_large_downloads_and_uploads_pass_through_the_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuzk.device.cuda_pages._SLOT_BYTES", 4096)
    monkeypatch.setattr("cuzk.device.cuda_pages._FILL_GRAIN", 512)
    monkeypatch.setattr("cuzk.device.cuda._SMALL_BYTES", 100)
    device, engine = open_fake(monkeypatch)
    for n in (1, 3, 511, 512, 513, 5000):
        x = np.arange(n, dtype=np.uint64)
        assert np.array_equal(device.download(device.upload(x)), x)
    device.synchronize()
    count = engine.calls.count("hostAlloc")
    device.download(device.upload(np.arange(9000)))
    assert engine.calls.count("hostAlloc") == count  # the ring is made once


def test_a_gpu_offers_the_kernels_that_its_modules_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the compiler made figures of, and the toy curve's; what only hosts have is refused by name."""
    device, _ = open_fake(monkeypatch, Engine())
    compiled = json.loads((ROOT / "perf_baselines" / "T0-sm_90.json").read_text())["figures"]
    assert {name for name in device.kernels if module_of(name)[0] != "toy"} == set(compiled)
    with pytest.raises(InternalError, match="word_op_u64"):
        device.launch("word_op_u64", grid=1, block=32)


def test_empty_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch)
    empty = device.upload(np.empty((0, 4), np.uint64))
    device.fill_zero(empty)
    device.wait(device.stage(np.empty((0, 4), np.uint64), empty))
    assert device.download(empty).shape == (0, 4)
    assert device.memory().used == device.memory().held["unlabelled"]


def test_a_fault_is_raised_once_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch)
    bad = device.upload(np.full((8, CURVE.fr.limbs), 2**64 - 1, np.uint64))
    to_mont(device, CURVE, bad)
    with pytest.raises(KernelFault, match="fr_to_mont_bn254_fr reported fault 1"):
        device.synchronize()
    device.synchronize()
    to_mont(device, CURVE, bad)
    with pytest.raises(KernelFault, match="not reduced"):
        device.download(bad)
    assert np.array_equal(device.download(device.upload(values(1))), values(1))


def test_stage_refuses_what_can_not_be_right(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch)
    early = device.mark()
    x = device.upload(values(1))
    fr_mul(device, CURVE, x, x, out=x)
    late = device.alloc((96, CURVE.fr.limbs))
    with pytest.raises(InternalError, match="before the array it fills was allocated"):
        device.stage(values(1), late, after=early)
    copied = device.stage(values(1), x, after=device.mark())
    device.wait(copied)
    fr_mul(device, CURVE, x, x, out=x)
    later = device.alloc((96, CURVE.fr.limbs))
    with pytest.raises(InternalError, match="before the array it fills was allocated"):
        device.stage(values(1), later, after=copied)
    with pytest.raises(InternalError, match="bytes are staged into"):
        device.stage(values(1, 5), late)
    with pytest.raises(InternalError, match="contiguous"):
        device.stage(values(1, 192)[::2], late)
    with pytest.raises(InternalError, match="not a contiguous array of this device"):
        device.stage(values(1), values(2))
    with pytest.raises(InternalError, match="ticket of another device"):
        device.wait(Ticket(0))
    with pytest.raises(InternalError, match="not a contiguous array of this device"):
        device.download(values(1))


def test_several_threads_share_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four threads, each with arrays of its own: their launches interleave, their results do not."""
    device, _ = open_fake(monkeypatch)
    host = get_device("cpu", threads=1)
    want = {i: fr_mul(host, CURVE, values(i), values(i)) for i in range(4)}
    wrong: list[object] = []

    def work(i: int) -> None:
        try:
            for _ in range(5):
                x = device.upload(values(i))
                got = device.download(fr_mul(device, CURVE, x, x))
                wrong.extend([i] * (not np.array_equal(got, want[i])))
        except Exception as error:  # noqa: BLE001 - a thread's error is the test's
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_current_gpu_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch, cupy_options={"devices": 2})
    runtime = device._cupy.cuda.runtime
    runtime.setDevice(1)
    x = device.upload(values(1))
    device.download(fr_mul(device, CURVE, x, x))
    device.wait(device.stage(values(1), x))
    device.synchronize()
    assert runtime.getDevice() == 1
    with pytest.raises(InternalError):
        device.download(values(1))
    assert runtime.getDevice() == 1
    seen = []

    def work() -> None:  # a thread that calls this device for the first time
        runtime.setDevice(1)
        device.upload(values(1))
        seen.append(runtime.getDevice())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [1]
