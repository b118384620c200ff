"""Launches and copies of the cuda device, timed: what device_layer.py has to say of them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.curves import get_curve
from cuzk.device import CopySpan, get_device
from cuzk.ops.fr_vec import fr_mul

CURVE = get_curve("bn254")
ROW = CURVE.fr.limbs
#: Microseconds that a launch may take on the host.
LAUNCH_LIMIT_US = 15.0
#: Share of the shorter of copies and kernels that has to run beside the other. Measured on an H200: 0.80 from
#: page-locked memory, where a chunk waits about a millisecond for Python's threads to take turns; 0.58 to 0.73 from
#: ordinary memory, where the host that launches the kernels also waits until a chunk has left its source.
OVERLAP_LIMITS = {"locked": 0.7, "pageable": 0.4}
#: GB/s that a page-locked copy has to reach; PCIe 5 gives 54, PCIe 4 half of it.
LOCKED_LIMIT_GBS = 10.0
#: Multiplications of a chunk: on an H200 about as long as its copy.
_ROUNDS = 24
Row = dict[str, Any]


def launches(device: Any, mib: int) -> Row:
    """Host time of a launch of 4 arguments, and of its parts."""
    del mib
    x = device.upload(np.ones((32, ROW), np.uint64))
    args = {"a": x, "b": x, "out": x, "n": 32}
    name = f"fr_mul_{CURVE.name}_fr"

    def per_call_us(run: Callable[[], Any], count: int = 2000) -> float:
        best = float("inf")
        for _ in range(5):
            device.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                run()
            best = min(best, (time.perf_counter() - start) / count * 1e6)
        return round(best, 2)

    row: Row = {
        "launch_us": per_call_us(lambda: device.launch(name, grid=1, block=32, **args), 500),
        "arguments_us": per_call_us(lambda: device.launch(name, grid=0, block=32, **args)),
        "alloc_us": per_call_us(lambda: device.alloc((32, ROW))),
        "mark_us": per_call_us(device.mark),
        "small_upload_us": per_call_us(lambda: device.upload(np.ones((8, ROW), np.uint64)), 500),
        "small_download_us": per_call_us(lambda: device.download(x), 200),
        "synchronize_us": per_call_us(device.synchronize, 500),
    }
    return row | {"limit_us": LAUNCH_LIMIT_US, "ok": row["launch_us"] <= LAUNCH_LIMIT_US}


def rates(device: Any, mib: int) -> Row:
    """GB/s of copies from ordinary, page-locked and mapped memory, up and down."""
    n = (mib << 20) // (8 * ROW)
    plain = np.arange(n * ROW, dtype=np.uint64).reshape(n, ROW)
    locked, into = device.pinned(plain.shape), device.alloc(plain.shape)
    locked[...] = plain
    right = True

    def rate(run: Callable[[], Any]) -> float:
        nonlocal right
        run()
        device.synchronize()
        times = []
        for _ in range(3):
            start = time.perf_counter()
            run()
            device.synchronize()
            times.append(time.perf_counter() - start)
        right &= bool(np.array_equal(device.download(into), plain))
        return round(plain.nbytes / min(times) / 1e9, 2)

    row: Row = {
        "stage_pageable": rate(lambda: device.stage(plain, into)),
        "stage_locked": rate(lambda: device.stage(locked, into)),
        "upload_pageable": rate(lambda: device.upload(plain)),
        "upload_locked": rate(lambda: device.upload(locked)),
        "download": rate(lambda: device.download(into)),
    }
    with tempfile.NamedTemporaryFile() as file:
        plain.tofile(file)
        file.flush()
        mapped = np.memmap(file.name, np.uint64, "r", shape=plain.shape)
        row["stage_mapped"] = rate(lambda: device.stage(mapped, into))
        start = time.perf_counter()
        with device.lock_pages(mapped[1:]) as worked:
            row["lock_pages_gbs"] = round(plain.nbytes / (time.perf_counter() - start) / 1e9, 2)
            row["mapped_pages_locked"] = worked
            row["stage_mapped_locked"] = rate(lambda: device.stage(mapped, into))
    return row | {"same_bytes": right, "ok": right and row["stage_locked"] >= LOCKED_LIMIT_GBS}


def overlap(device: Any, mib: int) -> Row:
    """Chunks through two buffers beside kernels that use them: what ran at once, by events; and the result."""
    n, chunks = (mib << 20) // (8 * ROW), 6
    row: Row = {}
    for kind in ("locked", "pageable"):
        sources = []
        for i in range(chunks):
            source = device.pinned((n, ROW)) if kind == "locked" else np.empty((n, ROW), np.uint64)
            source[...] = 0
            source[:, 0] = i + 1
            sources.append(source)
        buffers = [device.alloc((n, ROW)) for _ in range(2)]
        total = device.upload(sources[0])
        device.synchronize()
        device.take_copies()
        busy: list[tuple[float, float]] = []
        marks, free = [], [None, None]
        start = time.perf_counter()
        for i, source in enumerate(sources):
            at = i % 2
            device.wait(device.stage(source, buffers[at], after=free[at]))
            begin = device.mark()
            for _ in range(_ROUNDS):
                fr_mul(device, CURVE, total, buffers[at], out=total)
            free[at] = device.mark()
            marks.append((begin, free[at]))
        issued = time.perf_counter() - start
        device.synchronize()
        took = time.perf_counter() - start
        busy = [(device.time_of(a), device.time_of(b)) for a, b in marks]
        spans = device.take_copies()
        together, copying, computing = _together(spans, busy)
        share = together / max(min(copying, computing), 1e-9)
        # The first copy has nothing to run beside; of the other chunks nearly all should.
        possible = (chunks - 1) / chunks
        row[kind] = {
            "copy_ms": copying, "kernel_ms": computing, "together_ms": together, "wall_ms": took * 1e3,
            "issued_ms": issued * 1e3, "share_of_possible": round(share / possible, 3),
            "copied_bytes": sum(span.nbytes for span in spans), "ok": share / possible >= OVERLAP_LIMITS[kind],
        }  # fmt: skip
        want = expected(chunks, _ROUNDS)
        row[kind]["right"] = all(
            np.array_equal(device.download(part), want) for part in (total[:2], total[n - 2 :])
        )
        del buffers, total, sources
    row["ok"] = all(row[kind]["ok"] and row[kind]["right"] for kind in ("locked", "pageable"))
    return row


def expected(chunks: int, rounds: int) -> Any:
    """Two rows of overlap's result, from the cpu."""
    host = get_device("cpu")
    rows = [np.array([[i + 1, 0, 0, 0]] * 2, np.uint64) for i in range(chunks)]
    total = host.upload(rows[0].copy())
    for row in rows:
        for _ in range(rounds):
            fr_mul(host, CURVE, total, host.upload(row), out=total)
    return host.download(total)


def _together(spans: list[CopySpan], busy: list[tuple[float, float]]) -> tuple[float, float, float]:
    """Milliseconds in which a copy and a kernel ran at once; those of copies; those of kernels."""
    both = sum(
        max(0.0, min(span.end_ms, end) - max(span.begin_ms, begin)) for span in spans for begin, end in busy
    )
    return both, sum(s.end_ms - s.begin_ms for s in spans), sum(end - begin for begin, end in busy)
