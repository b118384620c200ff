"""What goes wrong with a GPU, and what is said about it.

Would catch: an error of the driver that passes as a result, a lost context that answers, a message that does not say
what to do, a process that fails far from the reason.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from cuzk.curves import get_curve
from cuzk.device import builder, cuda, cuda_health, get_device
from cuzk.errors import CompileError, CuzkError, DeviceError, InternalError, LaunchError, OutOfMemoryError
from cuzk.ops.fr_vec import fr_mul
from tests.devices import fake_cuda
from tests.devices.fake_engine import ILLEGAL_ADDRESS, OUT_OF_MEMORY, Engine
from tests.devices.support import open_fake

CURVE = get_curve("bn254")


@pytest.fixture(autouse=True)
def _no_context_is_lost_for_good() -> Iterator[None]:
    """The contexts that these tests lose are fakes: another test's are not lost."""
    yield
    cuda_health._lost.clear()


def calls(device: Any) -> dict[str, Callable[[], Any]]:
    """Every call that touches the GPU."""
    x = device.upload(np.ones((8, CURVE.fr.limbs), np.uint64))
    ticket = device.mark()
    return {
        "alloc": lambda: device.alloc((8,)),
        "upload": lambda: device.upload(np.ones(8, np.uint64)),
        "download": lambda: device.download(x),
        "fill_zero": lambda: device.fill_zero(x),
        "pinned": lambda: device.pinned((8,)),
        "lock_pages": lambda: device.lock_pages(np.ones(8)),
        "stage": lambda: device.stage(np.ones((8, CURVE.fr.limbs), np.uint64), x),
        "wait": lambda: device.wait(ticket),
        "mark": device.mark,
        "time_of": lambda: device.time_of(ticket),
        "take_copies": device.take_copies,
        "load": lambda: device.load("bn254"),
        "launch": lambda: fr_mul(device, CURVE, x, x, out=x),
        "synchronize": device.synchronize,
    }


def message(run: Callable[[], Any]) -> str:
    """What a call raises, with its class."""
    with pytest.raises(CuzkError) as caught:
        run()
    return f"{type(caught.value).__name__}: {caught.value}"


def test_after_a_sticky_error_every_call_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch)
    every = calls(device)
    every["launch"]()
    engine.dead = ILLEGAL_ADDRESS
    first = message(device.synchronize)
    assert first.startswith("LaunchError: cuda:0 failed for good at synchronize (fake CUDA error 700)")
    assert "launched before: fr_mul_bn254_fr" in first
    assert "start a new process" in first
    engine.dead = None  # even if the driver should answer again
    for name, run in every.items():
        assert message(run) == first, name
    text = message(lambda: open_fake(monkeypatch, engine))
    assert text.startswith("DeviceError: cuda:0: its CUDA context in this process is lost since synchronize")
    assert "start a new process" in text


@pytest.mark.parametrize(
    "name", ["alloc", "upload", "download", "fill_zero", "stage", "mark", "launch", "wait"]
)
def test_a_sticky_error_is_seen_wherever_it_shows_first(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    device, engine = open_fake(monkeypatch)
    every = calls(device)
    every["launch"]()
    zeroed = device.alloc((8,), zero=True)
    engine.dead = 719
    run = every[name]
    if name == "alloc":
        run = partial(device.alloc, (8,), zero=True)
    if name == "wait":
        engine.dead = None
        ticket = device.stage(np.ones(8, np.uint64), zeroed)
        ticket.wait_issued()
        engine.dead = 719
        run = partial(device.wait, ticket)
    if name == "stage":  # the copier's thread meets it; whoever waits for the copy hears of it
        with pytest.raises(LaunchError):
            run()
    else:
        assert "failed for good" in message(run)
    engine.dead = None
    assert "failed for good" in message(device.synchronize)


def test_an_unknown_error_is_sticky_if_the_next_call_fails_too(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch)
    engine.dead = 123
    assert "failed for good" in message(device.synchronize)


def test_an_error_that_passes_leaves_the_device_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch)
    x = device.upload(np.ones((8, CURVE.fr.limbs), np.uint64))
    want = device.download(fr_mul(device, CURVE, x, x))
    engine.fail_next["launchKernel"] = 1
    text = message(lambda: fr_mul(device, CURVE, x, x))
    assert text.startswith("LaunchError: cuda:0: the launch of fr_mul_bn254_fr failed: fake CUDA error 1")
    engine.fail_next["eventCreate"] = OUT_OF_MEMORY
    with pytest.raises(OutOfMemoryError, match="recording an event failed"):
        device.mark()
    engine.fail_next["hostAlloc"] = OUT_OF_MEMORY
    with pytest.raises(OutOfMemoryError, match="page-locking host memory failed"):
        device.pinned((1 << 20,))
    assert np.array_equal(device.download(fr_mul(device, CURVE, x, x)), want)


def test_an_error_of_the_copiers_thread_reaches_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch)
    array = device.alloc((8,))

    def broken() -> Any:
        raise MemoryError("no room for slots")

    monkeypatch.setattr(device._host_memory, "ring", broken)
    ticket = device.stage(np.ones(8, np.uint64), array)
    for run in (lambda: device.wait(ticket), lambda: device.time_of(ticket), device.synchronize):
        with pytest.raises(MemoryError, match="no room"):
            run()


def test_after_fork_the_device_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch)
    every = calls(device)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    for name, run in every.items():
        assert "cuda:0 was opened before fork" in message(run), name


@pytest.mark.parametrize(
    ("version", "compiler", "expected"),
    [
        (0, 13, "there is no NVIDIA driver"),
        (12090, 13, r"driver supports CUDA 12\.9, but CuPy and NVRTC here need CUDA 13\.0.*580 or newer"),
        (13000, 14, r"driver supports CUDA 13\.0, but CuPy and NVRTC here need CUDA 14\.0"),
        (11080, 12, r"pip install 'cuzk\[cuda11\]'"),
    ],
)
def test_drivers_that_are_too_old(
    monkeypatch: pytest.MonkeyPatch, version: int, compiler: int, expected: str
) -> None:
    monkeypatch.setattr(builder, "nvrtc_version", lambda: (compiler, 0))
    with pytest.raises(DeviceError, match=expected):
        cuda_health.check_driver(fake_cuda.make_cupy(Engine(), driver_version=version))


@pytest.mark.parametrize("version", [13000, 13010, 14000])
def test_drivers_that_are_new_enough(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    """A newer minor version of CuPy or NVRTC runs on any driver of the same major version."""
    monkeypatch.setattr(builder, "nvrtc_version", lambda: (13, 2))
    cuda_health.check_driver(fake_cuda.make_cupy(Engine(), driver_version=version))


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "nvrtc_version", lambda: (13, 0))
    engine = Engine()
    with pytest.raises(DeviceError, match="sees no GPU"):
        cuda_health.check_driver(fake_cuda.make_cupy(engine, devices=0))
    engine.fail_next["getDeviceCount"] = 100
    with pytest.raises(DeviceError, match="CUDA finds no usable GPU"):
        cuda_health.check_driver(fake_cuda.make_cupy(engine))
    engine.fail_next["getDeviceCount"] = 3
    with pytest.raises(DeviceError, match="forked from one that had used the GPU"):
        cuda_health.check_driver(fake_cuda.make_cupy(engine))


def test_without_nvrtc_the_driver_is_compared_with_cupy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> tuple[int, int]:
        raise CompileError("NVRTC is not installed")

    monkeypatch.setattr(builder, "nvrtc_version", missing)
    cuda_health.check_driver(fake_cuda.make_cupy(Engine()))


@pytest.mark.parametrize(
    "error", [ImportError("No module named 'cupy'"), RuntimeError("broken"), OSError("x")]
)
def test_without_cupy_auto_is_the_cpu(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    original = builtins.__import__

    def importing(name: str, *rest: Any, **named: Any) -> Any:
        if name == "cupy":
            raise error
        return original(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", importing)
    assert get_device("auto").kind == "cpu"
    if isinstance(error, ImportError):
        with pytest.raises(DeviceError, match="the cuda device needs CuPy"):
            get_device("cuda")


def test_gpus_that_are_not_there_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match=r"there is no GPU 3; this machine has 1 \(0 to 0\)"):
        open_fake(monkeypatch, ordinal=3)
    cupy = fake_cuda.make_cupy(Engine())
    cupy.cuda.runtime.getDeviceProperties = lambda ordinal: {
        "major": 7, "minor": 5, "name": "Old", "multiProcessorCount": 4,
    }  # fmt: skip
    monkeypatch.setattr(cuda, "import_cupy", lambda: cupy)
    with pytest.raises(DeviceError, match=r"compute capability 7\.5 \(limit: 8\.0 or newer"):
        cuda.CudaDevice()


def test_modules_that_do_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cubin that the driver refuses is compiled once more; then the error says so."""
    device, _ = open_fake(monkeypatch)
    bad = fake_cuda.built_modules([("bn254", "fr")], b"broken")
    monkeypatch.setattr(builder, "build_all", lambda *args, **named: bad)
    monkeypatch.setattr(builder, "rebuild", lambda built: bad[0])
    with pytest.raises(CompileError, match="the driver refuses the module bn254_fr for sm_90"):
        device.load("bn254")
    good = fake_cuda.built_modules([("bn254", "fr")])
    monkeypatch.setattr(builder, "rebuild", lambda built: good[0])
    device.load("bn254")


def test_modules_that_lack_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch)
    engine.fail_next["getFunction fr_mul_bn254_fr"] = 500
    with pytest.raises(CompileError, match="module bn254_fr has no kernel fr_mul_bn254_fr"):
        device.load("bn254")
    device.load("bn254")
    most = device.kernels["fr_mul_bn254_fr"].max_threads - 1
    device, _ = open_fake(monkeypatch)
    device._cupy.cuda.driver.funcGetAttribute = lambda attribute, function: most
    with pytest.raises(CompileError, match="was compiled for blocks of"):
        device.load("bn254")


def test_kernels_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch)
    with pytest.raises(InternalError, match="has no kernel 'nothing'"):
        device.launch("nothing", grid=1, block=1)
