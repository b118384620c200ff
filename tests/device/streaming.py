"""Keys that do not fit the device: a streamed proof beside a resident one: same bytes, times, bytes copied meanwhile.

python -m tests.device.streaming --log 24 --limit 4GiB [--repeats 5] [--in-memory] [--device cuda] [--json RESULT.json]
python -m tests.device.streaming --log 26 --limit 14GiB --in-memory

The circuit has the shape of a PoRep partition. Its key is written to a file and mapped from there, unless --in-memory
says not to (or the disk is too small). The limit is what all arrays of the streaming device may take together; the
resident proof comes from a second device without one. Self-check on; blinding fixed, so that bytes can be compared.
Which share of the copies ran while kernels did comes from one more proof, with events around every launch.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cuzk.device import get_device
from cuzk.device.copies import CopySpan
from cuzk.errors import SecurityWarning
from cuzk.formats.cuzk_key import load_cuzk_key, save_cuzk_key
from cuzk.groth16 import Blinding, Prover, ToxicWaste
from cuzk.groth16.setup import setup
from cuzk.keys import ProvingKey
from cuzk.proof import Proof
from cuzk.telemetry import Event, Recorder
from cuzk.witness import Witness
from tests.device import gpu
from tests.device.results import Results, tree_digest
from tests.workloads.porep_shape import porep_shape

#: Most that a streamed proof may take, in resident ones.
TARGET_RATIO = 2.0
_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_PARTS = ("a_query", "b_g1_query", "b_g2_query", "h_query", "l_query")


def parse_bytes(text: str) -> int:
    """A number of bytes such as 4GiB, 512MiB or 1000000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB|)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes such as 4GiB")
    return int(float(found[1]) * _UNITS[found[2]])


def fixed_blinding(key: ProvingKey) -> Blinding:
    """The same blinding for every proof, without the warning that users get."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)
        return Blinding.insecure(key.curve, 7, 11)


def mapped(key: ProvingKey, folder: Path) -> ProvingKey | None:
    """The same key, mapped from a file in a folder; None where the disk has no room for it."""
    size = sum(int(getattr(key, part).nbytes) for part in _PARTS)
    if shutil.disk_usage(folder).free < size + size // 4:
        return None
    path = folder / "streamed.cuzk-key"
    save_cuzk_key(path, key)
    return load_cuzk_key(path, verify="none")


def prove_repeatedly(
    key: ProvingKey, device: Any, plain: Witness, repeats: int
) -> tuple[Proof, dict[str, Any]]:
    """Load the key, prove once to warm up, then measure; the witness is page-locked by the device that proves."""
    values = device.pinned(plain.values.shape)
    values[...] = plain.values
    witness = Witness(plain.curve, values)
    recorder = Recorder()
    start = time.perf_counter()
    prover = Prover(key, device, recorder=recorder)
    row: dict[str, Any] = {"key_load_s": time.perf_counter() - start}
    proof = prover.prove(witness, blinding=fixed_blinding(key))
    device.reset_memory_peak()
    device.take_copies()
    seen = len(recorder.events)
    for _ in range(repeats):
        if prover.prove(witness, blinding=fixed_blinding(key)) != proof:
            raise AssertionError("two proofs of one witness with one blinding differ")
    events = recorder.events[seen:]
    row |= gpu.spread([event.duration_ns / 1e6 for event in events if event.phase == "prove"])
    row |= {"phases_ms": medians(events), "device_bytes": device.memory().peak} | streaming_of(
        recorder.events, events
    )
    row |= copies_of(device, repeats)
    kernels = kernel_intervals(device, lambda: prover.prove(witness, blinding=fixed_blinding(key)))
    row["copies_beside_kernels"] = share_beside(device.take_copies(), kernels)
    return proof, row


def kernel_intervals(device: Any, run: Callable[[], object]) -> list[tuple[float, float]]:
    """When each launch of a run was at work: milliseconds on the clock of the copies' spans. Order: of launches."""
    marks = []
    launch = device._run

    def noted(*arguments: Any) -> None:
        begin = device.mark()
        launch(*arguments)
        marks.append((begin, device.mark()))

    device._run = noted
    try:
        run()
    finally:
        del device._run  # the class's own again
    return [(device.time_of(begin), device.time_of(end)) for begin, end in marks]


def share_beside(copies: Iterable[CopySpan], kernels: Sequence[tuple[float, float]]) -> float | None:
    """The share of the copies' time during which kernels ran; None without copies.

    Args:
        copies: In any order.
        kernels: First and last moment of each launch, one after the other.
    """
    begins, ends = np.array(kernels, np.float64).reshape(-1, 2).T
    beside = total = 0.0
    for span in copies:
        common = np.minimum(ends, span.end_ms) - np.maximum(begins, span.begin_ms)
        beside += float(np.maximum(common, 0.0).sum())
        total += span.end_ms - span.begin_ms
    return beside / total if total else None


def medians(events: list[Event]) -> dict[str, float]:
    """Phase -> median milliseconds."""
    times: dict[str, list[float]] = {}
    for event in events:
        times.setdefault(event.phase, []).append(event.duration_ns / 1e6)
    return {phase: statistics.median(took) for phase, took in times.items()}


def streaming_of(whole: list[Event], events: list[Event]) -> dict[str, Any]:
    """What the events say of streamed queries: which, in how many chunks, and bytes up for each proof."""
    load = next(event for event in whole if event.phase == "key_load")
    chunks = {
        event.phase: f"{event.tags['streamed']} in {event.tags['chunks']}"
        for event in events
        if "chunks" in event.tags
    }
    up = [event.bytes_up for event in events if event.phase == "prove"]
    return {"streamed": load.tags["streamed"], "chunks": chunks, "bytes_up": statistics.median(up)}


def copies_of(device: Any, repeats: int) -> dict[str, float]:
    """Copies beside the kernels, for each proof: bytes, milliseconds on the bus, and their rate."""
    spans = device.take_copies()
    nbytes = sum(span.nbytes for span in spans) / repeats
    busy_ms = sum(span.end_ms - span.begin_ms for span in spans) / repeats
    rate = nbytes / busy_ms / 1e6 if busy_ms else 0.0
    return {"staged_bytes": nbytes, "copies": len(spans) / repeats, "copy_ms": busy_ms, "copy_gb_s": rate}


def compare(resident: dict[str, Any], streamed: dict[str, Any]) -> dict[str, float | None]:
    """The ratio of the times, and how much longer a proof takes for each millisecond of copying.

    The latter counts everything that streaming costs: smaller workspaces and multiplications in pieces, too.
    """
    more = streamed["median_ms"] - resident["median_ms"]
    return {
        "ratio": streamed["median_ms"] / resident["median_ms"],
        "extra_ms_per_copy_ms": more / streamed["copy_ms"] if streamed["copy_ms"] else None,
    }


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Set up, prove on both devices, compare."""
    device = get_device(options.device)
    device.load("bls12_381")
    row: dict[str, Any] = {"log_domain": options.log, "limit": options.limit, "device": device.name}
    start = time.perf_counter()
    circuit, plain = porep_shape(options.log)
    row["workload_s"] = time.perf_counter() - start
    start = time.perf_counter()
    key = setup(circuit, device, toxic_waste=ToxicWaste.from_seed(circuit.curve, 1))
    row["setup_s"] = time.perf_counter() - start
    del circuit
    row["key_bytes"] = sum(int(getattr(key, part).nbytes) for part in _PARTS)
    start = time.perf_counter()
    from_file = None if options.in_memory else mapped(key, folder)
    key, row["mapped"] = from_file or key, from_file is not None
    row["key_file_s"] = time.perf_counter() - start
    say(
        f"workload {row['workload_s']:.1f} s, setup {row['setup_s']:.1f} s, key file {row['key_file_s']:.1f} s"
    )
    proof, row["resident"] = prove_repeatedly(key, device, plain, options.repeats)
    say(f"resident {row['resident']['median_ms']:.1f} ms")
    limited = get_device(options.device, memory_limit=options.limit)
    again, row["limited"] = prove_repeatedly(key, limited, plain, options.repeats)
    row |= compare(row["resident"], row["limited"])
    row["same_bytes"] = again == proof
    row["within_limit"] = row["limited"]["device_bytes"] <= options.limit
    row["pass"] = bool(
        row["same_bytes"]
        and row["within_limit"]
        and row["limited"]["streamed"]
        and row["ratio"] <= TARGET_RATIO
    )
    return row


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


def show(row: dict[str, Any]) -> None:
    """Print a result."""
    limited = row["limited"]
    place = "mapped from its file" if row["mapped"] else "in memory"
    say(
        f"2^{row['log_domain']}: key {row['key_bytes'] / 2**30:.2f} GiB ({place}), "
        f"limit {row['limit'] / 2**30:.2f} GiB, peak {limited['device_bytes'] / 2**30:.2f} GiB"
    )
    for name in ("resident", "limited"):
        one = row[name]
        say(
            f"   {name:9} {one['median_ms']:9.1f} ms ({one['min_ms']:.1f} to {one['max_ms']:.1f}), key load "
            f"{one['key_load_s']:.2f} s, streamed: {one['streamed'] or 'nothing'} {one['chunks'] or ''}"
        )
    if limited["copies"]:
        say(
            f"   copies for a proof: {limited['copies']:.0f}, {limited['staged_bytes'] / 2**30:.2f} GiB in "
            f"{limited['copy_ms']:.1f} ms ({limited['copy_gb_s']:.1f} GB/s); kernels ran during "
            f"{limited['copies_beside_kernels']:.0%} of that time; a proof takes "
            f"{row['extra_ms_per_copy_ms']:.2f} ms longer for each ms of copying"
        )
    say(
        f"   {row['ratio']:.2f} times the resident time (at most {TARGET_RATIO}), bytes "
        f"{'equal' if row['same_bytes'] else 'DIFFER'}: {'pass' if row['pass'] else 'FAIL'}"
    )
    for phase, took in limited["phases_ms"].items():
        say(f"   {phase:16} {took:9.2f} ms, resident {row['resident']['phases_ms'].get(phase, 0.0):9.2f} ms")


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=int, default=24, help="log2 of the domain")
    parser.add_argument("--limit", type=parse_bytes, default=4 << 30, help="memory of the streaming device")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--in-memory", action="store_true", help="do not write the key to a file")
    parser.add_argument("--folder", type=Path, help="where the key file goes; a temporary folder by default")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    reason = gpu.why_none() if options.device.startswith("cuda") else ""
    if reason:
        say(f"streaming skipped: {reason}")
        return 0
    results = Results(options.json, {"tree": tree_digest(), "cores": os.cpu_count()})
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        row = run(options, Path(folder))
    results.add(row)
    results.finish()
    show(row)
    return int(not row["pass"])


if __name__ == "__main__":
    raise SystemExit(main())
