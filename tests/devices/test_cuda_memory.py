"""What backs the arena of a GPU, on a fake driver.

Would catch: memory mapped twice or beyond its range, memory that a closed device keeps, a limit that the GPU can't
back and nobody says so, a proof that allocates from the driver.
"""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest

from cuzk.device import cuda_memory
from cuzk.device.cuda_memory import MappedRange, SeparatePieces, WholeRange
from cuzk.device.cuda_pages import HostMemory, LockedRanges
from cuzk.errors import DeviceError, OutOfMemoryError
from tests.devices import fake_cuda
from tests.devices.fake_engine import Driver, Engine
from tests.devices.support import open_fake

MIB = 1 << 20


def test_layout_of_the_drivers_structs() -> None:
    """As cuda.h declares them for 64-bit systems."""
    properties, access = cuda_memory._AllocationProperties, cuda_memory._Access
    assert ctypes.sizeof(properties) == 32
    assert (properties.location.offset, properties.win32.offset, properties.flags.offset) == (8, 16, 24)
    assert ctypes.sizeof(access) == 12
    assert access.flags.offset == 8


def test_memory_is_mapped_in_steps_from_the_start() -> None:
    engine, drained = Engine(memory=100 * MIB), list[int]()
    driver = Driver(engine)
    memory = MappedRange(driver, 0, 50 * MIB, lambda: drained.append(1), step=16 * MIB)
    assert engine.taken == 0
    assert memory.grow(1) == 16 * MIB
    assert memory.grow(16 * MIB) == 16 * MIB
    assert memory.grow(16 * MIB + 1) == 32 * MIB
    assert memory.grow(40 * MIB) == 48 * MIB
    assert memory.grow(50 * MIB) == 50 * MIB  # the last step ends where the range does
    assert driver.mapped == driver.usable
    assert sorted(driver.mapped.values()) == [2 * MIB, 16 * MIB, 16 * MIB, 16 * MIB]
    assert min(driver.mapped) == memory.base
    assert not driver.handles  # mappings keep the memory; handles that nobody needs are released
    del memory
    gc.collect()
    assert (engine.taken, driver.mapped, driver.ranges, drained) == (0, {}, {}, [1])


def test_where_a_step_does_not_fit_what_is_needed_does() -> None:
    engine = Engine(memory=20 * MIB)
    memory = MappedRange(Driver(engine), 0, 50 * MIB, lambda: None, step=16 * MIB)
    assert memory.grow(16 * MIB) == 16 * MIB
    assert memory.grow(19 * MIB) == 19 * MIB
    assert memory.grow(30 * MIB) is None
    assert memory.grow(20 * MIB) == 20 * MIB


def test_a_driver_that_fails_is_named() -> None:
    driver = Driver(Engine())
    memory = MappedRange(driver, 0, 50 * MIB, lambda: None)
    driver.cuMemMap = lambda *args: 1  # type: ignore[method-assign]
    with pytest.raises(DeviceError, match="cuMemMap failed with driver status 1"):
        memory.grow(1)
    assert not driver.handles


def test_without_a_driver_there_is_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(DeviceError, match=r"libcuda\.so\.1 does not load.*cannot open"):
        cuda_memory.load_driver()


def test_a_gpu_without_virtual_memory_is_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(
        monkeypatch, Engine(memory=32 * MIB), virtual_memory=False, memory_limit=8 * MIB
    )
    assert isinstance(device._backing, WholeRange)
    assert engine.taken == 8 * MIB
    x = np.arange(1000, dtype=np.uint64)
    assert np.array_equal(device.download(device.upload(x)), x)
    assert engine.calls.count("malloc") == 1


def test_separate_allocations(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch, Engine(memory=32 * MIB), separate_allocations=True)
    assert isinstance(device._backing, SeparatePieces)
    before = engine.taken
    arrays = [device.upload(np.full(1000, i, np.uint64)) for i in range(3)]
    assert engine.taken == before + 3 * 8192
    assert [int(device.download(array)[-1]) for array in arrays] == [0, 1, 2]
    del arrays
    gc.collect()
    assert engine.taken == before
    with pytest.raises(OutOfMemoryError):
        device.alloc((32 * MIB,))


def test_a_limit_larger_than_the_gpu_is_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    device, _ = open_fake(monkeypatch, Engine(memory=32 * MIB), memory_limit=64 * MIB)
    assert device.limits.memory_bytes == 32 * MIB
    device, _ = open_fake(monkeypatch, Engine(memory=32 * MIB), memory_limit=4 * MIB)
    assert device.limits.memory_bytes == 4 * MIB
    with device.label("key"), pytest.raises(OutOfMemoryError, match=r"key needs an array of 4\.00 MiB"):
        device.alloc((MIB // 2,))  # the fault word takes a little


def test_a_copy_that_has_ended_holds_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its target was let go meanwhile: the next array may take that place, though nobody has asked for the copy."""
    device, _ = open_fake(monkeypatch, Engine(memory=32 * MIB), memory_limit=4 * MIB)
    for source in (np.ones((3 * MIB) // 8, np.uint64), device.pinned(((3 * MIB) // 8,))):
        target = device.alloc(source.shape)
        device.wait(device.stage(source, target))
        del target
        other = device.alloc(source.shape, zero=True)
        assert not device.download(other).any()
        del other


def test_a_gpu_that_somebody_else_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch, Engine(memory=600 * MIB))
    engine.taken += 300 * MIB
    with pytest.raises(OutOfMemoryError, match="other programs hold the rest"):
        device.alloc((400 * MIB // 8,))
    engine.taken -= 300 * MIB
    device.alloc((400 * MIB // 8,))


def test_a_closed_device_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    device, engine = open_fake(monkeypatch, Engine(memory=512 * MIB))
    array = device.alloc((1000,))
    device.wait(device.stage(np.zeros(1000, np.uint64), array))  # the copier's thread runs
    device.synchronize()
    assert engine.taken > 0
    del device
    gc.collect()
    assert engine.taken > 0  # an array keeps the range
    del array
    gc.collect()
    assert engine.taken == 0


def test_the_ring_may_be_made_while_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The copier's thread needs the ring while the caller, in synchronize, waits for the copier."""
    device, _ = open_fake(monkeypatch)
    array = device.alloc((100_000,))
    for _ in range(20):
        device._host_memory._slots = None
        device.stage(np.zeros(100_000, np.uint64), array)
        device.synchronize()


def test_pages_that_were_given_back_are_not_locked() -> None:
    """The pool gives pages back when there are no more; another array may lie there next."""
    memory = HostMemory(fake_cuda.make_cupy(Engine()).cuda, ())
    pages = memory._allocate(4096)
    array = np.frombuffer(pages.bytes, np.uint8)
    assert memory.is_locked(array[10:])
    assert not memory.is_locked(np.zeros(10))
    del pages
    gc.collect()
    assert not memory.is_locked(array[10:])


def test_ranges_of_locked_pages() -> None:
    ranges = LockedRanges()
    for start, nbytes in ((1000, 100), (100, 50), (150, 50)):
        ranges.add(start, nbytes)
    assert ranges.covers(1000, 100)
    assert ranges.covers(1099, 1)
    assert not ranges.covers(1099, 2)
    assert not ranges.covers(999, 2)
    assert not ranges.covers(
        140, 20
    )  # two ranges that touch were locked apart, and one copy may not span them
    ranges.remove(1000)
    ranges.remove(1000)
    assert not ranges.covers(1000, 1)
    assert ranges.covers(150, 50)
