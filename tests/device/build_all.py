"""Compile every kernel module for this GPU in parallel and say what each took: seconds, registers, spills."""

from __future__ import annotations

import re
import sys
import time

from cuzk.device import builder


def main(arch: str | None = None) -> int:
    """Entry point; returns the exit code."""
    if arch is None:
        import cupy

        arch = cupy.cuda.Device(0).compute_capability
    start = time.perf_counter()

    def progress(name: str, done: int, total: int) -> None:
        print(f"{time.perf_counter() - start:6.1f} s  {done}/{total}  {name}", flush=True)

    built = builder.build_all(arch, progress=progress)
    print(f"all modules for sm_{arch} in {time.perf_counter() - start:.1f} s")
    for module in built:
        text = re.sub(r"ptxas\s+(info\s*:|\.)\s*", "", module.log)
        for name, frame, stores, loads, registers in re.findall(
            r"Compiling entry function '(\w+)'.*?\n.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
            r"(\d+) bytes spill loads.*?\n.*?Used (\d+) registers",
            text,
        ):
            if int(stores) or int(frame) > 600:
                print(f"  {name}: {registers} registers, {frame} bytes of stack, {stores}/{loads} spilled")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
