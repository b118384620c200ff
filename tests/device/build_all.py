"""Compile every kernel module for this GPU in parallel and say what each took: seconds, registers, spills.

python -m tests.device.build_all [ARCH] [--json RESULT.json]

Modules that are in the cache are not compiled again: the result says how many were.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from cuzk.device import builder
from cuzk.device.static import parse_log
from tests.device import gpu
from tests.device.results import Results, tree_digest

#: Seconds that a first build may take on 16 cores.
LIMIT_S = 90.0


def main() -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "arch", nargs="?", help="compute capability without the dot; this machine's GPU by default"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    arch = options.arch
    if arch is None:
        if reason := gpu.why_none():
            print(f"build skipped: {reason}")
            return 0
        import cupy

        arch = cupy.cuda.Device(0).compute_capability
    start = time.perf_counter()
    compiled: list[str] = []

    def progress(name: str, done: int, total: int) -> None:
        compiled.append(name)
        print(f"{time.perf_counter() - start:6.1f} s  {done}/{total}  {name}", flush=True)

    cores = len(os.sched_getaffinity(0))
    results = Results(options.json, {"arch": arch, "cores": cores, "limit_s": LIMIT_S, "tree": tree_digest()})
    built = builder.build_all(arch, progress=progress)
    took = time.perf_counter() - start
    results.data |= {"seconds": took, "compiled": len(compiled)}
    print(f"{len(compiled)} of {len(built)} modules compiled for sm_{arch} in {took:.1f} s on {cores} cores")
    without_log = [module for module in built if not module.log.strip()]
    if without_log:  # a compiler may hand out what it has kept, without saying anything of it
        print(
            f"no compiler's log of {', '.join(f'{m.curve}_{m.family}' for m in without_log)}: spills unknown"
        )
    for module in built:
        for kernel, figures in parse_log(module.log).items() if module.log.strip() else ():
            if figures["spill_store_bytes"]:
                results.add({"kernel": kernel, **figures})
                print(
                    f"  {kernel}: {figures['registers']} registers, {figures['stack_bytes']} bytes of stack, "
                    f"{figures['spill_store_bytes']}/{figures['spill_load_bytes']} spilled"
                )
    results.finish()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
