"""Placement and account of the arena.

Would catch: blocks that overlap, room that is lost when blocks are returned, a limit that does not hold, an account
that says something else than what is held, an error that does not say who needed what.
"""

from __future__ import annotations

import gc
import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cuzk.device import get_device
from cuzk.device.arena import ALIGNMENT, Arena, Block, format_bytes
from cuzk.errors import DeviceError, OutOfMemoryError

CAPACITY = 64 * ALIGNMENT


@given(st.lists(st.one_of(st.integers(0, 20 * ALIGNMENT), st.integers(-8, -1)), max_size=120))
def test_blocks_never_overlap_and_nothing_is_lost(steps: list[int]) -> None:
    """Sizes are requests, negative numbers return one of the held blocks; a model keeps the taken units."""
    arena, held, taken = Arena("test", CAPACITY), list[Block](), set[int]()
    for step in steps:
        if step < 0:
            if held:
                block = held.pop(step % len(held))
                taken -= set(range(block.start // ALIGNMENT, (block.start + block.size) // ALIGNMENT))
                arena.give_back(block)
            continue
        units = -(-step // ALIGNMENT)
        free = sorted(set(range(64)) - taken)
        runs = [sum(1 for _ in _run(free, first)) for first in free]
        if units > max(runs, default=0):
            with pytest.raises(OutOfMemoryError):
                arena.take(step)
            continue
        block = arena.take(step)
        own = set(range(block.start // ALIGNMENT, (block.start + block.size) // ALIGNMENT))
        assert len(own) == units
        assert not own & taken
        assert own <= set(range(64))
        taken |= own
        held.append(block)
        assert arena.report().used == len(taken) * ALIGNMENT
    for block in held:
        arena.give_back(block)
    report = arena.report()
    assert (report.used, report.largest_free) == (0, CAPACITY)
    assert report.held == {}


def _run(free: list[int], first: int) -> list[int]:
    """Consecutive free units from one on."""
    units = set(free)
    run = []
    while first in units:
        run.append(first)
        first += 1
    return run


def test_the_smallest_hole_that_fits_is_taken() -> None:
    arena = Arena("test", CAPACITY)
    blocks = [arena.take(n * ALIGNMENT) for n in (4, 1, 2, 1, 3, 1)]
    for i in (0, 2, 4):
        arena.give_back(blocks[i])
    assert arena.take(2 * ALIGNMENT).start == blocks[2].start
    assert arena.take(3 * ALIGNMENT - 1).start == blocks[4].start
    assert arena.take(1).start == blocks[0].start
    arena = Arena("test", CAPACITY)
    blocks = [arena.take(ALIGNMENT) for _ in range(6)]
    for i in (4, 0, 2):  # equal holes: the lowest address, in whatever order they were made
        arena.give_back(blocks[i])
    assert [arena.take(ALIGNMENT).start for _ in range(3)] == [blocks[i].start for i in (0, 2, 4)]


def test_growth_is_asked_for_once_and_kept() -> None:
    asked: list[int] = []

    def grow(size: int) -> int | None:
        asked.append(size)
        return min(-(-size // 4096) * 4096, CAPACITY)

    arena = Arena("test", CAPACITY, grow=grow)
    for _ in range(3):
        block = arena.take(3000)
        arena.give_back(block)
    assert asked == [3072]
    held = [arena.take(3000), arena.take(3000)]
    assert asked == [3072, 6144]
    report = arena.report()
    assert (report.reserved, report.growths, report.allocations) == (8192, 2, 5)
    held.append(arena.take(8192 - 6144))  # ends where what is backed ends
    assert len(asked) == 2


def test_a_gpu_that_has_no_more_is_named_as_the_reason() -> None:
    arena = Arena("test", CAPACITY, grow=lambda size: size if size <= 4096 else None)
    first = arena.take(4096)
    with pytest.raises(OutOfMemoryError, match="other programs hold the rest of this GPU"):
        arena.take(512)
    arena.give_back(first)
    assert arena.take(4096).start == 0  # the failed request left no trace


def test_the_error_says_who_needed_what_and_what_would_fit() -> None:
    arena = Arena("cuda:7", 100 << 20, remedy="buy a larger one")
    with arena.labelled("key"):
        key = arena.take(60 << 20)
    with arena.labelled("ntt_h"):
        arena.take(10 << 20)
        with arena.labelled("msm_h"), pytest.raises(OutOfMemoryError) as caught:
            arena.take(50 << 20)
    text = str(caught.value)
    assert text == (
        "cuda:7: msm_h needs an array of 50.00 MiB, which does not fit: 70.00 MiB are held (key 60.00 MiB, ntt_h "
        "10.00 MiB), and the largest array that fits is 30.00 MiB (limit: 100.00 MiB). To fix: buy a larger one"
    )
    arena.give_back(key)
    assert arena.take(50 << 20).start == 0


def test_high_water_by_label() -> None:
    arena = Arena("test", CAPACITY)
    with arena.labelled("a"):
        first = arena.take(10 * ALIGNMENT)
    with arena.labelled("b"):
        arena.give_back(arena.take(5 * ALIGNMENT))
        arena.take(2 * ALIGNMENT)
    report = arena.report()
    assert report.high_water == {"a": 10 * ALIGNMENT, "b": 15 * ALIGNMENT}
    assert report.held == {"a": 10 * ALIGNMENT, "b": 2 * ALIGNMENT}
    assert report.peak == 15 * ALIGNMENT
    arena.give_back(first)
    arena.reset_peak()
    assert (arena.report().peak, arena.report().high_water) == (2 * ALIGNMENT, {})


def test_labels_belong_to_a_thread_and_end_with_an_error() -> None:
    arena = Arena("test", CAPACITY)
    seen: list[str] = []
    with arena.labelled("outer"):
        thread = threading.Thread(target=lambda: seen.append(arena.label))
        thread.start()
        thread.join()
        with pytest.raises(ZeroDivisionError), arena.labelled("inner"):
            raise ZeroDivisionError
        seen.append(arena.label)
    assert seen == ["unlabelled", "outer"]


def test_blocks_returned_by_other_threads_and_by_the_collector() -> None:
    """Four threads take and return; a cycle of garbage returns its block whenever it likes."""
    arena, errors = Arena("test", 1 << 24), list[BaseException]()

    class Holder:
        def __init__(self, block: Block) -> None:
            self.block, self.me = block, self

        def __del__(self) -> None:
            arena.give_back(self.block)

    def work(seed: int) -> None:
        source = random.Random(seed)
        try:
            for _ in range(500):
                Holder(arena.take(source.randrange(1 << 14)))
        except BaseException as error:  # noqa: BLE001 - a thread's error is the test's
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert errors == []
    assert arena.report().used == 0
    assert arena.report().largest_free == 1 << 24


@pytest.mark.parametrize("kind", ["cpu", "emu"])
def test_a_limit_holds_on_hosts_too(kind: str) -> None:
    device = get_device(kind, memory_limit=1 << 20)
    assert device.limits.memory_bytes == 1 << 20
    held = device.alloc((1 << 16,))  # 512 KiB
    with device.label("msm_h"), pytest.raises(OutOfMemoryError, match=r"msm_h needs an array of 1\.00 MiB"):
        device.alloc((1 << 17,))
    with pytest.raises(OutOfMemoryError):  # an upload counts as it would on a GPU
        device.upload(device.download(held).repeat(2))
    view = held[10:20]
    del held
    assert device.memory().used == 1 << 19  # a view keeps it
    del view
    assert device.memory().used == 0
    assert device.alloc((1 << 17,)).nbytes == 1 << 20


def test_limits_that_are_none() -> None:
    for limit in (0, -1):
        with pytest.raises(DeviceError, match="at least 1 byte"):
            get_device("cpu", memory_limit=limit)


def test_bytes_in_words() -> None:
    assert [format_bytes(n) for n in (0, 1023, 1024, 3 << 20, 11 << 29)] == [
        "0 bytes",
        "1023 bytes",
        "1.00 KiB",
        "3.00 MiB",
        "5.50 GiB",
    ]
