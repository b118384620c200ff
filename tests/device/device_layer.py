"""What the cuda device promises, beside its kernels: memory, copies, launches, errors.  On a real GPU, in two minutes.

python -m tests.device.device_layer [--curve toy] [--mib 256] [--json RESULT.json]

Prints a JSON object: one entry per check, with its figures and "ok".  Exit code 1 if any is not.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.device import get_device
from cuzk.errors import CuzkError, DeviceError, LaunchError, OutOfMemoryError
from cuzk.groth16 import Prover
from cuzk.ops.fr_vec import fr_mul, to_mont
from tests.device import gpu
from tests.device.device_speed import CURVE, ROW, Row, launches, overlap, rates
from tests.device.results import Results, tree_digest
from tests.prover import support


def growth(device: Any, mib: int, curve: str = "toy") -> Row:
    """50 small proofs in a row: same bytes, and after the first ones no memory is reserved, mapped or page-locked."""
    del mib
    load = support.workload("random", curve, 300)
    prover = Prover(support.key(load), device)

    def prove() -> str:
        return repr(prover.prove(load.witness, blinding=support.blinding(load.curve)).to_ints())

    proofs = {prove() for _ in range(3)}
    device.synchronize()
    before = device.memory()
    device.reset_memory_peak()
    start = time.perf_counter()
    proofs |= {prove() for _ in range(50)}
    took = (time.perf_counter() - start) / 50
    gc.collect()
    after = device.memory()
    row: Row = {
        "proof_ms": took * 1e3, "different_proofs": len(proofs), "grown": after.growths - before.growths,
        "reserved_bytes": after.reserved, "reserved_more": after.reserved - before.reserved,
        "held_more": after.used - before.used, "peak_bytes": after.peak,
        "pages_locked": after.page_locks - before.page_locks,
    }  # fmt: skip
    same = support.device("cpu")
    row["as_on_cpu"] = proofs == {
        repr(
            Prover(support.key(load), same)
            .prove(load.witness, blinding=support.blinding(load.curve))
            .to_ints()
        )
    }
    row["ok"] = row["as_on_cpu"] and not any(
        row[name] for name in ("grown", "reserved_more", "held_more", "pages_locked")
    )
    return row


def out_of_memory(device: Any, mib: int) -> Row:
    """A limit holds, its error says who needed what, and afterwards the device works as before."""
    del device, mib
    small = get_device("cuda", memory_limit=64 << 20)
    held = small.alloc((1 << 20,), np.uint64)
    message, start = "", time.perf_counter()
    with small.label("msm_h"):
        try:
            small.alloc((1 << 25,), np.uint64)
        except OutOfMemoryError as error:
            message = str(error)
    took = time.perf_counter() - start
    fits = small.alloc((1 << 22,), np.uint64, zero=True)
    report = small.memory()
    wanted = ("msm_h needs", "256.00 MiB", "64.00 MiB", "8.00 MiB are held", "largest array that fits")
    row: Row = {"message": message, "decided_s": took, "limit": report.limit, "reserved": report.reserved}
    row["ok"] = (
        all(part in message for part in wanted)
        and took < 1
        and not small.download(fits).any()
        and report.reserved <= report.limit + (2 << 20)
        and small.limits.memory_bytes == 64 << 20
    )
    del held
    return row


def closing(device: Any, mib: int) -> Row:
    """A device that is gone has given its memory back, and one with separate allocations computes the same."""
    runtime = device._cupy.cuda.runtime
    other = get_device("cuda", separate_allocations=True)
    x = np.full((64, ROW), 3, np.uint64)
    y = device.upload(x)
    same = np.array_equal(device.download(fr_mul(device, CURVE, y, y)), _square(other, x))
    del other
    gc.collect()
    before = runtime.memGetInfo()[0]
    other = get_device("cuda")
    z = other.alloc((mib << 17,), np.uint64, zero=True)
    other.synchronize()
    during = runtime.memGetInfo()[0]
    del other, z
    gc.collect()
    after = runtime.memGetInfo()[0]
    return {
        "taken": before - during, "kept": before - after, "same_bytes": same,
        "ok": bool(same and before - during >= mib << 20 and before - after < 16 << 20),
    }  # fmt: skip


def _square(device: Any, x: np.ndarray[Any, Any]) -> Any:
    y = device.upload(x)
    return device.download(fr_mul(device, CURVE, y, y))


def threads(device: Any, mib: int) -> Row:
    """Two threads on one device, and one that never used CUDA before: each gets its own results."""
    del mib
    wrong: list[str] = []

    def work(seed: int) -> None:
        try:
            x = np.full((4096, ROW), seed, np.uint64)
            want = _square(support.device("cpu"), x)
            for _ in range(100):
                if not np.array_equal(_square(device, x), want):
                    wrong.append(f"bytes of thread {seed}")
        except CuzkError as error:
            wrong.append(str(error))

    workers = [threading.Thread(target=work, args=(i + 1,)) for i in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {"wrong": wrong, "ok": not wrong}


def faults(device: Any, mib: int) -> Row:
    """A fault word is raised once and cleared; a failed page lock does no harm; fork is refused."""
    del mib
    bad = device.upload(np.full((8, ROW), 2**64 - 1, np.uint64))
    seen = []
    to_mont(device, CURVE, bad)
    for _ in range(2):
        try:
            device.synchronize()
            seen.append("none")
        except DeviceError as error:
            seen.append(str(error))
    nowhere = np.frombuffer(
        mmap.mmap(-1, 1 << 16, prot=0), np.uint8
    )  # pages that nobody may read can't be locked
    with device.lock_pages(nowhere) as locked:
        locks = [locked]
    x = np.full((8, ROW), 2, np.uint64)
    works = np.array_equal(_square(device, x), _square(support.device("cpu"), x))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            device.alloc((8,))
            os.write(write, b"no error")
        except BaseException as error:  # noqa: BLE001 - the child may do nothing but tell
            os.write(write, str(error).encode())
        os._exit(0)
    os.waitpid(child, 0)
    forked = os.read(read, 4096).decode()
    ok = locks == [False] and "fault 1" in seen[0] and seen[1] == "none" and works and "before fork" in forked
    return {"first": seen[0], "second": seen[1], "locks": locks, "after_fork": forked, "ok": ok}


def lost_context(device: Any, mib: int) -> Row:
    """A kernel that reads outside all memory, in a process of its own: the same named error from then on."""
    del device, mib
    done = subprocess.run(
        [sys.executable, "-m", "tests.device.device_layer", "--lose-context"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    row: Row = (
        json.loads(lines[-1])
        if done.returncode == 0 and lines
        else {"ok": False, "stderr": done.stderr[-2000:]}
    )
    return row


def lose_context() -> Row:
    """The process of lost_context."""
    device: Any = get_device("cuda")
    x = device.upload(np.ones((32, ROW), np.uint64))
    messages = []

    def attempt(run: Callable[[], Any]) -> None:
        try:
            run()
            messages.append("no error")
        except DeviceError as error:
            messages.append(f"{type(error).__name__}: {error}")

    name = f"fr_mul_{CURVE.name}_fr"
    device.launch(name, grid=512, block=128, a=x, b=x, out=x, n=1 << 36)
    attempt(device.synchronize)
    attempt(lambda: device.download(x))
    attempt(lambda: device.alloc((8,)))
    attempt(lambda: device.launch(name, grid=1, block=32, a=x, b=x, out=x, n=32))
    attempt(lambda: get_device("cuda"))
    lost = LaunchError.__name__
    ok = (
        messages[0].startswith(lost)
        and name in messages[0]
        and len(set(messages[:4])) == 1
        and "start a new process" in messages[4]
    )
    return {"messages": messages, "ok": ok}


def start_up(device: Any, mib: int) -> Row:
    """Opening a device and loading kernels that are compiled already."""
    del device, mib
    start = time.perf_counter()
    again: Any = get_device("cuda")
    opened = time.perf_counter() - start
    compiled: list[str] = []
    again._modules._progress = lambda name, done, total: compiled.append(name)
    again.load(CURVE.name)
    return {
        "open_s": opened, "load_s": time.perf_counter() - start - opened, "compiled": compiled,
        "ok": not compiled and time.perf_counter() - start < 3,
    }  # fmt: skip


def limits(device: Any, mib: int) -> Row:
    """Arrays of more than 2^32 words, shared memory up to the limit, and the current GPU left as it was."""
    del mib
    row: Row = {}
    runtime = device._cupy.cuda.runtime
    edge = np.array([[3, 0, 0, 0], [5, 0, 0, 0]], np.uint64)
    want = _square(support.device("cpu"), edge)
    n = (1 << 29) + 2
    if device.memory().largest_free >= n * 8 * ROW:
        x = device.alloc((n, ROW), zero=True)
        for part in (x[:2], x[n - 2 :]):
            device.wait(device.stage(edge, part))
        fr_mul(device, CURVE, x, x, out=x)
        row["large"] = [bool(np.array_equal(device.download(part), want)) for part in (x[:2], x[n - 2 :])]
        del x
    y, shared = device.upload(edge), device.limits.shared_bytes
    name = f"fr_mul_{CURVE.name}_fr"
    device.launch(name, grid=1, block=32, shared_bytes=shared, a=y, b=y, out=y, n=2)
    row["shared"] = bool(np.array_equal(device.download(y), want))
    try:
        device.launch(name, grid=1, block=32, shared_bytes=shared + 1, a=y, b=y, out=y, n=2)
        row["too_much_shared"] = "no error"
    except CuzkError as error:
        row["too_much_shared"] = str(error)
    gpus = runtime.getDeviceCount()
    if gpus > 1:
        runtime.setDevice(1)
    row["square"] = bool(np.array_equal(_square(device, edge), want))
    row["current"] = runtime.getDevice() == (1 if gpus > 1 else 0)
    runtime.setDevice(0)
    row["ok"] = all([*row.get("large", []), row["shared"], row["square"], row["current"]]) and (
        "shared memory" in row["too_much_shared"]
    )
    return row


CHECKS: dict[str, Callable[..., Row]] = {
    "launches": launches,
    "rates": rates,
    "overlap": overlap,
    "growth": growth,
    "out_of_memory": out_of_memory,
    "closing": closing,
    "threads": threads,
    "faults": faults,
    "limits": limits,
    "start_up": start_up,
    "lost_context": lost_context,
}


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--curve", default="toy", help="of the 50 proofs")
    parser.add_argument("--mib", type=int, default=256, help="size of a chunk")
    parser.add_argument("--only", default="", help="checks whose name contains this")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--lose-context", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lose_context:
        print(json.dumps(lose_context()))
        return 0
    if reason := gpu.why_none():
        print(f"skipped: {reason}")
        return 0
    device: Any = get_device("cuda")
    device.load(CURVE.name)
    results = Results(options.json, {"device": device.name, "tree": tree_digest()})
    checks: Row = {}
    for name, check in CHECKS.items():
        if options.only not in name:
            continue
        start = time.perf_counter()
        extra = {"curve": options.curve} if name == "growth" else {}
        try:
            row = check(device, options.mib, **extra)
        except Exception as error:  # noqa: BLE001 - the other checks are wanted even so
            row = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        checks[name] = row | {"seconds": round(time.perf_counter() - start, 2)}
        results.add({"check": name, **checks[name]})
    failed = [name for name, row in checks.items() if not row["ok"]]
    print(json.dumps({"device": device.name, "checks": checks, "failed": failed}, indent=1))
    results.finish()
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
